#include "server/study/trial_queue.h"

#include "server/study/trial_heap.h"

#include <search.h>
#include <stdlib.h>

TAILQ_HEAD(list, trial);

struct trial_queue {
    workers *workers;
    void *by_id; /* tsearch tree of trial */
    struct list lists[TRIAL_LISTS];
    trial_heap queued, leases; /* the queued and the pending trials; each heap has memory for all trials */
    size_t n, n_open;
    size_t bytes, open_bytes;
    size_t n_nameless; /* pending without a worker's name */
};

/* The queue's own memory for a trial: a node of the tree in a block of malloc, and a place in each heap. */
enum { NODE_BYTES = 4 * sizeof(void *) + 2 * sizeof(trial *) };

/* ---- by number ----------------------------------------------------------------------------------------- */

static int compare_trials(const void *a, const void *b)
{
    int64_t x = ((const trial *)a)->id, y = ((const trial *)b)->id;
    return (x > y) - (x < y);
}

trial *trial_queue_find(const trial_queue *q, int64_t id)
{
    trial key = {.id = id};
    trial **found = tfind(&key, &q->by_id, compare_trials);
    return found ? *found : NULL;
}

/* ---- the order of the queue ---------------------------------------------------------------------------- */

/* Places in the queue: released, requeued for another reason, proposed by a user, picked. */
enum { PLACE_OF_RELEASED, PLACE_OF_REISSUED, PLACE_OF_OWN, PLACE_OF_PICKS };

static int place_in_queue(const trial *t)
{
    if (t->requeued_at)
        return t->released ? PLACE_OF_RELEASED : PLACE_OF_REISSUED;
    return t->batch < 0 ? PLACE_OF_OWN : PLACE_OF_PICKS;
}

static bool goes_before(const trial *a, const trial *b)
{
    int x = place_in_queue(a), y = place_in_queue(b);
    if (x != y)
        return x < y;
    if (x != PLACE_OF_RELEASED)
        return a->id < b->id;
    return a->requeued_at > b->requeued_at || (a->requeued_at == b->requeued_at && a->id > b->id);
}

static bool expires_before(const trial *a, const trial *b)
{
    return a->lease_end < b->lease_end || (a->lease_end == b->lease_end && a->id < b->id);
}

/* ---- the lists ----------------------------------------------------------------------------------------- */

static struct list *list_of(trial_queue *q, const trial *t)
{
    if (t->joined_by)
        return &q->lists[TRIALS_JOINED];
    if (t->state == TRIAL_QUEUED)
        return &q->lists[TRIALS_QUEUED];
    return &q->lists[t->state == TRIAL_PENDING ? TRIALS_PENDING : TRIALS_REPORTED];
}

/* begin_lease is called when a trial becomes pending, end_lease when it no longer is. */
static void begin_lease(trial_queue *q, trial *t)
{
    trial_heap_push(&q->leases, t);
    if (t->holder)
        workers_hold(q->workers, t->holder, t);
    else
        q->n_nameless++;
}

static void end_lease(trial_queue *q, trial *t)
{
    trial_heap_remove(&q->leases, t);
    if (t->holder)
        workers_let_go(q->workers, t->holder, t);
    else
        q->n_nameless--;
}

void trial_queue_take(trial_queue *q, trial *t)
{
    struct list *list = list_of(q, t);
    TAILQ_REMOVE(list, t, link);
    if (list == &q->lists[TRIALS_QUEUED])
        trial_heap_remove(&q->queued, t);
    else if (list == &q->lists[TRIALS_PENDING])
        end_lease(q, t);
    q->bytes -= t->bytes;
    if (trial_is_open(t)) {
        q->open_bytes -= t->bytes;
        q->n_open--;
    }
}

void trial_queue_put(trial_queue *q, trial *t)
{
    struct list *list = list_of(q, t);
    TAILQ_INSERT_TAIL(list, t, link);
    if (list == &q->lists[TRIALS_QUEUED])
        trial_heap_push(&q->queued, t);
    else if (list == &q->lists[TRIALS_PENDING])
        begin_lease(q, t);
    t->bytes = trial_memory(t) + NODE_BYTES;
    q->bytes += t->bytes;
    if (trial_is_open(t)) {
        q->open_bytes += t->bytes;
        q->n_open++;
    }
}

