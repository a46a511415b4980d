/* Decides which server may write, and finds out what happened to a commit whose answer was lost.
 *
 * The session that writes holds an advisory lock. PostgreSQL releases it only when the session has ended and none of
 * its statements is still running. So a session that has the lock either sees a commit of its predecessor or will
 * never see it, and no other session writes. Each start of a server is a new generation, and each commit has the next
 * number (table writer). After a lost connection the same server finds its own generation, and either the number of
 * the commit or the one before it. */
#include "server/base/log.h"
#include "server/store/postgres/postgres.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOCK "1650552420, 1" /* "band" */

static const double former_ends_within = 3.0; /* s, to wait for the session of a server that has just ended */
static const double terminates_after = 1.0;   /* s, for which the former session may keep the lock */
static const double longest_pause = 1.0;      /* s, between attempts */

static void pause_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static store_status try_lock(pg_connection *c, bool *locked, store_error *err)
{
    char answer[8];
    store_status status =
        pg_read_text(c, "SELECT pg_try_advisory_lock(" LOCK ")", answer, sizeof answer, err);
    *locked = *answer == 't';
    return status;
}

static void note_session(pg_store *s)
{
    memcpy(s->session, s->writer.session, sizeof s->session);
}

double pg_wait_seconds(const pg_store *s)
{
    return s->patience > 1 ? s->patience : 1;
}

void pg_set_deadline(pg_store *s)
{
    s->asked_at = store_clock();
    s->writer.deadline = s->asked_at + pg_wait_seconds(s);
}

store_status pg_lock(pg_store *s, store_error *err)
{
    bool locked = false;
    double deadline = store_clock() + former_ends_within;
    store_status status = try_lock(&s->writer, &locked, err);
    while (!status && !locked && store_clock() < deadline) {
        pause_for(0.02);
        status = try_lock(&s->writer, &locked, err);
    }
    if (!status && !locked)
        status = store_fail(err, STORE_BUSY, "%s is in use by another banditd", s->name);
    if (!status)
        note_session(s);
    return status;
}

store_status pg_take_over(pg_store *s, store_error *err)
{
    char row[96];
    long long generation, number, studies, contents;
    store_status status = pg_lock(s, err);
    if (!status)
        status = pg_read_text(&s->writer,
                              "UPDATE writer SET generation = generation + 1 RETURNING "
                              "generation || ' ' || number || ' ' || studies || ' ' || contents",
                              row, sizeof row, err);
    if (status)
        return status;
    if (sscanf(row, "%lld %lld %lld %lld", &generation, &number, &studies, &contents) != 4)
        return store_fail(err, STORE_CORRUPT, "%s: the table banditd.writer has no row", s->name);
    s->generation = generation;
    s->number = number;
    s->studies = studies;
    s->sql.base.next_content = contents + 1;
    return pg_enter_pipeline(&s->writer, err);
}

/* ---- a lost connection ---------------------------------------------------------------------------------- */

/* Ends the former session, which may still exist: PostgreSQL has not noticed its end, or has not yet received
 * everything that was sent. */
static void end_former_session(pg_store *s)
{
    char sql[128 + sizeof s->session];
    snprintf(
        sql, sizeof sql,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid || ' ' || backend_start = '%s'",
        s->session);
    pg_execute_text(&s->writer, sql, NULL);
}

/* Notes that another server has had the lock since this one. */
static store_status note_taken(pg_store *s, store_error *err)
{
    if (!atomic_exchange(&s->taken, true))
        log_event(LOG_ERROR, "database_taken", "db", s->name, NULL);
    return store_fail(err, STORE_ELSEWHERE, "another server has taken this database over: restart this one");
}

/* Call it while another session has the lock. Does that session belong to another server? */
static store_status look_for_successor(pg_store *s, store_error *err)
{
    int64_t generation;
    store_status status = pg_read_integer(&s->writer, "SELECT generation FROM writer", &generation, err);
    return status || generation == s->generation ? status : note_taken(s, err);
}

static store_status lock_again(pg_store *s, store_error *err)
{
    bool locked = false, ended = false;
    double begun = store_clock();
    store_status status = try_lock(&s->writer, &locked, err);
    while (!status && !locked) {
        double now = store_clock();
        status = look_for_successor(s, err);
        if (status)
            return status;
        if (now >= s->writer.deadline)
            return store_fail(err, STORE_UNREACHABLE, "another session keeps the database's lock");
        if (!ended && now - begun >= terminates_after) {
            end_former_session(s);
            ended = true;
        }
        pause_for(0.02);
        status = try_lock(&s->writer, &locked, err);
    }
    if (!status)
        note_session(s);
    return status;
}

