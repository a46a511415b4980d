/* The engine of a study: loading it, planning batches, and questions to the model. */
#include "server/clock.h"
#include "server/log.h"
#include "server/study_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the lane needs to know of the study; copied when a job is made. */
typedef struct engine_source {
    int64_t number;
    size_t candidates, dimension, reference_candidates;
    bool planned; /* there is a stored engine state */
} engine_source;

/* How an engine job ended. */
typedef struct engine_outcome {
    store_status stored; /* STORE_OK, or the store failed */
    bandit_error error;  /* status BANDIT_OK, or the engine refused */
} engine_outcome;

static engine_source source_of(const study *s)
{
    return (engine_source){.number = s->number,
                           .candidates = (size_t)s->candidates,
                           .dimension = (size_t)s->dimension,
                           .reference_candidates = (size_t)s->reference_candidates,
                           .planned = s->batches > 0};
}

static bool is_fine(const engine_outcome *outcome)
{
    return outcome->stored == STORE_OK && outcome->error.status == BANDIT_OK;
}

/* ---- loading (engine lane)
 * ---------------------------------------------------------------------------------- */

void study_drop_engine(study *s)
{
    bandit_engine_free(s->engine.engine);
    bandit_arms_free(s->engine.arms);
    s->engine = (engine_lane){0};
}

enum { ROWS_AT_ONCE = 4096 };

static void load_arms(study *s, const engine_source *from, engine_outcome *out)
{
    store_error error = {0};
    double *rows = malloc(ROWS_AT_ONCE * from->dimension * sizeof *rows);
    if (!rows) {
        out->stored = STORE_NO_MEMORY;
        return;
    }
    bandit_arms_new(&s->engine.arms, from->candidates, from->dimension, &out->error);
    for (size_t first = 0; is_fine(out) && first < from->candidates; first += ROWS_AT_ONCE) {
        size_t left = from->candidates - first, n = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        out->stored = store_read_candidates(s->app->store, from->number, (int64_t)first, n, rows, &error);
        if (out->stored == STORE_OK)
            bandit_arms_set_rows(s->engine.arms, first, n, rows, &out->error);
    }
    if (is_fine(out))
        bandit_arms_finish(s->engine.arms, s->config->scaling, from->reference_candidates, &out->error);
    free(rows);
}

static void restore_engine(study *s, const engine_source *from, engine_outcome *out)
{
    store_engine_state stored;
    store_error error = {0};
    out->stored = store_read_engine_state(s->app->store, from->number, &stored, &error);
    if (out->stored != STORE_OK)
        return;
    bandit_arm_sum *sums = calloc(stored.n_sums ? stored.n_sums : 1, sizeof *sums);
    if (sums) {
        for (size_t i = 0; i < stored.n_sums; i++)
            sums[i] = (bandit_arm_sum){
                .arm = stored.sums[i].arm, .count = stored.sums[i].count, .sum = stored.sums[i].sum};
        bandit_checkpoint checkpoint = {.batch = (uint64_t)stored.batch,
                                        .dictionary = stored.dictionary,
                                        .n_dictionary = stored.n_dictionary,
                                        .sums = sums,
                                        .n_sums = stored.n_sums,
                                        .state = stored.state,
                                        .n_state = stored.n_state};
        bandit_executor executor = pool_executor(s->app->pool);
        bandit_engine_restore(&s->engine.engine, s->engine.arms, &s->config->options,
                              s->app->config->study_memory, &checkpoint, NULL, 0, &executor, &out->error);
    } else {
        out->stored = STORE_NO_MEMORY;
    }
    free(sums);
    store_engine_state_clear(&stored);
}

/* Makes sure that the engine is there, as it was at the start of the batch in force. */
static void ensure_engine(study *s, const engine_source *from, engine_outcome *out)
{
    if (s->engine.engine)
        return;
    double start = clock_steady();
    if (!s->engine.arms)
        load_arms(s, from, out);
    if (is_fine(out) && from->planned)
        restore_engine(s, from, out);
    else if (is_fine(out))
        bandit_engine_new(&s->engine.engine, s->engine.arms, &s->config->options,
                          s->app->config->study_memory, &out->error);
    if (is_fine(out))
        log_event(LOG_DEBUG, "engine_loaded", "study", s->id, "seconds",
                  log_format("%.3f", clock_steady() - start), NULL);
    else
        study_drop_engine(s);
}

