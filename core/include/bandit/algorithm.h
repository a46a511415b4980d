/* The algorithms and their options: names, values, defaults, and which option applies to which algorithm. */
#ifndef BANDIT_ALGORITHM_H
#define BANDIT_ALGORITHM_H

#include "bandit/kernel.h"
#include "bandit/source.h"
#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the algorithms ------------------------------------------------------------------------------------ */

/* X(enumerator, name in the API). Each has a file in core/algorithms/ that defines the rest. */
#define BANDIT_ALGORITHM_LIST(X)                                                                             \
    X(BANDIT_BBKB, bbkb)                                                                                     \
    X(BANDIT_BKB, bkb)                                                                                       \
    X(BANDIT_GP_UCB, gp_ucb)                                                                                 \
    X(BANDIT_IGP_UCB, igp_ucb)                                                                               \
    X(BANDIT_GP_BUCB, gp_bucb)                                                                               \
    X(BANDIT_GP_TS, gp_ts)                                                                                   \
    X(BANDIT_ASYNC_TS, async_ts)                                                                             \
    X(BANDIT_S_GP_TS, s_gp_ts)                                                                               \
    X(BANDIT_PI_GP_UCB, pi_gp_ucb)                                                                           \
    X(BANDIT_GP_EI, gp_ei)                                                                                   \
    X(BANDIT_GP_PI, gp_pi)                                                                                   \
    X(BANDIT_LOG_EI, log_ei)                                                                                 \
    X(BANDIT_EPSILON_GREEDY, epsilon_greedy)                                                                 \
    X(BANDIT_UNIFORM, uniform)                                                                               \
    X(BANDIT_REGULARIZED_EVOLUTION, regularized_evolution)

typedef enum bandit_algorithm {
#define X(enumerator, name) enumerator,
    BANDIT_ALGORITHM_LIST(X)
#undef X
        BANDIT_ALGORITHMS
} bandit_algorithm;

const char *bandit_algorithm_name(bandit_algorithm algorithm);        /* static */
bool bandit_algorithm_parse(bandit_algorithm *out, const char *name); /* false: no such name */
const char *const *bandit_algorithm_names(void);                      /* all, then NULL; static */

/* ---- values of options --------------------------------------------------------------------------------- */

typedef enum bandit_batch_rule { BANDIT_BATCH_GLOBAL, BANDIT_BATCH_GLOBAL_LOCAL } bandit_batch_rule;
typedef enum bandit_confidence {
    BANDIT_CONFIDENCE_PRACTICAL,
    BANDIT_CONFIDENCE_THEORY,
    BANDIT_CONFIDENCE_FIXED,
    BANDIT_CONFIDENCE_CALIBRATED /* up to three standard deviations of a learned model (ours) */
} bandit_confidence;
/* How an arm that was pulled n times enters a new dictionary; p = min(1, q_bar sigma^2).
 * PER_PULL, as in the paper: one coin per pull, so that the arm enters with probability 1 - (1 - p)^n.
 * FRESH: one coin per arm, with probability min(1, n p). This is the bound of [BBKB] App. C on the sum of the
 * pulls' probabilities, so the paper's guarantees hold: that of accuracy a fortiori, that of size unchanged.
 * FRESH was measured to need 13 times fewer batches than PER_PULL.
 * PERSISTENT: as FRESH, but with one coin per arm for the whole study. */
typedef enum bandit_resample {
    BANDIT_RESAMPLE_FRESH,
    BANDIT_RESAMPLE_PERSISTENT,
    BANDIT_RESAMPLE_PER_PULL
} bandit_resample;
/* The unit of warped rewards (hyperparameters.h). QUARTILES: the interquartile range. BETTER_HALF: twice the
 * distance from the median to the better quartile, if that is less. */
typedef enum bandit_warp_unit {
    BANDIT_WARP_QUARTILES,
    BANDIT_WARP_BETTER_HALF,
    BANDIT_WARP_IN_TURN /* as BETTER_HALF, but every other fit may take origin and unit from fewer, better
                           rewards */
} bandit_warp_unit;
/* The reference point of several objectives without thresholds is below the front, and no better than a low value of
 * the means of all tried points (core/selection/joint.h): the lower quartile, or the second lowest. */
