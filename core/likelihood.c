#include "likelihood.h"

#include "arms_storage.h"
#include "linalg.h"
#include "memory.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernel entries are computed so many at a time. */
enum { TILE = BANDIT_TILE };

static const double log_two_pi = 1.83787706640934548356;

/* Relative to s^2, on the diagonal of P: inducing points may be as good as equal. */
static const double jitter = 1e-8;

/* mu ~ N(0, 1): rewards are of about unit variance, and about 0. */
static const double mean_precision = 1.0;

size_t bandit_likelihood_size(const bandit_fit_data *data)
{
    return data->n_lengthscales + 2;
}

/* ---- priors -------------------------------------------------------------------------------------------- */

/* Log-normal: where the density of the logarithm peaks, and its standard deviation. A lengthscale grows with
 * the root of the dimension, as the distances between points do. */
typedef struct prior {
    double peak, deviation;
} prior;

static prior prior_of(const bandit_fit_data *data, size_t entry)
{
    if (entry < data->n_lengthscales)
        return (prior){log(0.35 * sqrt((double)data->dimension) * data->extent[entry]), 1.2};
    if (entry == data->n_lengthscales)
        return (prior){0.0, 1.0};
    return (prior){log(3e-3), 2.0};
}

double bandit_likelihood_prior(const bandit_fit_data *data, const double *theta, double *gradient)
{
    double value = 0.0;
    for (size_t i = 0; i < bandit_likelihood_size(data); i++) {
        prior p = prior_of(data, i);
        double z = (theta[i] - p.peak) / p.deviation;
        value -= 0.5 * z * z;
        if (gradient)
            gradient[i] -= z / p.deviation;
    }
    return value;
}