/* ---- planning
 * ----------------------------------------------------------------------------------------------- */

typedef struct planning {
    engine_job job;
    study_job done;
    engine_source source;
    bandit_result *results;
    size_t n_results;
    uint32_t *withheld;
    size_t n_withheld;
    uint64_t remaining;
    size_t max_picks;
    int64_t through_seq;
    /* what comes back */
    engine_outcome outcome;
    bandit_pick *picks;
    bandit_selection selection;
    bandit_description description;
    uint32_t *dictionary; /* copies: the engine may plan on before they are stored */
    store_arm_sum *sums;
    size_t n_sums;
    unsigned char *state;
    size_t n_state;
    int64_t started_at;
    double update_seconds, select_seconds;
} planning;

static void planning_free(planning *p)
{
    free(p->results);
    free(p->withheld);
    free(p->picks);
    free(p->dictionary);
    free(p->sums);
    free(p->state);
    free(p);
}

static void *copy_of(const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size)
        memcpy(copy, from, size);
    return copy;
}

static int compare_arms(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The sums that these results have changed, as the engine has them now. */
static bool changed_sums(planning *p, const bandit_checkpoint *checkpoint)
{
    uint32_t *arms = malloc((p->n_results ? p->n_results : 1) * sizeof *arms);
    p->sums = malloc((p->n_results ? p->n_results : 1) * sizeof *p->sums);
    if (!arms || !p->sums) {
        free(arms);
        return false;
    }
    for (size_t i = 0; i < p->n_results; i++)
        arms[i] = p->results[i].arm;
    qsort(arms, p->n_results, sizeof *arms, compare_arms);
    size_t at = 0;
    for (size_t i = 0; i < p->n_results; i++) {
        if (i > 0 && arms[i] == arms[i - 1])
            continue;
        while (at < checkpoint->n_sums && checkpoint->sums[at].arm < arms[i])
            at++; /* both ascend */
        const bandit_arm_sum *sum = &checkpoint->sums[at];
        p->sums[p->n_sums++] = (store_arm_sum){.arm = sum->arm, .count = sum->count, .sum = sum->sum};
    }
    free(arms);
    return true;
}

static void keep_state(planning *p, const bandit_engine *engine)
{
    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(engine, &checkpoint);
    bandit_engine_describe(engine, &p->description);
    p->dictionary = copy_of(checkpoint.dictionary, checkpoint.n_dictionary * sizeof *p->dictionary);
    p->state = copy_of(checkpoint.state, checkpoint.n_state);
    p->n_state = checkpoint.n_state;
    if (!p->dictionary || !p->state || !changed_sums(p, &checkpoint))
        p->outcome.stored = STORE_NO_MEMORY;
}

static void planning_done(study *s, study_job *job);

/* The engine lane. */
static void run_planning(study *s, engine_job *job)
{
    planning *p = (planning *)(void *)job;
    engine_outcome *out = &p->outcome;
    bandit_executor executor = pool_executor(s->app->pool);
    p->started_at = clock_now();
    double start = clock_steady();
    ensure_engine(s, &p->source, out);
    p->picks = malloc(p->max_picks * sizeof *p->picks);
    if (!p->picks)
        out->stored = STORE_NO_MEMORY;
    if (is_fine(out))
        bandit_engine_begin_batch(s->engine.engine, p->results, p->n_results, NULL, 0, &executor,
                                  &out->error);
    double updated = clock_steady();
    if (is_fine(out)) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        limits.max_picks = p->max_picks;
        limits.remaining = p->remaining;
        limits.withheld = p->withheld;
        limits.n_withheld = p->n_withheld;
        bandit_engine_select(s->engine.engine, &limits, &executor, p->picks, &p->selection, &out->error);
    }
    p->update_seconds = updated - start;
    p->select_seconds = clock_steady() - updated;
    if (is_fine(out))
        keep_state(p, s->engine.engine);
    if (!is_fine(out))
        study_drop_engine(s); /* it may be ahead of what is stored */
    p->done.run = planning_done;
    study_post(s, &p->done);
}

