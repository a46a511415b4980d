#include "proto/decode.h"

#include <stdlib.h>

static void fill_candidates(wire_decoder *d, const wire_place *at, const json_t *json, wire_predict *predict)
{
    if (!wire_check_list(d, at, json, 1, WIRE_MAX_PREDICTIONS))
        return;
    size_t n = json_array_size(json);
    predict->candidates = wire_allocate(d, n, sizeof *predict->candidates);
    if (!predict->candidates)
        return;
    predict->n = n;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(at, i);
        wire_read_integer(d, &place, json_array_get(json, i), 0, WIRE_MAX_INTEGER, &predict->candidates[i]);
    }
}

static void fill(wire_decoder *d, json_t *body, void *out)
{
    wire_predict *predict = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    const json_t *candidates = wire_take(&o, "candidates", WIRE_OPTIONAL);
    const json_t *points = wire_take(&o, "points", WIRE_OPTIONAL);
    wire_object_close(&o);
    wire_place candidates_place = wire_place_member(NULL, "candidates");
    wire_place points_place = wire_place_member(NULL, "points");
    if (!candidates && !points)
        wire_refuse(d, &candidates_place, "candidates or points are required");
    else if (candidates && points)
        wire_refuse(d, &points_place, "cannot be given together with candidates");
    else if (candidates)
        fill_candidates(d, &candidates_place, candidates, predict);
    else
        wire_read_matrix(d, &points_place, points, WIRE_MAX_PREDICTIONS, &predict->points, &predict->n,
                         &predict->dimension);
}

wire_status wire_decode_predict(wire_predict **out, const char *body, size_t size, wire_errors *errors)
{
    *out = NULL;
    wire_predict *predict = calloc(1, sizeof *predict);
    if (!predict)
        return WIRE_NO_MEMORY;
    wire_status status = wire_decode_body(body, size, errors, fill, predict);
    if (status == WIRE_OK)
        *out = predict;
    else
        wire_predict_free(predict);
    return status;
}

void wire_predict_free(wire_predict *predict)
{
    if (!predict)
        return;
    free(predict->candidates);
    free(predict->points);
    free(predict);
}
