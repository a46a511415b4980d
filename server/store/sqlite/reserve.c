/* Disk space that is reserved for when the disk is full: a separate file next to the database.
 *
 * To free a full disk, some room is needed: a deletion goes through the write-ahead log, and a checkpoint makes the
 * database's file longer before the log becomes shorter. So when a write or a checkpoint finds the disk full, the
 * reserve is given up. Until it can be recreated, only deletions, checkpoints and chores may use the room; other writes
 * are refused. */
#include "server/base/log.h"
#include "server/store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const off_t reserve_bytes = 16 << 20; /* more than a checkpoint usually adds to the file */
static const off_t least_reserve = 1 << 20;
static const off_t margin_bytes = 1 << 20; /* in addition to the reserve, writes must have this much */
static const double seconds_between_attempts = 0.5;

static bool name_reserve(const sqlite_store *s, char *name, size_t size)
{
    int n = snprintf(name, size, "%s.reserve", s->path);
    return n > 0 && (size_t)n < size;
}

/* Makes the reserve as long as it should be, if there is also room for the margin. Returns 0 or an errno. */
static int make_reserve(const sqlite_store *s)
{
    char name[PATH_MAX];
    if (!name_reserve(s, name, sizeof name))
        return ENAMETOOLONG;
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int cause = fallocate(fd, 0, 0, s->reserve + margin_bytes) ? errno : 0;
    if (!cause)
        cause = ftruncate(fd, s->reserve) ? errno : 0;
    close(fd);
    return cause;
}

static void give_up_reserve(const sqlite_store *s)
{
    char name[PATH_MAX];
    if (name_reserve(s, name, sizeof name) && unlink(name) && errno != ENOENT)
        log_event(LOG_WARN, "reserve_not_removed", "path", name, "reason", strerror(errno), NULL);
}

static bool is_full_errno(int cause)
{
    return cause == ENOSPC || cause == EDQUOT;
}

/* A quarter of the free space, so that the reserve does not fill a small disk. The reserve of an earlier run is
 * kept. */
static off_t choose_size(const sqlite_store *s)
{
    char name[PATH_MAX];
    struct stat st;
    struct statvfs disk;
    if (name_reserve(s, name, sizeof name) && stat(name, &st) == 0 && st.st_size >= least_reserve &&
        st.st_size <= reserve_bytes)
        return st.st_size;
    off_t size = reserve_bytes;
    if (fstatvfs(s->file, &disk) == 0)
        while (size > least_reserve && (uint64_t)size > (uint64_t)disk.f_bavail * disk.f_frsize / 4)
            size /= 2;
    return size;
}

void sqlite_open_reserve(sqlite_store *s)
{
    s->reserve = choose_size(s);
    int cause = make_reserve(s);
    if (is_full_errno(cause)) {
        sqlite_enter_full(s);
    } else if (cause) { /* a limit on the size of files, or a file system that cannot reserve space */
        give_up_reserve(s);
        s->reserve = 0;
        log_event(LOG_INFO, "no_reserve", "reason", strerror(cause), "hint",
                  "on a full disk, deletions may be refused as well", NULL);
    }
}

void sqlite_enter_full(sqlite_store *s)
{
    give_up_reserve(s);
    atomic_store(&s->full, true);
    log_event(LOG_ERROR, "disk_full", "db", s->path, "hint",
              "until there is room, studies can be read and deleted only", NULL);
}

void sqlite_look_for_room(sqlite_store *s)
{
    s->writer.ran_full = false;
    if (s->reserve == 0 || atomic_load(&s->full))
        return;
    if (is_full_errno(make_reserve(s))) {
        sqlite_enter_full(s);
        sqlite_idle(&s->sql.base); /* the log becomes short */
    }
}

bool sqlite_leave_full(sqlite_store *s)
{
    double now = store_clock();
    if (!atomic_load(&s->full))
        return true;
    if (now < s->next_attempt)
        return false;
    s->next_attempt = now + seconds_between_attempts;
    sqlite_idle(&s->sql.base);
    if (make_reserve(s) || (s->unclean && sqlite_start_clean(s, NULL))) {
        give_up_reserve(s);
        return false;
    }
    s->writer.ran_full = false;
    atomic_store(&s->full, false);
    log_event(LOG_INFO, "disk_has_room", "db", s->path, NULL);
    return true;
}

bool sqlite_is_full(store *s)
{
    return atomic_load(&sqlite_of(s)->full);
}