static const char *stop_rule_name(bandit_stop_rule rule)
{
    switch (rule) {
    case BANDIT_STOP_INITIAL:
        return "initial";
    case BANDIT_STOP_GLOBAL:
        return "global";
    case BANDIT_STOP_GLOBAL_LOCAL:
        return "global_local";
    case BANDIT_STOP_MAX_BATCH:
        return "max_batch";
    case BANDIT_STOP_HORIZON:
        return "horizon";
    case BANDIT_STOP_EXHAUSTED:
        return "exhausted";
    case BANDIT_STOP_NONE:
        break;
    }
    return "max_batch"; /* the room for picks is the largest batch */
}

static bool add_picks(study *s, const planning *p)
{
    for (size_t i = 0; i < p->selection.n_picks; i++) {
        trial *t = calloc(1, sizeof *t);
        if (!t)
            return false;
        *t = (trial){.id = s->trials + 1 + (int64_t)i,
                     .state = TRIAL_QUEUED,
                     .batch = s->batches,
                     .candidate = p->picks[i].arm,
                     .variance = p->picks[i].variance,
                     .worker = strdup(""),
                     .reason = strdup("")};
        if (!t->worker || !t->reason) {
            free(t->worker);
            free(t->reason);
            free(t);
            return false;
        }
        if (!study_add_trial(s, t))
            return false;
    }
    return true;
}

static void record_batch(study *s, const planning *p)
{
    size_t n = p->selection.n_picks;
    store_pick *picks = malloc((n ? n : 1) * sizeof *picks);
    if (!picks || !add_picks(s, p)) {
        s->write_status = STORE_NO_MEMORY; /* fails the turn, and the study is loaded again */
        free(picks);
        return;
    }
    for (size_t i = 0; i < n; i++)
        picks[i] = (store_pick){.candidate = p->picks[i].arm, .variance = p->picks[i].variance};
    store_event event = {.type = EVENT_BATCH_PLANNED, .time = p->started_at};
    event.u.planned.batch = (store_batch){.batch = s->batches,
                                          .size = (int64_t)n,
                                          .ratio = p->selection.ratio,
                                          .stop_rule = stop_rule_name(p->selection.stop_rule),
                                          .beta = p->description.beta,
                                          .dictionary_size = (int64_t)p->description.n_dictionary,
                                          .observations = (int64_t)p->description.observations,
                                          .update_seconds = p->update_seconds,
                                          .select_seconds = p->select_seconds,
                                          .started_at = p->started_at,
                                          .code_path = p->description.code_path};
    event.u.planned.through_seq = p->through_seq;
    event.u.planned.dictionary = p->dictionary;
    event.u.planned.sums = p->sums;
    event.u.planned.n_sums = p->n_sums;
    event.u.planned.engine_state = p->state;
    event.u.planned.n_engine_state = p->n_state;
    event.u.planned.first_trial = s->trials + 1;
    event.u.planned.picks = picks;
    event.u.planned.n_picks = n;
    study_record(s, &event);
    s->trials += (int64_t)n;
    s->batches++;
    s->through_seq = p->through_seq;
    log_event(LOG_DEBUG, "batch_planned", "study", s->id, "batch",
              log_format("%lld", (long long)(s->batches - 1)), "size", log_format("%zu", n), "dictionary",
              log_format("%zu", p->description.n_dictionary), "seconds",
              log_format("%.4f", p->update_seconds + p->select_seconds), NULL);
    free(picks);
}

/* Results that the new batch has taken in are part of a stored model once this turn's write is on disk. */
static void retire_joined(study *s)
{
    trial *t, *next;
    for (t = TAILQ_FIRST(&s->told); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (!t->joining)
            continue; /* told since */
        TAILQ_REMOVE(&s->told, t, link);
        t->joining = false;
        t->joined_by = s->submitted + 1;
        TAILQ_INSERT_TAIL(&s->joined, t, link);
    }
}

