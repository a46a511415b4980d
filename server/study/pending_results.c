#include "server/study/pending_results.h"

#include "proto/arrays.h"
#include "server/study/trial.h"

#include <stdlib.h>
#include <string.h>

/* An amended imported result, until the amendment is on disk. */
typedef struct amended_observation {
    store_imported row;
    uint64_t write; /* the last write that amended it */
} amended_observation;

struct pending_results {
    store_imported *observations;                            /* by number, without gaps */
    size_t n_observations, capacity, n_observations_joining; /* those that are joining come first */
    amendment *amendments;
    size_t n_amendments, n_amendments_joining; /* likewise */
    amended_observation *amended;
    size_t n_amended, amended_capacity;
    TAILQ_HEAD(late_list, late_result) late;
};

pending_results *pending_results_new(void)
{
    pending_results *p = calloc(1, sizeof *p);
    if (p)
        TAILQ_INIT(&p->late);
    return p;
}

void pending_results_free(pending_results *p)
{
    if (p)
        pending_results_clear(p);
    free(p);
}

/* ---- observations -------------------------------------------------------------------------------------- */

/* Copies the row; its reason is not needed. False: out of memory. */
static bool keep_row(store_imported *out, const store_imported *row)
{
    char *recorded = strdup(row->recorded);
    if (!recorded)
        return false;
    *out = *row;
    out->recorded = recorded;
    out->reason = "";
    return true;
}

static void free_row(const store_imported *row)
{
    free((char *)(uintptr_t)row->recorded);
}

bool pending_results_add_observation(pending_results *p, const store_imported *row)
{
    if (!wire_grow(&p->observations, &p->capacity, p->n_observations + 1, 64, sizeof *p->observations))
        return false;
    if (!keep_row(&p->observations[p->n_observations], row))
        return false;
    p->n_observations++;
    return true;
}

static void drop_observations(pending_results *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free_row(&p->observations[i]);
    p->n_observations -= n;
    p->n_observations_joining = 0;
    if (p->n_observations > 0) {
        memmove(p->observations, p->observations + n, p->n_observations * sizeof *p->observations);
        return;
    }
    free(p->observations);
    p->observations = NULL;
    p->capacity = 0;
}

const store_imported *pending_results_observations(const pending_results *p, size_t *n)
{
    *n = p->n_observations;
    return p->observations;
}

/* The index of the result among the pending ones; n_observations: it is not pending. */
static size_t pending_index(const pending_results *p, int64_t number)
{
    int64_t first = p->n_observations > 0 ? p->observations[0].observation : 0;
    bool pending = p->n_observations > 0 && number >= first && number - first < (int64_t)p->n_observations;
    return pending ? (size_t)(number - first) : p->n_observations;
}

static amended_observation *find_amended(const pending_results *p, int64_t number)
{
    for (size_t i = 0; i < p->n_amended; i++)
        if (p->amended[i].row.observation == number)
            return &p->amended[i];
    return NULL;
}

const store_imported *pending_results_find_observation(const pending_results *p, int64_t number)
{
    const amended_observation *amended = find_amended(p, number);
    size_t i = pending_index(p, number);
    if (amended)
        return &amended->row;
    return i < p->n_observations ? &p->observations[i] : NULL;
}

bool pending_results_amend_observation(pending_results *p, const store_imported *row, uint64_t write,
                                       bool *joins)
{
    amended_observation *amended = find_amended(p, row->observation);
    size_t i = pending_index(p, row->observation);
    store_imported kept, pending = {.recorded = NULL};
    if (!amended && !wire_grow(&p->amended, &p->amended_capacity, p->n_amended + 1, 4, sizeof *p->amended))
        return false;
    if (!keep_row(&kept, row))
        return false;
    if (i < p->n_observations && !keep_row(&pending, row)) {
        free_row(&kept);
        return false;
    }
    if (amended)
        free_row(&amended->row);
    else
        amended = &p->amended[p->n_amended++];
    *amended = (amended_observation){.row = kept, .write = write};
    *joins = i == p->n_observations || i < p->n_observations_joining;
    if (i < p->n_observations) {
        free_row(&p->observations[i]);
        p->observations[i] = pending;
    }
    return true;
}

