/* A study as answers show it. */
#ifndef SERVER_STUDY_VIEW_H
#define SERVER_STUDY_VIEW_H

#include "proto/wire.h"
#include "server/store/store.h"

/* Writes the study of this row. False: out of memory, or a stored
 * definition that cannot be read. */
bool study_view_encode(wire_writer *w, const store_study *row);

#endif
