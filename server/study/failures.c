#include "server/study/failures.h"

#include "proto/arrays.h"
#include "server/study/barred.h"

#include <stdlib.h>
#include <string.h>

/* Makes the array of records long enough for every candidate. */
static bool grow_failures(study *s)
{
    size_t before = s->failures_capacity;
    if (!wire_grow(&s->failures, &s->failures_capacity, (size_t)study_candidates(s), 1, sizeof *s->failures))
        return false;
    memset(s->failures + before, 0, (s->failures_capacity - before) * sizeof *s->failures);
    return true;
}

bool study_pulls_once(const study *s)
{
    const bandit_options *options = &s->config->options;
    if (s->config->never_repeats)
        return true;
    return s->config->parameters && s->reference_candidates > 0 && options->noise_std == 0 &&
           !s->config->wire->algorithm.noise_std.word;
}

bool study_count_outcome(study *s, uint32_t arm, trial_state state, bool has_value)
{
    bool failed = state == TRIAL_FAILED || state == TRIAL_INFEASIBLE;
    bool evaluated = state == TRIAL_COMPLETED ? study_pulls_once(s) : has_value && s->config->never_repeats;
    if ((!s->failures && !failed && !evaluated) || (int64_t)arm >= study_candidates(s))
        return true; /* the point breaks a constraint of an enumerated space, so it is not a candidate */
    if (!grow_failures(s))
        return false;
    unsigned retired = s->failures[arm] & ARM_RETIRED, count = s->failures[arm] - retired;
    if (count == ARM_INFEASIBLE)
        return true;
    if (state == TRIAL_INFEASIBLE)
        count = ARM_INFEASIBLE;
    else if (evaluated)
        count = ARM_EVALUATED;
    else if (count <= ARM_FAILURES)
        count = !failed ? 0 : count < ARM_FAILURES ? count + 1 : count;
    s->failures[arm] = (uint16_t)(retired | count);
    return true;
}

unsigned study_counted_outcome(const study *s, uint32_t candidate)
{
    if (!s->failures || candidate >= s->failures_capacity)
        return 0;
    return s->failures[candidate] & (unsigned)~ARM_RETIRED;
}

bool study_is_retired(const study *s, uint32_t candidate)
{
    return s->failures && candidate < s->failures_capacity && s->failures[candidate] & ARM_RETIRED;
}

bool study_mark_retired(study *s, uint32_t candidate)
{
    if (!grow_failures(s))
        return false;
    s->failures[candidate] |= ARM_RETIRED;
    return true;
}

void study_mark_restored(study *s, uint32_t candidate)
{
    s->failures[candidate] &= (uint16_t)~ARM_RETIRED;
}

static bool is_withheld(const study *s, size_t arm)
{
    if (!s->failures || arm >= s->failures_capacity)
        return false;
    unsigned limit = s->config->max_arm_failures;
    return s->failures[arm] >= (limit < ARM_FAILURES ? limit : ARM_FAILURES);
}

pick_repeats study_pick_repeats(const study *s, bool first_batch)
{
    if (study_pulls_once(s))
        return PICKS_ONCE_ONLY;
    return first_batch && s->config->has_repeats ? PICKS_DIFFER : PICKS_REPEAT;
}

/* Marks the candidates of trials in flight and, if candidates may be evaluated only once, those with results
 * that are not counted yet. The caller frees *out; NULL: points may be pulled again. False: out of memory. */
static bool mark_open(bool **out, const study *s, pick_repeats repeats)
{
    trial *t;
    *out = NULL;
    if (repeats == PICKS_REPEAT)
        return true;
    if (!(*out = calloc((size_t)s->candidates, sizeof **out)))
        return false;
    for (t = trial_queue_first(s->queue, TRIALS_QUEUED); t; t = trial_queue_next(t))
        (*out)[t->candidate] = true;
    for (t = trial_queue_first(s->queue, TRIALS_PENDING); t; t = trial_queue_next(t))
        (*out)[t->candidate] = true;
    bool unfinished = plan_state_is_unfinished(s->plans); /* its next part must differ from earlier ones */
    for (t = trial_queue_first(s->queue, TRIALS_REPORTED); unfinished && t; t = trial_queue_next(t))
        (*out)[t->candidate] |= t->batch == s->batches - 1;
    if (repeats == PICKS_DIFFER)
        return true;
    for (t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t))
        (*out)[t->candidate] |= t->has_value || t->state == TRIAL_INFEASIBLE || !s->config->never_repeats;
    size_t n;
    const store_imported *imported = pending_results_observations(s->results, &n);
    for (size_t i = 0; i < n; i++)
        (*out)[imported[i].candidate] |= imported[i].has_value;
    return true;
}

