#include "core/posterior/prior_mean.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/posterior/surface_near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A point's coordinates. In the storage of arms, the coordinates of one arm are BANDIT_TILE entries apart. */
typedef struct place {
    const double *first;
    size_t step;
} place;

static place place_of(const bandit_arms *arms, size_t arm)
{
    return (place){bandit_arms_tile(arms, arm / BANDIT_TILE) + arm % BANDIT_TILE, BANDIT_TILE};
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static bandit_status init_function(bandit_source_function *f, const bandit_kernel *kernel,
                                   const bandit_source *source, const bandit_arms *arms, bandit_error *err)
{
    size_t d = arms->dimension, width = bandit_arms_point_width(arms);
    bandit_kernel own = *kernel;
    own.lengthscales = source->lengthscales;
    own.n_lengthscales = source->n_lengthscales;
    own.short_share = source->short_share;
    bandit_status status = bandit_covariance_init(&f->covariance, &own, arms, err);
    if (status != BANDIT_OK)
        return status;
    f->n = source->n;
    f->shift = source->shift;
    f->points = bandit_alloc(f->n, d * sizeof *f->points);
    f->weights = bandit_alloc(f->n, sizeof *f->weights);
    if (!f->points || !f->weights)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(f->weights, source->weights, f->n * sizeof *f->weights);
    for (size_t i = 0; i < f->n && status == BANDIT_OK; i++) {
        const double *point = source->points + i * width;
        if (arms->space)
            status = bandit_arms_check_point(arms, point, err);
        if (status == BANDIT_OK)
            bandit_arms_scale_point(arms, point, f->points + i * d);
        for (size_t j = 0; j < d && status == BANDIT_OK; j++)
            f->points[i * d + j] *= f->covariance.factor[j];
    }
    return status;
}

bandit_status bandit_sources_init(bandit_sources *out, const bandit_kernel *kernel,
                                  const bandit_source *sources, size_t n, const bandit_arms *arms,
                                  bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    *out = (bandit_sources){.arms = arms};
    for (size_t i = 0; i < n && status == BANDIT_OK; i++) {
        out->n++;
        if (sources[i].n_lengthscales != arms->dimension)
            status = bandit_fail(err, BANDIT_INVALID_OPTION, "",
                                 "source %zu has %zu lengthscales for %zu features", i,
                                 sources[i].n_lengthscales, arms->dimension);
        else
            status = init_function(&out->list[i], kernel, &sources[i], arms, err);
    }
    return status;
}

void bandit_sources_clear(bandit_sources *s)
{
    for (size_t i = 0; i < s->n; i++) {
        bandit_covariance_clear(&s->list[i].covariance);
        free(s->list[i].points);
        free(s->list[i].weights);
    }
    free(s->values);
    *s = (bandit_sources){0};
}

size_t bandit_sources_memory(const bandit_sources *s)
{
    size_t doubles = s->capacity;
    for (size_t i = 0; i < s->n; i++)
        doubles += s->list[i].n * (s->list[i].covariance.dimension + 1);
    return doubles * sizeof(double);
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* m at the place. Adds a times its gradient, unless `gradient` is NULL. */
static double value_at(const bandit_source_function *f, place at, double a, double *gradient)
{
    const bandit_covariance *c = &f->covariance;
    size_t d = c->dimension;
    double value = f->shift;
    for (size_t i = 0; i < f->n; i++) {
        const double *z = f->points + i * d;
        double sum = 0.0, slope;
        for (size_t j = 0; j < d; j++) {
            double off = at.first[j * at.step] * c->factor[j] - z[j];
            sum += off * off;
        }
        value += f->weights[i] * bandit_near_profile(c, sum, &slope);
        double weight = 2.0 * a * f->weights[i] * slope;
        for (size_t j = 0; gradient && j < d; j++)
            gradient[j] += weight * (at.first[j * at.step] * c->factor[j] - z[j]) * c->factor[j];
    }
    return value;
}

bandit_status bandit_sources_cover(bandit_sources *s, bandit_error *err)
{
    size_t n = s->arms->n;
    if (s->n == 0 || s->n_values >= n)
        return BANDIT_OK;
    if (!bandit_reserve_keep((void **)&s->values, &s->capacity, s->n_values * s->n, n * s->n,
                             sizeof *s->values))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t arm = s->n_values; arm < n && !bandit_pause(); arm++)
        for (size_t i = 0; i < s->n; i++)
            s->values[arm * s->n + i] = value_at(&s->list[i], place_of(s->arms, arm), 0.0, NULL);
    bandit_status status = bandit_pause_status(err);
    if (status == BANDIT_OK)
        s->n_values = n;
    return status;
}

double bandit_source_value(const bandit_sources *s, size_t i, size_t arm)
{
    return arm < s->n_values ? s->values[arm * s->n + i]
                             : value_at(&s->list[i], place_of(s->arms, arm), 0.0, NULL);
}

double bandit_sources_promise_of(const bandit_sources *s, size_t arm)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++)
        sum += bandit_source_value(s, i, arm);
    return sum;
}

