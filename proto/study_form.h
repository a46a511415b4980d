/* A study's definition as a form (multipart/form-data), read as the bytes arrive. The part `study` is the definition
 * in JSON. Every other part has the name of a categorical parameter in it, and has the words of that parameter and
 * their features: a table in one of the formats for candidates (points.h), in which the key of each row is the word.
 * In CSV, the column of the words may also have the name of the parameter. */
#ifndef PROTO_STUDY_FORM_H
#define PROTO_STUDY_FORM_H

#include "proto/wire.h"

typedef struct wire_study_form wire_study_form;

/* content_type: the value of the header. max_definition: bytes of the part `study`. max_values: the number of
 * features of all words. */
wire_status wire_study_form_new(wire_study_form **out, const char *content_type, size_t max_definition,
                                size_t max_values, wire_errors *errors);
wire_status wire_study_form_feed(wire_study_form *form, const char *bytes, size_t n, wire_errors *errors);
/* End of input; as wire_decode_study. */
wire_status wire_study_form_finish(wire_study_form *form, wire_study **out, const char *const *algorithms,
                                   wire_errors *errors);
/* Did it fail because there were more than max_values? It has then added no error. */
bool wire_study_form_is_too_large(const wire_study_form *form);
void wire_study_form_free(wire_study_form *form);

#endif
