#include "tests/support/scripted_study.h"

#include "bandit/rng.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- settings ------------------------------------------------------------------------------------------ */

typedef enum kind { REAL, SIZE, NUMBER, FLAG, WORD, REALS } kind;

static const char *const sets[] = {"list", "matrix", "box", "mixed", "few", "enumerated", NULL};
static const char *const scalings[] = {"standardize", "unit", "none", NULL};
static const char *const kernels[] = {"gaussian", "matern", "linear", "precomputed", NULL};
static const char *const rules[] = {"global", "global_local", NULL};
static const char *const confidences[] = {"practical", "theory", "fixed", "calibrated", NULL};
static const char *const trusts[] = {"evidence", "agreement", NULL};
static const char *const warp_units[] = {"quartiles", "better_half", "in_turn", NULL};
static const char *const references[] = {"quartile", "second_worst", NULL};
static const char *const in_flights[] = {"all", "near", "once", "surpass", NULL};
static const char *const resamples[] = {"fresh", "persistent", "per_pull", NULL};
static const char *const inits[] = {"uniform", "uncertainty", "spread", NULL};
static const char *const gammas[] = {"exact", "bound", "fixed", NULL};
static const char *const posteriors[] = {"svgp", "dtc", "features", NULL};
static const char *const features[] = {"rff", "eigen", NULL};
static const char *const algorithms[] = {
#define X(enumerator, name) #name,
    BANDIT_ALGORITHM_LIST(X)
#undef X
        NULL};

#define OPTION(field) offsetof(script, options) + offsetof(bandit_options, field)

static const struct setting {
    const char *name;
    kind kind;
    size_t offset;
    const char *const *words; /* WORD: in the order of the enumeration */
} settings[] = {
    {"set", WORD, offsetof(script, set), sets},
    {"arms", SIZE, offsetof(script, arms), NULL},
    {"features", SIZE, offsetof(script, features), NULL},
    {"twins", NUMBER, offsetof(script, twins), NULL},
    {"scaling", WORD, offsetof(script, scaling), scalings},
    {"algorithm", WORD, OPTION(algorithm), algorithms},
    {"kernel", WORD, OPTION(kernel.type), kernels},
    {"nu", REAL, OPTION(kernel.nu), NULL},
    {"lengthscales", REALS, offsetof(script, lengthscales), NULL},
    {"lambda", REAL, OPTION(lambda), NULL},
    {"noise_std", REAL, OPTION(noise_std), NULL},
    {"norm_bound", REAL, OPTION(norm_bound), NULL},
    {"delta", REAL, OPTION(delta), NULL},
    {"q_bar", REAL, OPTION(q_bar), NULL},
    {"q_bar_theory", FLAG, OPTION(q_bar_theory), NULL},
    {"ratio_bound", REAL, OPTION(ratio_bound), NULL},
    {"batch_rule", WORD, OPTION(batch_rule), rules},
    {"confidence", WORD, OPTION(confidence), confidences},
    {"beta", REAL, OPTION(beta), NULL},
    {"resample", WORD, OPTION(resample), resamples},
    {"max_batch", SIZE, OPTION(max_batch), NULL},
    {"init", WORD, OPTION(init), inits},
    {"parallelism", REAL, OPTION(parallelism), NULL},
    {"init_cholesky", FLAG, OPTION(init_cholesky), NULL},
    {"gamma", WORD, OPTION(gamma), gammas},
    {"gamma_value", REAL, OPTION(gamma_value), NULL},
    {"gamma_scale", REAL, OPTION(gamma_scale), NULL},
    {"scale", REAL, OPTION(scale), NULL},
    {"epsilon", REAL, OPTION(epsilon), NULL},
    {"zeta", REAL, OPTION(zeta), NULL},
    {"agreeing_repeats", REAL, OPTION(agreeing_repeats), NULL},
    {"warp_unit", WORD, OPTION(warp_unit), warp_units},
    {"source_trust", WORD, OPTION(source_trust), trusts},
    {"in_flight", WORD, OPTION(in_flight), in_flights},
    {"reference", WORD, OPTION(reference), references},
    {"revision", SIZE, OPTION(revision), NULL},
    {"population", SIZE, OPTION(population), NULL},
    {"sample", SIZE, OPTION(sample), NULL},
    {"posterior", WORD, OPTION(posterior), posteriors},
    {"prior", WORD, OPTION(features), features},
    {"inducing", SIZE, OPTION(inducing), NULL},
    {"prior_features", SIZE, OPTION(prior_features), NULL},
    {"dpp_steps", SIZE, OPTION(dpp_steps), NULL},
    {"initial_cells", SIZE, OPTION(initial_cells), NULL},
    {"horizon", NUMBER, OPTION(horizon), NULL},
    {"seed", NUMBER, OPTION(seed), NULL},
    {"learn_lengthscale", FLAG, OPTION(learn_lengthscale), NULL},
    {"learn_noise", FLAG, OPTION(learn_noise), NULL},
    {"learn_norm_bound", FLAG, OPTION(learn_norm_bound), NULL},
    {"standardize_rewards", FLAG, OPTION(standardize_rewards), NULL},
    {"warp_rewards", FLAG, OPTION(warp_rewards), NULL},
    {"lambda_from_noise", FLAG, OPTION(lambda_from_noise), NULL},
    {"rounds", SIZE, offsetof(script, rounds), NULL},
    {"picks", SIZE, offsetof(script, picks), NULL},
    {"twice", FLAG, offsetof(script, twice), NULL},
    {"beyond", NUMBER, offsetof(script, beyond), NULL},
    {"told", REAL, offsetof(script, told), NULL},
    {"noise", REAL, offsetof(script, noise), NULL},
    {"failed", REAL, offsetof(script, failed), NULL},
    {"barrier", REAL, offsetof(script, barrier), NULL},
    {"repeated", REAL, offsetof(script, repeated), NULL},
    {"stray", REAL, offsetof(script, stray), NULL},
    {"imports", SIZE, offsetof(script, imports), NULL},
    {"later", SIZE, offsetof(script, later), NULL},
    {"own", REAL, offsetof(script, own), NULL},
    {"amended", REAL, offsetof(script, amended), NULL},
    {"retired", REAL, offsetof(script, retired), NULL},
    {"withheld", SIZE, offsetof(script, withheld), NULL},
    {"appended", SIZE, offsetof(script, appended), NULL},
    {"fixed", NUMBER, offsetof(script, fixed), NULL},
    {"offset", REAL, offsetof(script, offset), NULL},
    {"magnitude", REAL, offsetof(script, magnitude), NULL},
    {"relative", REAL, offsetof(script, relative), NULL},
    {"stored", FLAG, offsetof(script, stored), NULL},
    {"looks", SIZE, offsetof(script, looks), NULL},
    {"script_seed", NUMBER, offsetof(script, script_seed), NULL},
};

