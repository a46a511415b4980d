/* Partitioned improved GP-UCB. [JBG20]
 *
 * Janz, Burt, González: Bandit optimisation of functions in the Matérn kernel RKHS. AISTATS 2020.
 *
 * There is an independent exact Gaussian process on each cell of a cover, which is refined where there are
 * many pulls (partition.h, cover.h); x_t = argmax_A max_{x in A} mu_A(x) + beta_A sigma_A(x),
 *
 *   beta_A = B + L sqrt(2 (gamma_A + 1 + log(N~_t / delta))),   N~_t = 4 (t + 1)^{bd},  b = (d+1)/(d+2 nu),
 *
 * where gamma_A is the exact information gain of the pulls in A. When several rewards arrive together, cells
 * are split until none must be split any more. If rewards arrive one at a time, that is the paper's one level
 * per step (cover.h). The theory assumes nu > 1.
 *
 * A batch is one pick, made when no picks are in flight. Picks beyond it, and earlier picks in flight, only
 * shrink the selection variances of their cells, as in GP-BUCB (ours, not the paper's). The state is only the
 * ledger; cover and posteriors follow from it. */
#include "core/algorithms/pi_gp_ucb_space.h"
#include "core/algorithms/stored_state.h"
#include "core/base/allocate.h"
#include "core/posterior/ledger.h"
#include "core/posterior/partition.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pi_engine {
    bandit_engine base;
    bandit_partition partition;
    bandit_ledger ledgers[2]; /* the current one, and memory for the next */
    unsigned in_force;
    uint32_t *pulled; /* n_pulled: the arms of the ledger when the batch began, ascending */
    size_t n_pulled, capacity_pulled;

    /* State of the current batch. */
    uint64_t n_picks;
    uint64_t n_pending; /* picks of earlier batches that were in flight when it began */
    double total;       /* sum of the start-of-batch variances of the picks in flight, paper's scale */
    unsigned char state[32];
    size_t n_state;
} pi_engine;

/* The stored scalars, in the machine's byte order. */
typedef struct pi_state {
    char magic[BANDIT_STATE_KIND];
    uint64_t observations;
    double sum_squares;
} pi_state;

static const char STATE_MAGIC[BANDIT_STATE_KIND] = "pi_gpuc";

static pi_engine *self(bandit_engine *engine)
{
    return (pi_engine *)engine;
}

static const pi_engine *self_const(const bandit_engine *engine)
{
    return (const pi_engine *)engine;
}

static const bandit_ledger *ledger_of(const pi_engine *pi)
{
    return &pi->ledgers[pi->in_force];
}

/* beta_A before step t = observations + 1, for a cell with this information gain. */
static double width(const pi_engine *pi, double information_gain)
{
    const bandit_options *o = &pi->base.options;
    double t = (double)ledger_of(pi)->observations + 1.0;
    double b = 1.0 / pi->partition.cover.exponent, d = (double)pi->partition.cover.dimension;
    double log_cells = log(4.0) + b * d * log(t + 1.0);
    return o->norm_bound + o->noise_std * sqrt(2.0 * (information_gain + 1.0 + log_cells - log(o->delta)));
}

static bandit_status pi_open(bandit_engine *engine, bandit_error *err)
{
    const bandit_options *o = &engine->options;
    size_t n = bandit_arms_count(engine->arms), d = bandit_arms_dimension(engine->arms);
    uint32_t initial = o->initial_cells ? (uint32_t)o->initial_cells
                                        : bandit_cover_initial_for(d, o->kernel.nu, (double)o->horizon);
    bandit_partition_init(&self(engine)->partition, engine->arms, &engine->options.kernel, o->lambda,
                          initial);
    /* each arm has features, a mean, two variances and a number in its cell */
    double arm_bytes = (double)(d + 3) * sizeof(double) + sizeof(uint32_t);
    return bandit_engine_check_memory(engine, (double)n * arm_bytes, err);
}

static void pi_close(bandit_engine *engine)
{
    pi_engine *pi = self(engine);
    bandit_partition_clear(&pi->partition);
    bandit_ledger_clear(&pi->ledgers[0]);
    bandit_ledger_clear(&pi->ledgers[1]);
    free(pi->pulled);
}

static size_t own_memory(const pi_engine *pi)
{
    return (pi->ledgers[0].capacity + pi->ledgers[1].capacity) * sizeof(bandit_arm_sum) +
           pi->capacity_pulled * sizeof *pi->pulled;
}

/* Memory in bytes that is left for the cells. */
static double room_for_cells(const pi_engine *pi)
{
    return (double)pi->base.memory_limit - (double)bandit_engine_own_memory(&pi->base) -
           (double)own_memory(pi);
}

