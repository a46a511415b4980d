#include "server/study/trial_heap.h"

#include "proto/arrays.h"

#include <assert.h>
#include <stdlib.h>

bool trial_heap_reserve(trial_heap *h, size_t n)
{
    return wire_grow(&h->items, &h->capacity, n, 1, sizeof(trial *));
}

void trial_heap_free(trial_heap *h)
{
    free(h->items);
    h->items = NULL;
    h->n = h->capacity = 0;
}

trial *trial_heap_first(const trial_heap *h)
{
    return h->n > 0 ? h->items[0] : NULL;
}

static void set(trial_heap *h, size_t place, trial *t)
{
    h->items[place] = t;
    t->place = place;
}

/* Places t at this position or closer to the root. */
static void rise(trial_heap *h, size_t place, trial *t)
{
    while (place > 0 && h->before(t, h->items[(place - 1) / 2])) {
        set(h, place, h->items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    set(h, place, t);
}

/* Places t at this position or further from the root. */
static void sink(trial_heap *h, size_t place, trial *t)
{
    for (size_t child; (child = 2 * place + 1) < h->n; place = child) {
        if (child + 1 < h->n && h->before(h->items[child + 1], h->items[child]))
            child++;
        if (!h->before(h->items[child], t))
            break;
        set(h, place, h->items[child]);
    }
    set(h, place, t);
}

void trial_heap_push(trial_heap *h, trial *t)
{
    assert(h->n < h->capacity);
    rise(h, h->n++, t);
}

void trial_heap_remove(trial_heap *h, trial *t)
{
    size_t place = t->place;
    assert(place < h->n && h->items[place] == t);
    trial *last = h->items[--h->n];
    if (last == t)
        return;
    if (place > 0 && h->before(last, h->items[(place - 1) / 2]))
        rise(h, place, last);
    else
        sink(h, place, last);
}
