/* The values of discrete and categorical parameters, and the properties of words. */
#include "proto/decode_study.h"
#include "proto/word_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of values ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const double *x = *(const double *const *)a, *y = *(const double *const *)b;
    if (isnan(*x) || isnan(*y)) /* a refused element comes last and equals no other */
        return isnan(*x) && isnan(*y) ? (x > y) - (x < y) : isnan(*x) ? 1 : -1;
    return (*x > *y) - (*x < *y);
}

static void fill_numbers(wire_decoder *d, const wire_place *at, const json_t *json, wire_parameter *p)
{
    p->numbers = wire_allocate(d, json_array_size(json), sizeof *p->numbers);
    if (!p->numbers)
        return;
    p->n_values = json_array_size(json);
    p->whole = true;
    for (size_t i = 0; i < p->n_values; i++) {
        wire_place place = wire_place_element(at, i);
        if (!wire_read_real(d, &place, json_array_get(json, i), &wire_any, &p->numbers[i]))
            p->numbers[i] = NAN;
        p->whole &= p->numbers[i] == trunc(p->numbers[i]) && fabs(p->numbers[i]) <= WIRE_MAX_INTEGER;
    }
}

static void fill_words(wire_decoder *d, const wire_place *at, const json_t *json, wire_parameter *p)
{
    p->words = wire_allocate(d, json_array_size(json), sizeof *p->words);
    if (!p->words)
        return;
    p->n_values = json_array_size(json);
    for (size_t i = 0; i < p->n_values; i++) {
        wire_place place = wire_place_element(at, i);
        wire_read_string(d, &place, json_array_get(json, i), 1, WIRE_MAX_NAME, &p->words[i]);
    }
}

static void fill_list(wire_object *o, wire_parameter *p)
{
    const json_t *json = wire_take(o, "values", WIRE_REQUIRED);
    wire_place at = wire_place_member(o->place, "values");
    size_t most = p->type == WIRE_PARAMETER_CATEGORICAL ? WIRE_MAX_WORDS : WIRE_MAX_CHOICES;
    if (!json || !wire_check_list(o->decoder, &at, json, 1, most))
        return;
    const char *const why = "is already in the list";
    p->order = wire_allocate(o->decoder, json_array_size(json), sizeof *p->order);
    if (!p->order)
        return;
    if (p->type == WIRE_PARAMETER_DISCRETE) {
        fill_numbers(o->decoder, &at, json, p);
        wire_refuse_repeated(o->decoder, &at, p->order, p->n_values, p->numbers, sizeof *p->numbers,
                             compare_numbers, why);
    } else {
        fill_words(o->decoder, &at, json, p);
        wire_refuse_repeated(o->decoder, &at, p->order, p->n_values, p->words, sizeof *p->words,
                             wire_compare_strings, why);
    }
}

/* ---- properties of words ------------------------------------------------------------------------------ */

static void fill_property_names(wire_object *o, wire_parameter *p)
{
    wire_place at = wire_place_member(o->place, "feature_names");
    const json_t *json = wire_take(o, "feature_names", WIRE_OPTIONAL);
    if (!json || !wire_check_list(o->decoder, &at, json, 1, WIRE_MAX_PROPERTIES))
        return;
    size_t n = json_array_size(json);
    if (n != p->n_features) {
        wire_refuse(o->decoder, &at, "has %zu names for rows of %zu features", n, p->n_features);
        return;
    }
    p->feature_names = wire_allocate(o->decoder, n, sizeof *p->feature_names);
    uint32_t *order = wire_allocate(o->decoder, n, sizeof *order);
    for (size_t i = 0; p->feature_names && order && i < n; i++) {
        wire_place place = wire_place_element(&at, i);
        wire_read_string(o->decoder, &place, json_array_get(json, i), 1, WIRE_MAX_NAME, &p->feature_names[i]);
    }
    if (p->feature_names && order)
        wire_refuse_repeated(o->decoder, &at, order, n, p->feature_names, sizeof *p->feature_names,
                             wire_compare_strings, "is already in the list");
    free(order);
}

