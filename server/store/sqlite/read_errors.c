/* A read that failed is no damage. SQLite tells an error of the disk while reading (EIO, ENXIO, ERANGE) as
 * SQLITE_CORRUPT, without its errno, so failed reads are noted where they happen: at its system calls. */
#include "server/store/sqlite/sqlite.h"

#include <errno.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t read_call(int fd, void *data, size_t n);
typedef ssize_t pread_call(int fd, void *data, size_t n, off_t offset);

static _Thread_local int noted;
static sqlite3_syscall_ptr real_read, real_pread, real_pread64;

static ssize_t note(ssize_t n)
{
    if (n < 0 && errno != EINTR)
        noted = errno;
    return n;
}

static ssize_t noting_read(int fd, void *data, size_t n)
{
    return note(((read_call *)real_read)(fd, data, n));
}

static ssize_t noting_pread(int fd, void *data, size_t n, off_t offset)
{
    return note(((pread_call *)real_pread)(fd, data, n, offset));
}

static ssize_t noting_pread64(int fd, void *data, size_t n, off_t offset)
{
    return note(((pread_call *)real_pread64)(fd, data, n, offset));
}

/* SQLite has only those calls that it was built to use. */
static void replace(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr with, sqlite3_syscall_ptr *real)
{
    *real = vfs->xGetSystemCall(vfs, name);
    if (*real)
        vfs->xSetSystemCall(vfs, name, with);
}

static void install(void)
{
    sqlite3_initialize();
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (!vfs || vfs->iVersion < 3)
        return;
    replace(vfs, "read", (sqlite3_syscall_ptr)noting_read, &real_read);
    replace(vfs, "pread", (sqlite3_syscall_ptr)noting_pread, &real_pread);
    replace(vfs, "pread64", (sqlite3_syscall_ptr)noting_pread64, &real_pread64);
}

void sqlite_note_read_errors(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

int sqlite_take_read_error(void)
{
    int cause = noted;
    noted = 0;
    return cause;
}
