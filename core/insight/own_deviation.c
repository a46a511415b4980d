/* What the model expects of the candidates with rewards, each of which has a deviation of its own:
 *
 *   reward = f(x_i) + u_i + e,   u_i ~ N(0, w),   e ~ N(0, s) for each pull,   w + s = tau
 *
 * tau is the noise of the model, which takes the u_i for noise: it cannot follow a candidate that differs from its
 * neighbours. Pulls of one candidate have different e, but the same u_i, so that their variance is s alone. It is the
 * pooled variance within candidates, shrunk towards tau by KNOWN degrees of freedom:
 *
 *   s = min(tau, (KNOWN tau + squares within candidates) / (KNOWN + their degrees of freedom)),   w = tau − s
 *
 * Where standard errors are reported, e has these too, and s is what they leave out. It is then shrunk towards 0:
 * errors are reported by those who know them.
 *
 * With c_i the model's variance of the mean y_i of candidate i, which is tau / n_i for n_i pulls, this mean has the
 * variance m_i = max(0, c_i − w / n_i) about f(x_i) + u_i, and t_i = m_i + w about f(x_i). The posterior of f is built
 * with t_i, and from its mean mu_i and variance v_i follow those of f(x_i) + u_i, with q_i = w / t_i:
 *
 *   mean  mu_i + q_i (y_i − mu_i),   variance  (1 − q_i)^2 v_i + (1 − q_i) w
 *
 * All of this is ours. Hyper-parameters stay as they were learned, and picks do not depend on it. */
#include "core/insight/deviation.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/posterior/prior_mean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN = 3 };

/* Pulls without a reported error. Their squares are those of the rewards, so they are multiplied by the squared slope
 * of the warp, on average where candidates were repeated. */
static void add_plain(bandit_within *r, const bandit_refitting_engine *e)
{
    const bandit_fitted *l = &e->fitted;
    double slopes = 0.0, weights = 0.0;
    size_t first;
    for (size_t i = 0; i < e->ledger.n; i++) {
        const bandit_arm_sum *sum = &e->ledger.sums[i];
        if (sum->count < 2 || bandit_told_errors_of(&e->errors, sum->arm, &first) > 0)
            continue;
        double slope = bandit_fitted_slope(l, sum->sum / (double)sum->count);
        slopes += (double)(sum->count - 1) * slope * slope;
        weights += (double)(sum->count - 1);
    }
    r->squares += e->within / l->scale / l->scale * (weights > 0.0 ? slopes / weights : 1.0);
    r->degrees += e->within_degrees;
}

/* Pulls with reported errors, less what these explain. */
static void add_told(bandit_within *r, const bandit_refitting_engine *e)
{
    const bandit_fitted *l = &e->fitted;
    for (size_t i = 0; i < e->errors.n; i++) {
        const bandit_error_row *row = &e->errors.rows[i];
        double mean = row->sum / (double)row->count, slope = bandit_fitted_slope(l, mean) / l->scale;
        double told = bandit_fitted_variance(l, bandit_error_of_row(row), mean) - l->noise;
        double degrees = (double)(row->results - 1);
        r->squares += row->squares * slope * slope - degrees * told;
        r->degrees += degrees;
    }
}

/* Of standardized rewards. */
static bandit_within repeated_of(const bandit_refitting_engine *e)
{
    bandit_within r = {0};
    add_plain(&r, e);
    add_told(&r, e);
    return r;
}

bandit_within bandit_within_of(const bandit_refitting_engine *engine)
{
    bandit_within r = repeated_of(engine);
    r.squares /= engine->fitted.signal;
    return r;
}

/* w, in the units of the inner model. */
static double own_variance(const bandit_refitting_engine *e)
{
    const bandit_fitted *l = &e->fitted;
    double tau = l->noise, expected = e->errors.n > 0 ? 0.0 : tau;
    if (e->inner->options.noise_std == 0.0) /* all repeats agree */
        return tau / l->signal;
    bandit_within r = repeated_of(e);
    double s = expected + (r.squares - r.degrees * expected) / (KNOWN + r.degrees);
    return isfinite(s) ? (tau - fmin(fmax(s, 0.0), tau)) / l->signal : 0.0;
}

/* ---- the posterior ------------------------------------------------------------------------------------------- */