typedef enum bandit_reference_rule {
    BANDIT_REFERENCE_QUARTILE,
    BANDIT_REFERENCE_SECOND_WORST
} bandit_reference_rule;
/* The picks before the first reward: at random; the most uncertain arms; or, with log_ei, at random but apart. On an
 * open space SPREAD is UNIFORM, whose picks are apart. */
typedef enum bandit_init { BANDIT_INIT_UNIFORM, BANDIT_INIT_UNCERTAINTY, BANDIT_INIT_SPREAD } bandit_init;
/* On an open space: which points in flight a pick is conditioned on. */
typedef enum bandit_in_flight {
    BANDIT_IN_FLIGHT_ALL,
    BANDIT_IN_FLIGHT_NEAR, /* the first hundred, and of the others those nearest to the point considered, so
                              that a pick costs no more when many are in flight */
    BANDIT_IN_FLIGHT_ONCE, /* as NEAR, and a point in flight is not picked again while another may be picked */
    BANDIT_IN_FLIGHT_SURPASS /* as ONCE, and where improvements are sought, they must also surpass the means of the
                                points in flight, and the picks of a batch keep apart even if there is noise */
} bandit_in_flight;
/* How far a study trusts its sources (source.h) while it has few results. EVIDENCE: as far as they make the
 * results likelier. AGREEMENT: less than that if the sources contradict each other
 * (core/posterior/prior_mean.h). */
typedef enum bandit_source_trust { BANDIT_TRUST_EVIDENCE, BANDIT_TRUST_AGREEMENT } bandit_source_trust;
typedef enum bandit_gamma { BANDIT_GAMMA_EXACT, BANDIT_GAMMA_BOUND, BANDIT_GAMMA_FIXED } bandit_gamma;

/* s_gp_ts: which arms the sparse posterior is built on. */
typedef enum bandit_posterior_kind {
    BANDIT_POSTERIOR_SVGP,    /* inducing points by a k-DPP over the pulled arms */
    BANDIT_POSTERIOR_DTC,     /* a dictionary by ridge leverage scores, as BBKB's */
    BANDIT_POSTERIOR_FEATURES /* none, but eigenfunctions (linear kernel: the coordinates) */
} bandit_posterior_kind;
typedef enum bandit_features_kind {
    BANDIT_FEATURES_RFF,  /* random Fourier features, stationary kernels */
    BANDIT_FEATURES_EIGEN /* Laplacian eigenfunctions, stationary kernels in up to 3 dimensions */
} bandit_features_kind;

enum { BANDIT_MOST_METRICS = 13 };

/* Which corrections of the rules of algorithms apply. A correction that changes picks has a revision of its own or
 * shares one that no stored study has yet, so that stored studies keep their picks:
 * 1  none: as studies that were created before revisions existed
 * 2  where arms with a result are not picked again, this includes arms whose results are all set aside as outliers
 *    (refitting_repeats.c, several_engine.c), and an equal repeat ends that they are (hyperparameters.h);
 *    in an open space repeats that agree show that there is no noise (refitting_repeats.c);
 *    values up to 20 quartile ranges beyond a bound are not cut, nor is the bound (hyperparameters.h);
 *    several metrics on a list: every arm that may be the best is looked at (several_list.c, pop_block);
 *    while all results are equal, log_ei goes on at random (space_picks.c, log_ei_list.c, several_flat.c);
 *    several metrics in a context: picks are compared within the context (several_context.c)
 * 3  a warp may explain rewards far above the others, as their logarithm does (hyperparameters.h);
 *    in an open space log_ei tries words that none of many results has (untried_words.h);
 *    failures that chance explains as well as the place does keep no pick away (feasibility.h);
 *    a bound that values meet exactly is halfway to the nearest value beyond it (several_goals.c)
 * 4  of rewards that keep the bounds of a metric, one is never set aside (hyperparameters.h);
 *    while all results are equal, sources lead every second pick of log_ei (space_design.h);
 *    in an open space log_ei searches words that have fewer results than the leader's (word_search.h);
 *    every fourth fit of warped rewards in a space with words has the unit of distinct regions (regions.c);
 *    rewards that are better than one that most arms have are not set aside (hyperparameters.h);
 *    while one of several objectives has equal rewards, some picks are drawn (several_flat.c)
 * 5  in an open space, fits of log_ei to many rewards are exact (sample_arms.c);
 *    and its dictionary has at most 1024 points (space_thinning.h);
 *    which features matter for failures is learned (feasibility.h)
 * 6  in an open space, picks of log_ei heed a prior of where the best point lies (location_prior.h)
 * 7  in an open space, the kernel of log_ei may have a part with a shorter range (two_ranges.c)
 * 8  in an open space with noise, every second wide pick of log_ei expects an improvement (space_picks.c)
 * 9  in an open space, some picks of log_ei are best points of quadratic functions (quadratic_pick.h)
 * 10 in an open space with one metric, the starts of log_ei's fits take turns (hyperparameters.h);
 *    where a step of a quadratic function has integers, the other numbers follow them (quadratic.h)
 * 11 until repeats show whether there is noise, log_ei has few of them in flight at once (refitting_repeats.c) */
