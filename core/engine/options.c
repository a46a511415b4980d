/* The options by name: their ranges, whether they have a default, and their descriptions. The defaults
 * themselves are in BANDIT_OPTIONS_INIT. */
#include "bandit/algorithm.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* OPTION(enumerator, member and name, kind, description, …the rest) */
#define OPTION(upper, member, is, text, ...)                                                                 \
    [BANDIT_OPTION_##upper] = {.name = #member,                                                              \
                               .kind = BANDIT_OPTION_IS_##is,                                                \
                               .offset = offsetof(bandit_options, member),                                   \
                               .description = text,                                                          \
                               __VA_ARGS__}
#define AT_LEAST(bound)       .low = (bound), .high = INFINITY
#define ABOVE(bound)          .low = (bound), .above_low = true, .high = INFINITY
#define BETWEEN(bound, other) .low = (bound), .above_low = true, .high = (other), .below_high = true
#define WORDS(...)                                                                                           \
    .words = (const char *const[])                                                                           \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

/* clang-format off */
static const bandit_option_info options_by_name[BANDIT_OPTION_COUNT] = {
    OPTION(KERNEL, kernel, OTHER,
           "The covariance: gaussian, matern (nu 0.5, 1.5 or 2.5), linear or precomputed, with one "
           "lengthscale for all features, one for each, or \"auto\", which learns one for each."),
    OPTION(LAMBDA, lambda, REAL,
           "Regularization, in the units of the model. The default is 1 + 2/horizon for igp_ucb, gp_ts and "
           "pi_gp_ucb, and otherwise the noise variance, at least 1e-6 (1e-9 if it is learned in an open space). \"auto\" uses the noise variance.",
           ABOVE(0.0)),
    OPTION(NOISE_STD, noise_std, REAL,
           "Standard deviation of the noise of one evaluation; \"auto\" learns it.",
           AT_LEAST(0.0), .learned = true),
    OPTION(STANDARDIZE_REWARDS, standardize_rewards, OTHER,
           "Whether the model sees rewards shifted and scaled, without outliers; by default true unless "
           "norm_bound or lambda is a number or confidence is \"theory\"."),
    OPTION(REVISION, revision, INTEGER,
           "Which corrections of the algorithm's rules apply. New studies have 11, the latest; studies that are older than "
           "this option have 1, so that they keep their picks.",
           .low = BANDIT_FIRST_REVISION, .high = BANDIT_LATEST_REVISION),
    OPTION(NORM_BOUND, norm_bound, REAL,
           "Bound on the norm of the function in the kernel's space. \"auto\", the default where rewards "
           "are standardized, is 1 in the units of the model, doubled while the data contradict it. The "
           "default is otherwise 1.",
           AT_LEAST(0.0)),
    OPTION(DELTA, delta, REAL,
           "Probability with which the confidence bounds may fail; 1/horizon by default, and 0.001 without "
           "a horizon.",
           BETWEEN(0.0, 1.0)),
    OPTION(Q_BAR, q_bar, REAL,
           "Oversampling of the dictionary.",
           ABOVE(0.0), .has_default = true),
    OPTION(RATIO_BOUND, ratio_bound, REAL,
           "A batch ends when variances may have shrunk by more than this factor.",
           AT_LEAST(1.0), .has_default = true),
    OPTION(BATCH_RULE, batch_rule, WORD,
           "Which bound on the ratio of variances ends a batch.",
           WORDS("global", "global_local"), .has_default = true),
    OPTION(CONFIDENCE, confidence, WORD,
           "Width of the confidence bounds: that of the authors' code (practical), that of the theorem "
           "(theory), or one standard deviation (calibrated). The default is calibrated where rewards are "
           "standardized, otherwise practical. An object with beta fixes the width.",
           WORDS("practical", "theory", "fixed", "calibrated")),
    OPTION(RESAMPLE, resample, WORD,
           "Random numbers of the dictionary: one coin per candidate for each dictionary (fresh) or for the "
           "whole study (persistent), or one per pull.",
           WORDS("fresh", "persistent", "per_pull"), .has_default = true),
    OPTION(MAX_BATCH, max_batch, INTEGER,
           "Largest batch.",
           AT_LEAST(1.0), .has_default = true),
    OPTION(INIT, init, WORD,
           "The first picks: at random (uniform); the most uncertain candidates, until no variance is above 1/parallelism "
           "(uncertainty); or, with log_ei, for which it is the default, at random but unlike each other (spread).",
           WORDS("uniform", "uncertainty", "spread")),
    OPTION(GAMMA, gamma, WORD,
           "Information gain in the width: that of the pulls so far, its bound for the kernel, or a number.",
           WORDS("exact", "bound", "fixed"), .has_default = true),
    OPTION(GAMMA_SCALE, gamma_scale, REAL,
           "Multiplies the bound on the information gain.",
           ABOVE(0.0), .has_default = true),
    OPTION(SCALE, scale, REAL,
           "Divides the width of a Thompson sample.",
           ABOVE(0.0), .has_default = true),
    OPTION(EPSILON, epsilon, REAL,
           "Probability of a random candidate.",
           .low = 0.0, .high = 1.0, .has_default = true),
    OPTION(ZETA, zeta, REAL,
           "Smallest improvement that counts, in units of the reward.",
           AT_LEAST(0.0), .has_default = true),
    OPTION(AGREEING_REPEATS, agreeing_repeats, REAL,
           "The largest share of trials that measure a candidate again as long as all candidates that were measured again "
           "gave the same value; in an open space since revision 2 only. 0.05 in new studies, 1 in studies that "
           "are older than this option.",
           .low = 0.0, .high = 1.0),
    OPTION(WARP_UNIT, warp_unit, WORD,
           "In an open space: the unit in which values are warped, the interquartile range (quartiles) or, where that is "
           "less, twice the distance from the median to the better quartile (better_half). With in_turn, fits to an even "
           "number of results also try the better quarter and the better eighth of the values in place of the better "
           "half, and take the most likely of the three. New studies with one objective in a space have in_turn; "
           "studies that are older than this option have quartiles.",
           WORDS("quartiles", "better_half", "in_turn")),
    OPTION(SOURCE_TRUST, source_trust, WORD,
           "How far a study with learn_from trusts the older studies while it has few results: as far as they make the "
           "results more likely (evidence), or less if the older studies contradict each other (agreement). New "
           "studies have agreement; studies that are older than this option have evidence.",
           WORDS("evidence", "agreement")),
    OPTION(POPULATION, population, INTEGER,
           "Size of the population.",
           AT_LEAST(1.0), .has_default = true),
    OPTION(SAMPLE, sample, INTEGER,
           "Number of members of the population drawn for each tournament.",
           AT_LEAST(1.0), .has_default = true),
    OPTION(POSTERIOR, posterior, WORD,
           "Basis of the sampled posterior: inducing points, a dictionary by leverage scores, or "
           "eigenfunctions.",
           WORDS("svgp", "dtc", "features"), .has_default = true),
    OPTION(FEATURES, features, WORD,
           "The features of the prior: random Fourier features, or Laplacian eigenfunctions in up to three "
           "dimensions.",
           WORDS("rff", "eigen"), .has_default = true),
    OPTION(INDUCING, inducing, INTEGER,
           "Number of inducing points; with 0 it depends on the horizon.",
           AT_LEAST(0.0), .has_default = true),
    OPTION(PRIOR_FEATURES, prior_features, INTEGER,
           "Number of features of the prior; with 0 it depends on the horizon.",
           AT_LEAST(0.0), .has_default = true),
    OPTION(DPP_STEPS, dpp_steps, INTEGER,
           "Exchange steps of the Markov chain per draw of the inducing points.",
           AT_LEAST(0.0), .has_default = true),
    OPTION(INITIAL_CELLS, initial_cells, INTEGER,
           "Cells per side of the first cover; with 0 it depends on the horizon.",
           AT_LEAST(0.0), .has_default = true),
    OPTION(IN_FLIGHT, in_flight, WORD,
           "In an open space: a pick takes all points in flight into account (all), or the first hundred and, of the "
           "others, those near each point that it considers (near). With once, which is near with one more rule, a "
           "point in flight is not picked again while there is another. With surpass, which is once with one more rule, "
           "picks keep away from points in flight if some number is continuous or has more than a hundred values: "
           "an improvement must also be one over their means, and the picks of a batch keep apart even if there is "
           "noise. New studies have surpass with log_ei and near with other algorithms; studies that are older than "
           "this option have all.",
           WORDS("all", "near", "once", "surpass")),
    OPTION(REFERENCE, reference, WORD,
           "With several objectives without thresholds: the inferred reference point is below the front, and in each "
           "objective no better than the lower quartile of the means of all tried points (quartile), or than the second "
           "worst of them (second_worst), so that the search still finds the ends of the front when most of the tried "
           "points are good. New studies have second_worst; studies that are older than this option have quartile.",
           WORDS("quartile", "second_worst")),
};
/* clang-format on */

