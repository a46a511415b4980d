#include "server/data/series_cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

typedef struct kept {
    series_key key; /* its metric is owned */
    char *text;
    size_t size; /* of the text */
    TAILQ_ENTRY(kept) link;
} kept;

struct series_cache {
    pthread_mutex_t lock;
    TAILQ_HEAD(kept_list, kept) list; /* the last used one is first */
    size_t n, bytes, most;
};

series_cache *series_cache_new(size_t most)
{
    series_cache *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    TAILQ_INIT(&c->list);
    c->most = most;
    return c;
}

static void kept_free(kept *k)
{
    if (!k)
        return;
    free((char *)(uintptr_t)k->key.metric);
    free(k->text);
    free(k);
}

/* In bytes, with the two terminating NULs. */
static size_t cost_of(const series_key *key, size_t size)
{
    return sizeof(kept) + strlen(key->metric) + 1 + size + 1;
}

static void drop(series_cache *c, kept *k)
{
    TAILQ_REMOVE(&c->list, k, link);
    c->n--;
    c->bytes -= cost_of(&k->key, k->size);
    kept_free(k);
}

void series_cache_free(series_cache *c)
{
    if (!c)
        return;
    while (!TAILQ_EMPTY(&c->list))
        drop(c, TAILQ_FIRST(&c->list));
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Are the two the same series, perhaps of different states of the study? */
static bool is_same_series(const series_key *a, const series_key *b)
{
    return a->study == b->study && a->points == b->points && strcmp(a->metric, b->metric) == 0;
}

static bool is_same_state(const series_key *a, const series_key *b)
{
    return a->last_seq == b->last_seq && a->updated_at == b->updated_at;
}

/* Call it with the lock held. */
static kept *entry_of(series_cache *c, const series_key *key)
{
    kept *k;
    TAILQ_FOREACH (k, &c->list, link)
        if (is_same_series(&k->key, key))
            return k;
    return NULL;
}

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *series_cache_find(series_cache *c, const series_key *key, size_t *size)
{
    char *copy = NULL;
    pthread_mutex_lock(&c->lock);
    kept *k = entry_of(c, key);
    if (k && is_same_state(&k->key, key)) {
        TAILQ_REMOVE(&c->list, k, link);
        TAILQ_INSERT_HEAD(&c->list, k, link);
        copy = copy_of(k->text, k->size);
        *size = k->size;
    }
    pthread_mutex_unlock(&c->lock);
    return copy;
}

static kept *new_entry(const series_key *key, const char *text, size_t size)
{
    kept *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->key = *key;
    k->size = size;
    k->key.metric = strdup(key->metric);
    k->text = copy_of(text, size);
    if (k->key.metric && k->text)
        return k;
    kept_free(k);
    return NULL;
}

void series_cache_keep(series_cache *c, const series_key *key, const char *text, size_t size)
{
    size_t cost = cost_of(key, size);
    kept *made = cost <= c->most ? new_entry(key, text, size) : NULL;
    if (!made)
        return;
    pthread_mutex_lock(&c->lock);
    kept *old = entry_of(c, key);
    if (old)
        drop(c, old);
    while (c->n == SERIES_CACHE_ANSWERS || c->bytes + cost > c->most)
        drop(c, TAILQ_LAST(&c->list, kept_list));
    TAILQ_INSERT_HEAD(&c->list, made, link);
    c->n++;
    c->bytes += cost;
    pthread_mutex_unlock(&c->lock);
}
