/* Keeps decoded definitions that are long, because of words with properties, and therefore costly to decode for each
 * request. They are found by their text, so a changed definition is another entry. Any thread. */
#ifndef SERVER_DATA_DEFINITION_CACHE_H
#define SERVER_DATA_DEFINITION_CACHE_H

#include "proto/wire.h"
#include "server/store/store.h"

typedef struct definition_cache definition_cache;

/* The server's values for `shortest` and `most`, in bytes. */
enum { DEFINITION_CACHE_SHORTEST = 1 << 18, DEFINITION_CACHE_BYTES = 1 << 26 };

/* Texts of fewer bytes than `shortest` are decoded each time. The kept texts have at most `most` bytes together. NULL:
 * out of memory. */
definition_cache *definition_cache_new(size_t shortest, size_t most);
void definition_cache_free(definition_cache *c); /* accepts NULL; all definitions have been released */

/* Like study_config_read, for a definition that the caller only reads, and then releases. c NULL: the text is always
 * decoded. */
store_status definition_cache_read(const wire_study **out, definition_cache *c, const char *text);

/* Accepts NULL as definition. */
void definition_cache_release(definition_cache *c, const wire_study *definition);

/* Is the text that this definition was read from the one that an answer shows? That requires that
 * wire_encode_definition would write the same text, and that the definition has no frozen sources (`learn_from`), of
 * which answers show only a part. False also if the definition is not kept. */
bool definition_cache_is_text(definition_cache *c, const wire_study *definition);

#endif
