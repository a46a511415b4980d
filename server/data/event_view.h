/* An event of the log as those who listen see it. */
#ifndef SERVER_DATA_EVENT_VIEW_H
#define SERVER_DATA_EVENT_VIEW_H

#include "proto/encode_events.h"
#include "server/store/store.h"

void event_view_encode(wire_writer *w, int64_t seq, const store_event *event);

#endif
