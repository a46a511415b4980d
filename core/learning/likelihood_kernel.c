/* Kernel matrices of a fit's points, one column at a time, and the contributions of their derivatives to a
 * gradient. */
#include "core/learning/likelihood_parts.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Number of kernel entries that are computed at a time. */
enum { TILE = BANDIT_TILE };

/* Coordinates divided by lengthscales. They are first centred: distances stay the same, and products cancel
 * less. */
void bandit_likelihood_scale(bandit_likelihood *o, const double *lengthscales)
{
    const bandit_fit_data *data = o->data;
    size_t ld = bandit_whole_tiles(data->n);
    for (size_t j = 0; j < data->dimension; j++) {
        double l = lengthscales[data->group ? data->group[j] : j];
        for (size_t i = 0; i < data->n; i++)
            o->scaled[j * ld + i] = (data->points[i * data->dimension + j] - o->centre[j]) / l;
    }
}

void bandit_likelihood_scale_inducing(bandit_likelihood *o)
{
    size_t ld = bandit_whole_tiles(o->data->n), m_ld = bandit_whole_tiles(o->m);
    for (size_t j = 0; j < o->data->dimension; j++) {
        for (size_t i = 0; i < o->m; i++)
            o->scaled_inducing[j * m_ld + i] = o->scaled[j * ld + o->inducing[i]];
    }
}

/* Whether the kernel is a function of the distance rather than of its square. */
static bool is_of_distance(const bandit_fit_data *data)
{
    return data->kernel != BANDIT_KERNEL_GAUSSIAN;
}

/* The constant by which the kernel's formula multiplies a squared distance. */
static double inside(const bandit_fit_data *data)
{
    return data->kernel == BANDIT_KERNEL_GAUSSIAN ? 0.5 : 2.0 * data->nu;
}

/* k and dk / d(r^2), both times s^2, for TILE values u, which are `inside` times r^2 or the root of that.
 * Only entries from … end − 1 are used. Except for the exponentials, loops have a constant length, so that
 * the compiler vectorizes them. */
static void profiles(const bandit_fit_data *data, double signal, const double *u, size_t from, size_t end,
                     double *k, double *slope)
{
    double e[TILE] = {0.0};
    for (size_t i = from; i < end; i++)
        e[i] = exp(-u[i]);
    if (data->kernel == BANDIT_KERNEL_GAUSSIAN) {
        for (size_t i = 0; i < TILE; i++) {
            slope[i] = -0.5 * e[i] * signal;
            k[i] = signal * e[i];
        }
    } else if (data->nu == 0.5) { /* the slope is infinite at 0, but there it multiplies a difference of 0 */
        for (size_t i = 0; i < TILE; i++) {
            slope[i] = u[i] > 0.0 ? -0.5 * e[i] / u[i] * signal : 0.0;
            k[i] = signal * e[i];
        }
    } else if (data->nu == 1.5) {
        for (size_t i = 0; i < TILE; i++) {
            slope[i] = -1.5 * e[i] * signal;
            k[i] = signal * ((1.0 + u[i]) * e[i]);
        }
    } else {
        for (size_t i = 0; i < TILE; i++) {
            slope[i] = -(5.0 / 6.0) * (1.0 + u[i]) * e[i] * signal;
            k[i] = signal * ((1.0 + u[i] + u[i] * u[i] / 3.0) * e[i]);
        }
    }
}

/* Adds the part of the kernel with a shorter range to the values of `profiles` for the same u. */
static void add_short_range(const bandit_fit_data *data, double signal, const double *u, size_t from,
                            size_t end, double *k, double *slope)
{
    const double closer = BANDIT_SHORT_RANGE_SQUARES;
    double factor = is_of_distance(data) ? 1.0 / BANDIT_SHORT_RANGE : closer;
    double v[TILE], near[TILE], near_slope[TILE];
    for (size_t i = 0; i < TILE; i++)
        v[i] = factor * u[i];
    profiles(data, signal, v, from, end, near, near_slope);
    for (size_t i = from; i < end; i++) {
        k[i] += data->short_share * (near[i] - k[i]);
        slope[i] += data->short_share * (closer * near_slope[i] - slope[i]);
    }
}

/* Computes entries first … rows.n − 1 of the column of s^2 R for point number `column` of all, and their
 * slopes. */
void bandit_likelihood_column(const bandit_likelihood *o, double signal, bandit_row_points rows, size_t first,
                              size_t column, double *k, double *slope)
{
    const bandit_fit_data *data = o->data;
    if (data->gram) {
        for (size_t i = first; i < rows.n; i++) {
            k[i] = signal * data->gram[column * data->n + (rows.number ? rows.number[i] : i)];
            slope[i] = 0.0;
        }
        return;
    }
    size_t row_ld = bandit_whole_tiles(rows.n), ld = bandit_whole_tiles(data->n);
    for (size_t j = 0; j < data->dimension; j++)
        o->point[j] = o->scaled[j * ld + column];
    for (size_t tile = first / TILE * TILE; tile < rows.n; tile += TILE) {
        size_t from = tile < first ? first - tile : 0, end = rows.n - tile < TILE ? rows.n - tile : TILE;
        double u[TILE], values[TILE], slopes[TILE];
        o->simd->distances(data->dimension, rows.coordinates + tile, row_ld, o->point, inside(data),
                           is_of_distance(data), u);
        profiles(data, signal, u, from, end, values, slopes);
        if (data->short_share > 0.0)
            add_short_range(data, signal, u, from, end, values, slopes);
        memcpy(k + tile + from, values + from, (end - from) * sizeof *k);
        memcpy(slope + tile + from, slopes + from, (end - from) * sizeof *slope);
    }
}

void bandit_likelihood_add_distances(bandit_likelihood *o, const double *T, bandit_row_points rows,
                                     bandit_row_points columns, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t row_ld = bandit_whole_tiles(rows.n), column_ld = bandit_whole_tiles(columns.n);
    double *row_sum = o->sums, *column_sum = o->sums + rows.n, *tx = o->ones;
    memset(row_sum, 0, (rows.n + columns.n) * sizeof *row_sum);
    for (size_t b = 0; b < columns.n; b++) {
        cblas_daxpy((int)rows.n, 1.0, T + b * rows.n, 1, row_sum, 1);
        for (size_t a = 0; a < rows.n && !o->exact; a++)
            column_sum[b] += T[b * rows.n + a];
    }
    if (o->exact) /* T is symmetric */
        column_sum = row_sum;
    for (size_t j = 0; j < data->dimension; j++) {
        const double *x = columns.coordinates + j * column_ld, *y = rows.coordinates + j * row_ld;
        double total = 0.0;
        for (size_t b = 0; b < columns.n; b++)
            total += column_sum[b] * x[b] * x[b];
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows.n, (int)columns.n, 1.0, T, (int)rows.n, x, 1, 0.0,
                    tx, 1);
        for (size_t a = 0; a < rows.n; a++)
            total += row_sum[a] * y[a] * y[a] - 2.0 * y[a] * tx[a];
        gradient[data->group ? data->group[j] : j] -= 2.0 * total;
    }
}
