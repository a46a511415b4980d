#include "server/study_view.h"

#include "server/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The best point's parameters into *out (to be freed), in a space; otherwise nothing. */
static bool read_best(double **out, store *s, const store_study *row, const wire_study *definition)
{
    store_error error = {0};
    *out = NULL;
    if (definition->domain_type != WIRE_DOMAIN_SPACE || row->best_trial == 0)
        return true;
    *out = malloc(candidate_width(definition) * sizeof **out);
    return *out && store_read_candidates(s, row->study, row->best_candidate, 1, *out, &error) == STORE_OK;
}

static bool encode(wire_writer *w, store *s, const store_study *row, const wire_taken_over *history)
{
    wire_errors errors = {0};
    wire_study *definition;
    wire_status status = wire_decode_study(&definition, row->definition, strlen(row->definition), &errors);
    wire_errors_clear(&errors);
    if (status != WIRE_OK)
        return false;
    double *best;
    bool fine = read_best(&best, s, row, definition);
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
    if (fine)
        wire_encode_study(w, &view);
    free(best);
    wire_study_free(definition);
    return fine;
}

bool study_view_encode(wire_writer *w, store *s, const store_study *row)
{
    return encode(w, s, row, NULL);
}

bool study_view_encode_new(wire_writer *w, const store_study *row, const wire_taken_over *history)
{
    return encode(w, NULL, row, history);
}

void study_etag(char out[40], int64_t number, int64_t last_seq)
{
    snprintf(out, 40, "\"%" PRIx64 "-%" PRIx64 "\"", (uint64_t)number, (uint64_t)last_seq);
}
