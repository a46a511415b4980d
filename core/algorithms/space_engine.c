#include "algorithms/space_engine.h"

#include "bless.h"
#include "dictionary.h"
#include "inducing.h"
#include "listed.h"
#include "memory.h"
#include "prior_sampler.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_PICKS = 16, MOST_STARTS = 1024, DESIGN_TRIES = 64, LEAST_DESIGN = 4, MOST_DESIGN = 10 };

static const bandit_space_rule rules[] = {
    {BANDIT_BBKB, BANDIT_SPACE_RESAMPLED, BANDIT_SPACE_SUM, false, BANDIT_ACQUIRE_UCB},
    {BANDIT_BKB, BANDIT_SPACE_RESAMPLED, BANDIT_SPACE_SEQUENTIAL, false, BANDIT_ACQUIRE_UCB},
    {BANDIT_GP_UCB, BANDIT_SPACE_PULLED, BANDIT_SPACE_SEQUENTIAL, false, BANDIT_ACQUIRE_UCB},
    {BANDIT_IGP_UCB, BANDIT_SPACE_PULLED, BANDIT_SPACE_SEQUENTIAL, false, BANDIT_ACQUIRE_UCB},
    {BANDIT_GP_BUCB, BANDIT_SPACE_PULLED, BANDIT_SPACE_PRODUCT, false, BANDIT_ACQUIRE_UCB},
    {BANDIT_GP_TS, BANDIT_SPACE_PULLED, BANDIT_SPACE_SEQUENTIAL, true, BANDIT_ACQUIRE_MEAN},
    {BANDIT_ASYNC_TS, BANDIT_SPACE_PULLED, BANDIT_SPACE_SEQUENTIAL, true, BANDIT_ACQUIRE_MEAN},
    {BANDIT_S_GP_TS, BANDIT_SPACE_INDUCING, BANDIT_SPACE_SEQUENTIAL, true, BANDIT_ACQUIRE_MEAN},
    {BANDIT_GP_EI, BANDIT_SPACE_PULLED, BANDIT_SPACE_SEQUENTIAL, false, BANDIT_ACQUIRE_IMPROVEMENT},
    {BANDIT_GP_PI, BANDIT_SPACE_PULLED, BANDIT_SPACE_SEQUENTIAL, false, BANDIT_ACQUIRE_PROBABILITY},
    {BANDIT_EPSILON_GREEDY, BANDIT_SPACE_PULLED, BANDIT_SPACE_SEQUENTIAL, false, BANDIT_ACQUIRE_MEAN},
};

/* The frozen state of a batch. An engine holds two, so that a batch that fails to begin leaves the one in
 * force as it was. */
struct bandit_space_batch {
    bandit_ledger ledger;
    bool has_model; /* false: no rewards yet; the picks are the design's */
    uint32_t *dictionary;
    size_t n_dictionary, capacity_dictionary;
    uint64_t drawn_at; /* inducing points: rewards when they were drawn; 0: they are all pulled points */
    bandit_posterior posterior;
    bandit_surface surface; /* and what is out */
    bandit_log_sums log_sums;
    double width;     /* before the Bayesian standard deviation */
    double incumbent; /* f+: the largest posterior mean among the pulled points */
    double *w, *scratch;
    size_t capacity_w, capacity_scratch;
    uint32_t *out; /* the arms that are out */
    size_t n_out, capacity_out;
    uint64_t n_picks; /* of this batch */
    double ratio;
    unsigned char state[96];
    size_t n_state;
};

typedef struct space_engine {
    bandit_engine base;
    const bandit_space_rule *rule;
    bandit_features features; /* of rules that sample */
    size_t inducing;          /* most members, with BANDIT_SPACE_INDUCING */
    bandit_space_batch batches[2];
    unsigned in_force;

    /* of the batch in force, made at its first pick */
    bandit_maximizer maximizer;
    bandit_grid grid;
    bandit_svgp_sampler sampler;
    bool has_grid;
    double *fixed; /* what the grid was made for */
    double *values, *coded;
    double *means, *variances; /* of all arms: for resampling */
    size_t capacity_values, capacity_means, capacity_variances;
} space_engine;

/* The scalars of a batch as stored: native byte order. */
typedef struct space_state {
    char magic[8];
    char code_path[16];
    uint64_t has_model, observations, drawn_at;
    double log_sum_1, log_sum_3, sum_squares;
} space_state;

static const char STATE_MAGIC[8] = "space 1";

static space_engine *self(bandit_engine *engine)
{
    return (space_engine *)engine;
}

static const bandit_space_batch *in_force(const bandit_engine *engine)
{
    const space_engine *e = (const space_engine *)engine;
    return &e->batches[e->in_force];
}

static const bandit_space *space_of(const space_engine *e)
{
    return e->base.arms->space;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bandit_status open_features(space_engine *e, bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    size_t M = BANDIT_PRIOR_FEATURES, d = bandit_arms_dimension(e->base.arms);
    if (o->algorithm == BANDIT_S_GP_TS) {
        if (o->features == BANDIT_FEATURES_EIGEN && o->kernel.type != BANDIT_KERNEL_LINEAR)
            return bandit_fail(err, BANDIT_INVALID_OPTION, "features",
                               "eigenfunctions are for candidates; on a space features are random");
        M = o->prior_features ? o->prior_features : bandit_svgp_features_for(&o->kernel, d, o->horizon);
        e->inducing = o->inducing ? o->inducing : bandit_svgp_inducing_for(&o->kernel, d, o->horizon);
    }
    return bandit_features_init(&e->features,
                                o->kernel.type == BANDIT_KERNEL_LINEAR ? BANDIT_EXPANSION_LINEAR
                                                                       : BANDIT_EXPANSION_FOURIER,
                                &e->base.covariance, M, err);
}

static bandit_status space_open(bandit_engine *engine, bandit_error *err)
{
    space_engine *e = self(engine);
    const bandit_options *o = &engine->options;
    e->rule = rules;
    while (e->rule->algorithm != o->algorithm)
        e->rule++;
    if (o->algorithm == BANDIT_BBKB && o->batch_rule == BANDIT_BATCH_GLOBAL_LOCAL)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "batch_rule",
                           "global_local looks at a ratio at every candidate; a space has no list of them");
    e->fixed = bandit_alloc(space_of(e)->n, sizeof *e->fixed);
    e->coded = bandit_alloc(space_of(e)->n, sizeof *e->coded);
    if (!e->fixed || !e->coded)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return e->rule->samples ? open_features(e, err) : BANDIT_OK;
}

