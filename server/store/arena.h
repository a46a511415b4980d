/* Deep copies in one allocation. */
#ifndef SERVER_STORE_ARENA_H
#define SERVER_STORE_ARENA_H

#include "server/store/store.h"

/* A copy that is being made. In the first pass there is no block yet, and the copies are only measured. */
typedef struct arena {
    unsigned char *block; /* NULL while measuring */
    size_t used;
} arena;

/* Replaces each pointer in *value by a copy of what it points to, made with the functions below. */
typedef void arena_parts(arena *a, void *value);

/* A copy of the `size` bytes at `value` and of its parts, freed with free. NULL: out of memory. */
void *arena_clone(const void *value, size_t size, arena_parts *copy_parts);

/* The copy, aligned for any member of an event; NULL while measuring. */
void *arena_copy(arena *a, const void *data, size_t size);

const char *arena_text(arena *a, const char *text);          /* NULL stays NULL */
const char *arena_text_or_empty(arena *a, const char *text); /* NULL becomes "" */

/* Deep copies, which the caller frees with free. STORE_NO_MEMORY. */
store_status store_answer_copy(store_answer **out, const store_answer *answer);
store_status store_token_copy(store_token **out, const store_token *token);
store_status store_setting_copy(store_setting **out, const store_setting *setting);

#endif
