#include "bandit/fit.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/learning/likelihood.h"

#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

/* One maximization. The optimizer's variables are the entries of theta that are learned. */
typedef struct ascent {
    bandit_likelihood *objective;
    const size_t *free; /* n_free: entries of theta that are learned */
    size_t n_free, n;
    double *theta, *slope; /* n */
    double *best;          /* n: the best theta so far */
    double best_value;     /* −infinity: none so far */
} ascent;

static double climb(unsigned n, const double *x, double *gradient, void *context)
{
    ascent *a = context;
    double value;
    for (unsigned i = 0; i < n; i++)
        a->theta[a->free[i]] = x[i];
    bool fine = !bandit_pause() && bandit_likelihood_evaluate(a->objective, a->theta, &value, a->slope);
    for (unsigned i = 0; gradient && i < n; i++)
        gradient[i] = fine ? a->slope[a->free[i]] : 0.0;
    if (!fine)
        return -1e100; /* so that the optimizer turns back */
    if (value > a->best_value) {
        a->best_value = value;
        memcpy(a->best, a->theta, a->n * sizeof *a->best);
    }
    return value;
}

/* Limits of theta. They are no wider than what data in single precision can distinguish. */
static void limits_of(const bandit_fit_data *data, size_t entry, double *low, double *high)
{
    if (entry < data->n_lengthscales) {
        *low = log(0.005 * data->extent[entry]);
        *high = log(200.0 * data->extent[entry]);
    } else if (entry == data->n_lengthscales) {
        *low = log(1e-2);
        *high = log(1e3);
    } else if (entry == data->n_lengthscales + 1) {
        *low = log(1e-8);
        *high = log(1e2);
    } else { /* from the square root, or the logarithm, of good values to bad values that are bounded by −1/2
                (warp.h) */
        *low = data->has_far ? 0.0 : 0.5;
        *high = 4.0;
    }
}

/* Ascends from a->theta. If the start cannot be evaluated, `best` is not changed. */
static bool maximize(ascent *a, size_t max_evaluations)
{
    const bandit_fit_data *data = a->objective->data;
    double *x = bandit_alloc(a->n_free, sizeof *x), *low = bandit_alloc(a->n_free, sizeof *low);
    double *high = bandit_alloc(a->n_free, sizeof *high), value;
    nlopt_opt optimizer = nlopt_create(NLOPT_LD_LBFGS, (unsigned)a->n_free);
    bool fine = x && low && high && optimizer;
    for (size_t i = 0; fine && i < a->n_free; i++) {
        limits_of(data, a->free[i], &low[i], &high[i]);
        x[i] = fmin(fmax(a->theta[a->free[i]], low[i]), high[i]);
    }
    if (fine) {
        fine = nlopt_set_lower_bounds(optimizer, low) == NLOPT_SUCCESS &&
               nlopt_set_upper_bounds(optimizer, high) == NLOPT_SUCCESS &&
               nlopt_set_max_objective(optimizer, climb, a) == NLOPT_SUCCESS &&
               nlopt_set_maxeval(optimizer, (int)max_evaluations) == NLOPT_SUCCESS &&
               nlopt_set_ftol_abs(optimizer, 1e-3) == NLOPT_SUCCESS;
        /* The best point seen is kept, whatever ended the ascent. */
        if (fine)
            fine = nlopt_optimize(optimizer, x, &value) != NLOPT_OUT_OF_MEMORY;
    }
    nlopt_destroy(optimizer);
    free(x);
    free(low);
    free(high);
    return fine;
}

static void write_theta(const bandit_fit_data *data, const bandit_hyperparameters *from, double *theta)
{
    size_t p = data->n_lengthscales;
    for (size_t i = 0; i < p; i++)
        theta[i] = log(from->lengthscales[i]);
    theta[p] = log(from->signal);
    theta[p + 1] = log(from->noise);
    if (bandit_likelihood_profiles(data)) {
        theta[p] = 0.0;
        theta[p + 1] -= log(from->signal);
    }
    if (data->warped)
        theta[p + 2] = from->power;
}

/* Starts for warped data: the given one, and the peak of the priors with either of two powers, and with much
 * noise. The last is needed because the likelihood of noisy results also has a maximum at which everything is
 * explained without noise. */