static void space_close(bandit_engine *engine)
{
    space_engine *e = self(engine);
    for (int i = 0; i < 2; i++) {
        bandit_space_batch *b = &e->batches[i];
        bandit_ledger_clear(&b->ledger);
        free(b->dictionary);
        bandit_posterior_clear(&b->posterior);
        bandit_surface_clear(&b->surface);
        free(b->w);
        free(b->scratch);
        free(b->out);
    }
    bandit_maximizer_clear(&e->maximizer);
    bandit_grid_clear(&e->grid);
    bandit_svgp_sampler_clear(&e->sampler);
    bandit_features_clear(&e->features);
    free(e->fixed);
    free(e->coded);
    free(e->values);
    free(e->means);
    free(e->variances);
}

static size_t space_memory(const bandit_engine *engine)
{
    const space_engine *e = (const space_engine *)engine;
    size_t bytes = bandit_maximizer_memory(&e->maximizer) + bandit_grid_memory(&e->grid) +
                   bandit_svgp_sampler_memory(&e->sampler) + bandit_features_memory(&e->features) +
                   (e->capacity_values + e->capacity_means + e->capacity_variances + 2 * space_of(e)->n) *
                       sizeof(double);
    for (int i = 0; i < 2; i++) {
        const bandit_space_batch *b = &e->batches[i];
        bytes += b->ledger.capacity * sizeof(bandit_arm_sum) +
                 (b->capacity_dictionary + b->capacity_out) * sizeof(uint32_t) +
                 bandit_posterior_memory(&b->posterior) + bandit_surface_memory(&b->surface) +
                 (b->capacity_w + b->capacity_scratch) * sizeof(double);
    }
    return bytes;
}

/* ---- beginning a batch --------------------------------------------------------------------------------- */

/* [BBKB] Alg. 1, l. 11–16. has_history: among the first results are some that the engine did not choose. */
static bandit_status resample(space_engine *e, bandit_space_batch *ended, bandit_space_batch *next,
                              bool has_history, const bandit_pick *pending, size_t n_pending,
                              bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    bandit_offer *offers = NULL;
    size_t n_offers, n_arms = bandit_arms_count(e->base.arms);
    bandit_status status = bandit_offers_new(&offers, &n_offers, &next->ledger, pending, n_pending, err);
    if (status != BANDIT_OK)
        return status;
    if (!bandit_reserve((void **)&next->dictionary, &next->capacity_dictionary, n_offers, sizeof(uint32_t)) ||
        !bandit_reserve((void **)&e->means, &e->capacity_means, n_arms, sizeof(double)) ||
        !bandit_reserve((void **)&e->variances, &e->capacity_variances, n_arms, sizeof(double))) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    const bandit_resampling how = {
        .q_bar = bandit_confidence_q_bar(o, next->ledger.observations),
        .seed = o->seed,
        .per_pull = o->resample == BANDIT_RESAMPLE_PER_PULL,
        .batch = o->resample == BANDIT_RESAMPLE_PERSISTENT ? 0 : bandit_engine_next_batch(&e->base),
        .covariance = &e->base.covariance,
        .lambda = o->lambda,
        .posterior = &ended->posterior,
        .variance = e->variances,
    };
    if (ended->has_model) {
        status = bandit_posterior_evaluate_all(&ended->posterior, &bandit_executor_serial, e->means,
                                               e->variances, err);
        if (status == BANDIT_OK)
            status = bandit_dictionary_resample(next->dictionary, &next->n_dictionary, offers, n_offers, &how,
                                                err);
    } else if (has_history) {
        status = bandit_dictionary_bless(next->dictionary, &next->n_dictionary, offers, n_offers, &how, err);
    } else { /* the first picks: all of them */
        for (size_t i = 0; i < n_offers; i++)
            next->dictionary[i] = offers[i].arm;
        next->n_dictionary = n_offers;
    }
out:
    free(offers);
    return status;
}

static void take_pulled(bandit_space_batch *next)
{
    next->n_dictionary = next->ledger.n;
    for (size_t i = 0; i < next->ledger.n; i++)
        next->dictionary[i] = next->ledger.sums[i].arm;
}

/* [VPA21]: all pulled points while they are few enough, then a k-DPP, drawn again when rewards have doubled.
 */
static bandit_status choose_inducing(space_engine *e, const bandit_space_batch *ended,
                                     bandit_space_batch *next, bandit_error *err)
{
    if (next->ledger.n <= e->inducing) {
        take_pulled(next);
        return BANDIT_OK;
    }
    if (ended->drawn_at > 0 && next->ledger.observations / 2 < ended->drawn_at) {
        memcpy(next->dictionary, ended->dictionary, ended->n_dictionary * sizeof *next->dictionary);
        next->n_dictionary = ended->n_dictionary;
        next->drawn_at = ended->drawn_at;
        return BANDIT_OK;
    }
    next->drawn_at = next->ledger.observations;
    return bandit_inducing_draw(next->dictionary, &next->n_dictionary, e->inducing, &e->base, &next->ledger,
                                err);
}

