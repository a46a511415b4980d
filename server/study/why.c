#include "server/study/why.h"

#include "bandit/reason.h"
#include "proto/arrays.h"
#include "proto/why.h"
#include "server/data/candidate_keys.h"
#include "server/data/study_space.h"
#include "server/study/failures.h"
#include "server/study/past.h"
#include "server/study/why_sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEAREST = 3 };

typedef struct explanation {
    const planned_trial *of;
    app apart; /* the parts that the restored engine may use */
    study *s;  /* has the engine; not the study that answers requests */
    past past;
    engine_source source;
    bandit_reason reason;
    why_facts facts;
    char sentence[WHY_SENTENCE];
    wire_expected predictions[BANDIT_MOST_METRICS];
    wire_neighbor nearest[NEAREST];
    candidate_key keys[NEAREST]; /* of the nearest results */
    double *points;              /* NEAREST rows, coded */
    int64_t *in_flight;
    wire_why shown;
} explanation;

static const past_trial *trial_of(const explanation *x)
{
    return &x->past.trials[x->past.trial - 1];
}

/* ---- restoring ----------------------------------------------------------------------------------------- */

static store_status read_definition(explanation *x)
{
    wire_study *definition = NULL;
    wire_errors errors = {0};
    store_status status = study_config_read(&definition, x->past.definition);
    if (status == STORE_OK)
        status = study_config_status(study_config_new(&x->s->config, definition, &errors));
    wire_errors_clear(&errors);
    return status;
}

/* The batch that included the result; the number of batches if none had. */
static int64_t joined_by(const past *p, int64_t told_seq)
{
    size_t batch, n = (size_t)p->now.batch + 1;
    BANDIT_LOWER_BOUND(batch, n, i, p->through[i] < told_seq);
    return (int64_t)batch;
}

static bool is_closed(const past *p, const past_trial *t)
{
    return t->told_seq > 0 && joined_by(p, t->told_seq) <= p->now.batch;
}

/* Counts imported results, which show that points can be evaluated, and marks retired candidates. False: out of
 * memory. */
static bool count_others(explanation *x)
{
    const past *p = &x->past;
    bool fine = true;
    for (size_t i = 0; fine && i < p->n_imports && study_pulls_once(x->s); i++)
        if (p->imports[i].has_value)
            fine = study_count_outcome(x->s, p->imports[i].candidate, TRIAL_COMPLETED, true);
    for (size_t arm = 0; fine && arm < p->n_retired && (int64_t)arm < study_candidates(x->s); arm++)
        if (p->retired[arm])
            fine = study_mark_retired(x->s, (uint32_t)arm);
    return fine;
}

/* Counts failures in the order of the plans so far: by batch, and within a batch by number. */
static bool count_failures(explanation *x)
{
    const past *p = &x->past;
    size_t n = (size_t)p->trial, batches = (size_t)p->now.batch + 1;
    size_t *first = calloc(batches + 1, sizeof *first);
    uint32_t *order = calloc(n, sizeof *order);
    bool fine = first && order;
    for (size_t i = 0; fine && i < n; i++)
        if (is_closed(p, &p->trials[i]))
            first[joined_by(p, p->trials[i].told_seq) + 1]++;
    for (size_t b = 1; fine && b <= batches; b++)
        first[b] += first[b - 1];
    size_t closed = fine ? first[batches] : 0;
    for (size_t i = 0; fine && i < n; i++)
        if (is_closed(p, &p->trials[i]))
            order[first[joined_by(p, p->trials[i].told_seq)]++] = (uint32_t)i;
    for (size_t k = 0; fine && k < closed; k++) {
        const past_trial *t = &p->trials[order[k]];
        fine = t->barred || study_count_outcome(x->s, t->candidate, t->state, t->has_value);
    }
    free(first);
    free(order);
    return fine && count_others(x);
}

static void restore(explanation *x, engine_outcome *out)
{
    study *s = x->s;
    s->number = x->of->study;
    s->candidates = x->past.candidates;
    s->reference_candidates = x->of->reference_candidates;
    x->source = (engine_source){.number = s->number,
                                .candidates = (size_t)study_candidates(s),
                                .dimension = s->config->parameters ? s->config->wire->n_parameters
                                                                   : (size_t)x->of->dimension,
                                .reference_candidates = (size_t)s->reference_candidates,
                                .config = s->config,
                                .batches = x->past.now.batch + 1,
                                .trials = x->past.trial - 1,
                                .unfinished = true}; /* so that the earlier picks are replayed */
    engine_ensure_arms(s, &x->source, out);
    if (engine_fine(out))
        engine_restore(s, &x->source, &x->past.now, out);
    if (engine_fine(out) && !count_failures(x))
        out->stored = STORE_NO_MEMORY;
}

