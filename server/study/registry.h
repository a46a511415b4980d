/* The studies in memory, found by id. The first request to a study loads it; after some time without requests it leaves
 * memory. A timer wakes studies when their waits or leases end. registry.c defines what is declared here. */
#ifndef SERVER_STUDY_REGISTRY_H
#define SERVER_STUDY_REGISTRY_H

#include "server/study/actor.h"

typedef struct registry registry;

/* Starts the timer. NULL: out of memory, or no thread could be started. */
registry *registry_new(app *a);

/* Schedules the loading of studies that have pending trials, so that their leases end in time. Call it before the first
 * request. */
store_status registry_wake_pending(registry *r, store_error *err);

/* Gives a request to its study (request->study): request->run is called in the study's turn, with the study
 * loaded. If there is no such study, or it cannot be loaded, the request is refused. */
void registry_post(registry *r, study_request *request);

/* Ends every wait: waiting asks are answered. New jobs still run. */
void registry_stop_waiting(registry *r);

/* Stops the timer. Call after all requests have been answered, before the pool is freed. */
void registry_stop(registry *r);

/* Call after the pool and the store are closed, so that no write is in progress. Accepts NULL. */
void registry_free(registry *r);

#endif