static void fill_properties(wire_object *o, wire_parameter *p)
{
    static const char *const scalings[] = {"standardize", "unit", "none", NULL};
    static const char *const encodings[] = {"codes", NULL};
    wire_place at = wire_place_member(o->place, "features"),
               encoding = wire_place_member(o->place, "encoding");
    const json_t *json = wire_take(o, "features", WIRE_OPTIONAL);
    size_t rows = 0;
    if (!json) {
        wire_take_word_text(o, "encoding", WIRE_OPTIONAL, encodings, &p->encoding);
        wire_forbid(o, "feature_names", "applies only together with features");
        wire_forbid(o, "scaling", "applies only together with features");
        if (p->encoding && p->ordered)
            wire_refuse(o->decoder, &encoding, "does not apply to words in an order");
        return;
    }
    wire_forbid(o, "encoding", "does not apply together with features");
    if (p->ordered)
        wire_refuse(o->decoder, &at, "does not apply to words in an order");
    wire_take_word_text(o, "scaling", WIRE_OPTIONAL, scalings, &p->scaling);
    if (!wire_read_matrix(o->decoder, &at, json, WIRE_MAX_WORDS, &p->features, &rows, &p->n_features)) {
        wire_has(o, "feature_names");
        return;
    }
    if (rows != p->n_values && p->n_values > 0)
        wire_refuse(o->decoder, &at, "has %zu rows for %zu values", rows, p->n_values);
    if (p->n_features > WIRE_MAX_PROPERTIES)
        wire_refuse(o->decoder, &at, "has rows of %zu features, and at most %d are allowed", p->n_features,
                    WIRE_MAX_PROPERTIES);
    fill_property_names(o, p);
}

/* ---- words of a form ---------------------------------------------------------------------------------- */

/* The table of the form for this parameter; NULL. */
static wire_word_table *find_table(const wire_decoder *d, const wire_parameter *p)
{
    for (size_t i = 0; p->name && i < d->n_tables; i++)
        if (strcmp(d->tables[i].name, p->name) == 0)
            return &d->tables[i];
    return NULL;
}

static void check_sizes(wire_object *o, const wire_place *values, const wire_parameter *p)
{
    wire_place at = wire_place_member(o->place, "features");
    if (p->n_values > WIRE_MAX_WORDS)
        wire_refuse(o->decoder, values, "has %zu words, and at most %d are allowed", p->n_values,
                    WIRE_MAX_WORDS);
    if (p->n_features > WIRE_MAX_PROPERTIES)
        wire_refuse(o->decoder, &at, "has rows of %zu features, and at most %d are allowed", p->n_features,
                    WIRE_MAX_PROPERTIES);
}

/* Takes what the table holds in place of members of the definition. */
static void take_table(wire_object *o, wire_word_table *table, wire_parameter *p)
{
    static const char *const given[] = {"values", "features", "feature_names", "encoding", "ordered"};
    static const char *const scalings[] = {"standardize", "unit", "none", NULL};
    wire_place values = wire_place_member(o->place, "values"),
               names = wire_place_member(o->place, "feature_names");
    wire_decoder *d = o->decoder;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        wire_forbid(o, given[i], "does not apply to a parameter with words in a part of the form");
    wire_take_word_text(o, "scaling", WIRE_OPTIONAL, scalings, &p->scaling);
    p->words = table->words;
    p->n_values = table->n;
    p->features = table->features;
    p->n_features = table->n_features;
    p->feature_names = table->feature_names;
    *table = (wire_word_table){.name = table->name, .used = true};
    check_sizes(o, &values, p);
    p->order = wire_allocate(d, p->n_values, sizeof *p->order);
    uint32_t *order = wire_allocate(d, p->n_features, sizeof *order);
    if (p->order)
        wire_refuse_repeated(d, &values, p->order, p->n_values, p->words, sizeof *p->words,
                             wire_compare_strings, "is already in the list");
    if (order && p->feature_names)
        wire_refuse_repeated(d, &names, order, p->n_features, p->feature_names, sizeof *p->feature_names,
                             wire_compare_strings, "is already in the list");
    free(order);
}

/* ---- all --------------------------------------------------------------------------------------------- */

void wire_fill_list_of_values(wire_object *o, wire_parameter *p)
{
    wire_word_table *table = p->type == WIRE_PARAMETER_CATEGORICAL ? find_table(o->decoder, p) : NULL;
    if (table && !table->used) {
        take_table(o, table, p);
        return;
    }
    fill_list(o, p);
    if (p->type != WIRE_PARAMETER_CATEGORICAL)
        return;
    wire_take_boolean(o, "ordered", &p->ordered);
    fill_properties(o, p);
}

void wire_values_clear(wire_parameter *p)
{
    free(p->numbers);
    free(p->order);
    for (size_t j = 0; p->words && j < p->n_values; j++)
        free(p->words[j]);
    free(p->words);
    for (size_t j = 0; p->feature_names && j < p->n_features; j++)
        free(p->feature_names[j]);
    free(p->feature_names);
    free(p->features);
    free(p->scaling);
    free(p->encoding);
}