_Static_assert(BANDIT_OPTION_COUNT <= 64, "bandit_algorithm_info.options has a bit for each");
/* bandit_option_number reads enumerations as unsigned int. */
_Static_assert(sizeof(bandit_batch_rule) == sizeof(unsigned), "an enumeration is an unsigned int");

const bandit_option_info *bandit_option_about(bandit_option option)
{
    assert((unsigned)option < BANDIT_OPTION_COUNT);
    return &options_by_name[option];
}

double bandit_option_number(const bandit_options *options, bandit_option option)
{
    const bandit_option_info *about = bandit_option_about(option);
    const unsigned char *member = (const unsigned char *)options + about->offset;
    double number;
    size_t integer;
    if (about->kind == BANDIT_OPTION_IS_INTEGER) {
        memcpy(&integer, member, sizeof integer);
        return (double)integer;
    }
    assert(about->kind == BANDIT_OPTION_IS_REAL);
    memcpy(&number, member, sizeof number);
    return number;
}

void bandit_option_set_number(bandit_options *options, bandit_option option, double value)
{
    const bandit_option_info *about = bandit_option_about(option);
    unsigned char *member = (unsigned char *)options + about->offset;
    if (about->kind == BANDIT_OPTION_IS_INTEGER) {
        size_t integer = (size_t)value;
        memcpy(member, &integer, sizeof integer);
        return;
    }
    assert(about->kind == BANDIT_OPTION_IS_REAL);
    memcpy(member, &value, sizeof value);
}

const char *bandit_option_word(const bandit_options *options, bandit_option option)
{
    const bandit_option_info *about = bandit_option_about(option);
    unsigned value;
    assert(about->kind == BANDIT_OPTION_IS_WORD);
    memcpy(&value, (const unsigned char *)options + about->offset, sizeof value);
    return about->words[value];
}

bool bandit_option_set_word(bandit_options *options, bandit_option option, const char *word)
{
    const bandit_option_info *about = bandit_option_about(option);
    assert(about->kind == BANDIT_OPTION_IS_WORD);
    for (unsigned value = 0; about->words[value]; value++)
        if (strcmp(about->words[value], word) == 0) {
            memcpy((unsigned char *)options + about->offset, &value, sizeof value);
            return true;
        }
    return false;
}
