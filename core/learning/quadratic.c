#include "core/learning/quadratic.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <cblas.h>
#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_VALUES = 512,
    MOST_WITH_PRODUCTS = 16, /* coordinates: 153 coefficients */
    STARTS = 5,              /* of the search in the box: the best points */
    EVALUATIONS = 200        /* of one start, at most */
};

/* Of the deviation: larger errors of values left out reject a function. */
static const double LARGEST_ERROR = 0.5;
/* The least gain that is worth a measurement, as a share of the unit of losses. */
static const double LEAST_GAIN = 1e-3;
/* The box is larger by this share on each side. */
static const double BEYOND = 0.2;

typedef struct valued {
    double value;
    size_t place;
} valued;

/* The data, best first, and a fitted function. Losses are distances from the best value. */
typedef struct fit {
    size_t n, k, p;        /* values, coordinates, coefficients */
    const double **points; /* n, borrowed */
    double *losses, *weights;
    double unit;        /* the loss of the (k + 2)-nd best value */
    double *low, *high; /* k each: the box */
    bool products;
    double *design, *r; /* n x p, p x p, column-major */
    double *targets, *coefficients;
    double error;      /* root mean square of the best values left out */
    double mean_error; /* likewise of all values, by their squared weights */
    double *best;      /* p: the coefficients of the function that counts */
    double *best_low, *best_high;
    bool best_products;
    double best_error, best_mean_error; /* INFINITY: no function is good enough */

    valued *order;   /* the values, best first */
    double *memory;  /* of all arrays of doubles */
    double *scratch; /* 5 k */
} fit;

static size_t coefficients_of(size_t k, bool products)
{
    return 1 + 2 * k + (products ? k * (k - 1) / 2 : 0);
}

/* The coordinate of a point relative to the leader, in widths of the box. */
static double relative(const fit *f, size_t i, size_t j)
{
    return (f->points[i][j] - f->points[0][j]) / (f->high[j] - f->low[j]);
}

/* ---- least squares ------------------------------------------------------------------------------------- */

/* The box of the better half of the points. Returns false if a coordinate does not vary in it. */
static bool set_box(fit *f)
{
    bool varies = true;
    for (size_t j = 0; j < f->k; j++) {
        f->low[j] = f->high[j] = f->points[0][j];
        for (size_t i = 1; i < f->n / 2; i++) {
            f->low[j] = fmin(f->low[j], f->points[i][j]);
            f->high[j] = fmax(f->high[j], f->points[i][j]);
        }
        varies = varies && f->high[j] - f->low[j] > 1e-12;
    }
    return varies;
}

static void set_design(fit *f)
{
    size_t n = f->n, k = f->k;
    for (size_t i = 0; i < n; i++) {
        double *row = f->design + i, w = f->weights[i];
        size_t column = 1 + 2 * k;
        row[0] = w;
        for (size_t j = 0; j < k; j++) {
            double z = relative(f, i, j);
            row[(1 + j) * n] = w * z;
            row[(1 + k + j) * n] = w * z * z;
            for (size_t l = 0; f->products && l < j; l++)
                row[column++ * n] = w * z * relative(f, i, l);
        }
        f->targets[i] = w * f->losses[i];
    }
}

/* Whether the columns of the design are independent, as far as rounding lets one say. */
static bool is_independent(const fit *f)
{
    double smallest = INFINITY, largest = 0.0;
    for (size_t j = 0; j < f->p; j++) {
        smallest = fmin(smallest, fabs(f->r[j * f->p + j]));
        largest = fmax(largest, fabs(f->r[j * f->p + j]));
    }
    return smallest > 1e-10 * largest;
}

