#include "server/data/history_transfer.h"

#include "proto/arrays.h"
#include "proto/constraints.h"
#include "proto/encode_export.h"
#include "proto/recorded_values.h"
#include "server/data/candidate_rows.h"
#include "server/data/result_values.h"
#include "server/data/space_rules.h"
#include "server/data/study_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the other study ----------------------------------------------------------------------------------- */

/* A result of the other study. */
typedef struct result {
    int64_t number;
    bool is_trial;
    uint32_t candidate;
    int64_t repeats;
    double value;
    char *recorded; /* as stored; owned */
} result;

typedef struct reading {
    store *s;
    const study_config *settings; /* of the new study */
    const history_request *asked;
    wire_study *from; /* definition of the other study */
    int64_t number, last_seq, candidates;
    size_t width;
    store_status defined; /* of reading its definition */
    bool no_memory;
    result *results;
    size_t n, capacity;
    /* The new number of each candidate of the other study. */
    int64_t *places;
    bandit_arms *arms;  /* of a space: of the new study */
    size_t *sorted;     /* of a set: the new study's candidates, sorted by their rows */
    const double *rows; /* the rows of the new study's candidates */
    double *others;     /* n_others rows of the other study that are not candidates of the new one */
    size_t n_others, capacity_others;
} reading;

enum { NOT_LOOKED_AT = -1, DOES_NOT_FIT = -2 };

static void take_study(void *arg, const store_study *row)
{
    reading *r = arg;
    r->defined = study_config_read(&r->from, row->definition);
    r->number = row->study;
    r->last_seq = row->last_seq;
    r->candidates = row->candidates;
    r->width = (size_t)row->dimension;
}

static void add_result(reading *r, result one)
{
    one.recorded = strdup(one.recorded);
    if (one.recorded && wire_grow(&r->results, &r->capacity, r->n + 1, 256, sizeof *r->results)) {
        r->results[r->n++] = one;
    } else {
        free(one.recorded);
        r->no_memory = true;
    }
}

static void take_observation(void *arg, const store_imported *o)
{
    if (o->has_value)
        add_result(arg, (result){.number = o->observation,
                                 .candidate = o->candidate,
                                 .repeats = o->repeats,
                                 .value = o->value,
                                 .recorded = (char *)(uintptr_t)o->recorded});
}

static void take_trial(void *arg, const store_trial *t)
{
    if (t->has_value)
        add_result(arg, (result){.number = t->trial,
                                 .is_trial = true,
                                 .candidate = (uint32_t)t->candidate,
                                 .repeats = t->repeats,
                                 .value = t->value,
                                 .recorded = (char *)(uintptr_t)t->recorded});
}

static void take_late(void *arg, const store_late_result *t)
{
    if (t->attempt == ESTIMATED_ATTEMPT)
        return;
    add_result(arg, (result){.number = t->trial,
                             .is_trial = true,
                             .candidate = (uint32_t)t->candidate,
                             .repeats = t->repeats,
                             .value = t->value,
                             .recorded = (char *)(uintptr_t)t->recorded});
}

static store_status read_results(reading *r)
{
    store_error error = {0};
    store_trial_filter told = {.told = true, .told_through = r->last_seq};
    store_status status =
        store_read_observations(r->s, r->number, 0, r->last_seq, take_observation, r, &error);
    if (status == STORE_OK)
        status = store_read_trials(r->s, r->number, &told, SIZE_MAX, take_trial, r, &error);
    if (status == STORE_OK)
        status = store_read_late_results(r->s, r->number, 0, 0, r->last_seq, take_late, r, &error);
    return status == STORE_OK && r->no_memory ? STORE_NO_MEMORY : status;
}

/* Is the best of the other study probably good here, although its goal is the opposite one? If the metric is the same,
 * it is not. */
static bool is_reversed(const reading *r)
{
    const wire_metric *ours = wire_objective(r->settings->wire), *theirs = wire_objective(r->from);
    return strcmp(ours->name, theirs->name) != 0 && ours->minimize != theirs->minimize;
}

