#include "server/study_view.h"

#include <string.h>

bool study_view_encode(wire_writer *w, const store_study *row)
{
    wire_errors errors = {0};
    wire_study *definition;
    wire_status status = wire_decode_study(&definition, row->definition, strlen(row->definition), &errors);
    wire_errors_clear(&errors);
    if (status != WIRE_OK)
        return false;
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
        .best = {.given = row->best_trial > 0,
                 .trial = row->best_trial,
                 .candidate = row->best_candidate,
                 .value = row->best_value},
    };
    wire_encode_study(w, &view);
    wire_study_free(definition);
    return true;
}
