/* Converts between bytes and plain structs: the requests and responses of the HTTP API in openapi.yaml. This
 * folder depends on no sockets, no SQL and no engine.
 *
 * Decoders return WIRE_OK, WIRE_MALFORMED (not JSON: answer 400), WIRE_INVALID (JSON with invalid content:
 * answer 422; every problem is listed with its JSON pointer) or WIRE_NO_MEMORY. *out is NULL unless WIRE_OK,
 * and is freed with the _free of its type. Unknown members are refused. Duplicate keys and non-finite numbers
 * are malformed. An integer is accepted where a real is expected; a boolean is never a number. Each decoder
 * lists all problems that it finds, not only the first. */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include "proto/json_writer.h"
#include "proto/space_points.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAX_INTEGER         9007199254740991 /* 2^53 − 1 */
#define WIRE_MAX_COUNT           2147483647       /* of counts with 32 bits */
#define WIRE_MAX_DIMENSION       10000
#define WIRE_MAX_BATCH           1000000 /* picks of one batch */
#define WIRE_MAX_NAME            200     /* characters of a name given by a user */
#define WIRE_MAX_UNIT            50      /* characters of the unit of a parameter or metric */
#define WIRE_MAX_METRICS         32
#define WIRE_MAX_OBJECTIVES      5
#define WIRE_MAX_CONSTRAINTS     8
#define WIRE_MAX_MODELLED        (WIRE_MAX_OBJECTIVES + WIRE_MAX_CONSTRAINTS)
#define WIRE_MAX_LABELS          64
#define WIRE_MAX_PARAMETERS      1000
#define WIRE_MAX_CHOICES         10000    /* values of a parameter */
#define WIRE_MAX_WORDS           100000   /* values of a categorical parameter */
#define WIRE_MAX_PROPERTIES      1000     /* features of a word */
#define WIRE_MAX_RULES           64       /* constraints of a space */
#define WIRE_MAX_RULE            1000     /* bytes */
#define WIRE_MAX_METADATA        65536    /* bytes, of a study */
#define WIRE_MAX_LEASE_SECONDS   31536000 /* a year */
#define WIRE_MAX_WAIT_SECONDS    300
#define WIRE_MAX_TRIALS          1000 /* in one ask or tell */
#define WIRE_MAX_PREDICTIONS     10000
#define WIRE_MAX_REPEATS         1000000
#define WIRE_MAX_VALUE           1e100  /* of a result, also −: sums of squares stay finite */
#define WIRE_MAX_COST            1e15   /* of a result: sums stay finite and nearly exact */
#define WIRE_MIN_STD_ERROR       1e-100 /* squares do not vanish */
#define WIRE_MAX_REASON          1000   /* characters */
#define WIRE_MAX_RESULT_METADATA 4096   /* bytes */

typedef enum wire_status { WIRE_OK, WIRE_MALFORMED, WIRE_INVALID, WIRE_NO_MEMORY } wire_status;

/* Problems found in a request. Starts as {0}; wire_errors_clear frees what it holds. At most
 * WIRE_ERRORS_MAX are kept. */
#define WIRE_ERRORS_MAX 32
typedef struct wire_error_item {
    char *pointer; /* JSON pointer (RFC 6901), "" for the whole body */
    char *detail;
} wire_error_item;
typedef struct wire_errors {
    wire_error_item items[WIRE_ERRORS_MAX];
    size_t n;
    size_t dropped; /* number of problems beyond the maximum */
    bool no_memory; /* a problem could not be kept */
} wire_errors;

