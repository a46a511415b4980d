#include "server/study/engine_lane.h"

#include "proto/arrays.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/candidate_rows.h"
#include "server/data/space_rules.h"
#include "server/study/insight_cache.h"
#include "server/study/stop_when.h"
#include "server/watch/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char engine_beyond_doubles[] =
    "the model's figures are beyond double precision: its options, candidates or values are too large or too "
    "small";

engine_source engine_source_of(const study *s)
{
    return (engine_source){.number = s->number,
                           .candidates = (size_t)study_candidates(s),
                           .broken = (size_t)(s->candidates - study_candidates(s)),
                           .dimension = (size_t)s->dimension,
                           .reference_candidates = (size_t)s->reference_candidates,
                           .batches = s->batches,
                           .trials = s->trials,
                           .through_seq = s->through_seq,
                           .unfinished = plan_state_is_unfinished(s->plans),
                           .has_keys = s->has_keys,
                           .writes = commit_last(s->commit),
                           .memory_limit = s->app->config->study_memory,
                           .config = s->config};
}

bool engine_fine(const engine_outcome *outcome)
{
    return outcome->stored == STORE_OK && outcome->error.status == BANDIT_OK;
}

bool engine_goes_on(engine_outcome *outcome)
{
    if (engine_fine(outcome) && bandit_pause())
        bandit_error_set(&outcome->error, BANDIT_CANCELLED, "", "given up");
    return engine_fine(outcome);
}

void engine_settle(engine_outcome *out)
{
    if (out->stored == STORE_OK && out->error.status == BANDIT_NO_MEMORY)
        out->stored = STORE_NO_MEMORY;
    if (out->stored == STORE_OK && out->error.status == BANDIT_CANCELLED)
        out->stored = STORE_ABORTED;
    static const char option[] = "; --study-memory sets the limit"; /* core does not know this option */
    size_t n = strlen(out->error.message);
    if (out->error.status == BANDIT_MEMORY_LIMIT && !strstr(out->error.message, option))
        snprintf(out->error.message + n, sizeof out->error.message - n, "%s", option);
}

void study_drop_preview(study *s)
{
    bandit_engine_free(s->engine.preview.engine);
    s->engine.preview.engine = NULL;
    insight_cache_free(s->engine.preview.insights);
    s->engine.preview.insights = NULL;
}

void study_drop_engine(study *s)
{
    study_drop_preview(s);
    bandit_engine_free(s->engine.engine);
    bandit_arms_free(s->engine.arms);
    s->engine.arms = NULL;
    s->engine.engine = NULL;
    insight_cache_free(s->engine.insights);
    s->engine.insights = NULL;
    stop_when_forget(s);
    study_count_memory(s);
}

void study_count_memory(study *s)
{
    engine_lane *lane = &s->engine;
    size_t memory = lane->arms ? bandit_arms_memory(lane->arms) : 0;
    memory += lane->engine ? bandit_engine_memory(lane->engine) : 0;
    memory += lane->preview.engine ? bandit_engine_memory(lane->preview.engine) : 0;
    memory += insight_cache_memory(lane->insights) + insight_cache_memory(lane->preview.insights);
    size_t before = atomic_exchange(&lane->memory, memory);
    metrics_add(s->app->metrics, METRICS_ENGINE_BYTES, (int64_t)memory - (int64_t)before);
    atomic_fetch_add(&s->app->engine_bytes, memory - before); /* modulo 2^64, as unsigned numbers are */
}

/* ---- the stored state ---------------------------------------------------------------------------------- */

typedef struct stored_head {
    int64_t first_trial;
    uint64_t n_pending;
} stored_head;

typedef struct stored_pick {
    uint64_t arm;
    double variance;
} stored_pick;

bool engine_state_pack(unsigned char **out, size_t *size, int64_t first_trial, const bandit_pick *pending,
                       size_t n_pending, const unsigned char *state, size_t n_state)
{
    stored_head head = {.first_trial = first_trial, .n_pending = n_pending};
    *size = sizeof head + n_pending * sizeof(stored_pick) + n_state;
    unsigned char *at = *out = malloc(*size);
    if (!at)
        return false;
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    for (size_t i = 0; i < n_pending; i++, at += sizeof(stored_pick)) {
        stored_pick pick = {.arm = pending[i].arm, .variance = pending[i].variance};
        memcpy(at, &pick, sizeof pick);
    }
    if (n_state)
        memcpy(at, state, n_state);
    return true;
}

/* The caller frees `pending`; `state` points into `stored`. */
typedef struct unpacked_state {
    stored_head head;
    bandit_pick *pending;
    const unsigned char *state;
    size_t n_state;
} unpacked_state;