static bandit_space_dictionary dictionary_of(const space_engine *e)
{
    bool dtc = e->rule->algorithm == BANDIT_S_GP_TS && e->base.options.posterior == BANDIT_POSTERIOR_DTC;
    return dtc ? BANDIT_SPACE_RESAMPLED : e->rule->dictionary;
}

static bandit_status choose_dictionary(space_engine *e, bandit_space_batch *ended, bandit_space_batch *next,
                                       bool has_history, const bandit_pick *pending, size_t n_pending,
                                       bandit_error *err)
{
    size_t room = next->ledger.n > e->inducing ? next->ledger.n : e->inducing;
    if (!bandit_reserve((void **)&next->dictionary, &next->capacity_dictionary, room, sizeof(uint32_t)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    switch (dictionary_of(e)) {
    case BANDIT_SPACE_RESAMPLED:
        return resample(e, ended, next, has_history, pending, n_pending, err);
    case BANDIT_SPACE_PULLED:
        take_pulled(next);
        return BANDIT_OK;
    case BANDIT_SPACE_INDUCING:
        break;
    }
    return choose_inducing(e, ended, next, err);
}

/* What building a posterior on so many points takes, with the surface and the grid. */
static bandit_status check_need(const space_engine *e, const bandit_space_batch *b, bandit_error *err)
{
    double m = (double)b->n_dictionary, room = m + (double)b->n_out + MORE_PICKS;
    double doubles = 2.0 * (6.0 * m * m + 512.0 * m) + 2.0 * room * room + 3072.0 * room;
    return bandit_engine_check_memory(&e->base, doubles * sizeof(double), err);
}

static bandit_status build_posterior(space_engine *e, bandit_space_batch *b, bandit_error *err)
{
    bandit_status status = check_need(e, b, err);
    return status != BANDIT_OK
               ? status
               : bandit_posterior_build(&b->posterior, &e->base.covariance, e->base.options.lambda,
                                        b->dictionary, b->n_dictionary, b->ledger.sums, b->ledger.n, err);
}

/* The factor before the Bayesian standard deviation. */
static double width_of(const space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    uint64_t t = b->ledger.observations;
    double gain = 0.5 * b->posterior.log_det_ratio;
    double gamma = bandit_confidence_gamma(o, bandit_arms_dimension(e->base.arms), t, gain);
    switch (o->algorithm) {
    case BANDIT_BBKB:
        return bandit_confidence_alpha(o, &b->log_sums) / sqrt(o->lambda);
    case BANDIT_BKB:
        return (b->has_model
                    ? bandit_confidence_bkb(o, e->base.covariance.kappa2, t, b->posterior.effective_dimension)
                    : bandit_confidence_alpha(o, &b->log_sums)) /
               sqrt(o->lambda);
    case BANDIT_GP_UCB:
        return bandit_confidence_gp_ucb(o, gamma, t);
    case BANDIT_IGP_UCB:
        return bandit_confidence_improved(o, gamma, 1.0);
    case BANDIT_GP_BUCB:
        return o->ratio_bound * bandit_confidence_improved(o, gamma, 1.0);
    case BANDIT_GP_TS:
    case BANDIT_ASYNC_TS:
        return bandit_confidence_improved(o, gamma, 2.0) / o->scale;
    case BANDIT_S_GP_TS:
        return bandit_confidence_sparse_sample(o, t);
    case BANDIT_PI_GP_UCB:
    case BANDIT_GP_EI:
    case BANDIT_GP_PI:
    case BANDIT_EPSILON_GREEDY:
    case BANDIT_UNIFORM:
    case BANDIT_REGULARIZED_EVOLUTION:
    case BANDIT_ALGORITHMS:
        break;
    }
    return 0.0;
}

static void features_of(const bandit_arms *arms, uint32_t arm, double *features)
{
    for (size_t j = 0; j < arms->dimension; j++)
        features[j] = bandit_arms_feature(arms, arm, j);
}

/* The largest posterior mean among the pulled points; before the first reward the prior's. */
static bandit_status find_incumbent(space_engine *e, bandit_space_batch *b, bandit_error *err)
{
    enum { AT_ONCE = 256 };
    size_t d = bandit_arms_dimension(e->base.arms), n = b->ledger.n;
    b->incumbent = n > 0 ? -INFINITY : 0.0;
    if (e->rule->acquire != BANDIT_ACQUIRE_IMPROVEMENT && e->rule->acquire != BANDIT_ACQUIRE_PROBABILITY)
        return BANDIT_OK;
    double means[AT_ONCE], *features = bandit_alloc((size_t)AT_ONCE * d, sizeof *features);
    if (!features)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t first = 0; first < n; first += AT_ONCE) {
        size_t rows = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (size_t i = 0; i < rows; i++)
            features_of(e->base.arms, b->ledger.sums[first + i].arm, features + i * d);
        bandit_surface_values(&b->surface, features, rows, means, NULL);
        for (size_t i = 0; i < rows; i++)
            b->incumbent = fmax(b->incumbent, means[i]);
    }
    free(features);
    return BANDIT_OK;
}

/* Start-of-batch variance of an arm, paper's scale. */
static double variance_of(const space_engine *e, const bandit_space_batch *b, uint32_t arm)
{
    if (!b->has_model) {
        double k;
        bandit_covariance_diagonal(&e->base.covariance, &arm, 1, &k);
        return k / e->base.options.lambda;
    }
    bandit_embedding at = bandit_posterior_embed(&b->posterior, arm, b->w, b->scratch);
    return at.residual + at.norm2;
}

/* One more pull that is out, room for it being there. Returns its start-of-batch variance. */
static double take_out(space_engine *e, bandit_space_batch *b, uint32_t arm)
{
    double variance = variance_of(e, b, arm), features[64], *x = features;
    size_t d = bandit_arms_dimension(e->base.arms);
    b->out[b->n_out++] = arm;
    if (e->rule->samples) {
        b->ratio += variance;
        return variance;
    }
    if (d > 64)
        x = b->scratch; /* has room: bandit_posterior_scratch is more */
    features_of(e->base.arms, arm, x);
    double before = bandit_surface_hallucinate(&b->surface, x) / e->base.options.lambda;
    if (e->rule->end == BANDIT_SPACE_PRODUCT && b->has_model)
        b->ratio *= 1.0 + before;
    else
        b->ratio += variance;
    return variance;
}

/* Room for `more` points that are out. */
static bandit_status make_room(space_engine *e, bandit_space_batch *b, size_t more, bandit_error *err)
{
    if (!bandit_reserve_keep((void **)&b->out, &b->capacity_out, b->n_out, b->n_out + more, sizeof *b->out))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return e->rule->samples ? BANDIT_OK : bandit_surface_reserve(&b->surface, more, err);
}

static void write_state(const space_engine *e, bandit_space_batch *b)
{
    space_state state = {.has_model = b->has_model,
                         .observations = b->ledger.observations,
                         .drawn_at = b->drawn_at,
                         .log_sum_1 = b->log_sums.c1,
                         .log_sum_3 = b->log_sums.c3,
                         .sum_squares = b->ledger.sum_squares};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    strncpy(state.code_path, e->base.covariance.simd->name, sizeof state.code_path - 1);
    static_assert(sizeof state <= sizeof b->state, "the state fits");
    memcpy(b->state, &state, sizeof state);
    b->n_state = sizeof state;
}

/* From ledger, posterior and log-sums to the frozen batch: the same path for one that begins and one that is
 * restored. */
static bandit_status freeze(space_engine *e, bandit_space_batch *b, const bandit_pick *pending,
                            size_t n_pending, bandit_error *err)
{
    const bandit_posterior prior = {.covariance = &e->base.covariance, .lambda = e->base.options.lambda};
    if (!b->has_model) {
        bandit_posterior_clear(&b->posterior);
        b->posterior = prior;
    }
    size_t scratch = bandit_posterior_scratch(&b->posterior) + bandit_arms_dimension(e->base.arms);
    b->n_out = 0;
    if (!bandit_reserve((void **)&b->w, &b->capacity_w, b->posterior.m, sizeof(double)) ||
        !bandit_reserve((void **)&b->scratch, &b->capacity_scratch, scratch, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_surface_start(&b->surface, &b->posterior, n_pending + MORE_PICKS, err);
    if (status == BANDIT_OK)
        status = make_room(e, b, n_pending, err);
    if (status == BANDIT_OK)
        status = find_incumbent(e, b, err);
    if (status != BANDIT_OK)
        return status;
    b->width = width_of(e, b);
    b->n_picks = 0;
    b->ratio = 1.0;
    for (size_t i = 0; i < n_pending; i++)
        take_out(e, b, pending[i].arm);
    write_state(e, b);
    return bandit_engine_check_memory(&e->base, (double)bandit_engine_memory(&e->base), err);
}

/* The width in standard deviations of the prior. */
static double radius(const bandit_engine *engine, const void *batch)
{
    return width_of((const space_engine *)engine, batch);
}

static bandit_status space_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                       const bandit_pick *pending, size_t n_pending,
                                       const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    space_engine *e = self(engine);
    bandit_space_batch *ended = &e->batches[e->in_force], *next = &e->batches[1 - e->in_force];
    bandit_status status =
        bandit_engine_next_ledger(engine, &next->ledger, &ended->ledger, results, n_results, err);
    if (status != BANDIT_OK)
        return status;
    bool has_history = false, counts = engine->options.algorithm == BANDIT_BBKB;
    for (size_t i = 0; i < n_results; i++)
        has_history |= !results[i].chosen;
    next->has_model = next->ledger.n > 0;
    next->log_sums = ended->log_sums;
    next->n_dictionary = 0;
    next->drawn_at = 0;
    if (counts && ended->has_model)
        status = bandit_log_sums_add(&next->log_sums, &ended->posterior, results, n_results, err);
    if (status == BANDIT_OK && next->has_model) {
        status = choose_dictionary(e, ended, next, has_history, pending, n_pending, err);
        if (status == BANDIT_OK)
            status = build_posterior(e, next, err);
        if (status == BANDIT_OK && counts && !ended->has_model)
            status = bandit_log_sums_start(&next->log_sums, &next->posterior, err);
    }
    if (status == BANDIT_OK && next->has_model)
        bandit_engine_grow_norm_bound(engine, bandit_posterior_mean_norm(&next->posterior), radius, next);
    if (status == BANDIT_OK)
        status = freeze(e, next, pending, n_pending, err);
    if (status != BANDIT_OK)
        return status;
    e->in_force = 1 - e->in_force;
    e->has_grid = false;
    return BANDIT_OK;
}

static bandit_status space_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                 const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_space_batch *b = &self(engine)->batches[self(engine)->in_force];
    bandit_status status = bandit_ledger_amend(&b->ledger, amendments, n, sums, n_sums, err);
    bool counts = engine->options.algorithm == BANDIT_BBKB && b->has_model;
    if (b->drawn_at > b->ledger.observations)
        b->drawn_at = b->ledger.observations;
    for (size_t i = 0; status == BANDIT_OK && counts && i < n; i++) {
        const bandit_amendment *a = &amendments[i];
        bandit_result added = {.arm = a->arm,
                               .repeats = a->now.repeats,
                               .reward = a->now.reward,
                               .chosen = a->chosen,
                               .variance = a->variance};
        if (a->now.repeats > a->was.repeats) {
            added.repeats -= a->was.repeats;
            status = bandit_log_sums_add(&b->log_sums, &b->posterior, &added, 1, err);
        }
    }
    return status;
}

static bandit_status read_state(space_engine *e, bandit_space_batch *b, const bandit_checkpoint *checkpoint,
                                space_state *state, bandit_error *err)
{
    if (checkpoint->n_state != sizeof *state)
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state has %zu bytes, not %zu",
                           checkpoint->n_state, sizeof *state);
    memcpy(state, checkpoint->state, sizeof *state);
    if (memcmp(state->magic, STATE_MAGIC, sizeof state->magic) != 0)
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored state is of another kind or machine type");
    if (state->has_model != (checkpoint->n_sums > 0) || state->has_model != (checkpoint->n_dictionary > 0) ||
        state->drawn_at > state->observations ||
        !(isfinite(state->log_sum_1) && isfinite(state->log_sum_3) && isfinite(state->sum_squares) &&
          state->sum_squares >= 0.0))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored scalars are not valid");
    const bandit_simd *recorded = NULL;
    if (memchr(state->code_path, '\0', sizeof state->code_path))
        recorded = bandit_simd_named(state->code_path);
    if (recorded)
        e->base.covariance.simd = recorded;
    b->has_model = state->has_model;
    b->drawn_at = state->drawn_at;
    b->log_sums = (bandit_log_sums){state->log_sum_1, state->log_sum_3};
    return BANDIT_OK;
}

