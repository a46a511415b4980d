#include "server/data/study_view.h"

#include "server/data/best_value.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/definition.h"
#include "server/data/stop_rule.h"
#include "server/data/study_space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of an answer about the best value. The caller frees `row`. */
typedef struct shown_best {
    best_value value;
    double *row; /* in a space: the coded point */
    candidate_key key;
} shown_best;

/* Reads the best value, of trials and imports, and its point. STORE_CORRUPT: the stored best trial is not valid. */
static store_status read_best(shown_best *out, store *s, const store_study *row, const wire_study *definition)
{
    size_t width = candidate_width(definition);
    store_error error = {0};
    store_status status = STORE_OK;
    best_value *best = &out->value;
    if (row->best_trial > 0)
        *best = (best_value){.given = true,
                             .trial = row->best_trial,
                             .candidate = row->best_candidate,
                             .value = row->best_value};
    if (row->observations > row->by_state[TRIAL_COMPLETED]) /* otherwise nothing was imported */
        status = best_value_compare_imported(best, s, row->study, definition, &error);
    if (status == STORE_OK && best->given && best->candidate >= row->candidates)
        return STORE_CORRUPT;
    if (status == STORE_OK && best->given)
        status = candidate_keys_at(&out->key, s, row->study, row->has_keys, &best->candidate, 1, &error);
    if (status != STORE_OK || definition->domain_type != WIRE_DOMAIN_SPACE || !best->given)
        return status;
    out->row = malloc(width * sizeof *out->row);
    return out->row
               ? candidate_rows_at(out->row, s, row->study, definition, width, &best->candidate, 1, &error)
               : STORE_NO_MEMORY;
}

/* The same for a study that is not stored yet. */
static store_status best_of_history(shown_best *out, const history_transfer *history, const double *points,
                                    const wire_study *definition)
{
    size_t width = candidate_width(definition);
    if (!best_value_compare(&out->value, definition, 1, history->list, history->n))
        return STORE_NO_MEMORY;
    if (definition->domain_type != WIRE_DOMAIN_SPACE || !out->value.given)
        return STORE_OK;
    const double *rows = history->n_points > 0 ? history->points : points;
    out->row = malloc(width * sizeof *out->row);
    if (!out->row)
        return STORE_NO_MEMORY;
    memcpy(out->row, rows + (size_t)out->value.candidate * width, width * sizeof *out->row);
    return STORE_OK;
}

/* Does the study still have this rule, and does it only advise? It may have been removed since the batch. */
static bool may_advise(const wire_study *definition, const char *rule)
{
    for (size_t i = 0; i < definition->n_stop_when; i++)
        if (definition->stop_when[i].tells &&
            strcmp(wire_stop_rule_names[definition->stop_when[i].rule], rule) == 0)
            return true;
    return false;
}

/* text: the text that wire_encode_definition would write; NULL: not known. */
static void encode(wire_writer *w, const store_study *row, const wire_study *definition, const char *text,
                   const shown_best *best, const wire_taken_over *history)
{
    candidate_view shown =
        candidate_view_of(definition, row->reference_candidates, best->value.candidate, best->row);
    const char *rule = NULL;
    int64_t since = 0;
    bool by_rule = advice_is_of_rule(row->advice, &rule, &since);
    wire_study_view view = {
        .definition = definition,
        .text = text,
        .state = study_state_name(row->state),
        .state_reason = row->state_reason,
        .advice = by_rule ? "" : row->advice,
        .advising_rule = by_rule && may_advise(definition, rule) ? rule : NULL,
        .advised_since = since,
        .created_at = row->created_at,
        .updated_at = row->updated_at,
        .queued = row->by_state[TRIAL_QUEUED],
        .pending = row->by_state[TRIAL_PENDING],
        .completed = row->by_state[TRIAL_COMPLETED],
        .failed = row->by_state[TRIAL_FAILED],
        .infeasible = row->by_state[TRIAL_INFEASIBLE],
        .stopped = row->by_state[TRIAL_STOPPED],
        .observations = row->observations,
        .batch = row->batches,
        .candidates = definition->domain_type == WIRE_DOMAIN_SPACE && row->reference_candidates > 0
                          ? row->reference_candidates /* points after them break constraints */
                          : row->candidates,
        .cost = row->cost,
        .history = history,
        .best = {.given = best->value.given,
                 .trial = best->value.trial,
                 .observation = best->value.observation,
                 .candidate = shown.candidate,
                 .key = best->key.text,
                 .space = shown.space,
                 .parameters = shown.parameters,
                 .value = best->value.value},
    };
    wire_encode_study(w, &view);
}

store_status study_view_encode(wire_writer *w, store *s, definition_cache *cache, const store_study *row)
{
    const wire_study *definition;
    shown_best best = {0};
    store_status status = definition_cache_read(&definition, cache, row->definition);
    if (status != STORE_OK)
        return status;
    const char *text = definition_cache_is_text(cache, definition) ? row->definition : NULL;
    status = read_best(&best, s, row, definition);
    if (status == STORE_OK)
        encode(w, row, definition, text, &best, NULL);
    free(best.row);
    definition_cache_release(cache, definition);
    return status;
}

store_status study_view_encode_new(wire_writer *w, const store_study *row, const history_transfer *history,
                                   const double *points)
{
    wire_study *definition;
    shown_best best = {0};
    store_status status = study_config_read(&definition, row->definition);
    if (status != STORE_OK)
        return status;
    if (history)
        status = best_of_history(&best, history, points, definition);
    if (status == STORE_OK)
        encode(w, row, definition, NULL, &best, history ? &history->shown : NULL);
    free(best.row);
    wire_study_free(definition);
    return status;
}

void study_etag(char out[40], int64_t number, int64_t last_seq)
{
    snprintf(out, 40, "\"%" PRIx64 "-%" PRIx64 "\"", (uint64_t)number, (uint64_t)last_seq);
}
