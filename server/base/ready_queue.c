#include "server/base/ready_queue.h"

static bool is_before(const ready_entry *a, const ready_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->number < b->number);
}

/* Joins two heaps; either may be NULL. */
static ready_entry *join(ready_entry *a, ready_entry *b)
{
    if (!a || !b)
        return a ? a : b;
    ready_entry *first = is_before(a, b) ? a : b, *second = first == a ? b : a;
    second->next = first->child;
    first->child = second;
    return first;
}

void ready_queue_add(ready_queue *q, ready_entry *entry, double key)
{
    *entry = (ready_entry){.key = key, .number = q->arrivals++};
    q->first = join(q->first, entry);
    q->n++;
}

ready_entry *ready_queue_take(ready_queue *q)
{
    ready_entry *taken = q->first, *pairs = NULL, *rest = NULL;
    if (!taken)
        return NULL;
    for (ready_entry *a = taken->child, *b; a; a = rest) { /* joins the children in pairs, … */
        b = a->next;
        rest = b ? b->next : NULL;
        a->next = NULL;
        if (b)
            b->next = NULL;
        ready_entry *pair = join(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    q->first = NULL;
    for (; pairs; pairs = rest) { /* … then the pairs, from the last one to the first */
        rest = pairs->next;
        pairs->next = NULL;
        q->first = join(q->first, pairs);
    }
    q->n--;
    taken->child = NULL;
    return taken;
}
