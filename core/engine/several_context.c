/* The joint acquisition for an ask that fixes contexts, in an open space. A context may be better or worse than others
 * at all points. So picks are not compared with the arms that were visited in other contexts, but with what the models
 * expect of these arms' points in this context: F (core/selection/joint.h) and the reference point are made of the means
 * at the visited points, moved into the context. These are the points that the caller adds to the search's grid. If the
 * grid has all points of the space, or none could be moved because of the space's rules, F is made of the whole grid. Of
 * the picks in flight, those with the fixed values count.
 *
 * Compare incumbent_of in space_picks.c, which takes the whole grid. With several objectives that leaves gaps in the
 * front: the means at points of the sweep are on it, and then there is little to gain from measuring there. † ours */
#include "core/base/allocate.h"
#include "core/engine/several_engine.h"

#include <math.h>
#include <stdlib.h>

/* The first revision of the rules that compares within a context. */
enum { SINCE_REVISION = 2 };

bool bandit_several_in_context(const bandit_several_engine *e, const double *fixed)
{
    const bandit_space *space = e->base.arms->space;
    bool has = false;
    for (size_t i = 0; fixed && i < space->n; i++)
        has |= space->parameters[i].context && !isnan(fixed[i]);
    return has && e->base.options.revision >= SINCE_REVISION;
}

/* Lists the points of the grid from `first` on that keep the rules of the space. Returns how many. */
static size_t list_allowed(const bandit_several_engine *e, size_t first, size_t *points)
{
    const bandit_maximizer *max = &e->space.maximizer;
    const bandit_space *space = e->base.arms->space;
    size_t n = 0;
    for (size_t i = first; i < max->n_grid; i++) {
        if (space->rules)
            bandit_genome_coded(&max->genome, max->genes + i * space->n, e->space.coded);
        if (!space->rules || bandit_space_allows(space, e->space.coded))
            points[n++] = i;
    }
    return n;
}

/* Lists the points of the grid that F is made of. Returns how many. */
static size_t list_points(const bandit_several_engine *e, size_t *points)
{
    const bandit_maximizer *max = &e->space.maximizer;
    size_t n = max->exhaustive ? 0 : list_allowed(e, max->n_sweep, points);
    return n > 0 ? n : list_allowed(e, 0, points);
}

/* Sets mean and known, rows of e->n entries, to what the models know of n points of the grid. */
static void look_at_grid(const bandit_several_engine *e, const size_t *points, size_t n, double *mean,
                         double *known)
{
    const bandit_several_space *s = &e->space;
    for (size_t j = 0; j < e->n; j++) {
        const double *variance = s->known_on_grid + j * s->maximizer.n_grid;
        double least = 1e-12 * bandit_several_leaf(e, j)->covariance.kappa2;
        bool is_bounded = e->metrics[j].low > -INFINITY || e->metrics[j].high < INFINITY;
        for (size_t i = 0; i < n; i++) {
            mean[i * e->n + j] = s->grids[j].mean[points[i]];
            known[i * e->n + j] = is_bounded ? sqrt(fmax(variance[points[i]], least)) : 1.0;
        }
    }
}

static bandit_status start_on_grid(bandit_several_engine *e, bandit_error *err)
{
    bandit_metric goals[BANDIT_MOST_METRICS];
    size_t n = e->space.maximizer.n_grid;
    size_t *points = bandit_alloc(n, sizeof *points);
    uint32_t *arms = bandit_alloc(n, sizeof *arms);
    double *mean = bandit_alloc(2 * n * e->n, sizeof *mean), *known = mean ? mean + n * e->n : NULL;
    bandit_status status = BANDIT_OK;
    if (points && arms && mean) {
        n = list_points(e, points);
        for (size_t i = 0; i < n; i++)
            arms[i] = (uint32_t)points[i];
        look_at_grid(e, points, n, mean, known);
        bandit_several_goals(e, goals);
        status = bandit_joint_start(&e->joint, goals, e->n, e->base.options.reference,
                                    bandit_space_keeps_apart(&e->base), arms, n, mean, known, err);
    } else {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    free(arms);
    free(points);
    free(mean);
    e->has_joint = e->space.of_context = status == BANDIT_OK;
    e->n_joined = 0;
    return status;
}

static bool has_values(const bandit_several_engine *e, uint32_t arm, const double *fixed)
{
    const bandit_space *space = e->base.arms->space;
    bandit_arms_coded(e->base.arms, arm, e->space.coded);
    for (size_t i = 0; i < space->n; i++)
        if (!isnan(fixed[i]) && e->space.coded[i] != fixed[i])
            return false;
    return true;
}

bandit_status bandit_several_join_context(bandit_several_engine *e, const double *fixed, bandit_error *err)
{
    bandit_status status = e->has_joint ? BANDIT_OK : bandit_several_start_joint(e, err);
    if (status == BANDIT_OK)
        status = bandit_several_make_grid(e, fixed, err);
    if (status == BANDIT_OK && !e->space.of_context)
        status = start_on_grid(e, err);
    while (status == BANDIT_OK && e->n_joined < e->n_out) {
        if (has_values(e, e->out[e->n_joined], fixed))
            status = bandit_several_join_next(e, (uint32_t)(e->space.maximizer.n_grid + e->n_joined), err);
        else
            e->n_joined++;
    }
    e->has_joint = status == BANDIT_OK;
    return status;
}

bool bandit_several_front_point(const bandit_several_engine *e, uint32_t arm, double *coded)
{
    const bandit_maximizer *max = &e->space.maximizer;
    if (!e->space.of_context)
        bandit_arms_coded(e->base.arms, arm, coded);
    else if (arm < max->n_grid)
        bandit_genome_coded(&max->genome, max->genes + arm * e->base.arms->space->n, coded);
    else if (max->n_grid > 0)
        bandit_arms_coded(e->base.arms, e->out[arm - max->n_grid], coded);
    return !e->space.of_context || max->n_grid > 0;
}