/* Can the new study use results of the other one? */
static bool go_together(const reading *r, wire_errors *errors)
{
    const wire_study *to = r->settings->wire;
    const char *ours = wire_objective(to)->name, *theirs = wire_objective(r->from)->name;
    if (r->asked->any_point && wire_has_several(r->from))
        wire_errors_add(errors, r->asked->pointer, "'%s' has several objectives or bounds", r->asked->study);
    else if (!r->asked->any_point && strcmp(ours, theirs) != 0)
        wire_errors_add(errors, r->asked->pointer, "the objective of '%s' is '%s', not '%s'", r->asked->study,
                        theirs, ours);
    else if (to->domain_type != r->from->domain_type)
        wire_errors_add(errors, r->asked->pointer, "the domain of '%s' has another type", r->asked->study);
    else if (to->domain_type == WIRE_DOMAIN_SPACE)
        return true;
    else if (r->candidates == 0)
        wire_errors_add(errors, r->asked->pointer, "'%s' has no candidates yet", r->asked->study);
    else if (to->domain_type == WIRE_DOMAIN_PRECOMPUTED && to->size.value != r->from->size.value)
        wire_errors_add(errors, r->asked->pointer, "'%s' has %lld candidates, not %lld", r->asked->study,
                        (long long)r->from->size.value, (long long)to->size.value);
    else if (to->domain_type == WIRE_DOMAIN_CANDIDATES && to->dimension.value != (int64_t)r->width)
        wire_errors_add(errors, r->asked->pointer, "the candidates of '%s' have %zu features, not %lld",
                        r->asked->study, r->width, (long long)to->dimension.value);
    return errors->n == 0;
}

/* ---- sets of candidates -------------------------------------------------------------------------------- */

/* Copies the other study's candidates to the new study. */
static store_status copy_candidates(const reading *r, wire_study *points)
{
    store_error error = {0};
    if ((size_t)r->candidates > SIZE_MAX / sizeof(double) / r->width)
        return STORE_NO_MEMORY;
    points->points = malloc((size_t)r->candidates * r->width * sizeof *points->points);
    if (!points->points)
        return STORE_NO_MEMORY;
    points->n_points = (size_t)r->candidates;
    points->dimension = (wire_integer){.given = true, .value = (int64_t)r->width};
    return candidate_rows(points->points, r->s, r->number, r->from, r->width, 0, points->n_points, &error);
}

static int compare_rows(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_sorted(const void *a, const void *b, void *arg)
{
    const reading *r = arg;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = compare_rows(r->rows + x * r->width, r->rows + y * r->width, r->width);
    return order ? order : (x > y) - (x < y);
}

static bool sort_candidates(reading *r, const wire_study *points)
{
    r->rows = points->points;
    r->sorted = malloc(points->n_points * sizeof *r->sorted);
    if (!r->sorted)
        return false;
    for (size_t i = 0; i < points->n_points; i++)
        r->sorted[i] = i;
    qsort_r(r->sorted, points->n_points, sizeof *r->sorted, compare_sorted, r);
    return true;
}

/* Gives a row that is not a candidate a number after those of the candidates. */
static int64_t keep_row(reading *r, size_t n, const double *row)
{
    if (!wire_grow(&r->others, &r->capacity_others, (r->n_others + 1) * r->width, 256, sizeof *r->others)) {
        r->no_memory = true;
        return DOES_NOT_FIT;
    }
    memcpy(r->others + r->n_others * r->width, row, r->width * sizeof *row);
    return (int64_t)(n + r->n_others++);
}

/* The first candidate with this row. */
static int64_t find_row(const reading *r, size_t n, const double *row)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, n, i, compare_rows(r->rows + r->sorted[i] * r->width, row, r->width) < 0);
    bool found = place < n && compare_rows(r->rows + r->sorted[place] * r->width, row, r->width) == 0;
    return found ? (int64_t)r->sorted[place] : DOES_NOT_FIT;
}

/* ---- spaces -------------------------------------------------------------------------------------------- */

static store_status new_space(reading *r, const wire_study *points)
{
    bandit_error error = {0};
    bandit_status status = space_arms_new(&r->arms, r->settings->wire, r->settings->parameters, &error);
    if (status == BANDIT_OK && points->points)
        status = bandit_arms_enumerate(r->arms, &error);
    return status == BANDIT_OK ? STORE_OK : STORE_NO_MEMORY;
}

/* A point of the other study by parameter names, in the form that a client sends; borrows from its definition. */
static size_t name_values(wire_assignment *out, const wire_study *from, const double *row)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n_parameters; i++) {
        const wire_parameter *p = &from->parameters[i];
        if (isnan(row[i]))
            continue;
        wire_assignment *a = &out[n++];
        *a = (wire_assignment){.name = p->name, .type = WIRE_ASSIGN_NUMBER, .number = row[i]};
        if (p->type == WIRE_PARAMETER_CATEGORICAL) {
            a->type = WIRE_ASSIGN_TEXT;
            a->text = p->words[(size_t)row[i]];
        } else if (p->type == WIRE_PARAMETER_BOOLEAN) {
            a->type = WIRE_ASSIGN_TRUTH;
        }
    }
    return n;
}

