#include "core/arms/words.h"

#include "core/arms/arms_storage.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 127,                      /* the length of codes … */
    MOST_SHORT = SHORT * (SHORT + 2), /* … for up to this many words; */
    LONG = 511,                       /* the length for more words, … */
    MOST_LONG = LONG * (LONG + 2)     /* … at most this many */
};

/* ---- checking ------------------------------------------------------------------------------------------ */

static bandit_status check_columns(const bandit_parameter *p, double *low, double *high, bandit_error *err)
{
    for (size_t j = 0; j < p->n_features; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
        for (size_t k = 0; k < p->n_values; k++) {
            double x = p->features[k * p->n_features + j];
            if (!isfinite(x))
                return bandit_fail(err, BANDIT_INVALID_ARMS, "", "row %zu, column %zu is not a finite number",
                                   k, j);
            low[j] = fmin(low[j], x);
            high[j] = fmax(high[j], x);
        }
    }
    return bandit_arms_check_ranges(low, high, p->n_features, p->n_values, p->scaling, err);
}

bandit_status bandit_words_check(const bandit_parameter *p, bandit_error *err)
{
    if (p->n_values > MOST_LONG)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "must have at most %d values", MOST_LONG);
    if (!p->features)
        return BANDIT_OK;
    if (p->n_features == 0)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "must have at least one property");
    double *ranges = bandit_alloc(p->n_features, 2 * sizeof *ranges);
    if (!ranges)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = check_columns(p, ranges, ranges + p->n_features, err);
    free(ranges);
    return status;
}

/* ---- properties ---------------------------------------------------------------------------------------- */

/* Returns the factor that makes the mean squared distance of two different rows 1, and sets `middle` to the
 * mean of the rows. The rows are centred first, so that numbers of any size are allowed. */
static double factor_of(const double *rows, size_t n, size_t width, double *middle)
{
    double largest = 0.0, sum = 0.0;
    for (size_t j = 0; j < width; j++)
        middle[j] = 0.0;
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < width; j++)
            middle[j] += rows[k * width + j] / (double)n;
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < width; j++)
            largest = fmax(largest, fabs(rows[k * width + j] - middle[j]));
    for (size_t k = 0; k < n && largest > 0.0; k++)
        for (size_t j = 0; j < width; j++) {
            double e = (rows[k * width + j] - middle[j]) / largest;
            sum += e * e;
        }
    double factor = sum > 0.0 ? sqrt((double)(n - 1) / (2.0 * sum)) / largest : 1.0;
    return isfinite(factor) ? factor : 1.0;
}

/* Scales the rows as a set of candidates does. */
static bandit_status scale_rows(bandit_words *w, const bandit_parameter *p, bandit_error *err)
{
    bandit_arms *arms = NULL;
    bandit_status status = bandit_arms_new(&arms, p->n_values, p->n_features, err);
    if (status == BANDIT_OK)
        status = bandit_arms_set_rows(arms, 0, p->n_values, p->features, err);
    if (status == BANDIT_OK)
        status = bandit_arms_finish(arms, p->scaling, p->n_values, err);
    for (size_t k = 0; status == BANDIT_OK && k < p->n_values; k++)
        for (size_t j = 0; j < w->width; j++)
            w->rows[k * w->width + j] = bandit_arms_feature(arms, k, j);
    bandit_arms_free(arms);
    return status;
}

static bandit_status init_properties(bandit_words *w, const bandit_parameter *p, bandit_error *err)
{
    w->width = p->n_features;
    w->rows = bandit_alloc(p->n_values + 1, w->width * sizeof *w->rows);
    if (!w->rows)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    w->middle = w->rows + p->n_values * w->width;
    bandit_status status = scale_rows(w, p, err);
    if (status != BANDIT_OK)
        return status;
    double factor = factor_of(w->rows, p->n_values, w->width, w->middle);
    for (size_t k = 0; k <= p->n_values; k++) {
        double norm2 = 0.0;
        for (size_t j = 0; j < w->width; j++) {
            double *x = &w->rows[k * w->width + j];
            *x *= factor;
            norm2 += *x * *x;
        }
        w->norm2 = fmax(w->norm2, norm2);
    }
    return BANDIT_OK;
}

/* ---- codes --------------------------------------------------------------------------------------------- */