static void start_warped(const bandit_fit_data *data, size_t k, double *theta)
{
    const double powers[] = {1.0, data->has_far ? 0.0 : 2.0, 1.0}, noises[] = {0.0, 0.0, 0.1};
    size_t p = data->n_lengthscales;
    bandit_hyperparameters peak = {
        .lengthscales = theta, .signal = exp(theta[p]), .noise = exp(theta[p + 1])};
    bandit_fit_prior(data, &peak);
    for (size_t i = 0; i < p && data->learn_lengthscale; i++)
        theta[i] = log(theta[i]);
    theta[p] = log(peak.signal);
    if (data->learn_noise)
        theta[p + 1] = log(fmax(peak.noise, noises[k - 1]));
    if (data->learn_power)
        theta[p + 2] = powers[k - 1];
}

/* The k-th start, from the given one: itself, the peak of the priors, and rougher and smoother ones. */
static void start_theta(const bandit_fit_data *data, const double *given, size_t k, double *theta)
{
    static const double shift[BANDIT_FIT_STARTS] = {0.0, 0.0, -1.4, 1.4};
    size_t p = data->n_lengthscales;
    memcpy(theta, given, bandit_likelihood_size(data) * sizeof *theta);
    if (k == 0)
        return;
    if (data->warped) {
        start_warped(data, k, theta);
        return;
    }
    bandit_hyperparameters peak = {
        .lengthscales = theta, .signal = exp(given[p]), .noise = exp(given[p + 1])};
    bandit_fit_prior(data, &peak);
    for (size_t i = 0; i < p && data->learn_lengthscale; i++)
        theta[i] = log(theta[i]) + shift[k];
    theta[p] = log(peak.signal);
    theta[p + 1] = log(peak.noise);
}

/* The ascents of a fit, as parts of a parallel job. Each has its own start, so that they may run at the same
 * time. */
typedef struct ascents {
    const bandit_fit_data *data;
    const bandit_fit_limits *limits;
    const double *lengthscales; /* as given */
    const size_t *free;
    size_t n_free, n;
    const double *given;          /* n */
    bandit_likelihood *objective; /* one per worker; {0} until the worker has its first part */
    double *scratch;              /* 2 n per worker */
    double *best;                 /* BANDIT_FIT_STARTS x n */
    double value[BANDIT_FIT_STARTS];
    bandit_status status[BANDIT_FIT_STARTS];
} ascents;

static bandit_status prepare(const ascents *job, size_t worker)
{
    bandit_likelihood *objective = &job->objective[worker];
    if (objective->data)
        return BANDIT_OK;
    return bandit_likelihood_init(objective, job->data, job->limits->max_inducing, job->lengthscales, NULL);
}

static void ascend_from(void *arg, size_t start, size_t worker)
{
    ascents *job = arg;
    ascent a = {.objective = &job->objective[worker],
                .free = job->free,
                .n_free = job->n_free,
                .n = job->n,
                .theta = job->scratch + 2 * worker * job->n,
                .slope = job->scratch + (2 * worker + 1) * job->n,
                .best = job->best + start * job->n,
                .best_value = -INFINITY};
    size_t other = job->limits->other_start;
    job->status[start] = BANDIT_OK;
    if (start > 0 && other > 0 && start != other)
        return;
    job->status[start] = prepare(job, worker);
    if (job->status[start] == BANDIT_OK) {
        start_theta(job->data, job->given, start, a.theta);
        if (!maximize(&a, job->limits->max_evaluations))
            job->status[start] = BANDIT_NO_MEMORY;
    }
    job->value[start] = a.best_value;
}

/* The best result among starts first … BANDIT_FIT_STARTS − 1, the first of equals; BANDIT_FIT_STARTS if none could be evaluated. */
static size_t best_from(const ascents *job, size_t first)
{
    size_t best = BANDIT_FIT_STARTS;
    double value = -INFINITY;
    for (size_t k = first; k < BANDIT_FIT_STARTS; k++) {
        if (job->value[k] > value) {
            value = job->value[k];
            best = k;
        }
    }
    return best;
}

/* Runs the ascents whose results are not known. `fixed` holds the best result of all ascents that do not
 * start at `start`, because it does not depend on `start`. */
