#include "core/selection/selection.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/base/stage_clock.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bandit_shadow_slot {
    uint32_t arm;
    bool used;
    double mean, residual;
    bandit_shadow shadow;
};

enum { MIN_SLOTS = 16, MAX_SLOT_BYTES = 8 << 20 };

/* A bound must stay above values that are computed later from sums with other rounding. This slack is
 * relative to the norm from which the picks subtract variance. */
static const double NORM_SLACK = 1e-10;

static double bound_of(double mean, double alpha, double variance, double slack)
{
    double bound = mean + alpha * sqrt(variance + slack);
    return bound + 1e-15 * fabs(bound);
}

bandit_status bandit_selector_start(bandit_selector *s, const bandit_posterior *posterior, double alpha,
                                    const double *mean, const double *variance, bandit_error *err)
{
    size_t n = posterior->covariance->arms->n;
    size_t stride = bandit_aligned_doubles(posterior->m);
    size_t slots = MAX_SLOT_BYTES / (2 * stride * sizeof(double) + sizeof *s->slots);
    if (slots < MIN_SLOTS)
        slots = MIN_SLOTS;
    if (slots > n)
        slots = n;

    bandit_pause(); /* touching that much memory for the first time takes long */
    if (!bandit_reserve((void **)&s->entries, &s->capacity_entries, n, sizeof *s->entries) ||
        !bandit_reserve((void **)&s->slot_of, &s->capacity_slot_of, n, sizeof *s->slot_of) ||
        !bandit_reserve((void **)&s->slots, &s->capacity_slots, slots, sizeof *s->slots) ||
        !bandit_reserve((void **)&s->vectors, &s->capacity_vectors, slots * 2 * stride, sizeof(double)) ||
        !bandit_reserve((void **)&s->scratch, &s->capacity_scratch, bandit_posterior_scratch(posterior),
                        sizeof(double)) ||
        !bandit_hallucination_reset(&s->hallucination, posterior->m))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to select among %zu arms", n);
    memset(s->slot_of, 0, n * sizeof *s->slot_of);
    bandit_pause();
    s->posterior = posterior;
    s->alpha = alpha;
    s->n_arms = n;
    s->aside_key = 0;
    s->n_slots = slots;
    s->next_slot = 0;
    s->stride = stride;
    s->total = 0.0;
    s->n_out = 0;
    for (size_t i = 0; i < slots; i++)
        s->slots[i].used = false;

    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_SELECTION);
    double mean_slack = posterior->mean_error;
    for (size_t a = 0; a < n; a++) {
        bandit_pause_at(a);
        double most = fabs(variance[a]), slack = posterior->variance_error + NORM_SLACK * most;
        s->entries[a].arm = (uint32_t)a;
        s->entries[a].bound = bound_of(mean[a] + mean_slack, alpha, most, slack);
    }
    bandit_heap_init(&s->heap, s->entries, n);
    bandit_stage_switch(outer);
    return BANDIT_OK;
}

void bandit_selector_clear(bandit_selector *s)
{
    bandit_hallucination_clear(&s->hallucination);
    free(s->entries);
    free(s->slots);
    free(s->slot_of);
    free(s->vectors);
    free(s->scratch);
    *s = (bandit_selector){0};
}

/* The arm's slot. If it has none, the arm is evaluated now. Valid until the next call. */
static bandit_shadow_slot *slot_for(bandit_selector *s, uint32_t arm)
{
    if (s->slot_of[arm] != 0)
        return &s->slots[s->slot_of[arm] - 1];
    size_t index = s->next_slot;
    bandit_shadow_slot *slot = &s->slots[index];
    s->next_slot = (index + 1) % s->n_slots;
    if (slot->used)
        s->slot_of[slot->arm] = 0;

    double *w = s->vectors + index * 2 * s->stride;
    bandit_embedding embedding = bandit_posterior_embed(s->posterior, arm, w, s->scratch);
    *slot = (bandit_shadow_slot){.arm = arm,
                                 .used = true,
                                 .mean = embedding.mean,
                                 .residual = embedding.residual,
                                 .shadow = {.w = w, .coordinates = w + s->stride, .norm2 = embedding.norm2}};
    s->slot_of[arm] = (uint32_t)(index + 1);
    return slot;
}

