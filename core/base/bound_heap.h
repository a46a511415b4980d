/* A heap of upper bounds over all arms: the largest first, and the lowest arm among equal ones.
 *
 * One array holds, in this order: the heap; the arms popped from it since the last bandit_heap_push_popped,
 * the latest first; and the arms set aside, which stay out of the heap until they are brought back. Nothing
 * is allocated. */
#ifndef CORE_BASE_BOUND_HEAP_H
#define CORE_BASE_BOUND_HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct bandit_heap_entry {
    double bound;
    uint32_t arm;
} bandit_heap_entry;

typedef struct bandit_heap {
    bandit_heap_entry *entries; /* n; owned by the caller */
    size_t n, size, n_aside;
} bandit_heap;

/* Builds the heap of entries[0 … n−1], which may be in any order. */
void bandit_heap_init(bandit_heap *heap, bandit_heap_entry *entries, size_t n);

static inline size_t bandit_heap_popped(const bandit_heap *heap)
{
    return heap->n - heap->n_aside - heap->size;
}

/* Pops the top of a heap that is not empty. The entry may be changed in place until the next call. */
bandit_heap_entry *bandit_heap_pop(bandit_heap *heap);

/* Sets the entry that was popped last aside. */
void bandit_heap_set_aside(bandit_heap *heap);

/* Returns all popped entries to the heap. */
void bandit_heap_push_popped(bandit_heap *heap);

/* Returns the arms set aside to the heap; there must be no popped entries. */
void bandit_heap_push_aside(bandit_heap *heap);

#endif
