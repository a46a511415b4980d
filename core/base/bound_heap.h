/* A heap of upper bounds over all arms: the largest first, of equal ones the lowest arm.
 *
 * One array holds, in this order: the heap; the arms popped from it since the last bandit_heap_push_popped,
 * the latest first; the arms set aside, out of the heap until they are brought back. Nothing is allocated. */
#ifndef CORE_BASE_BOUND_HEAP_H
#define CORE_BASE_BOUND_HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct bandit_heap_entry {
    double bound;
    uint32_t arm;
} bandit_heap_entry;

typedef struct bandit_heap {
    bandit_heap_entry *entries; /* n; the caller's */
    size_t n, size, n_aside;
} bandit_heap;

/* Makes the heap of entries[0 … n−1], in any order. */
void bandit_heap_init(bandit_heap *heap, bandit_heap_entry *entries, size_t n);

static inline size_t bandit_heap_popped(const bandit_heap *heap)
{
    return heap->n - heap->n_aside - heap->size;
}

/* Takes the top off a heap that is not empty. The entry may be changed in place, until the next call. */
bandit_heap_entry *bandit_heap_pop(bandit_heap *heap);

/* Sets the entry popped last aside. */
void bandit_heap_set_aside(bandit_heap *heap);

/* Puts all popped entries back. */
void bandit_heap_push_popped(bandit_heap *heap);

/* Brings back the arms set aside; nothing may be popped. */
void bandit_heap_push_aside(bandit_heap *heap);

#endif
