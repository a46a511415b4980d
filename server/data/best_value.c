#include "server/data/best_value.h"

#include "proto/recorded_values.h"
#include "server/data/modelled.h"

/* What decides between values. */
typedef struct goal {
    bool minimize;
    const wire_metric *modelled[WIRE_MAX_MODELLED];
    size_t n_bounded; /* modelled metrics whose values must be looked at; 0: there are no bounds */
} goal;

static goal goal_of(const wire_study *definition)
{
    goal g = {.minimize = wire_objective(definition)->minimize};
    size_t n = wire_modelled_metrics(definition, g.modelled);
    g.n_bounded = wire_has_several(definition) ? n : 0;
    return g;
}

/* False: out of memory, or a recorded value is missing. */
static bool keeps_bounds(const goal *g, const store_observation *o, bool *keeps)
{
    double values[WIRE_MAX_MODELLED] = {o->value};
    *keeps = true;
    if (g->n_bounded == 0)
        return true;
    if (g->n_bounded > 1 && !wire_read_recorded(o->recorded, g->modelled + 1, g->n_bounded - 1, values + 1))
        return false;
    *keeps = wire_keeps_bounds(g->modelled, values, g->n_bounded);
    return true;
}

static bool compare(best_value *best, const goal *g, int64_t number, const store_observation *o)
{
    bool keeps, better = g->minimize ? o->value < best->value : o->value > best->value;
    if (best->given && !better)
        return true;
    if (!keeps_bounds(g, o, &keeps))
        return false;
    if (keeps)
        *best =
            (best_value){.given = true, .observation = number, .candidate = o->candidate, .value = o->value};
    return true;
}

bool best_value_compare(best_value *best, const wire_study *definition, int64_t first,
                        const store_observation *list, size_t n)
{
    goal g = goal_of(definition);
    bool fine = true;
    if (wire_count_objectives(definition) > 1)
        return true;
    for (size_t i = 0; fine && i < n; i++)
        fine = compare(best, &g, first + (int64_t)i, &list[i]);
    return fine;
}

typedef struct comparing {
    best_value *best;
    goal goal;
    bool failed;
} comparing;

static void take_observation(void *arg, const store_imported *row)
{
    comparing *c = arg;
    const store_observation o = {.candidate = row->candidate, .value = row->value, .recorded = row->recorded};
    if (row->has_value && !c->failed)
        c->failed = !compare(c->best, &c->goal, row->observation, &o);
}

store_status best_value_compare_imported(best_value *best, store *s, int64_t study,
                                         const wire_study *definition, store_error *err)
{
    comparing c = {.best = best, .goal = goal_of(definition)};
    if (wire_count_objectives(definition) > 1)
        return STORE_OK;
    store_status status = store_read_observations(s, study, 0, INT64_MAX, take_observation, &c, err);
    return status == STORE_OK && c.failed ? STORE_NO_MEMORY : status;
}
