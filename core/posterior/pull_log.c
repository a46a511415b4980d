#include "core/posterior/pull_log.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST_FOLD = 64 };

/* The stored form, in the machine's byte order: a header, then the base, then the log. */
typedef struct stored_header {
    uint64_t version;
    uint64_t n_base, n_log;
} stored_header;

typedef struct stored_entry {
    uint32_t arm;
    float weight;
    uint64_t count;
    double value; /* base: the sum; log: the mean reward */
} stored_entry;

enum { STORED_VERSION = 1 };

void bandit_history_init(bandit_history *h, size_t n_arms, size_t keep)
{
    *h = (bandit_history){.n_arms = n_arms, .keep = keep};
}

void bandit_history_clear(bandit_history *h)
{
    bandit_ledger_clear(&h->sums);
    bandit_ledger_clear(&h->base);
    bandit_ledger_clear(&h->next);
    free(h->log);
    free(h->state);
    *h = (bandit_history){0};
}

static size_t state_bytes(size_t n_base, size_t n_log)
{
    return sizeof(stored_header) + (n_base + n_log) * sizeof(stored_entry);
}

static bool reserve_log(bandit_history *h, size_t n)
{
    return bandit_reserve_keep((void **)&h->log, &h->capacity_log, h->n_log, n, sizeof *h->log);
}

static bool reserve_base(bandit_history *h, size_t n)
{
    return bandit_reserve_keep((void **)&h->base.sums, &h->base.capacity, h->base.n, n, sizeof *h->base.sums);
}

static bool reserve_state(bandit_history *h, size_t n_base, size_t n_log)
{
    return bandit_reserve_keep((void **)&h->state, &h->capacity_state, h->n_state, state_bytes(n_base, n_log),
                               1);
}

static void write_state(bandit_history *h)
{
    stored_header header = {.version = STORED_VERSION, .n_base = h->base.n, .n_log = h->n_log};
    h->n_state = state_bytes(h->base.n, h->n_log);
    assert(h->n_state <= h->capacity_state);
    unsigned char *out = h->state;
    memcpy(out, &header, sizeof header);
    out += sizeof header;
    for (size_t i = 0; i < h->base.n; i++, out += sizeof(stored_entry)) {
        const bandit_arm_sum *sum = &h->base.sums[i];
        memcpy(
            out,
            &(stored_entry){.arm = sum->arm, .weight = sum->weight, .count = sum->count, .value = sum->sum},
            sizeof(stored_entry));
    }
    for (size_t i = 0; i < h->n_log; i++, out += sizeof(stored_entry)) {
        const bandit_pull *pull = &h->log[i];
        memcpy(out,
               &(stored_entry){
                   .arm = pull->arm, .weight = pull->weight, .count = pull->repeats, .value = pull->reward},
               sizeof(stored_entry));
    }
}

bandit_status bandit_history_prepare(bandit_history *h, const bandit_result *results, size_t n,
                                     bandit_error *err)
{
    bandit_status status = bandit_ledger_add(&h->next, &h->sums, h->n_arms, results, n, err);
    if (status != BANDIT_OK)
        return status;
    size_t longest = h->next.n / 4 > SHORTEST_FOLD ? h->next.n / 4 : SHORTEST_FOLD;
    h->fold = h->keep == 0 && (h->amended || h->n_log + n > longest);

    /* Base and log stay as they are, because starting the batch may still fail. */
    size_t n_log = h->n_log + n;
    if (h->keep > 0 && n_log > h->keep)
        n_log = h->keep;
    bool room = h->fold ? reserve_base(h, h->next.n) && reserve_state(h, h->next.n, 0)
                        : reserve_log(h, n_log) && reserve_state(h, h->base.n, n_log);
    if (!room)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return BANDIT_OK;
}

static void append_log(bandit_history *h, const bandit_result *results, size_t n)
{
    if (h->keep > 0) { /* keep the last `keep` of old and new results */
        if (n > h->keep) {
            results += n - h->keep;
            n = h->keep;
        }
        size_t kept = h->n_log < h->keep - n ? h->n_log : h->keep - n;
        if (kept > 0)
            memmove(h->log, h->log + h->n_log - kept, kept * sizeof *h->log);
        h->n_log = kept;
    }
    for (size_t i = 0; i < n; i++)
        h->log[h->n_log++] = (bandit_pull){.arm = results[i].arm,
                                           .weight = results[i].weight,
                                           .repeats = results[i].repeats,
                                           .reward = results[i].reward};
}

void bandit_history_commit(bandit_history *h, const bandit_result *results, size_t n)
{
    bandit_ledger old = h->sums;
    h->sums = h->next;
    h->next = old;
    if (h->fold) {
        if (h->sums.n > 0)
            memcpy(h->base.sums, h->sums.sums, h->sums.n * sizeof *h->base.sums);
        h->base.n = h->sums.n;
        h->base.observations = h->sums.observations;
        h->base.sum_squares = h->sums.sum_squares;
        h->n_log = 0;
        h->amended = false;
    } else {
        append_log(h, results, n);
    }
    write_state(h);
}

/* A result that has a reward only since the amendment is appended as the newest entry, because its time is
 * not known here. */
