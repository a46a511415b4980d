#include "server/data/study_view.h"

#include "server/data/candidate_rows.h"
#include "server/data/definition.h"
#include "server/data/study_space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a space, reads the parameters of the best point into *out (to be freed). STORE_CORRUPT: the stored best
 * trial is not valid. */
static store_status read_best(double **out, store *s, const store_study *row, const wire_study *definition)
{
    size_t width = candidate_width(definition);
    store_error error = {0};
    *out = NULL;
    if (row->best_trial > 0 && row->best_candidate >= row->candidates)
        return STORE_CORRUPT;
    if (definition->domain_type != WIRE_DOMAIN_SPACE || row->best_trial == 0)
        return STORE_OK;
    *out = malloc(width * sizeof **out);
    return *out ? candidate_rows_at(*out, s, row->study, definition, width, &row->best_candidate, 1, &error)
                : STORE_NO_MEMORY;
}

static store_status encode(wire_writer *w, store *s, const store_study *row, const wire_taken_over *history)
{
    wire_study *definition;
    store_status status = study_config_read(&definition, row->definition);
    if (status != STORE_OK)
        return status;
    double *best;
    status = read_best(&best, s, row, definition);
    candidate_view shown =
        candidate_view_of(definition, row->reference_candidates > 0, row->best_candidate, best);
    wire_study_view view = {
        .definition = definition,
        .state = study_state_name(row->state),
        .state_reason = row->state_reason,
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
        .candidates = row->candidates,
        .history = history,
        .best = {.given = row->best_trial > 0,
                 .trial = row->best_trial,
                 .candidate = shown.candidate,
                 .space = shown.space,
                 .parameters = shown.parameters,
                 .value = row->best_value},
    };
    if (status == STORE_OK)
        wire_encode_study(w, &view);
    free(best);
    wire_study_free(definition);
    return status;
}

store_status study_view_encode(wire_writer *w, store *s, const store_study *row)
{
    return encode(w, s, row, NULL);
}

store_status study_view_encode_new(wire_writer *w, const store_study *row, const wire_taken_over *history)
{
    return encode(w, NULL, row, history);
}

void study_etag(char out[40], int64_t number, int64_t last_seq)
{
    snprintf(out, 40, "\"%" PRIx64 "-%" PRIx64 "\"", (uint64_t)number, (uint64_t)last_seq);
}
