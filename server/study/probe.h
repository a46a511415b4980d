/* Loading a study that nobody sees yet, to know whether it can be. */
#ifndef SERVER_STUDY_PROBE_H
#define SERVER_STUDY_PROBE_H

#include "server/app.h"

/* Loads the staged study of that number, and its engine where one is stored, and lets it go again. From a
 * long task of the pool; of the app only configuration, store and pool are used. STORE_CORRUPT: it cannot be
 * loaded, why is in *err. One that would need more memory than it may is fine: it says so when it is
 * asked. */
store_status study_try(const app *a, const char *id, int64_t number, store_error *err);

#endif