bool study_withheld(const study *s, pick_repeats repeats, uint32_t **out, size_t *n)
{
    size_t room = 0, candidates = (size_t)study_candidates(s);
    bool *open;
    *out = NULL;
    *n = 0;
    if (!s->failures && repeats == PICKS_REPEAT)
        return true;
    if (!mark_open(&open, s, repeats))
        return false;
    for (size_t i = 0; i < candidates; i++)
        room += is_withheld(s, i) || (open && open[i]);
    uint32_t *list = malloc((room ? room : 1) * sizeof *list);
    for (size_t i = 0; list && i < candidates; i++)
        if (is_withheld(s, i) || (open && open[i]))
            list[(*n)++] = (uint32_t)i;
    free(open);
    *out = list;
    return list != NULL;
}

static bool has_failed(const study *s, size_t arm)
{
    unsigned count = s->failures[arm]; /* false for a retired candidate */
    return (count > 0 && count <= ARM_FAILURES) || count == ARM_INFEASIBLE;
}

bool study_failed(const study *s, uint32_t **out, size_t *n)
{
    size_t candidates = (size_t)study_candidates(s), room = 0;
    *out = NULL;
    *n = 0;
    bool open_space = s->config->parameters && s->reference_candidates == 0;
    if (!s->failures || (!open_space && s->config->options.algorithm != BANDIT_LOG_EI))
        return true;
    if (candidates > s->failures_capacity)
        candidates = s->failures_capacity;
    for (size_t i = 0; i < candidates; i++)
        room += has_failed(s, i);
    *out = malloc((room ? room : 1) * sizeof **out);
    for (size_t i = 0; *out && i < candidates; i++)
        if (has_failed(s, i))
            (*out)[(*n)++] = (uint32_t)i;
    return *out != NULL;
}

/* ---- recounting from the store ---------------------------------------------------------------------------- */

/* A result before an amendment that does not count yet. */
typedef struct amended_outcome {
    int64_t trial_id, observation; /* one of the two is set */
    int64_t seq;
    trial_state state;
    bool has_value;
    bool barred; /* study_is_barred_by_failures */
} amended_outcome;

typedef struct outcome {
    int64_t batch; /* the batch that included it */
    int64_t trial;
    uint32_t candidate;
    trial_state state;
    bool has_value;
} outcome;

typedef struct outcomes {
    study *s;
    int64_t *through; /* one position per batch: through_seq */
    size_t n_batches;
    outcome *list;
    size_t n, most;
    amended_outcome *amended;
    size_t n_amended, amended_capacity;
    bool no_memory;
} outcomes;

static void take_amendment(void *arg, const store_amendment *row)
{
    outcomes *o = arg;
    if (!wire_grow(&o->amended, &o->amended_capacity, o->n_amended + 1, 16, sizeof *o->amended)) {
        o->no_memory = true;
        return;
    }
    o->amended[o->n_amended++] =
        (amended_outcome){.trial_id = row->trial,
                          .observation = row->observation,
                          .seq = row->seq,
                          .state = row->was,
                          .has_value = row->had_value,
                          .barred = study_is_barred_by_failures(row->was, 0, row->was_reason)};
}