static bandit_status space_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                   const bandit_pick *pending, size_t n_pending,
                                   const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    space_engine *e = self(engine);
    bandit_space_batch *b = &e->batches[e->in_force];
    size_t n_arms = bandit_arms_count(engine->arms);
    space_state state;
    bandit_status status = read_state(e, b, checkpoint, &state, err);
    if (status == BANDIT_OK)
        status =
            bandit_ledger_restore(&b->ledger, n_arms, checkpoint, state.observations, state.sum_squares, err);
    if (status == BANDIT_OK)
        status = bandit_dictionary_restore(&b->dictionary, &b->capacity_dictionary, checkpoint, n_arms, err);
    b->n_dictionary = checkpoint->n_dictionary;
    if (status == BANDIT_OK && b->has_model)
        status = build_posterior(e, b, err);
    return status == BANDIT_OK ? freeze(e, b, pending, n_pending, err) : status;
}

/* ---- what may be picked -------------------------------------------------------------------------------- */

typedef struct choice {
    space_engine *e;
    bandit_space_batch *b;
    const bandit_select_limits *limits;
    bandit_acquisition acquisition;
    bool strict; /* no repeats where they are useless, and away from what is withheld */
    double *means, *variances;
    double mean, variance;
} choice;

static bool is_in(const uint32_t *sorted, size_t n, uint32_t arm)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < arm)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && sorted[low] == arm;
}

