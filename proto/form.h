/* Reads multipart/form-data (RFC 7578) as the bytes arrive. `curl -F` and forms in browsers send it. */
#ifndef PROTO_FORM_H
#define PROTO_FORM_H

#include "proto/wire.h"

/* Any result but WIRE_OK ends the reading. Strings and bytes are borrowed. */
typedef struct wire_form_sink {
    /* A part begins. file: the name of its file, "" if it has none. type: its Content-Type, in lower case and
     * without parameters, "" if it has none. */
    wire_status (*part)(void *arg, const char *name, const char *file, const char *type, wire_errors *errors);
    wire_status (*bytes)(void *arg, const char *bytes, size_t n, wire_errors *errors);
    wire_status (*end)(void *arg, wire_errors *errors); /* of the part */
} wire_form_sink;

typedef struct wire_form_reader wire_form_reader;

/* content_type: the value of the header, with its boundary. WIRE_INVALID: it has none. */
wire_status wire_form_reader_new(wire_form_reader **out, const char *content_type, const wire_form_sink *sink,
                                 void *arg, wire_errors *errors);
wire_status wire_form_reader_feed(wire_form_reader *reader, const char *bytes, size_t n, wire_errors *errors);
wire_status wire_form_reader_finish(wire_form_reader *reader, wire_errors *errors);
void wire_form_reader_free(wire_form_reader *reader);

#endif