enum { BANDIT_FIRST_REVISION = 1, BANDIT_LATEST_REVISION = 11 };

/* A modelled metric. The rewards of an objective have the sign for which larger ones are better. */
typedef struct bandit_metric {
    bool objective;     /* it is maximized */
    bool has_threshold; /* all objectives have one, or none has */
    double threshold;   /* the worst reward of interest */
    double low, high;   /* bounds that its rewards must keep; -INFINITY and INFINITY: none */
} bandit_metric;

/* Everything is in the engine's units: rewards as observed by the engine, distances after scaling.
 * Fields that do not apply to the algorithm are ignored here (the caller refuses them). */
typedef struct bandit_options {
    bandit_algorithm algorithm;
    bandit_kernel kernel;
    double lambda;      /* regularization, > 0 */
    double noise_std;   /* xi, R in [CG17]; >= 0 */
    double norm_bound;  /* F, B in [CG17]; >= 0 */
    double delta;       /* in (0, 1) */
    double q_bar;       /* oversampling, > 0; ignored when q_bar_theory */
    bool q_bar_theory;  /* 72 C log(4t/delta) */
    double ratio_bound; /* C, >= 1 */
    bandit_batch_rule batch_rule;
    bandit_confidence confidence;
    double beta; /* alpha itself, with BANDIT_CONFIDENCE_FIXED; >= 0 */
    bandit_resample resample;
    size_t max_batch; /* >= 1 */
    bandit_init init;
    double parallelism; /* P, with BANDIT_INIT_UNCERTAINTY; > 0 */
    bool init_cholesky; /* with BANDIT_INIT_UNCERTAINTY on a list: picks are made one by one, from a pivoted
                          Cholesky factor. Studies that were created before this method existed make all of
                          them at once */
    bandit_in_flight in_flight;
    bandit_gamma gamma;
    double gamma_value; /* with BANDIT_GAMMA_FIXED; >= 0 */
    double gamma_scale; /* with BANDIT_GAMMA_BOUND; > 0 */
    double scale;       /* divides a Thompson sample's width; > 0 */
    double epsilon;     /* epsilon_greedy; in [0, 1] */
    double zeta;        /* gp_ei, gp_pi; >= 0, in reward units */
    /* log_ei on a list, and since revision 2 in a space: while all repeated evaluations have agreed, at most this share of
     * all results are repeats; in [0, 1]. Studies that were created before this option existed have the value 1:
     * no limit. */
    double agreeing_repeats;
    size_t population;               /* regularized_evolution; >= 1 */
    size_t sample;                   /* regularized_evolution; 1 … population */
    bandit_posterior_kind posterior; /* s_gp_ts */
    bandit_features_kind features;   /* s_gp_ts; the linear kernel has its own, whatever this says */
    size_t inducing;       /* s_gp_ts: m; 0: from the horizon by [VPA21] section 5.4, at most 2000 */
    size_t prior_features; /* s_gp_ts: M; 0: likewise, at most 20000 */
    size_t dpp_steps;      /* s_gp_ts: exchanges per draw of the inducing points */
    size_t initial_cells;  /* pi_gp_ucb: cells per side of the first cover; 0: [T^{q/d}], from the horizon */
    uint64_t horizon;      /* T; 0: none */
    uint64_t seed;
    /* What is learned from the rewards. It is learned again at the latest when their number has doubled
     * (hyperparameters.h). */
    bool learn_lengthscale;   /* of a stationary kernel, one per feature; kernel.lengthscales may be absent */
    bool learn_noise;         /* noise_std is ignored */
    bool learn_norm_bound;    /* 1 in the model's units, doubled while the model's mean is too large for it */
    bool standardize_rewards; /* the model sees them shifted and scaled, without outliers; noise_std,
                                 norm_bound and beta stay in the units of the rewards, lambda is in the
                                 model's */
    bool lambda_from_noise;   /* lambda is the noise variance in the model's units, at least 1e-6 */
    bool warp_rewards;        /* for log_ei, with standardize_rewards: a monotone warp of the rewards is
                                 learned, and the model is fitted to find the best point soon
                                 (hyperparameters.h) */
    /* Of warped rewards, in an open space. Studies that were created before this option existed have the interquartile
     * range, as lists do. */
    bandit_warp_unit warp_unit;
    /* With more than one objective, or with bounds: the modelled metrics, n_metrics <= BANDIT_MOST_METRICS of
     * them. The first is an objective. They are borrowed until the engine is made. The other options apply to
     * each metric by itself. log_ei only. n_metrics 0: one objective without bounds. */
    const bandit_metric *metrics;
    size_t n_metrics;
    bandit_reference_rule reference; /* studies that were created before this option existed have QUARTILE */
    /* The findings of earlier studies, n_sources <= BANDIT_MOST_SOURCES of them; borrowed until the engine is
     * made. Only for log_ei with all hyper-parameters learned, a stationary kernel and one metric. */
    const bandit_source *sources;
    size_t n_sources;
    bandit_source_trust source_trust; /* studies that were created before this option existed have EVIDENCE */
    size_t revision;                  /* BANDIT_FIRST_REVISION … BANDIT_LATEST_REVISION */
    /* For an engine that another one wraps: the metric that it models; borrowed until the engine is made. NULL: one
     * without bounds, or the first revision. */
    const bandit_metric *metric;
    const struct bandit_prior_mean *prior_mean; /* for an engine that another one wraps; borrowed. NULL: 0 */
} bandit_options;

