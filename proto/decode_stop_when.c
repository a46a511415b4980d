/* The rules that end a study: `stop_when`. */
#include "proto/decode_study.h"

enum { STOP_RESULTS = 50 };

const char *const wire_stop_rule_names[] = {[WIRE_STOP_STAGNATION] = "stagnation",
                                            [WIRE_STOP_TARGET] = "target",
                                            [WIRE_STOP_COST] = "cost",
                                            [WIRE_STOP_REGRET] = "regret",
                                            NULL};

static const struct {
    const char *name;
    wire_stop_rule rule;
    const char *elsewhere;
} members[] = {{"results", WIRE_STOP_STAGNATION, "applies only to the rule \"stagnation\""},
               {"gain", WIRE_STOP_STAGNATION, "applies only to the rule \"stagnation\""},
               {"value", WIRE_STOP_TARGET, "applies only to the rule \"target\""},
               {"total", WIRE_STOP_COST, "applies only to the rule \"cost\""},
               {"epsilon", WIRE_STOP_REGRET, "applies only to the rule \"regret\""},
               {"probability", WIRE_STOP_REGRET, "applies only to the rule \"regret\""}};

/* Even if all 128 functions that the rule draws agree, they only show a probability above 0.976. */
static const wire_range probabilities = {.min = 0.5, .max = 0.96875};

static void fill_members(wire_object *o, wire_stop_when *out)
{
    switch (out->rule) {
    case WIRE_STOP_STAGNATION:
        wire_take_integer(o, "results", WIRE_OPTIONAL, 1, WIRE_MAX_COUNT, &out->results);
        wire_take_real(o, "gain", WIRE_OPTIONAL, &wire_nonnegative, &out->gain);
        break;
    case WIRE_STOP_TARGET:
        wire_take_real(o, "value", WIRE_REQUIRED, &wire_value, &out->value);
        break;
    case WIRE_STOP_COST:
        wire_take_real(o, "total", WIRE_REQUIRED, &wire_positive, &out->total);
        break;
    case WIRE_STOP_REGRET:
        wire_take_real(o, "epsilon", WIRE_REQUIRED, &wire_positive, &out->epsilon);
        wire_take_real(o, "probability", WIRE_OPTIONAL, &probabilities, &out->probability);
        break;
    }
}

static void fill_rule(wire_decoder *d, const wire_place *at, const json_t *json, wire_stop_when *out)
{
    static const char *const thens[] = {"finish", "tell", NULL}, *const finishes[] = {"finish", NULL},
                             *const tells[] = {"tell", NULL};
    wire_object o;
    size_t rule = 0, then = 0;
    if (!wire_object_open(&o, d, at, json))
        return;
    bool understood = wire_take_word(&o, "rule", WIRE_REQUIRED, wire_stop_rule_names, &rule);
    bool ends =
        understood && rule == WIRE_STOP_COST; /* it is judged with each result, and never only advises */
    bool tells_only = understood && rule == WIRE_STOP_REGRET; /* it is wrong too often to end a study */
    wire_take_word(&o, "then", WIRE_OPTIONAL, ends ? finishes : tells_only ? tells : thens, &then);
    *out = (wire_stop_when){.rule = (wire_stop_rule)rule,
                            .results = STOP_RESULTS,
                            .gain = 0.001,
                            .probability = 0.95,
                            .tells = tells_only || then == 1};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!understood)
            wire_has(&o, members[i].name);
        else if (members[i].rule != out->rule)
            wire_forbid(&o, members[i].name, members[i].elsewhere);
    }
    if (understood)
        fill_members(&o, out);
    wire_object_close(&o);
}

void wire_fill_stop_when(wire_object *definition, wire_stop_when **list, size_t *n)
{
    const json_t *json = wire_take(definition, "stop_when", WIRE_OPTIONAL);
    wire_place at = wire_place_member(definition->place, "stop_when");
    if (!json || !wire_check_list(definition->decoder, &at, json, 0, WIRE_MAX_STOP_WHEN))
        return;
    *list = wire_allocate(definition->decoder, json_array_size(json), sizeof **list);
    *n = *list ? json_array_size(json) : 0;
    for (size_t i = 0; i < *n; i++) {
        wire_place place = wire_place_element(&at, i);
        fill_rule(definition->decoder, &place, json_array_get(json, i), &(*list)[i]);
    }
}

bool wire_stops_by_model(const wire_study *study)
{
    for (size_t i = 0; i < study->n_stop_when; i++)
        if (study->stop_when[i].rule != WIRE_STOP_COST)
            return true;
    return false;
}
