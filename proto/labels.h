/* Labels of studies. */
#ifndef PROTO_LABELS_H
#define PROTO_LABELS_H

#include <stdbool.h>

/* Does a study's definition (as wire_encode_definition writes it) have this label? False also for text that
 * is none. */
bool wire_has_label(const char *definition, const char *key, const char *value);

#endif