static bandit_status amend_log(bandit_history *h, const bandit_amendment *a, bandit_error *err)
{
    size_t i = h->n_log;
    while (i > 0 && (h->log[i - 1].arm != a->arm || h->log[i - 1].repeats != a->was.repeats ||
                     h->log[i - 1].reward != a->was.reward))
        i--;
    bandit_pull now = {.arm = a->arm, .repeats = a->now.repeats, .reward = a->now.reward};
    if (i > 0 && a->now.repeats > 0) {
        h->log[i - 1] = now;
    } else if (i > 0) {
        memmove(h->log + i - 1, h->log + i, (h->n_log - i) * sizeof *h->log);
        h->n_log--;
    } else if (a->was.repeats == 0 && a->now.repeats > 0) {
        if (!reserve_log(h, h->n_log + 1))
            return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        append_log(h, &(bandit_result){.arm = a->arm, .repeats = a->now.repeats, .reward = a->now.reward}, 1);
    }
    return BANDIT_OK;
}

bandit_status bandit_history_amend(bandit_history *h, const bandit_amendment *amendments, size_t n,
                                   const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_status status = bandit_ledger_amend(&h->sums, amendments, n, sums, n_sums, err);
    h->amended = h->keep == 0;
    for (size_t i = 0; status == BANDIT_OK && h->keep > 0 && i < n; i++)
        status = amend_log(h, &amendments[i], err);
    return status;
}

static stored_entry entry_at(const bandit_checkpoint *checkpoint, size_t i)
{
    stored_entry entry;
    memcpy(&entry, checkpoint->state + sizeof(stored_header) + i * sizeof entry, sizeof entry);
    return entry;
}

/* Reads base and log from the checkpoint's bytes. */
static bandit_status load_entries(bandit_history *h, const bandit_checkpoint *checkpoint, size_t n_base,
                                  size_t n_log, bandit_error *err)
{
    bandit_arm_sum *sums = bandit_alloc(n_base, sizeof *sums);
    bandit_status status = BANDIT_OK;
    if (!sums || !reserve_log(h, n_log) || !reserve_state(h, n_base, n_log)) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    for (size_t i = 0; i < n_base + n_log; i++) {
        stored_entry entry = entry_at(checkpoint, i);
        bool in_log = i >= n_base;
        if (entry.arm >= h->n_arms || entry.count == 0 || !isfinite(entry.value) ||
            !(entry.weight >= 0.0F && entry.weight <= FLT_MAX) || (in_log && entry.count > UINT32_MAX)) {
            status = bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored pull %zu is not valid", i);
            goto out;
        }
        if (in_log)
            h->log[h->n_log++] = (bandit_pull){
                .arm = entry.arm, .weight = entry.weight, .repeats = entry.count, .reward = entry.value};
        else
            sums[i] = (bandit_arm_sum){
                .arm = entry.arm, .weight = entry.weight, .count = entry.count, .sum = entry.value};
    }
    status = bandit_ledger_load(&h->base, h->n_arms, sums, n_base, 0.0, err);
out:
    free(sums);
    return status;
}

/* Computes sums = base + log in the log's order. These are the additions that the engine which wrote the
 * checkpoint made, so the bits agree. */
static bandit_status add_up(bandit_history *h, bandit_error *err)
{
    bandit_result *results = bandit_alloc(h->n_log, sizeof *results);
    if (!results)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < h->n_log; i++)
        results[i] = (bandit_result){.arm = h->log[i].arm,
                                     .weight = h->log[i].weight,
                                     .repeats = (uint32_t)h->log[i].repeats,
                                     .reward = h->log[i].reward};
    bandit_status status = bandit_ledger_add(&h->sums, &h->base, h->n_arms, results, h->n_log, err);
    free(results);
    return status;
}

static bool same_sums(const bandit_ledger *ledger, const bandit_checkpoint *checkpoint)
{
    if (ledger->n != checkpoint->n_sums)
        return false;
    for (size_t i = 0; i < ledger->n; i++) {
        const bandit_arm_sum *a = &ledger->sums[i], *b = &checkpoint->sums[i];
        if (a->arm != b->arm || a->count != b->count || a->sum != b->sum || a->weight != b->weight)
            return false;
    }
    return true;
}

bandit_status bandit_history_load(bandit_history *h, const bandit_checkpoint *checkpoint, bandit_error *err)
{
    stored_header header = {0};
    if (checkpoint->n_state >= sizeof header)
        memcpy(&header, checkpoint->state, sizeof header);
    size_t entries = (checkpoint->n_state - sizeof header) / sizeof(stored_entry);
    if (checkpoint->n_state < sizeof header || header.version != STORED_VERSION || header.n_base > entries ||
        header.n_log > entries || checkpoint->n_state != state_bytes(header.n_base, header.n_log) ||
        (h->keep > 0 && (header.n_base > 0 || header.n_log > h->keep)))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state of %zu bytes is damaged",
                           checkpoint->n_state);

    bandit_status status = load_entries(h, checkpoint, header.n_base, header.n_log, err);
    if (status != BANDIT_OK)
        return status;
    if (h->keep > 0)
        status = bandit_ledger_load(&h->sums, h->n_arms, checkpoint->sums, checkpoint->n_sums, 0.0, err);
    else
        status = add_up(h, err);
    if (status != BANDIT_OK)
        return status;
    if (checkpoint->sums && !same_sums(&h->sums, checkpoint))
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored sums are not those of the stored pulls");
    write_state(h);
    return BANDIT_OK;
}

size_t bandit_history_columns(const bandit_history *h)
{
    return h->base.n + h->n_log;
}

size_t bandit_history_memory(const bandit_history *h)
{
    return (h->sums.capacity + h->base.capacity + h->next.capacity) * sizeof(bandit_arm_sum) +
           h->capacity_log * sizeof *h->log + h->capacity_state;
}
