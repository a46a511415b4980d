/* The fields of a study's algorithm in JSON: one list, by which they are decoded, encoded and described. */
#ifndef PROTO_ALGORITHM_FIELDS_H
#define PROTO_ALGORITHM_FIELDS_H

#include "proto/wire.h"

/* The type of the field's member in wire_algorithm. */
typedef enum wire_field_kind {
    WIRE_FIELD_NUMBER,     /* wire_number */
    WIRE_FIELD_INTEGER,    /* wire_integer */
    WIRE_FIELD_WORD,       /* char * */
    WIRE_FIELD_SWITCH,     /* bool standardize_rewards, with standardize_rewards_given */
    WIRE_FIELD_KERNEL,     /* wire_kernel */
    WIRE_FIELD_CONFIDENCE, /* char *: a word, or "fixed" where an object gives `beta` */
    WIRE_FIELD_INIT        /* char *: the `type` of an object that may give `parallelism` */
} wire_field_kind;

typedef struct wire_algorithm_field {
    const char *name;
    wire_field_kind kind;
    size_t offset;            /* of the member */
    wire_range range;         /* of numbers and integers */
    const char *const *words; /* allowed words; of a number, those in its place; ends with NULL. NULL: none */
} wire_algorithm_field;

/* Every field but `name`, in the order in which they are written; ends with a NULL name. */
extern const wire_algorithm_field wire_algorithm_fields[];

bool wire_field_is_given(const wire_algorithm *algorithm, const wire_algorithm_field *field);

/* The field's member, of the type that its kind says. */
static inline void *wire_field_member(wire_algorithm *algorithm, const wire_algorithm_field *field)
{
    return (char *)algorithm + field->offset;
}
static inline const void *wire_field_value(const wire_algorithm *algorithm, const wire_algorithm_field *field)
{
    return (const char *)algorithm + field->offset;
}

#endif
