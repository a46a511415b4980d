#include "server/data/trial_view.h"

#include "server/data/study_space.h"

wire_trial trial_view(const store_trial *row, const trial_context *of, const double *point, const char *key)
{
    candidate_view shown = candidate_view_of(of->definition, of->listed, row->candidate, point);
    return (wire_trial){.id = row->trial,
                        .state = trial_state_name(row->state),
                        .batch = row->batch,
                        .attempt = row->attempt,
                        .candidate = shown.candidate,
                        .key = key,
                        .point = shown.point,
                        .dimension = of->width,
                        .space = shown.space,
                        .parameters = shown.parameters,
                        .worker = row->worker,
                        .issued_at = row->issued_at,
                        .lease_expires_at = row->state == TRIAL_PENDING ? row->lease_expires_at : 0,
                        .has_value = row->has_value,
                        .value = row->value,
                        .definition = of->definition,
                        .recorded = row->recorded,
                        .repeats = row->repeats,
                        .cost = row->cost,
                        .metadata = row->metadata,
                        .reason = row->reason,
                        .told_at = row->told_at};
}
