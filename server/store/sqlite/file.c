/* The database's file: its one name, its locks, and whether it is still the file that was opened.
 *
 * The server holds two locks. The lock on the database's own file is effective for every name of the file, and even if
 * the lock file is removed. Older versions know only the lock file, so both are taken. */
#include "server/base/log.h"
#include "server/store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { lock_attempts = 100 };

static const double seconds_between_looks = 0.05; /* at the names, if there is no other reason to look */

static store_status fail_errno(store_error *err, const char *name)
{
    bool denied = errno == EACCES || errno == EPERM || errno == EROFS;
    bool full = errno == ENOSPC || errno == EDQUOT;
    return store_fail(err,
                      denied ? STORE_READ_ONLY
                      : full ? STORE_FULL
                             : STORE_IO,
                      "%s: %s", name, strerror(errno));
}

static store_status lock_descriptor(int fd, const char *name, const char *database, store_error *err)
{
    if (!flock(fd, LOCK_EX | LOCK_NB))
        return STORE_OK;
    if (errno == EWOULDBLOCK)
        return store_fail(err, STORE_BUSY, "%s is in use by another banditd", database);
    return fail_errno(err, name);
}

/* Creates the file if it does not exist, so that its name can be resolved: a link may point to a file that does not
 * exist yet. */
static store_status make_file(sqlite_store *s, store_error *err)
{
    char *resolved = realpath(s->path, NULL);
    if (!resolved && errno == ENOENT) {
        int fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            return fail_errno(err, s->path);
        close(fd); /* it is not open elsewhere in this process, so no lock of SQLite is lost */
        resolved = realpath(s->path, NULL);
    }
    if (!resolved)
        return fail_errno(err, s->path);
    free(s->path);
    s->path = resolved;
    return STORE_OK;
}

/* The lock file is never removed. Otherwise two processes could lock different files of the same name. */
static store_status take_lock_file(sqlite_store *s, store_error *err)
{
    char *name;
    if (asprintf(&name, "%s.lock", s->path) < 0)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    s->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    store_status status = s->lock < 0 ? fail_errno(err, name) : lock_descriptor(s->lock, name, s->path, err);
    free(name);
    return status;
}

store_status sqlite_refuse_more_names(const char *path, store_error *err)
{
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_nlink == 1)
        return STORE_OK; /* opening the database reports other problems */
    return store_fail(err, STORE_IO,
                      "%s has %lu names (hard links), and its write-ahead log belongs to one of them only: "
                      "remove the other names, or use a copy that `banditd backup` makes",
                      path, (unsigned long)st.st_nlink);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Locks the file that has the database's name. It may have been replaced between opening and locking. */
static store_status take_file(sqlite_store *s, store_error *err)
{
    struct stat named;
    for (int attempt = 0; attempt < lock_attempts; attempt++) {
        s->file = open(s->path, O_RDWR | O_CLOEXEC);
        if (s->file < 0)
            return fail_errno(err, s->path);
        store_status status = lock_descriptor(s->file, s->path, s->path, err);
        if (status)
            return status;
        if (fstat(s->file, &s->opened) == 0 && stat(s->path, &named) == 0 && same_file(&s->opened, &named)) {
            s->opened.st_size = -1; /* SQLite will write its first settings */
            return STORE_OK;
        }
        close(s->file);
        s->file = -1;
    }
    return store_fail(err, STORE_IO, "%s is being replaced repeatedly", s->path);
}

