/* Functions that all decoders share. Decoders take the typed members of JSON objects one by one. A problem is
 * recorded with its JSON pointer, and decoding continues, so that all problems are listed. A getter that returns
 * false leaves *out unchanged; wire_decode_body returns the status. */
#ifndef PROTO_JSON_DECODE_H
#define PROTO_JSON_DECODE_H

#include "proto/wire.h"

#include <jansson.h>
#include <stdlib.h>

typedef struct wire_decoder {
    wire_errors *errors;
    bool invalid;
    bool no_memory;
    struct wire_word_table *tables; /* beside a definition: words of parameters; NULL */
    size_t n_tables;
} wire_decoder;

/* A member or an element, and the path to it from the body. Lives on the stack of the function that
 * descends. */
typedef struct wire_place {
    const struct wire_place *parent; /* NULL: the body */
    const char *key;                 /* NULL: element `index` of a list */
    size_t index;
} wire_place;

wire_place wire_place_member(const wire_place *parent, const char *key);
wire_place wire_place_element(const wire_place *parent, size_t index);

/* Records a problem. `at` NULL: the whole body. */
void wire_refuse(wire_decoder *d, const wire_place *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A new string; NULL without memory. */
char *wire_pointer_text(const wire_place *place);

/* Zeroed memory of at least one byte. On failure it returns NULL and sets no_memory. */
void *wire_allocate(wire_decoder *d, size_t n, size_t size);
char *wire_duplicate(wire_decoder *d, const char *text);

/* Parses the body, calls `fill` with it and the struct to fill, and returns the status of both. */
typedef void wire_fill(wire_decoder *d, json_t *body, void *out);
wire_status wire_decode_body(const char *body, size_t size, wire_errors *errors, wire_fill *fill, void *out);

/* Defines wire_decode_<name>(): a new wire_<name>, filled by fill_<name>(), freed by wire_<name>_free(). */
#define WIRE_DEFINE_DECODER(name)                                                                            \
    wire_status wire_decode_##name(wire_##name **out, const char *body, size_t size, wire_errors *errors)    \
    {                                                                                                        \
        *out = NULL;                                                                                         \
        wire_##name *value = calloc(1, sizeof *value);                                                       \
        if (!value)                                                                                          \
            return WIRE_NO_MEMORY;                                                                           \
        wire_status status = wire_decode_body(body, size, errors, fill_##name, value);                       \
        if (status == WIRE_OK)                                                                               \
            *out = value;                                                                                    \
        else                                                                                                 \
            wire_##name##_free(value);                                                                       \
        return status;                                                                                       \
    }

/* ---- values ------------------------------------------------------------------------------------------- */

extern const wire_range wire_any, wire_value, wire_positive, wire_nonnegative, wire_fraction;

bool wire_read_real(wire_decoder *d, const wire_place *at, const json_t *json, const wire_range *range,
                    double *out);
bool wire_read_integer(wire_decoder *d, const wire_place *at, const json_t *json, int64_t min, int64_t max,
                       int64_t *out);
/* min … max characters, min 0 or 1. *out is a new string, freed by the caller. */
bool wire_read_string(wire_decoder *d, const wire_place *at, const json_t *json, size_t min, size_t max,
                      char **out);
/* A list of min … max elements, min 0 or 1. */
bool wire_check_list(wire_decoder *d, const wire_place *at, const json_t *json, size_t min, size_t max);

/* Refuses each element of a list that equals an earlier one. order: n elements, owned by the caller; set to the
 * places of the elements in ascending order by `compare`, which takes the addresses of two pointers into the list. */
typedef int wire_compare_elements(const void *a, const void *b);
wire_compare_elements wire_compare_strings; /* of char *; NULL for an element that was refused */
void wire_refuse_repeated(wire_decoder *d, const wire_place *at, uint32_t *order, size_t n, const void *list,
                          size_t size, wire_compare_elements *compare, const char *why);

/* Rows of equal length: *out is new, *rows x *columns, row-major. */
bool wire_read_matrix(wire_decoder *d, const wire_place *at, const json_t *json, size_t max_rows,
                      double **out, size_t *rows, size_t *columns);

/* A list of at least one candidate number: *out is new. */
bool wire_read_candidates(wire_decoder *d, const wire_place *at, const json_t *json, size_t max,
                          int64_t **out, size_t *n);

/* {"<parameter>": <value>, …}. The caller clears *out, also after a failure. */
void wire_read_assignments(wire_decoder *d, const wire_place *at, const json_t *json, wire_assignments *out);

/* ---- objects ------------------------------------------------------------------------------------------ */

typedef enum wire_presence { WIRE_OPTIONAL, WIRE_REQUIRED } wire_presence;

#define WIRE_MAX_MEMBERS 40

typedef struct wire_object {
    wire_decoder *decoder;
    const wire_place *place;
    const json_t *json;
    const char *known[WIRE_MAX_MEMBERS]; /* the members asked for so far */
    bool forbidden[WIRE_MAX_MEMBERS];    /* of these: must not be given */
    size_t n_known;
} wire_object;

/* Records a problem and returns false if it is not an object. */
bool wire_object_open(wire_object *o, wire_decoder *d, const wire_place *place, const json_t *json);
/* Refuses the members that were not asked for. */
void wire_object_close(wire_object *o);

/* A member of any type, borrowed; NULL if it does not exist (refused if it is required). */
const json_t *wire_take(wire_object *o, const char *name, wire_presence presence);
/* Does the member exist? Asking makes it known. */
bool wire_has(wire_object *o, const char *name);
/* Refuses the member if it exists. */
void wire_forbid(wire_object *o, const char *name, const char *why);

bool wire_take_boolean(wire_object *o, const char *name, bool *out);
bool wire_take_integer(wire_object *o, const char *name, wire_presence presence, int64_t min, int64_t max,
                       int64_t *out);
bool wire_take_real(wire_object *o, const char *name, wire_presence presence, const wire_range *range,
                    double *out);
bool wire_take_string(wire_object *o, const char *name, wire_presence presence, size_t min, size_t max,
                      char **out);
/* One of `words` (ends with NULL); *out is its index. */
bool wire_take_word(wire_object *o, const char *name, wire_presence presence, const char *const *words,
                    size_t *out);
/* The same; *out is a new string. */
bool wire_take_word_text(wire_object *o, const char *name, wire_presence presence, const char *const *words,
                         char **out);
/* An object of the user's own, as JSON text of at most max_bytes. */
bool wire_take_object_text(wire_object *o, const char *name, size_t max_bytes, char **out);

/* The user's labels of a study, as JSON text. */
bool wire_take_labels(wire_object *o, char **out);

/* Fields that remember whether they were given. `words`: NULL, or words allowed in place of a number. */
bool wire_take_given_integer(wire_object *o, const char *name, int64_t min, int64_t max, wire_integer *out);
bool wire_take_number(wire_object *o, const char *name, const wire_range *range, const char *const *words,
                      wire_number *out);

#endif
