/* The studies that a new one learns from: `learn_from`. A user gives their ids; a stored definition has the function
 * that was found in each, frozen. */
#include "proto/decode_study.h"
#include "proto/encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list of numbers; the elements that are null become NaN if they may. */
static void read_numbers(wire_decoder *d, const wire_place *at, const json_t *json, bool gaps, double *out)
{
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *element = json_array_get(json, i);
        wire_place place = wire_place_element(at, i);
        out[i] = (double)NAN;
        if (!gaps || !json_is_null(element))
            wire_read_real(d, &place, element, &wire_any, &out[i]);
    }
}

static void take_numbers(wire_object *o, const char *name, size_t max, double **out, size_t *n)
{
    const json_t *json = wire_take(o, name, WIRE_REQUIRED);
    wire_place at = wire_place_member(o->place, name);
    if (!json || !wire_check_list(o->decoder, &at, json, 1, max))
        return;
    *out = wire_allocate(o->decoder, json_array_size(json), sizeof **out);
    *n = *out ? json_array_size(json) : 0;
    if (*out)
        read_numbers(o->decoder, &at, json, false, *out);
}

/* As many points as there are weights. */
static void take_points(wire_object *o, wire_source *source)
{
    const json_t *json = wire_take(o, "points", WIRE_REQUIRED);
    wire_place at = wire_place_member(o->place, "points");
    size_t n = source->n;
    source->n = 0;
    if (!json || !wire_check_list(o->decoder, &at, json, 1, WIRE_MAX_SOURCE_POINTS))
        return;
    if (json_array_size(json) != n) {
        wire_refuse(o->decoder, &at, "must be as many as there are weights");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(json, i);
        wire_place place = wire_place_element(&at, i);
        if (!wire_check_list(o->decoder, &place, row, 1, WIRE_MAX_DIMENSION))
            return;
        if (i == 0) {
            source->width = json_array_size(row);
            source->points = wire_allocate(o->decoder, n * source->width, sizeof *source->points);
        }
        if (!source->points)
            return;
        if (json_array_size(row) != source->width) {
            wire_refuse(o->decoder, &place, "must be as long as the first point");
            return;
        }
        read_numbers(o->decoder, &place, row, true, source->points + i * source->width);
    }
    source->n = n;
}

static void fill_source(wire_decoder *d, const wire_place *at, const json_t *json, wire_source *source)
{
    wire_object o;
    if (!json_is_object(json)) {
        wire_fill_study_id(d, at, json, &source->study);
        return;
    }
    if (!wire_object_open(&o, d, at, json))
        return;
    const json_t *study = wire_take(&o, "study", WIRE_REQUIRED);
    wire_place place = wire_place_member(at, "study");
    if (study)
        wire_fill_study_id(d, &place, study, &source->study);
    wire_take_integer(&o, "observations", WIRE_REQUIRED, 1, WIRE_MAX_INTEGER, &source->observations);
    wire_take_real(&o, "shift", WIRE_REQUIRED, &wire_any, &source->shift);
    take_numbers(&o, "lengthscales", (size_t)WIRE_MAX_DIMENSION + WIRE_MAX_WORDS, &source->lengthscales,
                 &source->n_lengthscales);
    wire_take_real(&o, "short_share", WIRE_OPTIONAL, &wire_fraction, &source->short_share);
    take_numbers(&o, "weights", WIRE_MAX_SOURCE_POINTS, &source->weights, &source->n);
    take_points(&o, source);
    wire_object_close(&o);
}

void wire_fill_learn_from(wire_object *definition, wire_study *study)
{
    wire_decoder *d = definition->decoder;
    const json_t *json = wire_take(definition, "learn_from", WIRE_OPTIONAL);
    wire_place at = wire_place_member(definition->place, "learn_from");
    if (!json || !wire_check_list(d, &at, json, 0, WIRE_MAX_SOURCES))
        return;
    study->learn_from = wire_allocate(d, json_array_size(json), sizeof *study->learn_from);
    study->n_learn_from = study->learn_from ? json_array_size(json) : 0;
    for (size_t i = 0; i < study->n_learn_from; i++) {
        wire_place place = wire_place_element(&at, i);
        wire_source *source = &study->learn_from[i];
        fill_source(d, &place, json_array_get(json, i), source);
        for (size_t k = 0; k < i; k++)
            if (source->study && study->learn_from[k].study &&
                strcmp(source->study, study->learn_from[k].study) == 0)
                wire_refuse(d, &place, "is already in the list");
    }
}

void wire_learn_from_clear(wire_study *study)
{
    for (size_t i = 0; i < study->n_learn_from; i++) {
        wire_source *source = &study->learn_from[i];
        free(source->study);
        free(source->points);
        free(source->weights);
        free(source->lengthscales);
    }
    free(study->learn_from);
}

wire_status wire_refuse_frozen(const wire_study *study, wire_errors *errors)
{
    for (size_t i = 0; i < study->n_learn_from; i++) {
        char pointer[40];
        snprintf(pointer, sizeof pointer, "/learn_from/%zu", i);
        if (study->learn_from[i].n > 0)
            wire_errors_add(errors, pointer, "must be a string");
    }
    return errors->n > 0 ? WIRE_INVALID : WIRE_OK;
}

bool wire_sources_are_frozen(const wire_study *study)
{
    bool frozen = true;
    for (size_t i = 0; i < study->n_learn_from; i++)
        frozen &= study->learn_from[i].n > 0;
    return frozen;
}

/* ---- encoding ------------------------------------------------------------------------------------------ */

static void encode_numbers(wire_writer *w, const double *numbers, size_t n)
{
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        if (isnan(numbers[i]))
            wire_null(w);
        else
            wire_real(w, numbers[i]);
    }
    wire_array_end(w);
}

static void encode_frozen(wire_writer *w, const wire_source *source)
{
    wire_object_begin(w);
    wire_string_member(w, "study", source->study);
    wire_integer_member(w, "observations", source->observations);
    wire_real_member(w, "shift", source->shift);
    wire_key(w, "lengthscales");
    encode_numbers(w, source->lengthscales, source->n_lengthscales);
    if (source->short_share > 0.0)
        wire_real_member(w, "short_share", source->short_share);
    wire_key(w, "weights");
    encode_numbers(w, source->weights, source->n);
    wire_key(w, "points");
    wire_array_begin(w);
    for (size_t i = 0; i < source->n; i++)
        encode_numbers(w, source->points + i * source->width, source->width);
    wire_array_end(w);
    wire_object_end(w);
}

void wire_encode_learn_from(wire_writer *w, const wire_study *study, bool frozen)
{
    if (study->n_learn_from == 0)
        return;
    wire_key(w, "learn_from");
    wire_array_begin(w);
    for (size_t i = 0; i < study->n_learn_from; i++) {
        if (frozen && study->learn_from[i].n > 0)
            encode_frozen(w, &study->learn_from[i]);
        else
            wire_string(w, study->learn_from[i].study);
    }
    wire_array_end(w);
}