static bool set_holder(trial_queue *q, trial *t)
{
    study_worker *holder = *t->worker ? workers_use(q->workers, t->worker) : NULL;
    if (*t->worker && !holder)
        return false;
    if (t->holder)
        workers_leave(q->workers, t->holder);
    t->holder = holder;
    return true;
}

bool trial_queue_set_worker(trial_queue *q, trial *t, const char *name)
{
    return text_replace(&t->worker, name) && set_holder(q, t);
}

bool trial_queue_add(trial_queue *q, trial *t)
{
    bool fine = trial_heap_reserve(&q->queued, q->n + 1) && trial_heap_reserve(&q->leases, q->n + 1) &&
                set_holder(q, t);
    if (!fine || !tsearch(t, &q->by_id, compare_trials)) {
        if (t->holder)
            workers_leave(q->workers, t->holder);
        trial_free(t);
        return false;
    }
    q->n++;
    trial_queue_put(q, t);
    return true;
}

/* Removes the trial from its list, and from its holder's. */
static void forget(trial_queue *q, trial *t)
{
    trial_queue_take(q, t);
    if (t->holder)
        workers_leave(q->workers, t->holder);
    q->n--;
}

void trial_queue_drop(trial_queue *q, trial *t)
{
    forget(q, t);
    tdelete(t, &q->by_id, compare_trials);
    trial_free(t);
}

void trial_queue_clear(trial_queue *q)
{
    for (int i = 0; i < TRIAL_LISTS; i++)
        for (trial *t; (t = TAILQ_FIRST(&q->lists[i]));)
            forget(q, t);
    tdestroy(q->by_id, trial_free);
    q->by_id = NULL;
    trial_heap_free(&q->queued);
    trial_heap_free(&q->leases);
}

trial_queue *trial_queue_new(workers *w)
{
    trial_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->workers = w;
    q->queued.before = goes_before;
    q->leases.before = expires_before;
    for (int i = 0; i < TRIAL_LISTS; i++)
        TAILQ_INIT(&q->lists[i]);
    return q;
}

void trial_queue_free(trial_queue *q)
{
    if (q)
        trial_queue_clear(q);
    free(q);
}

trial *trial_queue_head(const trial_queue *q)
{
    return trial_heap_first(&q->queued);
}

trial *trial_queue_first(const trial_queue *q, trial_list list)
{
    return TAILQ_FIRST(&q->lists[list]);
}

trial *trial_queue_next(const trial *t)
{
    return TAILQ_NEXT(t, link);
}

bool trial_queue_is_empty(const trial_queue *q, trial_list list)
{
    return TAILQ_EMPTY(&q->lists[list]);
}

size_t trial_queue_queued(const trial_queue *q)
{
    return q->queued.n;
}

size_t trial_queue_open(const trial_queue *q)
{
    return q->n_open;
}

size_t trial_queue_memory(const trial_queue *q)
{
    return q->bytes;
}

size_t trial_queue_open_memory(const trial_queue *q)
{
    return q->open_bytes;
}

size_t trial_queue_nameless(const trial_queue *q)
{
    return q->n_nameless;
}

trial *trial_queue_first_lease(const trial_queue *q)
{
    return trial_heap_first(&q->leases);
}

int64_t trial_queue_next_expiry(const trial_queue *q)
{
    const trial *t = trial_heap_first(&q->leases);
    return t ? t->lease_end : INT64_MAX;
}

void trial_queue_join(trial_queue *q, uint64_t write)
{
    for (trial *t = trial_queue_first(q, TRIALS_REPORTED), *next; t; t = next) {
        next = trial_queue_next(t);
        if (!t->joining)
            continue; /* reported after the plan of the batch was gathered */
        trial_queue_take(q, t);
        t->joining = false;
        t->joined_by = write;
        trial_queue_put(q, t);
    }
}

void trial_queue_drop_joined(trial_queue *q, uint64_t done)
{
    for (trial *t = trial_queue_first(q, TRIALS_JOINED), *next; t; t = next) {
        next = trial_queue_next(t);
        if (t->joined_by <= done)
            trial_queue_drop(q, t);
    }
}
