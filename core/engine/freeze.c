/* Freezes a posterior mean (bandit/source.h). */
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/engine/refitting_engine.h"
#include "core/posterior/sparse_posterior.h"
#include "core/posterior/surface_near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bandit_frozen_clear(bandit_frozen *f)
{
    free(f->arms);
    free(f->weights);
    free(f->lengthscales);
    *f = (bandit_frozen){0};
}

/* Shifts and scales the function to mean 0 and deviation 1 over its points. A constant becomes 0. */
static bandit_status standardize(bandit_frozen *f, const bandit_posterior *p, bandit_error *err)
{
    size_t m = p->m, d = p->covariance->dimension;
    double mean = 0.0, squares = 0.0, slope;
    double *values = bandit_alloc(m, sizeof *values);
    if (!values)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < m && !bandit_pause(); i++) {
        values[i] = 0.0;
        for (size_t k = 0; k < m; k++)
            values[i] += f->weights[k] * bandit_near_kernel(p->covariance, p->points.features + i * d,
                                                            p->points.features + k * d, &slope);
        mean += values[i] / (double)m;
    }
    for (size_t i = 0; i < m; i++)
        squares += (values[i] - mean) * (values[i] - mean) / (double)m;
    double deviation = sqrt(squares), factor = deviation > 1e-9 ? 1.0 / deviation : 0.0;
    for (size_t i = 0; i < m; i++)
        f->weights[i] *= factor;
    f->shift = -mean * factor;
    free(values);
    return bandit_pause_status(err);
}

bandit_status bandit_engine_freeze(const bandit_engine *engine, bandit_frozen *out, bandit_error *err)
{
    *out = (bandit_frozen){0};
    if (engine->table != &bandit_refitting_table)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "the engine does not learn its hyper-parameters");
    const bandit_engine *inner = ((const bandit_refitting_engine *)(const void *)engine)->inner;
    const bandit_posterior *p = inner->table->posterior ? inner->table->posterior(inner) : NULL;
    if (!p || p->m == 0 || inner->options.kernel.n_lengthscales == 0)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "there is no function to freeze");
    size_t n = inner->options.kernel.n_lengthscales;
    out->n = p->m;
    out->n_lengthscales = n;
    out->short_share = inner->options.kernel.short_share;
    out->arms = bandit_alloc(p->m, sizeof *out->arms);
    out->weights = bandit_alloc(p->m, sizeof *out->weights);
    out->lengthscales = bandit_alloc(n, sizeof *out->lengthscales);
    if (!out->arms || !out->weights || !out->lengthscales)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(out->arms, p->points.arms, p->m * sizeof *out->arms);
    memcpy(out->lengthscales, inner->options.kernel.lengthscales, n * sizeof *out->lengthscales);
    bandit_posterior_member_weights(p, out->weights);
    return standardize(out, p, err);
}
