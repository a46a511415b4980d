#include "core/arms/cover.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double face_tolerance = 1e-12;

void bandit_cover_init(bandit_cover *out, const bandit_arms *arms, uint32_t initial, double nu)
{
    size_t d = arms->dimension;
    assert(d >= 1 && d <= BANDIT_COVER_DIMENSIONS && nu >= 0.5 && initial >= 1 &&
           initial <= BANDIT_COVER_INITIAL);
    *out = (bandit_cover){.arms = arms, .dimension = d, .initial = initial};
    out->exponent = ((double)d + 2.0 * nu) / ((double)d + 1.0);
    for (size_t k = 0; k < d; k++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t a = 0; a < arms->n; a++) {
            double x = bandit_arms_feature(arms, a, k);
            low = fmin(low, x);
            high = fmax(high, x);
        }
        out->low[k] = arms->space ? 0.0 : low; /* the features of a space already fill [0,1]^d */
        out->width[k] = arms->space ? 1.0 : high - low;
    }
}

uint32_t bandit_cover_initial_for(size_t dimension, double nu, double horizon)
{
    double d = (double)dimension, q = d * (d + 1.0) / (d * (d + 2.0) + 2.0 * nu);
    return (uint32_t)fmin(BANDIT_COVER_INITIAL, fmax(1.0, round(pow(horizon, q / d))));
}

double bandit_cover_per_side(const bandit_cover *cover, uint32_t level)
{
    return ldexp((double)cover->initial, (int)level);
}

bool bandit_cover_must_split(const bandit_cover *cover, uint32_t level, uint64_t pulls)
{
    return level < BANDIT_COVER_LEVELS &&
           pow(bandit_cover_per_side(cover, level), cover->exponent) < (double)pulls + 1.0;
}

/* Whether a coordinate lies within the side of the box, up to the tolerance. */
static bool is_inside(double u)
{
    return u >= -face_tolerance && u <= 1.0 + face_tolerance;
}

/* The cells first … last of a row of per_side that contain a coordinate inside the box; two if it lies on a
 * face. Scaling by powers of two is exact, so a cell's children contain exactly what the cell contains. */
static void cells_along_side(double u, double per_side, uint64_t *first, uint64_t *last)
{
    assert(is_inside(u));
    double position = u * per_side, face = nearbyint(position), end = per_side - 1.0;
    if (fabs(position - face) <= face_tolerance * per_side) {
        *first = (uint64_t)fmin(fmax(face - 1.0, 0.0), end);
        *last = (uint64_t)fmin(face, end);
    } else {
        *first = *last = (uint64_t)floor(position);
    }
}

void bandit_cover_lowest_cell(const bandit_cover *cover, uint32_t level, const double *unit, bandit_cell *out)
{
    *out = (bandit_cell){.level = level};
    for (size_t k = 0; k < cover->dimension; k++) {
        uint64_t last;
        cells_along_side(unit[k], bandit_cover_per_side(cover, level), &out->corner[k], &last);
    }
}

/* A feature that is the same for all arms has width 0. It stays at 0. */
static double to_unit(const bandit_cover *cover, size_t k, double x)
{
    return cover->width[k] > 0.0 ? (x - cover->low[k]) / cover->width[k] : x - cover->low[k];
}

void bandit_cover_to_unit(const bandit_cover *cover, const double *coordinates, double *unit)
{
    for (size_t k = 0; k < cover->dimension; k++)
        unit[k] = to_unit(cover, k, coordinates[k]);
}

void bandit_cover_arm_to_unit(const bandit_cover *cover, uint32_t arm, double *unit)
{
    for (size_t k = 0; k < cover->dimension; k++)
        unit[k] = to_unit(cover, k, bandit_arms_feature(cover->arms, arm, k));
}

bool bandit_cell_contains(const bandit_cover *cover, const bandit_cell *cell, const double *unit)
{
    double per_side = bandit_cover_per_side(cover, cell->level);
    for (size_t k = 0; k < cover->dimension; k++) {
        uint64_t first, last;
        if (!is_inside(unit[k]))
            return false;
        cells_along_side(unit[k], per_side, &first, &last);
        if (cell->corner[k] < first || cell->corner[k] > last)
            return false;
    }
    return true;
}