static bool is_visited(const bandit_space_batch *b, uint32_t arm)
{
    size_t low = 0, high = b->ledger.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->ledger.sums[middle].arm < arm)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < b->ledger.n && b->ledger.sums[low].arm == arm)
        return true;
    for (size_t i = 0; i < b->n_out; i++) {
        if (b->out[i] == arm)
            return true;
    }
    return false;
}

/* Within BANDIT_SPACE_AVOIDED lengthscales of a withheld point? Distances are the kernel's. */
static bool is_near_withheld(const choice *c, const double *features)
{
    const bandit_covariance *covariance = &c->e->base.covariance;
    const bandit_arms *arms = c->e->base.arms;
    const bandit_kernel *kernel = &c->e->base.options.kernel;
    if (kernel->n_lengthscales == 0)
        return false;
    for (size_t i = 0; i < c->limits->n_withheld; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < covariance->dimension; j++) {
            double l = kernel->lengthscales[kernel->n_lengthscales == 1 ? 0 : j];
            double t = (features[j] - bandit_arms_feature(arms, c->limits->withheld[i], j)) / l;
            sum += t * t;
        }
        if (sum < BANDIT_SPACE_AVOIDED * BANDIT_SPACE_AVOIDED)
            return true;
    }
    return false;
}

static bool accepts(void *context, const double *coded, const double *features)
{
    const choice *c = context;
    size_t arm = bandit_arms_find(c->e->base.arms, coded);
    if (arm != SIZE_MAX && is_in(c->limits->withheld, c->limits->n_withheld, (uint32_t)arm))
        return false;
    if (!c->strict)
        return true;
    if (bandit_is_silent(&c->e->base) && arm != SIZE_MAX && is_visited(c->b, (uint32_t)arm))
        return false;
    return c->limits->n_withheld == 0 || !is_near_withheld(c, features);
}

/* ---- objectives ---------------------------------------------------------------------------------------- */

static void acquisition_values(void *context, const double *features, size_t n, double *out)
{
    choice *c = context;
    bool needs_variance = c->acquisition.kind != BANDIT_ACQUIRE_MEAN;
    bandit_surface_values(&c->b->surface, features, n, c->means, needs_variance ? c->variances : NULL);
    for (size_t i = 0; i < n; i++)
        out[i] =
            bandit_acquisition_value(&c->acquisition, c->means[i], needs_variance ? c->variances[i] : 0.0);
}

static double acquisition_slopes(void *context, const double *features, double *gradient)
{
    choice *c = context;
    bandit_surface *s = &c->b->surface;
    double by_mean, by_variance;
    bandit_surface_look(s, features);
    double value =
        bandit_acquisition_slopes(&c->acquisition, s->mean, fmax(0.0, s->variance), &by_mean, &by_variance);
    bandit_surface_slope(s, by_mean, by_variance, gradient);
    return value;
}

