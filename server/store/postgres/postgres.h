/* The PostgreSQL backend. Its store belongs to one server: the session that writes holds an advisory lock, which keeps
 * other servers out. Only the files of the backend include this header.
 *
 *   statements.h       the statements that differ from SQLite's
 *   library.c          loads libpq
 *   session.c          connections: opening, settings, the meaning of errors
 *   parameters.c       parameters in PostgreSQL's binary form
 *   driver.c           statements with rows (sql_driver), and running one or many
 *   journal.c          the writer's transaction: statements that are sent together
 *   merge.c            rows of many writes as arrays of few statements
 *   recover.c          the lock, lost connections, commits whose answer was lost
 *   known.c            studies and trials that the writer keeps in memory, so that it need not read them
 *   write.c            writes that differ from those of sql/write.c
 *   readers.c          the pool of readers
 *   read_candidates.c  reads of candidates
 *   chores.c           removal of deleted data in slices
 *   migrate.c          schema versions
 *   check.c            checks, snapshots
 *   open.c             opening, closing */
#ifndef SERVER_STORE_POSTGRES_POSTGRES_H
#define SERVER_STORE_POSTGRES_POSTGRES_H

#include "server/store/postgres/library.h"
#include "server/store/postgres/statements.h"
#include "server/store/sql/sql.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored blobs are little-endian");

typedef struct pg_store pg_store;

/* A statement's parameters, encoded one after the other. */
typedef struct pg_bytes {
    unsigned char *bytes;
    size_t n, capacity;
} pg_bytes;

enum { pg_most_parameters = 32 };

typedef struct pg_parameters {
    int n;
    const char *values[pg_most_parameters];
    int lengths[pg_most_parameters], formats[pg_most_parameters];
    Oid types[pg_most_parameters];
} pg_parameters;

/* The process and the start of a session; together they identify it. */
typedef char pg_session[64];

/* A connection with its prepared statements. Used by one thread at a time. */
typedef struct pg_connection {
    sql_connection base;
    struct pg_connection *next; /* in the pool of readers */
    pg_store *store;            /* of the writer; NULL: this is a reader */
    pg_store *pool; /* of a reader that connects again if its connection is lost; NULL: it does not */
    PGconn *conn;   /* NULL: none */
    pg_session session;
    double deadline; /* of store_clock: if an answer comes later, the connection counts as lost; 0: none */
    double waits;    /* of a reader: s for which it waits for each answer; 0: for ever */
    bool prepared[PG_COUNT];
    bool unconfirmed; /* a commit ended its wait before the standbys had confirmed it */
    pg_bytes bytes;   /* parameters of the statement in progress; of a reader: of all statements in `asked` */
    /* The statement in progress. */
    PGresult *result;
    int row;
    store_error error; /* status STORE_OK: none */
    /* Of a reader: its read so far. If the connection is lost, the read begins again. */
    struct pg_entry *asked; /* its statements */
    size_t n_asked, asked_capacity;
    size_t taken;    /* how many rows of the last statement were taken */
    uint64_t seen;   /* a hash of the taken rows of all statements */
    pg_session late; /* a session whose answer did not come in time, and that must be ended; "": none */
    size_t late_at;  /* `taken` plus 1 at the last such answer; 0: none */
} pg_connection;

/* One statement of a transaction. */
typedef struct pg_entry {
    int id; /* sql_id or pg_id */
    const char *types;
    size_t at; /* of its parameters in the bytes */
    /* Of the writer's: */
    store_status unchanged; /* the status if it changes no row; STORE_OK: it need not change one */
    char *message;          /* for this case, owned */
} pg_entry;

/* A statement to send, and the memory with its parameters. */
typedef struct pg_sending {
    pg_entry entry; /* borrows its message */
    const pg_bytes *bytes;
} pg_sending;

typedef struct pg_slot {
    int rows;       /* the kind of row */
    unsigned round; /* if it is not the round of the merge, the slot is free */
    uint64_t study, trial;
    size_t row; /* its place in its list */
} pg_slot;

