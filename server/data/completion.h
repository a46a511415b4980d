/* Fills in defaults where a definition gives no value. */
#ifndef SERVER_DATA_COMPLETION_H
#define SERVER_DATA_COMPLETION_H

#include "proto/wire.h"

#include <string.h>

typedef struct completion {
    wire_errors *errors; /* lists the values that are not valid */
    bool no_memory;      /* a text could not be allocated */
} completion;

static inline void default_text(char **field, const char *text, completion *found)
{
    if (!*field)
        *field = strdup(text);
    found->no_memory |= !*field;
}

static inline void default_number(wire_number *field, double value)
{
    if (!field->given)
        *field = (wire_number){.given = true, .value = value};
}

/* A word in place of a number; `word` is borrowed. */
static inline void default_word(wire_number *field, const char *word)
{
    if (!field->given)
        *field = (wire_number){.given = true, .word = word};
}

static inline void default_integer(wire_integer *field, int64_t value)
{
    if (!field->given)
        *field = (wire_integer){.given = true, .value = value};
}

#endif
