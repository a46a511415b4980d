/* Writes JSON into a growing buffer. After an allocation failure, calls do nothing, and wire_writer_finish
 * returns false. Doubles are written with the fewest of 15, 16 or 17 significant digits that read back to the
 * same bits (without trailing zeros), and always with a point or an exponent. A non-finite double is an error
 * of the caller (assert). The process must stay in the "C" locale. */
#ifndef PROTO_JSON_WRITER_H
#define PROTO_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wire_writer {
    char *data; /* NUL-terminated after wire_writer_finish */
    size_t size, capacity;
    bool failed;
    bool comma; /* the next value or key is preceded by a comma */
} wire_writer;

#define WIRE_WRITER_INIT                                                                                     \
    {                                                                                                        \
        0                                                                                                    \
    }

void wire_object_begin(wire_writer *w);
void wire_object_end(wire_writer *w);
void wire_array_begin(wire_writer *w);
void wire_array_end(wire_writer *w);
void wire_key(wire_writer *w, const char *key);
void wire_string(wire_writer *w, const char *text); /* UTF-8; an invalid byte becomes U+FFFD */
void wire_integer_value(wire_writer *w, int64_t number);
void wire_real(wire_writer *w, double number);
void wire_boolean(wire_writer *w, bool truth);
void wire_null(wire_writer *w);
void wire_time(wire_writer *w, int64_t milliseconds); /* RFC 3339 UTC with milliseconds, quoted */
void wire_raw(wire_writer *w, const char *json);      /* the JSON text of a value */

/* Writes the members of an object given as JSON text into the current object; "" has none. */
void wire_raw_members(wire_writer *w, const char *object);

/* Lines: NDJSON has one JSON value per line. The cells of CSV are written with the functions above for
 * numbers, booleans and times, and with wire_cell for text, which adds quotes if necessary. */
void wire_cell(wire_writer *w, const char *text);
void wire_line_end(wire_writer *w);

/* True: *out is the text, owned by the caller; *size does not count the NUL; the writer is empty again.
 * False: out of memory; *out is NULL. */
bool wire_writer_finish(wire_writer *w, char **out, size_t *size);
void wire_writer_clear(wire_writer *w);

#endif