/* Sets the errors. Returns whether the function explains enough of the squares. */
static bool explains(fit *f)
{
    size_t best = f->n / 4 > f->k + 1 ? f->n / 4 : f->k + 1;
    double left_out = 0.0, total = 0.0, sum = 0.0, squares = 0.0, of_best = 0.0;
    for (size_t i = 0; i < f->n; i++) {
        sum += f->weights[i] * f->targets[i];
        squares += f->weights[i] * f->weights[i];
    }
    for (size_t i = 0; i < f->n; i++) {
        double leverage = 0.0, fitted = 0.0, off = f->targets[i] - f->weights[i] * sum / squares;
        for (size_t j = 0; j < f->p; j++) {
            double q = f->design[j * f->n + i];
            leverage += q * q;
            fitted += q * f->coefficients[j]; /* still Q'targets */
        }
        double error = (f->targets[i] - fitted) / fmax(1.0 - leverage, 1e-6);
        left_out += error * error;
        total += off * off;
        if (i < best)
            of_best += (error / f->weights[i]) * (error / f->weights[i]);
    }
    f->error = sqrt(of_best / (double)best);
    f->mean_error = sqrt(left_out / squares);
    return sqrt(left_out) < LARGEST_ERROR * sqrt(total);
}

/* Fits the function with or without products. It becomes the one that counts if it is better. */
static bandit_status try_function(fit *f, bool products, bandit_error *err)
{
    f->products = products;
    f->p = coefficients_of(f->k, products);
    if (f->n < f->p + (f->k / 2 > 2 ? f->k / 2 : 2) || !set_box(f))
        return BANDIT_OK;
    set_design(f);
    bandit_status status = bandit_qr(f->design, f->n, f->p, f->r, err);
    if (status != BANDIT_OK || !is_independent(f))
        return status;
    cblas_dgemv(CblasColMajor, CblasTrans, (int)f->n, (int)f->p, 1.0, f->design, (int)f->n, f->targets, 1,
                0.0, f->coefficients, 1);
    if (!explains(f) || !(f->error < f->best_error))
        return BANDIT_OK;
    cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, (int)f->p, f->r, (int)f->p,
                f->coefficients, 1);
    memcpy(f->best, f->coefficients, f->p * sizeof *f->best);
    memcpy(f->best_low, f->low, f->k * sizeof *f->low);
    memcpy(f->best_high, f->high, f->k * sizeof *f->high);
    f->best_products = products;
    f->best_error = f->error;
    f->best_mean_error = f->mean_error;
    return BANDIT_OK;
}

/* ---- its best point ------------------------------------------------------------------------------------ */

/* The loss at relative coordinates, and its gradient unless that is NULL. */
static double loss_at(unsigned n, const double *z, double *gradient, void *context)
{
    const fit *f = context;
    const double *linear = f->best + 1, *square = linear + n, *product = square + n;
    double loss = f->best[0];
    for (size_t j = 0; j < n; j++) {
        loss += (linear[j] + square[j] * z[j]) * z[j];
        if (gradient)
            gradient[j] = linear[j] + 2.0 * square[j] * z[j];
    }
    for (size_t j = 1; f->best_products && j < n; j++) {
        for (size_t l = 0; l < j; l++, product++) {
            loss += *product * z[j] * z[l];
            if (!gradient)
                continue;
            gradient[j] += *product * z[l];
            gradient[l] += *product * z[j];
        }
    }
    return loss;
}

/* Sets z, of which `low` and `high` are the box, to where the loss is smallest on the way down from it. Returns false
 * when out of memory. */
static bool descend(fit *f, const double *low, const double *high, double *z, double *loss)
{
    nlopt_opt optimizer = nlopt_create(NLOPT_LD_LBFGS, (unsigned)f->k);
    if (!optimizer)
        return false;
    bool ready = nlopt_set_min_objective(optimizer, loss_at, f) == NLOPT_SUCCESS &&
                 nlopt_set_lower_bounds(optimizer, low) == NLOPT_SUCCESS &&
                 nlopt_set_upper_bounds(optimizer, high) == NLOPT_SUCCESS &&
                 nlopt_set_maxeval(optimizer, EVALUATIONS) == NLOPT_SUCCESS &&
                 nlopt_set_xtol_abs1(optimizer, 1e-10) == NLOPT_SUCCESS;
    /* It may stop because of rounding or at the limit; z is then where it came to. */
    nlopt_result result = ready ? nlopt_optimize(optimizer, z, loss) : NLOPT_OUT_OF_MEMORY;
    nlopt_destroy(optimizer);
    *loss = loss_at((unsigned)f->k, z, NULL, f);
    return result != NLOPT_OUT_OF_MEMORY;
}

