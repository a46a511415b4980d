#include "server/base/budget.h"

#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct account {
    char holder[BUDGET_HOLDER_SIZE];
    size_t held;
} account;

struct budget {
    pthread_mutex_t lock;
    void *accounts; /* tsearch tree of the holders that hold something */
    size_t used;
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const account *)a)->holder, ((const account *)b)->holder);
}

budget *budget_new(void)
{
    budget *b = calloc(1, sizeof *b);
    if (b)
        pthread_mutex_init(&b->lock, NULL);
    return b;
}

void budget_free(budget *b)
{
    if (!b)
        return;
    tdestroy(b->accounts, free);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static bool is_counted(const budget *b, const char *holder)
{
    return b && holder && *holder;
}

static void set_holder(account *a, const char *holder)
{
    size_t n = strnlen(holder, sizeof a->holder - 1);
    memcpy(a->holder, holder, n);
    a->holder[n] = '\0';
}

static account *find(const budget *b, const char *holder)
{
    account key;
    set_holder(&key, holder);
    account **found = tfind(&key, &b->accounts, compare);
    return found ? *found : NULL;
}

/* The holder's share of the total: half of the amount that the others leave, but at least one. */
static size_t share(const budget *b, const account *a, size_t total)
{
    size_t others = b->used - (a ? a->held : 0);
    size_t left = total > others ? total - others : 0;
    return left - left / 2;
}

/* Call it with the lock held. If there is no memory for an account, nothing is counted. That does little harm: the
 * holder had nothing, and the caller will soon notice that memory has run out. */
static void add(budget *b, account *a, const char *holder, size_t n)
{
    if (!a) {
        a = calloc(1, sizeof *a);
        if (!a)
            return;
        set_holder(a, holder);
        if (!tsearch(a, &b->accounts, compare)) {
            free(a);
            return;
        }
    }
    a->held += n;
    b->used += n;
}

static bool take(budget *b, const char *holder, size_t n, size_t total, size_t most)
{
    if (!is_counted(b, holder))
        return true;
    pthread_mutex_lock(&b->lock);
    account *a = find(b, holder);
    size_t held = a ? a->held : 0, limit = total < SIZE_MAX ? share(b, a, total) : most;
    bool room = held <= limit && n <= limit - held;
    if (room)
        add(b, a, holder, n);
    pthread_mutex_unlock(&b->lock);
    return room;
}

bool budget_take(budget *b, const char *holder, size_t n, size_t total)
{
    return take(b, holder, n, total, 0);
}

bool budget_take_at_most(budget *b, const char *holder, size_t n, size_t most)
{
    return take(b, holder, n, SIZE_MAX, most);
}

bool budget_has_room(budget *b, const char *holder, size_t total)
{
    if (!is_counted(b, holder))
        return true;
    pthread_mutex_lock(&b->lock);
    const account *a = find(b, holder);
    bool room = (a ? a->held : 0) < share(b, a, total);
    pthread_mutex_unlock(&b->lock);
    return room;
}

void budget_charge(budget *b, const char *holder, size_t n)
{
    budget_take_at_most(b, holder, n, SIZE_MAX);
}

void budget_give(budget *b, const char *holder, size_t n)
{
    if (n == 0 || !is_counted(b, holder))
        return;
    pthread_mutex_lock(&b->lock);
    account *a = find(b, holder);
    if (a) {
        n = n < a->held ? n : a->held; /* it is less if there was no memory to count it */
        a->held -= n;
        b->used -= n;
        if (a->held == 0) {
            tdelete(a, &b->accounts, compare);
            free(a);
        }
    }
    pthread_mutex_unlock(&b->lock);
}

size_t budget_used(budget *b)
{
    if (!b)
        return 0;
    pthread_mutex_lock(&b->lock);
    size_t used = b->used;
    pthread_mutex_unlock(&b->lock);
    return used;
}