typedef struct own {
    const bandit_insight *view;
    double w;
    bandit_arm_sum *sums; /* of the view, with the weights of t_i */
    bandit_posterior posterior;
} own;

/* c_i − w / n_i, at least a billionth of t_i, so that weights stay finite. */
static double measured(const own *o, const bandit_arm_sum *sum)
{
    double c = o->view->posterior->lambda / bandit_precision(sum);
    return fmax(c - o->w / (double)sum->count, 1e-9 * o->w);
}

static bandit_status build(own *o, bandit_error *err)
{
    const bandit_posterior *from = o->view->posterior;
    size_t n = o->view->sums.n_sums;
    o->sums = bandit_alloc(n, sizeof *o->sums);
    if (!o->sums)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n; i++) {
        const bandit_arm_sum *sum = &o->view->sums.sums[i];
        o->sums[i] = *sum;
        o->sums[i].weight = (float)(from->lambda / (o->w + measured(o, sum)) / (double)sum->count);
    }
    return bandit_posterior_build(&o->posterior, from->covariance, from->lambda, from->points.arms, from->m,
                                  o->sums, n, err);
}

/* Adds u_i to the prediction of f(x_i). `sum` is NULL if the model leaves all rewards of the arm out. */
static void add_own(const own *o, uint32_t arm, const bandit_arm_sum *sum, bandit_prediction *p)
{
    const bandit_prior_mean *prior = o->view->inner->covariance.prior;
    if (!sum) {
        p->variance += o->w;
        return;
    }
    double value = sum->sum / (double)sum->count + (prior ? bandit_prior_mean_of(prior, arm) : 0.0);
    double q = o->w / (o->w + measured(o, sum));
    p->mean += q * (value - p->mean);
    p->variance = (1.0 - q) * (1.0 - q) * p->variance + (1.0 - q) * o->w;
}

static bandit_status predict(own *o, const uint32_t *arms, size_t n, bandit_prediction *out,
                             bandit_error *err)
{
    const bandit_insight *v = o->view;
    bandit_status status = build(o, err);
    if (status == BANDIT_OK)
        status = bandit_posterior_predict(&o->posterior, 0.0, arms, NULL, n, out, err);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        add_own(o, arms[i], bandit_sum_of(v->sums.sums, v->sums.n_sums, arms[i]), &out[i]);
        out[i].ucb = out[i].mean;
    }
    if (status == BANDIT_OK)
        bandit_insight_in_reward_units(v, out, n);
    bandit_posterior_clear(&o->posterior);
    free(o->sums);
    return status;
}

static bandit_status predict_in_space(bandit_insight *view, const uint32_t *arms, size_t n,
                                      bandit_prediction *out, bandit_error *err)
{
    bandit_status status = bandit_engine_predict_arms(view->inner, arms, n, out, err);
    if (status == BANDIT_OK)
        status = bandit_add_local_deviation(view, arms, n, out, err);
    if (status != BANDIT_OK)
        return status;
    bandit_insight_in_reward_units(view, out, n);
    return bandit_prefer_values(view, arms, n, out, err);
}

/* Whether the model may take deviations for noise. */
static bool may_deviate(const bandit_engine *engine)
{
    if (engine->table != &bandit_refitting_table)
        return false;
    const bandit_refitting_engine *e = (const bandit_refitting_engine *)(const void *)engine;
    return e->settings.learn_noise && e->fitted.fitted_on > 0;
}

bandit_status bandit_insight_pulled(const bandit_engine *engine, const uint32_t *arms, size_t n,
                                    bandit_prediction *out, bandit_error *err)
{
    bool open = bandit_arms_is_open_space(engine->arms);
    bandit_insight *view = NULL;
    own o = {0};
    if (may_deviate(engine) && !open)
        o.w = own_variance((const bandit_refitting_engine *)(const void *)engine);
    bandit_status status = may_deviate(engine) && (open || o.w > 0.0) ? bandit_insight_new(&view, engine, err)
                                                                      : BANDIT_UNSUPPORTED;
    if (status == BANDIT_UNSUPPORTED)
        return bandit_engine_predict_arms(engine, arms, n, out, err);
    o.view = view;
    if (status == BANDIT_OK)
        status = open ? predict_in_space(view, arms, n, out, err) : predict(&o, arms, n, out, err);
    bandit_insight_free(view);
    return status;
}
