/* The SQLite backend. Only its files include this header:
 *
 *   connection.c       connections, statements, statuses
 *   open.c             settings, opening, closing
 *   file.c             the database's file: its locks, and whether it was replaced
 *   wal.c              whether the write-ahead log is complete and belongs to this database
 *   io_errors.c        why the disk failed
 *   reserve.c          disk space that is reserved for when the disk is full
 *   migrate.c          the kind of a file, migrations
 *   backup.c           copies of a database that may be in use
 *   schema.c           compares the schema with that of a new database
 *   integrity.c        checks, snapshots, comparisons      (functions of store.h)
 *   write.c            transactions, and writes that are specific to SQLite
 *   chores.c           checkpoints, removal in slices, vacuum
 *   readers.c          the pool of readers
 *   read_candidates.c  reads of candidates
 *
 * All other writes and reads are those of every SQL backend (sql/sql.h). */
#ifndef SERVER_STORE_SQLITE_SQLITE_H
#define SERVER_STORE_SQLITE_SQLITE_H

#include "server/base/embedded.h"
#include "server/store/backend.h"
#include "server/store/sql/sql.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored blobs are little-endian");

/* A database connection with its prepared statements. Used by one thread at a time. */
typedef struct connection {
    sql_connection base;
    struct connection *next; /* in the pool of readers */
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_COUNT]; /* prepared when first used */
    sqlite3_stmt *started;               /* by sql_start; NULL: it cannot be prepared */
    sqlite3_stmt *suspended[4];          /* of a snapshot: statements whose callbacks also read */
    size_t n_suspended;
    int error;        /* of the last step; SQLITE_OK: none */
    bool ran_full;    /* a step found the disk full; sqlite_look_for_room resets it */
    bool read_failed; /* a read has failed since a statement last succeeded outside a transaction */
} connection;

enum {
    sqlite_idle_readers = 4,      /* kept open between reads */
    sqlite_busy_ms = 5000,        /* how long a connection waits for a lock */
    frames_per_checkpoint = 1000, /* about 4 MiB of the write-ahead log */
    wal_frame_bytes = 4096 + 24,  /* a page and its header */
};

typedef struct sqlite_store {
    sql_store sql;
    char *path;
    const char *name;          /* in `path`, without the folder */
    int file, lock, folder;    /* descriptors: of `path`, of <path>.lock (both locked), of its folder */
    struct stat opened;        /* `path`, after the last checkpoint; st_size -1: not known */
    unsigned char header[100]; /* its first bytes */
    bool has_log;
    struct stat log, log_index; /* if has_log: <path>-wal and -shm */
    int log_file;               /* an O_PATH descriptor of the log; -1: none */
    double next_look;           /* of store_clock: when to look at the files' names again */
    atomic_bool moved;          /* one of these files is another one now: nothing is written any more */
    bool snapshot;              /* `writer` is a reader, and one transaction serves all reads */
    connection writer;
    off_t reserve;        /* bytes of <path>.reserve; 0: it cannot exist */
    atomic_bool full;     /* the reserve has been given up: only writes that make room are accepted */
    bool unclean;         /* sqlite_start_clean found no room */
    double next_attempt;  /* of store_clock: when to try again to leave the state `full` */
    int wal_frames;       /* in the write-ahead log after the last commit */
    int next_checkpoint;  /* the number of frames at which the next checkpoint is due */
    int next_patience;    /* the number of frames from which a checkpoint waits for readers */
    bool log_is_unmarked; /* the whole log is in the database's file: the next commit may restart the log */

    pthread_mutex_t pool_mutex;
    connection *idle_readers;
    int n_idle_readers;
} sqlite_store;

static inline sqlite_store *sqlite_of(store *s)
{
    return (sqlite_store *)s;
}

extern const store_backend sqlite_backend; /* in open.c */
extern const sql_driver sqlite_driver;     /* in connection.c */

/* ---- connection.c -------------------------------------------------------------------------------------- */

/* flags: SQLITE_OPEN_…. The connection does not checkpoint when it closes, since the file may turn out to belong to
 * another program. */
