/* Checks the entries of an imported log as strictly as requests, since they may come from anybody. */
#include "server/replay/rebuild_internal.h"

#include "server/data/stop_rule.h"
#include "server/data/study_space.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rebuild_refuse(rebuild_problem *p, const char *member, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    snprintf(p->member, sizeof p->member, "%s", member);
    vsnprintf(p->what, sizeof p->what, format, args);
    va_end(args);
    return false;
}

bool rebuild_out_of_memory(rebuild_problem *p)
{
    p->no_memory = true;
    return false;
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* Checks a figure of a batch. */
static bool check_figure(rebuild_problem *p, const char *member, double value)
{
    return (isfinite(value) && value >= 0) ||
           rebuild_refuse(p, member, "must be a finite number of at least 0");
}

bool rebuild_check_text(rebuild_problem *p, const char *member, const char *text, size_t most)
{
    size_t n = 0;
    for (const char *c = text; c && *c; c++)
        n += ((unsigned char)*c & 0xC0) != 0x80; /* the first byte of a character */
    return n <= most || rebuild_refuse(p, member, "must have at most %zu characters", most);
}

bool rebuild_check_trial(const rebuild *r, rebuild_problem *p, int64_t id)
{
    return (id >= 1 && id <= r->trials) ||
           rebuild_refuse(p, "trial", "there is no trial %lld", (long long)id);
}

static bool below(rebuild_problem *p, const char *member, const uint32_t *list, size_t n, int64_t candidates)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] >= candidates)
            return rebuild_refuse(p, member, "there is no candidate %u", list[i]);
    return true;
}

/* Checks that no two keys are the same. Keys come in several entries, so they are checked when all of them are known:
 * before other keys replace them, or at the end of the log (rebuild_finish). */
static bool check_keys(rebuild *r, rebuild_problem *p)
{
    size_t first, second;
    wire_status status = wire_keys_find_repeated(&r->keys, &first, &second);
    if (status == WIRE_NO_MEMORY)
        return rebuild_out_of_memory(p);
    return status == WIRE_OK ||
           rebuild_refuse(p, "keys", "candidates %zu and %zu had the same key before", first, second);
}

/* ---- studies ------------------------------------------------------------------------------------------- */

static bool rebuild_check_study_created(rebuild *r, store_event *event, rebuild_problem *p)
{
    const char *id = event->u.created.id;
    if (!rebuild_take_definition(r, event->u.created.definition, p))
        return false;
    if (strcmp(r->config->wire->id, id) != 0)
        return rebuild_refuse(p, "id", "differs from the id in the definition");
    if (!wire_is_study_id(id, strlen(id)))
        return rebuild_refuse(p, "id", "is not a valid study id");
    if (!r->id && !(r->id = strdup(id)))
        return rebuild_out_of_memory(p);
    r->awaits = event->u.created.state == STUDY_AWAITING_CANDIDATES;
    r->named = r->config->wire->n_feature_names > 0;
    return true;
}

