/* The domain of a study: what may be tried. */
#include "proto/decode_keys.h"
#include "proto/decode_study.h"

#include <stdlib.h>
#include <string.h>

static void fill_feature_names(wire_object *o, wire_study *study)
{
    wire_decoder *d = o->decoder;
    const json_t *json = wire_take(o, "names", WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, "names");
    if (!json || !wire_check_list(d, &at, json, 1, WIRE_MAX_DIMENSION))
        return;
    size_t n = json_array_size(json);
    study->feature_names = wire_allocate(d, n, sizeof *study->feature_names);
    if (!study->feature_names)
        return;
    study->n_feature_names = n;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(&at, i);
        wire_read_string(d, &place, json_array_get(json, i), 1, WIRE_MAX_NAME, &study->feature_names[i]);
    }
    uint32_t *order = wire_allocate(d, n, sizeof *order);
    if (order)
        wire_refuse_repeated(d, &at, order, n, study->feature_names, sizeof *study->feature_names,
                             wire_compare_strings, "is already the name of another feature");
    free(order);
    if (study->dimension.given && (int64_t)n != study->dimension.value)
        wire_refuse(d, &at, "must have one name for each of the %lld dimensions, not %zu",
                    (long long)study->dimension.value, n);
}

/* The keys of inline candidates, one for each of them. */
static void fill_keys(wire_object *o, bool has_points, wire_study *study)
{
    wire_decoder *d = o->decoder;
    const json_t *json = wire_take(o, "keys", WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, "keys");
    if (!json)
        return;
    study->keys = wire_allocate(d, 1, sizeof *study->keys);
    if (!study->keys || !wire_read_keys(d, &at, json, WIRE_MAX_COUNT, true, study->keys))
        return;
    if (!has_points)
        wire_refuse(d, &at, "belong to points: upload them with the candidates");
    else if (study->points && study->keys->n != study->n_points)
        wire_refuse(d, &at, "must have one key or null for each of the %zu points, not %zu", study->n_points,
                    study->keys->n);
}

static void fill_candidates(wire_object *o, wire_study *study)
{
    static const char *const scalings[] = {"standardize", "unit", "none", NULL};
    wire_decoder *d = o->decoder;
    static const char *const others[] = {"size", "parameters", "constraints"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        wire_forbid(o, others[i], "does not apply to a domain of type \"candidates\"");
    wire_take_word_text(o, "scaling", WIRE_OPTIONAL, scalings, &study->scaling);
    const json_t *points = wire_take(o, "points", WIRE_OPTIONAL);
    int64_t dimension = 0;
    bool given = wire_take_integer(o, "dimension", points ? WIRE_OPTIONAL : WIRE_REQUIRED, 1,
                                   WIRE_MAX_DIMENSION, &dimension);
    size_t columns = 0;
    wire_place at = wire_place_member(o->place, "points");
    if (points && wire_read_matrix(d, &at, points, SIZE_MAX, &study->points, &study->n_points, &columns)) {
        if (given && dimension != (int64_t)columns) {
            wire_place place = wire_place_member(o->place, "dimension");
            wire_refuse(d, &place, "must be %zu, the number of values in each point", columns);
        }
        dimension = (int64_t)columns;
        given = true;
    }
    study->dimension = (wire_integer){.given = given, .value = dimension};
    fill_feature_names(o, study);
    fill_keys(o, points != NULL, study);
}

static void fill_precomputed(wire_object *o, wire_study *study)
{
    static const char *const others[] = {"scaling", "points",     "dimension",  "keys",
                                         "names",   "parameters", "constraints"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        wire_forbid(o, others[i], "does not apply to a domain of type \"precomputed\"");
    study->size.given = wire_take_integer(o, "size", WIRE_REQUIRED, 1, WIRE_MAX_COUNT, &study->size.value);
}

void wire_fill_domain(wire_object *definition, wire_study *study)
{
    static const char *const types[] = {
        [WIRE_DOMAIN_CANDIDATES] = "candidates",
        [WIRE_DOMAIN_PRECOMPUTED] = "precomputed",
        [WIRE_DOMAIN_SPACE] = "space",
        NULL,
    };
    const json_t *json = wire_take(definition, "domain", WIRE_REQUIRED);
    wire_place at = wire_place_member(definition->place, "domain");
    wire_object o;
    size_t type;
    if (!json || !wire_object_open(&o, definition->decoder, &at, json) ||
        !wire_take_word(&o, "type", WIRE_REQUIRED, types, &type))
        return; /* without a type, it is not known which members are allowed */
    study->domain_type = (wire_domain_type)type;
    switch (study->domain_type) {
    case WIRE_DOMAIN_CANDIDATES:
        fill_candidates(&o, study);
        break;
    case WIRE_DOMAIN_PRECOMPUTED:
        fill_precomputed(&o, study);
        break;
    case WIRE_DOMAIN_SPACE:
        wire_fill_space(&o, study);
        break;
    }
    wire_object_close(&o);
}

void wire_domain_clear(wire_study *study)
{
    free(study->scaling);
    free(study->points);
    wire_keys_free(study->keys);
    for (size_t i = 0; i < study->n_feature_names; i++)
        free(study->feature_names[i]);
    free(study->feature_names);
    wire_space_clear(study);
}
