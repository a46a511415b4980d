/* Keeps what was costly to compute from one batch's model: answers, and one order of all arms. Neither changes until the
 * next batch begins. Used only on the engine lane, like the engine. */
#ifndef SERVER_STUDY_INSIGHT_CACHE_H
#define SERVER_STUDY_INSIGHT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct insight_cache insight_cache;

/* The text that was kept under this key in this batch; borrowed until the next call. NULL: none. */
const char *insight_cache_find(const insight_cache *cache, int64_t batch, const char *key);

/* Keeps a copy. Drops the answers of another batch, and the oldest answer if there are too many. *cache may be NULL.
 * Keeps nothing if memory has run out. */
void insight_cache_keep(insight_cache **cache, int64_t batch, const char *key, const char *text);

/* The arms in this order in this batch, n of them; borrowed until the next call. NULL: not kept. */
const uint32_t *insight_cache_ranking(const insight_cache *cache, int64_t batch, int order, size_t n);

/* Keeps the arms in this order, and drops another ranking. Takes `arms` over. False: out of memory, and `arms` is freed. */
bool insight_cache_keep_ranking(insight_cache **cache, int64_t batch, int order, uint32_t *arms, size_t n);

/* The bytes that all of it takes; 0 if cache is NULL. */
size_t insight_cache_memory(const insight_cache *cache);

void insight_cache_free(insight_cache *cache); /* accepts NULL */

#endif