/* Back in the study's turn. */
static void planning_done(study *s, study_job *job)
{
    planning *p = (planning *)((char *)job - offsetof(planning, done));
    s->engine_jobs_out--;
    s->planning = false;
    if (s->deleted || !s->loaded || atomic_load(&s->broken)) {
        /* what it was planned for is gone */
    } else if (p->outcome.stored != STORE_OK) {
        log_event(LOG_ERROR, "planning_failed", "study", s->id, "reason",
                  store_status_text(p->outcome.stored), NULL);
        study_answer_waiting(s, NULL); /* the next ask tries again */
    } else if (p->outcome.error.status != BANDIT_OK) {
        study_set_state(s, STUDY_ERROR, p->outcome.error.message, NULL);
    } else if (p->selection.n_picks == 0) {
        study_set_state(s, STUDY_ERROR, "no candidate is left that may be handed out", NULL);
    } else {
        retire_joined(s);
        record_batch(s, p);
    }
    planning_free(p);
}

bool study_count_outcome(study *s, uint32_t arm, trial_state state)
{
    bool failed = state == TRIAL_FAILED || state == TRIAL_INFEASIBLE;
    if (!s->failures && !failed)
        return true;
    if (!s->failures && !(s->failures = calloc((size_t)s->candidates, sizeof *s->failures)))
        return false;
    uint8_t *count = &s->failures[arm];
    if (state == TRIAL_INFEASIBLE)
        *count = ARM_INFEASIBLE;
    else if (*count != ARM_INFEASIBLE)
        *count = !failed ? 0 : *count < ARM_INFEASIBLE - 1 ? (uint8_t)(*count + 1) : *count;
    return true;
}

static bool withheld_arms(study *s, planning *p)
{
    size_t n = 0, limit = s->config->max_arm_failures;
    if (!s->failures)
        return true;
    for (size_t i = 0; i < (size_t)s->candidates; i++)
        n += s->failures[i] >= limit;
    if (n > 0 && !(p->withheld = malloc(n * sizeof *p->withheld)))
        return false;
    for (size_t i = 0; i < (size_t)s->candidates; i++)
        if (s->failures[i] >= limit)
            p->withheld[p->n_withheld++] = (uint32_t)i;
    return true;
}

static int compare_by_id(const void *a, const void *b)
{
    int64_t x = (*(trial *const *)a)->id, y = (*(trial *const *)b)->id;
    return (x > y) - (x < y);
}

/* What has been told since the last batch, in the order of trials: which worker was faster must not show in
 * the model's bits. */
static bool gather_results(study *s, planning *p)
{
    trial *t;
    size_t n = 0, filled = 0;
    TAILQ_FOREACH(t, &s->told, link)
    n++;
    trial **told = malloc((n ? n : 1) * sizeof *told);
    p->results = malloc((n ? n : 1) * sizeof *p->results);
    bool fine = told && p->results;
    if (fine) {
        TAILQ_FOREACH(t, &s->told, link)
        told[filled++] = t;
        qsort(told, n, sizeof *told, compare_by_id);
        for (size_t i = 0; fine && i < n; i++) {
            t = told[i];
            t->joining = true;
            fine = study_count_outcome(s, t->candidate, t->state);
            if (t->has_value)
                p->results[p->n_results++] =
                    (bandit_result){.arm = t->candidate,
                                    .repeats = 1,
                                    .reward = s->config->minimize ? -t->value : t->value,
                                    .chosen = true,
                                    .variance = t->variance};
        }
    }
    free(told);
    return fine;
}

void study_start_planning(study *s)
{
    planning *p = calloc(1, sizeof *p);
    if (!p)
        return; /* the next turn tries again */
    if (!gather_results(s, p) || !withheld_arms(s, p)) {
        planning_free(p);
        s->write_status = STORE_NO_MEMORY; /* the record of failures is counted half: load again */
        return;
    }
    const wire_study *definition = s->config->wire;
    p->remaining = definition->horizon.given ? (uint64_t)(definition->horizon.value - s->trials) : UINT64_MAX;
    p->max_picks = s->config->options.max_batch;
    if (p->remaining < p->max_picks)
        p->max_picks = (size_t)p->remaining;
    p->through_seq = study_next_seq(s) - 1;
    p->source = source_of(s);
    p->job.run = run_planning;
    s->planning = true;
    study_post_engine(s, &p->job);
}

