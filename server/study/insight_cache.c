#include "server/study/insight_cache.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 64 };

struct insight_cache {
    int64_t batch;
    size_t n, next; /* next: the entry that is replaced next when there are ENTRIES */
    struct {
        char *key, *text;
    } entries[ENTRIES];
};

static void forget(insight_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++) {
        free(cache->entries[i].key);
        free(cache->entries[i].text);
        cache->entries[i].key = cache->entries[i].text = NULL;
    }
    cache->n = cache->next = 0;
}

const char *insight_cache_find(const insight_cache *cache, int64_t batch, const char *key)
{
    for (size_t i = 0; cache && cache->batch == batch && i < cache->n; i++)
        if (strcmp(cache->entries[i].key, key) == 0)
            return cache->entries[i].text;
    return NULL;
}

void insight_cache_keep(insight_cache **cache, int64_t batch, const char *key, const char *text)
{
    if (!*cache && !(*cache = calloc(1, sizeof **cache)))
        return;
    insight_cache *c = *cache;
    if (c->batch != batch)
        forget(c);
    c->batch = batch;
    char *own_key = strdup(key), *own_text = strdup(text);
    if (!own_key || !own_text) {
        free(own_key);
        free(own_text);
        return;
    }
    size_t at = c->n < ENTRIES ? c->n++ : c->next++ % ENTRIES;
    if (c->entries[at].key) {
        free(c->entries[at].key);
        free(c->entries[at].text);
    }
    c->entries[at].key = own_key;
    c->entries[at].text = own_text;
}

void insight_cache_free(insight_cache *cache)
{
    if (!cache)
        return;
    forget(cache);
    free(cache);
}
