#include "core/selection/gain.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/base/stage_clock.h"
#include "core/selection/screening.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

struct bandit_gain_slot {
    uint32_t arm;
    bool used;
    bandit_conditioned at;
};

enum { MIN_SLOTS = 16, MAX_SLOT_BYTES = 4 << 20 };

/* Number of arms updated at once: few at first, because the first are usually enough. */
enum { FIRST_BLOCK = BANDIT_TILE, LAST_BLOCK = BANDIT_CONDITIONING_BLOCK };

/* A value that is computed later, from sums with other rounding, may exceed an earlier one by less than
 * this. */
static const double SLACK = 1e-9;

/* s~ is raised to at least this share of the prior's standard deviation. */
static const double SMALLEST = 1e-9;

static double with_slack(double value)
{
    return value + SLACK * (1.0 + fabs(value));
}

/* ---- memory and starting ------------------------------------------------------------------------------- */

static size_t slot_doubles(const bandit_gain_selector *s)
{
    return 2 * s->conditioning.stride + s->conditioning.ld;
}

static size_t slots_of(const bandit_gain_selector *s, size_t doubles)
{
    size_t slots = MAX_SLOT_BYTES / (doubles * sizeof(double) + sizeof *s->slots);
    slots = slots < MIN_SLOTS ? MIN_SLOTS : slots;
    return slots < s->n_arms ? slots : s->n_arms;
}

/* Drops all evaluated arms. */
static void empty_slots(bandit_gain_selector *s)
{
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].used)
            s->slot_of[s->slots[i].arm] = 0;
        s->slots[i].used = false;
    }
    s->next_slot = 0;
}

/* Reserves memory for slots with this many doubles each; the slots must be empty. */
static bool reserve_slots(bandit_gain_selector *s, size_t doubles)
{
    size_t slots = slots_of(s, doubles);
    return bandit_reserve((void **)&s->slots, &s->capacity_slots, slots, sizeof *s->slots) &&
           bandit_reserve((void **)&s->vectors, &s->capacity_vectors, slots * doubles, sizeof(double));
}

static void set_slots(bandit_gain_selector *s)
{
    s->n_slots = slots_of(s, slot_doubles(s));
    for (size_t i = 0; i < s->n_slots; i++)
        s->slots[i].used = false;
    s->next_slot = 0;
}

double bandit_gain_gap(const bandit_gain_selector *s, uint32_t arm, double mean)
{
    return (arm == s->leader ? s->second : mean) - s->incumbent;
}

/* Computes all bounds from the values at the start of the batch. */
static void start_bounds(bandit_gain_selector *s)
{
    const bandit_posterior *p = s->posterior;
    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_SELECTION);
    for (size_t a = 0; a < s->n_arms; a++) {
        bandit_pause_at(a);
        double gap = bandit_gain_gap(s, (uint32_t)a, s->mean[a]) + p->mean_error;
        double variance = fabs(s->variance[a]) * (1.0 + 1e-12) + p->variance_error;
        s->entries[a].arm = (uint32_t)a;
        s->entries[a].bound = with_slack(bandit_log_gain_bound(gap, variance, p->lambda, s->smallest));
    }
    memset(s->stamp, 0, s->n_arms * sizeof *s->stamp);
    s->aside_key = 0;
    bandit_heap_init(&s->heap, s->entries, s->n_arms);
    bandit_stage_switch(outer);
}

/* Finds f+, its arm and f2, from means by substitution. These have the same bits however `mean` was
 * computed. */
static void find_leaders(bandit_gain_selector *s, const bandit_arm_sum *pulled, size_t n_pulled)
{
    const double error = 2.0 * s->posterior->mean_error;
    bandit_conditioned at = {.z = s->vectors, .w = s->vectors + s->conditioning.stride};
    s->incumbent = s->second = -INFINITY;
    for (size_t i = 0; i < n_pulled; i++) {
        uint32_t arm = pulled[i].arm;
        if (s->mean[arm] < s->second - error - 1e-12 * fabs(s->second))
            continue;
        bandit_conditioning_embed(&s->conditioning, arm, &at);
        if (at.mean > s->incumbent) {
            s->second = s->incumbent;
            s->incumbent = at.mean;
            s->leader = arm;
        } else {
            s->second = fmax(s->second, at.mean);
        }
    }
    if (n_pulled < 2)
        s->second = s->incumbent;
}