/* Sets the step to the point at relative coordinates. */
static void place(const fit *f, const double *z, double *step)
{
    for (size_t j = 0; j < f->k; j++)
        step[j] = fmin(fmax(f->points[0][j] + z[j] * (f->high[j] - f->low[j]), 0.0), 1.0);
}

/* Gives coordinate j the better one of two values, with the others where they are best for it. `z` is at the best point so
 * far, and `low` and `high` are the box, which coordinate j leaves for good. Returns false when out of memory. */
static bool take_side(fit *f, size_t j, const double *sides, double *low, double *high, double *z,
                      double *loss)
{
    double *tried = f->scratch + 3 * f->k, *kept = tried + f->k, taken = 0.0;
    *loss = INFINITY;
    memcpy(kept, z, f->k * sizeof *kept);
    for (size_t side = 0; side < 2; side++) {
        double reached;
        memcpy(tried, z, f->k * sizeof *tried);
        tried[j] = low[j] = high[j] = sides[side];
        if (!descend(f, low, high, tried, &reached))
            return false;
        if (!(reached < *loss))
            continue;
        *loss = reached;
        taken = sides[side];
        memcpy(kept, tried, f->k * sizeof *kept);
    }
    memcpy(z, kept, f->k * sizeof *z);
    low[j] = high[j] = taken;
    return true;
}

/* Moves the step onto the grid. *loss: of the step. Returns false when out of memory. */
static bool move_to_grid(fit *f, const bandit_quadratic_grid *grid, double *low, double *high, double *z,
                         double *step, double *loss)
{
    bool moves = false;
    for (size_t j = 0; j < f->k; j++)
        z[j] = (step[j] - f->points[0][j]) / (f->high[j] - f->low[j]);
    for (size_t j = 0; j < f->k; j++) {
        double width = f->high[j] - f->low[j], leader = f->points[0][j], value = leader + z[j] * width;
        double sides[2];
        grid->round(grid->context, j, value, &sides[0], &sides[1]);
        if (sides[0] == value && sides[1] == value)
            continue;
        moves = true;
        for (size_t side = 0; side < 2; side++)
            sides[side] = (sides[side] - leader) / width;
        if (!take_side(f, j, sides, low, high, z, loss))
            return false;
    }
    if (moves)
        place(f, z, step);
    return true;
}

/* Sets `step`, unless the function promises too little. Returns false when out of memory. */
static bool find_best_point(fit *f, const bandit_quadratic_grid *grid, double *step, bool *found)
{
    double least = -LEAST_GAIN * f->unit, smallest = least;
    double *z = f->scratch, *low = z + f->k, *high = low + f->k;
    memcpy(f->low, f->best_low, f->k * sizeof *f->low);
    memcpy(f->high, f->best_high, f->k * sizeof *f->high);
    for (size_t j = 0; j < f->k; j++) {
        double width = f->high[j] - f->low[j], leader = f->points[0][j];
        low[j] = (fmax(0.0, f->low[j] - BEYOND * width) - leader) / width;
        high[j] = (fmin(1.0, f->high[j] + BEYOND * width) - leader) / width;
    }
    for (size_t start = 0; start < STARTS && start < f->n; start++) {
        double loss;
        for (size_t j = 0; j < f->k; j++)
            z[j] = fmin(fmax(relative(f, start, j), low[j]), high[j]);
        if (!descend(f, low, high, z, &loss))
            return false;
        if (!(loss < smallest))
            continue;
        smallest = loss;
        *found = true;
        place(f, z, step);
    }
    if (!*found || !grid)
        return true;
    if (!move_to_grid(f, grid, low, high, z, step, &smallest))
        return false;
    *found = smallest < least;
    return true;
}

/* ---- the data ------------------------------------------------------------------------------------------ */

