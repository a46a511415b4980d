#include "tests/support/store_fixture.h"

#include "server/store/event.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void store_waiter_done(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    store_waiter *waiter = arg;
    pthread_mutex_lock(&waiter->mutex);
    waiter->n++;
    if (status && !waiter->first_failure)
        waiter->first_failure = status;
    waiter->last_status = status;
    waiter->study = study;
    waiter->last_seq = last_seq;
    pthread_cond_broadcast(&waiter->changed);
    pthread_mutex_unlock(&waiter->mutex);
}

void store_waiter_wait(store_waiter *waiter, size_t n)
{
    pthread_mutex_lock(&waiter->mutex);
    while (waiter->n < n)
        pthread_cond_wait(&waiter->changed, &waiter->mutex);
    pthread_mutex_unlock(&waiter->mutex);
}

typedef struct probing {
    store_probe probe;
    store_waiter waiter;
    store_error outcome;
} probing;

static void probe_done(store_probe *probe, const store_error *outcome)
{
    probing *p = (probing *)(void *)probe;
    p->outcome = *outcome;
    store_waiter_done(&p->waiter, outcome->status, 0, 0);
}

store_status store_fixture_probe(store *s, store_error *err)
{
    probing p = {.probe.done = probe_done, .waiter = STORE_WAITER_INIT};
    store_probe_start(s, &p.probe);
    store_waiter_wait(&p.waiter, 1);
    if (err)
        *err = p.outcome;
    return p.outcome.status;
}

void store_fixture_submit(store_lane *lane, const store_event *events, size_t n, store_waiter *waiter)
{
    store_write *write;
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(store_write_add(write, &events[i]), STORE_OK);
    assert_int_equal(store_write_events(write), n);
    store_submit(write, store_waiter_done, waiter);
}

store_status store_fixture_write(store_lane *lane, const store_event *events, size_t n, int64_t *study)
{
    store_waiter waiter = STORE_WAITER_INIT;
    store_fixture_submit(lane, events, n, &waiter);
    store_waiter_wait(&waiter, 1);
    if (study)
        *study = waiter.study;
    return waiter.last_status;
}

typedef struct lane_facts {
    int64_t study, epoch, last_seq;
} lane_facts;

static void take_facts(void *arg, const store_study *study)
{
    lane_facts *facts = arg;
    *facts = (lane_facts){study->study, study->epoch, study->last_seq};
}

store_lane *store_fixture_lane(store *s, const char *id, int64_t *study)
{
    lane_facts facts;
    store_lane *lane;
    assert_int_equal(store_read_study(s, id, take_facts, &facts, NULL), STORE_OK);
    assert_int_equal(store_lane_open(&lane, s, facts.study, facts.epoch, facts.last_seq), STORE_OK);
    if (study)
        *study = facts.study;
    return lane;
}

int64_t store_fixture_upload(store *s, int64_t count, int64_t dimension, int64_t block_rows)
{
    store_waiter waiter = STORE_WAITER_INIT;
    int64_t content;
    size_t blocks = 0;
    double *rows = malloc((size_t)(block_rows * dimension) * sizeof *rows);
    assert_non_null(rows);
    assert_int_equal(store_upload_begin(s, &content, NULL), STORE_OK);
    for (int64_t first = 0; first < count; first += block_rows, blocks++) {
        int64_t n = count - first < block_rows ? count - first : block_rows;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < dimension; j++)
                rows[i * dimension + j] = (double)(first + i) + (double)j / 1024.0;
        store_upload_append(s, content, first, (size_t)n, (size_t)dimension, rows, store_waiter_done,
                            &waiter);
    }
    store_waiter_wait(&waiter, blocks);
    assert_int_equal(waiter.first_failure, STORE_OK);
    free(rows);
    return content;
}

store_event store_fixture_created(const char *id, int64_t time)
{
    store_event event = {.type = EVENT_STUDY_CREATED, .time = time};
    event.u.created.id = id;
    event.u.created.definition = "{\"lambda\":0.010}";
    event.u.created.state = STUDY_ACTIVE;
    return event;
}

/* ---- dump ---------------------------------------------------------------------------------------------- */

typedef struct dumping {
    FILE *out;
    store *s;
    int64_t study, trials, candidates, dimension;
    int64_t observations; /* read in pages so far */
} dumping;

static void put_real(FILE *out, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        fputs(" nan", out);
    else
        fprintf(out, " %016llx", (unsigned long long)bits);
}