static store_status unpack(unpacked_state *out, const store_engine_state *stored)
{
    const unsigned char *at = stored->state;
    *out = (unpacked_state){0};
    if (stored->n_state < sizeof out->head)
        return STORE_CORRUPT;
    memcpy(&out->head, at, sizeof out->head);
    at += sizeof out->head;
    size_t left = stored->n_state - sizeof out->head, n = (size_t)out->head.n_pending;
    if (n > left / sizeof(stored_pick))
        return STORE_CORRUPT;
    out->pending = malloc((n ? n : 1) * sizeof *out->pending);
    if (!out->pending)
        return STORE_NO_MEMORY;
    for (size_t i = 0; i < n; i++, at += sizeof(stored_pick)) {
        stored_pick pick;
        memcpy(&pick, at, sizeof pick);
        out->pending[i] = (bandit_pick){.arm = (uint32_t)pick.arm, .variance = pick.variance};
    }
    out->state = at;
    out->n_state = left - n * sizeof(stored_pick);
    return STORE_OK;
}

/* ---- loading (engine lane) ----------------------------------------------------------------------------- */

enum { ROWS_AT_ONCE = 4096 };

/* The number of values in a stored row. */
static size_t row_width(const engine_source *from)
{
    return from->config->precomputed ? from->candidates : from->dimension;
}

static void new_arms(bandit_arms **arms, const engine_source *from, engine_outcome *out)
{
    const study_config *config = from->config;
    if (config->precomputed)
        bandit_arms_new_precomputed(arms, from->candidates, &out->error);
    else if (config->parameters)
        space_arms_new(arms, config->wire, config->parameters, &out->error);
    else
        bandit_arms_new(arms, from->candidates, from->dimension, &out->error);
    if (engine_fine(out) && config->parameters && from->reference_candidates > 0)
        bandit_arms_enumerate(*arms, &out->error);
}

/* Are the arms of an enumerated space, which are computed from its definition, the stored ones in the same order? */
static bool same_points(const bandit_arms *arms, size_t first, size_t n, const double *rows)
{
    size_t width = bandit_arms_point_width(arms);
    bool same = first + n <= bandit_arms_count(arms);
    double *point = malloc(width * sizeof *point);
    for (size_t i = 0; point && same && i < n; i++) {
        bandit_arms_coded(arms, first + i, point);
        for (size_t j = 0; same && j < width; j++) {
            double stored = rows[i * width + j];
            same = point[j] == stored || (isnan(point[j]) && isnan(stored));
        }
    }
    free(point);
    return point && same;
}

static void put_rows(bandit_arms *arms, const engine_source *from, size_t first, size_t n, const double *rows,
                     engine_outcome *out)
{
    if (!from->config->parameters)
        bandit_arms_set_rows(arms, first, n, rows, &out->error);
    else if (bandit_arms_is_open_space(arms))
        bandit_arms_append(arms, rows, n, &out->error);
    else if (!same_points(arms, first, n, rows))
        bandit_error_set(&out->error, BANDIT_INVALID_ARMS, "",
                         "the points of the space differ from the stored ones");
}

static void load_arms(study *s, const engine_source *from, engine_outcome *out)
{
    store_error error = {0};
    double *rows = malloc(ROWS_AT_ONCE * row_width(from) * sizeof *rows);
    if (!rows) {
        out->stored = STORE_NO_MEMORY;
        return;
    }
    new_arms(&s->engine.arms, from, out);
    for (size_t first = 0; engine_goes_on(out) && first < from->candidates; first += ROWS_AT_ONCE) {
        size_t left = from->candidates - first, n = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        out->stored = candidate_rows(rows, s->app->store, from->number, from->config->wire, row_width(from),
                                     (int64_t)first, n, &error);
        if (out->stored == STORE_OK)
            put_rows(s->engine.arms, from, first, n, rows, out);
    }
    if (engine_fine(out) && !from->config->parameters)
        bandit_arms_finish(s->engine.arms, from->config->scaling, from->reference_candidates, &out->error);
    free(rows);
}

/* The picks of the current batch, and the trials that no batch planned, ascending by number. */
typedef struct pick_list {
    int64_t batch, last;
    bool own;          /* includes trials that users proposed */
    size_t candidates; /* that the engine knows; proposed trials may be at other points */
    bandit_pick *picks;
    size_t n, capacity;
    bool failed;
} pick_list;

static void take_pick(void *arg, const store_trial *row)
{
    pick_list *list = arg;
    if (row->batch != list->batch && (row->batch >= 0 || !list->own))
        return;
    if (row->trial > list->last || list->failed ||
        (row->batch < 0 && (size_t)row->candidate >= list->candidates))
        return;
    list->failed = !wire_grow(&list->picks, &list->capacity, list->n + 1, 64, sizeof *list->picks);
    if (list->failed)
        return;
    list->picks[list->n++] = (bandit_pick){.arm = (uint32_t)row->candidate, .variance = row->variance};
}

/* With asynchronous feedback the batch may continue. Therefore its picks, and the trials that users have proposed
 * since it began, are hallucinated again, in the order of their numbers. With batch feedback, only a batch that is
 * planned in parts continues, and the model does not see proposed trials. */
