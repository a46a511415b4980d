#include "server/data/definition_cache.h"

#include "proto/encode.h"
#include "server/data/definition.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

typedef struct kept {
    wire_study *definition;
    char *text;
    size_t size;
    bool is_text; /* encoding the definition yields the text, and answers show all of it */
    size_t users;
    TAILQ_ENTRY(kept) link;
} kept;

struct definition_cache {
    pthread_mutex_t lock;
    TAILQ_HEAD(kept_list, kept) list; /* the last used one is first */
    size_t bytes, shortest, most;
};

static void kept_free(kept *k)
{
    if (!k)
        return;
    wire_study_free(k->definition);
    free(k->text);
    free(k);
}

static void drop(definition_cache *c, kept *k)
{
    TAILQ_REMOVE(&c->list, k, link);
    c->bytes -= k->size;
    kept_free(k);
}

definition_cache *definition_cache_new(size_t shortest, size_t most)
{
    definition_cache *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    TAILQ_INIT(&c->list);
    c->shortest = shortest;
    c->most = most;
    return c;
}

void definition_cache_free(definition_cache *c)
{
    if (!c)
        return;
    while (!TAILQ_EMPTY(&c->list))
        drop(c, TAILQ_FIRST(&c->list));
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* The definition with this text, which then has one more user; NULL: it is not kept. Call it with the lock held. */
static const wire_study *find(definition_cache *c, const char *text, size_t size)
{
    kept *k;
    TAILQ_FOREACH (k, &c->list, link) {
        if (k->size != size || memcmp(k->text, text, size) != 0)
            continue;
        k->users++;
        TAILQ_REMOVE(&c->list, k, link);
        TAILQ_INSERT_HEAD(&c->list, k, link);
        return k->definition;
    }
    return NULL;
}

/* Makes room for a text, if the entries in use leave enough. Call it with the lock held. */
static bool make_room(definition_cache *c, size_t size)
{
    kept *k = TAILQ_LAST(&c->list, kept_list), *before;
    for (; k && size > c->most - c->bytes; k = before) {
        before = TAILQ_PREV(k, kept_list, link);
        if (k->users == 0)
            drop(c, k);
    }
    return size <= c->most - c->bytes;
}

/* An entry for a decoded definition, with one user. NULL: out of memory. */
static kept *new_entry(wire_study *definition, const char *text, size_t size)
{
    kept *k = calloc(1, sizeof *k);
    char *encoded = NULL;
    size_t encoded_size;
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_definition(&w, definition);
    bool fine = wire_writer_finish(&w, &encoded, &encoded_size);
    if (k && fine && (k->text = malloc(size + 1))) {
        memcpy(k->text, text, size + 1);
        k->size = size;
        k->users = 1;
        k->is_text =
            encoded_size == size && memcmp(encoded, text, size) == 0 && definition->n_learn_from == 0;
        k->definition = definition;
    } else {
        free(k);
        k = NULL;
    }
    free(encoded);
    return k;
}

store_status definition_cache_read(const wire_study **out, definition_cache *c, const char *text)
{
    wire_study *definition = NULL;
    size_t size = strlen(text);
    bool long_enough = c && size >= c->shortest && size <= c->most;
    *out = NULL;
    if (long_enough) {
        pthread_mutex_lock(&c->lock);
        *out = find(c, text, size);
        pthread_mutex_unlock(&c->lock);
    }
    if (*out)
        return STORE_OK;
    store_status status = study_config_read(&definition, text);
    *out = definition;
    kept *made = status == STORE_OK && long_enough ? new_entry(definition, text, size) : NULL;
    if (!made)
        return status;
    pthread_mutex_lock(&c->lock);
    const wire_study *other = find(c, text, size); /* another thread may have been faster */
    if (other) {
        *out = other;
    } else if (make_room(c, size)) {
        TAILQ_INSERT_HEAD(&c->list, made, link);
        c->bytes += size;
        made = NULL;
    } else {
        made->definition = NULL; /* only the caller has it */
    }
    pthread_mutex_unlock(&c->lock);
    kept_free(made);
    return STORE_OK;
}

/* Call it with the lock held. */
static kept *entry_of(definition_cache *c, const wire_study *definition)
{
    kept *k;
    TAILQ_FOREACH (k, &c->list, link)
        if (k->definition == definition)
            return k;
    return NULL;
}

void definition_cache_release(definition_cache *c, const wire_study *definition)
{
    bool is_kept = false;
    if (c) {
        pthread_mutex_lock(&c->lock);
        kept *k = entry_of(c, definition);
        is_kept = k != NULL;
        if (k)
            k->users--;
        pthread_mutex_unlock(&c->lock);
    }
    if (!is_kept)
        wire_study_free((wire_study *)(uintptr_t)definition);
}

bool definition_cache_is_text(definition_cache *c, const wire_study *definition)
{
    if (!c)
        return false;
    pthread_mutex_lock(&c->lock);
    const kept *k = entry_of(c, definition);
    bool is_text = k && k->is_text;
    pthread_mutex_unlock(&c->lock);
    return is_text;
}
