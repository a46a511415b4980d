#include "proto/space_points.h"

#include "bandit/lattice.h"
#include "proto/arrays.h"
#include "proto/json_decode.h"
#include "proto/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wire_assignments_clear(wire_assignments *assignments)
{
    for (size_t i = 0; i < assignments->n; i++) {
        free(assignments->items[i].name);
        free(assignments->items[i].text);
    }
    free(assignments->items);
    *assignments = (wire_assignments){0};
}

/* ---- values ------------------------------------------------------------------------------------------- */

static double find_number(const wire_parameter *p, double number)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, p->n_values, i, p->numbers[p->order[i]] < number);
    return place < p->n_values && p->numbers[p->order[place]] == number ? number : NAN;
}

/* Like strcmp, for a word and a text of n bytes without a NUL. */
static int compare_word(const char *word, const char *text, size_t n)
{
    int order = strncmp(word, text, n);
    return order != 0 ? order : word[n] != '\0';
}

static double find_word(const wire_parameter *p, const char *text, size_t n)
{
    size_t place;
    if (memchr(text, '\0', n))
        return NAN;
    BANDIT_LOWER_BOUND(place, p->n_values, i, compare_word(p->words[p->order[i]], text, n) < 0);
    bool found = place < p->n_values && compare_word(p->words[p->order[place]], text, n) == 0;
    return found ? (double)p->order[place] : NAN;
}

/* The value min + k step that this number means. Numbers that other programs have added up may differ from it by
 * rounding. */
static double code_step(const wire_parameter *p, double number)
{
    double k = lattice_place(p->min, p->step, number), value = lattice_value(p->min, p->step, k);
    bool is_value =
        k >= 0.0 && k <= lattice_last(p->min, p->max, p->step) && fabs(number - value) <= 1e-6 * p->step;
    return is_value ? value : NAN;
}

/* NaN if the parameter does not have this value. */
static double code_number(const wire_parameter *p, double number)
{
    switch (p->type) {
    case WIRE_PARAMETER_INTEGER:
        if (number != trunc(number))
            return NAN;
        if (p->step > 0.0)
            return code_step(p, number);
        return number >= p->min && number <= p->max ? number : NAN;
    case WIRE_PARAMETER_DOUBLE:
        if (p->step > 0.0)
            return code_step(p, number);
        return number >= p->min && number <= p->max ? number : NAN;
    case WIRE_PARAMETER_DISCRETE:
        return find_number(p, number);
    case WIRE_PARAMETER_CATEGORICAL:
    case WIRE_PARAMETER_BOOLEAN:
        break;
    }
    return NAN;
}

double wire_code_text(const wire_parameter *p, const char *text, size_t n)
{
    double number;
    switch (p->type) {
    case WIRE_PARAMETER_DOUBLE:
    case WIRE_PARAMETER_INTEGER:
    case WIRE_PARAMETER_DISCRETE:
        return wire_read_number(text, n, WIRE_NUMBER_LOOSE, &number) == WIRE_NUMBER_FINITE
                   ? code_number(p, number)
                   : NAN;
    case WIRE_PARAMETER_CATEGORICAL:
        return find_word(p, text, n);
    case WIRE_PARAMETER_BOOLEAN:
        break;
    }
    if (n == 4 && memcmp(text, "true", n) == 0)
        return 1;
    return n == 5 && memcmp(text, "false", n) == 0 ? 0 : NAN;
}

double wire_code_assignment(const wire_parameter *p, const wire_assignment *given)
{
    switch (given->type) {
    case WIRE_ASSIGN_NUMBER:
        return code_number(p, given->number);
    case WIRE_ASSIGN_TEXT:
        return p->type == WIRE_PARAMETER_CATEGORICAL ? find_word(p, given->text, strlen(given->text)) : NAN;
    case WIRE_ASSIGN_TRUTH:
        return p->type == WIRE_PARAMETER_BOOLEAN ? given->number : NAN;
    }
    return NAN;
}

/* ---- activity ----------------------------------------------------------------------------------------- */