/* Makes one attempt to connect, take the lock, and read the number of the last commit. The update makes sure that
 * synchronous standbys, if there are any, have all earlier commits. */
static store_status attempt(pg_store *s, int64_t *generation, int64_t *number, store_error *err)
{
    char row[64];
    long long found[2] = {0};
    store_status status = pg_connect(&s->writer, s->uri, err);
    if (!status)
        status = pg_read_text(&s->writer, "SELECT pg_is_in_recovery()", row, sizeof row, err);
    if (!status && *row == 't')
        status = store_fail(err, STORE_UNREACHABLE, "%s is a standby", s->name);
    if (!status)
        status = lock_again(s, err);
    if (!status)
        status = pg_read_text(
            &s->writer, "UPDATE writer SET generation = generation RETURNING generation || ' ' || number",
            row, sizeof row, err);
    if (!status && s->writer.unconfirmed)
        status = store_fail(err, STORE_UNREACHABLE, "the standbys do not have the commit");
    if (!status && sscanf(row, "%lld %lld", &found[0], &found[1]) != 2)
        status = store_fail(err, STORE_CORRUPT, "%s: the table banditd.writer has no row", s->name);
    if (!status)
        status = pg_enter_pipeline(&s->writer, err);
    *generation = found[0];
    *number = found[1];
    return status;
}

static void note_away(pg_store *s, double now, const store_error *why)
{
    double none = 0;
    if (atomic_compare_exchange_strong(&s->away_since, &none, now))
        log_event(LOG_WARN, "database_lost", "db", s->name, "reason", why->message, NULL);
}

static void note_back(pg_store *s, double now)
{
    double since = atomic_exchange(&s->away_since, 0);
    atomic_fetch_add(&s->reconnects, 1);
    log_event(LOG_INFO, "database_back", "db", s->name, "seconds",
              log_format("%.1f", since > 0 ? now - since : 0.0), NULL);
}

/* Has this server lost the database to another one, or has the database lost commits? */
static store_status compare(pg_store *s, int64_t generation, int64_t number, bool *happened, store_error *err)
{
    *happened = s->maybe_next && number == s->number + 1;
    if (generation != s->generation) {
        pg_disconnect(&s->writer);
        return note_taken(s, err);
    }
    if (number != s->number && !*happened) {
        atomic_fetch_add(&s->history_lost, 1);
        log_event(LOG_ERROR, "history_lost", "db", s->name, "commits",
                  log_format("%lld", (long long)(s->number - number)), NULL);
        s->number = number;
        s->maybe_next = false;
        return store_fail(err, STORE_SUPERSEDED,
                          "the database is not the one that was written to: commits are missing");
    }
    if (s->maybe_next) {
        atomic_fetch_add(*happened ? &s->ambiguous_happened : &s->ambiguous_lost, 1);
        log_event(LOG_INFO, "commit_unknown", "outcome",
                  *happened ? "it has happened" : "it has not happened", NULL);
    }
    return STORE_OK;
}

store_status pg_recover(pg_store *s, bool *happened, store_error *err)
{
    store_error own = {0};
    int64_t generation, number;
    double pause = 0.02, now = store_clock();
    *happened = false;
    pg_fail_lost(&s->writer, &own, "writing");
    if (s->writer.conn)
        note_away(s, s->asked_at, &own); /* the patience counts from this time */
    double since = atomic_load(&s->away_since);
    double deadline = (since > 0 ? since : now) + s->patience;
    for (;;) {
        double least = now + pg_shortest_attempt;
        s->writer.deadline = deadline > least ? deadline : least;
        store_status status = attempt(s, &generation, &number, &own);
        now = store_clock();
        if (!status) {
            note_back(s, now);
            return compare(s, generation, number, happened, err);
        }
        pg_disconnect(&s->writer);
        note_away(s, now, &own);
        if (status != STORE_UNREACHABLE || now >= deadline) {
            if (err)
                *err = own;
            return status;
        }
        pause_for(pause);
        pause = pause * 2 < longest_pause ? pause * 2 : longest_pause;
    }
}