void bandit_fit_prior(const bandit_fit_data *data, bandit_hyperparameters *out)
{
    size_t n = data->n_lengthscales;
    for (size_t i = 0; i < n && data->learn_lengthscale; i++)
        out->lengthscales[i] = exp(prior_of(data, i).peak);
    if (data->learn_signal)
        out->signal = exp(prior_of(data, n).peak);
    if (data->learn_noise)
        out->noise = exp(prior_of(data, n + 1).peak);
    out->mean = 0.0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

void bandit_likelihood_clear(bandit_likelihood *o)
{
    void *const parts[] = {o->inducing, o->scaled,   o->scaled_inducing, o->centre,       o->point,
                           o->cross,    o->slope,    o->square,          o->square_slope, o->factor,
                           o->inverse,  o->gradient, o->solved,          o->alpha,        o->ones,
                           o->right,    o->sums,     o->product};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
    *o = (bandit_likelihood){0};
}

static double *reals(size_t rows, size_t columns)
{
    return bandit_alloc(rows, columns * sizeof(double));
}

static double *zeros(size_t rows, size_t columns)
{
    return bandit_alloc_zeroed(rows, columns * sizeof(double));
}

static bool allocate(bandit_likelihood *o)
{
    size_t n = o->data->n, d = o->data->dimension, m = o->m, widest = n > m ? n : m;
    size_t sparse = o->exact ? 0 : 1;
    o->inducing = bandit_alloc(m, sizeof *o->inducing);
    o->scaled = zeros(bandit_whole_tiles(n), d); /* what pads the last tile has no meaning, but is a number */
    o->scaled_inducing = zeros(sparse * bandit_whole_tiles(m), d);
    o->centre = reals(1, d);
    o->point = reals(1, d);
    o->cross = reals(m, n);
    o->slope = reals(m, n);
    o->square = reals(m * sparse, m);
    o->square_slope = reals(m * sparse, m);
    o->factor = reals(m, m);
    o->inverse = reals(m * sparse, m);
    o->gradient = reals(m, m);
    o->solved = reals(m * sparse, n);
    o->alpha = reals(1, widest);
    o->ones = reals(1, widest);
    o->right = reals(1, widest);
    o->sums = reals(1, m + n);
    o->product = reals(widest, d + 1);
    return o->inducing && o->scaled && o->scaled_inducing && o->centre && o->point && o->cross && o->slope &&
           o->square && o->square_slope && o->factor && o->inverse && o->gradient && o->solved && o->alpha &&
           o->ones && o->right && o->sums && o->product;
}

/* ---- kernel matrices ----------------------------------------------------------------------------------- */

/* Coordinates about their mean (distances do not change, and products of them cancel less), by lengthscale.
 */
static void scale_points(bandit_likelihood *o, const double *lengthscales)
{
    const bandit_fit_data *data = o->data;
    size_t ld = bandit_whole_tiles(data->n);
    for (size_t j = 0; j < data->dimension; j++) {
        double l = lengthscales[data->group ? data->group[j] : j];
        for (size_t i = 0; i < data->n; i++)
            o->scaled[j * ld + i] = (data->points[i * data->dimension + j] - o->centre[j]) / l;
    }
}

static void scale_inducing(bandit_likelihood *o)
{
    size_t ld = bandit_whole_tiles(o->data->n), m_ld = bandit_whole_tiles(o->m);
    for (size_t j = 0; j < o->data->dimension; j++) {
        for (size_t i = 0; i < o->m; i++)
            o->scaled_inducing[j * m_ld + i] = o->scaled[j * ld + o->inducing[i]];
    }
}

/* Is the kernel a function of the distance, not of its square? */
static bool is_of_distance(const bandit_fit_data *data)
{
    return data->kernel != BANDIT_KERNEL_GAUSSIAN;
}

/* What a squared distance is multiplied by inside the kernel's formula. */
static double inside(const bandit_fit_data *data)
{
    return data->kernel == BANDIT_KERNEL_GAUSSIAN ? 0.5 : 2.0 * data->nu;
}

/* k and dk / d(r^2), both times s^2, at TILE values u of inside r^2 or its root; of use are entries from …
 * end − 1. Loops of a constant length, which the compiler makes vectors of, but for the exponentials. */
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
    } else if (data->nu == 0.5) { /* its slope is infinite at 0, where it multiplies a difference of 0 */
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

/* Which points stand in the rows of a matrix: coordinates, column-major with a leading dimension of n rounded
 * up to tiles; and their numbers among all (NULL: they are all). */
typedef struct row_points {
    const double *coordinates;
    const uint32_t *number;
    size_t n;
} row_points;

static row_points all_points(const bandit_likelihood *o)
{
    return (row_points){o->scaled, NULL, o->data->n};
}

static row_points inducing_points(const bandit_likelihood *o)
{
    return (row_points){o->scaled_inducing, o->inducing, o->m};
}

/* Entries first … rows.n − 1 of the column of s^2 R and its slopes that point `column` of all has. */
static void kernel_column(const bandit_likelihood *o, double signal, row_points rows, size_t first,
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
        memcpy(k + tile + from, values + from, (end - from) * sizeof *k);
        memcpy(slope + tile + from, slopes + from, (end - from) * sizeof *slope);
    }
}

static double diagonal(const bandit_fit_data *data, size_t i)
{
    return data->gram ? data->gram[i * data->n + i] : 1.0;
}

/* The m points whose variance given those before is largest, by pivoted Cholesky under these lengthscales;
 * `cross` holds its rows. */
static void choose_inducing(bandit_likelihood *o, const double *lengthscales)
{
    size_t n = o->data->n;
    double *left = o->right, *column = o->alpha, *unused = o->ones;
    if (o->data->dimension > 0)
        scale_points(o, lengthscales);
    for (size_t i = 0; i < n; i++)
        left[i] = diagonal(o->data, i);
    size_t found = 0;
    for (; found < o->m; found++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (left[i] > left[best])
                best = i;
        if (!(left[best] > 1e-10))
            break;
        double root = sqrt(left[best]);
        o->inducing[found] = (uint32_t)best;
        kernel_column(o, 1.0, all_points(o), 0, best, column, unused);
        for (size_t k = 0; k < found; k++)
            cblas_daxpy((int)n, -o->cross[k * n + best], o->cross + k * n, 1, column, 1);
        for (size_t i = 0; i < n; i++) {
            o->cross[found * n + i] = column[i] / root;
            left[i] -= column[i] / root * (column[i] / root);
        }
        left[best] = 0.0;
    }
    if (found == 0)
        o->inducing[found++] = 0;
    o->m = found;
}