static void put_integer(FILE *out, int64_t n)
{
    fprintf(out, " %lld", (long long)n);
}

static void dump_study(void *arg, const store_study *study)
{
    dumping *d = arg;
    d->study = study->study;
    d->trials = study->trials;
    d->candidates = study->candidates;
    d->dimension = study->dimension;
    fprintf(d->out, "study %s '%s' %s '%s' '%s'", study->id, study->definition,
            study_state_name(study->state), study->state_reason, study->digest);
    const int64_t numbers[] = {study->epoch,          study->created_at,
                               study->updated_at,     study->last_seq,
                               study->trials,         study->issued,
                               study->batches,        study->observations,
                               study->through_seq,    study->best_trial,
                               study->best_candidate, study->candidates,
                               study->dimension,      study->reference_candidates,
                               study->imported};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_integer(d->out, numbers[i]);
    put_real(d->out, study->best_value);
    put_real(d->out, study->cost);
    int64_t sum = 0;
    for (int state = 0; state < TRIAL_STATES; state++) {
        put_integer(d->out, study->by_state[state]);
        sum += study->by_state[state];
    }
    fputc('\n', d->out);
    assert_int_equal(sum, study->trials);
}

static void dump_attempt(void *arg, const store_attempt *attempt)
{
    dumping *d = arg;
    fprintf(d->out, "  attempt %d '%s' %lld %lld %lld '%s'\n", attempt->attempt, attempt->worker,
            (long long)attempt->issued_at, (long long)attempt->lease_expires_at, (long long)attempt->ended_at,
            attempt->outcome);
}

static void dump_trial(void *arg, const store_trial *trial)
{
    dumping *d = arg;
    fprintf(d->out, "trial %lld %s attempt %d batch %lld candidate %lld", (long long)trial->trial,
            trial_state_name(trial->state), trial->attempt, (long long)trial->batch,
            (long long)trial->candidate);
    put_real(d->out, trial->variance);
    fprintf(d->out, " '%s' %lld %lld %d", trial->worker, (long long)trial->issued_at,
            (long long)trial->lease_expires_at, trial->has_value);
    put_real(d->out, trial->has_value ? trial->value : NAN);
    put_real(d->out, trial->cost);
    fprintf(d->out, " '%s' %lld %lld %lld '%s' '%s'\n", trial->reason, (long long)trial->told_at,
            (long long)trial->told_seq, (long long)trial->repeats, trial->recorded, trial->metadata);
}

static void dump_late_result(void *arg, const store_late_result *late)
{
    dumping *d = arg;
    fprintf(d->out, "late result of %lld (%lld) attempt %d", (long long)late->trial,
            (long long)late->candidate, late->attempt);
    put_real(d->out, late->value);
    put_real(d->out, late->cost);
    fprintf(d->out, " %lld '%s' '%s' %lld %lld\n", (long long)late->repeats, late->recorded, late->metadata,
            (long long)late->told_at, (long long)late->told_seq);
}

static void dump_amendment(void *arg, const store_amendment *amendment)
{
    dumping *d = arg;
    fprintf(d->out, "amendment of %lld/%lld at %lld %lld '%s' was %s", (long long)amendment->trial,
            (long long)amendment->observation, (long long)amendment->seq, (long long)amendment->amended_at,
            amendment->reason, trial_state_name(amendment->was));
    put_real(d->out, amendment->had_value ? amendment->value : NAN);
    fprintf(d->out, " %lld '%s' '%s'\n", (long long)amendment->repeats, amendment->recorded,
            amendment->was_reason);
}

static void dump_measurement(void *arg, const store_measurement *m)
{
    dumping *d = arg;
    fprintf(d->out, "measurement of %lld.%d at %lld %lld", (long long)m->trial, m->attempt,
            (long long)m->step, (long long)m->time);
    put_real(d->out, m->value);
    fputc('\n', d->out);
}

static void dump_batch(void *arg, const store_batch *batch)
{
    dumping *d = arg;
    fprintf(d->out, "batch %lld %lld '%s' '%s' '%s' %lld %lld %lld", (long long)batch->batch,
            (long long)batch->size, batch->stop_rule, batch->code_path, batch->advice,
            (long long)batch->dictionary_size, (long long)batch->observations, (long long)batch->started_at);
    put_real(d->out, batch->ratio);
    put_real(d->out, batch->beta);
    put_real(d->out, batch->update_seconds);
    put_real(d->out, batch->select_seconds);
    put_integer(d->out, batch->through_seq);
    fputc('\n', d->out);
}

