#include "proto/json_decode.h"

#include <stdlib.h>

static void fill(wire_decoder *d, json_t *body, void *out)
{
    static const wire_range wait = {.min = 0, .max = WIRE_MAX_WAIT_SECONDS};
    static const wire_range lease = {.min = 1, .max = WIRE_MAX_LEASE_SECONDS};
    wire_ask *ask = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    wire_take_integer(&o, "count", WIRE_OPTIONAL, 1, WIRE_MAX_TRIALS, &ask->count);
    wire_take_string(&o, "worker", WIRE_OPTIONAL, 1, WIRE_MAX_NAME, &ask->worker);
    wire_take_real(&o, "wait_seconds", WIRE_OPTIONAL, &wait, &ask->wait_seconds);
    wire_take_number(&o, "lease_seconds", &lease, NULL, &ask->lease_seconds);
    wire_take_boolean(&o, "fresh", &ask->fresh);
    const json_t *fixed = wire_take(&o, "fixed", WIRE_OPTIONAL);
    wire_place at = wire_place_member(NULL, "fixed");
    if (fixed)
        wire_read_assignments(d, &at, fixed, &ask->fixed);
    wire_object_close(&o);
}

wire_status wire_decode_ask(wire_ask **out, const char *body, size_t size, wire_errors *errors)
{
    *out = NULL;
    wire_ask *ask = calloc(1, sizeof *ask);
    if (!ask)
        return WIRE_NO_MEMORY;
    ask->count = 1;
    wire_status status = size > 0 ? wire_decode_body(body, size, errors, fill, ask) : WIRE_OK;
    if (status == WIRE_OK)
        *out = ask;
    else
        wire_ask_free(ask);
    return status;
}

void wire_ask_free(wire_ask *ask)
{
    if (!ask)
        return;
    free(ask->worker);
    wire_assignments_clear(&ask->fixed);
    free(ask);
}