static size_t read_reals(double *out, const char *words, const recording *r)
{
    size_t n = 0;
    for (char *end; *words != '\0'; words = end) {
        if (n == SCRIPT_WIDTH)
            recording_refuse(r, "too many numbers");
        out[n++] = strtod(words, &end);
        if (end == words)
            recording_refuse(r, "no number");
    }
    return n;
}

static unsigned read_word(const char *const *words, const char *word, const recording *r)
{
    for (unsigned i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
    }
    recording_refuse(r, "no such word");
    return 0;
}

static uint64_t read_number(const char *words, const recording *r)
{
    char *end;
    uint64_t value = strtoull(words, &end, 10);
    if (end == words || *end != '\0')
        recording_refuse(r, "no whole number");
    return value;
}

static void read_setting(script *s, const struct setting *setting, const char *words, const recording *r)
{
    char *at = (char *)s + setting->offset;
    switch (setting->kind) {
    case REAL:
        if (read_reals((double *)(void *)at, words, r) != 1)
            recording_refuse(r, "one number is wanted");
        break;
    case SIZE:
        *(size_t *)(void *)at = (size_t)read_number(words, r);
        break;
    case NUMBER:
        *(uint64_t *)(void *)at = read_number(words, r);
        break;
    case FLAG:
        if (*words != '\0')
            recording_refuse(r, "stands alone");
        *(bool *)(void *)at = true;
        break;
    case WORD: /* enumerations are as unsigned int where no value is negative */
        *(unsigned *)(void *)at = read_word(setting->words, words, r);
        break;
    case REALS:
        s->n_lengthscales = read_reals((double *)(void *)at, words, r);
        break;
    }
}

void script_read(script *s, recording *r)
{
    const char *name, *words;
    *s = (script){.arms = 150,
                  .features = 3,
                  .scaling = BANDIT_SCALING_UNIT,
                  .options = BANDIT_OPTIONS_INIT,
                  .rounds = 8,
                  .picks = 4,
                  .told = 1.0,
                  .noise = 0.1,
                  .magnitude = 1.0,
                  .relative = 1e-7,
                  .looks = 4};
    s->options.delta = 0.05;
    s->options.seed = 11;
    while ((name = recording_setting(r, &words)) != NULL) {
        size_t i = 0, n = sizeof settings / sizeof *settings;
        while (i < n && strcmp(settings[i].name, name) != 0)
            i++;
        if (i == n)
            recording_refuse(r, "no such setting");
        else
            read_setting(s, &settings[i], words, r);
    }
    assert_in_range(s->features, 1, SCRIPT_WIDTH);
    assert_true(s->rounds > 0 && s->picks > 0 && s->looks > 0);
}