static int better_first(const void *a, const void *b)
{
    const valued *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Sets points and losses. Returns false if there are too few values. */
static bool take_best(fit *f, const double *x, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        f->order[i] = (valued){values[i], i};
    qsort(f->order, n, sizeof *f->order, better_first);
    for (size_t i = 0; i < f->n; i++) {
        f->points[i] = x + f->order[i].place * f->k;
        f->losses[i] = f->order[0].value - f->order[i].value;
    }
    return isfinite(f->losses[f->n - 1]);
}

static void clear(fit *f)
{
    free(f->order);
    free((void *)f->points);
    free(f->memory);
}

/* *enough: whether there are values for any function. Memory must be cleared in any case. */
static bandit_status prepare(fit *f, const double *x, const double *values, size_t n, size_t k, bool *enough,
                             bandit_error *err)
{
    size_t used = n < MOST_VALUES ? n : MOST_VALUES, p = coefficients_of(k, k <= MOST_WITH_PRODUCTS);
    *f = (fit){.n = used, .k = k, .best_error = INFINITY, .best_mean_error = INFINITY};
    *enough = k > 0 && used >= coefficients_of(k, false);
    if (!*enough)
        return BANDIT_OK;
    size_t most = used > p ? p : used; /* columns that are ever used */
    f->order = bandit_alloc(n, sizeof *f->order);
    f->points = bandit_alloc(used, sizeof *f->points);
    f->memory = bandit_alloc(used * (3 + most) + most * most + 2 * most + 9 * k, sizeof *f->memory);
    if (!f->order || !f->points || !f->memory)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    f->losses = f->memory;
    f->weights = f->losses + used;
    f->targets = f->weights + used;
    f->design = f->targets + used;
    f->r = f->design + used * most;
    f->coefficients = f->r + most * most;
    f->best = f->coefficients + most;
    f->low = f->best + most;
    f->high = f->low + k;
    f->best_low = f->high + k;
    f->best_high = f->best_low + k;
    f->scratch = f->best_high + k;
    *enough = take_best(f, x, values, n);
    return BANDIT_OK;
}

/* Fits both functions, with the loss of value `rank` as the unit. There is none if the values up to it are equal. */
static bandit_status fit_to(fit *f, size_t rank, bandit_error *err)
{
    f->unit = f->losses[rank];
    if (!(f->unit > 0.0))
        return BANDIT_OK;
    for (size_t i = 0; i < f->n; i++)
        f->weights[i] = 1.0 / (1.0 + f->losses[i] / f->unit);
    bandit_status status = BANDIT_OK;
    if (f->k <= MOST_WITH_PRODUCTS && f->k > 1)
        status = try_function(f, true, err);
    if (status == BANDIT_OK)
        status = try_function(f, false, err);
    return status;
}

/* ---- the public functions ------------------------------------------------------------------------------- */

bandit_status bandit_quadratic_step(const double *x, const double *values, size_t n, size_t k,
                                    const bandit_quadratic_grid *grid, double *step, bool *found,
                                    bandit_error *err)
{
    fit f;
    bool enough;
    bandit_status status = prepare(&f, x, values, n, k, &enough, err);
    *found = false;
    if (status == BANDIT_OK && enough)
        status = fit_to(&f, k + 1, err);
    if (status == BANDIT_OK && enough && f.best_error < INFINITY && !find_best_point(&f, grid, step, found))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    clear(&f);
    return status;
}

bandit_status bandit_quadratic_error(const double *x, const double *values, size_t n, size_t k, double *error,
                                     bandit_error *err)
{
    fit f;
    bool enough;
    bandit_status status = prepare(&f, x, values, n, k, &enough, err);
    for (size_t rank = k + 1;
         enough && status == BANDIT_OK && f.best_error == INFINITY && (rank == k + 1 || rank <= f.n / 2);
         rank *= 2) {
        status = fit_to(&f, rank, err);
        if (status == BANDIT_OK)
            status = bandit_pause_status(err);
    }
    *error = f.best_mean_error;
    clear(&f);
    return status;
}