/* ---- questions to the model
 * ----------------------------------------------------------------------------------- */

typedef struct question {
    engine_job job;
    study_job done;
    engine_source source;
    http_request *request;
    int64_t best_trial, best_candidate;
    double best_value;
    engine_outcome outcome;
    void (*answer)(study *s, struct question *q); /* on the engine lane; answers the request */
} question;

static void question_done(study *s, study_job *job)
{
    question *q = (question *)((char *)job - offsetof(question, done));
    s->engine_jobs_out--;
    study_hold(s, q->request); /* it has been answered from a state that may not be on disk yet */
    free(q);
}

static void run_question(study *s, engine_job *job)
{
    question *q = (question *)(void *)job;
    ensure_engine(s, &q->source, &q->outcome);
    if (q->outcome.stored != STORE_OK)
        http_answer_store_problem(q->request, q->outcome.stored);
    else if (q->outcome.error.status != BANDIT_OK)
        http_answer_problem(q->request, 409, NULL, "the model cannot be made: %s", q->outcome.error.message);
    else
        q->answer(s, q);
    q->done.run = question_done;
    study_post(s, &q->done);
}

static void ask_engine(study *s, http_request *request, void (*answer)(study *s, question *q))
{
    if (s->state == STUDY_AWAITING_CANDIDATES) {
        http_answer_problem(request, 409, NULL, "the study has no candidates yet: upload them first");
        return;
    }
    question *q = calloc(1, sizeof *q);
    if (!q) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    q->job.run = run_question;
    q->source = source_of(s);
    q->request = request;
    request->held = true;
    q->answer = answer;
    q->best_trial = s->best_trial;
    q->best_value = s->best_value;
    study_post_engine(s, &q->job);
}

static wire_prediction in_metric_units(const study *s, const bandit_prediction *p)
{
    double sign = s->config->minimize ? -1 : 1;
    return (wire_prediction){.mean = sign * p->mean, .std = sqrt(p->variance), .ucb = sign * p->ucb};
}

static void answer_engine_error(http_request *request, const bandit_error *error)
{
    if (error->status == BANDIT_UNSUPPORTED)
        http_answer_problem(request, 409, NULL, "%s", error->message);
    else
        http_answer_problem(request, 422, NULL, "%s", error->message);
}

static void predict(study *s, question *q)
{
    const wire_predict *wanted = q->request->context;
    wire_errors errors = {0};
    bandit_error error = {0};
    bandit_prediction *raw = calloc(wanted->n, sizeof *raw);
    wire_prediction *shown = calloc(wanted->n, sizeof *shown);
    uint32_t *arms = calloc(wanted->n, sizeof *arms);
    for (size_t i = 0; wanted->candidates && i < wanted->n; i++) {
        if (wanted->candidates[i] >= (int64_t)q->source.candidates)
            wire_errors_add(&errors, log_format("/candidates/%zu", i), "there are %zu candidates, from 0",
                            q->source.candidates);
        else if (arms)
            arms[i] = (uint32_t)wanted->candidates[i];
    }
    if (wanted->points && wanted->dimension != q->source.dimension)
        wire_errors_add(&errors, "/points/0", "must have %zu features", q->source.dimension);
    if (errors.n > 0) {
        http_answer_undecodable(q->request, WIRE_INVALID, &errors);
    } else if (!raw || !shown || !arms) {
        http_answer_store_problem(q->request, STORE_NO_MEMORY);
    } else if ((wanted->candidates
                    ? bandit_engine_predict_arms(s->engine.engine, arms, wanted->n, raw, &error)
                    : bandit_engine_predict_points(s->engine.engine, wanted->points, wanted->n, raw,
                                                   &error)) != BANDIT_OK) {
        answer_engine_error(q->request, &error);
    } else {
        wire_writer w = WIRE_WRITER_INIT;
        for (size_t i = 0; i < wanted->n; i++)
            shown[i] = in_metric_units(s, &raw[i]);
        wire_encode_predictions(&w, shown, wanted->n);
        http_answer_json(q->request, 200, &w);
    }
    wire_errors_clear(&errors);
    free(raw);
    free(shown);
    free(arms);
}

