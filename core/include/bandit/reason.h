/* Why an arm was picked: what the engine knew about the arm when it picked it, and the arm's score.
 *
 * The engine must have been restored at the start of the batch, and the earlier picks of the batch replayed.
 * Then all figures are those that the pick was made with. */
#ifndef BANDIT_REASON_H
#define BANDIT_REASON_H

#include "bandit/engine.h"

/* What a pick maximizes. X(enumerator, name in the API) */
#define BANDIT_REASON_RULE_LIST(X)                                                                           \
    X(BANDIT_REASON_RANDOM, "random")           /* nothing: it was drawn */                                  \
    X(BANDIT_REASON_FIRST, "first")             /* nothing: a point of the design before the first result */ \
    X(BANDIT_REASON_EVOLUTION, "evolution")     /* nothing: a child in a population */                       \
    X(BANDIT_REASON_UNCERTAINTY, "uncertainty") /* the variance */                                           \
    X(BANDIT_REASON_BOUND, "upper_bound")       /* mean + width * standard deviation */                      \
    X(BANDIT_REASON_IMPROVEMENT, "improvement") /* the log of the expected improvement on the incumbent */   \
    X(BANDIT_REASON_PROBABILITY, "probability") /* z, where Phi(z) is the probability of an improvement */   \
    X(BANDIT_REASON_MEAN, "mean")               /* the mean */                                               \
    X(BANDIT_REASON_SAMPLE, "sample")           /* a function drawn from the posterior */                    \
    X(BANDIT_REASON_JOINT, "joint")             /* the log of the volume that is expected to be gained */    \
    X(BANDIT_REASON_WORD, "untried_word")       /* as other picks, but with a word without results */        \
    X(BANDIT_REASON_QUADRATIC, "quadratic")     /* a quadratic function that was fitted to the results */

typedef enum bandit_reason_rule {
#define X(enumerator, name) enumerator,
    BANDIT_REASON_RULE_LIST(X)
#undef X
        BANDIT_REASON_RULES
} bandit_reason_rule;

const char *bandit_reason_rule_name(bandit_reason_rule rule); /* static */

/* NaN: there is no such figure. */
typedef struct bandit_reason {
    bandit_reason_rule rule;
    size_t n; /* metrics; 0 without a model */
    /* Of the arm, with the picks in flight hallucinated; Bayesian, in reward units, one entry per metric. */
    double mean[BANDIT_MOST_METRICS], variance[BANDIT_MOST_METRICS];
    double left;  /* of the first metric: the share of the prior's variance that is left */
    double score; /* what the rule maximizes, in the units of the model, less the penalty */
    /* Taken off a bound, a sample or a mean where evaluations fail, and off an improvement by the prior of the
     * location; otherwise 0. */
    double penalty;
    /* Of an upper bound, in Bayesian standard deviations; of an improvement that a wide pick expects, what its
     * deviation was multiplied by. */
    double width;
    double incumbent; /* the mean to improve on, in reward units */
    /* By how much the rule expects the arm to exceed the incumbent, in the units of the model: what its mean
     * alone promises, and what its uncertainty adds. Their sum is the expected improvement, or the bound or
     * the sample less the incumbent, without the penalty. */
    double promise, ignorance;
} bandit_reason;

/* `limits` are those of select; only `failed` and `fixed` are used. The engine's samples and scratch change.
 * For an algorithm whose cells have models of their own (pi_gp_ucb) there is no score, and mean and variance
 * are those of the batch's start. Errors: those of bandit_engine_select. */
bandit_status bandit_engine_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                    const bandit_executor *executor, bandit_reason *out, bandit_error *err);

/* The distances of n arms from one arm, in lengthscales. For precomputed kernels and kernels without
 * lengthscales it is the kernel's own distance, sqrt(k(x,x) − 2 k(x,y) + k(y,y)). NaN without a model.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_engine_distances(const bandit_engine *engine, uint32_t arm, const uint32_t *arms,
                                      size_t n, double *out, bandit_error *err);

#endif
