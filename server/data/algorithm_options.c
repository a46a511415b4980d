#include "server/data/algorithm_options.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Sets of algorithms, as bits. */
#define BIT(algorithm) (1u << (algorithm))
enum {
    ALL = BIT(BANDIT_ALGORITHMS) - 1,
    MODEL = ALL & ~(BIT(BANDIT_UNIFORM) | BIT(BANDIT_REGULARIZED_EVOLUTION)),
    BUDGETED = BIT(BANDIT_BBKB) | BIT(BANDIT_BKB),
    BATCHED = BIT(BANDIT_BBKB) | BIT(BANDIT_GP_BUCB),
    WIDTH = BUDGETED | BIT(BANDIT_GP_UCB) | BIT(BANDIT_IGP_UCB) | BIT(BANDIT_GP_BUCB) | BIT(BANDIT_GP_TS) |
            BIT(BANDIT_ASYNC_TS) | BIT(BANDIT_S_GP_TS) | BIT(BANDIT_PI_GP_UCB),
    GAIN = BIT(BANDIT_GP_UCB) | BIT(BANDIT_IGP_UCB) | BIT(BANDIT_GP_BUCB) | BIT(BANDIT_GP_TS) |
           BIT(BANDIT_ASYNC_TS),
    SAMPLED = BIT(BANDIT_GP_TS) | BIT(BANDIT_ASYNC_TS) | BIT(BANDIT_S_GP_TS),
    IMPROVEMENT = BIT(BANDIT_GP_EI) | BIT(BANDIT_GP_PI),
    EVOLUTION = BIT(BANDIT_REGULARIZED_EVOLUTION),
    SPARSE_SAMPLED = BIT(BANDIT_S_GP_TS)
};

typedef enum given_kind { NUMBER, INTEGER, WORD, KERNEL, SWITCH } given_kind;

