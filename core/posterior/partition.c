#include "core/posterior/partition.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void bandit_partition_init(bandit_partition *out, const bandit_arms *arms, const bandit_kernel *kernel,
                           double lambda, uint32_t initial)
{
    *out = (bandit_partition){.kernel = kernel, .lambda = lambda};
    bandit_cover_init(&out->cover, arms, initial, kernel->nu);
}

static void region_free(bandit_region *region)
{
    if (!region)
        return;
    bandit_exact_free(region->posterior);
    bandit_covariance_clear(&region->kernel);
    bandit_arms_free(region->arms);
    free(region->cell.members);
    free(region);
}

void bandit_partition_clear(bandit_partition *partition)
{
    for (size_t i = 0; i < partition->n; i++)
        region_free(partition->regions[i]);
    free(partition->regions);
    partition->regions = NULL;
    partition->n = 0;
}

/* The number of `arm` within the cell, or −1. */
static int64_t local_number(const bandit_cell *cell, uint32_t arm)
{
    size_t place = bandit_arm_place(cell->members, cell->n, arm);
    return place < cell->n && cell->members[place] == arm ? (int64_t)place : -1;
}

/* ---- regions ------------------------------------------------------------------------------------------- */

/* The pulls of a cell's members, ascending, in the form that the posterior takes; *pulls is their total
 * count. Each entry of the shorter list (members or ledger) is looked up in the longer one. The caller frees
 * *out. */
static bandit_status pulls_in_cell(const bandit_cell *cell, const bandit_ledger *ledger, bandit_pull **out,
                                   size_t *n_out, uint64_t *pulls, bandit_error *err)
{
    size_t most = cell->n < ledger->n ? cell->n : ledger->n, n = 0;
    *out = bandit_alloc(most, sizeof **out);
    *n_out = 0;
    *pulls = 0;
    if (!*out)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < most; i++) {
        const bandit_arm_sum *sum = NULL;
        int64_t local = (int64_t)i;
        if (cell->n < ledger->n) {
            sum = bandit_sum_of(ledger->sums, ledger->n, cell->members[i]);
        } else {
            local = local_number(cell, ledger->sums[i].arm);
            sum = local >= 0 ? &ledger->sums[i] : NULL;
        }
        if (!sum)
            continue;
        (*out)[n++] = (bandit_pull){.arm = (uint32_t)local,
                                    .weight = sum->weight,
                                    .repeats = sum->count,
                                    .reward = sum->sum / (double)sum->count};
        *pulls += sum->count;
    }
    *n_out = n;
    return BANDIT_OK;
}

/* The members as a separate set of arms. */
static bandit_status member_arms(bandit_arms **out, const bandit_cover *cover, const bandit_cell *cell,
                                 bandit_error *err)
{
    double row[BANDIT_COVER_DIMENSIONS];
    bandit_status status = bandit_arms_new(out, cell->n, cover->dimension, err);
    for (size_t i = 0; i < cell->n && status == BANDIT_OK; i++) {
        for (size_t k = 0; k < cover->dimension; k++)
            row[k] = bandit_arms_feature(cover->arms, cell->members[i], k);
        status = bandit_arms_set_rows(*out, i, 1, row, err);
    }
    return status == BANDIT_OK ? bandit_arms_finish(*out, BANDIT_SCALING_NONE, cell->n, err) : status;
}

/* Bytes of a region beyond those of its posterior. */
static size_t frame_bytes(const bandit_region *region)
{
    return sizeof *region + bandit_arms_memory(region->arms) + region->cell.n * sizeof(uint32_t) +
           region->kernel.dimension * sizeof(double);
}

