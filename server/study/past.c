/* The log is read twice: first up to the plan of the trial, for batches, picks and sums; then up to the position that
 * the plan was made from, for everything else. */
#include "server/study/past.h"

#include "proto/arrays.h"
#include "server/store/event.h"
#include "server/study/barred.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_AT_ONCE = 512 };

typedef struct reading {
    past *p;
    bool found;
    int64_t seq; /* of the last entry read */
    store_status status;
    store_error *err;
} reading;

static void fail(reading *r, store_status status)
{
    if (r->status == STORE_OK)
        r->status = status;
}

static void *copy_of(const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size > 0)
        memcpy(copy, from, size);
    return copy;
}

/* Decodes an entry if it is of one of these types. */
static store_event *decode(reading *r, int64_t time, const char *type, const char *payload, unsigned types)
{
    store_event_type of;
    store_event *event = NULL;
    if (r->status || !store_event_parse(&of, type) || !(types & 1u << of))
        return NULL;
    fail(r, store_event_decode(&event, type, time, payload, r->err));
    return event;
}

/* ---- batches and picks --------------------------------------------------------------------------------- */

static void take_pick(reading *r, int64_t trial, int64_t batch, const store_pick *pick)
{
    past *p = r->p;
    if (trial > p->trial || r->status)
        return;
    if (trial < 1 || !wire_grow(&p->trials, &p->trials_capacity, (size_t)trial, 256, sizeof *p->trials)) {
        fail(r, trial < 1 ? STORE_CORRUPT : STORE_NO_MEMORY);
        return;
    }
    p->trials[trial - 1] = (past_trial){.batch = batch, .candidate = pick->candidate, .state = TRIAL_QUEUED};
    if (pick->candidate >= p->candidates)
        p->candidates = (int64_t)pick->candidate + 1;
}

/* Takes the picks of a plan. If the trial is among them, the search is over. */
static void take_picks(reading *r, int64_t batch, int64_t first, const store_pick *picks, size_t n,
                       const store_held *held)
{
    past *p = r->p;
    for (size_t i = 0; i < n; i++)
        take_pick(r, first + (int64_t)i, batch, &picks[i]);
    r->found = p->trial >= first && p->trial < first + (int64_t)n;
    size_t place = r->found ? (size_t)(p->trial - first) : 0;
    if (!r->found || held->n_values == 0 || place + held->n_picks < n)
        return;
    p->n_fixed = held->n_values;
    p->fixed = copy_of(held->values, held->n_values * sizeof *held->values);
    if (!p->fixed)
        fail(r, STORE_NO_MEMORY);
}

/* Keeps the sums in an array that is ascending by arm. */
static void take_sums(reading *r, const store_arm_sum *sums, size_t n)
{
    past *p = r->p;
    size_t end = n > 0 ? (size_t)sums[n - 1].arm + 1 : 0;
    if (!wire_grow(&p->sums, &p->sums_capacity, end, 256, sizeof *p->sums)) {
        fail(r, STORE_NO_MEMORY);
        return;
    }
    for (; p->n_sums < end; p->n_sums++)
        p->sums[p->n_sums] = (store_arm_sum){.arm = (uint32_t)p->n_sums};
    for (size_t i = 0; i < n; i++)
        p->sums[sums[i].arm] = sums[i];
}

static void take_batch(reading *r, const store_event *event)
{
    past *p = r->p;
    int64_t batch = event->u.planned.batch.batch;
    size_t n = (size_t)event->u.planned.batch.dictionary_size;
    free(p->now.dictionary);
    free(p->now.state);
    p->now = (store_engine_state){.batch = batch,
                                  .through_seq = event->u.planned.through_seq,
                                  .n_dictionary = n,
                                  .n_state = event->u.planned.n_engine_state};
    p->now.dictionary = copy_of(event->u.planned.dictionary, n * sizeof *p->now.dictionary);
    p->now.state = copy_of(event->u.planned.engine_state, p->now.n_state);
    if (!p->now.dictionary || !p->now.state ||
        !wire_grow(&p->through, &p->through_capacity, (size_t)batch + 1, 256, sizeof *p->through)) {
        fail(r, STORE_NO_MEMORY);
        return;
    }
    p->through[batch] = p->now.through_seq;
    take_sums(r, event->u.planned.sums, event->u.planned.n_sums);
}

static void find_plan(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    reading *r = arg;
    past *p = r->p;
    r->seq = seq;
    store_event *event =
        r->found
            ? NULL
            : decode(r, time, type, payload,
                     1u << EVENT_BATCH_PLANNED | 1u << EVENT_BATCH_EXTENDED | 1u << EVENT_TRIAL_PROPOSED);
    if (!event)
        return;
    if (event->type == EVENT_TRIAL_PROPOSED) {
        take_pick(r, event->u.proposed.trial, -1, &event->u.proposed.pick);
    } else if (event->type == EVENT_BATCH_PLANNED) {
        take_batch(r, event);
        take_picks(r, event->u.planned.batch.batch, event->u.planned.first_trial, event->u.planned.picks,
                   event->u.planned.n_picks, &event->u.planned.held);
        p->through_seq = event->u.planned.through_seq;
    } else {
        take_picks(r, event->u.extended.batch, event->u.extended.first_trial, event->u.extended.picks,
                   event->u.extended.n_picks, &event->u.extended.held);
        p->through_seq = event->u.extended.through_seq ? event->u.extended.through_seq : seq - 1;
    }
    p->seq = seq;
    p->time = time;
    free(event);
}

/* ---- everything else ----------------------------------------------------------------------------------- */

static void take_definition(reading *r, const char *text)
{
    if (!text)
        return;
    free(r->p->definition);
    r->p->definition = strdup(text);
    if (!r->p->definition)
        fail(r, STORE_NO_MEMORY);
}

