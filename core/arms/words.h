/* The features of the words of a categorical parameter:
 *
 *   without more     one-hot rows: any two words are at distance 1
 *   codes            for many words: rows of ±1/sqrt(2 n) that are nearly orthogonal. They are Gold's (1967)
 *                    sequences of length n, 127 or 511, at all shifts. The squared distances of two words are
 *                    then within 1 ± 0.134, or 1 ± 0.065, with n features instead of one for each word.
 *   with properties  the row of a word's properties, scaled as those of candidates are, and then all by one factor:
 *                    the mean squared distance of two words is 1, as if they were one-hot. A lengthscale then
 *                    has the same meaning with and without properties, whatever their number. */
#ifndef CORE_ARMS_WORDS_H
#define CORE_ARMS_WORDS_H

#include "bandit/space.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct bandit_words {
    size_t width;       /* number of features */
    double *rows;       /* words x width, scaled; owned; NULL: no properties */
    double *middle;     /* width: the mean of the rows, for a parameter that is not active; a part of rows */
    uint8_t *sequences; /* codes: two sequences of `width` bits; owned; NULL: no codes */
    double norm2;       /* an upper bound on |row|^2; 0 for one-hot rows */
} bandit_words;

static inline bool bandit_words_are_one_hot(const bandit_words *words)
{
    return !words->rows && !words->sequences;
}

/* Sets *out, which is {0}, for a categorical parameter that bandit_words_check accepts. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_words_init(bandit_words *out, const bandit_parameter *parameter, bandit_error *err);
void bandit_words_clear(bandit_words *words);
size_t bandit_words_memory(const bandit_words *words, const bandit_parameter *parameter);

/* BANDIT_INVALID_ARMS unless the properties are finite and can be scaled. The message has no subject; the
 * caller adds it. */
bandit_status bandit_words_check(const bandit_parameter *parameter, bandit_error *err);

/* Sets `width` features to those of a word; NaN: the parameter is not active. */
void bandit_words_encode(const bandit_words *words, double word, double *features);

/* Lists up to `wanted` of the n_values words of a parameter with properties that are nearest to `word`, which is not
 * among them; ties by number. `distances` (n_values) is scratch. Returns how many there are. */
size_t bandit_words_nearest(const bandit_words *words, size_t n_values, size_t word, size_t wanted,
                            double *distances, uint32_t *out);

#endif
