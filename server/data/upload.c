#include "server/data/upload.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 20, DIGEST_BYTES = 32 };

struct upload {
    store *store;
    int64_t content;
    size_t count;
    crypto_generichash_state hash;
    char digest[2 * DIGEST_BYTES + 1]; /* "" until it is requested */
    bool kept;

    pthread_mutex_t lock; /* guards the members below */
    size_t on_their_way;
    bool freed; /* by its owner: the last block frees the memory */
    store_status status;
    size_t most;
    void (*settled)(void *arg);
    void *settled_arg;
};

size_t upload_rows_at_once(size_t dimension)
{
    size_t row = dimension * sizeof(double);
    return row >= BLOCK_BYTES ? 1 : BLOCK_BYTES / row;
}

store_status upload_new(upload **out, store *s)
{
    store_error error = {0};
    *out = NULL;
    upload *u = calloc(1, sizeof *u);
    if (!u)
        return STORE_NO_MEMORY;
    u->store = s;
    store_status status = store_upload_begin(s, &u->content, &error);
    if (status != STORE_OK) {
        free(u);
        return status;
    }
    pthread_mutex_init(&u->lock, NULL);
    crypto_generichash_init(&u->hash, NULL, 0, DIGEST_BYTES);
    *out = u;
    return STORE_OK;
}

static void destroy(upload *u)
{
    if (!u->kept)
        store_upload_abandon(u->store, u->content);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* On the writer thread: a block has been written, or has failed. */
static void block_done(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    upload *u = arg;
    void (*settled)(void *) = NULL;
    void *settled_arg = NULL;
    (void)study;
    (void)last_seq;
    pthread_mutex_lock(&u->lock);
    if (status != STORE_OK && u->status == STORE_OK)
        u->status = status;
    u->on_their_way--;
    if (u->settled && u->on_their_way <= u->most) {
        settled = u->settled;
        settled_arg = u->settled_arg;
        u->settled = NULL;
    }
    bool last = u->freed && u->on_their_way == 0;
    pthread_mutex_unlock(&u->lock);
    if (settled)
        settled(settled_arg); /* may free the upload */
    if (last)
        destroy(u);
}

store_status upload_rows(upload *u, size_t first, size_t n, size_t dimension, const double *rows)
{
    store_status status = upload_status(u);
    if (status != STORE_OK)
        return status;
    crypto_generichash_update(&u->hash, (const unsigned char *)rows, n * dimension * sizeof *rows);
    u->count = first + n;
    pthread_mutex_lock(&u->lock);
    u->on_their_way++;
    pthread_mutex_unlock(&u->lock);
    store_upload_append(u->store, u->content, (int64_t)first, n, dimension, rows, block_done, u);
    return STORE_OK;
}

void upload_wait(upload *u, size_t most, void (*settled)(void *arg), void *arg)
{
    pthread_mutex_lock(&u->lock);
    bool now = u->on_their_way <= most;
    if (!now) {
        u->most = most;
        u->settled = settled;
        u->settled_arg = arg;
    }
    pthread_mutex_unlock(&u->lock);
    if (now)
        settled(arg);
}

store_status upload_status(upload *u)
{
    pthread_mutex_lock(&u->lock);
    store_status status = u->status;
    pthread_mutex_unlock(&u->lock);
    return status;
}

size_t upload_count(const upload *u)
{
    return u->count;
}

const char *upload_digest(upload *u)
{
    if (!u->digest[0]) {
        unsigned char hash[DIGEST_BYTES];
        crypto_generichash_final(&u->hash, hash, sizeof hash);
        sodium_bin2hex(u->digest, sizeof u->digest, hash, sizeof hash);
    }
    return u->digest;
}

void upload_describe(upload *u, store_event *event)
{
    event->u.candidates.content = u->content;
    event->u.candidates.count = (int64_t)u->count;
    event->u.candidates.digest = upload_digest(u);
}

void upload_keep(upload *u)
{
    u->kept = true;
}

void upload_free(upload *u)
{
    if (!u)
        return;
    pthread_mutex_lock(&u->lock);
    bool last = u->on_their_way == 0;
    u->freed = !last;
    u->settled = NULL;
    pthread_mutex_unlock(&u->lock);
    if (last)
        destroy(u);
}
