/* The text of a configuration file: lines `name = value`. Blank lines, and lines that start with #, are
 * skipped. A name consists of small letters, digits and dashes. A value is the rest of its line without the
 * surrounding blanks; there is no quoting. */
#ifndef PROTO_CONFIG_FILE_H
#define PROTO_CONFIG_FILE_H

#include "proto/wire.h"

/* Called for each setting, in the order of the lines, which are numbered from 1. name and value point into
 * the text. A callee that returns false has added an error; reading stops. */
typedef bool wire_setting(void *arg, const char *name, const char *value, size_t line, wire_errors *errors);

/* text: n bytes and a NUL, owned by the caller. It is changed (NULs end names and values), and must outlive
 * them. WIRE_MALFORMED: one error, with the pointer "" and the line number in its detail. */
wire_status wire_read_settings(char *text, size_t n, wire_setting *setting, void *arg, wire_errors *errors);

#endif
