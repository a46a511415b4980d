/* An engine under random calls. The input is read byte by byte: first what it stands on (features, a kernel
 * matrix, or a space) and its options, then calls: a batch with some of the rewards that are out, picks,
 * withheld arms, fixed values, predictions, corrections, arms that are added.
 *
 * What must hold: statuses are those of the header; picks are arms, and none that was withheld; numbers are
 * finite and no variance is negative; an engine restored from the checkpoint, with the picks replayed, goes
 * on with the same picks to the bit. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

enum { ARMS = 12, DIMENSION = 2, PICKS = 6, TOLD = 96, OUT = 24, PARAMETERS = 5, CALLS = 24 };

typedef struct input {
    const uint8_t *at, *end;
} input;

static unsigned byte(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static unsigned below(input *in, unsigned n)
{
    return byte(in) % n;
}

/* From ordinary to extreme. */
static double number(input *in)
{
    static const double extremes[] = {0.0, -0.0, 1.0,   -1.0,   1e-300, 1e-9,
                                      1e9, -1e9, 1e100, -1e100, 1e-154, 5e-324};
    unsigned b = byte(in);
    return b < sizeof extremes / sizeof *extremes ? extremes[b] : ((double)b - 128.0) / 16.0;
}

typedef struct run {
    input in;
    bandit_arms *arms;
    bandit_options options;
    double lengthscales[PARAMETERS * 4];
    bandit_engine *engine;
    bandit_pick out[OUT]; /* issued, not told */
    size_t n_out;
    bandit_pick pending[OUT]; /* those of former batches when this one began */
    size_t n_pending;
    bandit_pick picked[OUT]; /* in this batch */
    size_t n_picked;
    bandit_result told[TOLD]; /* in the model, in the order of joining */
    size_t n_told;
} run;

/* ---- what it stands on --------------------------------------------------------------------------------- */

static bandit_status make_features(run *r, bandit_error *err)
{
    double rows[ARMS * DIMENSION];
    for (size_t i = 0; i < ARMS * DIMENSION; i++)
        rows[i] = number(&r->in);
    HOLDS(bandit_arms_new(&r->arms, ARMS, DIMENSION, err) == BANDIT_OK);
    HOLDS(bandit_arms_set_rows(r->arms, 0, ARMS, rows, err) == BANDIT_OK);
    return bandit_arms_finish(r->arms, (bandit_scaling)below(&r->in, 3), ARMS, err);
}

static bandit_status make_matrix(run *r, bandit_error *err)
{
    double rows[ARMS * ARMS], points[ARMS];
    for (size_t i = 0; i < ARMS; i++)
        points[i] = number(&r->in);
    for (size_t i = 0; i < ARMS; i++)
        for (size_t j = 0; j < ARMS; j++)
            rows[i * ARMS + j] = exp(-fabs(points[i] - points[j]));
    rows[below(&r->in, ARMS)] += byte(&r->in) == 1 ? 0.5 : 0.0; /* no longer symmetric, or too large */
    HOLDS(bandit_arms_new_precomputed(&r->arms, ARMS, err) == BANDIT_OK);
    HOLDS(bandit_arms_set_rows(r->arms, 0, ARMS, rows, err) == BANDIT_OK);
    return bandit_arms_finish(r->arms, BANDIT_SCALING_NONE, ARMS, err);
}

