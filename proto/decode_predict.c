#include "proto/decode_keys.h"

#include <stdlib.h>
#include <string.h>

static void fill_parameters(wire_decoder *d, const wire_place *at, const json_t *json, wire_predict *predict)
{
    if (!wire_check_list(d, at, json, 1, WIRE_MAX_PREDICTIONS))
        return;
    size_t n = json_array_size(json);
    predict->parameters = wire_allocate(d, n, sizeof *predict->parameters);
    if (!predict->parameters)
        return;
    predict->n = n;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(at, i);
        wire_read_assignments(d, &place, json_array_get(json, i), &predict->parameters[i]);
    }
}

static void fill_predict(wire_decoder *d, json_t *body, void *out)
{
    static const char *const names[] = {"candidates", "keys", "points", "parameters"};
    wire_predict *predict = out;
    const json_t *json = NULL;
    wire_place at = wire_place_member(NULL, names[0]);
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *given = wire_take(&o, names[i], WIRE_OPTIONAL);
        if (given && json) {
            wire_place place = wire_place_member(NULL, names[i]);
            wire_refuse(d, &place, "cannot be given together with %s", at.key);
        } else if (given) {
            json = given;
            at = wire_place_member(NULL, names[i]);
        }
    }
    wire_object_close(&o);
    if (!json)
        wire_refuse(d, &at, "one of candidates, keys, points and parameters is required");
    else if (strcmp(at.key, "candidates") == 0)
        wire_read_candidates(d, &at, json, WIRE_MAX_PREDICTIONS, &predict->candidates, &predict->n);
    else if (strcmp(at.key, "keys") == 0)
        wire_read_named(d, &at, json, WIRE_MAX_PREDICTIONS, &predict->candidates, &predict->n,
                        &predict->keys);
    else if (strcmp(at.key, "points") == 0)
        wire_read_matrix(d, &at, json, WIRE_MAX_PREDICTIONS, &predict->points, &predict->n,
                         &predict->dimension);
    else
        fill_parameters(d, &at, json, predict);
}

WIRE_DEFINE_DECODER(predict)

void wire_predict_free(wire_predict *predict)
{
    if (!predict)
        return;
    free(predict->candidates);
    wire_keys_free(predict->keys);
    free(predict->points);
    for (size_t i = 0; predict->parameters && i < predict->n; i++)
        wire_assignments_clear(&predict->parameters[i]);
    free(predict->parameters);
    free(predict);
}
