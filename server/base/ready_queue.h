/* What waits for its turn, by virtual time: the smallest key first, of equal ones the one that came first. A pairing
 * heap that is linked through its entries: adding takes no memory, and constant time; taking, O(log n) amortized. */
#ifndef SERVER_BASE_READY_QUEUE_H
#define SERVER_BASE_READY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in its owner, and in one queue at most. */
typedef struct ready_entry {
    double key;
    uint64_t number; /* the queue's: in order of arrival */
    struct ready_entry *child, *next;
} ready_entry;

/* {0}: empty. */
typedef struct ready_queue {
    ready_entry *first; /* NULL: none */
    size_t n;
    uint64_t arrivals;
} ready_queue;

void ready_queue_add(ready_queue *q, ready_entry *entry, double key);

/* The first entry, which leaves the queue; NULL: none. */
ready_entry *ready_queue_take(ready_queue *q);

#endif