static void dump_log(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    dumping *d = arg;
    fprintf(d->out, "log %lld %lld %s %s\n", (long long)seq, (long long)time, type, payload);
}

static void dump_observation(void *arg, const store_imported *observation)
{
    dumping *d = arg;
    fprintf(d->out, "observation %lld %lld %lld %u %lld %s %d '%s'", (long long)observation->observation,
            (long long)observation->told_seq, (long long)observation->imported_at, observation->candidate,
            (long long)observation->repeats, trial_state_name(observation->state), observation->has_value,
            observation->reason);
    put_real(d->out, observation->value);
    fputc('\n', d->out);
}

/* The observations once more, in pages of three, each with its amendments. */
static void dump_observation_page(void *arg, const store_imported *observation)
{
    dumping *d = arg;
    assert_int_equal(observation->observation, ++d->observations);
    assert_int_equal(
        store_read_observation_amendments(d->s, d->study, observation->observation, dump_amendment, d, NULL),
        STORE_OK);
}

static void dump_observations(dumping *d)
{
    int64_t before;
    assert_int_equal(store_read_observations(d->s, d->study, 0, INT64_MAX, dump_observation, d, NULL),
                     STORE_OK);
    do {
        before = d->observations;
        assert_int_equal(
            store_read_observation_page(d->s, d->study, before, 3, dump_observation_page, d, NULL), STORE_OK);
        assert_true(d->observations - before <= 3);
    } while (d->observations > before);
}

static void dump_value(void *arg, int64_t trial, double value, int64_t told_at)
{
    dumping *d = arg;
    fprintf(d->out, "value %lld %lld", (long long)trial, (long long)told_at);
    put_real(d->out, value);
    fputc('\n', d->out);
}

static void dump_engine(dumping *d)
{
    store_engine_state engine;
    store_status status = store_read_engine_state(d->s, d->study, &engine, NULL);
    fprintf(d->out, "engine %s %lld %lld '%s'", store_status_text(status), (long long)engine.batch,
            (long long)engine.through_seq, engine.code_path);
    for (size_t i = 0; i < engine.n_dictionary; i++)
        put_integer(d->out, engine.dictionary[i]);
    fputs(" state", d->out);
    for (size_t i = 0; i < engine.n_state; i++)
        put_integer(d->out, engine.state[i]);
    fputc('\n', d->out);
    for (size_t i = 0; i < engine.n_sums; i++) {
        fprintf(d->out, "sum %u %llu", engine.sums[i].arm, (unsigned long long)engine.sums[i].count);
        put_real(d->out, engine.sums[i].sum);
        fputc('\n', d->out);
    }
    store_engine_state_clear(&engine);
}

static void dump_retired(void *arg, uint32_t candidate)
{
    dumping *d = arg;
    fprintf(d->out, "retired %u\n", candidate);
}

static void dump_key(void *arg, const store_key *key)
{
    dumping *d = arg;
    int64_t found;
    fprintf(d->out, "key %lld %s\n", (long long)key->candidate, key->key);
    assert_int_equal(store_find_key(d->s, d->study, key->key, &found, NULL), STORE_OK);
    assert_true(found >= 0 &&
                found <= key->candidate); /* of equal ones, which a user cannot give, the first */
}

static void dump_candidates(dumping *d)
{
    double *rows = malloc((size_t)(d->candidates * d->dimension + 1) * sizeof *rows);
    assert_non_null(rows);
    assert_int_equal(
        store_read_candidates(d->s, d->study, 0, (size_t)d->candidates, (size_t)d->dimension, rows, NULL),
        STORE_OK);
    for (int64_t i = 0; i < d->candidates * d->dimension; i++)
        put_real(d->out, rows[i]);
    fputc('\n', d->out);
    free(rows);
}