/* The number of a point in the new space; *errors if it does not fit. */
static int64_t place_point(reading *r, const double *row, wire_errors *errors)
{
    const wire_study *to = r->settings->wire;
    wire_assignment *items = calloc(r->from->n_parameters, sizeof *items);
    double *point = malloc(to->n_parameters * sizeof *point);
    bandit_error error = {0};
    int64_t place = DOES_NOT_FIT;
    r->no_memory |= !items || !point;
    if (items && point) {
        wire_assignments given = {.items = items, .n = name_values(items, r->from, row)};
        if (wire_code_parameters(point, to->parameters, to->n_parameters, &given, WIRE_WHOLE, "", errors) &&
            wire_check_constraints(to, point, "", errors)) {
            size_t arm = bandit_arms_find(r->arms, point);
            if (arm == SIZE_MAX) {
                arm = bandit_arms_count(r->arms);
                r->no_memory |= bandit_arms_append(r->arms, point, 1, &error) != BANDIT_OK;
            }
            place = (int64_t)arm;
        }
    }
    free(items);
    free(point);
    return place;
}

/* ---- the transfer -------------------------------------------------------------------------------------- */

/* Counts a result that does not fit, and keeps the reasons of the first ones. False: out of memory. */
static bool leave_out(history_transfer *t, const result *one, const wire_errors *errors)
{
    wire_left_out *examples = (wire_left_out *)(uintptr_t)t->shown.examples;
    if (t->shown.left_out++ >= HISTORY_TRANSFER_EXAMPLES)
        return true;
    examples[t->shown.n_examples] = (wire_left_out){.number = one->number, .is_trial = one->is_trial};
    wire_left_out *example = &examples[t->shown.n_examples++];
    example->pointer = strdup(errors->n ? errors->items[0].pointer : "");
    example->detail = strdup(errors->n ? errors->items[0].detail : "is not one of the candidates");
    return example->pointer && example->detail;
}

/* The text of a result in the new study: the values of the metrics that the new study has, and the standard errors of
 * those that it models, if the model weighs them. NULL: a modelled metric is missing (*errors says which), or out of
 * memory. */
static char *values_of(reading *r, const result *one, wire_errors *errors)
{
    const study_config *to = r->settings;
    wire_named_value values[WIRE_MAX_METRICS], std_errors[WIRE_MAX_METRICS];
    double error[WIRE_MAX_MODELLED];
    wire_result given = {.values = values, .std_errors = std_errors};
    char *recorded = NULL;
    bool fine = wire_read_std_errors(one->recorded, to->modelled, to->n_modelled, error);
    for (size_t i = 0; i < to->wire->n_metrics; i++) {
        const wire_metric *metric = &to->wire->metrics[i];
        double value =
            metric == to->objective ? one->value : wire_recorded_value(one->recorded, metric->name);
        if (!isnan(value))
            values[given.n_values++] = (wire_named_value){.name = metric->name, .value = value};
    }
    for (size_t j = 0; fine && bandit_weighs_errors(&to->options) && j < to->n_modelled; j++)
        if (error[j] > 0.0)
            std_errors[given.n_std_errors++] =
                (wire_named_value){.name = to->modelled[j]->name, .value = error[j]};
    fine = fine && result_values_read(to, &given, "", &recorded, errors);
    r->no_memory |= !fine && errors->n == 0;
    return recorded;
}

/* Finds the new number of a result's candidate. The row of a candidate is read when it first occurs. */
static store_status look(reading *r, history_transfer *t, const wire_study *points, double *row,
                         const result *one)
{
    wire_errors errors = {0};
    store_error error = {0};
    int64_t *place = &r->places[one->candidate];
    store_status status = STORE_OK;
    if (r->settings->wire->domain_type == WIRE_DOMAIN_PRECOMPUTED)
        *place = one->candidate;
    if (*place < 0) /* also done again to report why it does not fit */
        status = candidate_rows(row, r->s, r->number, r->from, r->width, one->candidate, 1, &error);
    if (*place < 0 && status == STORE_OK)
        *place = r->arms ? place_point(r, row, &errors) : find_row(r, points->n_points, row);
    if (*place == DOES_NOT_FIT && status == STORE_OK && !r->arms && r->asked->any_point)
        *place = keep_row(r, points->n_points, row);
    bool kept = status != STORE_OK || *place != DOES_NOT_FIT || leave_out(t, one, &errors);
    wire_errors_clear(&errors);
    return r->no_memory || !kept ? STORE_NO_MEMORY : status;
}

/* Adds a result whose candidate is known. */
static store_status add(reading *r, history_transfer *t, const result *one)
{
    wire_errors errors = {0};
    char *recorded = values_of(r, one, &errors);
    bool kept = !r->no_memory;
    if (recorded)
        t->list[t->n++] = (store_observation){.candidate = (uint32_t)r->places[one->candidate],
                                              .repeats = one->repeats,
                                              .value = one->value,
                                              .recorded = recorded};
    else if (kept)
        kept = leave_out(t, one, &errors);
    wire_errors_clear(&errors);
    return kept ? STORE_OK : STORE_NO_MEMORY;
}

