#include "server/parameters.h"

#include <assert.h>
#include <stddef.h>
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
} parameters[] = {
#define FIELD(name) offsetof(wire_algorithm, name)
    {"kernel", KERNEL, FIELD(kernel), MODEL},
    {"lambda", NUMBER, FIELD(lambda), MODEL},
    {"noise_std", NUMBER, FIELD(noise_std), MODEL},
    {"standardize_rewards", SWITCH, FIELD(standardize_rewards_given), MODEL},
    {"norm_bound", NUMBER, FIELD(norm_bound), WIDTH},
    {"delta", NUMBER, FIELD(delta), WIDTH},
    {"q_bar", NUMBER, FIELD(q_bar), BUDGETED},
    {"ratio_bound", NUMBER, FIELD(ratio_bound), BATCHED},
    {"batch_rule", WORD, FIELD(batch_rule), BIT(BANDIT_BBKB)},
    {"confidence", WORD, FIELD(confidence), BUDGETED},
    {"resample", WORD, FIELD(resample), BUDGETED},
    {"max_batch", INTEGER, FIELD(max_batch), BATCHED | BIT(BANDIT_UNIFORM)},
    {"max_arm_failures", INTEGER, FIELD(max_arm_failures), ALL},
    {"init", WORD, FIELD(init), ALL},
    {"gamma", NUMBER, FIELD(gamma), GAIN},
    {"gamma_scale", NUMBER, FIELD(gamma_scale), GAIN},
    {"scale", NUMBER, FIELD(scale), SAMPLED},
    {"epsilon", NUMBER, FIELD(epsilon), BIT(BANDIT_EPSILON_GREEDY)},
    {"zeta", NUMBER, FIELD(zeta), IMPROVEMENT},
    {"population", INTEGER, FIELD(population), EVOLUTION},
    {"sample", INTEGER, FIELD(sample), EVOLUTION},
    {"posterior", WORD, FIELD(posterior), SPARSE_SAMPLED},
    {"features", WORD, FIELD(features), SPARSE_SAMPLED},
    {"inducing", INTEGER, FIELD(inducing), SPARSE_SAMPLED},
    {"prior_features", INTEGER, FIELD(prior_features), SPARSE_SAMPLED},
    {"dpp_steps", INTEGER, FIELD(dpp_steps), SPARSE_SAMPLED},
    {"initial_cells", INTEGER, FIELD(initial_cells), BIT(BANDIT_PI_GP_UCB)},
#undef FIELD
};
enum { N_PARAMETERS = sizeof parameters / sizeof *parameters };

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