static void explain(explanation *x, engine_outcome *out)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_executor executor = computing_executor(x->apart.computing);
    uint32_t *failed = NULL;
    if (!study_failed(x->s, &failed, &limits.n_failed)) {
        out->stored = STORE_NO_MEMORY;
        return;
    }
    limits.failed = failed;
    limits.fixed = x->s->config->parameters && x->s->reference_candidates == 0 ? x->past.fixed : NULL;
    bandit_engine_explain(x->s->engine.engine, trial_of(x)->candidate, &limits, &executor, &x->reason,
                          &out->error);
    free(failed);
}

/* ---- the neighborhood ---------------------------------------------------------------------------------- */

/* The last trial of this candidate with a value that the model has; 0: its values were imported. */
static int64_t trial_at(const past *p, uint32_t candidate)
{
    for (size_t i = (size_t)p->trial; i-- > 0;) {
        const past_trial *t = &p->trials[i];
        if (t->candidate == candidate && t->has_value && is_closed(p, t))
            return (int64_t)i + 1;
    }
    return 0;
}

static store_status add_neighbor(explanation *x, const store_arm_sum *sum, double distance)
{
    int64_t candidate = sum->arm;
    store_error error = {0};
    candidate_key *key = &x->keys[x->shown.n_nearest];
    const study_config *config = x->s->config;
    double *row = x->points + x->shown.n_nearest * config->wire->n_parameters;
    wire_neighbor *n = &x->nearest[x->shown.n_nearest++];
    if (config->parameters)
        bandit_arms_coded(x->s->engine.arms, sum->arm, row);
    candidate_view view = candidate_view_of(config->wire, x->s->reference_candidates, sum->arm, row);
    *n = (wire_neighbor){.trial = trial_at(&x->past, sum->arm),
                         .candidate = view.candidate,
                         .key = key->text,
                         .space = view.space,
                         .parameters = view.parameters,
                         .value = (config->minimize ? -1.0 : 1.0) * sum->sum / (double)sum->count + 0.0,
                         .distance = distance};
    return candidate_keys_at(key, x->apart.store, x->of->study, true, &candidate, 1, &error);
}

/* Finds the nearest results, and keeps the facts for the sentence. */
static void find_nearest(explanation *x, engine_outcome *out)
{
    const past *p = &x->past;
    size_t n = 0;
    uint32_t *arms = malloc((p->n_sums + 1) * sizeof *arms);
    double *distances = malloc((p->n_sums + 1) * sizeof *distances);
    x->points = malloc(NEAREST * (x->s->config->wire->n_parameters + 1) * sizeof *x->points);
    if (!arms || !distances || !x->points) {
        out->stored = STORE_NO_MEMORY;
    } else {
        for (size_t i = 0; i < p->n_sums; i++)
            if (p->sums[i].count > 0)
                arms[n++] = p->sums[i].arm;
        bandit_engine_distances(x->s->engine.engine, trial_of(x)->candidate, arms, n, distances, &out->error);
    }
    for (size_t k = 0; k < NEAREST && engine_fine(out); k++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!isnan(distances[i]) && (best == n || distances[i] < distances[best]))
                best = i;
        if (best == n)
            break;
        out->stored = add_neighbor(x, &p->sums[arms[best]], distances[best]);
        distances[best] = (double)NAN;
    }
    free(arms);
    free(distances);
}

/* Finds the two arms whose values have the best means. With several objectives or with bounds, that of the first metric
 * does not make a point the best one, and there are no leaders. */
static void find_leaders(explanation *x, engine_outcome *out)
{
    const past *p = &x->past;
    uint32_t best[2] = {0, 0};
    size_t n = 0;
    bandit_prediction at[2];
    for (size_t i = 0; i < p->n_sums && !x->s->config->several; i++) {
        const store_arm_sum *sum = &p->sums[i];
        if (sum->count == 0)
            continue;
        double mean = sum->sum / (double)sum->count;
        bool first = n == 0 || mean > p->sums[best[0]].sum / (double)p->sums[best[0]].count;
        bool second = first || n == 1 || mean > p->sums[best[1]].sum / (double)p->sums[best[1]].count;
        if (first)
            best[1] = best[0];
        if (second)
            best[first ? 0 : 1] = sum->arm;
        n += n < 2;
    }
    x->facts.leader = n > 0 ? trial_at(p, best[0]) : 0;
    if (n < 2 || x->reason.n == 0 || !engine_fine(out))
        return;
    const bandit_engine *engine = bandit_engine_of_metric(x->s->engine.engine, 0);
    if (bandit_engine_predict_arms(engine, best, 2, at, &out->error) != BANDIT_OK)
        return;
    uint32_t arm = trial_of(x)->candidate;
    x->facts.is_among_leaders = arm == best[0] || arm == best[1];
    x->facts.leaders_are_close = fabs(at[0].mean - at[1].mean) < sqrt(at[0].variance + at[1].variance);
}