bandit_options script_options(const script *s)
{
    bandit_options o = s->options;
    o.kernel.lengthscales = s->lengthscales;
    o.kernel.n_lengthscales = s->n_lengthscales;
    return o;
}

double script_uniform(const script *s, script_number what, uint64_t i, uint64_t j)
{
    return bandit_random_uniform(s->script_seed, i, BANDIT_PURPOSE_UNIFORM, (uint64_t)what << 32 | j);
}

/* ---- what there is to choose from ---------------------------------------------------------------------- */

static const double sizes[] = {64, 16, 256, 32}, on[] = {1}, first_two[] = {0, 2}, large[] = {64, 256};

static const bandit_parameter box[] = {
    {.type = BANDIT_PARAMETER_DOUBLE, .min = -1, .max = 3, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_DOUBLE, .min = 1e-3, .max = 10, .log = true, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_INTEGER, .min = 2, .max = 30, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_INTEGER, .min = 1, .max = 1000, .log = true, .parent = BANDIT_NO_PARENT},
};
static const bandit_parameter mixed[] = {
    {.type = BANDIT_PARAMETER_DOUBLE,
     .min = 0,
     .max = 2,
     .parent = BANDIT_NO_PARENT,
     .has_default = true,
     .default_value = 0.5},
    {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 3, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT, .has_default = true, .default_value = 1},
    {.type = BANDIT_PARAMETER_DOUBLE,
     .min = 1e-4,
     .max = 1,
     .log = true,
     .parent = 2,
     .parent_values = on,
     .n_parent_values = 1},
    {.type = BANDIT_PARAMETER_DISCRETE,
     .numbers = sizes,
     .n_values = 4,
     .parent = 1,
     .parent_values = first_two,
     .n_parent_values = 2},
    {.type = BANDIT_PARAMETER_INTEGER,
     .min = 1,
     .max = 12,
     .parent = 4,
     .parent_values = large,
     .n_parent_values = 2},
};
static const bandit_parameter few[] = {
    {.type = BANDIT_PARAMETER_INTEGER, .min = 1, .max = 6, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT, .has_default = true, .default_value = 1},
    {.type = BANDIT_PARAMETER_DISCRETE,
     .numbers = sizes,
     .n_values = 4,
     .parent = 1,
     .parent_values = on,
     .n_parent_values = 1},
    {.type = BANDIT_PARAMETER_CATEGORICAL,
     .n_values = 2,
     .parent = 2,
     .parent_values = large,
     .n_parent_values = 2},
};

static const bandit_parameter *parameters_of(const script *s, size_t *n)
{
    switch (s->set) {
    case SCRIPT_BOX:
        *n = s->features;
        assert_in_range(*n, 1, sizeof box / sizeof *box);
        return box;
    case SCRIPT_MIXED:
        *n = sizeof mixed / sizeof *mixed;
        return mixed;
    case SCRIPT_FEW:
    case SCRIPT_ENUMERATED:
        *n = sizeof few / sizeof *few;
        return few;
    case SCRIPT_LIST:
    case SCRIPT_MATRIX:
        break;
    }
    *n = 0;
    return NULL;
}

bool script_is_space(const script *s)
{
    size_t n;
    return parameters_of(s, &n) != NULL;
}

bool script_is_open(const script *s)
{
    return script_is_space(s) && s->set != SCRIPT_ENUMERATED;
}

void script_row(const script *s, size_t i, double *row)
{
    bool twin = s->twins > 0 && i % s->twins == s->twins - 1 && i >= 2;
    for (size_t j = 0; j < s->features; j++)
        row[j] = script_uniform(s, SCRIPT_FEATURES, twin ? i - 2 : i, j);
}

static double value_of(const bandit_parameter *p, double u)
{
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
        return p->min + (p->log ? u * u * u : u) * (p->max - p->min);
    case BANDIT_PARAMETER_INTEGER:
        return floor(p->min + (p->log ? u * u * u : u) * (p->max - p->min + 1.0));
    case BANDIT_PARAMETER_DISCRETE:
        return p->numbers[(size_t)(u * (double)p->n_values)];
    case BANDIT_PARAMETER_CATEGORICAL:
        return floor(u * (double)p->n_values);
    case BANDIT_PARAMETER_BOOLEAN:
        return u < 0.5 ? 0.0 : 1.0;
    }
    return NAN;
}