char *store_fixture_dump(store *s, const char *id, bool log)
{
    char *text;
    size_t size;
    dumping d = {.out = open_memstream(&text, &size), .s = s};
    assert_non_null(d.out);
    assert_int_equal(store_read_study(s, id, dump_study, &d, NULL), STORE_OK);
    store_trial_filter all = {0};
    assert_int_equal(store_read_trials(s, d.study, &all, SIZE_MAX, dump_trial, &d, NULL), STORE_OK);
    for (int64_t trial = 1; trial <= d.trials; trial++) {
        fprintf(d.out, "attempts of %lld\n", (long long)trial);
        assert_int_equal(store_read_attempts(s, d.study, trial, trial, dump_attempt, &d, NULL), STORE_OK);
    }
    assert_int_equal(store_read_batches(s, d.study, -1, SIZE_MAX, dump_batch, &d, NULL), STORE_OK);
    assert_int_equal(store_read_values(s, d.study, dump_value, &d, NULL), STORE_OK);
    dump_observations(&d);
    assert_int_equal(store_read_late_results(s, d.study, 0, 0, INT64_MAX, dump_late_result, &d, NULL),
                     STORE_OK);
    assert_int_equal(store_read_amendments(s, d.study, 0, 0, dump_amendment, &d, NULL), STORE_OK);
    assert_int_equal(store_read_measurements(s, d.study, 0, dump_measurement, &d, NULL), STORE_OK);
    dump_engine(&d);
    dump_candidates(&d);
    assert_int_equal(store_read_retired(s, d.study, dump_retired, &d, NULL), STORE_OK);
    assert_int_equal(store_read_keys(s, d.study, 0, SIZE_MAX, dump_key, &d, NULL), STORE_OK);
    if (log)
        assert_int_equal(store_read_log(s, d.study, 0, SIZE_MAX, dump_log, &d, NULL), STORE_OK);
    assert_int_equal(fclose(d.out), 0);
    return text;
}

/* ---- replay -------------------------------------------------------------------------------------------- */

typedef struct replaying {
    store *from, *to;
    int64_t study;
    store_lane *lane;
    store_waiter waiter;
    size_t submitted;
} replaying;

static int64_t copy_candidates(replaying *r, int64_t count, int64_t dimension)
{
    store_waiter waiter = STORE_WAITER_INIT;
    int64_t content;
    double *rows = malloc((size_t)(count * dimension) * sizeof *rows);
    assert_non_null(rows);
    assert_int_equal(
        store_read_candidates(r->from, r->study, 0, (size_t)count, (size_t)dimension, rows, NULL), STORE_OK);
    assert_int_equal(store_upload_begin(r->to, &content, NULL), STORE_OK);
    store_upload_append(r->to, content, 0, (size_t)count, (size_t)dimension, rows, store_waiter_done,
                        &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_OK);
    free(rows);
    return content;
}

static void replay_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    replaying *r = arg;
    store_event *event;
    store_error err = {0};
    store_status status = store_event_decode(&event, type, time, payload, &err);
    if (status)
        print_error("%s\n", err.message);
    assert_int_equal(status, STORE_OK);
    assert_int_equal(store_lane_next_seq(r->lane), seq);
    if (event->type == EVENT_CANDIDATES_SET)
        event->u.candidates.content =
            copy_candidates(r, event->u.candidates.count, event->u.candidates.dimension);
    store_fixture_submit(r->lane, event, 1, &r->waiter);
    r->submitted++;
    free(event);
}

void store_fixture_replay(store *from, store *to, const char *id)
{
    lane_facts facts;
    replaying r = {.from = from, .to = to, .waiter = STORE_WAITER_INIT};
    assert_int_equal(store_read_study(from, id, take_facts, &facts, NULL), STORE_OK);
    r.study = facts.study;
    assert_int_equal(store_lane_open(&r.lane, to, 0, facts.epoch, 0), STORE_OK);
    assert_int_equal(store_read_log(from, r.study, 0, SIZE_MAX, replay_entry, &r, NULL), STORE_OK);
    store_waiter_wait(&r.waiter, r.submitted);
    assert_int_equal(r.waiter.first_failure, STORE_OK);
    store_lane_close(r.lane);
}

void store_fixture_expect_rebuilt(store *s, const char *id)
{
    store *other;
    assert_int_equal(store_open_memory(&other, NULL), STORE_OK);
    store_fixture_replay(s, other, id);
    char *here = store_fixture_dump(s, id, false), *there = store_fixture_dump(other, id, false);
    assert_string_equal(here, there);
    free(here);
    free(there);
    store_close(other);
}

/* ---- databases ----------------------------------------------------------------------------------------- */

store *store_fixture_open(const char *path)
{
    store *s;
    store_error err = {0};
    store_status status = store_open_sqlite(&s, path, &err);
    if (status)
        print_error("%s\n", err.message);
    assert_int_equal(status, STORE_OK);
    return s;
}

static void print_problem(void *arg, const char *problem)
{
    print_error("%s\n", problem);
    ++*(int *)arg;
}

void store_fixture_expect_sound(const char *path)
{
    int problems = 0;
    assert_int_equal(store_check(path, print_problem, &problems, NULL), STORE_OK);
    assert_int_equal(problems, 0);
}