bandit_status bandit_gain_start(bandit_gain_selector *s, const bandit_posterior *posterior, bool once,
                                const double *mean, double *variance, const bandit_arm_sum *pulled,
                                size_t n_pulled, bandit_error *err)
{
    size_t n = posterior->covariance->arms->n, d = posterior->covariance->dimension;
    size_t scratch = bandit_screening_scratch(posterior);
    bandit_status status = bandit_conditioning_start(&s->conditioning, posterior, BANDIT_TILE, err);
    if (status != BANDIT_OK)
        return status;
    s->n_slots = 0;
    s->n_arms = n;
    if (!bandit_reserve((void **)&s->entries, &s->capacity_entries, n, sizeof *s->entries) ||
        !bandit_reserve((void **)&s->stamp, &s->capacity_stamp, n, sizeof *s->stamp) ||
        !bandit_reserve((void **)&s->met, &s->capacity_met, n, sizeof *s->met) ||
        !bandit_reserve((void **)&s->slot_of, &s->capacity_slot_of, n, sizeof *s->slot_of) ||
        !bandit_reserve((void **)&s->scratch, &s->capacity_scratch, scratch > d ? scratch : d,
                        sizeof(double)) ||
        !reserve_slots(s, slot_doubles(s)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to select among %zu arms", n);
    set_slots(s);
    memset(s->slot_of, 0, n * sizeof *s->slot_of);
    memset(s->met, 0, n * sizeof *s->met);
    s->posterior = posterior;
    s->mean = mean;
    s->variance = variance;
    s->smallest = SMALLEST * sqrt(posterior->covariance->kappa2) + DBL_MIN;
    s->once = once;
    s->total = 0.0;
    s->n_out = s->n_repeats = 0;
    s->feasibility = NULL;
    for (size_t i = 0; i < n_pulled; i++)
        s->met[pulled[i].arm] = BANDIT_GAIN_RESULT;
    find_leaders(s, pulled, n_pulled);
    start_bounds(s);
    return BANDIT_OK;
}

void bandit_gain_clear(bandit_gain_selector *s)
{
    bandit_conditioning_clear(&s->conditioning);
    free(s->entries);
    free(s->stamp);
    free(s->met);
    free(s->penalty);
    free(s->slots);
    free(s->slot_of);
    free(s->vectors);
    free(s->scratch);
    *s = (bandit_gain_selector){0};
}

size_t bandit_gain_memory(const bandit_gain_selector *s)
{
    return bandit_conditioning_memory(&s->conditioning) + s->capacity_entries * sizeof *s->entries +
           (s->capacity_stamp + s->capacity_slot_of) * sizeof(uint32_t) + s->capacity_met * sizeof *s->met +
           s->capacity_slots * sizeof *s->slots +
           (s->capacity_penalty + s->capacity_vectors + s->capacity_scratch) * sizeof(double);
}

bandit_status bandit_gain_heed(bandit_gain_selector *s, const bandit_feasibility *feasibility,
                               bandit_error *err)
{
    bool had = s->feasibility != NULL;
    s->feasibility = NULL;
    if (feasibility &&
        !bandit_reserve((void **)&s->penalty, &s->capacity_penalty, s->n_arms, sizeof *s->penalty))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t a = 0; feasibility && a < s->n_arms; a++)
        s->penalty[a] = (double)NAN;
    s->feasibility = feasibility;
    if (had) /* values may have increased */
        start_bounds(s);
    return BANDIT_OK;
}

/* Makes the slots longer, and fewer. Their memory is reserved first, so that the present ones can still be
 * used if there is not enough. */
bandit_status bandit_gain_reserve(bandit_gain_selector *s, size_t more, bandit_error *err)
{
    bandit_conditioning *c = &s->conditioning;
    size_t left = BANDIT_CONDITIONING_MOST - c->n, wanted = c->n + (more < left ? more : left);
    if (wanted <= c->room)
        return BANDIT_OK;
    wanted += wanted / 4 + BANDIT_TILE;
    if (wanted > BANDIT_CONDITIONING_MOST)
        wanted = BANDIT_CONDITIONING_MOST;
    empty_slots(s);
    if (!reserve_slots(s, 2 * c->stride + bandit_aligned_doubles(wanted)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_conditioning_reserve(c, wanted, err);
    if (status == BANDIT_OK)
        set_slots(s);
    return status;
}

/* ---- one arm ------------------------------------------------------------------------------------------- */

/* The arm's slot. If it has none, the arm is embedded now, in the next slot: another arm that has this one loses it. Valid
 * until the next call. `keep`: the arm has the slot from now on. */
static bandit_gain_slot *embedded(bandit_gain_selector *s, uint32_t arm, bool keep)
{
    if (s->slot_of[arm] != 0)
        return &s->slots[s->slot_of[arm] - 1];
    size_t index = s->next_slot;
    bandit_gain_slot *slot = &s->slots[index];
    double *vectors = s->vectors + index * slot_doubles(s);
    if (slot->used)
        s->slot_of[slot->arm] = 0;
    *slot = (bandit_gain_slot){.arm = arm,
                               .used = keep,
                               .at = {.z = vectors,
                                      .w = vectors + s->conditioning.stride,
                                      .c = vectors + 2 * s->conditioning.stride}};
    bandit_conditioning_embed(&s->conditioning, arm, &slot->at);
    if (keep) {
        s->slot_of[arm] = (uint32_t)(index + 1);
        s->next_slot = (index + 1) % s->n_slots;
    }
    return slot;
}

static bandit_gain_slot *slot_for(bandit_gain_selector *s, uint32_t arm)
{
    return embedded(s, arm, true);
}

double bandit_gain_penalty(bandit_gain_selector *s, uint32_t arm)
{
    const bandit_arms *arms = s->posterior->covariance->arms;
    if (!s->feasibility)
        return 0.0;
    if (isnan(s->penalty[arm])) {
        for (size_t j = 0; j < arms->dimension; j++)
            s->scratch[j] = bandit_arms_feature(arms, arm, j);
        s->penalty[arm] =
            BANDIT_GAIN_PENALTY * bandit_feasibility_shortfall(s->feasibility, s->scratch, NULL);
    }
    return s->penalty[arm];
}

double bandit_gain_look(bandit_gain_selector *s, uint32_t arm, double *mean, double *start)
{
    bandit_gain_slot *slot = slot_for(s, arm);
    *mean = slot->at.mean;
    *start = slot->at.variance;
    return bandit_conditioning_variance(&s->conditioning, arm, &slot->at);
}

void bandit_gain_glance(bandit_gain_selector *s, uint32_t arm, double *mean, double *start)
{
    bandit_gain_slot *slot = embedded(s, arm, false);
    *mean = slot->at.mean;
    *start = slot->at.variance;
}

double bandit_gain_value(bandit_gain_selector *s, uint32_t arm)
{
    double mean, start, variance = bandit_gain_look(s, arm, &mean, &start);
    return bandit_log_gain(bandit_gain_gap(s, arm, mean), variance, s->posterior->lambda, s->smallest) -
           bandit_gain_penalty(s, arm);
}

double bandit_gain_take_out(bandit_gain_selector *s, uint32_t arm)
{
    bandit_gain_slot *slot = slot_for(s, arm);
    bandit_conditioning_add(&s->conditioning, arm, &slot->at);
    s->n_repeats += s->met[arm] != 0;
    s->met[arm] |= BANDIT_GAIN_OUT;
    if (s->once)
        s->incumbent = fmax(s->incumbent, slot->at.mean);
    s->total += slot->at.variance;
    s->n_out++;
    return slot->at.variance;
}

/* ---- the best arm -------------------------------------------------------------------------------------- */

static bool are_few(const bandit_gain_selector *s)
{
    return !s->once && s->n_arms / BANDIT_GAIN_FEW <= s->n_out;
}

/* Arms were set aside because of the withheld set of that time. If the set differs now (by an FNV-1a hash),
 * they are brought back. */
static void heed_withheld(bandit_gain_selector *s, const uint32_t *withheld, size_t n,
                          bandit_gain_choice choice)
{
    uint64_t key = 0xcbf29ce484222325u ^ (8 * n + 4 * are_few(s) + choice);
    for (size_t i = 0; i < n; i++)
        key = (key ^ withheld[i]) * 0x100000001b3u;
    if (key == s->aside_key)
        return;
    s->aside_key = key;
    bandit_heap_push_aside(&s->heap);
}

/* A search for the best arm. */
typedef struct search {
    bandit_gain_selector *s;
    const uint32_t *withheld;
    size_t n_withheld;
    bandit_gain_choice choice;
    bool few, found;
    double best;
    uint32_t arm;
} search;

static bool goes_on(const search *f)
{
    const bandit_heap *heap = &f->s->heap;
    return heap->size > 0 && (!f->found || heap->entries[0].bound >= f->best);
}

static bool may_be_picked(const search *f, uint32_t arm)
{
    unsigned met = f->s->met[arm];
    bool is_out = (met & BANDIT_GAIN_OUT) != 0, has_result = (met & BANDIT_GAIN_RESULT) != 0;
    bool is_usual = f->s->once ? met == 0 : !is_out || (f->few && has_result);
    if (f->choice == BANDIT_GAIN_NEW ? met != 0 : f->choice == BANDIT_GAIN_USUAL && !is_usual)
        return false;
    return f->n_withheld == 0 || !bandit_is_among(f->withheld, f->n_withheld, arm);
}

/* Pops at most `most` arms that may be picked. Returns the length of the part after the heap's end that
 * includes them all; some of that part may have been popped before. */
static size_t pop_block(search *f, size_t most)
{
    bandit_gain_selector *s = f->s;
    size_t n = 0, n_aside = 0;
    while (n < most && n_aside < LAST_BLOCK && goes_on(f)) {
        if (may_be_picked(f, bandit_heap_pop(&s->heap)->arm)) {
            n++;
        } else {
            bandit_heap_set_aside(&s->heap);
            n_aside++; /* it changed places with an arm that was popped earlier */
        }
    }
    size_t popped = bandit_heap_popped(&s->heap);
    return n + n_aside < popped ? n + n_aside : popped;
}

/* The bound of an arm whose variance the picks in flight have shrunk by at least `gain`. */
static double bound_after(const bandit_gain_selector *s, uint32_t arm, double gain)
{
    const bandit_posterior *p = s->posterior;
    double gap = bandit_gain_gap(s, arm, s->mean[arm]) + p->mean_error;
    double variance = s->variance[arm] * (1.0 + 1e-12) + p->variance_error - gain;
    return with_slack(bandit_log_gain(gap, fmax(0.0, variance), p->lambda, s->smallest));
}

/* Computes the variances that are only bounded among these entries. Most of the arms then turn out not to matter. */
static void sharpen(bandit_gain_selector *s, bandit_heap_entry *entries, size_t n)
{
    uint32_t arms[2 * LAST_BLOCK] = {0};
    size_t at[2 * LAST_BLOCK], loose = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->variance[entries[i].arm] >= 0.0)
            continue;
        arms[loose] = entries[i].arm;
        at[loose++] = i;
    }
    bandit_screening_sharpen(s->posterior, arms, loose, s->variance, s->scratch);
    for (size_t k = 0; k < loose; k++)
        entries[at[k]].bound = fmin(entries[at[k]].bound, bound_after(s, arms[k], 0.0));
}

/* Updates outdated bounds among these entries. */
static void refresh(search *f, bandit_heap_entry *entries, size_t n)
{
    bandit_gain_selector *s = f->s;
    uint32_t arms[LAST_BLOCK] = {0}, now = (uint32_t)s->n_out + 1;
    size_t at[LAST_BLOCK], stale = 0;
    double gains[LAST_BLOCK];
    sharpen(s, entries, n);
    for (size_t i = 0; i < n && stale < LAST_BLOCK; i++) {
        if (s->stamp[entries[i].arm] == now || (f->found && entries[i].bound < f->best))
            continue;
        arms[stale] = entries[i].arm;
        at[stale++] = i;
    }
    bandit_conditioning_gains(&s->conditioning, arms, stale, gains);
    for (size_t k = 0; k < stale; k++) {
        double bound = bound_after(s, arms[k], gains[k]);
        if (!f->found || bound >= f->best)
            bound -= bandit_gain_penalty(s, arms[k]);
        entries[at[k]].bound = fmin(entries[at[k]].bound, bound);
        s->stamp[arms[k]] = now;
    }
}

/* Evaluates those of n entries that may be the best, the largest bounds first. */
static void evaluate(search *f, bandit_heap_entry *entries, size_t n)
{
    bandit_gain_selector *s = f->s;
    bool done[2 * LAST_BLOCK] = {false};
    assert(n <= 2 * LAST_BLOCK);
    for (;;) {
        size_t top = n;
        for (size_t i = 0; i < n; i++) {
            if (!done[i] && (top == n || entries[i].bound > entries[top].bound))
                top = i;
        }
        if (top == n || (f->found && entries[top].bound < f->best))
            return;
        uint32_t arm = entries[top].arm;
        double value = bandit_gain_value(s, arm);
        done[top] = true;
        entries[top].bound = with_slack(value);
        if (!f->found || value > f->best || (value == f->best && arm < f->arm)) {
            f->best = value;
            f->arm = arm;
            f->found = true;
        }
    }
}

bool bandit_gain_best(bandit_gain_selector *s, const uint32_t *withheld, size_t n_withheld,
                      bandit_gain_choice choice, uint32_t *arm)
{
    search f = {.s = s,
                .withheld = withheld,
                .n_withheld = n_withheld,
                .choice = choice,
                .few = are_few(s),
                .best = -INFINITY};
    heed_withheld(s, withheld, n_withheld, choice);
    for (size_t block = FIRST_BLOCK; goes_on(&f) && !bandit_pause();
         block = block < LAST_BLOCK ? 2 * block : block) {
        size_t n = pop_block(&f, block);
        refresh(&f, s->entries + s->heap.size, n);
        evaluate(&f, s->entries + s->heap.size, n);
    }
    bandit_heap_push_popped(&s->heap);
    if (f.found)
        *arm = f.arm;
    return f.found;
}