double bandit_selector_hallucinate(bandit_selector *s, uint32_t arm)
{
    const bandit_shadow_slot *slot = slot_for(s, arm);
    double variance = slot->residual + slot->shadow.norm2;
    bandit_hallucination_add(&s->hallucination, arm, slot->shadow.w);
    s->total += variance;
    s->n_out++;
    return variance;
}

/* Returns the arm's current value; *bound is an upper bound on it after any later picks. */
static double evaluate(bandit_selector *s, uint32_t arm, double *bound)
{
    bandit_shadow_slot *slot = slot_for(s, arm);
    double variance = slot->residual + bandit_hallucination_norm2(&s->hallucination, &slot->shadow);
    *bound = bound_of(slot->mean, s->alpha, variance, NORM_SLACK * slot->shadow.norm2);
    return slot->mean + s->alpha * sqrt(variance);
}

double bandit_selector_look(bandit_selector *s, uint32_t arm, double *mean, double *variance)
{
    bandit_shadow_slot *slot = slot_for(s, arm);
    *mean = slot->mean;
    *variance = slot->residual + bandit_hallucination_norm2(&s->hallucination, &slot->shadow);
    return *mean + s->alpha * sqrt(*variance);
}

double bandit_selector_value(bandit_selector *s, uint32_t arm)
{
    double bound;
    return evaluate(s, arm, &bound);
}

/* Arms were set aside because of the withheld set of that time. If the set differs now (by an FNV-1a hash),
 * they are brought back. */
static void heed_withheld(bandit_selector *s, const uint32_t *withheld, size_t n)
{
    uint64_t key = 0xcbf29ce484222325u ^ n;
    for (size_t i = 0; i < n; i++)
        key = (key ^ withheld[i]) * 0x100000001b3u;
    if (key == s->aside_key)
        return;
    s->aside_key = key;
    bandit_heap_push_aside(&s->heap);
}

/* Whether two arms are the same point. Their values then agree to the bit for the whole batch. */
static bool same_point(const bandit_arms *arms, uint32_t a, uint32_t b)
{
    if (arms->dimension == 0)
        return memcmp(arms->matrix + (size_t)a * arms->n, arms->matrix + (size_t)b * arms->n,
                      arms->n * sizeof(double)) == 0;
    for (size_t j = 0; j < arms->dimension; j++) {
        if (bandit_arms_feature(arms, a, j) != bandit_arms_feature(arms, b, j))
            return false;
    }
    return true;
}

bool bandit_selector_best(bandit_selector *s, const uint32_t *withheld, size_t n_withheld, uint32_t *arm)
{
    const bandit_arms *arms = s->posterior->covariance->arms;
    double best = -INFINITY;
    bool found = false;

    heed_withheld(s, withheld, n_withheld);
    while (s->heap.size > 0 && (!found || s->entries[0].bound >= best) && !bandit_pause()) {
        bandit_heap_entry *entry = bandit_heap_pop(&s->heap);
        if (n_withheld > 0 && bandit_is_among(withheld, n_withheld, entry->arm)) {
            bandit_heap_set_aside(&s->heap);
            continue;
        }
        uint32_t candidate = entry->arm;
        double value = evaluate(s, candidate, &entry->bound);
        if (found && value == best && same_point(arms, candidate, *arm)) {
            /* Of two duplicates, only the one with the lower index can ever be picked. */
            if (candidate < *arm) {
                for (size_t i = s->heap.size + 1; i < s->n_arms - s->heap.n_aside; i++) {
                    if (s->entries[i].arm == *arm) {
                        bandit_heap_entry moved = s->entries[i];
                        s->entries[i] = *entry;
                        *entry = moved;
                        break;
                    }
                }
                *arm = candidate;
            }
            bandit_heap_set_aside(&s->heap);
            continue;
        }
        if (!found || value > best || (value == best && candidate < *arm)) {
            best = value;
            *arm = candidate;
            found = true;
        }
    }
    bandit_heap_push_popped(&s->heap);
    return found;
}

size_t bandit_selector_memory(const bandit_selector *s)
{
    size_t m = s->hallucination.capacity;
    return s->capacity_entries * sizeof *s->entries + s->capacity_slots * sizeof *s->slots +
           s->capacity_slot_of * sizeof *s->slot_of +
           (s->capacity_vectors + s->capacity_scratch) * sizeof(double) +
           (3 * m * m + 3 * m) * sizeof(double) + m * sizeof(uint32_t);
}
