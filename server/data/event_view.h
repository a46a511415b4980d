/* An event of the log as the event stream shows it. */
#ifndef SERVER_DATA_EVENT_VIEW_H
#define SERVER_DATA_EVENT_VIEW_H

#include "proto/encode_events.h"
#include "server/store/store.h"

/* `event`: one that store_event_copy or store_event_decode made; a result without a value has NaN. */
void event_view_encode(wire_writer *w, int64_t seq, const store_event *event);

#endif