static size_t pi_memory(const bandit_engine *engine)
{
    return own_memory(self_const(engine)) + bandit_partition_memory(&self_const(engine)->partition);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static void hallucinate(pi_engine *pi, uint32_t arm, double variance, const bandit_executor *executor)
{
    pi->total += variance;
    bandit_partition_hallucinate(&pi->partition, arm, executor);
}

/* Start-of-batch variance, in the paper's scale, in the cell that gives the arm its upper bound. */
static double variance_of(const pi_engine *pi, uint32_t arm)
{
    return bandit_partition_bound(&pi->partition, arm).variance / pi->base.options.lambda;
}

static double radius(const bandit_engine *engine, const void *region)
{
    return width(self_const(engine), ((const bandit_region *)region)->information_gain);
}

/* Makes ledger number `which` the current one, with its cells, widths and hallucinated picks. `results` are
 * those that the former ledger does not include. After an error nothing has changed. */
static bandit_status begin(pi_engine *pi, unsigned which, const bandit_result *results, size_t n_results,
                           const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                           bandit_error *err)
{
    const bandit_ledger *ledger = &pi->ledgers[which];
    bandit_partition_change change = {0};
    /* The content is kept, because a failed batch still describes it. */
    if (!bandit_reserve_keep((void **)&pi->pulled, &pi->capacity_pulled, pi->n_pulled, ledger->n,
                             sizeof *pi->pulled))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_partition_prepare(&pi->partition, &change, ledger, results, n_results,
                                                    pending, n_pending, room_for_cells(pi), executor, err);
    if (status != BANDIT_OK) {
        bandit_partition_abandon(&change);
        return status;
    }
    bandit_partition_commit(&pi->partition, &change);
    pi->in_force = which;
    pi->n_pulled = ledger->n;
    for (size_t i = 0; i < ledger->n; i++)
        pi->pulled[i] = ledger->sums[i].arm;
    for (size_t i = 0; i < pi->partition.n && pi->base.grows_norm_bound; i++) {
        bandit_region *region = pi->partition.regions[i];
        bandit_engine_grow_norm_bound(&pi->base, bandit_exact_mean_norm(region->posterior), radius, region);
    }
    for (size_t i = 0; i < pi->partition.n; i++) {
        bandit_region *region = pi->partition.regions[i];
        region->width = width(pi, region->information_gain);
    }
    pi->n_picks = 0;
    pi->n_pending = n_pending;
    pi->total = 0.0;
    for (size_t i = 0; i < n_pending; i++)
        hallucinate(pi, pending[i].arm, variance_of(pi, pending[i].arm), executor);

    pi_state state = {.observations = ledger->observations, .sum_squares = ledger->sum_squares};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    static_assert(sizeof state <= sizeof pi->state, "the state fits");
    memcpy(pi->state, &state, sizeof state);
    pi->n_state = sizeof state;
    return BANDIT_OK;
}

static bandit_status pi_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                    const bandit_pick *pending, size_t n_pending,
                                    const bandit_executor *executor, bandit_error *err)
{
    pi_engine *pi = self(engine);
    unsigned which = 1 - pi->in_force;
    bandit_status status =
        bandit_engine_next_ledger(engine, &pi->ledgers[which], ledger_of(pi), results, n_results, err);
    return status == BANDIT_OK ? begin(pi, which, results, n_results, pending, n_pending, executor, err)
                               : status;
}

/* The regions stay. The next batch rebuilds them all from the ledger, as a restored engine does. */
static bandit_status pi_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                              const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    pi_engine *pi = self(engine);
    bandit_status status = bandit_ledger_amend(&pi->ledgers[pi->in_force], amendments, n, sums, n_sums, err);
    if (status == BANDIT_OK)
        pi->partition.outdated = true;
    return status;
}

static bandit_status pi_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                                bandit_error *err)
{
    pi_engine *pi = self(engine);
    pi_state state;
    bandit_status status = bandit_state_read(&state, sizeof state, STATE_MAGIC, checkpoint, err);
    if (status != BANDIT_OK)
        return status;
    if (!(isfinite(state.sum_squares) && state.sum_squares >= 0.0))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored scalars are not valid");
    status = bandit_ledger_restore(&pi->ledgers[pi->in_force], bandit_arms_count(engine->arms), checkpoint,
                                   state.observations, state.sum_squares, err);
    if (status != BANDIT_OK)
        return status;
    return begin(pi, pi->in_force, NULL, 0, pending, n_pending, executor, err);
}

/* ---- picks --------------------------------------------------------------------------------------------- */

static bandit_stop_rule stop_rule(const pi_engine *pi)
{
    if (ledger_of(pi)->n == 0)
        return pi->n_picks + pi->n_pending > 0 ? BANDIT_STOP_INITIAL : BANDIT_STOP_NONE;
    return pi->n_picks + pi->n_pending > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
}

static bool choose(const pi_engine *pi, const bandit_select_limits *limits, uint32_t *arm)
{
    if (ledger_of(pi)->n == 0 && pi->n_picks + pi->n_pending == 0)
        return bandit_engine_uniform_arm(&pi->base, BANDIT_PURPOSE_INITIAL_ARM, 0, limits, arm);
    return bandit_partition_best(&pi->partition, limits->withheld, limits->n_withheld, arm);
}

