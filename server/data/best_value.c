#include "server/data/best_value.h"

void best_value_compare(best_value *best, bool minimize, int64_t first, const store_observation *list,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool better = minimize ? list[i].value < best->value : list[i].value > best->value;
        if (!best->given || better)
            *best = (best_value){.given = true,
                                 .observation = first + (int64_t)i,
                                 .candidate = list[i].candidate,
                                 .value = list[i].value};
    }
}

typedef struct comparing {
    best_value *best;
    bool minimize;
} comparing;

static void take_observation(void *arg, const store_imported *row)
{
    const comparing *c = arg;
    const store_observation value = {.candidate = row->candidate, .value = row->value};
    if (row->has_value)
        best_value_compare(c->best, c->minimize, row->observation, &value, 1);
}

store_status best_value_compare_imported(best_value *best, store *s, int64_t study, bool minimize,
                                         store_error *err)
{
    comparing c = {.best = best, .minimize = minimize};
    return store_read_observations(s, study, 0, INT64_MAX, take_observation, &c, err);
}
