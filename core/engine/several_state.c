/* The stored state of an engine with several metrics: those of the metrics' engines one after another. The
 * arms and their counts are the same for all metrics. For the metrics after the first, therefore, only the
 * sums of rewards and the dictionaries are stored. */
#include "core/engine/several_engine.h"

#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char STATE_MAGIC[8] = "multi 1";

typedef struct header {
    char magic[8];
    uint64_t n_metrics, n_sums;
} header;

/* The header of each metric's part. */
typedef struct part {
    uint64_t n_dictionary, n_state; /* the first metric's dictionary is the checkpoint's own */
} part;

static void put(unsigned char **at, const void *from, size_t size)
{
    if (size > 0)
        memcpy(*at, from, size);
    *at += size;
}

bandit_status bandit_several_write_state(bandit_several_engine *e, bandit_error *err)
{
    bandit_checkpoint each[BANDIT_MOST_METRICS] = {0};
    size_t size = sizeof(header);
    for (size_t j = 0; j < e->n; j++) {
        bandit_engine_checkpoint(e->inner[j], &each[j]);
        size += sizeof(part) + each[j].n_state;
        if (j > 0)
            size += each[j].n_dictionary * sizeof(uint32_t) + each[j].n_sums * sizeof(double);
    }
    if (!bandit_reserve((void **)&e->state, &e->capacity_state, size, 1))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    unsigned char *at = e->state;
    header first = {.n_metrics = e->n, .n_sums = each[0].n_sums};
    memcpy(first.magic, STATE_MAGIC, sizeof first.magic);
    put(&at, &first, sizeof first);
    for (size_t j = 0; j < e->n; j++) {
        const bandit_checkpoint *c = &each[j];
        part p = {.n_dictionary = j > 0 ? c->n_dictionary : 0, .n_state = c->n_state};
        put(&at, &p, sizeof p);
        put(&at, c->dictionary, p.n_dictionary * sizeof(uint32_t));
        for (size_t i = 0; j > 0 && i < c->n_sums; i++)
            put(&at, &c->sums[i].sum, sizeof(double));
        put(&at, c->state, c->n_state);
    }
    e->n_state = size;
    return BANDIT_OK;
}

static bool take(const unsigned char **at, size_t *left, void *out, uint64_t n, size_t size)
{
    if (*left / size < n)
        return false;
    if (n > 0)
        memcpy(out, *at, n * size);
    *at += n * size;
    *left -= n * size;
    return true;
}

/* Reads the part of metric j. The arms and counts of `sums` (as many as the checkpoint has) are set already. */
static bool read_part(size_t j, const unsigned char **at, size_t *left, uint32_t *dictionary,
                      bandit_arm_sum *sums, bandit_checkpoint *out)
{
    part p;
    if (!take(at, left, &p, 1, sizeof p))
        return false;
    if (j == 0) {
        if (p.n_dictionary != 0)
            return false;
    } else {
        if (!take(at, left, dictionary, p.n_dictionary, sizeof *dictionary))
            return false;
        out->dictionary = dictionary;
        out->n_dictionary = (size_t)p.n_dictionary;
        for (size_t i = 0; i < out->n_sums; i++)
            if (!take(at, left, &sums[i].sum, 1, sizeof(double)) || !isfinite(sums[i].sum))
                return false;
        out->sums = sums;
    }
    if (*left < p.n_state)
        return false;
    out->state = *at;
    out->n_state = (size_t)p.n_state;
    *at += p.n_state;
    *left -= p.n_state;
    return true;
}

bandit_status bandit_several_read_state(const bandit_several_engine *e, const bandit_checkpoint *checkpoint,
                                        bandit_checkpoint *checkpoints, void **memory, bandit_error *err)
{
    header first;
    const unsigned char *at = checkpoint->state;
    size_t left = checkpoint->n_state, n_sums = checkpoint->n_sums, n = e->n;
    *memory = NULL;
    if (!take(&at, &left, &first, 1, sizeof first) ||
        memcmp(first.magic, STATE_MAGIC, sizeof first.magic) != 0 || first.n_metrics != n ||
        first.n_sums != n_sums)
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored state is not that of a study with %zu modelled metrics", n);
    /* sums first, then dictionaries, which cannot have more entries than the state has bytes for */
    bandit_arm_sum *sums = bandit_alloc((n - 1) * n_sums + 1, sizeof *sums);
    uint32_t *dictionaries = bandit_alloc(left / sizeof(uint32_t) + 1, sizeof *dictionaries);
    if (!sums || !dictionaries) {
        free(sums);
        free(dictionaries);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    void **both = malloc(2 * sizeof *both);
    if (!both) {
        free(sums);
        free(dictionaries);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    both[0] = sums;
    both[1] = dictionaries;
    *memory = both;
    for (size_t j = 0; j < n; j++) {
        bandit_arm_sum *own = j > 0 ? sums + (j - 1) * n_sums : NULL;
        checkpoints[j] = *checkpoint;
        if (own && n_sums > 0)
            memcpy(own, checkpoint->sums, n_sums * sizeof *own);
        if (!read_part(j, &at, &left, dictionaries, own, &checkpoints[j]))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state of metric %zu is not valid",
                               j);
        dictionaries += j > 0 ? checkpoints[j].n_dictionary : 0;
    }
    return left == 0 ? BANDIT_OK : bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state is too long");
}
