/* Texts of others on a person's terminal. */
#ifndef CLIENTS_BANDITCTL_PRINTABLE_H
#define CLIENTS_BANDITCTL_PRINTABLE_H

#include <jansson.h>

/* The text (UTF-8) with what a terminal would obey instead of showing it, written as in JSON, "\u001b":
 * control characters, U+0080 to U+009F among them, ends of lines, and what turns the direction of the text
 * that follows. A byte that is of no character is "\ufffd". Freed by the caller. */
char *printable(const char *text);

/* A member of an object so; `fallback`, as it is, when it is missing or no text. Freed by the caller. */
char *printable_member(const json_t *object, const char *key, const char *fallback);

/* Any JSON value so, as value_text gives it; freed by the caller. */
char *printable_value(const json_t *value);

/* The text so, on a line of its own of standard output. */
void print_text(const char *text);

#endif
