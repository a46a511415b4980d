/* Keeps answers from one batch's model that were costly to compute. They do not change until the next batch begins.
 * Used only on the engine lane, like the engine. */
#ifndef SERVER_STUDY_INSIGHT_CACHE_H
#define SERVER_STUDY_INSIGHT_CACHE_H

#include <stdint.h>

typedef struct insight_cache insight_cache;

/* The text that was kept under this key in this batch; borrowed until the next call. NULL: none. */
const char *insight_cache_find(const insight_cache *cache, int64_t batch, const char *key);

/* Keeps a copy. Drops the answers of another batch, and the oldest answer if there are too many. *cache may be NULL.
 * Keeps nothing if memory has run out. */
void insight_cache_keep(insight_cache **cache, int64_t batch, const char *key, const char *text);

void insight_cache_free(insight_cache *cache); /* accepts NULL */

#endif