static void sample_values(void *context, const double *features, size_t n, double *out)
{
    choice *c = context;
    const bandit_svgp_sampler *sampler = &c->e->sampler;
    size_t d = bandit_arms_dimension(c->e->base.arms);
    bandit_surface_combine(&c->b->surface, sampler->weight, features, n, out);
    double *tile = sampler->scratch, values[BANDIT_TILE];
    for (size_t first = 0; first < n; first += BANDIT_TILE) {
        size_t lanes = n - first < BANDIT_TILE ? n - first : BANDIT_TILE;
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            for (size_t j = 0; j < d; j++)
                tile[j * BANDIT_TILE + lane] = features[(first + (lane < lanes ? lane : 0)) * d + j];
        }
        bandit_features_evaluate(&c->e->features, &sampler->draw, tile, values, tile + d * BANDIT_TILE);
        for (size_t lane = 0; lane < lanes; lane++)
            out[first + lane] += sampler->alpha * values[lane];
    }
}

static double sample_slopes(void *context, const double *features, double *gradient)
{
    choice *c = context;
    const bandit_svgp_sampler *sampler = &c->e->sampler;
    size_t d = bandit_arms_dimension(c->e->base.arms);
    double *prior = sampler->scratch;
    double value = bandit_surface_combine_slopes(&c->b->surface, sampler->weight, features, gradient);
    value += sampler->alpha * bandit_features_slopes(&c->e->features, &sampler->draw, features, prior);
    for (size_t j = 0; j < d; j++)
        gradient[j] += sampler->alpha * prior[j];
    return value;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

static bool same_fixed(const space_engine *e, const double *fixed)
{
    for (size_t i = 0; i < space_of(e)->n; i++) {
        double wanted = fixed ? fixed[i] : (double)NAN;
        if (e->fixed[i] != wanted && !(isnan(e->fixed[i]) && isnan(wanted)))
            return false;
    }
    return true;
}

/* The grid for these fixed values: sweep and dictionary. Made at the batch's first pick, and whenever other
 * values are fixed. */
static bandit_status make_grid(space_engine *e, bandit_space_batch *b, const double *fixed, bandit_error *err)
{
    const bandit_space *space = space_of(e);
    if (e->has_grid && same_fixed(e, fixed))
        return BANDIT_OK;
    e->has_grid = false;
    bandit_status status =
        bandit_maximizer_start(&e->maximizer, space, fixed, e->base.options.seed, e->base.batch, err);
    for (size_t i = 0; status == BANDIT_OK && i < b->n_dictionary && i < MOST_STARTS; i++) {
        bandit_arms_coded(e->base.arms, b->dictionary[b->n_dictionary - 1 - i], e->coded);
        status = bandit_maximizer_add(&e->maximizer, e->coded, err);
    }
    size_t n = e->maximizer.n_grid, d = space->dimension;
    if (status == BANDIT_OK && !e->rule->samples)
        status = bandit_grid_start(&e->grid, &b->surface, e->maximizer.features, n, err);
    size_t trials = n > BANDIT_MAXIMIZE_TRIALS ? n : BANDIT_MAXIMIZE_TRIALS;
    if (status == BANDIT_OK &&
        !bandit_reserve((void **)&e->values, &e->capacity_values, n + 2 * trials + d, sizeof(double)))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < space->n; i++)
        e->fixed[i] = fixed ? fixed[i] : (double)NAN;
    e->has_grid = true;
    return bandit_engine_check_memory(&e->base, (double)bandit_engine_memory(&e->base), err);
}

static bandit_acquisition acquisition_of(const space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    bandit_acquisition a = {.kind = e->rule->acquire, .smallest = 1e-12 * e->base.covariance.kappa2};
    if (!b->has_model)
        a.kind = BANDIT_ACQUIRE_VARIANCE;
    else if (a.kind == BANDIT_ACQUIRE_UCB)
        a.parameter = b->width;
    else
        a.parameter = b->incumbent + o->zeta;
    return a;
}

/* The maximizer's answer in e->coded. */
static bandit_status maximize(space_engine *e, bandit_space_batch *b, const bandit_select_limits *limits,
                              bool *found, bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    const uint64_t most = (uint64_t)1 << 24;
    bandit_status status = make_grid(e, b, limits->fixed, err);
    if (status != BANDIT_OK)
        return status;
    size_t n = e->maximizer.n_grid, trials = n > BANDIT_MAXIMIZE_TRIALS ? n : BANDIT_MAXIMIZE_TRIALS;
    choice c = {.e = e,
                .b = b,
                .limits = limits,
                .acquisition = acquisition_of(e, b),
                .strict = true,
                .means = e->values + n,
                .variances = e->values + n + trials};
    bandit_objective objective = {&c, acquisition_values, acquisition_slopes, accepts};
    if (e->rule->samples) {
        objective = (bandit_objective){&c, sample_values, sample_slopes, accepts};
        status = bandit_svgp_sampler_prepare(&e->sampler, &b->posterior, &e->features,
                                             &bandit_executor_serial, err);
        if (status != BANDIT_OK)
            return status;
        bandit_svgp_draw(&e->sampler, b->width, o->seed, e->base.batch, b->n_picks % most);
        sample_values(&c, e->maximizer.features, n, e->values);
    } else {
        status = bandit_grid_update(&e->grid, &b->surface, err);
        for (size_t i = 0; status == BANDIT_OK && i < n; i++)
            e->values[i] = bandit_acquisition_value(&c.acquisition, e->grid.mean[i], e->grid.variance[i]);
    }
    *found = false;
    for (int attempt = 0; status == BANDIT_OK && attempt < 2 && !*found; attempt++) {
        c.strict = attempt == 0;
        status = bandit_maximizer_run(&e->maximizer, &objective, e->values, b->n_picks % most, e->coded,
                                      found, err);
    }
    return status;
}

