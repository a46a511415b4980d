/* Events as values: owned copies, and their JSON in the log. */
#ifndef SERVER_STORE_EVENT_H
#define SERVER_STORE_EVENT_H

#include "server/store/store.h"

/* A deep copy in one allocation (the caller frees it with free). Brings doubles into the form that the log
 * and the tables can both keep: no sign on a zero, NaN for every non-finite one. Sums keep their bits. */
store_status store_event_copy(store_event **out, const store_event *event);

/* A deep copy in one allocation, freed with free. */
store_status store_answer_copy(store_answer **out, const store_answer *answer);
store_status store_token_copy(store_token **out, const store_token *token);

/* The event's payload in the log: JSON from which store_event_decode makes the same event. The caller frees
 * *out. STORE_NO_MEMORY. */
store_status store_event_encode(char **out, const store_event *event);

/* Reads a log entry back; the caller frees *out with free. STORE_CORRUPT (with a message) when the entry is
 * not one that store_event_encode could have written, STORE_NO_MEMORY. */
store_status store_event_decode(store_event **out, const char *type, int64_t time, const char *payload,
                                store_error *err);

bool store_event_parse(store_event_type *out, const char *name);

#endif
