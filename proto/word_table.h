/* Words with their features that a form has beside a definition, not in it; see study_form.h. */
#ifndef PROTO_WORD_TABLE_H
#define PROTO_WORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wire_word_table {
    char *name;           /* of the parameter */
    char **words;         /* n */
    double *features;     /* n x n_features */
    char **feature_names; /* n_features; NULL: they have none */
    size_t n, n_features;
    bool used; /* a parameter has taken its contents */
} wire_word_table;

void wire_word_table_clear(wire_word_table *table);

#endif
