/* Events as values: owned copies, and their JSON in the log. */
#ifndef SERVER_STORE_EVENT_H
#define SERVER_STORE_EVENT_H

#include "server/store/store.h"

/* A deep copy in one allocation (the caller frees it with free). Doubles are brought into a form that both the log and
 * the tables can keep: a zero has no sign, and every non-finite value is NaN. Sums keep their bits. STORE_NO_MEMORY. */
store_status store_event_copy(store_event **out, const store_event *event);

/* The event's payload in the log: JSON from which store_event_decode makes the same event. `event`: a copy.
 * The caller frees *out. STORE_NO_MEMORY. */
store_status store_event_encode(char **out, const store_event *event);

/* Reads a log entry back; the caller frees *out with free. STORE_CORRUPT (with a message) when a member is
 * missing, of another type or out of its range; unknown members are ignored. STORE_NO_MEMORY. */
store_status store_event_decode(store_event **out, const char *type, int64_t time, const char *payload,
                                store_error *err);

bool store_event_parse(store_event_type *out, const char *name);

/* The value of the member that has this name in the payload: a pointer into *event, to the type that records.h gives
 * the member; for an array, to its pointer. NULL: events of this type have no such member. */
const void *store_event_member(const store_event *event, const char *name);

#endif
