/* Picks in an open space by the joint acquisition: the search of core/search over one surface per metric. */
#include "core/engine/several_objective.h"

#include "core/algorithms/enumerated.h"
#include "core/algorithms/space_design.h"
#include "core/algorithms/untried_words.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STARTS = 1024 };

void bandit_several_space_clear(bandit_several_space *s)
{
    bandit_maximizer_clear(&s->maximizer);
    for (size_t j = 0; j < BANDIT_MOST_METRICS; j++) {
        bandit_grid_clear(&s->grids[j]);
        bandit_surface_clear(&s->known[j]);
    }
    bandit_feasibility_clear(&s->feasibility);
    bandit_location_prior_clear(&s->prior);
    free(s->known_on_grid);
    free(s->values);
    free(s->fixed);
    free(s->shortfall);
    *s = (bandit_several_space){0};
}

size_t bandit_several_space_memory(const bandit_several_space *s)
{
    size_t bytes = bandit_maximizer_memory(&s->maximizer) + bandit_feasibility_memory(&s->feasibility) +
                   bandit_location_prior_memory(&s->prior) +
                   (s->capacity_known + s->capacity_values + s->capacity_shortfall) * sizeof(double);
    for (size_t j = 0; j < BANDIT_MOST_METRICS; j++)
        bytes += bandit_grid_memory(&s->grids[j]) + bandit_surface_memory(&s->known[j]);
    return bytes;
}

/* ---- tried points -------------------------------------------------------------------------------------- */

bandit_status bandit_several_look_space(bandit_several_engine *e, const uint32_t *arms, size_t n,
                                        double *mean, double *known, bandit_error *err)
{
    enum { AT_ONCE = 256 };
    size_t d = bandit_arms_dimension(e->base.arms);
    double means[AT_ONCE], variances[AT_ONCE],
        *features = bandit_alloc((size_t)AT_ONCE * d, sizeof *features);
    bandit_status status = features ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t j = 0; j < e->n && status == BANDIT_OK && !e->has_joint; j++)
        status =
            bandit_surface_start(&e->space.known[j], &bandit_several_space_batch(e, j)->posterior, 0, err);
    for (size_t first = 0; first < n && status == BANDIT_OK && !bandit_pause(); first += AT_ONCE) {
        size_t rows = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (size_t i = 0; i < rows; i++)
            bandit_space_features_of(e->base.arms, arms[first + i], features + i * d);
        for (size_t j = 0; j < e->n; j++) {
            double least = bandit_several_least_variance(e, j);
            bandit_surface_values(&e->space.known[j], features, rows, means, variances);
            for (size_t i = 0; i < rows; i++) {
                mean[(first + i) * e->n + j] = means[i];
                known[(first + i) * e->n + j] = sqrt(fmax(variances[i], least));
            }
        }
    }
    free(features);
    return status;
}

/* ---- the grid ------------------------------------------------------------------------------------------ */

static bool same_fixed(const bandit_several_engine *e, const double *fixed)
{
    for (size_t i = 0; i < e->base.arms->space->n; i++) {
        double wanted = fixed ? fixed[i] : (double)NAN;
        if (e->space.fixed[i] != wanted && !(isnan(e->space.fixed[i]) && isnan(wanted)))
            return false;
    }
    return true;
}