double bandit_sources_promise_at(const bandit_sources *s, const double *coordinates)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++)
        sum += value_at(&s->list[i], (place){coordinates, 1}, 0.0, NULL);
    return sum;
}

/* ---- agreement ------------------------------------------------------------------------------------------- */

/* Sums over points: of the sources' values, and of products of two of them. */
typedef struct moments {
    double count, sum[BANDIT_MOST_SOURCES], product[BANDIT_MOST_SOURCES][BANDIT_MOST_SOURCES];
} moments;

static void add_point(moments *m, const bandit_sources *s, const double *coordinates)
{
    double value[BANDIT_MOST_SOURCES];
    m->count += 1.0;
    for (size_t i = 0; i < s->n; i++) {
        value[i] = value_at(&s->list[i], (place){coordinates, 1}, 0.0, NULL);
        m->sum[i] += value[i];
        for (size_t k = 0; k <= i; k++)
            m->product[i][k] += value[i] * value[k];
    }
}

static double covariance_of(const moments *m, size_t i, size_t k)
{
    return m->product[i][k] / m->count - m->sum[i] / m->count * (m->sum[k] / m->count);
}

/* The mean correlation over all pairs of sources. A pair with a constant source counts as 0. */
static double mean_correlation(const moments *m, size_t n)
{
    double total = 0.0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            double scale = covariance_of(m, i, i) * covariance_of(m, k, k);
            total += scale > 0.0 ? covariance_of(m, i, k) / sqrt(scale) : 0.0;
        }
    }
    return total / ((double)n * ((double)n - 1.0) / 2.0);
}

bandit_status bandit_sources_guard(bandit_sources *s, bandit_error *err)
{
    const double least = 0.4;
    size_t d = s->arms->dimension;
    moments all = {0};
    s->guarded = true;
    if (s->n < 2)
        return BANDIT_OK;
    double *coordinates = bandit_alloc(d, sizeof *coordinates);
    if (!coordinates)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < s->n; i++) {
        const bandit_source_function *f = &s->list[i];
        for (size_t k = 0; k < f->n && !bandit_pause(); k++) {
            for (size_t j = 0; j < d; j++)
                coordinates[j] = f->points[k * d + j] / f->covariance.factor[j];
            add_point(&all, s, coordinates);
        }
    }
    free(coordinates);
    s->contradict = mean_correlation(&all, s->n) < least;
    return bandit_pause_status(err);
}

/* ---- combinations ---------------------------------------------------------------------------------------- */

bool bandit_prior_mean_counts(const bandit_prior_mean *p)
{
    bool counts = false;
    for (size_t i = 0; p && i < p->sources->n; i++)
        counts |= p->weights[i] != 0.0;
    return counts;
}

double bandit_prior_mean_of(const bandit_prior_mean *p, size_t arm)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->sources->n; i++)
        sum += p->weights[i] == 0.0 ? 0.0 : p->weights[i] * bandit_source_value(p->sources, i, arm);
    return sum;
}

double bandit_prior_mean_at(const bandit_prior_mean *p, const double *coordinates)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->sources->n; i++)
        sum += p->weights[i] == 0.0
                   ? 0.0
                   : p->weights[i] * value_at(&p->sources->list[i], (place){coordinates, 1}, 0.0, NULL);
    return sum;
}

void bandit_prior_mean_slope(const bandit_prior_mean *p, const double *coordinates, double a,
                             double *gradient)
{
    for (size_t i = 0; i < p->sources->n; i++)
        if (p->weights[i] != 0.0)
            value_at(&p->sources->list[i], (place){coordinates, 1}, a * p->weights[i], gradient);
}

double bandit_prior_mean_bound(const bandit_prior_mean *p)
{
    double bound = 0.0;
    for (size_t i = 0; i < p->sources->n; i++) {
        const bandit_source_function *f = &p->sources->list[i];
        double own = fabs(f->shift);
        for (size_t j = 0; j < f->n; j++)
            own += fabs(f->weights[j]);
        bound += fabs(p->weights[i]) * own;
    }
    return bound;
}