static bandit_status make_space(run *r, bandit_error *err)
{
    static const double values[] = {3.0, 1.0, 7.5, 2.0};
    static const double indices[] = {0.0, 1.0, 2.0};
    bandit_parameter parameters[PARAMETERS];
    size_t n = 1 + below(&r->in, PARAMETERS);
    for (size_t i = 0; i < n; i++) {
        bandit_parameter *p = &parameters[i];
        *p = (bandit_parameter){.type = (bandit_parameter_type)below(&r->in, 5), .parent = BANDIT_NO_PARENT};
        p->min = p->type == BANDIT_PARAMETER_INTEGER ? below(&r->in, 4) : number(&r->in);
        p->max = p->min + (p->type == BANDIT_PARAMETER_INTEGER ? below(&r->in, 40) : fabs(number(&r->in)));
        p->log = below(&r->in, 4) == 1;
        p->numbers = values;
        p->n_values = below(&r->in, 5);
        if (i > 0 && below(&r->in, 3) == 1) {
            p->parent = below(&r->in, (unsigned)n);
            p->parent_values = indices;
            p->n_parent_values = 1 + below(&r->in, 3);
        }
    }
    bandit_status status = bandit_arms_new_space(&r->arms, parameters, n, err);
    if (status == BANDIT_OK && below(&r->in, 2) && bandit_arms_space_size(r->arms) <= 4 * ARMS)
        return bandit_arms_enumerate(r->arms, err);
    return status;
}

static void choose_options(run *r)
{
    static const double nus[] = {0.5, 1.5, 2.5};
    bandit_options *o = &r->options;
    *o = (bandit_options)BANDIT_OPTIONS_INIT;
    o->algorithm = (bandit_algorithm)below(&r->in, BANDIT_ALGORITHMS);
    o->kernel.type = (bandit_kernel_type)below(&r->in, 4);
    o->kernel.nu = nus[below(&r->in, 3)];
    size_t dimension = bandit_arms_dimension(r->arms), most = sizeof r->lengthscales / sizeof(double);
    o->kernel.n_lengthscales = below(&r->in, 4) || dimension > most ? 1 : dimension;
    for (size_t i = 0; i < o->kernel.n_lengthscales; i++)
        r->lengthscales[i] = pow(2.0, below(&r->in, 9) - 4.0);
    o->kernel.lengthscales = r->lengthscales;
    o->lambda = pow(10.0, -(double)below(&r->in, 9));
    o->noise_std = fabs(number(&r->in));
    o->norm_bound = fabs(number(&r->in));
    o->q_bar = 0.25 + below(&r->in, 8);
    o->q_bar_theory = below(&r->in, 4) == 1;
    o->ratio_bound = 1.0 + below(&r->in, 8) / 2.0;
    o->batch_rule = (bandit_batch_rule)below(&r->in, 2);
    o->confidence = (bandit_confidence)below(&r->in, 4);
    o->beta = fabs(number(&r->in));
    o->resample = (bandit_resample)below(&r->in, 3);
    o->max_batch = 1 + below(&r->in, 8);
    o->init = (bandit_init)below(&r->in, 2);
    o->gamma = (bandit_gamma)below(&r->in, 3);
    o->epsilon = below(&r->in, 11) / 10.0;
    o->population = 2 + below(&r->in, 6);
    o->sample = 1 + below(&r->in, 2);
    o->posterior = (bandit_posterior_kind)below(&r->in, 2);
    o->features = (bandit_features_kind)below(&r->in, 2);
    o->inducing = 1 + below(&r->in, 10);
    o->prior_features = 8 + below(&r->in, 24);
    o->dpp_steps = below(&r->in, 50);
    o->initial_cells = below(&r->in, 4);
    o->horizon = below(&r->in, 2) ? 0 : 1 + byte(&r->in);
    o->seed = byte(&r->in);
    unsigned learned = byte(&r->in);
    o->learn_lengthscale = learned & 1;
    o->learn_noise = learned & 2;
    o->learn_norm_bound = learned & 4;
    o->standardize_rewards = learned & 8;
    o->lambda_from_noise = learned & 16;
    o->revision = learned & 32 ? BANDIT_FIRST_REVISION : BANDIT_LATEST_REVISION;
}

/* ---- calls
 * ------------------------------------------------------------------------------------------------- */

static bool is_refusal(bandit_status status)
{
    return status == BANDIT_INVALID_OPTION || status == BANDIT_INVALID_ARMS || status == BANDIT_UNSUPPORTED ||
           status == BANDIT_MEMORY_LIMIT;
}