store_status connection_open(connection *c, const char *path, int flags, store_error *err);
/* The same for a file whose path may be relative. SQLite takes some relative names for others: `:memory:`, `file:x`. */
store_status connection_open_file(connection *c, const char *path, int flags, store_error *err);
void connection_close(connection *c);

/* A connection that cannot write and never checkpoints. The caller closes it, also after a failure. */
store_status sqlite_open_reader(connection *c, const char *path, store_error *err);

/* The same for a file that another process may be using. Refuses hard links, since SQLite does not find the write-ahead
 * log under their names, and a log that was written for another file. */
store_status sqlite_open_other(connection *c, const char *path, store_error *err);

/* The status for the connection's last error; *err has SQLite's message. */
store_status connection_fail(connection *c, store_error *err, const char *what);

/* Executes a text that is not in sql/statements.h, such as settings at opening. */
store_status connection_execute_text(connection *c, const char *sql, store_error *err);
store_status connection_read_integer(connection *c, const char *sql, int64_t *out, store_error *err);

/* Binds the arguments to parameters 1, 2, … `types` has one letter per argument: i int64_t, d double (NaN
 * becomes NULL), t text (NULL stays NULL), b blob (const void *, size_t), n blob (NULL stays NULL). They are
 * borrowed until the function that steps the statement resets it. Returns NULL if the statement cannot be prepared. */
sqlite3_stmt *connection_bind(connection *c, sql_id id, const char *types, ...);

/* Binds the arguments, steps to the end, and resets the statement. Rows are dropped. */
store_status connection_run(connection *c, store_error *err, sql_id id, const char *types, ...);

/* True: the statement has another row. An error is kept in c->error. `statement` may be NULL, after an error. */
bool connection_step(connection *c, sqlite3_stmt *statement);

/* Resets the statement. STORE_OK unless one of its steps failed. */
store_status connection_finish(connection *c, sqlite3_stmt *statement, store_error *err);

const char *column_text(sqlite3_stmt *statement, int column); /* NULL becomes "" */

/* ---- open.c -------------------------------------------------------------------------------------------- */

/* A store without its writer thread. NULL: out of memory. */
sqlite_store *sqlite_new(const char *path);
void sqlite_free(sqlite_store *s); /* also after a failure while opening */

/* Marks unfinished uploads and imports for removal. This also shows that the file can be written to. No write may be in
 * progress. */
store_status sqlite_start_clean(sqlite_store *s, store_error *err);

/* Like store_open_sqlite, with these migrations instead of the program's. `files` ends with a NULL name;
 * migrations are the files named migrations/<version>_<name>.sql. */
store_status sqlite_open_with(store **out, const char *path, const embedded_file *files, store_error *err);

/* ---- file.c -------------------------------------------------------------------------------------------- */

/* Resolves the path, creates the file if it does not exist, and takes both locks, until sqlite_unlock. STORE_BUSY:
 * another process has one of them. */
store_status sqlite_lock(sqlite_store *s, store_error *err);
void sqlite_unlock(sqlite_store *s); /* after the connections have been closed */

/* Fails if the file has more than one hard link. */
store_status sqlite_refuse_more_names(const char *path, store_error *err);

/* Called on the writer thread. sqlite_remember_file notes the present state of the files, after this process has
 * written to the database's own file. sqlite_look returns STORE_MOVED, and does so from then on, if one of the files
 * was moved, removed, replaced or overwritten since then; the first time it logs this. */
void sqlite_remember_file(sqlite_store *s);
typedef enum file_part { PART_ALL, PART_FILE, PART_LOG } file_part; /* every 50 ms it looks at all */
store_status sqlite_look(sqlite_store *s, file_part part, store_error *err);

/* ---- wal.c --------------------------------------------------------------------------------------------- */

/* Call it before the first connection writes to the database. STORE_CORRUPT: the write-ahead log is damaged, not merely
 * torn at its end. STORE_MOVED: it was written for another file. */
store_status sqlite_check_log(const char *path, store_error *err);

/* STORE_MOVED: the write-ahead log was written for another file. A server may be using the database. */
store_status sqlite_refuse_foreign_log(const char *path, store_error *err);