static const struct parameter {
    const char *name;
    given_kind kind;
    size_t offset; /* in wire_algorithm */
    unsigned algorithms;
    const char *type;        /* as in JSON */
    const char *range;       /* members of a JSON object; "" */
    const char *fallback;    /* default as JSON; null: it depends, or there is none */
    const char *description; /* a sentence */
} parameters[] = {
#define FIELD(name) offsetof(wire_algorithm, name)
    {"kernel", KERNEL, FIELD(kernel), MODEL, "object", "",
     "{\"type\":\"matern\",\"nu\":2.5,\"lengthscale\":\"auto\"}",
     "The covariance: gaussian, matern (nu 0.5, 1.5 or 2.5), linear or precomputed; a lengthscale for all "
     "features or one each, or \"auto\": one each is learned."},
    {"lambda", NUMBER, FIELD(lambda), MODEL, "number", "\"exclusive_minimum\":0,\"words\":[\"auto\"]", "null",
     "Regularization, of the model's units; by default (\"auto\") the noise variance in them, at least 1e-6 "
     "(1e-9 where it is learned in a space that is not listed), and 1 + 2/horizon for igp_ucb, gp_ts and "
     "pi_gp_ucb."},
    {"noise_std", NUMBER, FIELD(noise_std), MODEL, "number", "\"minimum\":0,\"words\":[\"auto\"]", "\"auto\"",
     "Standard deviation of the noise of one evaluation; \"auto\": learned."},
    {"standardize_rewards", SWITCH, FIELD(standardize_rewards_given), MODEL, "boolean", "", "null",
     "Whether the model sees rewards shifted and scaled, without strays; by default exactly when noise_std "
     "is "
     "\"auto\"."},
    {"norm_bound", NUMBER, FIELD(norm_bound), WIDTH, "number", "\"minimum\":0,\"words\":[\"auto\"]", "null",
     "Bound on the norm of the function in the kernel's space; \"auto\", the default where rewards are "
     "standardized: 1 in the model's units, doubled while the data contradict it. Otherwise 1."},
    {"delta", NUMBER, FIELD(delta), WIDTH, "number", "\"exclusive_minimum\":0,\"exclusive_maximum\":1",
     "null",
     "Probability with which the confidence bounds may fail; by default 1/horizon, 0.001 without one."},
    {"q_bar", NUMBER, FIELD(q_bar), BUDGETED, "number", "\"exclusive_minimum\":0,\"words\":[\"theory\"]", "2",
     "Oversampling of the dictionary."},
    {"ratio_bound", NUMBER, FIELD(ratio_bound), BATCHED, "number", "\"minimum\":1", "2",
     "How far variances may shrink within a batch before it ends."},
    {"batch_rule", WORD, FIELD(batch_rule), BIT(BANDIT_BBKB), "string",
     "\"values\":[\"global\",\"global_local\"]", "\"global\"",
     "Which bound on the variances' ratio ends a batch."},
    {"confidence", WORD, FIELD(confidence), BUDGETED, "string",
     "\"values\":[\"practical\",\"theory\",\"calibrated\"]", "null",
     "Width of the confidence bounds: the authors' code's, the theorem's, or one standard deviation, the "
     "default "
     "where rewards are standardized (else practical); or an object, beta, that fixes it."},
    {"resample", WORD, FIELD(resample), BUDGETED, "string",
     "\"values\":[\"fresh\",\"persistent\",\"per_pull\"]", "\"fresh\"",
     "Random numbers of the dictionary: one coin a candidate for each dictionary or for the whole study, or "
     "one a pull."},
    {"max_batch", INTEGER, FIELD(max_batch), BATCHED | BIT(BANDIT_UNIFORM), "integer",
     "\"minimum\":1,\"maximum\":1000000", "4096", "Largest batch."},
    {"max_arm_failures", INTEGER, FIELD(max_arm_failures), ALL, "integer", "\"minimum\":1", "3",
     "A candidate that failed so often in a row is withheld."},
    {"init", WORD, FIELD(init), ALL, "object", "", "{\"type\":\"uniform\"}",
     "The first picks: one at random, or the most uncertain ones until none is above 1/parallelism."},
    {"gamma", NUMBER, FIELD(gamma), GAIN, "number", "\"minimum\":0,\"words\":[\"exact\",\"bound\"]",
     "\"exact\"",
     "Information gain in the width: of the pulls so far, its bound for the kernel, or a number."},
    {"gamma_scale", NUMBER, FIELD(gamma_scale), GAIN, "number", "\"exclusive_minimum\":0", "1",
     "Multiplies the bound on the information gain."},
    {"scale", NUMBER, FIELD(scale), SAMPLED, "number", "\"exclusive_minimum\":0", "1",
     "Divides the width of a Thompson sample."},
    {"epsilon", NUMBER, FIELD(epsilon), BIT(BANDIT_EPSILON_GREEDY), "number", "\"minimum\":0,\"maximum\":1",
     "0.1", "Probability of a candidate at random."},
    {"zeta", NUMBER, FIELD(zeta), IMPROVEMENT, "number", "\"minimum\":0", "0.01",
     "Least improvement that counts, in units of the reward."},
    {"population", INTEGER, FIELD(population), EVOLUTION, "integer", "\"minimum\":1", "100",
     "Candidates that are alive."},
    {"sample", INTEGER, FIELD(sample), EVOLUTION, "integer", "\"minimum\":1", "10",
     "Of the population, drawn for each tournament."},
    {"posterior", WORD, FIELD(posterior), SPARSE_SAMPLED, "string",
     "\"values\":[\"svgp\",\"dtc\",\"features\"]", "\"svgp\"",
     "What the sampled posterior stands on: inducing points, a dictionary by leverage scores, or "
     "eigenfunctions."},
    {"features", WORD, FIELD(features), SPARSE_SAMPLED, "string", "\"values\":[\"rff\",\"eigen\"]", "\"rff\"",
     "The prior's features: random Fourier features, or Laplacian eigenfunctions in up to three dimensions."},
    {"inducing", INTEGER, FIELD(inducing), SPARSE_SAMPLED, "integer", "\"minimum\":0", "200",
     "Inducing points; 0: by the horizon."},
    {"prior_features", INTEGER, FIELD(prior_features), SPARSE_SAMPLED, "integer", "\"minimum\":0", "1000",
     "Features of the prior; 0: by the horizon."},
    {"dpp_steps", INTEGER, FIELD(dpp_steps), SPARSE_SAMPLED, "integer", "\"minimum\":0", "1000",
     "Exchanges per draw of the inducing points."},
    {"initial_cells", INTEGER, FIELD(initial_cells), BIT(BANDIT_PI_GP_UCB), "integer", "\"minimum\":0", "1",
     "Cells a side of the first cover; 0: by the horizon."},
#undef FIELD
};
enum { N_PARAMETERS = sizeof parameters / sizeof *parameters };