static bool condition_holds(const wire_parameter *p, double parent_value)
{
    if (!p->parent_values)
        return parent_value >= p->parent_min && parent_value <= p->parent_max;
    for (size_t i = 0; i < p->n_parent_values; i++) {
        if (p->parent_values[i] == parent_value)
            return true;
    }
    return false;
}

bool wire_parameter_is_active(const wire_parameter *parameters, const double *values, size_t i)
{
    for (; parameters[i].parent != WIRE_NO_PARENT; i = parameters[i].parent) {
        if (!condition_holds(&parameters[i], values[parameters[i].parent]))
            return false;
    }
    return true;
}

/* Could it be active for some choice of the open values? */
static bool may_be_active(const wire_parameter *parameters, const double *values, size_t i)
{
    for (; parameters[i].parent != WIRE_NO_PARENT; i = parameters[i].parent) {
        double value = values[parameters[i].parent];
        if (!isnan(value) && !condition_holds(&parameters[i], value))
            return false;
    }
    return true;
}

bool wire_is_value(const wire_parameter *p, double value)
{
    switch (p->type) {
    case WIRE_PARAMETER_DOUBLE:
    case WIRE_PARAMETER_INTEGER:
    case WIRE_PARAMETER_DISCRETE:
        return code_number(p, value) == value;
    case WIRE_PARAMETER_CATEGORICAL:
        return value >= 0 && value < (double)p->n_values && value == trunc(value);
    case WIRE_PARAMETER_BOOLEAN:
        break;
    }
    return value == 0 || value == 1;
}

/* ---- points ------------------------------------------------------------------------------------------- */

static void refuse(wire_errors *errors, const char *pointer, const char *name, const char *detail)
{
    wire_place parent = {.key = name};
    char *end = wire_pointer_text(&parent);
    char *whole = end ? malloc(strlen(pointer) + strlen(end) + 1) : NULL;
    if (whole) {
        strcpy(whole, pointer);
        strcat(whole, end);
        wire_errors_add(errors, whole, "%s", detail);
    } else {
        errors->no_memory = true;
    }
    free(end);
    free(whole);
}

/* The JSON text of a value, owned by the caller; NULL without memory. */
static char *value_text(const wire_parameter *p, double value)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text;
    size_t size;
    wire_encode_parameter_value(&w, p, value);
    return wire_writer_finish(&w, &text, &size) ? text : NULL;
}

static bool describe_range(const wire_parameter *p, const char *kind, char out[WIRE_VALUES_TEXT])
{
    char *min = value_text(p, p->min), *max = value_text(p, p->max);
    char *step = p->step > 0.0 ? value_text(p, p->step) : NULL;
    bool ok = min && max && (step || !(p->step > 0.0));
    if (ok)
        snprintf(out, WIRE_VALUES_TEXT, "must be %s from %s to %s%s%s", kind, min, max,
                 step ? " in steps of " : "", step ? step : "");
    free(min);
    free(max);
    free(step);
    return ok;
}

/* Lists as many values as fit. */
static bool describe_list(const wire_parameter *p, char out[WIRE_VALUES_TEXT])
{
    enum { REST = 32 }; /* bytes kept for the end of the text */
    size_t n = (size_t)snprintf(out, WIRE_VALUES_TEXT, p->n_values == 1 ? "must be" : "must be one of"),
           shown = 0;
    for (; shown < p->n_values; shown++) {
        char *text = value_text(p, p->type == WIRE_PARAMETER_DISCRETE ? p->numbers[shown] : (double)shown);
        if (!text)
            return false;
        bool fits = n + strlen(text) + REST < WIRE_VALUES_TEXT;
        if (fits)
            n += (size_t)snprintf(out + n, WIRE_VALUES_TEXT - n, "%s %s", shown ? "," : "", text);
        free(text);
        if (!fits)
            break;
    }
    if (shown == 0)
        snprintf(out, WIRE_VALUES_TEXT, "must be one of the %zu values of the parameter", p->n_values);
    else if (shown < p->n_values)
        snprintf(out + n, WIRE_VALUES_TEXT - n, ", … (%zu values)", p->n_values);
    return true;
}

