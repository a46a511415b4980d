#include "server/data/observation_view.h"

#include "server/data/study_space.h"

wire_imported observation_view(const store_imported *row, const trial_context *of, const double *point,
                               const char *key)
{
    candidate_view shown = candidate_view_of(of->definition, of->listed, row->candidate, point);
    return (wire_imported){.observation = row->observation,
                           .state = trial_state_name(row->state),
                           .candidate = shown.candidate,
                           .key = key,
                           .point = shown.point,
                           .dimension = of->width,
                           .space = shown.space,
                           .parameters = shown.parameters,
                           .has_value = row->has_value,
                           .value = row->value,
                           .definition = of->definition,
                           .recorded = row->recorded,
                           .repeats = row->repeats,
                           .cost = row->cost,
                           .reason = row->reason,
                           .imported_at = row->imported_at};
}