static const char *const descriptions[BANDIT_ALGORITHMS] = {
    [BANDIT_BBKB] = "Batch budgeted kernel bandits: near-linear time, batches that grow as the model learns.",
    [BANDIT_BKB] = "Budgeted kernel bandits: a new dictionary after every pull.",
    [BANDIT_GP_UCB] = "Exact GP with the bound of Srinivas et al.",
    [BANDIT_IGP_UCB] = "Exact GP with the improved bound of Chowdhury and Gopalan.",
    [BANDIT_GP_BUCB] =
        "Exact GP, batches by hallucination that end when the information gathered passes a bound.",
    [BANDIT_GP_TS] = "Exact GP, Thompson sampling with the width of Chowdhury and Gopalan.",
    [BANDIT_ASYNC_TS] = "Exact GP, Thompson sampling for asynchronous workers: each pick its own sample.",
    [BANDIT_S_GP_TS] = "Thompson sampling from a sparse posterior: linear in the candidates.",
    [BANDIT_PI_GP_UCB] = "Independent GPs on the cells of a cover that splits where data gather.",
    [BANDIT_GP_EI] = "Exact GP, expected improvement.",
    [BANDIT_GP_PI] = "Exact GP, probability of improvement.",
    [BANDIT_EPSILON_GREEDY] = "Exact GP, the best mean, and now and then a candidate at random.",
    [BANDIT_UNIFORM] = "Candidates at random: the baseline.",
    [BANDIT_REGULARIZED_EVOLUTION] = "Tournaments in an ageing population: the baseline without a model.",
};

static void encode_parameter(wire_writer *w, const struct parameter *p)
{
    char range[256];
    wire_object_begin(w);
    wire_key(w, "name");
    wire_string(w, p->name);
    wire_key(w, "type");
    wire_string(w, p->type);
    wire_key(w, "default");
    wire_raw(w, p->fallback);
    wire_key(w, "range");
    snprintf(range, sizeof range, "{%s}", p->range);
    wire_raw(w, range);
    wire_key(w, "description");
    wire_string(w, p->description);
    wire_object_end(w);
}

void parameters_encode(wire_writer *w)
{
    wire_object_begin(w);
    wire_key(w, "algorithms");
    wire_array_begin(w);
    for (unsigned a = 0; a < BANDIT_ALGORITHMS; a++) {
        wire_object_begin(w);
        wire_key(w, "name");
        wire_string(w, bandit_algorithm_name((bandit_algorithm)a));
        wire_key(w, "description");
        wire_string(w, descriptions[a]);
        wire_key(w, "parameters");
        wire_array_begin(w);
        for (int i = 0; i < N_PARAMETERS; i++)
            if (parameters[i].algorithms & BIT(a))
                encode_parameter(w, &parameters[i]);
        wire_array_end(w);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
}

static bool is_given(const wire_algorithm *given, const struct parameter *parameter)
{
    const char *field = (const char *)given + parameter->offset;
    switch (parameter->kind) {
    case NUMBER:
        return ((const wire_number *)(const void *)field)->given;
    case INTEGER:
        return ((const wire_integer *)(const void *)field)->given;
    case WORD:
        return *(char *const *)(const void *)field != NULL;
    case KERNEL:
        return ((const wire_kernel *)(const void *)field)->given;
    case SWITCH:
        return *(const bool *)(const void *)field;
    }
    return false;
}

void parameters_check(const wire_algorithm *given, bandit_algorithm algorithm, wire_errors *errors)
{
    for (int i = 0; i < N_PARAMETERS; i++)
        if (!(parameters[i].algorithms & BIT(algorithm)) && is_given(given, &parameters[i])) {
            char pointer[64] = "/algorithm/";
            strcat(pointer, parameters[i].name);
            wire_errors_add(errors, pointer, "does not apply to %s", bandit_algorithm_name(algorithm));
        }
}

bool parameter_applies(const char *name, bandit_algorithm algorithm)
{
    for (int i = 0; i < N_PARAMETERS; i++)
        if (strcmp(parameters[i].name, name) == 0)
            return (parameters[i].algorithms & BIT(algorithm)) != 0;
    assert(!"a parameter of the table");
    return false;
}