/* Rows of one statement. */
typedef struct pg_rows {
    size_t *at; /* of each row's parameters */
    size_t n, capacity;
    pg_entry only;                      /* the last one */
    char types[pg_most_parameters + 1]; /* of their arrays */
} pg_rows;

/* The statements that pg_merge_entries makes from a part of the journal, and memory that is reused. */
enum { PG_MERGED = 6 };
typedef struct pg_merge {
    pg_sending *list;
    size_t n, capacity;
    pg_bytes bytes; /* of arrays */
    pg_rows rows[PG_MERGED];
    pg_slot *slots;
    size_t n_slots; /* a power of two */
    unsigned round; /* the next one frees all slots at once */
} pg_merge;

struct pg_store {
    sql_store sql;
    char *uri;       /* as the user gave it: may hold a password, never shown */
    char name[160];  /* to be shown */
    double patience; /* s for which the server waits for a lost database */
    double asked_at; /* of store_clock: when the writer began to wait for answers */
    bool snapshot;   /* `writer` is a reader, and one transaction serves all reads */
    bool is_read; /* a snapshot's `writer` is in a read: reads in its callbacks use other connections, … */
    char moment[64]; /* … which import the snapshot by this name */
    pg_connection writer;

    /* The writer's transaction. */
    bool open;
    pg_entry *entries;
    size_t n_entries, capacity, n_sent;
    size_t mark, mark_bytes;
    pg_bytes bytes;
    pg_merge merge;
    int64_t generation, number;  /* of this server; of the last commit that is known to have happened */
    bool maybe_next;             /* one more commit may have happened: its answer was not received */
    int64_t studies;             /* the highest number of a study */
    pg_session session;          /* the last session of this server that had the lock */
    atomic_bool taken;           /* another server has had the lock since: nothing is written any more */
    _Atomic double away_since;   /* of store_clock; 0: the database can be reached */
    _Atomic double unread_since; /* the same, for reads */
    _Atomic uint64_t reconnects, ambiguous_happened, ambiguous_lost, history_lost;

    struct pg_known *known;

    pthread_mutex_t pool_mutex;
    pg_connection *idle_readers;
    int n_idle_readers;
};

static inline pg_store *pg_of(store *s)
{
    return (pg_store *)s;
}

extern const store_backend pg_backend; /* in open.c */
extern const sql_driver pg_driver;     /* in driver.c */

/* ---- session.c ----------------------------------------------------------------------------------------- */

/* Is the text a URI or a list of settings that libpq understands? The error message shows no part of it. */
store_status pg_check_uri(const char *uri, store_error *err);

/* Opens a connection. STORE_UNREACHABLE: it may succeed later; failures that waiting does not help have other statuses.
 * The caller closes the connection, also after a failure. */
store_status pg_connect(pg_connection *c, const char *uri, store_error *err);

/* From here on, statements can be sent on the connection without waiting for their results (libpq's pipeline mode), and
 * texts outside the tables of statements cannot be run. */
store_status pg_enter_pipeline(pg_connection *c, store_error *err);
void pg_disconnect(pg_connection *c);
void pg_connection_clear(pg_connection *c); /* disconnects, and frees what it owns */

/* Sends everything that is not sent yet, and waits until a result can be taken without waiting. False: the connection
 * is lost, or its deadline has passed. */
bool pg_await(pg_connection *c);

/* Sends everything that is not sent yet, and reads while it waits. libpq moves its unsent bytes with each statement
 * that is added, so without this the time for a long pipeline would grow with the square of its length. False: like
 * pg_await. */
bool pg_send_out(pg_connection *c);

/* The next result; NULL: the statement has no more, or the connection is lost or past its deadline. */
PGresult *pg_result(pg_connection *c);

/* The server, database and user of the connection, without the password. */
void pg_describe(const pg_connection *c, char *out, size_t size);