bandit_status bandit_likelihood_init(bandit_likelihood *out, const bandit_fit_data *data, size_t max_inducing,
                                     const double *lengthscales, bandit_error *err)
{
    *out = (bandit_likelihood){.data = data, .simd = bandit_simd_best(), .exact = data->n <= max_inducing};
    out->m = out->exact ? data->n : max_inducing;
    if (!allocate(out)) {
        bandit_likelihood_clear(out);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t j = 0; j < data->dimension; j++) {
        out->centre[j] = 0.0;
        for (size_t i = 0; i < data->n; i++)
            out->centre[j] += data->points[i * data->dimension + j] / (double)data->n;
    }
    if (!out->exact)
        choose_inducing(out, lengthscales);
    return BANDIT_OK;
}

/* ---- what both forms share ----------------------------------------------------------------------------- */

/* The mean's value, given 1'A^{-1}y and 1'A^{-1}1. */
static double best_mean(const bandit_fit_data *data, double one_y, double one_one)
{
    return data->has_mean ? one_y / (one_one + mean_precision) : 0.0;
}

/* The upper triangle of an n x n matrix from the lower one, by tiles, which stay in the cache. */
static void mirror(double *matrix, size_t n)
{
    for (size_t column = 0; column < n; column += TILE) {
        for (size_t row = column; row < n; row += TILE) {
            size_t rows = row + TILE < n ? row + TILE : n, columns = column + TILE < n ? column + TILE : n;
            for (size_t b = column; b < columns; b++)
                for (size_t a = row > b ? row : b + 1; a < rows; a++)
                    matrix[a * n + b] = matrix[b * n + a];
        }
    }
}

/* gradient[lengthscale of j] −= 2 sum_ab T_ab (x_a − x_b)^2 over coordinate j, a of the row points, b of the
 * column points. */
static void add_distances(bandit_likelihood *o, const double *T, row_points rows, row_points columns,
                          double *gradient)
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

/* ---- exact --------------------------------------------------------------------------------------------- */

/* −1/2 of everything but the quadratic form and the determinant, of single rewards about their means. */
static double evaluate_within(const bandit_fit_data *data, double noise)
{
    double value = data->within_degrees * (log_two_pi + log(noise)) + data->within / noise;
    for (size_t i = 0; i < data->n; i++)
        value += log(data->count[i]);
    return -0.5 * value;
}

/* Of symmetric matrices the lower triangle. */
static bool exact_value(bandit_likelihood *o, double signal, double noise, double *value)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n;
    double *A = o->factor;
    for (size_t b = 0; b < n; b++) {
        kernel_column(o, signal, all_points(o), b, b, o->cross + b * n, o->slope + b * n);
        memcpy(A + b * n + b, o->cross + b * n + b, (n - b) * sizeof *A);
        A[b * n + b] += noise / data->count[b];
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)n) != 0)
        return false;
    double *y = o->alpha, *ones = o->ones;
    for (size_t i = 0; i < n; i++) {
        y[i] = data->mean[i];
        ones[i] = 1.0;
    }
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, A, (int)n, y, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, A, (int)n, ones, 1);
    o->mean = best_mean(data, cblas_ddot((int)n, ones, 1, y, 1), cblas_ddot((int)n, ones, 1, ones, 1));
    cblas_daxpy((int)n, -o->mean, ones, 1, y, 1);
    *value = -0.5 * (cblas_ddot((int)n, y, 1, y, 1) + bandit_log_det(A, n, n) + (double)n * log_two_pi +
                     mean_precision * o->mean * o->mean) +
             evaluate_within(data, noise);
    return isfinite(*value);
}

