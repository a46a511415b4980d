/* Points of a space that keep its rules. */
#include "core/insight/view.h"

#include "core/arms/feasible.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <stdlib.h>

enum { STREAM = 1 << 20 }; /* far from those of a search */

bandit_status bandit_view_is_allowed(bandit_genome *genome, double *genes, bool *found, bandit_error *err)
{
    enum { QUICK = 16, THOROUGH = 4 };
    const bandit_space *space = genome->space;
    bandit_polytope polytope = {0};
    bandit_status status = bandit_genome_sequence(genome, STREAM, err);
    double *coded = bandit_alloc(space->n, sizeof *coded);
    *found = false;
    if (status == BANDIT_OK && !coded)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t k = 0; status == BANDIT_OK && !*found && k < QUICK + THOROUGH; k++) {
        bandit_genome_sweep(genome, k % QUICK, genes);
        *found = bandit_feasible_repair(genome, &polytope, k >= QUICK, genes, coded);
        status = bandit_pause_status(err);
        if (polytope.no_memory)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    bandit_polytope_clear(&polytope);
    free(coded);
    return status;
}

bandit_status bandit_view_allowed(const bandit_insight *v, bandit_genome *genome, size_t wanted,
                                  double *genes, double *coordinates, size_t *found, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(v);
    bandit_status status = bandit_feasible_draw(genome, STREAM, wanted, genes, found, NULL, err);
    double *coded = bandit_alloc(space->n, sizeof *coded);
    if (status == BANDIT_OK && !coded)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = bandit_pause_status(err);
    for (size_t i = 0; status == BANDIT_OK && i < *found; i++) {
        bandit_genome_point(genome, genes + i * space->n, coded);
        bandit_genome_take(genome, coded, genes + i * space->n);
        bandit_space_encode(space, coded, coordinates + i * space->dimension);
    }
    free(coded);
    return status;
}