/* The status and the message of a failed result. STORE_UNREACHABLE: the connection is lost or can no longer be used. */
store_status pg_fail(pg_connection *c, const PGresult *result, store_error *err, const char *what);
store_status pg_fail_lost(pg_connection *c, store_error *err, const char *what);

/* Runs a text that is not in the tables of statements, and waits for it. */
store_status pg_execute_text(pg_connection *c, const char *sql, store_error *err);
/* The first column of the first row as text, cut to `size`; "" without a row. */
store_status pg_read_text(pg_connection *c, const char *sql, char *out, size_t size, store_error *err);
store_status pg_read_integer(pg_connection *c, const char *sql, int64_t *out, store_error *err);

/* ---- parameters.c -------------------------------------------------------------------------------------- */

/* Appends the arguments to *out. types: those of sql_start and two for arrays: I: const int64_t *, size_t; D: const
 * double *, size_t, where NaN is NULL. False: out of memory. */
bool pg_encode(pg_bytes *out, const char *types, va_list args);

/* Appends n rows that were encoded one by one, with these types, at these places, as one array per parameter. `arrays`
 * gets the types of the arrays (I, D, T and B for i, d, t, and b or n). False: out of memory. */
bool pg_encode_rows(pg_bytes *out, const char *types, const pg_bytes *rows, size_t *at, size_t n,
                    char arrays[pg_most_parameters + 1]);

/* The parameters that were encoded at `at`. They point into *bytes. */
void pg_decode(pg_parameters *out, const pg_bytes *bytes, size_t at, const char *types);

/* ---- driver.c ------------------------------------------------------------------------------------------ */

/* The text of a statement, in PostgreSQL's form. */
void pg_statement_text(int id, char *out, size_t size);
enum { pg_longest_statement = 1024 };

/* Sends the statement's preparation, once per connection, and the statement. False: the connection is lost. */
bool pg_send_preparation(pg_connection *c, int id, const pg_parameters *parameters);
bool pg_send(pg_connection *c, int id, const pg_parameters *parameters);

/* ---- journal.c: on the writer thread ------------------------------------------------------------------- */

store_status pg_begin(store *s, store_error *err);
store_status pg_commit(store *s, store_error *err);
void pg_rollback(store *s);
bool pg_in_transaction(store *s);
store_status pg_mark(store *s, store_error *err);
store_status pg_release(store *s, store_error *err);
store_status pg_undo(store *s, store_error *err);

/* Adds a statement to the transaction. */
store_status pg_enter(pg_store *s, store_error *err, int id, const char *types, ...);
store_status pg_enter_list(pg_store *s, store_error *err, int id, const char *types, va_list args);
store_status pg_must_change(pg_store *s, store_error *err, store_status status, const char *message);

/* Sends the entered statements, and then the statement with these parameters (id < 0: none), whose result is kept in
 * the writer. If the connection is lost, it begins again with a new one. */
store_status pg_ask(pg_store *s, int id, const char *types, const pg_bytes *bytes, store_error *err);

/* ---- merge.c: on the writer thread --------------------------------------------------------------------- */

/* Fills m->list with the statements to send for these entries, whose parameters are in `bytes`. The list is valid until
 * the next call. False: out of memory. */
bool pg_merge_entries(pg_merge *m, const pg_entry *entries, size_t n, const pg_bytes *bytes);
void pg_merge_free(pg_merge *m);

/* ---- recover.c: on the writer thread ------------------------------------------------------------------- */

/* How long the writer waits for an answer: as long as the patience, but at least one second. */
double pg_wait_seconds(const pg_store *s);
static const double pg_shortest_attempt = 2.0; /* s, for an attempt that begins after the patience */

/* The writer waits for answers from now. */
void pg_set_deadline(pg_store *s);

/* Takes the lock, until the session ends. STORE_BUSY: another server has it. */
store_status pg_lock(pg_store *s, store_error *err);