static void run_ascents(ascents *job, bandit_fit_fixed *fixed, const bandit_executor *executor)
{
    bool known = fixed && fixed->known;
    for (size_t k = 0; k < BANDIT_FIT_STARTS; k++)
        job->value[k] = -INFINITY;
    executor->for_each(executor->context, known ? 1 : BANDIT_FIT_STARTS, ascend_from, job);
    if (known) {
        job->value[1] = fixed->value;
        memcpy(job->best + job->n, fixed->theta, job->n * sizeof(double));
        return;
    }
    size_t best = best_from(job, 1);
    if (!fixed || best == BANDIT_FIT_STARTS)
        return;
    fixed->known = true;
    fixed->value = job->value[best];
    memcpy(fixed->theta, job->best + best * job->n, job->n * sizeof(double));
}

/* Lists the entries of theta that are learned in `free`. Returns how many. */
static size_t free_entries(const bandit_fit_data *data, size_t *free)
{
    size_t p = data->n_lengthscales, n_free = 0;
    for (size_t i = 0; i < p && data->learn_lengthscale; i++)
        free[n_free++] = i;
    if (data->learn_signal && !bandit_likelihood_profiles(data))
        free[n_free++] = p;
    if (data->learn_noise)
        free[n_free++] = p + 1;
    if (data->warped && data->learn_power)
        free[n_free++] = p + 2;
    return n_free;
}

/* Reads the best point, and its value (and surprise). Errors: BANDIT_NUMERICAL. */
static bandit_status read_best(ascents *job, bandit_hyperparameters *out, double *objective, double *surprise,
                               bandit_error *err)
{
    size_t p = job->data->n_lengthscales;
    size_t reached = job->n_free > 0 ? best_from(job, 0) : BANDIT_FIT_STARTS;
    const double *best = reached == BANDIT_FIT_STARTS ? job->given : job->best + reached * job->n;
    double value;
    if (!(surprise ? bandit_likelihood_surprise(&job->objective[0], best, &value, surprise)
                   : bandit_likelihood_evaluate(&job->objective[0], best, &value, NULL)))
        return bandit_fail(err, BANDIT_NUMERICAL, "", "the likelihood of the rewards cannot be evaluated");
    for (size_t i = 0; i < p; i++)
        out->lengthscales[i] = exp(best[i]);
    double root = job->objective[0].root; /* 1 if the signal is in theta */
    out->signal = exp(best[p]) * root * root;
    out->noise = exp(best[p + 1]) * root * root;
    out->mean = job->objective[0].mean;
    if (job->data->warped)
        out->power = best[p + 2];
    if (objective)
        *objective = value;
    return BANDIT_OK;
}

bandit_status bandit_fit(const bandit_fit_data *data, const bandit_fit_limits *limits,
                         const bandit_hyperparameters *start, bandit_hyperparameters *out, double *objective,
                         double *surprise, bandit_fit_fixed *fixed, const bandit_executor *executor,
                         bandit_error *err)
{
    size_t n = bandit_likelihood_size(data), workers = executor->workers;
    double *memory = bandit_alloc((1 + BANDIT_FIT_STARTS + 2 * workers) * n, sizeof *memory);
    size_t *learned = bandit_alloc(n, sizeof *learned);
    bandit_likelihood *objectives = bandit_alloc_zeroed(workers, sizeof *objectives);
    bandit_status status = BANDIT_OK;
    if (!memory || !learned || !objectives) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    ascents job = {.data = data,
                   .limits = limits,
                   .lengthscales = start->lengthscales,
                   .free = learned,
                   .n_free = free_entries(data, learned),
                   .n = n,
                   .given = memory,
                   .objective = objectives,
                   .best = memory + n,
                   .scratch = memory + (1 + BANDIT_FIT_STARTS) * n};
    write_theta(data, start, memory);
    if (job.n_free > 0)
        run_ascents(&job, fixed, executor);
    status = bandit_pause_status(err);
    if (status == BANDIT_OK)
        status = prepare(&job, 0);
    for (size_t k = 0; job.n_free > 0 && k < BANDIT_FIT_STARTS; k++)
        status = status == BANDIT_OK ? job.status[k] : status;
    if (status == BANDIT_OK)
        status = read_best(&job, out, objective, surprise, err);
    else if (status != BANDIT_CANCELLED)
        bandit_error_set(err, status, "", "out of memory");
out:
    for (size_t k = 0; objectives && k < workers; k++)
        bandit_likelihood_clear(&objectives[k]);
    free(objectives);
    free(memory);
    free(learned);
    return status;
}
