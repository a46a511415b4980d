/* The parts of a study's definition, each in its own file. */
#ifndef PROTO_DECODE_STUDY_H
#define PROTO_DECODE_STUDY_H

#include "proto/json_decode.h"

/* Each takes its members from the object of the definition, the domain or the algorithm. */
void wire_fill_metrics(wire_object *definition, wire_study *study);
void wire_fill_domain(wire_object *definition, wire_study *study);
void wire_fill_space(wire_object *domain, wire_study *study);
/* The values of a discrete or categorical parameter, and the properties of words. */
void wire_fill_list_of_values(wire_object *parameter, wire_parameter *p);
void wire_values_clear(wire_parameter *p);
/* The constraints of a space whose parameters are valid. */
void wire_fill_constraints(wire_decoder *d, const wire_place *at, const json_t *json, wire_study *study);
/* The same as wire_decode_study, for a definition that has the words of some parameters in tables. The contents of
 * the tables move to the parameters. */
wire_status wire_decode_study_of_form(wire_study **out, const char *body, size_t size,
                                      const char *const *algorithms, struct wire_word_table *tables,
                                      size_t n_tables, wire_errors *errors);
/* names: the possible names of the algorithm, then NULL. */
void wire_fill_algorithm(wire_object *definition, const char *const *names, wire_study *study);
void wire_fill_kernel(wire_object *algorithm, wire_kernel *kernel);

/* `stop_when`: *list is new. */
void wire_fill_stop_when(wire_object *definition, wire_stop_when **list, size_t *n);

/* `learn_from`. */
void wire_fill_learn_from(wire_object *definition, wire_study *study);
void wire_learn_from_clear(wire_study *study);
void wire_fill_study_id(wire_decoder *d, const wire_place *at, const json_t *json, char **out);

void wire_domain_clear(wire_study *study);
void wire_space_clear(wire_study *study);
void wire_constraints_clear(wire_study *study);
void wire_algorithm_clear(wire_algorithm *algorithm);

#endif
