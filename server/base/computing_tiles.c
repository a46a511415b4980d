/* for_each: a job's own thread and helpers take the tiles of the job. */
#include "server/base/computing_internal.h"

#include <assert.h>

static void unlink_tiles(struct computing *c, const computing_tiles *tiles)
{
    computing_tiles **link = &c->tiles;
    while (*link != tiles)
        link = &(*link)->next;
    *link = tiles->next;
}

/* Takes the next tile, which must exist, and runs it without the lock. */
static void run_tile(computing_thread *t, computing_tiles *tiles)
{
    struct computing *c = t->c;
    size_t index = tiles->taken++;
    if (tiles->taken == tiles->n)
        unlink_tiles(c, tiles);
    pthread_mutex_unlock(&c->lock);
    tiles->task(tiles->arg, index, t->worker);
    pthread_mutex_lock(&c->lock);
    if (++tiles->finished == tiles->n && tiles->caller != t)
        pthread_cond_signal(&tiles->caller->wake);
}

computing_tiles *computing_helpable(const struct computing *c)
{
    computing_tiles *tiles = c->tiles;
    while (tiles && tiles->caller->boss->n_workers == c->permits)
        tiles = tiles->next;
    return tiles;
}

void computing_begin_help(computing_thread *t, computing_tiles *tiles)
{
    computing_thread *boss = tiles->caller->boss;
    t->helps = tiles;
    t->boss = boss;
    t->account = boss->account;
    t->worker = 0;
    while (boss->workers[t->worker])
        t->worker++;
    boss->workers[t->worker] = true;
    boss->n_workers++;
}

/* Does the for_each that t helps with have tiles left? It may have ended, and another one may have its address. That
 * one is as good if it belongs to the same job, which does not end before t has left it. */
static bool has_tiles(const computing_thread *t)
{
    const computing_tiles *tiles = t->c->tiles;
    while (tiles && tiles != t->helps)
        tiles = tiles->next;
    return tiles && tiles->caller->boss == t->boss;
}

void computing_help(computing_thread *t)
{
    while (atomic_load(&t->c->n_waiting) == 0 && has_tiles(t)) {
        run_tile(t, t->helps);
        computing_yield(t);
    }
    t->helps = NULL;
    computing_release(t);
    t->boss->workers[t->worker] = false;
    t->boss->n_workers--;
    pthread_cond_signal(&t->boss->wake); /* its job may wait only for this */
}

static void for_each(void *context, size_t n, bandit_task *task, void *arg)
{
    struct computing *c = context;
    computing_thread *t = computing_self;
    assert(t && t->c == c);
    if (n <= 1) {
        if (n == 1)
            task(arg, 0, t->worker);
        bandit_pause();
        return;
    }
    computing_tiles tiles = {.task = task, .arg = arg, .n = n, .caller = t};
    pthread_mutex_lock(&c->lock);
    tiles.next = c->tiles;
    c->tiles = &tiles;
    computing_dispatch(c);
    while (tiles.taken < n) {
        run_tile(t, &tiles);
        computing_give_way(t);
    }
    if (tiles.finished < n) {
        computing_release(t);
        computing_dispatch(c);
        while (tiles.finished < n)
            pthread_cond_wait(&t->wake, &c->lock);
        computing_acquire(t);
    }
    pthread_mutex_unlock(&c->lock);
}

bandit_executor computing_executor(struct computing *c)
{
    return (bandit_executor){.for_each = for_each, .context = c, .workers = c->permits};
}
