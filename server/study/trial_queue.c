#include "server/study/trial_queue.h"

#include <search.h>
#include <stdlib.h>

TAILQ_HEAD(list, trial);

struct trial_queue {
    void *by_id; /* tsearch tree of trial */
    struct list lists[TRIAL_LISTS];
    size_t n_open;
    int64_t next_expiry;
};

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

/* The first queued trial that t goes before; NULL: none. */
static trial *first_after(const struct list *queued, const trial *t)
{
    for (trial *other = TAILQ_FIRST(queued); other; other = TAILQ_NEXT(other, link)) {
        if (goes_before(t, other))
            return other;
    }
    return NULL;
}

/* The last queued trial that t does not go before; NULL: none. */
static trial *last_before(const struct list *queued, const trial *t)
{
    for (trial *other = TAILQ_LAST(queued, list); other; other = TAILQ_PREV(other, list, link)) {
        if (!goes_before(t, other))
            return other;
    }
    return NULL;
}

/* Picks are numbered as they are queued, so a search from the end finds their place at once. The places of
 * the others are near the head. */
static void insert_queued(struct list *queued, trial *t)
{
    if (place_in_queue(t) < PLACE_OF_PICKS) {
        trial *after = first_after(queued, t);
        if (after)
            TAILQ_INSERT_BEFORE(after, t, link);
        else
            TAILQ_INSERT_TAIL(queued, t, link);
        return;
    }
    trial *before = last_before(queued, t);
    if (before)
        TAILQ_INSERT_AFTER(queued, before, t, link);
    else
        TAILQ_INSERT_HEAD(queued, t, link);
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

void trial_queue_take(trial_queue *q, trial *t)
{
    TAILQ_REMOVE(list_of(q, t), t, link);
    if (trial_is_open(t))
        q->n_open--;
}

void trial_queue_put(trial_queue *q, trial *t)
{
    struct list *list = list_of(q, t);
    if (list == &q->lists[TRIALS_QUEUED])
        insert_queued(list, t);
    else
        TAILQ_INSERT_TAIL(list, t, link);
    if (trial_is_open(t))
        q->n_open++;
    if (t->state == TRIAL_PENDING && t->lease_expires_at < q->next_expiry)
        q->next_expiry = t->lease_expires_at;
}

bool trial_queue_add(trial_queue *q, trial *t)
{
    if (!tsearch(t, &q->by_id, compare_trials)) {
        trial_free(t);
        return false;
    }
    trial_queue_put(q, t);
    return true;
}

void trial_queue_drop(trial_queue *q, trial *t)
{
    trial_queue_take(q, t);
    tdelete(t, &q->by_id, compare_trials);
    trial_free(t);
}

static void empty(trial_queue *q)
{
    q->by_id = NULL;
    for (int i = 0; i < TRIAL_LISTS; i++)
        TAILQ_INIT(&q->lists[i]);
    q->n_open = 0;
    q->next_expiry = INT64_MAX;
}

void trial_queue_clear(trial_queue *q)
{
    tdestroy(q->by_id, trial_free);
    empty(q);
}

trial_queue *trial_queue_new(void)
{
    trial_queue *q = malloc(sizeof *q);
    if (q)
        empty(q);
    return q;
}

void trial_queue_free(trial_queue *q)
{
    if (q)
        trial_queue_clear(q);
    free(q);
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

bool trial_queue_has(const trial_queue *q, trial_list list, size_t n)
{
    for (const trial *t = trial_queue_first(q, list); n > 0 && t; t = trial_queue_next(t))
        n--;
    return n == 0;
}

size_t trial_queue_open(const trial_queue *q)
{
    return q->n_open;
}

int64_t trial_queue_next_expiry(const trial_queue *q)
{
    return q->next_expiry;
}

void trial_queue_renew_expiry(trial_queue *q)
{
    const trial *t;
    q->next_expiry = INT64_MAX;
    TAILQ_FOREACH (t, &q->lists[TRIALS_PENDING], link)
        if (t->lease_expires_at < q->next_expiry)
            q->next_expiry = t->lease_expires_at;
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
