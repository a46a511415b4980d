#include "core/algorithms/untried_words.h"

#include "core/arms/genome.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SINCE_REVISION = 3, EVERY = 4, PLACE = 1 /* of such a pick among EVERY */, ENOUGH = 5 };

typedef struct words {
    const bandit_engine *engine;
    const bandit_select_limits *limits;
    size_t parameter;
    bool *tried; /* one per word */
    size_t n;
    double *coded;
} words;

/* Marks the arm's word. Returns whether it has one. */
static bool mark(words *w, uint32_t arm)
{
    bandit_arms_coded(w->engine->arms, arm, w->coded);
    double word = w->coded[w->parameter];
    if (isnan(word))
        return false;
    w->tried[(size_t)word] = true;
    return true;
}

/* Sets *word to the first allowed word of the parameter that is untried, if it is time to try one. */
static bool find_word(words *w, const bandit_genome *genome, const bandit_ledger *ledger, const uint32_t *out,
                      size_t n_out, double *word)
{
    size_t results = 0;
    memset(w->tried, 0, w->n * sizeof *w->tried);
    for (size_t k = 0; k < ledger->n; k++)
        results += mark(w, ledger->sums[k].arm);
    if (results < ENOUGH * w->n)
        return false;
    for (size_t k = 0; k < n_out; k++)
        mark(w, out[k]);
    for (size_t k = 0; k < w->limits->n_failed; k++)
        mark(w, w->limits->failed[k]);
    for (uint64_t k = 0; k < bandit_genome_values(genome, w->parameter); k++) {
        *word = bandit_genome_value_gene(genome, w->parameter, k);
        if (!w->tried[(size_t)*word])
            return true;
    }
    return false;
}

/* Looks at each parameter that is not fixed. fixed[i] becomes the word, if there is one. */
static bandit_status find(words *w, const bandit_ledger *ledger, const uint32_t *out, size_t n_out,
                          double *fixed, bool *found, bandit_error *err)
{
    const bandit_space *space = w->engine->arms->space;
    bandit_genome genome = {0};
    bandit_status status = bandit_genome_init(&genome, space, w->limits->fixed, w->engine->options.seed, err);
    for (size_t i = 0; status == BANDIT_OK && i < space->n && !*found; i++) {
        size_t n = bandit_number_of_words(space, i);
        if (!bandit_has_plain_words(space, i) || !isnan(fixed[i]) || ledger->n < ENOUGH * n)
            continue;
        w->parameter = i;
        w->n = n;
        w->tried = bandit_alloc(n, sizeof *w->tried);
        if (!w->tried)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        double word;
        *found = w->tried && find_word(w, &genome, ledger, out, n_out, &word);
        if (*found)
            fixed[i] = word;
        free(w->tried);
    }
    bandit_genome_clear(&genome);
    return status;
}

bandit_status bandit_untried_word(const bandit_engine *engine, const bandit_ledger *ledger,
                                  const uint32_t *out, size_t n_out, const bandit_select_limits *limits,
                                  uint64_t number, double **fixed, bandit_error *err)
{
    size_t n = engine->arms->space->n;
    bool found = false, has = false;
    *fixed = NULL;
    for (size_t i = 0; i < n; i++)
        has |= bandit_has_plain_words(engine->arms->space, i);
    if (!has || engine->options.revision < SINCE_REVISION || number % EVERY != PLACE)
        return BANDIT_OK;
    double *values = bandit_alloc(2 * n, sizeof *values);
    if (!values)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n; i++)
        values[i] = limits->fixed ? limits->fixed[i] : (double)NAN;
    words w = {.engine = engine, .limits = limits, .coded = values + n};
    bandit_status status = find(&w, ledger, out, n_out, values, &found, err);
    if (status == BANDIT_OK && found)
        *fixed = values;
    else
        free(values);
    return status;
}

bandit_status bandit_untried_word_of(const bandit_engine *engine, const bandit_ledger *ledger,
                                     const uint32_t *out, size_t n_out, const bandit_select_limits *limits,
                                     uint64_t number, uint32_t arm, double **fixed, bandit_error *err)
{
    size_t n = engine->arms->space->n;
    bandit_status status = bandit_untried_word(engine, ledger, out, n_out, limits, number, fixed, err);
    if (status != BANDIT_OK || !*fixed)
        return status;
    double *coded = bandit_alloc(n, sizeof *coded);
    if (coded)
        bandit_arms_coded(engine->arms, arm, coded);
    if (!coded || !bandit_has_fixed(engine->arms->space, coded, *fixed)) {
        free(*fixed);
        *fixed = NULL;
    }
    if (!coded)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    free(coded);
    return BANDIT_OK;
}
