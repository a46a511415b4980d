#include "server/study/imported_best.h"

#include "server/study/every_result.h"

typedef struct search {
    study *s;
    best_value best;
    bool failed; /* out of memory */
} search;

static bool compare(const study *s, best_value *best, const store_imported *row)
{
    const store_observation o = {.candidate = row->candidate, .value = row->value, .recorded = row->recorded};
    return !row->has_value || best_value_compare(best, s->config->wire, row->observation, &o, 1);
}

static void consider(void *arg, const store_imported *row)
{
    search *b = arg;
    b->failed |= !compare(b->s, &b->best, row);
}

void study_find_best_imported(study *s)
{
    search b = {.s = s};
    store_status status = STORE_OK;
    if (s->knows_best_imported)
        return;
    if (s->config->n_objectives == 1)
        status = study_visit_imported(s, consider, &b);
    if (status == STORE_OK && b.failed)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK) {
        s->best_imported = b.best;
        s->knows_best_imported = true;
    } else {
        commit_fail(s->commit, status); /* the study is loaded again */
    }
}

void study_note_imported(study *s, const store_imported *row)
{
    if (s->best_imported.given && s->best_imported.observation == row->observation)
        s->knows_best_imported = false;
    if (s->knows_best_imported && !compare(s, &s->best_imported, row))
        s->knows_best_imported = false;
}

bool study_is_outdone(study *s, double value)
{
    study_find_best_imported(s);
    const best_value *best = &s->best_imported;
    if (!s->knows_best_imported || !best->given)
        return false;
    return s->config->minimize ? best->value < value : best->value > value;
}