/* False: numbers broke down, and the engine says so. */
static bool begin_batch(run *r)
{
    bandit_result results[OUT];
    bandit_error err = {0};
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < r->n_out; i++) {
        bandit_pick pick = r->out[i];
        if (r->n_told + n < TOLD && below(&r->in, 4) != 1)
            results[n++] = (bandit_result){.arm = pick.arm,
                                           .repeats = 1 + below(&r->in, 3),
                                           .reward = number(&r->in),
                                           .chosen = true,
                                           .variance = pick.variance};
        else
            r->out[kept++] = pick;
    }
    bandit_status status =
        bandit_engine_begin_batch(r->engine, results, n, r->out, kept, &bandit_executor_serial, &err);
    HOLDS(status == BANDIT_OK || status == BANDIT_NUMERICAL || status == BANDIT_MEMORY_LIMIT);
    HOLDS(status == BANDIT_OK || *err.message);
    if (n > 0)
        memcpy(r->told + r->n_told, results, n * sizeof *results);
    r->n_told += n;
    r->n_out = r->n_pending = kept;
    memcpy(r->pending, r->out, kept * sizeof *r->out);
    r->n_picked = 0;
    return status == BANDIT_OK;
}

/* Restored, and with this batch's picks replayed. */
static bandit_engine *restored(run *r)
{
    bandit_checkpoint checkpoint;
    bandit_engine *other;
    bandit_error err = {0};
    bandit_engine_checkpoint(r->engine, &checkpoint);
    bandit_status status = bandit_engine_restore(&other, r->arms, &r->options, 0, &checkpoint, r->pending,
                                                 r->n_pending, &bandit_executor_serial, &err);
    if (status != BANDIT_OK)
        fprintf(stderr, "%s: not restored: %s\n", bandit_algorithm_name(r->options.algorithm), err.message);
    HOLDS(status == BANDIT_OK);
    HOLDS(bandit_engine_replay_picks(other, r->picked, r->n_picked, &bandit_executor_serial, &err) ==
          BANDIT_OK);
    return other;
}

static bool choose(run *r)
{
    bandit_pick picks[PICKS], same[PICKS];
    bandit_selection selection, other_selection;
    bandit_error err = {0};
    uint32_t withheld[ARMS];
    double fixed[PARAMETERS];
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    size_t before = bandit_arms_count(r->arms), n_parameters = 0;
    bool grows = bandit_arms_is_open_space(r->arms);
    limits.max_picks = 1 + below(&r->in, PICKS);
    limits.beyond_bound = below(&r->in, 2);
    if (r->n_out + limits.max_picks > OUT)
        return true;
    for (uint32_t arm = 0; arm < before && limits.n_withheld < ARMS; arm++)
        if (below(&r->in, 8) == 1)
            withheld[limits.n_withheld++] = arm;
    limits.withheld = limits.failed = withheld;
    limits.n_failed = limits.n_withheld;
    bandit_arms_parameters(r->arms, &n_parameters);
    if (grows && below(&r->in, 4) == 1 && before > 0) {
        bandit_arms_coded(r->arms, below(&r->in, (unsigned)(before < 256 ? before : 256)), fixed);
        for (size_t i = 0; i < n_parameters; i++)
            fixed[i] = below(&r->in, 2) ? fixed[i] : NAN;
        limits.fixed = fixed;
    }
    bandit_engine *other = grows ? NULL : restored(r);
    bandit_status status =
        bandit_engine_select(r->engine, &limits, &bandit_executor_serial, picks, &selection, &err);
    HOLDS(status == BANDIT_OK || status == BANDIT_NUMERICAL || status == BANDIT_MEMORY_LIMIT);
    if (other) {
        HOLDS(bandit_engine_select(other, &limits, &bandit_executor_serial, same, &other_selection, &err) ==
              status);
        HOLDS(status != BANDIT_OK || (selection.n_picks == other_selection.n_picks &&
                                      selection.stop_rule == other_selection.stop_rule));
        for (size_t i = 0; status == BANDIT_OK && i < selection.n_picks; i++)
            HOLDS(picks[i].arm == same[i].arm && picks[i].variance == same[i].variance);
        bandit_engine_free(other);
    }
    if (status != BANDIT_OK)
        return false;
    HOLDS(selection.n_picks <= limits.max_picks && isfinite(selection.ratio));
    for (size_t i = 0; i < selection.n_picks; i++) {
        HOLDS(picks[i].arm < bandit_arms_count(r->arms));
        HOLDS(isfinite(picks[i].variance) && picks[i].variance >= 0.0);
        for (size_t w = 0; w < limits.n_withheld; w++)
            HOLDS(picks[i].arm != withheld[w]);
        if (limits.fixed) {
            double coded[PARAMETERS];
            bandit_arms_coded(r->arms, picks[i].arm, coded);
            for (size_t p = 0; p < n_parameters; p++)
                HOLDS(isnan(fixed[p]) || isnan(coded[p]) || coded[p] == fixed[p]);
        }
        r->out[r->n_out++] = picks[i];
        r->picked[r->n_picked++] = picks[i];
    }
    return true;
}