/* Forgets the results that were last amended by writes up to number `done`. */
static void drop_amended(pending_results *p, uint64_t done)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n_amended; i++) {
        if (p->amended[i].write > done)
            p->amended[kept++] = p->amended[i];
        else
            free_row(&p->amended[i].row);
    }
    p->n_amended = kept;
    if (kept > 0)
        return;
    free(p->amended);
    p->amended = NULL;
    p->amended_capacity = 0;
}

/* ---- late results -------------------------------------------------------------------------------------- */

static void free_late(late_result *late)
{
    free(late->recorded);
    free(late);
}

bool pending_results_add_late(pending_results *p, const store_late_result *row)
{
    late_result *late = calloc(1, sizeof *late);
    if (!late)
        return false;
    *late = (late_result){.trial = row->trial,
                          .cost = row->cost,
                          .attempt = row->attempt,
                          .candidate = (uint32_t)row->candidate,
                          .value = row->value,
                          .repeats = row->repeats};
    if (!text_replace(&late->recorded, row->recorded)) {
        free_late(late);
        return false;
    }
    TAILQ_INSERT_TAIL(&p->late, late, link);
    return true;
}

const late_result *pending_results_first_late(const pending_results *p)
{
    return TAILQ_FIRST(&p->late);
}

const late_result *pending_results_next_late(const late_result *late)
{
    return TAILQ_NEXT(late, link);
}

static void drop_late(pending_results *p, late_result *late)
{
    TAILQ_REMOVE(&p->late, late, link);
    free_late(late);
}

/* ---- amendments ---------------------------------------------------------------------------------------- */

bool pending_results_add_amendment(pending_results *p, const amendment *a)
{
    amendment *grown = realloc(p->amendments, (p->n_amendments + 1) * sizeof *grown);
    if (!grown)
        return false;
    p->amendments = grown;
    grown[p->n_amendments++] = *a;
    return true;
}

static void drop_amendments(pending_results *p, size_t n)
{
    p->n_amendments -= n;
    p->n_amendments_joining = 0;
    if (p->n_amendments > 0) {
        memmove(p->amendments, p->amendments + n, p->n_amendments * sizeof *p->amendments);
        return;
    }
    free(p->amendments);
    p->amendments = NULL;
}

const amendment *pending_results_amendments(const pending_results *p, size_t *n)
{
    *n = p->n_amendments;
    return p->amendments;
}

/* ---- joining the model --------------------------------------------------------------------------------- */

bool pending_results_is_empty(const pending_results *p)
{
    const late_result *late;
    TAILQ_FOREACH (late, &p->late, link)
        if (late->joined_by == 0)
            return false;
    return p->n_observations == 0 && p->n_amendments == 0;
}

void pending_results_begin(pending_results *p)
{
    late_result *late;
    p->n_observations_joining = p->n_observations;
    p->n_amendments_joining = p->n_amendments;
    TAILQ_FOREACH (late, &p->late, link)
        late->joining = late->joined_by == 0;
}

void pending_results_join(pending_results *p, uint64_t write)
{
    late_result *late;
    TAILQ_FOREACH (late, &p->late, link) {
        if (late->joining)
            late->joined_by = write;
        late->joining = false;
    }
    drop_observations(p, p->n_observations_joining);
    drop_amendments(p, p->n_amendments_joining);
}

void pending_results_drop_joined(pending_results *p, uint64_t done)
{
    late_result *late, *next;
    for (late = TAILQ_FIRST(&p->late); late; late = next) {
        next = TAILQ_NEXT(late, link);
        if (late->joined_by > 0 && late->joined_by <= done)
            drop_late(p, late);
    }
    drop_amended(p, done);
}

void pending_results_clear(pending_results *p)
{
    while (!TAILQ_EMPTY(&p->late))
        drop_late(p, TAILQ_FIRST(&p->late));
    drop_observations(p, p->n_observations);
    drop_amended(p, UINT64_MAX);
    drop_amendments(p, p->n_amendments);
}