static bandit_status pi_select(bandit_engine *engine, const bandit_select_limits *limits,
                               const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                               bandit_error *err)
{
    pi_engine *pi = self(engine);
    while (bandit_engine_wants_pick(limits, stop_rule(pi), out)) {
        uint32_t arm;
        if (!choose(pi, limits, &arm)) {
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
            break;
        }
        bandit_status status =
            bandit_partition_reserve(&pi->partition, arm, room_for_cells(pi), executor, err);
        if (status != BANDIT_OK && out->n_picks == 0)
            return status;
        if (status != BANDIT_OK)
            break; /* keep the picks made; the next call reports the error */
        bandit_pick pick = {.arm = arm, .variance = variance_of(pi, arm)};
        hallucinate(pi, arm, pick.variance, executor);
        picks[out->n_picks++] = pick;
        pi->n_picks++;
    }
    out->ratio = 1.0 + pi->total;
    return BANDIT_OK;
}

static bandit_status pi_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                     const bandit_executor *executor, bandit_error *err)
{
    pi_engine *pi = self(engine);
    for (size_t i = 0; i < n_picks; i++) {
        bandit_status status =
            bandit_partition_reserve(&pi->partition, picks[i].arm, room_for_cells(pi), executor, err);
        if (status != BANDIT_OK)
            return status;
        hallucinate(pi, picks[i].arm, variance_of(pi, picks[i].arm), executor);
        pi->n_picks++;
    }
    return BANDIT_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void pi_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const pi_engine *pi = self_const(engine);
    out->sums = ledger_of(pi)->sums;
    out->n_sums = ledger_of(pi)->n;
    out->state = pi->state;
    out->n_state = pi->n_state;
}

/* Before the first batch there are no cells. The prediction is then the Matérn prior, with variance 1. */
static bandit_status pi_predict(const bandit_engine *engine, const uint32_t *arms, const double *coordinates,
                                size_t n, bandit_prediction *out, bandit_error *err)
{
    const pi_engine *pi = self_const(engine);
    if (!arms)
        return bandit_partition_bound_at(&pi->partition, coordinates, n, width(pi, 0.0), out, err);
    for (size_t i = 0; i < n; i++) {
        out[i] = (bandit_prediction){.variance = 1.0, .ucb = width(pi, 0.0)};
        if (pi->partition.n > 0)
            out[i] = bandit_partition_bound(&pi->partition, arms[i]);
    }
    return BANDIT_OK;
}

/* beta is that of the widest cell. Effective dimension and information gain are sums over cells; an arm on
 * faces is counted in each of its cells. */
static void pi_describe(const bandit_engine *engine, bandit_description *out)
{
    const pi_engine *pi = self_const(engine);
    double widest = width(pi, 0.0);
    out->observations = ledger_of(pi)->observations;
    out->dictionary = pi->pulled; /* the posteriors are exact: all pulled arms */
    out->n_dictionary = pi->n_pulled;
    for (size_t i = 0; i < pi->partition.n; i++) {
        const bandit_region *region = pi->partition.regions[i];
        widest = fmax(widest, region->width);
        out->effective_dimension += region->pulled_variance / engine->options.lambda;
        out->information_gain += region->information_gain;
    }
    out->beta = widest * sqrt(engine->options.lambda); /* the factor of the paper's standard deviation */
}

static const bandit_algorithm_table list_table = {
    .size = sizeof(pi_engine),
    .from_sums = true,
    .open = pi_open,
    .close = pi_close,
    .begin_batch = pi_begin_batch,
    .amend = pi_amend,
    .restore = pi_restore,
    .select = pi_select,
    .replay_picks = pi_replay_picks,
    .checkpoint = pi_checkpoint,
    .predict = pi_predict,
    .describe = pi_describe,
    .memory = pi_memory,
};

/* ---- the algorithm ------------------------------------------------------------------------------------- */

static bandit_status check(const bandit_options *options, size_t dimension, bandit_error *err)
{
    if (options->init == BANDIT_INIT_UNCERTAINTY)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "init", "must be \"uniform\" for pi_gp_ucb");
    if (options->kernel.type != BANDIT_KERNEL_MATERN)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/type", "must be \"matern\" for pi_gp_ucb");
    if (dimension > BANDIT_COVER_DIMENSIONS)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "name",
                           "pi_gp_ucb supports at most %d dimensions, not %zu", BANDIT_COVER_DIMENSIONS,
                           dimension);
    return bandit_check_schedule(options->initial_cells, "initial_cells", BANDIT_COVER_INITIAL,
                                 options->horizon, err);
}

const bandit_algorithm_entry bandit_pi_gp_ucb_algorithm = {
    .about =
        {
            .description = "Independent GPs on the cells of a cover that splits where data gather.",
            .options = BANDIT_TAKES_WIDTH | BANDIT_TAKES(INITIAL_CELLS),
            .lambda_by_horizon = true,
            .numeric_spaces = true,
        },
    .list = &list_table,
    .space = &bandit_pi_gp_ucb_space_table,
    .check = check,
};
