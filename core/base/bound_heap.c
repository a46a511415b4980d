#include "core/base/bound_heap.h"
#include "core/base/pause.h"

#include <assert.h>
#include <stdbool.h>

static bool before(const bandit_heap_entry *a, const bandit_heap_entry *b)
{
    return a->bound > b->bound || (a->bound == b->bound && a->arm < b->arm);
}

static void sift_down(bandit_heap_entry *entries, size_t size, size_t at)
{
    bandit_heap_entry moved = entries[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= size)
            break;
        if (child + 1 < size && before(&entries[child + 1], &entries[child]))
            child++;
        if (!before(&entries[child], &moved))
            break;
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = moved;
}

/* Adds entries[size], whatever it holds, to the heap. */
static void push_next(bandit_heap *heap)
{
    bandit_heap_entry *entries = heap->entries;
    size_t at = heap->size++;
    bandit_heap_entry moved = entries[at];
    while (at > 0 && before(&moved, &entries[(at - 1) / 2])) {
        entries[at] = entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    entries[at] = moved;
}

void bandit_heap_init(bandit_heap *heap, bandit_heap_entry *entries, size_t n)
{
    *heap = (bandit_heap){.entries = entries, .n = n, .size = n};
    for (size_t at = n / 2; at-- > 0;) {
        bandit_pause_at(at);
        sift_down(entries, n, at);
    }
}

bandit_heap_entry *bandit_heap_pop(bandit_heap *heap)
{
    assert(heap->size > 0);
    bandit_heap_entry top = heap->entries[0];
    heap->size--;
    heap->entries[0] = heap->entries[heap->size];
    heap->entries[heap->size] = top;
    if (heap->size > 1)
        sift_down(heap->entries, heap->size, 0);
    return &heap->entries[heap->size];
}

void bandit_heap_set_aside(bandit_heap *heap)
{
    assert(bandit_heap_popped(heap) > 0);
    /* Entries set aside are at the end of the array. The new one changes places with the entry just before
     * them. */
    size_t end = heap->n - ++heap->n_aside;
    bandit_heap_entry moved = heap->entries[end];
    heap->entries[end] = heap->entries[heap->size];
    heap->entries[heap->size] = moved;
}

void bandit_heap_push_popped(bandit_heap *heap)
{
    while (bandit_heap_popped(heap) > 0)
        push_next(heap);
}

void bandit_heap_push_aside(bandit_heap *heap)
{
    assert(bandit_heap_popped(heap) == 0);
    for (; heap->n_aside > 0; heap->n_aside--)
        push_next(heap);
}