/* Counts the commits that follow a break in the write-ahead log; *at: where the break is. At most one commit: the end
 * is merely torn. */
store_status sqlite_find_log_break(const char *path, size_t *commits, off_t *at, store_error *err);

/* ---- io_errors.c --------------------------------------------------------------------------------------- */

/* Call it before the first connection is opened; later calls do nothing. */
void sqlite_note_io_errors(void);

/* The errno of this thread's last failed read or write since sqlite_forget_io_errors; 0: none has failed. */
int sqlite_read_error(void);
int sqlite_write_error(void);
void sqlite_forget_io_errors(void);

/* ---- reserve.c: on the writer thread, outside transactions ---------------------------------------------- */

/* Makes the reserve. If the disk has no room for it, the disk counts as full. */
void sqlite_open_reserve(sqlite_store *s);

/* Call it after a step found the disk full. It finds out whether only that write was too large, or whether there is no
 * room for any write. */
void sqlite_look_for_room(sqlite_store *s);

void sqlite_enter_full(sqlite_store *s);

/* Tries to make the reserve again, at most twice a second. True: the disk is not full. */
bool sqlite_leave_full(sqlite_store *s);

bool sqlite_is_full(store *s);

/* ---- migrate.c ----------------------------------------------------------------------------------------- */

/* Migrates the database to the newest version, after a backup if its version is older. STORE_NEWER,
 * STORE_FOREIGN. */
store_status sqlite_migrate(connection *c, const char *path, const embedded_file *files, store_error *err);

/* The version of the newest migration among the files. */
int64_t sqlite_newest_version(const embedded_file *files);

/* The database's version; 0: it has no table. STORE_FOREIGN: another program's. STORE_NEWER: from a newer
 * banditd. */
store_status sqlite_identify(connection *c, const char *path, const embedded_file *files, int64_t *version,
                             store_error *err);

/* Runs one migration's statements. */
store_status sqlite_run_migration(connection *c, const embedded_file *files, int64_t version,
                                  store_error *err);

/* ---- schema.c ------------------------------------------------------------------------------------------ */

/* Calls `problem` for everything that is missing from a database of the newest schema or does not belong in it. */
store_status sqlite_check_schema(connection *c, store_check_row *problem, void *arg, store_error *err);

/* ---- backup.c ------------------------------------------------------------------------------------------ */

/* Copies the database to `path`. The copy appears there complete and synced, or not at all. */
store_status sqlite_copy(connection *c, const char *path, store_error *err);

/* ---- write.c ------------------------------------------------------------------------------------------- */

store_status sqlite_begin(store *s, store_error *err);
store_status sqlite_commit(store *s, store_error *err);
void sqlite_rollback(store *s);
bool sqlite_in_transaction(store *s);
store_status sqlite_mark(store *s, store_error *err);
store_status sqlite_release(store *s, store_error *err);
store_status sqlite_undo(store *s, store_error *err);
store_status sqlite_study_insert(store *s, const store_event *event, int64_t epoch, study_record *record,
                                 store_error *err);
store_status sqlite_sums_put(store *s, int64_t study, const store_arm_sum *sums, size_t n, store_error *err);
store_status sqlite_trials_insert(store *s, int64_t study, int64_t first, int64_t batch,
                                  const store_pick *picks, size_t n, store_error *err);
store_status sqlite_touch(store *s, store_error *err);

/* ---- chores.c ------------------------------------------------------------------------------------------ */

/* Call it when the write-ahead log is empty or restarts. Sets when the next checkpoints are due. */
void sqlite_log_restarted(sqlite_store *s);
void sqlite_after_commit(store *base);
store_chore sqlite_chore(store *base);
void sqlite_idle(store *base);

/* ---- readers.c ----------------------------------------------------------------------------------------- */

void sqlite_close_readers(sqlite_store *s);

sql_connection *sqlite_begin_read(store *s, store_status *status, store_error *err);
store_status sqlite_end_read(store *s, sql_connection *c, store_status status);

/* ---- read_candidates.c --------------------------------------------------------------------------------- */

store_status sqlite_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                       size_t dimension, double *rows, store_error *err);
store_status sqlite_read_candidates(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                    double *rows, store_error *err);

#endif
