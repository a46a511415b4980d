/* A heap of trials: the one that goes before all others is at hand, and each can be removed, in logarithmic time.
 * trial_heap.c defines what is declared here. */
#ifndef SERVER_STUDY_TRIAL_HEAP_H
#define SERVER_STUDY_TRIAL_HEAP_H

#include "server/study/trial.h"

typedef bool trial_order(const trial *a, const trial *b); /* does a go before b? A strict total order */

/* A trial is in at most one heap; what decides its order must not change while it is. */
typedef struct trial_heap {
    trial **items; /* each with its position in `place` */
    size_t n, capacity;
    trial_order *before;
} trial_heap;

bool trial_heap_reserve(trial_heap *h, size_t n); /* room for n trials; false: out of memory */
void trial_heap_free(trial_heap *h);              /* leaves it empty */

trial *trial_heap_first(const trial_heap *h);  /* NULL: it is empty */
void trial_heap_push(trial_heap *h, trial *t); /* there must be room */
void trial_heap_remove(trial_heap *h, trial *t);

#endif