/* The defaults. For lambda, noise_std, norm_bound, delta and confidence the server has defaults of its own,
 * which depend on the other options. */
#define BANDIT_OPTIONS_INIT                                                                                  \
    {                                                                                                        \
        .algorithm = BANDIT_BBKB, .kernel = {.type = BANDIT_KERNEL_MATERN, .nu = 2.5}, .lambda = 1e-2,       \
        .noise_std = 0.1, .norm_bound = 1.0, .delta = 1e-3, .q_bar = 2.0, .ratio_bound = 2.0,                \
        .max_batch = 4096, .parallelism = 1.0, .gamma_scale = 1.0, .scale = 1.0, .epsilon = 0.1,             \
        .zeta = 0.01, .agreeing_repeats = 1.0, .population = 100, .sample = 10, .inducing = 200,             \
        .prior_features = 1000, .dpp_steps = 1000, .initial_cells = 1, .revision = BANDIT_FIRST_REVISION     \
    }

/* BANDIT_INVALID_OPTION with the field's name in the API when a value is out of its range;
 * `dimension` 0 for a precomputed set. */
bandit_status bandit_options_check(const bandit_options *options, size_t dimension, bandit_error *err);

/* ---- options by name ----------------------------------------------------------------------------------- */

/* X(enumerator, name in the API), in the order in which they are shown. */
#define BANDIT_OPTION_LIST(X)                                                                                \
    X(BANDIT_OPTION_KERNEL, kernel)                                                                          \
    X(BANDIT_OPTION_LAMBDA, lambda)                                                                          \
    X(BANDIT_OPTION_NOISE_STD, noise_std)                                                                    \
    X(BANDIT_OPTION_STANDARDIZE_REWARDS, standardize_rewards)                                                \
    X(BANDIT_OPTION_REVISION, revision)                                                                      \
    X(BANDIT_OPTION_NORM_BOUND, norm_bound)                                                                  \
    X(BANDIT_OPTION_DELTA, delta)                                                                            \
    X(BANDIT_OPTION_Q_BAR, q_bar)                                                                            \
    X(BANDIT_OPTION_RATIO_BOUND, ratio_bound)                                                                \
    X(BANDIT_OPTION_BATCH_RULE, batch_rule)                                                                  \
    X(BANDIT_OPTION_CONFIDENCE, confidence)                                                                  \
    X(BANDIT_OPTION_RESAMPLE, resample)                                                                      \
    X(BANDIT_OPTION_MAX_BATCH, max_batch)                                                                    \
    X(BANDIT_OPTION_INIT, init)                                                                              \
    X(BANDIT_OPTION_GAMMA, gamma)                                                                            \
    X(BANDIT_OPTION_GAMMA_SCALE, gamma_scale)                                                                \
    X(BANDIT_OPTION_SCALE, scale)                                                                            \
    X(BANDIT_OPTION_EPSILON, epsilon)                                                                        \
    X(BANDIT_OPTION_ZETA, zeta)                                                                              \
    X(BANDIT_OPTION_AGREEING_REPEATS, agreeing_repeats)                                                      \
    X(BANDIT_OPTION_WARP_UNIT, warp_unit)                                                                    \
    X(BANDIT_OPTION_SOURCE_TRUST, source_trust)                                                              \
    X(BANDIT_OPTION_POPULATION, population)                                                                  \
    X(BANDIT_OPTION_SAMPLE, sample)                                                                          \
    X(BANDIT_OPTION_POSTERIOR, posterior)                                                                    \
    X(BANDIT_OPTION_FEATURES, features)                                                                      \
    X(BANDIT_OPTION_INDUCING, inducing)                                                                      \
    X(BANDIT_OPTION_PRIOR_FEATURES, prior_features)                                                          \
    X(BANDIT_OPTION_DPP_STEPS, dpp_steps)                                                                    \
    X(BANDIT_OPTION_INITIAL_CELLS, initial_cells)                                                            \
    X(BANDIT_OPTION_IN_FLIGHT, in_flight)                                                                    \
    X(BANDIT_OPTION_REFERENCE, reference)

