/* Makes texts from the server safe to print on a terminal. */
#ifndef CLIENTS_BANDITCTL_PRINTABLE_H
#define CLIENTS_BANDITCTL_PRINTABLE_H

#include <jansson.h>

/* The text (UTF-8) with characters that would control the terminal written as in JSON, "\u001b": control
 * characters including U+0080 to U+009F, ends of lines, and changes of the text's direction. A byte that is
 * not part of a character becomes "\ufffd". The caller frees the result. */
char *printable(const char *text);

/* A member of an object, made printable. If it is missing or not a string: a copy of `fallback`. The caller
 * frees the result. */
char *printable_member(const json_t *object, const char *key, const char *fallback);

/* The value_text of any JSON value, made printable. The caller frees it. */
char *printable_value(const json_t *value);

/* Prints the text, made printable, and a line end on standard output. */
void print_text(const char *text);

#endif