/* After exact_value. With G = −1/2 (A^{-1} − alpha alpha'), d value = tr(G dA). */
static bool exact_gradient(bandit_likelihood *o, double noise, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, p = data->n_lengthscales;
    double *alpha = o->alpha, *inverse = o->factor, *T = o->gradient, by_signal = 0.0;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, o->factor, (int)n, alpha, 1);
    if (bandit_invert_from_cholesky(inverse, n, NULL) != BANDIT_OK)
        return false;
    gradient[p + 1] += -0.5 * (data->within_degrees - data->within / noise);
    for (size_t b = 0; b < n; b++) {
        for (size_t a = b; a < n; a++) {
            double G = -0.5 * (inverse[b * n + a] - alpha[a] * alpha[b]);
            by_signal += (a == b ? 1.0 : 2.0) * G * o->cross[b * n + a];
            T[b * n + a] = G * o->slope[b * n + a];
            if (a == b)
                gradient[p + 1] += G * noise / data->count[a];
        }
    }
    gradient[p] += by_signal;
    if (data->dimension > 0) {
        mirror(T, n);
        add_distances(o, T, all_points(o), all_points(o), gradient);
    }
    return true;
}

/* ---- sparse -------------------------------------------------------------------------------------------- */

/* P = L L', z = L^{-1} U, B = I + z C z' / tau = L_B L_B', b = z C y, e = L_B^{-1} b:
 *   −1/2 ((n + w) log(2 pi tau) + log det B + (y'Cy − e'e / tau + W + sum_i c_i (k_ii − |z_i|^2)) / tau).
 * `square` becomes L, `solved` z, `factor` L_B, `right` e. */
static bool sparse_value(bandit_likelihood *o, double signal, double noise, double *value)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, m = o->m;
    double *L = o->square, *z = o->solved, *B = o->factor, *weighted = o->cross;
    for (size_t k = 0; k < m; k++) {
        kernel_column(o, signal, inducing_points(o), 0, o->inducing[k], L + k * m, o->square_slope + k * m);
        L[k * m + k] += jitter * signal;
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)m, L, (int)m) != 0)
        return false;
    double squares = 0.0, one_y = 0.0, one_one = 0.0, residual = 0.0;
    for (size_t i = 0; i < n; i++)
        kernel_column(o, signal, inducing_points(o), 0, i, z + i * m, o->slope + i * m);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, L,
                (int)m, z, (int)m);
    memset(o->right, 0, m * sizeof *o->right);
    memset(o->ones, 0, m * sizeof *o->ones);
    for (size_t i = 0; i < n; i++) {
        double c = data->count[i], y = data->mean[i], root = sqrt(c / noise);
        squares += c * y * y;
        one_y += c * y;
        one_one += c;
        residual += c * (signal * diagonal(data, i) - cblas_ddot((int)m, z + i * m, 1, z + i * m, 1));
        cblas_daxpy((int)m, c * y, z + i * m, 1, o->right, 1);
        cblas_daxpy((int)m, c, z + i * m, 1, o->ones, 1);
        for (size_t k = 0; k < m; k++)
            weighted[i * m + k] = root * z[i * m + k];
    }
    memset(B, 0, m * m * sizeof *B);
    for (size_t k = 0; k < m; k++)
        B[k * m + k] = 1.0;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)m, (int)n, 1.0, weighted, (int)m, 1.0, B,
                (int)m);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)m, B, (int)m) != 0)
        return false;
    double *e = o->right, *e1 = o->ones;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, B, (int)m, e, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, B, (int)m, e1, 1);
    o->mean = best_mean(data, (one_y - cblas_ddot((int)m, e1, 1, e, 1) / noise) / noise,
                        (one_one - cblas_ddot((int)m, e1, 1, e1, 1) / noise) / noise);
    cblas_daxpy((int)m, -o->mean, e1, 1, e, 1);
    squares += o->mean * (o->mean * one_one - 2.0 * one_y);
    double q = cblas_ddot((int)m, e, 1, e, 1);
    *value =
        -0.5 * (((double)n + data->within_degrees) * (log_two_pi + log(noise)) + bandit_log_det(B, m, m) +
                (squares - q / noise + data->within + residual) / noise + mean_precision * o->mean * o->mean);
    return isfinite(*value);
}