static bandit_status change_append(bandit_partition_change *change, bandit_region *region, bandit_error *err)
{
    if (!bandit_reserve_keep((void **)&change->regions, &change->capacity, change->n, change->n + 1,
                             sizeof(bandit_region *)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    change->regions[change->n++] = region;
    return BANDIT_OK;
}

static bandit_status check_bytes(double bytes, double most_bytes, bandit_error *err)
{
    if (bytes <= most_bytes)
        return BANDIT_OK;
    return bandit_fail(
        err, BANDIT_MEMORY_LIMIT, "",
        "pi_gp_ucb would need more than the %.0f MB that remain for its cells; bbkb needs far less",
        fmax(0.0, most_bytes) / 1e6);
}

static bandit_status count_bytes(bandit_partition_change *change, double bytes, bandit_error *err)
{
    change->bytes += bytes;
    return check_bytes(change->bytes, change->most_bytes, err);
}

/* Adds a region and builds its posterior. Takes ownership of cell->members, also on failure. */
static bandit_status region_add(const bandit_partition *partition, bandit_partition_change *change,
                                bandit_cell *cell, const bandit_pull *pulls, size_t n_pulls,
                                uint64_t total_pulls, const bandit_executor *executor, bandit_error *err)
{
    bandit_region *region = calloc(1, sizeof *region);
    if (!region) {
        free(cell->members);
        cell->members = NULL;
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    region->fresh = true;
    region->cell = *cell;
    region->pulls = total_pulls;
    cell->members = NULL;
    bandit_status status = member_arms(&region->arms, &partition->cover, &region->cell, err);
    if (status == BANDIT_OK)
        status = bandit_covariance_init(&region->kernel, partition->kernel, region->arms, err);
    if (status == BANDIT_OK)
        status = count_bytes(change,
                             (double)frame_bytes(region) + (double)bandit_exact_need(NULL, &region->kernel,
                                                                                     n_pulls, n_pulls > 0,
                                                                                     executor->workers),
                             err);
    if (status == BANDIT_OK)
        status = bandit_exact_new(&region->posterior, &region->kernel, partition->lambda, err);
    if (status == BANDIT_OK && n_pulls > 0)
        status = bandit_exact_reserve(region->posterior, n_pulls, 1, executor->workers, err);
    if (status == BANDIT_OK)
        status = change_append(change, region, err);
    if (status != BANDIT_OK) {
        region_free(region);
        return status;
    }
    bandit_exact_observe(region->posterior, pulls, n_pulls, true, executor);
    region->information_gain = bandit_exact_information_gain(region->posterior);
    const double *variance = bandit_exact_variance(region->posterior);
    for (size_t i = 0; i < n_pulls; i++)
        region->pulled_variance += bandit_pull_precision(&pulls[i]) * variance[pulls[i].arm];
    return BANDIT_OK;
}

/* Splits the cell until no part must be split any more, and adds the parts as regions. Takes ownership of
 * cell->members. */
static bandit_status refine(const bandit_partition *partition, bandit_partition_change *change,
                            bandit_cell *cell, const bandit_ledger *ledger, const bandit_executor *executor,
                            bandit_error *err)
{
    bandit_pull *pulls;
    size_t n_pulls;
    uint64_t total;
    bandit_cells children = {0};
    bandit_status status = pulls_in_cell(cell, ledger, &pulls, &n_pulls, &total, err);
    if (status == BANDIT_OK && !bandit_cover_must_split(&partition->cover, cell->level, total)) {
        status = region_add(partition, change, cell, pulls, n_pulls, total, executor, err);
    } else if (status == BANDIT_OK) {
        status = bandit_cover_split(&partition->cover, cell, &children, err);
        for (size_t i = 0; i < children.n && status == BANDIT_OK; i++)
            status = refine(partition, change, &children.cells[i], ledger, executor, err);
    }
    bandit_cells_clear(&children);
    free(pulls);
    free(cell->members);
    cell->members = NULL;
    return status;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

static bool touches(const bandit_partition *partition, const bandit_cell *cell, const bandit_result *results,
                    size_t n)
{
    double unit[BANDIT_COVER_DIMENSIONS];
    for (size_t i = 0; i < n; i++) {
        bandit_cover_arm_to_unit(&partition->cover, results[i].arm, unit);
        if (bandit_cell_contains(&partition->cover, cell, unit))
            return true;
    }
    return false;
}

static int compare_regions(const void *a, const void *b)
{
    const bandit_cell *x = &(*(bandit_region *const *)a)->cell, *y = &(*(bandit_region *const *)b)->cell;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    for (size_t k = 0; k < BANDIT_COVER_DIMENSIONS; k++) {
        if (x->corner[k] != y->corner[k])
            return x->corner[k] < y->corner[k] ? -1 : 1;
    }
    return 0;
}

static bandit_status first_regions(const bandit_partition *partition, bandit_partition_change *change,
                                   const bandit_ledger *ledger, const bandit_executor *executor,
                                   bandit_error *err)
{
    bandit_cells cells = {0};
    bandit_status status = bandit_cover_first_cells(&partition->cover, &cells, err);
    for (size_t i = 0; i < cells.n && status == BANDIT_OK; i++)
        status = refine(partition, change, &cells.cells[i], ledger, executor, err);
    bandit_cells_clear(&cells);
    return status;
}

/* Keeps the region if it has no new results; otherwise replaces it by the regions that its cell refines
 * to. */
static bandit_status renew(const bandit_partition *partition, bandit_partition_change *change,
                           bandit_region *region, const bandit_ledger *ledger, const bandit_result *results,
                           size_t n_results, const bandit_executor *executor, bandit_error *err)
{
    if (!touches(partition, &region->cell, results, n_results)) {
        double bytes = (double)frame_bytes(region) + (double)bandit_exact_memory(region->posterior);
        bandit_status status = change_append(change, region, err);
        return status == BANDIT_OK ? count_bytes(change, bytes, err) : status;
    }
    bandit_cell cell = region->cell;
    cell.members = bandit_alloc(cell.n, sizeof *cell.members);
    if (!cell.members)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(cell.members, region->cell.members, cell.n * sizeof *cell.members);
    return refine(partition, change, &cell, ledger, executor, err);
}

/* Reserves memory for the pending picks in each of the change's regions. */
static bandit_status reserve_pending(const bandit_partition *partition, bandit_partition_change *change,
                                     const bandit_pick *pending, size_t n_pending,
                                     const bandit_executor *executor, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    for (size_t r = 0; r < change->n && n_pending > 0 && status == BANDIT_OK; r++) {
        bandit_region *region = change->regions[r];
        size_t inside = 0;
        for (size_t i = 0; i < n_pending; i++) {
            double unit[BANDIT_COVER_DIMENSIONS];
            bandit_cover_arm_to_unit(&partition->cover, pending[i].arm, unit);
            inside += bandit_cell_contains(&partition->cover, &region->cell, unit);
        }
        size_t solid = bandit_exact_solid(region->posterior);
        size_t before = bandit_exact_memory(region->posterior);
        if (inside > 0)
            status = bandit_exact_reserve(region->posterior, solid, inside, executor->workers, err);
        if (status == BANDIT_OK && inside > 0)
            status = count_bytes(change, (double)(bandit_exact_memory(region->posterior) - before), err);
    }
    return status;
}

bandit_status bandit_partition_prepare(const bandit_partition *partition, bandit_partition_change *change,
                                       const bandit_ledger *ledger, const bandit_result *results,
                                       size_t n_results, const bandit_pick *pending, size_t n_pending,
                                       double most_bytes, const bandit_executor *executor, bandit_error *err)
{
    assert(!change->regions);
    change->most_bytes = most_bytes;
    bandit_status status = BANDIT_OK;
    bool anew = partition->n == 0 || partition->outdated;
    if (anew)
        status = first_regions(partition, change, ledger, executor, err);
    for (size_t i = 0; i < partition->n && !anew && status == BANDIT_OK; i++)
        status = renew(partition, change, partition->regions[i], ledger, results, n_results, executor, err);
    if (status == BANDIT_OK)
        status = reserve_pending(partition, change, pending, n_pending, executor, err);
    if (status == BANDIT_OK)
        qsort(change->regions, change->n, sizeof *change->regions, compare_regions);
    return status;
}

void bandit_partition_commit(bandit_partition *partition, bandit_partition_change *change)
{
    /* Regions that were kept are in both arrays. Mark them, and free the others. */
    for (size_t i = 0; i < partition->n; i++)
        partition->regions[i]->fresh = true;
    for (size_t i = 0; i < change->n; i++)
        change->regions[i]->fresh = false;
    for (size_t i = 0; i < partition->n; i++) {
        if (partition->regions[i]->fresh)
            region_free(partition->regions[i]);
    }
    free(partition->regions);
    partition->regions = change->regions;
    partition->n = change->n;
    partition->outdated = false;
    *change = (bandit_partition_change){0};
    for (size_t i = 0; i < partition->n; i++)
        bandit_exact_forget(partition->regions[i]->posterior);
}

void bandit_partition_abandon(bandit_partition_change *change)
{
    for (size_t i = 0; i < change->n; i++) {
        if (change->regions[i]->fresh)
            region_free(change->regions[i]);
    }
    free(change->regions);
    *change = (bandit_partition_change){0};
}

/* ---- picks --------------------------------------------------------------------------------------------- */

/* The next region, from number *next on, that contains the arm, and the arm's number in it; NULL if there is
 * none. */
static bandit_region *next_home(const bandit_partition *partition, uint32_t arm, size_t *next,
                                uint32_t *local)
{
    double unit[BANDIT_COVER_DIMENSIONS];
    bandit_cover_arm_to_unit(&partition->cover, arm, unit);
    while (*next < partition->n) {
        bandit_region *region = partition->regions[(*next)++];
        if (!bandit_cell_contains(&partition->cover, &region->cell, unit))
            continue;
        int64_t number = local_number(&region->cell, arm);
        assert(number >= 0);
        *local = (uint32_t)number;
        return region;
    }
    return NULL;
}

bandit_status bandit_partition_reserve(bandit_partition *partition, uint32_t arm, double most_bytes,
                                       const bandit_executor *executor, bandit_error *err)
{
    bandit_region *region;
    uint32_t local;
    double bytes = (double)bandit_partition_memory(partition);
    for (size_t next = 0; (region = next_home(partition, arm, &next, &local)) != NULL;) {
        const bandit_exact *posterior = region->posterior;
        bytes += (double)bandit_exact_need(posterior, &region->kernel, bandit_exact_solid(posterior),
                                           bandit_exact_hallucinated(posterior) + 1, executor->workers) -
                 (double)bandit_exact_memory(posterior);
    }
    bandit_status status = check_bytes(bytes, most_bytes, err);
    for (size_t next = 0; (region = next_home(partition, arm, &next, &local)) != NULL;) {
        bandit_exact *posterior = region->posterior;
        if (status == BANDIT_OK)
            status = bandit_exact_reserve(posterior, bandit_exact_solid(posterior),
                                          bandit_exact_hallucinated(posterior) + 1, executor->workers, err);
    }
    return status;
}

void bandit_partition_hallucinate(bandit_partition *partition, uint32_t arm, const bandit_executor *executor)
{
    bandit_region *region;
    uint32_t local;
    for (size_t next = 0; (region = next_home(partition, arm, &next, &local)) != NULL;)
        bandit_exact_hallucinate(region->posterior, local, executor);
}

bandit_prediction bandit_partition_bound(const bandit_partition *partition, uint32_t arm)
{
    bandit_prediction best = {.ucb = -INFINITY};
    const bandit_region *region;
    uint32_t local;
    for (size_t next = 0; (region = next_home(partition, arm, &next, &local)) != NULL;) {
        double mean = bandit_exact_mean(region->posterior)[local];
        double variance = bandit_exact_variance(region->posterior)[local];
        double ucb = mean + region->width * sqrt(variance);
        if (ucb > best.ucb)
            best = (bandit_prediction){.mean = mean, .variance = variance, .ucb = ucb};
    }
    return best;
}

bandit_status bandit_partition_bound_at(const bandit_partition *partition, const double *coordinates,
                                        size_t n, double prior_width, bandit_prediction *out,
                                        bandit_error *err)
{
    size_t d = partition->cover.dimension;
    for (size_t p = 0; p < n; p++) {
        const double *point = coordinates + p * d;
        double unit[BANDIT_COVER_DIMENSIONS];
        bool inside = false;
        bandit_cover_to_unit(&partition->cover, point, unit);
        out[p] = (bandit_prediction){.variance = 1.0, .ucb = prior_width};
        for (size_t i = 0; i < partition->n; i++) {
            const bandit_region *region = partition->regions[i];
            double mean, variance;
            if (!bandit_cell_contains(&partition->cover, &region->cell, unit))
                continue;
            bandit_status status = bandit_exact_predict(region->posterior, point, 1, &mean, &variance, err);
            if (status != BANDIT_OK)
                return status;
            double ucb = mean + region->width * sqrt(variance);
            if (!inside || ucb > out[p].ucb)
                out[p] = (bandit_prediction){.mean = mean, .variance = variance, .ucb = ucb};
            inside = true;
        }
    }
    return BANDIT_OK;
}

bool bandit_partition_best(const bandit_partition *partition, const uint32_t *withheld, size_t n_withheld,
                           uint32_t *arm)
{
    bool found = false;
    double best = 0.0;
    for (size_t r = 0; r < partition->n; r++) {
        const bandit_region *region = partition->regions[r];
        const double *mean = bandit_exact_mean(region->posterior);
        const double *variance = bandit_exact_selection_variance(region->posterior);
        for (size_t i = 0; i < region->cell.n; i++) {
            double ucb = mean[i] + region->width * sqrt(variance[i]);
            uint32_t member = region->cell.members[i];
            if (found && (ucb < best || (ucb == best && member >= *arm)))
                continue;
            if (bandit_is_among(withheld, n_withheld, member))
                continue;
            best = ucb;
            *arm = member;
            found = true;
        }
    }
    return found;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

size_t bandit_partition_memory(const bandit_partition *partition)
{
    size_t bytes = partition->n * sizeof *partition->regions;
    for (size_t i = 0; i < partition->n; i++)
        bytes += frame_bytes(partition->regions[i]) + bandit_exact_memory(partition->regions[i]->posterior);
    return bytes;
}
