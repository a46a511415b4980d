/* Compares two studies of any two stores through the read functions: each row becomes a line of text, and the lines of
 * each table are compared in their order. */
#include "proto/arrays.h"
#include "server/store/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines of some rows. */
typedef struct lines {
    char **list;
    size_t n, capacity;
    bool no_memory;
    int64_t last; /* the last row's number */
} lines;

static void clear(lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->list[i]);
    free(l->list);
    *l = (lines){0};
}

__attribute__((format(printf, 3, 4))) static void add(lines *l, int64_t number, const char *format, ...)
{
    va_list args;
    char *line = NULL;
    va_start(args, format);
    int n = vasprintf(&line, format, args);
    va_end(args);
    l->last = number;
    if (n < 0 || !wire_grow(&l->list, &l->capacity, l->n + 1, 64, sizeof *l->list)) {
        l->no_memory = true;
        if (n >= 0)
            free(line);
        return;
    }
    l->list[l->n++] = line;
}

/* ---- rows as lines: every member except the numbers that differ between databases; doubles with every bit */

#define I(x) ((long long)(x))

static void add_study(void *arg, const store_study *s)
{
    add(arg, 0,
        "state %d '%s', from %lld to %lld, last_seq %lld, trials %lld (%lld %lld %lld %lld %lld %lld), issued %lld, "
        "observations %lld, imported %lld, batches %lld through %lld, best trial %lld candidate %lld value %a, cost %a, "
        "candidates %lld x %lld (%lld), digest '%s', definition %s",
        (int)s->state, s->state_reason, I(s->created_at), I(s->updated_at), I(s->last_seq), I(s->trials),
        I(s->by_state[0]), I(s->by_state[1]), I(s->by_state[2]), I(s->by_state[3]), I(s->by_state[4]),
        I(s->by_state[5]), I(s->issued), I(s->observations), I(s->imported), I(s->batches), I(s->through_seq),
        I(s->best_trial), I(s->best_candidate), s->best_value, s->cost, I(s->candidates), I(s->dimension),
        I(s->reference_candidates), s->digest, s->definition);
}

static void add_trial(void *arg, const store_trial *t)
{
    add(arg, t->trial,
        "trial %lld: state %d, attempt %d, batch %lld, candidate %lld, variance %a, worker '%s', issued_at %lld, "
        "lease_expires_at %lld, value %d %a, reason '%s', repeats %lld, cost %a, recorded '%s', metadata '%s', told_at %lld, "
        "told_seq %lld",
        I(t->trial), (int)t->state, t->attempt, I(t->batch), I(t->candidate), t->variance, t->worker,
        I(t->issued_at), I(t->lease_expires_at), t->has_value, t->value, t->reason, I(t->repeats), t->cost,
        t->recorded, t->metadata, I(t->told_at), I(t->told_seq));
}

static void add_attempt(void *arg, const store_attempt *a)
{
    add(arg, a->trial,
        "trial %lld, attempt %d: worker '%s', issued_at %lld, lease_expires_at %lld, ended_at %lld, outcome '%s'",
        I(a->trial), a->attempt, a->worker, I(a->issued_at), I(a->lease_expires_at), I(a->ended_at),
        a->outcome);
}

static void add_late(void *arg, const store_late_result *l)
{
    add(arg, 0,
        "trial %lld: candidate %lld, attempt %d, value %a, repeats %lld, cost %a, recorded '%s', metadata '%s', told_at %lld, "
        "told_seq %lld",
        I(l->trial), I(l->candidate), l->attempt, l->value, I(l->repeats), l->cost, l->recorded, l->metadata,
        I(l->told_at), I(l->told_seq));
}

static void add_amendment(void *arg, const store_amendment *a)
{
    add(arg, 0,
        "trial %lld, observation %lld: seq %lld at %lld '%s', was %d, value %d %a, repeats %lld, recorded '%s', "
        "reason '%s'",
        I(a->trial), I(a->observation), I(a->seq), I(a->amended_at), a->reason, (int)a->was, a->had_value,
        a->value, I(a->repeats), a->recorded, a->was_reason);
}

