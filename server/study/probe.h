/* Checking that a staged study can be loaded. probe.c defines what is declared here. */
#ifndef SERVER_STUDY_PROBE_H
#define SERVER_STUDY_PROBE_H

#include "server/app.h"

/* Loads the staged study with that number, and its engine if one is stored, and frees both. Call it from a long task of
 * the pool. It uses only the configuration, the store and the pool of the app. STORE_CORRUPT: the study cannot be
 * loaded, and *err says why. A study that needs more memory than allowed passes the check; its asks will report the
 * error. */
store_status study_try(const app *a, const char *id, int64_t number, store_error *err);

#endif