void wire_errors_add(wire_errors *errors, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void wire_errors_clear(wire_errors *errors);

/* ---- problem+json (RFC 9457) --------------------------------------------------------------------------- */

typedef struct wire_problem {
    int status;
    const char *type;          /* "about:blank" or a URN of ours */
    const char *title;         /* the reason phrase of the status */
    const char *detail;        /* NULL: left out */
    const wire_errors *errors; /* NULL or empty: left out */
} wire_problem;

void wire_encode_problem(wire_writer *w, const wire_problem *problem);

/* ---- studies ------------------------------------------------------------------------------------------- */

/* Bounds of a number. An `open` bound is not itself allowed. */
typedef struct wire_range {
    double min, max;
    bool open_min, open_max;
} wire_range;

/* A number that may be left out or be a word instead ("auto", "theory"). */
typedef struct wire_number {
    bool given;
    const char *word; /* NULL: `value` counts; otherwise static text, e.g. "auto" */
    double value;
} wire_number;

typedef struct wire_integer {
    bool given;
    int64_t value;
} wire_integer;

typedef enum wire_domain_type {
    WIRE_DOMAIN_CANDIDATES,
    WIRE_DOMAIN_PRECOMPUTED,
    WIRE_DOMAIN_SPACE
} wire_domain_type;

typedef struct wire_kernel {
    bool given;
    char *type; /* "gaussian" …; NULL when left out */
    wire_number nu;
    wire_number lengthscale; /* a number or "auto" */
    double *lengthscales;    /* a list was given: n_lengthscales entries */
    size_t n_lengthscales;
} wire_kernel;

typedef struct wire_algorithm {
    bool given;
    char *name; /* NULL when left out */
    wire_kernel kernel;
    wire_number lambda, noise_std, norm_bound, delta, q_bar, ratio_bound, beta; /* beta: {"beta": b} */
    char *confidence; /* "practical", "theory", "calibrated", "fixed" for {"beta": b}; NULL */
    char *batch_rule, *resample;
    wire_integer max_batch, max_arm_failures;
    bool standardize_rewards_given, standardize_rewards;
    char *init;        /* "uniform", "uncertainty", "spread"; NULL */
    char *init_method; /* "cholesky"; NULL: uniform, or the definition is older than this option */
    wire_number parallelism;
    wire_number gamma, gamma_scale, scale, epsilon, zeta; /* gamma: a number, "exact" or "bound" */
    wire_number agreeing_repeats;                         /* absent: the definition is older */
    char *warp_unit, *source_trust, *reference;           /* NULL: likewise, or it does not apply */
    wire_integer population, sample;
    char *posterior, *features;
    wire_integer inducing, prior_features, dpp_steps, initial_cells;
    char *in_flight; /* "all", "near", "once", "surpass"; NULL: older than this option, or not of a space */
    wire_integer revision; /* absent: the definition is older, or the algorithm has no model */
} wire_algorithm;

typedef struct wire_metric {
    char *name;
    bool has_goal; /* not of a constraint; may be left out of a recorded metric */
    bool minimize;
    bool recorded, constraint;     /* the role; if neither, it is an objective */
    wire_number threshold;         /* of an objective: the worst value of interest */
    wire_number at_least, at_most; /* of a constraint or an objective: bounds of its values */
    char *unit;                    /* only shown; NULL: not given */
} wire_metric;

/* A rule that the points of a space keep. */
typedef struct wire_constraint {
    char *text;
    struct expression *rule; /* the text as it was read */
} wire_constraint;

/* The rule by which workers should stop trials early. */
typedef enum wire_stopping_rule {
    WIRE_STOPPING_NONE,
    WIRE_STOPPING_MEDIAN,
    WIRE_STOPPING_SUCCESSIVE_HALVING
} wire_stopping_rule;

typedef struct wire_stopping {
    wire_stopping_rule rule;
    wire_integer min_steps, min_trials;   /* median */
    wire_integer min_resource, reduction; /* successive halving */
    bool safe; /* not at a step at which the rule would have stopped the best complete trial */
    /* What the model learns from a stopped trial without a value: "estimate", "nothing". NULL: nothing, as in
     * definitions that are older than this choice. */
    char *stopped;
} wire_stopping;

/* A rule that ends the study, or advises to end it. */
enum { WIRE_MAX_STOP_WHEN = 8 };
typedef enum wire_stop_rule {
    WIRE_STOP_STAGNATION,
    WIRE_STOP_TARGET,
    WIRE_STOP_COST,
    WIRE_STOP_REGRET
} wire_stop_rule;

extern const char *const wire_stop_rule_names[]; /* by wire_stop_rule; ends with NULL */

typedef struct wire_stop_when {
    wire_stop_rule rule;
    int64_t results;    /* stagnation */
    double gain;        /* stagnation: in interquartile ranges of the values */
    double value;       /* target: in the metric's units */
    double total;       /* cost: of all results together */
    double epsilon;     /* regret: in the metric's units */
    double probability; /* regret: that no point is better than the recommended one by more than epsilon */
    bool tells;         /* it only advises; never for cost, always for regret */
} wire_stop_when;

/* A study that another one learns from. A stored definition has the function that was found there, frozen
 * (bandit/source.h). */
enum { WIRE_MAX_SOURCES = 8, WIRE_MAX_SOURCE_POINTS = 256 };

typedef struct wire_source {
    char *study;
    int64_t observations; /* of that study when it was frozen */
    size_t n;             /* points; 0: not frozen */
    size_t width;         /* numbers of a point */
    double *points;       /* n x width, as candidates are stored */
    double *weights;      /* n */
    double shift;
    double *lengthscales;
    size_t n_lengthscales;
    double short_share; /* 0 in functions that were frozen before there was one */
} wire_source;

/* A study as requested by its creator, or completed by the server with all defaults. */
typedef struct wire_study {
    char *id;           /* NULL when left out */
    char *display_name; /* NULL */
    char *labels;       /* JSON object text, NULL */
    char *metadata;     /* JSON object text, NULL */
    char *aim;          /* "best", "regret"; NULL */
    wire_metric *metrics;
    size_t n_metrics;     /* at least one is an objective */
    bool metrics_as_list; /* given as "metrics", not "metric" */
    wire_number optimum;
    wire_domain_type domain_type;
    wire_integer dimension; /* of candidates: always given; taken from the points if it was left out */
    wire_integer size;      /* of a precomputed set */
    char *scaling;          /* "standardize", "unit", "none"; NULL */
    double *points;         /* inline candidates, n_points x dimension, row-major; NULL: to be uploaded */
    size_t n_points;
    char **feature_names; /* dimension of them; NULL */
    size_t n_feature_names;
    struct wire_keys *keys;     /* of the inline candidates, n_points; NULL: they have none */
    wire_parameter *parameters; /* of a space */
    size_t n_parameters;
    wire_constraint *constraints; /* of a space */
    size_t n_constraints;
    wire_algorithm algorithm;
    wire_integer horizon, seed;
    char *history_from; /* the study whose results the new study starts with; NULL */
    wire_source *learn_from;
    size_t n_learn_from;
    char *feedback; /* "async", "batch"; NULL */
    char *repeats;  /* "auto", "never"; NULL: left out, also in definitions older than this member */
    wire_integer min_in_flight;
    wire_number lease_seconds;
    wire_integer max_attempts;
    wire_stopping stopping;
    wire_stop_when *stop_when;
    size_t n_stop_when;
} wire_study;

/* Refuses frozen sources, which only the server makes. */
wire_status wire_refuse_frozen(const wire_study *study, wire_errors *errors);
/* Are all its sources frozen? */
bool wire_sources_are_frozen(const wire_study *study);

/* Does it have a rule of `stop_when` that uses the model? */
bool wire_stops_by_model(const wire_study *study);

/* The first objective. Its value is the `value` of a result. */
const wire_metric *wire_objective(const wire_study *study);
/* The index of the metric with this name; n_metrics: there is none. */
size_t wire_metric_named(const wire_study *study, const char *name);
/* The modelled metrics: the first objective, then the other objectives and the constraints in the order of the
 * definition. Returns their number and, unless out is NULL, writes them to out, which has room for
 * WIRE_MAX_MODELLED. */
size_t wire_modelled_metrics(const wire_study *study, const wire_metric **out);
size_t wire_count_objectives(const wire_study *study);
/* Are several metrics modelled, or does the only objective have bounds? */
bool wire_has_several(const wire_study *study);
bool wire_has_bounds(const wire_study *study);
/* Do these values of n metrics keep all of their bounds? */
bool wire_keeps_bounds(const wire_metric *const *metrics, const double *values, size_t n);

/* algorithms: the names that an algorithm may have, then NULL. */
wire_status wire_decode_study(wire_study **out, const char *body, size_t size, const char *const *algorithms,
                              wire_errors *errors);
/* The same. If a definition has errors, `check` adds further ones to them: it sees the members that could be read, so
 * that all problems are reported at once. */
typedef void wire_study_check(const wire_study *partial, wire_errors *errors);
wire_status wire_decode_study_checked(wire_study **out, const char *body, size_t size,
                                      const char *const *algorithms, wire_study_check *check,
                                      wire_errors *errors);
void wire_study_free(wire_study *study);

/* Writes every given field of the definition as a JSON object, without `points`, which are stored as
 * candidates. wire_decode_study reads it back: a stored definition has no `points` but a `dimension`. */
void wire_encode_definition(wire_writer *w, const wire_study *study);

/* The best reported or imported value, as part of responses. */
typedef struct wire_best {
    bool given;
    int64_t trial;       /* 0: the value was imported */
    int64_t observation; /* of an imported value: its number, from 1 in the order of import */
    int64_t candidate;   /* < 0: left out */
    const char *key;     /* of the candidate; "" or NULL: left out */
    const wire_study *space;
    const double *parameters; /* coded, of the space; NULL: left out */
    double value;
    bool with_belief; /* shows the next two */
    bool has_expected;
    double expected; /* the model's mean at that point; null where there is none */
    bool lucky;      /* the value is better than the model believes of its point */
} wire_best;

/* What a new study has taken over from another study. */
typedef struct wire_left_out {
    int64_t number; /* of the trial or of the observation, from 1 */
    bool is_trial;
    const char *pointer, *detail; /* why it does not fit the new study */
} wire_left_out;

typedef struct wire_taken_over {
    const char *study;
    int64_t imported, left_out;
    const wire_left_out *examples; /* the first results that were left out */
    size_t n_examples;
} wire_taken_over;

typedef struct wire_study_view {
    const wire_study *definition;
    const char *text;                 /* what wire_encode_definition would write; NULL: it is encoded */
    const char *state, *state_reason; /* reason: "" is left out */
    const char *advice;               /* a word; "" is left out */
    const char *advising_rule;        /* the rule that advises to end the study, in place of `advice`; NULL */
    int64_t advised_since;            /* the batch since which the rule holds */
    int64_t created_at, updated_at;   /* ms */
    int64_t queued, pending, completed, failed, infeasible, stopped;
    int64_t observations, batch, candidates; /* batch: planned so far */
    double cost;                             /* of all results together */
    wire_best best;
    const wire_taken_over *history; /* NULL: left out */
} wire_study_view;

void wire_encode_study(wire_writer *w, const wire_study_view *view);

/* ---- ask and tell ---------------------------------------------------------------------------------------
 */

typedef struct wire_ask {
    int64_t count;             /* 1 … 1000 */
    char *worker;              /* NULL; 1 … 200 characters */
    double wait_seconds;       /* 0 … 300 */
    wire_number lease_seconds; /* 1 … 31 536 000 */
    bool fresh;
    wire_assignments fixed; /* of a space; see wire_code_parameters */
} wire_ask;

/* An empty body is an ask with the defaults. */
wire_status wire_decode_ask(wire_ask **out, const char *body, size_t size, wire_errors *errors);
void wire_ask_free(wire_ask *ask);

typedef enum wire_outcome {
    WIRE_COMPLETED,
    WIRE_FAILED,
    WIRE_INFEASIBLE,
    WIRE_STOPPED,
    WIRE_RELEASED
} wire_outcome;

typedef struct wire_named_value {
    char *name;
    double value;
} wire_named_value;

typedef struct wire_result {
    int64_t trial;
    wire_outcome outcome;
    bool has_value;
    double value;             /* "value" */
    wire_named_value *values; /* "values", or NULL */
    size_t n_values;
    bool retry;                    /* with WIRE_FAILED only */
    wire_integer attempt, repeats; /* repeats: with a value only */
    wire_number std_error;         /* with a value only: of the first objective */
    wire_named_value *std_errors;  /* "std_errors", or NULL: with a value only */
    size_t n_std_errors;
    double cost;    /* 0: none was reported */
    char *reason;   /* NULL; at most 1000 characters; with a state only */
    char *metadata; /* JSON object text, at most 4 KiB; NULL */
} wire_result;

typedef struct wire_tell {
    wire_result *results; /* 1 … 1000 */
    size_t n;
} wire_tell;

wire_status wire_decode_tell(wire_tell **out, const char *body, size_t size, wire_errors *errors);
void wire_tell_free(wire_tell *tell);

/* {"accepted", "duplicates", "late"} */
void wire_encode_tell_answer(wire_writer *w, int64_t accepted, int64_t duplicates, int64_t late);

/* ---- reading --------------------------------------------------------------------------------------------
 */

/* Lists: begin, one value per item (written with any encoder), end. next_page_token NULL: last page. */
void wire_list_begin(wire_writer *w);
void wire_list_end(wire_writer *w, const char *next_page_token);
/* damaged: the text of a JSON array with the ids of studies that cannot be shown; NULL: none. */
void wire_study_list_end(wire_writer *w, const char *damaged, const char *next_page_token);

/* {"count", "dimension"} */
void wire_encode_candidates_answer(wire_writer *w, int64_t count, int64_t dimension);

typedef struct wire_recommended {
    bool given;
    int64_t candidate; /* < 0: left out */
    const char *key;   /* of the candidate; "" or NULL: left out */
    const wire_study *space;
    const double *parameters; /* coded, of the space; NULL: left out */
    double mean;
    bool has_std;
    double std;
    int64_t pulls; /* measurements of this point */
} wire_recommended;

/* {"trial" or "observation", "candidate", "value"}, or null if there is none. */
void wire_encode_observed(wire_writer *w, const wire_best *best);
/* {"observed": …, "recommended": …}; each is null if there is none. */
void wire_encode_best(wire_writer *w, const wire_best *observed, const wire_recommended *recommended);

typedef struct wire_predict {
    int64_t *candidates;          /* one of these; the numbers of `keys` are found later */
    struct wire_keys *keys;       /* of candidates */
    double *points;               /* n x dimension, row-major */
    wire_assignments *parameters; /* see wire_code_parameters */
    size_t n, dimension;
} wire_predict;

/* A candidate with its results and its posterior. */
typedef struct wire_candidate {
    int64_t candidate;
    const char *key;     /* "" or NULL: left out */
    const double *point; /* NULL: left out */
    size_t dimension;
    const wire_study *space; /* with parameters */
    const double *parameters;
    bool retired;                            /* left out when false */
    int64_t pulls;                           /* in the model */
    double mean;                             /* of their values; null without pulls */
    const struct wire_prediction *posterior; /* of the first objective; NULL: null */
    const wire_study *several; /* the study, if it has several modelled metrics or bounds; or NULL */
    size_t stride;             /* with `several`: metric j has posterior[j * stride] */
    double feasible;           /* with bounds: the probability that all of them hold */
} wire_candidate;

void wire_encode_candidate(wire_writer *w, const wire_candidate *candidate);

/* 1 … 10 000 candidates, points or points by name. */
wire_status wire_decode_predict(wire_predict **out, const char *body, size_t size, wire_errors *errors);
void wire_predict_free(wire_predict *predict);

typedef struct wire_prediction {
    double mean, std, ucb;
} wire_prediction;

void wire_encode_predictions(wire_writer *w, const wire_prediction *predictions, size_t n);

typedef struct wire_model {
    const wire_study *definition; /* with the current algorithm */
    int64_t batch;
    double beta;
    const uint32_t *dictionary; /* candidates */
    const double *points;       /* coded points instead of candidates: n_dictionary x parameters; NULL */
    size_t n_dictionary;
    double effective_dimension, information_gain;
    double lambda, noise_std, norm_bound;
    double signal_std, offset, scale; /* the model sees (value − offset) / scale */
    bool warped;                      /* of o + s warp((value − o) / s), o and s these: */
    double warp_offset, warp_scale, warp_power;
    const double *lengthscales; /* n_lengthscales, of scaled features */
    size_t n_lengthscales;
    double short_share; /* of the kernel's part with shorter lengthscales; 0: none, and not shown */
    int64_t observations, fitted_on, set_aside;
    const double *source_weights; /* of definition->learn_from; NULL: the model learns from no other study */
} wire_model;

void wire_encode_model(wire_writer *w, const wire_model *model);

typedef struct wire_batch {
    int64_t batch, size;
    double ratio;
    const char *stop_rule;
    int64_t dictionary_size;
    double beta;
    int64_t observations;
    double update_seconds, select_seconds;
    int64_t started_at;
} wire_batch;

void wire_encode_batch(wire_writer *w, const wire_batch *batch);

/* Can the n bytes of text be a study's id: ^[a-z0-9][a-z0-9._-]{0,62}$ ? */
bool wire_is_study_id(const char *text, size_t n);

#endif