static void add_measurement(void *arg, const store_measurement *m)
{
    add(arg, 0, "trial %lld, attempt %d, step %lld: value %a at %lld", I(m->trial), m->attempt, I(m->step),
        m->value, I(m->time));
}

static void add_batch(void *arg, const store_batch *b)
{
    add(arg, b->batch,
        "batch %lld: size %lld, ratio %a, stop_rule '%s', beta %a, dictionary_size %lld, observations %lld, "
        "update_seconds %a, select_seconds %a, started_at %lld, code_path '%s', through_seq %lld, advice '%s'",
        I(b->batch), I(b->size), b->ratio, b->stop_rule, b->beta, I(b->dictionary_size), I(b->observations),
        b->update_seconds, b->select_seconds, I(b->started_at), b->code_path, I(b->through_seq), b->advice);
}

static void add_observation(void *arg, const store_imported *o)
{
    add(arg, o->observation,
        "imported result %lld: told_seq %lld at %lld, candidate %u, state %d, value %d %a, repeats %lld, "
        "cost %a, recorded '%s', reason '%s'",
        I(o->observation), I(o->told_seq), I(o->imported_at), o->candidate, (int)o->state, o->has_value,
        o->value, I(o->repeats), o->cost, o->recorded, o->reason);
}

static void add_retired(void *arg, uint32_t candidate)
{
    add(arg, 0, "candidate %u", candidate);
}

static void add_key(void *arg, const store_key *key)
{
    add(arg, 0, "candidate %lld: key '%s'", I(key->candidate), key->key);
}

/* ---- tables --------------------------------------------------------------------------------------------- */

typedef struct place {
    store *s;
    const char *id;
    int64_t study;
    store_error *err;
} place;

/* Reads rows with a number above `after`; without numbers, all. */
typedef store_status read_table(const place *p, int64_t after, lines *out);

enum { rows_in_page = 1000 };

static store_status read_study(const place *p, int64_t after, lines *out)
{
    (void)after;
    store_status status = store_read_staged(p->s, p->study, add_study, out, p->err);
    return status == STORE_NOT_FOUND ? store_read_study(p->s, p->id, add_study, out, p->err) : status;
}

static store_status read_trials(const place *p, int64_t after, lines *out)
{
    return store_read_trials(p->s, p->study, &(store_trial_filter){.after = after}, rows_in_page, add_trial,
                             out, p->err);
}

static void take_number(void *arg, const store_trial *t)
{
    *(int64_t *)arg = t->trial;
}

/* A page covers a number of trials, some of which may have no attempts. */
static store_status read_attempts(const place *p, int64_t after, lines *out)
{
    int64_t last = after;
    store_status status = store_read_trials(p->s, p->study, &(store_trial_filter){.after = after},
                                            rows_in_page, take_number, &last, p->err);
    if (status || last == after)
        return status;
    add(out, last, "of the trials through %lld", I(last));
    status = store_read_attempts(p->s, p->study, after + 1, last, add_attempt, out, p->err);
    out->last = last;
    return status;
}

static store_status read_late(const place *p, int64_t after, lines *out)
{
    (void)after;
    return store_read_late_results(p->s, p->study, 0, 0, INT64_MAX, add_late, out, p->err);
}

static store_status read_amendments(const place *p, int64_t after, lines *out)
{
    (void)after;
    return store_read_amendments(p->s, p->study, 0, 0, add_amendment, out, p->err);
}

static store_status read_measurements(const place *p, int64_t after, lines *out)
{
    (void)after;
    return store_read_measurements(p->s, p->study, 0, add_measurement, out, p->err);
}

static store_status read_batches(const place *p, int64_t after, lines *out)
{
    return store_read_batches(p->s, p->study, after - 1, rows_in_page, add_batch, out, p->err);
}

static store_status read_observations(const place *p, int64_t after, lines *out)
{
    return store_read_observation_page(p->s, p->study, after, rows_in_page, add_observation, out, p->err);
}