void study_predict(study *s, http_request *request)
{
    ask_engine(s, request, predict);
}

static void model(study *s, question *q)
{
    bandit_description d;
    bandit_engine_describe(s->engine.engine, &d);
    if (!d.has_model) {
        http_answer_problem(q->request, 409, NULL, "%s has no model", s->config->wire->algorithm.name);
        return;
    }
    wire_model shown = {.definition = s->config->wire,
                        .batch = (int64_t)d.batch,
                        .beta = d.beta,
                        .dictionary = d.dictionary,
                        .n_dictionary = d.n_dictionary,
                        .effective_dimension = d.effective_dimension,
                        .information_gain = d.information_gain,
                        .lambda = d.lambda,
                        .noise_std = d.noise_std,
                        .norm_bound = d.norm_bound,
                        .observations = (int64_t)d.observations};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_model(&w, &shown);
    http_answer_json(q->request, 200, &w);
}

void study_model(study *s, http_request *request)
{
    ask_engine(s, request, model);
}

/* The told arm with the best posterior mean; without a model, with the best mean of its rewards. */
static bool recommend(study *s, wire_recommended *out)
{
    bandit_checkpoint checkpoint;
    bandit_description d;
    bandit_error error = {0};
    double best = -INFINITY, sign = s->config->minimize ? -1 : 1;
    bandit_engine_checkpoint(s->engine.engine, &checkpoint);
    bandit_engine_describe(s->engine.engine, &d);
    for (size_t i = 0; i < checkpoint.n_sums; i++) {
        const bandit_arm_sum *sum = &checkpoint.sums[i];
        bandit_prediction p = {.mean = sum->sum / (double)sum->count};
        if (d.has_model &&
            bandit_engine_predict_arms(s->engine.engine, &sum->arm, 1, &p, &error) != BANDIT_OK)
            return false;
        if (p.mean > best) {
            best = p.mean;
            *out = (wire_recommended){.given = true,
                                      .candidate = sum->arm,
                                      .mean = sign * p.mean,
                                      .has_std = d.has_model,
                                      .std = d.has_model ? sqrt(p.variance) : 0};
        }
    }
    return true;
}

static void take_candidate(void *arg, const store_trial *row)
{
    *(int64_t *)arg = row->candidate;
}

static void best(study *s, question *q)
{
    wire_best observed = {.given = q->best_trial > 0, .trial = q->best_trial, .value = q->best_value};
    wire_recommended recommended = {0};
    store_error error = {0};
    store_status status = STORE_OK;
    if (observed.given)
        status = store_read_trial(s->app->store, q->source.number, observed.trial, take_candidate,
                                  &observed.candidate, &error);
    if (status != STORE_OK) {
        http_answer_store_problem(q->request, status);
    } else if (!recommend(s, &recommended)) {
        http_answer_problem(q->request, 503, NULL, "the model cannot be evaluated");
    } else {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_best(&w, &observed, &recommended);
        http_answer_json(q->request, 200, &w);
    }
}

void study_best(study *s, http_request *request)
{
    ask_engine(s, request, best);
}

/* ---- new candidates
 * ------------------------------------------------------------------------------------------------ */

typedef struct renewal {
    engine_job job;
    study_job done;
} renewal;

static void renewal_done(study *s, study_job *job)
{
    s->engine_jobs_out--;
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
    renewal *r = calloc(1, sizeof *r);
    if (!r) {
        s->write_status = STORE_NO_MEMORY; /* fails the turn, and the study is loaded again */
        return;
    }
    r->job.run = run_renewal;
    study_post_engine(s, &r->job);
}
