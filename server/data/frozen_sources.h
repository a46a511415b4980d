/* The other studies that a new study learns from (`learn_from`). When the new study is created, each of them is frozen
 * to a function of the point, and stored with the definition. */
#ifndef SERVER_DATA_FROZEN_SOURCES_H
#define SERVER_DATA_FROZEN_SOURCES_H

#include "server/data/definition.h"
#include "server/store/store.h"

/* Freezes the sources of config->wire that are not frozen yet. points: the candidates of the new study, or of its
 * enumerated space. WIRE_INVALID with *errors if a study cannot be learned from; *stored is the status of the
 * store. */
wire_status frozen_sources_make(store *s, size_t memory, study_config *config, wire_study *points,
                                wire_errors *errors, store_status *stored);

#endif
