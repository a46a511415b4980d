/* A study's definition and the words of its parameters, as a form. */
#ifndef CLIENTS_BANDITCTL_FORM_H
#define CLIENTS_BANDITCTL_FORM_H

#include "clients/banditctl/options.h"

/* Between the parts of a form; the last 32 digits are random. */
typedef char form_boundary[48];
void draw_boundary(form_boundary out);

/* Replaces *body, the definition, by a form with the definition and the tables of the operands after the first. */
exit_status make_form(const arguments *a, char **body, size_t *size, const char *boundary);

#endif
