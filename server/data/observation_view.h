/* An imported result as answers show it. */
#ifndef SERVER_DATA_OBSERVATION_VIEW_H
#define SERVER_DATA_OBSERVATION_VIEW_H

#include "proto/trials.h"
#include "server/data/trial_view.h"

/* Without its amendments. Borrows from all arguments. point, key: as for trial_view. */
wire_imported observation_view(const store_imported *row, const trial_context *of, const double *point,
                               const char *key);

#endif
