/* The stored list of receivers of notifications. notify.c defines what is declared here. */
#ifndef SERVER_API_NOTIFY_SETTINGS_H
#define SERVER_API_NOTIFY_SETTINGS_H

#include "server/store/store.h"

struct app;

/* Sets the receivers from the stored list. A list that cannot be used is logged, and then nobody is notified. */
store_status notify_settings_load(struct app *a, store_error *err);

#endif