void script_point(const script *s, size_t i, double *coded)
{
    size_t n;
    const bandit_parameter *p = parameters_of(s, &n);
    for (size_t j = 0; j < n; j++) { /* parents stand before their children */
        bool active = p[j].parent == BANDIT_NO_PARENT;
        for (size_t v = 0; v < p[j].n_parent_values && !active; v++)
            active = coded[p[j].parent] == p[j].parent_values[v];
        coded[j] = active ? value_of(&p[j], script_uniform(s, SCRIPT_FEATURES, i, j)) : NAN;
    }
}

static bandit_arms *matrix(const script *s)
{
    bandit_arms *arms;
    bandit_error err;
    double a[SCRIPT_WIDTH], b[SCRIPT_WIDTH];
    double *row = malloc(s->arms * sizeof *row);
    assert_non_null(row);
    must(bandit_arms_new_precomputed(&arms, s->arms, &err), &err);
    for (size_t i = 0; i < s->arms; i++) {
        script_row(s, i, a);
        for (size_t k = 0; k < s->arms; k++) {
            double square = 0.0;
            script_row(s, k, b);
            for (size_t j = 0; j < s->features; j++)
                square += (a[j] - b[j]) * (a[j] - b[j]);
            row[k] = 1.0 / (1.0 + 4.0 * square);
        }
        must(bandit_arms_set_rows(arms, i, 1, row, &err), &err);
    }
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, s->arms, &err), &err);
    free(row);
    return arms;
}

bandit_arms *script_arms(const script *s)
{
    bandit_arms *arms;
    bandit_error err;
    size_t n;
    const bandit_parameter *parameters = parameters_of(s, &n);
    if (parameters) {
        must(bandit_arms_new_space(&arms, parameters, n, &err), &err);
        if (!script_is_open(s))
            must(bandit_arms_enumerate(arms, &err), &err);
        return arms;
    }
    if (s->set == SCRIPT_MATRIX)
        return matrix(s);
    must(bandit_arms_new(&arms, s->arms, s->features, &err), &err);
    for (size_t i = 0; i < s->arms; i++) {
        double row[SCRIPT_WIDTH];
        script_row(s, i, row);
        must(bandit_arms_set_rows(arms, i, 1, row, &err), &err);
    }
    must(bandit_arms_finish(arms, s->scaling, s->arms, &err), &err);
    return arms;
}

/* ---- what it is worth ---------------------------------------------------------------------------------- */

/* Of numbers in [0, 1]: a hill off the middle, with a second one across. */
static double worth(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) {
        double off = x[j] - 0.3 - 0.1 * (double)(j % 4);
        sum += 0.4 - 3.0 * off * off + 4.0 * off * off * off;
        if (j > 0)
            sum += 0.6 * x[j] * (1.0 - x[j - 1]);
    }
    return 2.0 * sum / (double)n;
}

static void features_of(const bandit_arms *arms, uint32_t arm, double *x)
{
    double coded[SCRIPT_WIDTH];
    bandit_arms_coded(arms, arm, coded);
    bandit_arms_scale_point(arms, coded, x);
}

bool script_is_barred(const script *s, const bandit_arms *arms, uint32_t arm)
{
    double x[2 * SCRIPT_WIDTH];
    if (!script_is_space(s) || s->barrier <= 0.0)
        return false;
    features_of(arms, arm, x);
    return x[0] + x[1] > s->barrier;
}

double script_reward(const script *s, const bandit_arms *arms, uint32_t arm, uint64_t t)
{
    double x[2 * SCRIPT_WIDTH], noise = 0.0, reward;
    if (script_is_space(s)) {
        features_of(arms, arm, x);
        reward = worth(x, bandit_arms_dimension(arms));
    } else {
        script_row(s, arm, x);
        reward = worth(x, s->features);
    }
    for (uint64_t i = 0; i < 12; i++)
        noise += script_uniform(s, SCRIPT_NOISE, t, i);
    reward += s->noise * (noise - 6.0);
    if (script_uniform(s, SCRIPT_STRAY, t, 0) < s->stray)
        reward += script_uniform(s, SCRIPT_STRAY, t, 1) < 0.5 ? -30.0 : 30.0;
    return s->offset + s->magnitude * reward;
}
