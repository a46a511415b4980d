/* SQLite alone: so many workers hand rows of the size of an event to one thread, which commits what has
 * queued up together, durably (WAL, synchronous=FULL), and lets them go on.
 *
 * usage: rows FILE WORKERS SECONDS
 *
 * Prints one JSON object, as load does. Each worker is as quick as can be: it has its next row ready when its
 * last one is on disk. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message)) {
        fprintf(stderr, "%s: %s\n", sql, message);
        exit(1);
    }
}

static void step(sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(sqlite3_db_handle(statement)));
        exit(1);
    }
    sqlite3_reset(statement);
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    sqlite3_stmt *log, *put;
    if (argc < 4 || sqlite3_open(argv[1], &db))
        return 2;
    int workers = atoi(argv[2]);
    double seconds = atof(argv[3]);
    run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000;"
            "CREATE TABLE log (study INTEGER, seq INTEGER, time INTEGER, type TEXT, payload TEXT, "
            "PRIMARY KEY (study, seq)) WITHOUT ROWID;"
            "CREATE TABLE trials (study INTEGER, trial INTEGER, state INTEGER, value REAL, worker TEXT, "
            "PRIMARY KEY (study, trial)) WITHOUT ROWID;");
    sqlite3_prepare_v2(db, "INSERT INTO log VALUES (?1, ?2, ?3, 'trial_issued', ?4)", -1, &log, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO trials VALUES (?1, ?2, 1, 0.5, 'w1')", -1, &put, NULL);
    long long n = 0;
    double start = now();
    while (now() < start + seconds) {
        run(db, "BEGIN IMMEDIATE");
        for (int i = 0; i < workers; i++, n++) {
            char payload[128];
            snprintf(payload, sizeof payload,
                     "{\"trial\":%lld,\"attempt\":1,\"worker\":\"w%d\",\"lease_expires_at\":1800000000000}",
                     n, i);
            sqlite3_bind_int64(log, 1, i % 16);
            sqlite3_bind_int64(log, 2, n);
            sqlite3_bind_int64(log, 3, 1800000000000);
            sqlite3_bind_text(log, 4, payload, -1, SQLITE_STATIC);
            step(log);
            sqlite3_bind_int64(put, 1, i % 16);
            sqlite3_bind_int64(put, 2, n);
            step(put);
        }
        run(db, "COMMIT");
    }
    printf("{\"per_second\": %.1f}\n", (double)n / (now() - start));
    sqlite3_finalize(log);
    sqlite3_finalize(put);
    sqlite3_close(db);
    return 0;
}