static past_trial *find_trial(past *p, int64_t trial)
{
    return trial >= 1 && trial <= p->trial ? &p->trials[trial - 1] : NULL;
}

static void take_outcome(past *p, int64_t trial, trial_state state, bool has_value, int64_t told_seq)
{
    past_trial *t = find_trial(p, trial);
    if (!t)
        return;
    t->state = state;
    t->has_value = has_value;
    if (t->told_seq == 0)
        t->told_seq = told_seq;
}

static void take_told(past *p, const store_event *event, int64_t seq)
{
    past_trial *t = find_trial(p, event->u.told.trial);
    if (t)
        t->barred =
            study_is_barred_by_failures(event->u.told.state, event->u.told.attempt, event->u.told.reason);
    take_outcome(p, event->u.told.trial, event->u.told.state, event->u.told.has_value, seq);
}

static void take_imports(reading *r, const store_observation *list, size_t n)
{
    past *p = r->p;
    if (!wire_grow(&p->imports, &p->imports_capacity, p->n_imports + n, 64, sizeof *p->imports)) {
        fail(r, STORE_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < n; i++)
        p->imports[p->n_imports++] = (past_import){.candidate = list[i].candidate, .has_value = true};
}

static void amend_import(past *p, int64_t number, bool has_value)
{
    if (number >= 1 && (size_t)number <= p->n_imports)
        p->imports[number - 1].has_value = has_value;
}

static void mark_retired(reading *r, const uint32_t *list, size_t n, bool retired)
{
    past *p = r->p;
    for (size_t i = 0; i < n; i++) {
        size_t arm = list[i], before = p->n_retired;
        if (!wire_grow(&p->retired, &p->n_retired, arm + 1, 64, sizeof *p->retired)) {
            fail(r, STORE_NO_MEMORY);
            return;
        }
        memset(p->retired + before, 0, (p->n_retired - before) * sizeof *p->retired);
        p->retired[arm] = retired;
    }
}

static void more_candidates(past *p, int64_t count)
{
    if (count > p->candidates)
        p->candidates = count;
}

static void take_known(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    reading *r = arg;
    past *p = r->p;
    r->seq = seq;
    store_event *event =
        seq > p->through_seq
            ? NULL
            : decode(r, time, type, payload,
                     1u << EVENT_STUDY_CREATED | 1u << EVENT_STUDY_CHANGED | 1u << EVENT_CANDIDATES_SET |
                         1u << EVENT_CANDIDATES_ADDED | 1u << EVENT_TRIAL_TOLD | 1u << EVENT_TRIAL_AMENDED |
                         1u << EVENT_CANDIDATES_RETIRED | 1u << EVENT_CANDIDATES_RESTORED |
                         1u << EVENT_OBSERVATIONS_ADDED | 1u << EVENT_OBSERVATION_AMENDED);
    if (!event)
        return;
    if (event->type == EVENT_STUDY_CREATED)
        take_definition(r, event->u.created.definition);
    else if (event->type == EVENT_STUDY_CHANGED)
        take_definition(r, event->u.changed.definition);
    else if (event->type == EVENT_CANDIDATES_SET)
        more_candidates(p, event->u.candidates.count);
    else if (event->type == EVENT_CANDIDATES_ADDED)
        more_candidates(p, event->u.added.first + (int64_t)event->u.added.points.n);
    else if (event->type == EVENT_CANDIDATES_RETIRED)
        mark_retired(r, event->u.retired.list, event->u.retired.n, true);
    else if (event->type == EVENT_CANDIDATES_RESTORED)
        mark_retired(r, event->u.restored.list, event->u.restored.n, false);
    else if (event->type == EVENT_OBSERVATIONS_ADDED)
        take_imports(r, event->u.observed.list, event->u.observed.n);
    else if (event->type == EVENT_OBSERVATION_AMENDED)
        amend_import(p, event->u.reobserved.observation, event->u.reobserved.has_value);
    else if (event->type == EVENT_TRIAL_TOLD)
        take_told(p, event, seq);
    else if (event->type == EVENT_TRIAL_AMENDED)
        take_outcome(p, event->u.amended.trial, event->u.amended.state, event->u.amended.has_value, seq);
    free(event);
}

/* ---- the whole past ------------------------------------------------------------------------------------ */

static void read_log(reading *r, store *s, int64_t study, store_log_row *row, int64_t last)
{
    int64_t after = 0;
    while (r->status == STORE_OK && !(last == 0 && r->found) && (last == 0 || after < last)) {
        r->seq = 0;
        fail(r, store_read_log(s, study, after, ENTRIES_AT_ONCE, row, r, r->err));
        if (r->seq == 0)
            return;
        after = r->seq;
    }
}

store_status past_read(past *out, store *s, int64_t study, int64_t trial, store_error *err)
{
    reading r = {.p = out, .err = err};
    *out = (past){.trial = trial};
    read_log(&r, s, study, find_plan, 0);
    if (r.status == STORE_OK && !r.found)
        r.status = STORE_NOT_FOUND;
    if (r.status == STORE_OK)
        read_log(&r, s, study, take_known, out->through_seq);
    if (r.status == STORE_OK && !out->definition)
        r.status = STORE_CORRUPT;
    out->now.sums = out->sums;
    out->now.n_sums = out->n_sums;
    if (r.status != STORE_OK)
        past_clear(out);
    return r.status;
}

void past_clear(past *p)
{
    free(p->definition);
    free(p->trials);
    free(p->sums);
    free(p->through);
    free(p->now.dictionary);
    free(p->now.state);
    free(p->fixed);
    free(p->imports);
    free(p->retired);
    *p = (past){0};
}