/* ---- the design ---------------------------------------------------------------------------------------- */

static bool has_default(const bandit_space *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->parameters[i].has_default)
            return true;
    }
    return false;
}

/* Defaults, and the middle where there is none. */
static void default_genes(space_engine *e, const bandit_genome *g, double *genes)
{
    for (size_t i = 0; i < g->space->n; i++) {
        const bandit_parameter *p = &g->space->parameters[i];
        genes[i] = bandit_genome_gene(g, i, 0.5);
        e->coded[i] = p->has_default ? p->default_value : (double)NAN;
    }
    bandit_genome_take(g, e->coded, genes);
}

static bool accepts_design(space_engine *e, const bandit_select_limits *limits, bool strict)
{
    size_t arm = bandit_arms_find(e->base.arms, e->coded);
    return arm == SIZE_MAX || (!strict && !is_in(limits->withheld, limits->n_withheld, (uint32_t)arm));
}

/* Picks before the first reward, and what epsilon-greedy explores: e->coded. Points of the sequence (of
 * random numbers) until there is one that is new; then one that may be chosen. */
static bandit_status choose_design(space_engine *e, bandit_space_batch *b, const bandit_select_limits *limits,
                                   bool random, bool *found, bandit_error *err)
{
    const bandit_space *space = space_of(e);
    bandit_genome genome = {0};
    double *genes = bandit_alloc(space->n, sizeof *genes);
    if (!genes)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_genome_init(&genome, space, limits->fixed, e->base.options.seed, err);
    if (status == BANDIT_OK && !random)
        status = bandit_genome_sequence(&genome, e->base.batch, err);
    bool defaults = !random && b->n_out == 0 && e->base.batch == 0 && has_default(space);
    *found = false;
    const uint64_t tries = DESIGN_TRIES;
    for (uint64_t attempt = 0; status == BANDIT_OK && attempt < 2 * tries && !*found; attempt++) {
        uint64_t number = (random ? b->n_picks : b->n_out) + attempt * ((uint64_t)1 << 20);
        if (defaults && attempt == 0)
            default_genes(e, &genome, genes);
        else if (random)
            bandit_genome_random(&genome, e->base.batch, BANDIT_PURPOSE_UNIFORM, number + 1, genes);
        else
            bandit_genome_sweep(&genome, number, genes);
        bandit_genome_point(&genome, genes, e->coded);
        *found = accepts_design(e, limits, !random && attempt < tries);
    }
    bandit_genome_clear(&genome);
    free(genes);
    return status;
}

/* Points of the first batch: a few more than there are parameters, at most a quarter of the horizon. */
static uint64_t design_size(const space_engine *e)
{
    uint64_t n = space_of(e)->n + 1, horizon = e->base.options.horizon;
    n = n < LEAST_DESIGN ? LEAST_DESIGN : n > MOST_DESIGN ? MOST_DESIGN : n;
    if (horizon > 0 && n > horizon / 4)
        n = horizon / 4 > 0 ? horizon / 4 : 1;
    return n < e->base.options.max_batch ? n : e->base.options.max_batch;
}