static void predict(run *r)
{
    size_t n = bandit_arms_count(r->arms);
    bandit_error err = {0};
    for (uint32_t arm = 0; arm < n && arm < ARMS; arm++) {
        bandit_prediction p;
        bandit_status status = bandit_engine_predict_arms(r->engine, &arm, 1, &p, &err);
        HOLDS(status == BANDIT_OK || status == BANDIT_UNSUPPORTED);
        HOLDS(status != BANDIT_OK || (isfinite(p.mean) && p.variance >= 0.0 && !isnan(p.ucb)));
    }
    bandit_description d;
    bandit_engine_describe(r->engine, &d);
    HOLDS(d.noise_std >= 0.0 && d.lambda > 0.0 && !isnan(d.information_gain) && d.code_path);
    HOLDS(bandit_engine_memory(r->engine) > 0);
}

/* Corrects one result that joined; then a batch must begin. False: the engine is no longer to be used. */
static bool amend(run *r)
{
    if (r->n_told == 0)
        return true;
    bandit_error err = {0};
    bandit_result *result = &r->told[below(&r->in, (unsigned)r->n_told)];
    bandit_amendment a = {.arm = result->arm,
                          .was = {.repeats = result->repeats, .reward = result->reward},
                          .chosen = result->chosen,
                          .variance = result->variance};
    a.now.repeats = below(&r->in, 3);
    a.now.reward = a.now.repeats ? number(&r->in) : 0.0;
    result->repeats = a.now.repeats;
    result->reward = a.now.reward;
    bandit_arm_sum sum = {.arm = a.arm};
    for (size_t i = 0; i < r->n_told; i++)
        if (r->told[i].arm == a.arm) {
            sum.count += r->told[i].repeats;
            sum.sum += r->told[i].repeats * r->told[i].reward;
        }
    bandit_status status = bandit_engine_amend(r->engine, &a, 1, &sum, 1, NULL, 0, &err);
    HOLDS(status == BANDIT_OK);
    return begin_batch(r);
}

static void call_at_random(run *r)
{
    bool goes_on = begin_batch(r);
    for (size_t i = 0; goes_on && i < CALLS && r->in.at < r->in.end; i++) {
        switch (below(&r->in, 5)) {
        case 0:
            goes_on = begin_batch(r);
            break;
        case 1:
        case 2:
            goes_on = choose(r);
            break;
        case 3:
            predict(r);
            break;
        default:
            goes_on = amend(r);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bandit_status (*const make[])(run *, bandit_error *) = {make_features, make_matrix, make_space};
    run r = {.in = {data, data + size}};
    bandit_error err = {0};
    bandit_status status = make[below(&r.in, 3)](&r, &err);
    if (status == BANDIT_OK) {
        choose_options(&r);
        status = bandit_engine_new(&r.engine, r.arms, &r.options, 16 << 20, &err);
        HOLDS((status == BANDIT_OK) == (r.engine != NULL));
    }
    HOLDS(status == BANDIT_OK || (is_refusal(status) && *err.message));
    if (status == BANDIT_OK)
        call_at_random(&r);
    bandit_engine_free(r.engine);
    bandit_arms_free(r.arms);
    return 0;
}
