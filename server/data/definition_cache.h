/* Decoded definitions that are long, because of words with properties, and so costly to read for each request. They
 * are found by their text, so a definition that was changed is another one. Any thread. */
#ifndef SERVER_DATA_DEFINITION_CACHE_H
#define SERVER_DATA_DEFINITION_CACHE_H

#include "proto/wire.h"
#include "server/store/store.h"

typedef struct definition_cache definition_cache;

/* What the server uses, in bytes. */
enum { DEFINITION_CACHE_SHORTEST = 1 << 18, DEFINITION_CACHE_BYTES = 1 << 26 };

/* Texts of fewer bytes than `shortest` are decoded each time. Those that are kept have at most `most` bytes together.
 * NULL: out of memory. */
definition_cache *definition_cache_new(size_t shortest, size_t most);
void definition_cache_free(definition_cache *c); /* accepts NULL; all definitions have been released */

/* Like study_config_read, for a definition that is only read, until it is released. c NULL: it is decoded. */
store_status definition_cache_read(const wire_study **out, definition_cache *c, const char *text);

/* Accepts NULL as definition. */
void definition_cache_release(definition_cache *c, const wire_study *definition);

/* Whether wire_encode_definition would write the text that this definition was read from, and answers show all of it:
 * of frozen studies that it learns from they do not. False also if the definition is not kept. */
bool definition_cache_is_text(definition_cache *c, const wire_study *definition);

#endif