/* The same, and begins a new generation, which may write. */
store_status pg_take_over(pg_store *s, store_error *err);

/* After the connection was lost: connects and takes the lock again, trying for at most the patience. *happened: the
 * commit that was in progress has happened. STORE_ELSEWHERE: another server has, or has had, the lock since then. */
store_status pg_recover(pg_store *s, bool *happened, store_error *err);

/* ---- known.c: on the writer thread --------------------------------------------------------------------- */

/* Only this server writes, so the rows that it has read or written stay valid. A trial that is not known is read
 * together with its neighbours, which will be needed soon. */
enum { pg_trials_at_once = 256 };
struct pg_known *pg_known_new(void);
void pg_known_free(struct pg_known *known);
void pg_known_forget(struct pg_known *known);
bool pg_known_study(struct pg_known *known, int64_t study, study_record *out);
bool pg_known_trial(struct pg_known *known, int64_t study, int64_t trial, trial_record *out);
void pg_know_study(struct pg_known *known, const study_record *record);
void pg_know_trial(struct pg_known *known, int64_t study, int64_t trial, const trial_record *record);

/* ---- write.c ------------------------------------------------------------------------------------------- */

store_status pg_study_insert(store *s, const store_event *event, int64_t epoch, study_record *record,
                             store_error *err);
store_status pg_study_load(store *s, int64_t study, study_record *record, store_error *err);
store_status pg_study_save(store *s, const study_record *record, store_error *err);
store_status pg_study_delete(store *s, int64_t study, store_error *err);
store_status pg_sums_put(store *s, int64_t study, const store_arm_sum *sums, size_t n, store_error *err);
store_status pg_trials_insert(store *s, int64_t study, int64_t first, int64_t batch, const store_pick *picks,
                              size_t n, store_error *err);
store_status pg_trial_load(store *s, int64_t study, int64_t trial, trial_record *record, store_error *err);
store_status pg_trial_issue(store *s, int64_t study, int64_t seq, const store_event *event, store_error *err);
store_status pg_trial_requeue(store *s, int64_t study, int32_t attempt, const store_event *event,
                              store_error *err);
store_status pg_trial_tell(store *s, int64_t study, int64_t seq, int32_t attempt, const store_event *event,
                           store_error *err);
store_status pg_trial_amend(store *s, int64_t study, int64_t seq, const store_event *event, store_error *err);
store_status pg_touch(store *s, store_error *err);

/* ---- readers.c ----------------------------------------------------------------------------------------- */

sql_connection *pg_begin_read(store *s, store_status *status, store_error *err);
store_status pg_end_read(store *s, sql_connection *c, store_status status);
void pg_close_readers(pg_store *s);

/* ---- read_candidates.c --------------------------------------------------------------------------------- */

store_status pg_read_candidates(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                double *rows, store_error *err);
store_status pg_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                   size_t dimension, double *rows, store_error *err);

/* ---- chores.c ------------------------------------------------------------------------------------------ */

void pg_after_commit(store *s);
store_chore pg_chore(store *s);
void pg_idle(store *s);

/* ---- migrate.c ----------------------------------------------------------------------------------------- */

/* The version of the database's schema; 0: it has none. STORE_NEWER. */
store_status pg_identify(pg_connection *c, const char *name, int64_t *version, store_error *err);
int64_t pg_newest_version(void);

/* ---- open.c -------------------------------------------------------------------------------------------- */

/* Refuses a database that cannot hold the store: an old server, another encoding, a standby … */
store_status pg_refuse_unfit(pg_connection *c, bool writes, store_error *err);

/* A store without its thread. NULL: out of memory. */
pg_store *pg_new(const char *uri);
void pg_free(pg_store *s); /* also after a failure while opening */

/* Connects, and refuses a database that cannot hold a store. */
store_status pg_connect_fit(pg_store *s, bool writes, store_error *err);

/* The same, and refuses a database of another schema. */
store_status pg_open_current(pg_store *s, bool writes, store_error *err);

#endif