static void hallucinate_picks(study *s, const engine_source *from, int64_t first_trial, engine_outcome *out)
{
    pick_list list = {.batch = from->batches - 1,
                      .last = from->trials,
                      .own = from->config->asynchronous,
                      .candidates = from->candidates};
    store_trial_filter filter = {.after = first_trial - 1};
    store_error error = {0};
    bandit_executor executor = computing_executor(s->app->computing);
    out->stored = store_read_trials(s->app->store, from->number, &filter, SIZE_MAX, take_pick, &list, &error);
    if (out->stored == STORE_OK && list.failed)
        out->stored = STORE_NO_MEMORY;
    if (out->stored == STORE_OK)
        bandit_engine_replay_picks(s->engine.engine, list.picks, list.n, &executor, &out->error);
    free(list.picks);
}

void engine_restore(study *s, const engine_source *from, const store_engine_state *stored,
                    engine_outcome *out)
{
    unpacked_state state;
    bandit_arm_sum *sums = malloc((stored->n_sums ? stored->n_sums : 1) * sizeof *sums);
    out->stored = sums ? unpack(&state, stored) : STORE_NO_MEMORY;
    if (out->stored == STORE_OK) {
        size_t n_sums = 0;
        for (size_t i = 0; i < stored->n_sums; i++) {
            const store_arm_sum *sum = &stored->sums[i];
            if (sum->count > 0) /* 0 if amendments have removed all values */
                sums[n_sums++] = (bandit_arm_sum){.arm = sum->arm, .count = sum->count, .sum = sum->sum};
        }
        bandit_checkpoint checkpoint = {.batch = (uint64_t)stored->batch,
                                        .dictionary = stored->dictionary,
                                        .n_dictionary = stored->n_dictionary,
                                        .sums = sums,
                                        .n_sums = n_sums,
                                        .state = state.state,
                                        .n_state = state.n_state};
        bandit_executor executor = computing_executor(s->app->computing);
        bandit_engine_restore(&s->engine.engine, s->engine.arms, &from->config->options, from->memory_limit,
                              &checkpoint, state.pending, (size_t)state.head.n_pending, &executor,
                              &out->error);
        if (engine_fine(out) && (from->config->asynchronous || from->unfinished))
            hallucinate_picks(s, from, state.head.first_trial, out);
        free(state.pending);
    }
    free(sums);
}

static void restore_engine(study *s, const engine_source *from, engine_outcome *out)
{
    store_engine_state stored;
    store_error error = {0};
    out->stored = store_read_engine_state(s->app->store, from->number, &stored, &error);
    if (out->stored != STORE_OK)
        return;
    engine_restore(s, from, &stored, out);
    store_engine_state_clear(&stored);
}

bool engine_wait_for_store(study *s, const engine_source *from)
{
    static const struct timespec a_moment = {.tv_nsec = 500000};
    if (commit_done(s->commit) >= from->writes)
        return !commit_is_broken(s->commit);
    computing_wait_begin(s->app->computing);
    while (commit_done(s->commit) < from->writes && !commit_is_broken(s->commit))
        nanosleep(&a_moment, NULL);
    computing_wait_end(s->app->computing);
    return !commit_is_broken(s->commit);
}

void engine_ensure_arms(study *s, const engine_source *from, engine_outcome *out)
{
    if (!engine_goes_on(out) || s->engine.arms)
        return;
    if (engine_wait_for_store(s, from))
        load_arms(s, from, out);
    else
        out->stored = STORE_ABORTED;
    if (!engine_fine(out))
        study_drop_engine(s);
}

void engine_build(study *s, const engine_source *from, engine_outcome *out)
{
    if (from->batches > 0)
        restore_engine(s, from, out);
    else
        bandit_engine_new(&s->engine.engine, s->engine.arms, &from->config->options, from->memory_limit,
                          &out->error);
}

void engine_ensure(study *s, const engine_source *from, engine_outcome *out)
{
    if (s->engine.engine)
        return;
    double start = clock_steady();
    if (!engine_wait_for_store(s, from))
        out->stored = STORE_ABORTED;
    else
        engine_ensure_arms(s, from, out);
    if (engine_fine(out))
        engine_build(s, from, out);
    if (engine_fine(out))
        log_event(LOG_DEBUG, "engine_loaded", "study", s->id, "seconds",
                  log_format("%.3f", clock_steady() - start), NULL);
    else
        study_drop_engine(s);
    engine_settle(out);
}

/* ---- new candidates ------------------------------------------------------------------------------------ */

typedef struct renewal {
    engine_job job;
    study_job done;
} renewal;

static void renewal_done(study *s, study_job *job)
{
    study_engine_job_done(s);
    free((char *)job - offsetof(renewal, done));
}

static void run_renewal(study *s, engine_job *job)
{
    renewal *r = (renewal *)(void *)job;
    study_drop_engine(s);
    r->done.run = renewal_done;
    study_post(s, &r->done);
}

void study_renew_engine(study *s)
{
    plan_state_set_renewing(s->plans, true);
}

void study_start_renewal(study *s)
{
    if (!plan_state_is_renewing(s->plans) || plan_state_is_busy(s->plans))
        return; /* the batch that is being planned is not in the store yet */
    renewal *r = calloc(1, sizeof *r);
    if (!r)
        return; /* the next turn tries again */
    plan_state_set_renewing(s->plans, false);
    r->job.run = run_renewal;
    study_post_engine(s, &r->job);
}
