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
    struct {
        int order;
        uint32_t *arms; /* NULL: none */
        size_t n;
    } ranking;
};

static void forget(insight_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++) {
        free(cache->entries[i].key);
        free(cache->entries[i].text);
        cache->entries[i].key = cache->entries[i].text = NULL;
    }
    cache->n = cache->next = 0;
    free(cache->ranking.arms);
    cache->ranking.arms = NULL;
}

/* Makes it ready for answers of this batch. NULL: out of memory. */
static insight_cache *begin(insight_cache **cache, int64_t batch)
{
    if (!*cache && !(*cache = calloc(1, sizeof **cache)))
        return NULL;
    if ((*cache)->batch != batch)
        forget(*cache);
    (*cache)->batch = batch;
    return *cache;
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
    insight_cache *c = begin(cache, batch);
    if (!c)
        return;
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

const uint32_t *insight_cache_ranking(const insight_cache *cache, int64_t batch, int order, size_t n)
{
    bool found = cache && cache->batch == batch && cache->ranking.order == order && cache->ranking.n == n;
    return found ? cache->ranking.arms : NULL;
}

bool insight_cache_keep_ranking(insight_cache **cache, int64_t batch, int order, uint32_t *arms, size_t n)
{
    insight_cache *c = begin(cache, batch);
    if (!c) {
        free(arms);
        return false;
    }
    free(c->ranking.arms);
    c->ranking.order = order;
    c->ranking.arms = arms;
    c->ranking.n = n;
    return true;
}

size_t insight_cache_memory(const insight_cache *cache)
{
    if (!cache)
        return 0;
    size_t memory =
        sizeof *cache + (cache->ranking.arms ? cache->ranking.n * sizeof *cache->ranking.arms : 0);
    for (size_t i = 0; i < cache->n; i++)
        memory += strlen(cache->entries[i].key) + strlen(cache->entries[i].text) + 2;
    return memory;
}

void insight_cache_free(insight_cache *cache)
{
    if (!cache)
        return;
    forget(cache);
    free(cache);
}