bool wire_describe_values(const wire_parameter *p, char out[WIRE_VALUES_TEXT])
{
    switch (p->type) {
    case WIRE_PARAMETER_DOUBLE:
        return describe_range(p, "a number", out);
    case WIRE_PARAMETER_INTEGER:
        return describe_range(p, "an integer", out);
    case WIRE_PARAMETER_DISCRETE:
    case WIRE_PARAMETER_CATEGORICAL:
        return describe_list(p, out);
    case WIRE_PARAMETER_BOOLEAN:
        break;
    }
    strcpy(out, "must be true or false");
    return true;
}

static size_t find_parameter(const wire_parameter *parameters, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(parameters[i].name, name) != 0)
        i++;
    return i;
}

bool wire_code_parameters(double *values, const wire_parameter *parameters, size_t n,
                          const wire_assignments *given, wire_completeness completeness, const char *pointer,
                          wire_errors *errors)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        values[i] = NAN;
    for (size_t i = 0; i < given->n; i++) {
        const char *name = given->items[i].name;
        size_t p = find_parameter(parameters, n, name);
        if (p == n) {
            refuse(errors, pointer, name, "is not a parameter of this space");
            ok = false;
            continue;
        }
        values[p] = wire_code_assignment(&parameters[p], &given->items[i]);
        if (isnan(values[p])) {
            char detail[WIRE_VALUES_TEXT];
            if (wire_describe_values(&parameters[p], detail))
                refuse(errors, pointer, name, detail);
            else
                errors->no_memory = true;
            ok = false;
        }
    }
    /* With a refused value, it is not known what is active. */
    return ok && wire_complete_parameters(values, parameters, n, completeness, pointer, errors);
}

bool wire_complete_parameters(double *values, const wire_parameter *parameters, size_t n,
                              wire_completeness completeness, const char *pointer, wire_errors *errors)
{
    bool ok = true;
    if (completeness == WIRE_WHOLE) {
        /* A default may make other parameters active, so repeat until none is added. */
        for (bool added = true; added;) {
            added = false;
            for (size_t i = 0; i < n; i++) {
                if (isnan(values[i]) && parameters[i].has_default &&
                    wire_parameter_is_active(parameters, values, i)) {
                    values[i] = parameters[i].default_value;
                    added = true;
                }
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = parameters[i].name;
        bool active = completeness == WIRE_WHOLE ? wire_parameter_is_active(parameters, values, i)
                                                 : may_be_active(parameters, values, i);
        if (isnan(values[i]) && active && completeness == WIRE_WHOLE) {
            refuse(errors, pointer, name, "is required");
            ok = false;
        } else if (isnan(values[i]) && completeness == WIRE_ASKED && parameters[i].context) {
            refuse(errors, pointer, name,
                   "is required: this parameter is a context, which the server does not choose");
            ok = false;
        } else if (!active && !isnan(values[i])) {
            refuse(errors, pointer, name, "must be left out: the other values make this parameter inactive");
            ok = false;
        }
    }
    return ok;
}

/* ---- back to JSON ------------------------------------------------------------------------------------- */

void wire_encode_parameter_value(wire_writer *w, const wire_parameter *p, double value)
{
    switch (p->type) {
    case WIRE_PARAMETER_DOUBLE:
        wire_real(w, value);
        break;
    case WIRE_PARAMETER_INTEGER:
        wire_integer_value(w, (int64_t)value);
        break;
    case WIRE_PARAMETER_DISCRETE:
        if (p->whole)
            wire_integer_value(w, (int64_t)value);
        else
            wire_real(w, value);
        break;
    case WIRE_PARAMETER_CATEGORICAL:
        assert(value >= 0 && value < (double)p->n_values);
        wire_string(w, p->words[(size_t)value]);
        break;
    case WIRE_PARAMETER_BOOLEAN:
        wire_boolean(w, value != 0);
        break;
    }
}

void wire_encode_parameters(wire_writer *w, const wire_parameter *parameters, size_t n, const double *values)
{
    wire_object_begin(w);
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            continue;
        wire_key(w, parameters[i].name);
        wire_encode_parameter_value(w, &parameters[i], values[i]);
    }
    wire_object_end(w);
}
