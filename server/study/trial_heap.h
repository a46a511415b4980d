/* A heap of trials. The first trial is found in constant time; any trial can be removed in logarithmic time.
 * trial_heap.c defines what is declared here. */
#ifndef SERVER_STUDY_TRIAL_HEAP_H
#define SERVER_STUDY_TRIAL_HEAP_H

#include "server/study/trial.h"

typedef bool trial_order(const trial *a, const trial *b); /* whether a goes before b; a strict total order */

/* A trial is in at most one heap, and while it is, its order must not change. */
typedef struct trial_heap {
    trial **items; /* `place` of each trial is its index */
    size_t n, capacity;
    trial_order *before;
} trial_heap;

bool trial_heap_reserve(trial_heap *h, size_t n); /* memory for n trials; false: out of memory */
void trial_heap_free(trial_heap *h);              /* frees the memory, which leaves the heap empty */

trial *trial_heap_first(const trial_heap *h);  /* NULL if the heap is empty */
void trial_heap_push(trial_heap *h, trial *t); /* its memory must have been reserved */
void trial_heap_remove(trial_heap *h, trial *t);

#endif