static store_status read_retired(const place *p, int64_t after, lines *out)
{
    (void)after;
    return store_read_retired(p->s, p->study, add_retired, out, p->err);
}

static store_status read_keys(const place *p, int64_t after, lines *out)
{
    (void)after;
    return store_read_keys(p->s, p->study, 0, SIZE_MAX, add_key, out, p->err);
}

/* Reads the sums, dictionary and state of the last batch. Each of the two blobs becomes one line. */
static store_status read_engine(const place *p, int64_t after, lines *out)
{
    store_engine_state e;
    (void)after;
    store_status status = store_read_engine_state(p->s, p->study, &e, p->err);
    if (status)
        return status == STORE_NOT_FOUND ? STORE_OK : status; /* before the first batch */
    uint64_t hash = 0xcbf29ce484222325u;                      /* FNV-1a */
    for (size_t i = 0; i < e.n_state; i++)
        hash = (hash ^ e.state[i]) * 0x100000001b3u;
    add(out, 0, "batch %lld through %lld by '%s', a state of %zu bytes with hash %016llx", I(e.batch),
        I(e.through_seq), e.code_path, e.n_state, (unsigned long long)hash);
    for (size_t i = 0; i < e.n_dictionary; i++)
        add(out, 0, "dictionary, place %zu: candidate %u", i, e.dictionary[i]);
    for (size_t i = 0; i < e.n_sums; i++)
        add(out, 0, "arm %u: count %llu, sum %a", e.sums[i].arm, (unsigned long long)e.sums[i].count,
            e.sums[i].sum);
    store_engine_state_clear(&e);
    return STORE_OK;
}

static const struct {
    const char *name;
    read_table *read;
    bool paged;
} tables[] = {
    {"studies", read_study, false},
    {"trials", read_trials, true},
    {"attempts", read_attempts, true},
    {"late_results", read_late, false},
    {"amendments", read_amendments, false},
    {"measurements", read_measurements, false},
    {"batches", read_batches, true},
    {"observations", read_observations, true},
    {"retired_candidates", read_retired, false},
    {"candidate_keys", read_keys, false},
    {"engine_states", read_engine, false},
};

/* False: it has reported the first difference. */
static bool compare_lines(const char *table, const lines *mine, const lines *theirs,
                          store_check_row *difference, void *arg)
{
    char text[640];
    for (size_t i = 0; i < mine->n || i < theirs->n; i++) {
        if (i < mine->n && i < theirs->n && strcmp(mine->list[i], theirs->list[i]) == 0)
            continue;
        if (i >= mine->n)
            snprintf(text, sizeof text, "%s: a row that the log produces is missing: %.400s", table,
                     theirs->list[i]);
        else if (i >= theirs->n)
            snprintf(text, sizeof text, "%s: the log does not produce this row: %.400s", table,
                     mine->list[i]);
        else
            snprintf(text, sizeof text, "%s: %.280s; by the log it is %.280s", table, mine->list[i],
                     theirs->list[i]);
        difference(arg, text);
        return false;
    }
    return true;
}

store_status store_compare_rows(store *a, const char *id, int64_t study, store *b, int64_t other,
                                store_check_row *difference, void *arg, store_error *err)
{
    const place mine = {a, id, study, err}, theirs = {b, id, other, err};
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < sizeof tables / sizeof *tables; i++) {
        int64_t after = 0;
        bool more = true;
        while (!status && more) {
            lines left = {0}, right = {0};
            status = tables[i].read(&mine, after, &left);
            if (!status)
                status = tables[i].read(&theirs, after, &right);
            if (!status && (left.no_memory || right.no_memory))
                status = store_fail(err, STORE_NO_MEMORY, "out of memory");
            more = !status && compare_lines(tables[i].name, &left, &right, difference, arg) &&
                   tables[i].paged && left.n > 0;
            after = left.last + (tables[i].read == read_batches);
            clear(&left);
            clear(&right);
        }
    }
    return status;
}
