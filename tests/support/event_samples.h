/* Events of every type: each with all members set to telling values, and each with members absent, empty or
 * at the ends of their ranges. */
#ifndef TESTS_SUPPORT_EVENT_SAMPLES_H
#define TESTS_SUPPORT_EVENT_SAMPLES_H

#include "server/store/event.h"

typedef struct event_sample {
    const char *name; /* unique, one word */
    store_event event;
} event_sample;

extern const event_sample event_samples[];
extern const size_t n_event_samples;

/* A copy as the store makes it; the caller frees it. */
store_event *event_sample_copy(const event_sample *sample);

/* The copy's payload as the log stores it; the caller frees it. */
char *event_sample_payload(const event_sample *sample);

#endif