/* After sparse_value. With alpha = L^{-T} B^{-1} b / tau, d value = sum G_P o dP + sum G_U o dU and the
 * diagonal's part, where
 *   G_P = −1/2 (L^{-T} (B^{-1} + B − 2I) L^{-1} + alpha alpha')
 *   G_U = −1/tau (L^{-T} (B^{-1} − I) z + alpha (U'alpha − y)') C. */
static bool sparse_gradient(bandit_likelihood *o, double signal, double noise, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, m = o->m, p = data->n_lengthscales;
    double *L = o->square, *z = o->solved, *inverse = o->inverse, *G = o->gradient, *GU = o->cross;
    double q = cblas_ddot((int)m, o->right, 1, o->right, 1), squares = 0.0, counts = 0.0, residual = 0.0;

    memcpy(inverse, o->factor, m * m * sizeof *inverse);
    if (bandit_invert_from_cholesky(inverse, m, NULL) != BANDIT_OK)
        return false;
    mirror(inverse, m);
    double *weight = o->right; /* B^{-1} b */
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)m, o->factor, (int)m, weight, 1);
    double weight2 = cblas_ddot((int)m, weight, 1, weight, 1);

    /* y − U'alpha for all points, into `product`; the posterior mean is z'weight / tau. */
    double *deviation = o->product;
    for (size_t i = 0; i < n; i++) {
        double y = data->mean[i] - o->mean, c = data->count[i];
        deviation[i] = y - cblas_ddot((int)m, z + i * m, 1, weight, 1) / noise;
        squares += c * y * y;
        counts += c * diagonal(data, i);
        residual += c * (signal * diagonal(data, i) - cblas_ddot((int)m, z + i * m, 1, z + i * m, 1));
    }
    double trace = 0.0;
    for (size_t k = 0; k < m; k++)
        trace += inverse[k * m + k];
    gradient[p + 1] += -0.5 * ((double)n + data->within_degrees - ((double)m - trace) - squares / noise +
                               (q + weight2) / noise / noise - (data->within + residual) / noise);

    /* G = B^{-1} + B − 2I, B made again of the weighted z that sparse_value left in `cross`; then
     * L^{-T} G L^{-1}. */
    memcpy(G, inverse, m * m * sizeof *G);
    for (size_t k = 0; k < m; k++)
        G[k * m + k] -= 1.0;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)m, (int)n, 1.0, GU, (int)m, 1.0, G, (int)m);
    mirror(G, m);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)m, 1.0, L,
                (int)m, G, (int)m);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)m, 1.0, L,
                (int)m, G, (int)m);

    /* GU, before the factor −C / tau. */
    for (size_t k = 0; k < m; k++)
        inverse[k * m + k] -= 1.0;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)m, 1.0, inverse, (int)m, z,
                (int)m, 0.0, GU, (int)m);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)n, 1.0, L,
                (int)m, GU, (int)m);
    double *alpha = o->alpha;
    memcpy(alpha, weight, m * sizeof *alpha);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)m, L, (int)m, alpha, 1);
    cblas_dscal((int)m, 1.0 / noise, alpha, 1);
    cblas_dger(CblasColMajor, (int)m, (int)n, -1.0, alpha, 1, deviation, 1, GU, (int)m);

    /* By signal: P and U scale with it. U = L z, P = L L'. tr(G_P P) and tr(G_U U') from the matrices. */
    double by_signal = -0.5 * signal * counts / noise;
    for (size_t b = 0; b < m; b++) {
        kernel_column(o, signal, inducing_points(o), 0, o->inducing[b], o->sums, o->ones);
        o->sums[b] += jitter * signal;
        for (size_t a = 0; a < m; a++) {
            double g = -0.5 * (G[b * m + a] + alpha[a] * alpha[b]);
            by_signal += g * o->sums[a];
            G[b * m + a] = g * o->square_slope[b * m + a];
        }
    }
    for (size_t i = 0; i < n; i++) {
        double factor = -data->count[i] / noise;
        kernel_column(o, signal, inducing_points(o), 0, i, o->sums, o->ones);
        for (size_t k = 0; k < m; k++) {
            double g = factor * GU[i * m + k];
            by_signal += g * o->sums[k];
            GU[i * m + k] = g * o->slope[i * m + k];
        }
    }
    gradient[p] += by_signal;
    if (data->dimension > 0) {
        /* `deviation` stands in `product`, which add_distances writes: it is not needed any more. */
        add_distances(o, G, inducing_points(o), inducing_points(o), gradient);
        add_distances(o, GU, inducing_points(o), all_points(o), gradient);
    }
    return true;
}