static store_status open_folder(sqlite_store *s, store_error *err)
{
    char *slash = strrchr(s->path, '/'); /* resolved paths are absolute */
    s->name = slash + 1;
    *slash = '\0';
    s->folder = open(slash == s->path ? "/" : s->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
    return s->folder < 0 ? fail_errno(err, s->path) : STORE_OK;
}

store_status sqlite_lock(sqlite_store *s, store_error *err)
{
    store_status status = make_file(s, err);
    if (!status)
        status = take_lock_file(s, err);
    if (!status)
        status = sqlite_refuse_more_names(s->path, err);
    if (!status)
        status = take_file(s, err);
    if (!status)
        status = open_folder(s, err);
    return status;
}

void sqlite_unlock(sqlite_store *s)
{
    /* Done after closing the connections, because closing any descriptor of a file drops SQLite's locks on it. */
    if (s->log_file >= 0)
        close(s->log_file);
    if (s->folder >= 0)
        close(s->folder);
    if (s->file >= 0)
        close(s->file);
    if (s->lock >= 0)
        close(s->lock);
    s->log_file = s->folder = s->file = s->lock = -1;
}

/* ---- is it still the opened file? ---------------------------------------------------------------------- */

/* Reads a file's status without its times. After its times were read, Linux updates them at the next write, and writes
 * to the log would take several percent longer. */
static int look_at(int folder, const char *name, int flags, struct stat *out)
{
    struct statx found;
    if (statx(folder, name, flags, STATX_INO | STATX_SIZE | STATX_NLINK, &found))
        return -1;
    *out = (struct stat){.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
                         .st_ino = found.stx_ino,
                         .st_size = (off_t)found.stx_size,
                         .st_nlink = found.stx_nlink};
    return 0;
}

/* Finds a file next to the database: its name is the database's plus `end`. errno is 0, or says why there is none. */
static bool find_beside(const sqlite_store *s, const char *end, struct stat *out)
{
    char name[NAME_MAX + 1];
    int n = snprintf(name, sizeof name, "%s%s", s->name, end);
    errno = 0;
    return n > 0 && (size_t)n < sizeof name && look_at(s->folder, name, 0, out) == 0;
}

/* Opens a descriptor that only shows the status of the log. Closing it drops no lock. */
static void open_log(sqlite_store *s)
{
    char name[NAME_MAX + 1];
    struct stat now;
    if (!s->has_log ||
        (s->log_file >= 0 && look_at(s->log_file, "", AT_EMPTY_PATH, &now) == 0 && same_file(&now, &s->log)))
        return;
    if (s->log_file >= 0)
        close(s->log_file);
    int n = snprintf(name, sizeof name, "%s-wal", s->name);
    s->log_file = n > 0 && (size_t)n < sizeof name ? openat(s->folder, name, O_PATH | O_CLOEXEC) : -1;
}

void sqlite_remember_file(sqlite_store *s)
{
    if (s->file < 0)
        return;
    if (fstat(s->file, &s->opened) ||
        pread(s->file, s->header, sizeof s->header, 0) != (ssize_t)sizeof s->header)
        s->opened.st_size = -1; /* not known: the next look accepts the file as it is then */
    s->has_log = find_beside(s, "-wal", &s->log) && find_beside(s, "-shm", &s->log_index);
    open_log(s);
}

/* Has another process overwritten the database's file? Only this process may write to it, in checkpoints. If only its
 * time has changed, its content is the same. */
static bool is_overwritten(sqlite_store *s, const struct stat *now)
{
    unsigned char header[sizeof s->header];
    bool known = s->opened.st_size >= 0;
    if (known && now->st_size == s->opened.st_size && now->st_mtim.tv_sec == s->opened.st_mtim.tv_sec &&
        now->st_mtim.tv_nsec == s->opened.st_mtim.tv_nsec)
        return false;
    if (known && now->st_size < s->opened.st_size)
        return true;
    if (known && pread(s->file, header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header, s->header, sizeof header) != 0)
        return true;
    sqlite_remember_file(s);
    return false;
}

/* Is a file next to the database another one, removed, or shorter than it must be? False also for a name that cannot be
 * looked up (no permission, a failing disk). */
static bool is_lost(const sqlite_store *s, const char *end, const struct stat *want, off_t least)
{
    struct stat now;
    if (!find_beside(s, end, &now))
        return errno == ENOENT;
    return !same_file(&now, want) || now.st_size < least;
}

/* The text that says what happened to the files; NULL: nothing. */
static const char *find_fault(sqlite_store *s)
{
    struct stat now;
    if (stat(s->path, &now)) {
        if (errno != ENOENT && errno != ENOTDIR)
            return NULL;
        if (fstatat(s->folder, s->name, &now, 0)) /* if it exists there, only the folder was renamed */
            return errno == ENOENT ? "the database was moved or removed" : NULL;
    }
    if (!same_file(&now, &s->opened))
        return "another file has the database's name";
    if (is_overwritten(s, &now))
        return "another program wrote to the database's file";
    if (s->has_log && is_lost(s, "-wal", &s->log, s->wal_frames * wal_frame_bytes))
        return "the write-ahead log was moved, removed, replaced or cut";
    if (s->has_log && is_lost(s, "-shm", &s->log_index, 0))
        return "the index of the write-ahead log was moved, removed or replaced";
    return NULL;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Looking up three names at every commit would cost several percent of an ask. The descriptors show nearly as much at a
 * lower cost: a file that is removed or replaced loses its link, and the times of one that is renamed or written to
 * change. */
static bool is_file_untouched(const sqlite_store *s)
{
    struct stat now;
    return s->opened.st_size >= 0 && fstat(s->file, &now) == 0 && now.st_nlink == s->opened.st_nlink &&
           now.st_size == s->opened.st_size && is_same_time(now.st_ctim, s->opened.st_ctim) &&
           is_same_time(now.st_mtim, s->opened.st_mtim);
}

static bool is_log_untouched(const sqlite_store *s)
{
    struct stat now;
    return s->has_log && s->log_file >= 0 && look_at(s->log_file, "", AT_EMPTY_PATH, &now) == 0 &&
           now.st_nlink > 0 && now.st_size >= s->wal_frames * wal_frame_bytes;
}

store_status sqlite_look(sqlite_store *s, file_part part, store_error *err)
{
    double now = store_clock();
    const char *fault = NULL;
    if (s->file >= 0 && !atomic_load(&s->moved) &&
        (part == PART_ALL || now >= s->next_look ||
         !(part == PART_LOG ? is_log_untouched(s) : is_file_untouched(s)))) {
        fault = find_fault(s);
        s->next_look = now + seconds_between_looks;
    }
    if (fault) {
        atomic_store(&s->moved, true);
        log_event(
            LOG_ERROR, "database_replaced", "db", s->path, "reason", fault, "hint",
            "no write is accepted any more; stop the server, put the right file back, and start the server",
            NULL);
    }
    if (!atomic_load(&s->moved))
        return STORE_OK;
    return store_fail(err, STORE_MOVED, "%s is not the file that this server opened", s->path);
}
