/* A queue of tasks that is fair between callers: it takes one task of each caller in turn, and the tasks of one caller
 * in order. However many tasks one caller has queued, the first task of another caller waits for at most one of them.
 *
 * Callers are numbers that are hashed to classes, and two callers may get the same class (stochastic fairness queueing,
 * P. McKenney, INFOCOM 1990). So nothing is allocated, and a class costs nothing while it is empty. */
#ifndef SERVER_BASE_FAIR_QUEUE_H
#define SERVER_BASE_FAIR_QUEUE_H

#include "server/base/pool.h"

#include <stdint.h>

enum { FAIR_CLASSES = 1024 };

typedef struct fair_class {
    pool_task *first, **last;
    struct fair_class *next; /* the class whose turn is next */
} fair_class;

/* Its owner guards it by a lock. */
typedef struct fair_queue {
    fair_class classes[FAIR_CLASSES];
    fair_class *first, **last; /* those that are not empty, in the order of their turns */
    size_t n;
} fair_queue;

void fair_queue_init(fair_queue *q);
void fair_queue_add(fair_queue *q, pool_task *task, uint64_t caller);
pool_task *fair_queue_take(fair_queue *q); /* NULL: it is empty */

#endif