/* Trials before this one that were handed out or queued, and whose results the model does not have. */
static void find_in_flight(explanation *x, engine_outcome *out)
{
    const past *p = &x->past;
    bool all = x->s->config->asynchronous;
    x->in_flight = malloc((size_t)p->trial * sizeof *x->in_flight);
    if (!x->in_flight) {
        out->stored = STORE_NO_MEMORY;
        return;
    }
    for (int64_t i = 0; i + 1 < p->trial; i++) {
        const past_trial *t = &p->trials[i];
        if (!is_closed(p, t) && (all || t->batch == p->now.batch))
            x->in_flight[x->shown.n_in_flight++] = i + 1;
    }
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

static void show_predictions(explanation *x)
{
    const study_config *config = x->s->config;
    const bandit_reason *y = &x->reason;
    for (size_t j = 0; j < y->n; j++)
        x->predictions[j] = (wire_expected){.metric = config->modelled[j]->name,
                                            .mean = config->signs[j] * y->mean[j] + 0.0, /* no -0.0 */
                                            .std = sqrt(y->variance[j])};
    x->shown.predictions = x->predictions;
    x->shown.n_predictions = y->n;
}

static void show(explanation *x, wire_writer *w)
{
    const past *p = &x->past;
    const bandit_reason *y = &x->reason;
    for (size_t i = 0; i < p->n_sums; i++)
        x->shown.observations += (int64_t)p->sums[i].count;
    x->facts.rule = y->rule;
    x->facts.left = y->left;
    x->facts.promise = y->promise;
    x->facts.ignorance = y->ignorance;
    x->facts.nearest = x->shown.n_nearest > 0 ? x->nearest[0].trial : 0;
    x->facts.has_nearest = x->shown.n_nearest > 0;
    x->facts.distance = x->shown.n_nearest > 0 ? x->nearest[0].distance : 0.0;
    why_sentence(x->sentence, &x->facts);
    x->shown.trial = p->trial;
    x->shown.batch = p->now.batch;
    x->shown.planned_at = p->time;
    x->shown.rule = bandit_reason_rule_name(y->rule);
    x->shown.sentence = x->sentence;
    x->shown.score = y->score;
    x->shown.width = y->width;
    x->shown.incumbent = (x->s->config->minimize ? -1.0 : 1.0) * y->incumbent + 0.0;
    x->shown.promise = y->promise;
    x->shown.ignorance = y->ignorance;
    x->shown.in_flight = x->in_flight;
    x->shown.nearest = x->nearest;
    show_predictions(x);
    wire_encode_why(w, &x->shown);
}

/* Computes and writes the answer. x has the past, and a study for the engine. */
static void find_out(explanation *x, wire_writer *w, engine_outcome *out)
{
    out->stored = read_definition(x);
    if (engine_goes_on(out))
        restore(x, out);
    if (engine_goes_on(out))
        explain(x, out);
    if (engine_goes_on(out))
        find_nearest(x, out);
    if (engine_fine(out))
        find_leaders(x, out);
    if (engine_fine(out))
        find_in_flight(x, out);
    if (engine_fine(out))
        show(x, w);
    engine_settle(out);
}

void study_why(const app *a, const planned_trial *planned, wire_writer *w, engine_outcome *out)
{
    explanation x = {.of = planned};
    store_error error = {0};
    x.apart = (app){.config = a->config, .store = a->store, .pool = a->pool, .computing = a->computing};
    out->stored = past_read(&x.past, a->store, planned->study, planned->trial, &error);
    if (out->stored != STORE_OK)
        return;
    x.s = study_new(&x.apart, "");
    if (x.s) {
        find_out(&x, w, out);
        study_free(x.s);
    } else {
        out->stored = STORE_NO_MEMORY;
    }
    free(x.points);
    free(x.in_flight);
    past_clear(&x.past);
}

void study_why_own(wire_writer *w, int64_t number)
{
    const double none = (double)NAN;
    const wire_why own = {.trial = number,
                          .batch = -1,
                          .rule = "own",
                          .sentence = "A user chose this point.",
                          .score = none,
                          .width = none,
                          .incumbent = none,
                          .promise = none,
                          .ignorance = none};
    wire_encode_why(w, &own);
}