static bool samples_uncertainty(const space_engine *e, const bandit_space_batch *b)
{
    return !b->has_model && e->base.options.init == BANDIT_INIT_UNCERTAINTY;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

/* Does the batch end before another pick? */
static bandit_stop_rule stop_rule(const space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    if (samples_uncertainty(e, b))
        return b->n_picks >= o->max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE; /* and choose's */
    if (!b->has_model)
        return b->n_out >= design_size(e) ? BANDIT_STOP_INITIAL : BANDIT_STOP_NONE;
    if (e->rule->end == BANDIT_SPACE_SEQUENTIAL) {
        /* Samples are independent: what is out is no reason to wait (Kandasamy et al. 2018). */
        bool waits = e->rule->algorithm == BANDIT_BKB;
        return (waits ? b->n_out : b->n_picks) > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
    }
    if (b->ratio > o->ratio_bound)
        return BANDIT_STOP_GLOBAL;
    return b->n_picks >= o->max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE;
}

/* The next point in e->coded; *stop when there is none. */
static bandit_status choose(space_engine *e, bandit_space_batch *b, const bandit_select_limits *limits,
                            bandit_stop_rule *stop, bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    bool found = false, explores = false;
    bandit_status status;
    if (o->algorithm == BANDIT_EPSILON_GREEDY)
        explores = bandit_random_uniform(o->seed, e->base.batch, BANDIT_PURPOSE_UNIFORM,
                                         (uint64_t)1 << 63 | b->n_picks) < o->epsilon;
    if (explores || (!b->has_model && !samples_uncertainty(e, b)))
        status = choose_design(e, b, limits, explores && b->has_model, &found, err);
    else
        status = maximize(e, b, limits, &found, err);
    *stop = found ? BANDIT_STOP_NONE : BANDIT_STOP_EXHAUSTED;
    if (status != BANDIT_OK || !found || !samples_uncertainty(e, b) || b->n_out == 0 || limits->beyond_bound)
        return status;
    bandit_arms_scale_point(e->base.arms, e->coded, e->values);
    bandit_surface_look(&b->surface, e->values);
    if (fmax(0.0, b->surface.variance) / o->lambda < 1.0 / o->parallelism)
        *stop = BANDIT_STOP_INITIAL; /* [BBKB] Alg. 3 */
    return BANDIT_OK;
}

/* The arm at e->coded, appended when it is new. */
static bandit_status arm_of_choice(space_engine *e, uint32_t *arm, bandit_error *err)
{
    size_t known = bandit_arms_find(e->base.arms, e->coded);
    *arm = (uint32_t)(known == SIZE_MAX ? bandit_arms_count(e->base.arms) : known);
    return known == SIZE_MAX ? bandit_arms_append(e->base.arms, e->coded, 1, err) : BANDIT_OK;
}

static bandit_status space_select(bandit_engine *engine, const bandit_select_limits *limits,
                                  const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                  bandit_error *err)
{
    (void)executor;
    space_engine *e = self(engine);
    bandit_space_batch *b = &e->batches[e->in_force];
    bandit_status status = BANDIT_OK;
    while (status == BANDIT_OK) {
        uint32_t arm;
        out->stop_rule = stop_rule(e, b);
        if (out->stop_rule != BANDIT_STOP_NONE && !limits->beyond_bound)
            break;
        if (out->n_picks == limits->remaining) {
            out->stop_rule = BANDIT_STOP_HORIZON;
            break;
        }
        if (out->n_picks == limits->max_picks)
            break;
        bandit_stop_rule stop = BANDIT_STOP_NONE;
        status = make_room(e, b, 1, err);
        if (status == BANDIT_OK)
            status = choose(e, b, limits, &stop, err);
        if (status == BANDIT_OK && stop == BANDIT_STOP_NONE)
            status = arm_of_choice(e, &arm, err);
        if (status == BANDIT_OK && stop != BANDIT_STOP_NONE) {
            out->stop_rule = stop;
            break;
        }
        if (status != BANDIT_OK)
            break;
        picks[out->n_picks++] = (bandit_pick){.arm = arm, .variance = take_out(e, b, arm)};
        b->n_picks++;
    }
    out->ratio = b->ratio;
    /* picks that were made stand; the next call says why there are no more */
    return out->n_picks > 0 ? BANDIT_OK : status;
}

static bandit_status space_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                        const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    space_engine *e = self(engine);
    bandit_space_batch *b = &e->batches[e->in_force];
    bandit_status status = make_room(e, b, n_picks, err);
    for (size_t i = 0; status == BANDIT_OK && i < n_picks; i++) {
        take_out(e, b, picks[i].arm);
        b->n_picks++;
    }
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void space_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_space_batch *b = in_force(engine);
    out->dictionary = b->dictionary;
    out->n_dictionary = b->n_dictionary;
    out->sums = b->ledger.sums;
    out->n_sums = b->ledger.n;
    out->state = b->state;
    out->n_state = b->n_state;
}

/* By arm, or by coordinates where `arms` is NULL. */
static bandit_status predict(const bandit_engine *engine, const uint32_t *arms, const double *coordinates,
                             size_t n, bandit_prediction *out, bandit_error *err)
{
    const space_engine *e = (const space_engine *)engine;
    const bandit_space_batch *b = in_force(engine);
    const bandit_posterior prior = {.covariance = &engine->covariance, .lambda = engine->options.lambda};
    double width = engine->started ? b->width : width_of(e, b);
    return bandit_posterior_predict(b->has_model ? &b->posterior : &prior,
                                    width * sqrt(engine->options.lambda), arms, coordinates, n, out, err);
}

static bandit_status space_predict_arms(const bandit_engine *engine, const uint32_t *arms, size_t n,
                                        bandit_prediction *out, bandit_error *err)
{
    return predict(engine, arms, NULL, n, out, err);
}

static bandit_status space_predict_points(const bandit_engine *engine, const double *coordinates, size_t n,
                                          bandit_prediction *out, bandit_error *err)
{
    return predict(engine, NULL, coordinates, n, out, err);
}

static void space_describe(const bandit_engine *engine, bandit_description *out)
{
    const space_engine *e = (const space_engine *)engine;
    const bandit_space_batch *b = in_force(engine);
    out->observations = b->ledger.observations;
    out->beta = (engine->started ? b->width : width_of(e, b)) * sqrt(engine->options.lambda);
    out->dictionary = b->dictionary;
    out->n_dictionary = b->n_dictionary;
    if (b->has_model) {
        out->effective_dimension = b->posterior.effective_dimension;
        out->information_gain = 0.5 * b->posterior.log_det_ratio;
    }
}

#define TABLE(label)                                                                                         \
    {                                                                                                        \
        .name = label, .size = sizeof(space_engine), .has_model = true, .from_sums = true,                   \
        .open = space_open, .close = space_close, .begin_batch = space_begin_batch, .amend = space_amend,    \
        .restore = space_restore, .select = space_select, .replay_picks = space_replay_picks,                \
        .checkpoint = space_checkpoint, .predict_arms = space_predict_arms,                                  \
        .predict_points = space_predict_points, .describe = space_describe, .memory = space_memory,          \
    }

const bandit_algorithm_table bandit_space_bbkb_table = TABLE("bbkb"), bandit_space_bkb_table = TABLE("bkb"),
                             bandit_space_gp_ucb_table = TABLE("gp_ucb"),
                             bandit_space_igp_ucb_table = TABLE("igp_ucb"),
                             bandit_space_gp_bucb_table = TABLE("gp_bucb"),
                             bandit_space_gp_ts_table = TABLE("gp_ts"),
                             bandit_space_async_ts_table = TABLE("async_ts"),
                             bandit_space_s_gp_ts_table = TABLE("s_gp_ts"),
                             bandit_space_gp_ei_table = TABLE("gp_ei"),
                             bandit_space_gp_pi_table = TABLE("gp_pi"),
                             bandit_space_epsilon_greedy_table = TABLE("epsilon_greedy");
