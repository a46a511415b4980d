/* Notes why the disk failed. SQLite reports an error of the disk while reading (EIO, ENXIO, ERANGE) as SQLITE_CORRUPT,
 * and forgets the errno of a write that exceeded a quota or a limit before it can be queried. So failures are noted
 * where they happen, at SQLite's system calls. */
#include "server/store/sqlite/sqlite.h"

#include <errno.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t read_call(int fd, void *data, size_t n);
typedef ssize_t pread_call(int fd, void *data, size_t n, off_t offset);
typedef ssize_t write_call(int fd, const void *data, size_t n);
typedef ssize_t pwrite_call(int fd, const void *data, size_t n, off_t offset);

static _Thread_local int read_error, write_error;
static sqlite3_syscall_ptr real_read, real_pread, real_pread64, real_write, real_pwrite, real_pwrite64;

static ssize_t note(ssize_t n, int *error)
{
    if (n < 0 && errno != EINTR)
        *error = errno;
    return n;
}

static ssize_t noting_read(int fd, void *data, size_t n)
{
    return note(((read_call *)real_read)(fd, data, n), &read_error);
}

static ssize_t noting_pread(int fd, void *data, size_t n, off_t offset)
{
    return note(((pread_call *)real_pread)(fd, data, n, offset), &read_error);
}

static ssize_t noting_pread64(int fd, void *data, size_t n, off_t offset)
{
    return note(((pread_call *)real_pread64)(fd, data, n, offset), &read_error);
}

static ssize_t noting_write(int fd, const void *data, size_t n)
{
    return note(((write_call *)real_write)(fd, data, n), &write_error);
}

static ssize_t noting_pwrite(int fd, const void *data, size_t n, off_t offset)
{
    return note(((pwrite_call *)real_pwrite)(fd, data, n, offset), &write_error);
}

static ssize_t noting_pwrite64(int fd, const void *data, size_t n, off_t offset)
{
    return note(((pwrite_call *)real_pwrite64)(fd, data, n, offset), &write_error);
}

static void install(void)
{
    static const struct {
        const char *name;
        sqlite3_syscall_ptr noting, *real;
    } calls[] = {
        {"read", (sqlite3_syscall_ptr)noting_read, &real_read},
        {"pread", (sqlite3_syscall_ptr)noting_pread, &real_pread},
        {"pread64", (sqlite3_syscall_ptr)noting_pread64, &real_pread64},
        {"write", (sqlite3_syscall_ptr)noting_write, &real_write},
        {"pwrite", (sqlite3_syscall_ptr)noting_pwrite, &real_pwrite},
        {"pwrite64", (sqlite3_syscall_ptr)noting_pwrite64, &real_pwrite64},
    };
    sqlite3_initialize();
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (!vfs || vfs->iVersion < 3)
        return;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        *calls[i].real = vfs->xGetSystemCall(vfs, calls[i].name);
        if (*calls[i].real) /* SQLite has only the calls that it was built to use */
            vfs->xSetSystemCall(vfs, calls[i].name, calls[i].noting);
    }
}

void sqlite_note_io_errors(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

void sqlite_forget_io_errors(void)
{
    read_error = write_error = 0;
}

int sqlite_read_error(void)
{
    return read_error;
}

int sqlite_write_error(void)
{
    return write_error;
}
