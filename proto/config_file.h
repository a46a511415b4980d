/* Text of a configuration file: a line `name = value` each; blank lines, and lines whose first character is
 * #, are skipped. Names have small letters, digits and dashes. A value is the rest of its line without the
 * blanks around it; nothing is quoted. */
#ifndef PROTO_CONFIG_FILE_H
#define PROTO_CONFIG_FILE_H

#include "proto/wire.h"

/* Called for each setting in the order of the lines (from 1); name and value point into the text. False ends
 * the reading: the callee has added what is wrong to the errors. */
typedef bool wire_setting(void *arg, const char *name, const char *value, size_t line, wire_errors *errors);

/* text: n bytes and a NUL, the caller's; NULs are written into it, and what was read lives as long as it.
 * WIRE_MALFORMED: one error, at "", that starts with the line. */
wire_status wire_read_settings(char *text, size_t n, wire_setting *setting, void *arg, wire_errors *errors);

#endif