/* Memory for the grid's values, for the trials of a run, and for four points and a gradient. */
static bandit_status reserve_values(bandit_several_engine *e, bandit_error *err)
{
    bandit_several_space *s = &e->space;
    size_t n = s->maximizer.n_grid, width = e->base.arms->space->n, d = e->base.arms->space->dimension;
    size_t trials = 3 * e->n * (size_t)BANDIT_MAXIMIZE_TRIALS;
    if (!bandit_reserve((void **)&s->values, &s->capacity_values, n + trials + 3 * width + d,
                        sizeof(double)) ||
        !bandit_reserve((void **)&s->known_on_grid, &s->capacity_known, e->n * n, sizeof(double)) ||
        !bandit_reserve((void **)&s->shortfall, &s->capacity_shortfall, n, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    s->coded = s->values + n + trials;
    s->leader = s->coded + width;
    s->steps = s->leader + width;
    s->slope = s->steps + width;
    return BANDIT_OK;
}

/* Learns where evaluations fail, with the first metric's kernel. */
static bandit_status learn_failures(bandit_several_engine *e, const bandit_select_limits *limits,
                                    bandit_error *err)
{
    bandit_several_space *s = &e->space;
    const bandit_ledger *ledger = &bandit_several_space_batch(e, 0)->ledger;
    size_t d = e->base.arms->space->dimension;
    bandit_status status = bandit_feasibility_learn_arms(
        &s->feasibility, e->base.arms, &bandit_several_leaf(e, 0)->options.kernel, ledger->sums, ledger->n,
        limits->failed, limits->n_failed, false, e->base.options.revision, err);
    for (size_t i = 0; status == BANDIT_OK && i < s->maximizer.n_grid; i++)
        s->shortfall[i] = bandit_several_shortfall(e, s->maximizer.features + i * d, NULL);
    return status;
}

bandit_status bandit_several_make_grid(bandit_several_engine *e, const double *fixed, bandit_error *err)
{
    bandit_several_space *s = &e->space;
    const bandit_space *space = e->base.arms->space;
    const bandit_ledger *ledger = &bandit_several_space_batch(e, 0)->ledger;
    if (s->ready && same_fixed(e, fixed))
        return BANDIT_OK;
    s->ready = s->of_context = false;
    if (!s->fixed && !(s->fixed = bandit_alloc(space->n, sizeof *s->fixed)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double *coded = bandit_alloc(space->n, sizeof *coded);
    bandit_status status = BANDIT_OK;
    if (!coded)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    status = bandit_maximizer_start(&s->maximizer, space, fixed, e->base.options.seed, e->base.batch, err);
    for (size_t i = 0; status == BANDIT_OK && i < ledger->n && i < MOST_STARTS; i++) {
        bandit_arms_coded(e->base.arms, ledger->sums[ledger->n - 1 - i].arm, coded);
        status = bandit_maximizer_add(&s->maximizer, coded, err);
    }
    free(coded);
    size_t n = s->maximizer.n_grid;
    if (status == BANDIT_OK)
        status = reserve_values(e, err);
    for (size_t j = 0; status == BANDIT_OK && j < e->n; j++) {
        status = bandit_grid_start(&s->grids[j], &bandit_several_space_batch(e, j)->surface,
                                   s->maximizer.features, n, err);
        if (status == BANDIT_OK && bandit_several_is_bounded(e, j))
            bandit_surface_values(&s->known[j], s->maximizer.features, n, NULL, s->known_on_grid + j * n);
    }
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < space->n; i++)
        s->fixed[i] = fixed ? fixed[i] : (double)NAN;
    s->ready = true;
    return bandit_engine_check_memory(&e->base, (double)bandit_engine_memory(&e->base), err);
}

static bandit_status grid_values(bandit_several_engine *e, bandit_error *err)
{
    bandit_several_space *s = &e->space;
    size_t n = s->maximizer.n_grid, d = e->base.arms->space->dimension;
    bandit_status status = BANDIT_OK;
    for (size_t j = 0; status == BANDIT_OK && j < e->n; j++)
        status = bandit_grid_update(&s->grids[j], &bandit_several_space_batch(e, j)->surface, err);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        bandit_outlook at;
        for (size_t j = 0; j < e->n; j++)
            bandit_several_set_outlook(e, j, s->grids[j].mean[i], s->grids[j].variance[i],
                                       bandit_several_is_bounded(e, j) ? s->known_on_grid[j * n + i] : 1.0,
                                       &at);
        s->values[i] = bandit_several_value(e, &at, s->maximizer.features + i * d, s->shortfall[i]);
    }
    return status;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

/* Some ascents start beside an arm of the front, a different one for each pick, with steps of at most half of
 * the shortest lengthscale among the metrics. */
static void look_beside_front(bandit_several_engine *e, uint64_t number)
{
    bandit_several_space *s = &e->space;
    const bandit_space *space = e->base.arms->space;
    for (size_t i = 0; i < space->n; i++) {
        s->steps[i] = 0.5;
        for (size_t j = 0; j < e->n; j++) {
            const bandit_kernel *kernel = &bandit_several_leaf(e, j)->options.kernel;
            size_t at = kernel->n_lengthscales > 1 ? space->places[i].first : 0;
            if (kernel->n_lengthscales > 0)
                s->steps[i] = fmin(s->steps[i], 0.5 * kernel->lengthscales[at]);
        }
    }
    bool has = bandit_several_front_point(e, bandit_joint_front_arm(&e->joint, number), s->leader);
    s->maximizer.beside = has ? s->leader : NULL;
    s->maximizer.steps = s->steps;
}

/* With one objective, when the search has not improved for some time, the deviations of every fourth pick are
 * multiplied by one to three; the longer that time, the larger the factor. Some improvement near the leader
 * is always expected, and other basins are only found beyond what the models expect. Compare exploring_width
 * in space_picks.c. */
static double widening(const bandit_several_engine *e, uint64_t number)
{
    const double patience = 8.0, widest = 3.0;
    const bandit_joint *joint = &e->joint;
    const bandit_ledger *ledger = &bandit_several_space_batch(e, 0)->ledger;
    size_t leader = 0, visited = 0; /* arms up to the leader; they are in the order of their first visit */
    if (joint->k > 1 || joint->seeks_bounds || number % 4 != 3)
        return 1.0;
    if (e->space.of_context)
        return fmax(1.0, fmin(widest, (double)e->stagnates / patience));
    for (size_t i = 0; i < joint->n_points; i++)
        if (joint->points[i] > joint->points[leader] + 1e-3)
            leader = i;
    while (visited < ledger->n && ledger->sums[visited].arm <= joint->arms[leader])
        visited++;
    return fmax(1.0, fmin(widest, (double)(ledger->n - visited) / patience));
}

bool bandit_several_is_silent(const bandit_several_engine *e)
{
    bool all = true;
    for (size_t j = 0; j < e->n; j++)
        all &= bandit_is_silent(bandit_several_leaf(e, j)) ||
               bandit_several_leaf(e, j)->options.lambda < exp(-8.0);
    return all;
}

/* Sets the prior of a pick, whose leader is the point that it looks beside. Two of three picks heed it, and with one
 * objective every second, as in space_picks.c. */
static bandit_status set_prior(bandit_several_engine *e, uint64_t number, bandit_error *err)
{
    bandit_several_space *s = &e->space;
    s->prior.n = 0;
    bool heeded = e->joint.k > 1 ? number % 3 != 2 : number % 2 == 0;
    if (e->base.options.revision < BANDIT_SINCE_LOCATION_PRIOR || !heeded || !s->maximizer.beside)
        return BANDIT_OK;
    bandit_space_encode(e->base.arms->space, s->maximizer.beside, s->slope);
    return bandit_location_prior_set(&s->prior, e->base.arms->space, s->slope, err);
}

/* Sets the objective of the next pick, and its values on the grid. */
static bandit_status start_choice(bandit_several_engine *e, const bandit_select_limits *limits,
                                  bandit_several_objective *c, bandit_error *err)
{
    bandit_several_space *s = &e->space;
    bandit_status status = bandit_several_in_context(e, limits->fixed)
                               ? bandit_several_join_context(e, limits->fixed, err)
                               : bandit_several_join(e, err);
    uint64_t number = e->base.batch + bandit_several_space_batch(e, 0)->n_picks;
    s->widening = status == BANDIT_OK ? widening(e, number) : 1.0;
    if (status == BANDIT_OK)
        status = bandit_several_make_grid(e, limits->fixed, err);
    if (status == BANDIT_OK) {
        look_beside_front(e, number);
        status = set_prior(e, number, err);
    }
    if (status == BANDIT_OK)
        status = learn_failures(e, limits, err);
    if (status == BANDIT_OK)
        status = grid_values(e, err);
    if (status != BANDIT_OK)
        return status;
    size_t room = e->n * (size_t)BANDIT_MAXIMIZE_TRIALS;
    double *means = s->values + s->maximizer.n_grid;
    *c = (bandit_several_objective){.e = e,
                                    .limits = limits,
                                    .silent = bandit_several_is_silent(e),
                                    .means = means,
                                    .variances = means + room,
                                    .known = means + 2 * room};
    return BANDIT_OK;
}

/* Sets e->space.coded to the point with the largest gain, or to one of the design. */
static bandit_status choose_within(bandit_several_engine *e, const bandit_select_limits *limits, bool *found,
                                   bandit_error *err)
{
    bandit_several_space *s = &e->space;
    const bandit_space_batch *first = bandit_several_space_batch(e, 0);
    uint64_t n_picks = first->n_picks, most = (uint64_t)1 << 24;
    bandit_several_objective c;
    *found = false;
    bandit_status status = start_choice(e, limits, &c, err);
    if (status == BANDIT_OK && bandit_several_is_flat(e))
        status = bandit_design_later(bandit_several_leaf(e, 0), first->ledger.n + first->n_out, limits,
                                     s->coded, found, err);
    if (status != BANDIT_OK || *found)
        return status;
    const bandit_objective objective = bandit_several_objective_functions(&c);
    for (int attempt = 0; status == BANDIT_OK && attempt < 2 && !*found; attempt++) {
        c.strict = attempt == 0;
        status =
            bandit_maximizer_run(&s->maximizer, &objective, s->values, n_picks % most, s->coded, found, err);
    }
    return status;
}

/* The same; if it is time for an untried word, with that word. */
static bandit_status choose(bandit_several_engine *e, const bandit_select_limits *limits, bool *found,
                            bandit_error *err)
{
    const bandit_space_batch *first = bandit_several_space_batch(e, 0);
    bandit_select_limits within = *limits;
    double *fixed;
    bandit_status status = bandit_untried_word(&e->base, &first->ledger, first->out, first->n_out, limits,
                                               e->base.batch + first->n_picks, &fixed, err);
    *found = false;
    within.fixed = fixed;
    if (status == BANDIT_OK && fixed)
        status = choose_within(e, &within, found, err);
    free(fixed);
    return status == BANDIT_OK && !*found ? choose_within(e, limits, found, err) : status;
}

bandit_status bandit_several_explain_space(bandit_several_engine *e, uint32_t arm,
                                           const bandit_select_limits *limits, bandit_reason *out,
                                           bandit_error *err)
{
    const bandit_space_batch *first = bandit_several_space_batch(e, 0);
    bandit_select_limits within = *limits;
    double *fixed;
    bandit_several_objective c;
    bandit_status status = bandit_untried_word_of(&e->base, &first->ledger, first->out, first->n_out, limits,
                                                  e->base.batch + first->n_picks, arm, &fixed, err);
    if (status != BANDIT_OK)
        return status;
    if (fixed)
        within.fixed = fixed;
    out->rule = fixed ? BANDIT_REASON_WORD : BANDIT_REASON_JOINT;
    status = start_choice(e, &within, &c, err);
    double *features = bandit_alloc(bandit_arms_dimension(e->base.arms), sizeof *features);
    if (status == BANDIT_OK && !features)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        bandit_space_features_of(e->base.arms, arm, features);
        const bandit_objective objective = bandit_several_objective_functions(&c);
        objective.values(&c, features, 1, &out->score);
        for (size_t j = 0; j < e->n; j++) {
            bandit_surface *now = &bandit_several_space_batch(e, j)->surface;
            bandit_surface_look(now, features);
            out->mean[j] = now->mean;
            out->variance[j] = fmax(0.0, now->variance);
        }
    }
    free(features);
    free(fixed);
    return status;
}

/* The arm of the point at e->space.coded, which is appended if it is new. */
static bandit_status arm_of_choice(bandit_several_engine *e, uint32_t *arm, bandit_error *err)
{
    size_t known = bandit_arms_find(e->base.arms, e->space.coded);
    *arm = (uint32_t)(known == SIZE_MAX ? bandit_arms_count(e->base.arms) : known);
    return known == SIZE_MAX ? bandit_arms_append(e->base.arms, e->space.coded, 1, err) : BANDIT_OK;
}

static bandit_stop_rule stop_rule(const bandit_several_engine *e)
{
    bandit_stop_rule rule = BANDIT_STOP_NONE;
    for (size_t j = 0; j < e->n && rule == BANDIT_STOP_NONE; j++)
        rule = bandit_space_stop_rule(bandit_several_space_leaf(e, j), bandit_several_space_batch(e, j));
    return rule;
}

bandit_status bandit_several_select_space(bandit_several_engine *e, const bandit_select_limits *limits,
                                          const bandit_executor *executor, bandit_pick *picks,
                                          bandit_selection *out, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    while (bandit_engine_wants_pick(limits, stop_rule(e), out)) {
        bandit_pick pick = {0};
        bool found;
        status = choose(e, limits, &found, err);
        if (status == BANDIT_OK && found)
            status = arm_of_choice(e, &pick.arm, err);
        if (status == BANDIT_OK && found) {
            pick.variance = bandit_space_variance(bandit_several_space_leaf(e, 0),
                                                  bandit_several_space_batch(e, 0), pick.arm);
            status = bandit_several_take_out(e, &pick, executor, err);
        }
        if (status == BANDIT_OK && !found)
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
        if (status != BANDIT_OK || !found)
            break;
        picks[out->n_picks++] = pick;
    }
    for (size_t j = 0; j < e->n; j++)
        out->ratio = fmax(out->ratio, bandit_several_space_batch(e, j)->ratio);
    /* keep the picks made; the next call reports the error */
    return out->n_picks > 0 && e->failure == BANDIT_OK ? BANDIT_OK : status;
}
