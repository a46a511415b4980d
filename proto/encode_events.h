/* Server-sent events (HTML, 9.2.5): an id that is a position in the study's log, a type, and data in JSON. */
#ifndef PROTO_ENCODE_EVENTS_H
#define PROTO_ENCODE_EVENTS_H

#include "proto/wire.h"

/* The start of every stream: the delay after which a client reconnects, and its position. */
void wire_encode_stream_start(wire_writer *w, int64_t position);

/* An event of the stream itself; id < 0: it has none. */
void wire_encode_notice(wire_writer *w, int64_t id, const char *type, const char *reason);

/* A change of a trial, a measurement or a late result. */
typedef struct wire_trial_event {
    const char *type; /* "trial", "late", "measurement" */
    int64_t id;
    const char *state;                   /* NULL: left out */
    int32_t attempt;                     /* 0: left out */
    const char *worker;                  /* NULL or "": left out */
    int64_t issued_at, lease_expires_at; /* ms; 0: left out */
    const char *recorded;                /* as in wire_trial; its standard errors are shown */
    bool has_value;
    double value;
    bool best;    /* it is now the study's best trial; false: left out */
    bool amended; /* false: left out */
    bool has_step;
    int64_t step;
    double cost;        /* 0: left out */
    const char *reason; /* NULL or "": left out */
    int64_t told_at;    /* ms; 0: left out */
} wire_trial_event;

void wire_encode_trial_event(wire_writer *w, int64_t id, int64_t time, const wire_trial_event *trial);

/* "batch": trials first_trial … first_trial + trials − 1 are queued. An extension of the last batch has only
 * its number, ratio and stop rule. */
void wire_encode_batch_event(wire_writer *w, int64_t id, int64_t time, const wire_batch *batch, bool extended,
                             int64_t first_trial, int64_t trials);

/* "state" of the study. Other fields of the study may have changed as well. */
void wire_encode_state_event(wire_writer *w, int64_t id, int64_t time, const char *state, const char *reason);

/* An amended imported result. value NULL: it was taken back. */
void wire_encode_observation_event(wire_writer *w, int64_t id, int64_t time, int64_t observation,
                                   const char *state, const double *value, const char *recorded,
                                   const char *reason);

/* Any other event with a count. */
void wire_encode_count_event(wire_writer *w, int64_t id, int64_t time, const char *type, int64_t count);

#endif
