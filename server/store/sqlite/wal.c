/* The check at the start of a server: is the write-ahead log complete, and does it belong to this database?
 *
 * SQLite ends its recovery at the first frame with a wrong checksum, since that is how a torn end looks. But the writer
 * syncs every commit before the next one begins, so at most one commit can be torn. If two or more commits follow the
 * break, the log was damaged after it had been synced. SQLite also does not know whether a log was written for the file
 * next to it. If a backup replaced a database whose server had been killed, SQLite would write that server's pages over
 * the backup's.
 *
 * The format: https://www.sqlite.org/fileformat2.html#walformat */
#include "server/store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    header_bytes = 32,
    frame_header_bytes = 24,
    header_summed = 24, /* bytes of the header before its checksum */
    frame_summed = 8,   /* bytes of a frame's header before its salts */
    most_page_bytes = 65536,
};

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little_endian(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* SQLite's checksum of n bytes (a multiple of 8), continued from sum. */
static void add_up(uint32_t sum[2], const unsigned char *p, size_t n, bool big)
{
    for (size_t i = 0; i < n; i += 8) {
        sum[0] += (big ? big_endian(p + i) : little_endian(p + i)) + sum[1];
        sum[1] += (big ? big_endian(p + i + 4) : little_endian(p + i + 4)) + sum[0];
    }
}

typedef struct wal_reader {
    int fd;
    unsigned char header[header_bytes];
    bool big; /* the checksums' byte order */
    size_t page_bytes;
    unsigned char *frame;
    uint32_t sum[2]; /* the checksum that the last frame has */
} wal_reader;

static bool is_sound_header(const wal_reader *r)
{
    uint32_t sum[2] = {0};
    add_up(sum, r->header, header_summed, r->big);
    return sum[0] == big_endian(r->header + 24) && sum[1] == big_endian(r->header + 28);
}

/* Takes the next frame. Is its checksum right, continued from the one that the previous frame has? */
static bool take_frame(wal_reader *r)
{
    uint32_t sum[2] = {r->sum[0], r->sum[1]};
    add_up(sum, r->frame, frame_summed, r->big);
    add_up(sum, r->frame + frame_header_bytes, r->page_bytes, r->big);
    r->sum[0] = big_endian(r->frame + 16);
    r->sum[1] = big_endian(r->frame + 20);
    return sum[0] == r->sum[0] && sum[1] == r->sum[1];
}

static bool read_frame(wal_reader *r, size_t index)
{
    size_t bytes = frame_header_bytes + r->page_bytes;
    return pread(r->fd, r->frame, bytes, (off_t)(header_bytes + index * bytes)) == (ssize_t)bytes;
}

/* Counts the commits after the first invalid frame, whose offset is *at. Only the longest sequence of commits counts,
 * because commits that failed before a kill may leave remains there, each with one commit. Frames whose salts differ
 * from the header's are from an earlier use of the file. If the header is damaged, the first frame's salts are used. */
static size_t count_commits_behind_a_break(wal_reader *r, off_t *at)
{
    unsigned char salts[8];
    bool sound = is_sound_header(r), broken = !sound;
    size_t commits = 0, most = 0;
    *at = 0;
    memcpy(salts, r->header + 16, sizeof salts);
    r->sum[0] = big_endian(r->header + 24);
    r->sum[1] = big_endian(r->header + 28);
    for (size_t i = 0; read_frame(r, i); i++) {
        if (i == 0 && !sound)
            memcpy(salts, r->frame + 8, sizeof salts);
        bool follows = take_frame(r), ours = memcmp(r->frame + 8, salts, sizeof salts) == 0;
        if (!broken && !(follows && ours)) {
            broken = true;
            *at = (off_t)(header_bytes + i * (frame_header_bytes + r->page_bytes));
        }
        if (!follows && i > 0)
            commits = 0;
        commits += broken && ours && big_endian(r->frame + 4) > 0 && (follows || i == 0);
        most = commits > most ? commits : most;
    }
    return most;
}

/* STORE_OK also if there is no log, or none that SQLite would read. */
static store_status scan(int fd, size_t *commits, off_t *at, store_error *err)
{
    wal_reader r = {.fd = fd};
    unsigned char again[header_bytes];
    *commits = 0;
    if (pread(fd, r.header, header_bytes, 0) != header_bytes)
        return STORE_OK;
    r.big = r.header[3] & 1;
    r.page_bytes = big_endian(r.header + 8);
    if (r.page_bytes < 512 || r.page_bytes > most_page_bytes || (r.page_bytes & (r.page_bytes - 1)))
        r.page_bytes = wal_frame_bytes - frame_header_bytes;
    r.frame = malloc(frame_header_bytes + r.page_bytes);
    if (!r.frame)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    *commits = count_commits_behind_a_break(&r, at);
    free(r.frame);
    /* A server that writes to the log may have restarted it. */
    if (pread(fd, again, header_bytes, 0) != header_bytes || memcmp(again, r.header, header_bytes) != 0)
        *commits = 0;
    return STORE_OK;
}

store_status sqlite_find_log_break(const char *path, size_t *commits, off_t *at, store_error *err)
{
    char *name;
    *commits = 0;
    if (asprintf(&name, "%s-wal", path) < 0)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    free(name);
    if (fd < 0)
        return STORE_OK; /* there is none, or SQLite will report the problem */
    store_status status = scan(fd, commits, at, err);
    close(fd);
    return status;
}

/* ---- does the log belong to this database? ------------------------------------------------------------- */

/* The first mark, which is the smallest. All marks take the same eight bytes in the same sector, so that a torn page
 * has an old mark, a new one, or none. */
static const int64_t first_mark = INT64_C(1) << 62;

typedef struct log_marks {
    bool known; /* the members below are valid; false: see status */
    bool exist; /* the table of marks exists */
    store_status status;
    int64_t mark, before;
} log_marks;

static void read_marks(connection *c, log_marks *out)
{
    int64_t tables = 0;
    store_status status = connection_read_integer(
        c, "SELECT count(*) FROM sqlite_schema WHERE name = 'log_mark'", &tables, NULL);
    out->exist = tables > 0;
    if (!status && out->exist)
        status = connection_read_integer(c, "SELECT mark FROM log_mark", &out->mark, NULL);
    if (!status && out->exist)
        status = connection_read_integer(c, "SELECT before FROM log_mark", &out->before, NULL);
    out->status = status;
    out->known = !status && (!out->exist || (out->mark >= first_mark && out->before >= first_mark));
}

/* The path as a URI with which SQLite reads the file without its log. The caller frees it. */
static char *uri_of(const char *path)
{
    char *uri = malloc(3 * strlen(path) + 32), *end = uri;
    if (!uri)
        return NULL;
    end = stpcpy(end, "file:");
    for (const char *c = path; *c; c++)
        end += sprintf(end, strchr("%?#", *c) ? "%%%02x" : "%c", (unsigned)(unsigned char)*c);
    strcpy(end, "?immutable=1");
    return uri;
}

/* The marks of the file without its log. */
static store_status read_alone(const char *path, log_marks *out, store_error *err)
{
    connection c;
    char *uri = uri_of(path);
    if (!uri)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    *out = (log_marks){0};
    if (!connection_open(&c, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL))
        read_marks(&c, out);
    connection_close(&c);
    free(uri);
    return STORE_OK;
}

static void read_with_log(const char *path, log_marks *out)
{
    connection c;
    *out = (log_marks){0};
    if (!sqlite_open_reader(&c, path, NULL))
        read_marks(&c, out);
    connection_close(&c);
}

/* Was the log written for another file? file: the marks of the file alone; both: the marks of the file with its log. A
 * file that cannot be read alone, because its checkpoint was interrupted, proves nothing. */
static bool is_foreign(const log_marks *file, const log_marks *both)
{
    if (!file->known)
        return false;
    if (!both->known)
        return both->status == STORE_CORRUPT || both->status == STORE_FOREIGN;
    if (!file->exist)
        return both->exist && both->mark != first_mark; /* the log has the migration that makes the table */
    return !both->exist || (file->mark != both->mark && file->mark != both->before);
}

/* A server may be using the file, and restart the log between two readings: then the file has other marks afterwards,
 * since it gets one of the old log's before the log is used again. */
static store_status refuse_foreign_log(const char *path, store_error *err)
{
    log_marks file, both, again;
    store_status status = read_alone(path, &file, err);
    if (status)
        return status;
    read_with_log(path, &both);
    if (!is_foreign(&file, &both))
        return STORE_OK;
    status = read_alone(path, &again, err);
    if (status || !again.known || again.exist != file.exist || again.mark != file.mark)
        return status;
    return store_fail(
        err, STORE_MOVED,
        "%s-wal is not the write-ahead log of %s: if you have put a backup in its place, remove "
        "%s-wal and %s-shm; if not, put back the database that the log belongs to",
        path, path, path, path);
}

static bool has_log(const char *path)
{
    struct stat st;
    char wal[PATH_MAX + 8];
    snprintf(wal, sizeof wal, "%s-wal", path);
    return stat(wal, &st) == 0 && st.st_size > header_bytes;
}

store_status sqlite_refuse_foreign_log(const char *path, store_error *err)
{
    char *resolved = realpath(path, NULL); /* the log is beside the file that a link points to */
    store_status status = resolved && has_log(resolved) ? refuse_foreign_log(resolved, err) : STORE_OK;
    free(resolved); /* NULL: opening the database reports the problem */
    return status;
}

store_status sqlite_check_log(const char *path, store_error *err)
{
    struct stat st;
    char wal[PATH_MAX + 8];
    size_t commits;
    off_t at;
    if (!has_log(path))
        return STORE_OK;
    snprintf(wal, sizeof wal, "%s-wal", path);
    if (stat(path, &st) == 0 && st.st_size == 0)
        return store_fail(err, STORE_MOVED,
                          "%s is empty, but its write-ahead log %s exists: put the database back, or remove "
                          "the log to begin with an empty database",
                          path, wal);
    store_status status = sqlite_find_log_break(path, &commits, &at, err);
    if (!status && commits > 1)
        return store_fail(
            err, STORE_CORRUPT,
            "%s is damaged at byte %lld, and %zu acknowledged commits follow the damage: restore a backup; or, to give these commits up, keep a copy, then run: truncate -s %lld %s",
            wal, (long long)at, commits, (long long)at, wal);
    return status ? status : refuse_foreign_log(path, err);
}