static bool rebuild_check_study_changed(rebuild *r, store_event *event, rebuild_problem *p)
{
    r->awaits = event->u.changed.state == STUDY_AWAITING_CANDIDATES;
    return rebuild_check_text(p, "reason", event->u.changed.reason, WIRE_MAX_REASON) &&
           rebuild_check_best(r, p, event->u.changed.best_trial, event->u.changed.best_candidate,
                              event->u.changed.best_value) &&
           (!event->u.changed.definition || rebuild_take_definition(r, event->u.changed.definition, p));
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

static bool is_space(const rebuild *r)
{
    return r->config->wire->domain_type == WIRE_DOMAIN_SPACE;
}

/* The index of the first of n rows that is not a point of the space; n if all are. The rows are as wide as the
 * space. */
static size_t first_other(const rebuild *r, const double *rows, size_t n)
{
    size_t i = 0;
    bandit_error error = {0};
    while (i < n &&
           bandit_arms_check_point(r->space, rows + i * r->config->wire->n_parameters, &error) == BANDIT_OK)
        i++;
    return i;
}

/* The index of the first of n rows that breaks no constraint; n if all break one. Points that an enumerated space does
 * not list must break a constraint. */
static size_t first_allowed(const rebuild *r, const double *rows, size_t n)
{
    size_t i = 0, rule;
    while (i < n && !bandit_arms_allows(r->space, rows + i * r->config->wire->n_parameters, &rule))
        i++;
    return i;
}

/* How many candidates an engine may choose from. */
static int64_t choices(const rebuild *r)
{
    return r->listed > 0 ? r->listed : r->candidates;
}

/* Checks new candidates; there may be none. */
static bool check_points(rebuild *r, const char *member, const store_points *points, rebuild_problem *p)
{
    const wire_study *wire = r->config->wire;
    int64_t width = is_space(r) ? (int64_t)wire->n_parameters : wire->dimension.value;
    if (points->n == 0)
        return true;
    if (points->dimension != width || points->dimension < 1 || wire->domain_type == WIRE_DOMAIN_PRECOMPUTED ||
        (r->candidates > 0 && points->dimension != r->columns))
        return rebuild_refuse(p, member, "the dimension of the candidates is wrong");
    size_t other = is_space(r) ? first_other(r, points->rows, points->n) : points->n;
    if (other < points->n)
        return rebuild_refuse(p, member, "point %zu is not a point of the space", other);
    size_t allowed = r->listed > 0 ? first_allowed(r, points->rows, points->n) : points->n;
    if (allowed < points->n)
        return rebuild_refuse(p, member, "point %zu is not new: it keeps the constraints", allowed);
    for (size_t i = 0; !is_space(r) && i < points->n * (size_t)width; i++)
        if (!isfinite(points->rows[i]))
            return rebuild_refuse(p, member, "row %zu has a value that is not finite", i / (size_t)width);
    r->columns = points->dimension;
    r->candidates += (int64_t)points->n;
    return r->candidates <= WIRE_MAX_COUNT || rebuild_refuse(p, member, "there are too many candidates");
}

/* How many points an enumerated space has: those that keep its constraints. −1: too many, or out of memory. */
static int64_t listed_points(const rebuild *r)
{
    bandit_error error = {0};
    size_t count = bandit_arms_space_size(r->space);
    bool fine = count < SIZE_MAX;
    if (fine && r->config->wire->n_constraints > 0)
        fine = bandit_arms_count_allowed(r->space, SPACE_ENUMERATED_POINTS, &count, &error) == BANDIT_OK;
    return fine && count <= SPACE_ENUMERATED_POINTS ? (int64_t)count : -1;
}

static bool fits_domain(const rebuild *r, const store_event *event)
{
    const wire_study *wire = r->config->wire;
    int64_t count = event->u.candidates.count, dimension = event->u.candidates.dimension;
    switch (wire->domain_type) {
    case WIRE_DOMAIN_CANDIDATES:
        return dimension == wire->dimension.value && !r->has_gaps;
    case WIRE_DOMAIN_PRECOMPUTED:
        return dimension == wire->size.value && count == wire->size.value && !r->has_gaps;
    case WIRE_DOMAIN_SPACE:
        return dimension == (int64_t)wire->n_parameters && count == listed_points(r) &&
               count <= SPACE_ENUMERATED_POINTS &&
               (r->rows == 0 ||
                (r->few && r->dimension == wire->n_parameters && r->rows == first_other(r, r->few, r->rows)));
    }
    return false;
}

static bool rebuild_check_candidates_set(rebuild *r, store_event *event, rebuild_problem *p)
{
    bool here = r->rows > 0 && event->u.candidates.count == (int64_t)r->rows &&
                event->u.candidates.dimension == (int64_t)r->dimension &&
                strcmp(event->u.candidates.digest, upload_digest(r->upload)) == 0;
    if (r->batches > 0 || r->trials > 0 || r->imported > 0)
        return rebuild_refuse(p, "", "candidates cannot be replaced after the first batch, trial or result");
    if (event->u.candidates.count < 1 || event->u.candidates.count > WIRE_MAX_COUNT)
        return rebuild_refuse(p, "count", "must be from 1 to %d", WIRE_MAX_COUNT);
    if (event->u.candidates.dimension < 1 || event->u.candidates.dimension > WIRE_MAX_DIMENSION)
        return rebuild_refuse(p, "dimension", "must be from 1 to %d", WIRE_MAX_DIMENSION);
    if (!fits_domain(r, event))
        return rebuild_refuse(p, "", "the candidates do not fit the domain of the definition");
    r->has_set = here && !r->attached;
    r->has_gone = !r->has_set;
    event->u.candidates.content = 0;
    if (r->has_set) {
        store_event described;
        upload_describe(r->upload, &described);
        event->u.candidates.content = described.u.candidates.content;
        r->attached = true;
    }
    if (!check_keys(r, p))
        return false;
    wire_keys_clear(&r->keys);
    r->candidates = event->u.candidates.count;
    r->listed = is_space(r) ? r->candidates : 0;
    r->columns = event->u.candidates.dimension;
    return true;
}

static bool rebuild_check_candidates_added(rebuild *r, store_event *event, rebuild_problem *p)
{
    if (event->u.added.first != r->candidates || event->u.added.points.n < 1)
        return rebuild_refuse(p, "first",
                              "must be the number of candidates so far, with at least one new row");
    return check_points(r, "rows", &event->u.added.points, p);
}

static bool rebuild_check_candidates_retired(rebuild *r, store_event *event, rebuild_problem *p)
{
    return below(p, "candidates", event->u.retired.list, event->u.retired.n, r->candidates);
}

static bool rebuild_check_candidates_restored(rebuild *r, store_event *event, rebuild_problem *p)
{
    return below(p, "candidates", event->u.restored.list, event->u.restored.n, r->candidates);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static bool check_picks(rebuild *r, const char *member, int64_t first_trial, const store_pick *picks,
                        size_t n, int64_t candidates, rebuild_problem *p)
{
    if (first_trial != r->trials + 1)
        return rebuild_refuse(p, member, "the trial numbers are not the next ones");
    for (size_t i = 0; i < n; i++) {
        if (picks[i].candidate >= candidates)
            return rebuild_refuse(p, member, "pick %zu is not one of the candidates", i);
        if (picks[i].variance < 0)
            return rebuild_refuse(p, member, "pick %zu has a negative variance", i);
    }
    r->trials += (int64_t)n;
    return true;
}

static bool check_held(const rebuild *r, const store_held *held, size_t n_picks, rebuild_problem *p)
{
    if (held->n_values == 0)
        return true;
    if (!is_space(r) || held->n_values != r->config->wire->n_parameters || held->n_picks > n_picks)
        return rebuild_refuse(p, "held", "wrong number of held values");
    for (size_t i = 0; i < held->n_values; i++)
        if (!isnan(held->values[i]) && !wire_is_value(&r->config->wire->parameters[i], held->values[i]))
            return rebuild_refuse(p, "held", "held value %zu is not a value of its parameter", i);
    return true;
}

static bool check_sums(const rebuild *r, const store_event *event, rebuild_problem *p)
{
    const store_arm_sum *sums = event->u.planned.sums;
    for (size_t i = 0; i < event->u.planned.n_sums; i++)
        if (sums[i].arm >= choices(r) || (i > 0 && sums[i].arm <= sums[i - 1].arm) ||
            sums[i].count > WIRE_MAX_INTEGER || !(fabs(sums[i].sum) <= WIRE_MAX_VALUE * WIRE_MAX_INTEGER))
            return rebuild_refuse(p, "sums",
                                  "sums must be sorted by candidate and refer to existing candidates");
    return true;
}

static bool rebuild_check_batch_planned(rebuild *r, store_event *event, rebuild_problem *p)
{
    const store_batch *batch = &event->u.planned.batch;
    size_t n_picks = event->u.planned.n_picks;
    if (batch->batch != r->batches)
        return rebuild_refuse(p, "batch", "is not the next batch");
    if (event->u.planned.through_seq < 0 || event->u.planned.through_seq > r->entries)
        return rebuild_refuse(p, "through_seq", "must refer to an earlier entry");
    if (batch->size != (int64_t)n_picks)
        return rebuild_refuse(p, "size", "must be %zu, the number of picks", n_picks);
    if (batch->observations < 0)
        return rebuild_refuse(p, "observations", "must be at least 0");
    if (!stop_rule_is_known(batch->stop_rule))
        return rebuild_refuse(p, "stop_rule", "is not a known rule");
    if (!advice_is_known(batch->advice))
        return rebuild_refuse(p, "advice", "is not a known one");
    if (!rebuild_check_text(p, "code_path", batch->code_path, WIRE_MAX_NAME) ||
        !check_figure(p, "ratio", batch->ratio) || !check_figure(p, "beta", batch->beta) ||
        !check_figure(p, "update_seconds", batch->update_seconds) ||
        !check_figure(p, "select_seconds", batch->select_seconds) ||
        !check_points(r, "points", &event->u.planned.points, p) ||
        !check_held(r, &event->u.planned.held, n_picks, p) ||
        !below(p, "dictionary", event->u.planned.dictionary, (size_t)batch->dictionary_size, choices(r)) ||
        !check_sums(r, event, p))
        return false;
    r->batches++;
    return check_picks(r, "picks", event->u.planned.first_trial, event->u.planned.picks, n_picks, choices(r),
                       p);
}

static bool rebuild_check_batch_extended(rebuild *r, store_event *event, rebuild_problem *p)
{
    size_t n_picks = event->u.extended.n_picks;
    if (event->u.extended.batch != r->batches - 1)
        return rebuild_refuse(p, "batch", "is not the last batch");
    if (event->u.extended.through_seq < 0 || event->u.extended.through_seq > r->entries)
        return rebuild_refuse(p, "through_seq", "must refer to an earlier entry");
    if (!stop_rule_is_known(event->u.extended.stop_rule))
        return rebuild_refuse(p, "stop_rule", "is not a known rule");
    return check_figure(p, "ratio", event->u.extended.ratio) &&
           check_points(r, "points", &event->u.extended.points, p) &&
           check_held(r, &event->u.extended.held, n_picks, p) &&
           check_picks(r, "picks", event->u.extended.first_trial, event->u.extended.picks, n_picks,
                       choices(r), p);
}

/* ---- trials -------------------------------------------------------------------------------------------- */

static bool check_issued(const rebuild *r, int64_t id, int32_t attempt, const char *worker,
                         rebuild_problem *p)
{
    return rebuild_check_trial(r, p, id) &&
           (attempt >= 1 || rebuild_refuse(p, "attempt", "must be at least 1")) &&
           rebuild_check_text(p, "worker", worker, WIRE_MAX_NAME);
}

static bool rebuild_check_trial_issued(rebuild *r, store_event *event, rebuild_problem *p)
{
    return check_issued(r, event->u.issued.trial, event->u.issued.attempt, event->u.issued.worker, p);
}

static bool rebuild_check_trial_renewed(rebuild *r, store_event *event, rebuild_problem *p)
{
    return check_issued(r, event->u.renewed.trial, event->u.renewed.attempt, event->u.renewed.worker, p);
}

static bool rebuild_check_trial_requeued(rebuild *r, store_event *event, rebuild_problem *p)
{
    const char *outcome = event->u.requeued.outcome;
    bool known =
        strcmp(outcome, "expired") == 0 || strcmp(outcome, "released") == 0 || strcmp(outcome, "failed") == 0;
    return rebuild_check_trial(r, p, event->u.requeued.trial) &&
           (known || rebuild_refuse(p, "outcome", "must be one of expired, released, failed")) &&
           rebuild_check_cost(event->u.requeued.cost, p);
}

static bool rebuild_check_trial_proposed(rebuild *r, store_event *event, rebuild_problem *p)
{
    return check_picks(r, "candidate", event->u.proposed.trial, &event->u.proposed.pick, 1, r->candidates, p);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static bool rebuild_check_candidates_keyed(rebuild *r, store_event *event, rebuild_problem *p)
{
    int64_t first = event->u.keyed.first;
    size_t n = event->u.keyed.n;
    if (r->config->parameters)
        return rebuild_refuse(p, "keys", "do not apply to a space");
    if (first < 0 || first > r->candidates || n > (size_t)(r->candidates - first))
        return rebuild_refuse(p, "first", "there are %lld candidates", (long long)r->candidates);
    if (first != 0 && first < (int64_t)r->keys.n)
        return rebuild_refuse(p, "first", "must be 0, or follow the candidates that have been given keys");
    if (first == 0 && !check_keys(r, p))
        return false;
    if (first == 0)
        wire_keys_clear(&r->keys);
    while (r->keys.n < (size_t)first)
        if (!wire_keys_add(&r->keys, "", 0))
            return rebuild_out_of_memory(p);
    for (size_t i = 0; i < n; i++) {
        const char *key = event->u.keyed.keys[i], *why = *key ? wire_key_problem(key, strlen(key)) : NULL;
        if (why)
            return rebuild_refuse(p, "keys", "the key of candidate %lld %s", (long long)first + (long long)i,
                                  why);
        if (!wire_keys_add(&r->keys, key, strlen(key)))
            return rebuild_out_of_memory(p);
    }
    return true;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

typedef bool check(rebuild *r, store_event *event, rebuild_problem *p);

static check *const checks[STORE_EVENT_TYPES] = {
#define X(enumerator, name) [enumerator] = rebuild_check_##name,
    STORE_EVENT_LIST(X)
#undef X
};

void rebuild_check(rebuild *r, store_event *event, rebuild_problem *p)
{
    checks[event->type](r, event, p);
}