/* ---- together ------------------------------------------------------------------------------------------ */

bool bandit_likelihood_evaluate(bandit_likelihood *o, const double *theta, double *value, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t p = data->n_lengthscales;
    double signal = exp(theta[p]), noise = exp(theta[p + 1]);
    *value = -INFINITY;
    if (gradient)
        memset(gradient, 0, (p + 2) * sizeof *gradient);
    if (data->dimension > 0) {
        for (size_t i = 0; i < p; i++)
            o->product[i] = exp(theta[i]);
        scale_points(o, o->product);
        if (!o->exact)
            scale_inducing(o);
    }
    double bound = -INFINITY;
    if (!(o->exact ? exact_value(o, signal, noise, &bound) : sparse_value(o, signal, noise, &bound)))
        return false;
    if (gradient &&
        !(o->exact ? exact_gradient(o, noise, gradient) : sparse_gradient(o, signal, noise, gradient)))
        return false;
    *value = bound + bandit_likelihood_prior(data, theta, gradient);
    return isfinite(*value);
}

/* Leave-one-out residuals from A^{-1} (Rasmussen and Williams 2006, eq. 5.10–5.12): deviation
 * alpha_i / [A^{-1}]_ii, variance 1 / [A^{-1}]_ii; sparse, with what the inducing points leave of k_ii added.
 */
bool bandit_likelihood_surprise(bandit_likelihood *o, const double *theta, double *value, double *out)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, m = o->m, p = data->n_lengthscales;
    double signal = exp(theta[p]), noise = exp(theta[p + 1]);
    if (!bandit_likelihood_evaluate(o, theta, value, NULL))
        return false;
    if (o->exact) {
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, o->factor, (int)n, o->alpha,
                    1);
        if (bandit_invert_from_cholesky(o->factor, n, NULL) != BANDIT_OK)
            return false;
        for (size_t i = 0; i < n; i++)
            out[i] = o->alpha[i] * o->alpha[i] / o->factor[i * n + i];
        return true;
    }
    double *v = o->alpha;
    for (size_t i = 0; i < n; i++) {
        const double *z = o->solved + i * m;
        double c = data->count[i] / noise;
        double left = fmax(0.0, signal * diagonal(data, i) - cblas_ddot((int)m, z, 1, z, 1));
        memcpy(v, z, m * sizeof *v);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, o->factor, (int)m, v, 1);
        double mean = cblas_ddot((int)m, v, 1, o->right, 1) / noise;
        double precision = c - c * c * cblas_ddot((int)m, v, 1, v, 1);
        precision = fmax(precision, 1e-12 * c);
        double deviation = c * (data->mean[i] - o->mean - mean) / precision;
        out[i] = deviation * deviation / (1.0 / precision + left);
    }
    return true;
}