typedef enum bandit_option {
#define X(enumerator, name) enumerator,
    BANDIT_OPTION_LIST(X)
#undef X
        BANDIT_OPTION_COUNT
} bandit_option;

typedef enum bandit_option_kind {
    BANDIT_OPTION_IS_REAL,    /* a double */
    BANDIT_OPTION_IS_INTEGER, /* a size_t */
    BANDIT_OPTION_IS_WORD,    /* an enumeration */
    BANDIT_OPTION_IS_OTHER    /* the kernel, or a boolean */
} bandit_option_kind;

/* The properties of an option, which are the same for every algorithm that takes it. */
typedef struct bandit_option_info {
    const char *name;
    bandit_option_kind kind;
    size_t offset;            /* of its member in bandit_options */
    double low, high;         /* bounds of a number */
    bool above_low;           /* it must be greater than `low`; otherwise at least that */
    bool below_high;          /* it must be less than `high`; otherwise at most that */
    const char *const *words; /* of an enumeration: the names of its values, in their order, then NULL */
    bool has_default;         /* that of BANDIT_OPTIONS_INIT; otherwise it depends on other options */
    bool learned;             /* the default is to learn it, whatever BANDIT_OPTIONS_INIT says */
    const char *description;  /* a sentence */
} bandit_option_info;

const bandit_option_info *bandit_option_about(bandit_option option); /* static */

/* The value of a number, or the name of an enumeration's value (static). */
double bandit_option_number(const bandit_options *options, bandit_option option);
const char *bandit_option_word(const bandit_options *options, bandit_option option);

/* Sets a number; an integer must be a whole number of at most 2^53. */
void bandit_option_set_number(bandit_options *options, bandit_option option, double value);
/* Sets an enumeration. false: it has no such value. */
bool bandit_option_set_word(bandit_options *options, bandit_option option, const char *word);

/* ---- what each algorithm takes ------------------------------------------------------------------------- */

typedef struct bandit_algorithm_info {
    const char *description; /* a sentence */
    uint64_t options;        /* those that apply: BANDIT_OPTION_BIT of each */
    bool lambda_by_horizon;  /* lambda is 1 + 2/T by default, as in the algorithm's theorem */
    bool numeric_spaces;     /* in a space, all parameters must be numbers and always active */
} bandit_algorithm_info;

#define BANDIT_OPTION_BIT(option) (UINT64_C(1) << (option))

const bandit_algorithm_info *bandit_algorithm_about(bandit_algorithm algorithm); /* static */
bool bandit_algorithm_takes(bandit_algorithm algorithm, bandit_option option);
bool bandit_algorithm_has_model(bandit_algorithm algorithm); /* it takes a kernel */

#endif