/* A sequence of maximal length n = 2^degree − 1: bit t + degree is the sum of the bits t + k for the bits k of `taps`. */
static void fill_sequence(uint8_t *out, size_t n, unsigned degree, unsigned taps)
{
    for (size_t t = 0; t < n; t++) {
        out[t] = t < degree;
        for (unsigned k = 0; t >= degree && k < degree; k++)
            out[t] ^= (uint8_t)(taps >> k & out[t - degree + k]);
    }
}

static bandit_status init_codes(bandit_words *w, const bandit_parameter *p, bandit_error *err)
{
    bool is_short = p->n_values <= MOST_SHORT;
    w->width = is_short ? SHORT : LONG;
    w->norm2 = 0.5;
    w->sequences = bandit_alloc(w->width, 2 * sizeof *w->sequences);
    if (!w->sequences)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    /* preferred pairs: x^7 + x^3 + 1 and x^7 + x^3 + x^2 + x + 1; x^9 + x^4 + 1 and x^9 + x^6 + x^4 + x^3 + 1 */
    fill_sequence(w->sequences, w->width, is_short ? 7 : 9, is_short ? 0x09 : 0x11);
    fill_sequence(w->sequences + w->width, w->width, is_short ? 7 : 9, is_short ? 0x0f : 0x59);
    return BANDIT_OK;
}

/* Sequence number word / width of the family a, b, a + b, a + (b shifted by one), …, shifted by word % width. */
static void encode_code(const bandit_words *w, size_t word, double *features)
{
    const uint8_t *a = w->sequences, *b = a + w->width;
    size_t n = w->width, member = word / n, shift = word % n;
    double size = sqrt(0.5 / (double)n);
    for (size_t j = 0; j < n; j++) {
        size_t at = (j + shift) % n;
        unsigned bit = member == 1 ? b[at] : a[at];
        if (member > 1)
            bit ^= b[(at + member - 2) % n];
        features[j] = bit ? size : -size;
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

bandit_status bandit_words_init(bandit_words *out, const bandit_parameter *p, bandit_error *err)
{
    if (p->features)
        return init_properties(out, p, err);
    if (p->codes)
        return init_codes(out, p, err);
    out->width = p->n_values;
    return BANDIT_OK;
}

void bandit_words_clear(bandit_words *words)
{
    free(words->rows);
    free(words->sequences);
    *words = (bandit_words){0};
}

size_t bandit_words_memory(const bandit_words *words, const bandit_parameter *p)
{
    return words->rows        ? (p->n_values + 1) * words->width * sizeof *words->rows
           : words->sequences ? 2 * words->width
                              : 0;
}

void bandit_words_encode(const bandit_words *words, double word, double *features)
{
    const double root_half = 0.70710678118654752440;
    size_t n = words->width;
    bool active = !isnan(word);
    if (words->rows) {
        memcpy(features, active ? words->rows + (size_t)word * n : words->middle, n * sizeof *features);
    } else if (words->sequences && active) {
        encode_code(words, (size_t)word, features);
    } else if (words->sequences) {
        memset(features, 0, n * sizeof *features);
    } else {
        for (size_t k = 0; k < n; k++)
            features[k] = active ? 0.0 : root_half / (double)n;
        if (active)
            features[(size_t)word] = root_half;
    }
}

/* ---- neighbours ---------------------------------------------------------------------------------------- */

/* Moves the last of a list, which is ordered by distance and number, to its place. */
static void settle(uint32_t *list, size_t n, const double *distances)
{
    for (size_t k = n; k-- > 1;) {
        uint32_t later = list[k], earlier = list[k - 1];
        if (!(distances[later] < distances[earlier]))
            return;
        list[k] = earlier;
        list[k - 1] = later;
    }
}

size_t bandit_words_nearest(const bandit_words *words, size_t n_values, size_t word, size_t wanted,
                            double *distances, uint32_t *out)
{
    const double *from = words->rows + word * words->width;
    size_t n = 0;
    for (size_t k = 0; k < n_values && wanted > 0; k++) {
        const double *row = words->rows + k * words->width;
        double sum = 0.0;
        bandit_pause_at(k);
        for (size_t j = 0; j < words->width; j++)
            sum += (row[j] - from[j]) * (row[j] - from[j]);
        distances[k] = sum;
        if (k == word || (n == wanted && !(sum < distances[out[n - 1]])))
            continue;
        n += n < wanted ? 1U : 0U;
        out[n - 1] = (uint32_t)k;
        settle(out, n, distances);
    }
    return n;
}
