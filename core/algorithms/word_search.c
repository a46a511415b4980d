#include "core/algorithms/word_search.h"

#include "core/base/allocate.h"
#include "core/learning/hyperparameters.h"

#include <math.h>
#include <stdlib.h>

enum { SINCE_REVISION = 4 };

typedef struct tally {
    size_t points; /* with results, or in flight */
    double best;   /* the largest mean of a point; −INFINITY: none has a result */
} tally;

/* The parameter whose turn it is, or the number of parameters if none has words. */
static size_t parameter_in_turn(const bandit_space *space, uint64_t turn)
{
    size_t n = 0;
    for (size_t i = 0; i < space->n; i++)
        n += bandit_has_plain_words(space, i);
    for (size_t i = 0, k = 0; i < space->n; i++) {
        if (bandit_has_plain_words(space, i) && k++ == turn % n)
            return i;
    }
    return space->n;
}

/* The word's number at an arm, or SIZE_MAX if the parameter is not active there. */
static size_t word_of(const bandit_arms *arms, uint32_t arm, size_t parameter, double *coded)
{
    bandit_arms_coded(arms, arm, coded);
    return isnan(coded[parameter]) ? SIZE_MAX : (size_t)coded[parameter];
}

/* Of the words with a result that have fewer points than the leader's, the one with the fewest, and of equal ones the
 * best; SIZE_MAX: there is none. */
static size_t choose_word(const tally *words, size_t n, size_t leading)
{
    size_t chosen = SIZE_MAX;
    for (size_t w = 0; w < n && leading != SIZE_MAX; w++) {
        const tally *least = &words[chosen == SIZE_MAX ? leading : chosen];
        if (words[w].best == -INFINITY || words[w].points >= words[leading].points)
            continue;
        if (words[w].points < least->points ||
            (words[w].points == least->points && words[w].best > least->best))
            chosen = w;
    }
    return chosen;
}

static size_t find_word(const bandit_engine *engine, const bandit_ledger *ledger, const uint32_t *out,
                        size_t n_out, size_t parameter, tally *words, double *coded)
{
    size_t n = bandit_number_of_words(engine->arms->space, parameter), w;
    for (w = 0; w < n; w++)
        words[w] = (tally){0, -INFINITY};
    for (size_t i = 0; i < ledger->n; i++) {
        const bandit_arm_sum *sum = &ledger->sums[i];
        w = word_of(engine->arms, sum->arm, parameter, coded);
        if (w != SIZE_MAX)
            words[w] = (tally){words[w].points + 1, fmax(words[w].best, sum->sum / (double)sum->count)};
    }
    for (size_t i = 0; i < n_out; i++) {
        w = word_of(engine->arms, out[i], parameter, coded);
        if (w != SIZE_MAX)
            words[w].points++;
    }
    return choose_word(words, n,
                       word_of(engine->arms, ledger->sums[bandit_ledger_best(ledger)].arm, parameter, coded));
}

bandit_status bandit_word_search(const bandit_engine *engine, const bandit_ledger *ledger,
                                 const uint32_t *out, size_t n_out, const bandit_select_limits *limits,
                                 uint64_t n_picks, double **fixed, bandit_error *err)
{
    const bandit_space *space = engine->arms->space;
    uint64_t number = ledger->observations + n_picks;
    *fixed = NULL;
    if (engine->options.revision < SINCE_REVISION || limits->fixed ||
        number % BANDIT_WORDS_EVERY != BANDIT_WORDS_PLACE)
        return BANDIT_OK;
    size_t parameter = parameter_in_turn(space, number / BANDIT_WORDS_EVERY);
    if (parameter == space->n || ledger->n == 0 || !bandit_ledger_stands_still(ledger))
        return BANDIT_OK;
    tally *words = bandit_alloc(bandit_number_of_words(space, parameter), sizeof *words);
    double *values = bandit_alloc(space->n, sizeof *values);
    if (!words || !values) {
        free(words);
        free(values);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    size_t word = find_word(engine, ledger, out, n_out, parameter, words, values);
    free(words);
    for (size_t i = 0; i < space->n; i++)
        values[i] = i == parameter ? (double)word : (double)NAN;
    if (word == SIZE_MAX)
        free(values);
    else
        *fixed = values;
    return BANDIT_OK;
}