static int compare_amended(const void *a, const void *b)
{
    const amended_outcome *x = a, *y = b;
    if (x->trial_id != y->trial_id)
        return (x->trial_id > y->trial_id) - (x->trial_id < y->trial_id);
    if (x->observation != y->observation)
        return (x->observation > y->observation) - (x->observation < y->observation);
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The result before the first of its amendments in the sorted list; NULL: the list has none. */
static const amended_outcome *find_amended(const outcomes *o, int64_t trial_id, int64_t observation)
{
    const amended_outcome key = {.trial_id = trial_id, .observation = observation, .seq = -1};
    size_t at;
    BANDIT_LOWER_BOUND(at, o->n_amended, i, compare_amended(&o->amended[i], &key) < 0);
    bool found =
        at < o->n_amended && o->amended[at].trial_id == trial_id && o->amended[at].observation == observation;
    return found ? &o->amended[at] : NULL;
}

static void take_batch(void *arg, const store_batch *row)
{
    outcomes *o = arg;
    o->through[o->n_batches++] = row->through_seq;
}

static void take_outcome(void *arg, const store_trial *row)
{
    outcomes *o = arg;
    size_t batch;
    const amended_outcome *before = find_amended(o, row->trial, 0);
    bool barred =
        before ? before->barred : study_is_barred_by_failures(row->state, row->attempt, row->reason);
    if (o->n == o->most || barred)
        return;
    BANDIT_LOWER_BOUND(batch, o->n_batches, i, o->through[i] < row->told_seq);
    o->list[o->n++] = (outcome){.batch = (int64_t)batch,
                                .trial = row->trial,
                                .candidate = (uint32_t)row->candidate,
                                .state = before ? before->state : row->state,
                                .has_value = before ? before->has_value : row->has_value};
}

static int compare_outcomes(const void *a, const void *b)
{
    const outcome *x = a, *y = b;
    if (x->batch != y->batch)
        return (x->batch > y->batch) - (x->batch < y->batch);
    return (x->trial > y->trial) - (x->trial < y->trial);
}

static void count_imported(void *arg, const store_imported *row)
{
    outcomes *o = arg;
    const amended_outcome *before = find_amended(o, 0, row->observation);
    bool has_value = before ? before->has_value : row->has_value;
    if (has_value && !study_count_outcome(o->s, row->candidate, TRIAL_COMPLETED, true))
        o->no_memory = true;
}

/* Reads the results that batches have included, and counts them in the order of the original count: by batch, and
 * within a batch by number. */
static store_status count_stored(study *s, outcomes *o)
{
    store *from = s->app->store;
    store_error error = {0};
    store_trial_filter closed = {.told = true,
                                 .told_through = s->through_seq,
                                 .failed_arms = !study_pulls_once(s) && o->n_amended == 0};
    store_status status = store_read_batches(from, s->number, -1, (size_t)s->batches, take_batch, o, &error);
    if (status == STORE_OK)
        status = store_read_trials(from, s->number, &closed, SIZE_MAX, take_outcome, o, &error);
    if (status == STORE_OK && o->n > 0)
        qsort(o->list, o->n, sizeof *o->list, compare_outcomes);
    for (size_t i = 0; status == STORE_OK && i < o->n; i++)
        if (!study_count_outcome(s, o->list[i].candidate, o->list[i].state, o->list[i].has_value))
            status = STORE_NO_MEMORY;
    if (status == STORE_OK && study_pulls_once(s))
        status = store_read_observations(from, s->number, 0, s->through_seq, count_imported, o, &error);
    return status == STORE_OK && o->no_memory ? STORE_NO_MEMORY : status;
}

static store_status recount(study *s, outcomes *o)
{
    uint16_t *before = s->failures;
    size_t n_before = s->failures_capacity;
    o->through = malloc(((size_t)s->batches + 1) * sizeof *o->through);
    o->list = malloc(((size_t)s->trials + 1) * sizeof *o->list);
    o->most = (size_t)s->trials;
    s->failures = NULL;
    s->failures_capacity = 0;
    store_status status = o->through && o->list ? count_stored(s, o) : STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < n_before; i++)
        if (before[i] & ARM_RETIRED && !study_mark_retired(s, (uint32_t)i))
            status = STORE_NO_MEMORY;
    if (status != STORE_OK) {
        free(s->failures);
        s->failures = before;
        s->failures_capacity = n_before;
        before = NULL;
    }
    free(before);
    free(o->through);
    free(o->list);
    return status;
}

store_status study_recount_failures(study *s)
{
    outcomes o = {.s = s};
    return recount(s, &o);
}

store_status study_load_failures(study *s, bool any)
{
    outcomes o = {.s = s};
    store_error error = {0};
    store_status status =
        store_read_amendments(s->app->store, s->number, 0, s->through_seq, take_amendment, &o, &error);
    if (status == STORE_OK && o.no_memory)
        status = STORE_NO_MEMORY;
    if (o.n_amended > 0)
        qsort(o.amended, o.n_amended, sizeof *o.amended, compare_amended);
    if (status == STORE_OK && (any || o.n_amended > 0 || study_pulls_once(s)))
        status = recount(s, &o);
    free(o.amended);
    return status;
}
