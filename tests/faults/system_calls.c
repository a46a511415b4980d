/* System calls that fail: preloaded (LD_PRELOAD) into a server under test. The file $TEST_CALLS holds the orders
 * below; they concern files whose path begins with $TEST_CALLS_DB. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READS = 1, WRITES = 2, SYNCS = 4 };

typedef struct orders {
    _Atomic int32_t calls; /* which ones, 0: none */
    _Atomic int32_t after; /* so many succeed first */
    _Atomic int32_t times; /* then so many fail */
    _Atomic int32_t cause; /* the errno; 0: the call does half of what it should; −n: it takes n seconds */
    _Atomic int32_t failed;
} orders;

static orders *the;
static const char *database;

__attribute__((constructor)) static void open_orders(void)
{
    const char *path = getenv("TEST_CALLS");
    database = getenv("TEST_CALLS_DB");
    int file = path && database ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *page = mmap(NULL, sizeof *the, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED)
        the = page;
}

static int is_ours(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 0 && (size_t)n >= strlen(database) && strncmp(path, database, strlen(database)) == 0;
}

static int fails(int call, int fd)
{
    if (!the || !(atomic_load(&the->calls) & call) || !is_ours(fd))
        return 0;
    if (atomic_fetch_sub(&the->after, 1) > 0)
        return 0;
    if (atomic_fetch_sub(&the->times, 1) <= 0)
        return 0;
    atomic_fetch_add(&the->failed, 1);
    return 1;
}

static ssize_t fail(void)
{
    errno = atomic_load(&the->cause);
    return -1;
}

static int takes_long(void)
{
    int cause = atomic_load(&the->cause);
    if (cause < 0)
        sleep((unsigned)-cause);
    return cause < 0;
}

ssize_t pread64(int fd, void *data, size_t n, off64_t offset)
{
    if (fails(READS, fd)) {
        if (atomic_load(&the->cause))
            return fail();
        n = n > 1 ? n / 2 : n;
    }
    return syscall(SYS_pread64, fd, data, n, offset);
}

ssize_t pread(int fd, void *data, size_t n, off_t offset)
{
    return pread64(fd, data, n, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t offset)
{
    if (fails(WRITES, fd)) {
        if (atomic_load(&the->cause))
            return fail();
        n = n > 1 ? n / 2 : n;
    }
    return syscall(SYS_pwrite64, fd, data, n, offset);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
    return pwrite64(fd, data, n, offset);
}

int fsync(int fd)
{
    return fails(SYNCS, fd) && !takes_long() ? (int)fail() : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails(SYNCS, fd) && !takes_long() ? (int)fail() : (int)syscall(SYS_fdatasync, fd);
}