static bandit_status append(bandit_cells *out, bandit_cell cell, bandit_error *err)
{
    if (!bandit_reserve_keep((void **)&out->cells, &out->capacity, out->n, out->n + 1, sizeof *out->cells)) {
        free(cell.members);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    out->cells[out->n++] = cell;
    return BANDIT_OK;
}

/* Divides the members of a slab, a product of intervals whose dimensions before k are already cut. They are
 * cut along dimension k into `pieces` intervals from base[k] on, each of length 1 / per_side, and then each
 * piece along the next dimension. Takes ownership of cell.members. */
static bandit_status cut(const bandit_cover *cover, bandit_cell cell, size_t k, const uint64_t *base,
                         uint64_t pieces, double per_side, bandit_cells *out, bandit_error *err)
{
    if (k == cover->dimension)
        return append(out, cell, err);

    bandit_status status = BANDIT_OK;
    size_t *start = bandit_alloc_zeroed(pieces + 1, sizeof *start);
    uint32_t *sorted = bandit_alloc(2 * cell.n, sizeof *sorted); /* by piece; an arm on a face is in two */
    if (!start || !sorted) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    /* Counting sort in two passes: pass 0 counts into start[piece + 1], pass 1 places at start[piece]. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < cell.n; i++) {
            uint64_t first, last;
            double u = to_unit(cover, k, bandit_arms_feature(cover->arms, cell.members[i], k));
            cells_along_side(u, per_side, &first, &last);
            for (uint64_t p = first; p <= last; p++) {
                if (p < base[k] || p - base[k] >= pieces)
                    continue; /* the arm is on a face of the parent, in this piece of its neighbour */
                if (pass == 0)
                    start[p - base[k] + 1]++;
                else
                    sorted[start[p - base[k]]++] = cell.members[i];
            }
        }
        for (size_t p = 0; pass == 0 && p < pieces; p++)
            start[p + 1] += start[p];
    }
    /* start[p] is now the end of piece p */
    for (size_t p = 0; p < pieces && status == BANDIT_OK; p++) {
        size_t from = p == 0 ? 0 : start[p - 1];
        bandit_cell piece = cell;
        piece.n = start[p] - from;
        if (piece.n == 0)
            continue;
        piece.corner[k] = base[k] + p;
        piece.members = bandit_alloc(piece.n, sizeof *piece.members);
        if (!piece.members) {
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
            break;
        }
        memcpy(piece.members, sorted + from, piece.n * sizeof *piece.members);
        status = cut(cover, piece, k + 1, base, pieces, per_side, out, err);
    }
out:
    free(start);
    free(sorted);
    free(cell.members);
    return status;
}

bandit_status bandit_cover_first_cells(const bandit_cover *cover, bandit_cells *out, bandit_error *err)
{
    const uint64_t base[BANDIT_COVER_DIMENSIONS] = {0};
    bandit_cell all = {.n = cover->arms->n};
    all.members = bandit_alloc(all.n, sizeof *all.members);
    if (!all.members)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t a = 0; a < all.n; a++)
        all.members[a] = (uint32_t)a;
    return cut(cover, all, 0, base, cover->initial, (double)cover->initial, out, err);
}

bandit_status bandit_cover_split(const bandit_cover *cover, const bandit_cell *cell, bandit_cells *out,
                                 bandit_error *err)
{
    uint64_t base[BANDIT_COVER_DIMENSIONS] = {0};
    bandit_cell copy = *cell;
    assert(cell->level < BANDIT_COVER_LEVELS);
    copy.level++;
    for (size_t k = 0; k < cover->dimension; k++)
        base[k] = 2 * cell->corner[k];
    copy.members = bandit_alloc(cell->n, sizeof *copy.members);
    if (!copy.members)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(copy.members, cell->members, cell->n * sizeof *copy.members);
    return cut(cover, copy, 0, base, 2, bandit_cover_per_side(cover, copy.level), out, err);
}

void bandit_cells_clear(bandit_cells *cells)
{
    for (size_t i = 0; i < cells->n; i++)
        free(cells->cells[i].members);
    free(cells->cells);
    *cells = (bandit_cells){0};
}