static store_status place_results(reading *r, history_transfer *t, const wire_study *points)
{
    store_status status = STORE_OK;
    double *row = malloc((r->width ? r->width : 1) * sizeof *row);
    r->places = malloc(((size_t)r->candidates + 1) * sizeof *r->places);
    t->list = malloc((r->n + 1) * sizeof *t->list);
    t->shown.examples = calloc(HISTORY_TRANSFER_EXAMPLES, sizeof *t->shown.examples);
    if (!row || !r->places || !t->list || !t->shown.examples)
        status = STORE_NO_MEMORY;
    for (int64_t i = 0; status == STORE_OK && i < r->candidates; i++)
        r->places[i] = NOT_LOOKED_AT;
    for (size_t i = 0; status == STORE_OK && i < r->n; i++) {
        const result *one = &r->results[i];
        if (one->candidate >= r->candidates) /* added after the study was read */
            continue;
        status = look(r, t, points, row, one);
        if (status == STORE_OK && r->places[one->candidate] >= 0)
            status = add(r, t, one);
    }
    t->shown.imported = (int64_t)t->n;
    free(row);
    return status;
}

/* Keeps the points of an open space, or the rows that are not candidates. */
static store_status keep_points(reading *r, history_transfer *t)
{
    if (r->others) {
        t->points = r->others;
        t->n_points = r->n_others;
        r->others = NULL;
        return STORE_OK;
    }
    if (!r->arms || !bandit_arms_is_open_space(r->arms))
        return STORE_OK;
    size_t width = bandit_arms_point_width(r->arms);
    t->n_points = bandit_arms_count(r->arms);
    t->points = malloc((t->n_points + 1) * width * sizeof *t->points);
    for (size_t i = 0; t->points && i < t->n_points; i++)
        bandit_arms_coded(r->arms, i, t->points + i * width);
    return t->points ? STORE_OK : STORE_NO_MEMORY;
}

static store_status transfer(reading *r, history_transfer *t, wire_study *points)
{
    bool space = r->settings->wire->domain_type == WIRE_DOMAIN_SPACE;
    store_status status = read_results(r);
    if (status == STORE_OK && !space && !points->points)
        status = copy_candidates(r, points);
    if (status == STORE_OK && space)
        status = new_space(r, points);
    else if (status == STORE_OK && !sort_candidates(r, points))
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = place_results(r, t, points);
    return status == STORE_OK ? keep_points(r, t) : status;
}

wire_status history_transfer_new(history_transfer **out, store *s, const study_config *settings,
                                 const history_request *asked, wire_study *points, wire_errors *errors,
                                 store_status *stored)
{
    reading r = {.s = s, .settings = settings, .asked = asked};
    store_error error = {0};
    wire_status status = WIRE_OK;
    *out = NULL;
    *stored = store_read_study(s, asked->study, take_study, &r, &error);
    if (*stored == STORE_NOT_FOUND) {
        *stored = STORE_OK;
        wire_errors_add(errors, asked->pointer, "there is no study '%s'", asked->study);
        return WIRE_INVALID;
    }
    if (*stored == STORE_OK)
        *stored = r.defined;
    if (r.last_seq > asked->through_seq)
        r.last_seq = asked->through_seq;
    history_transfer *t = calloc(1, sizeof *t);
    if (*stored == STORE_OK && !t)
        *stored = STORE_NO_MEMORY;
    if (*stored == STORE_OK) {
        t->shown.study = asked->study;
        t->reversed = is_reversed(&r);
        if (go_together(&r, errors))
            *stored = transfer(&r, t, points);
        else
            status = WIRE_INVALID;
    }
    if (*stored == STORE_OK && status == WIRE_OK) {
        *out = t;
        t = NULL;
    }
    history_transfer_free(t);
    wire_study_free(r.from);
    bandit_arms_free(r.arms);
    for (size_t i = 0; i < r.n; i++)
        free(r.results[i].recorded);
    free(r.results);
    free(r.places);
    free(r.sorted);
    free(r.others);
    return status;
}

void history_transfer_free(history_transfer *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->shown.n_examples; i++) {
        free((char *)(uintptr_t)t->shown.examples[i].pointer);
        free((char *)(uintptr_t)t->shown.examples[i].detail);
    }
    free((wire_left_out *)(uintptr_t)t->shown.examples);
    for (size_t i = 0; i < t->n; i++)
        free((char *)(uintptr_t)t->list[i].recorded);
    free(t->list);
    free(t->points);
    free(t);
}
