/* A queue of entries that wait for their turns, ordered by virtual time: the smallest key first, and among equal keys
 * the one that came first. It is a pairing heap that is linked through its entries. Adding takes no memory and constant
 * time; taking is O(log n) amortized. */
#ifndef SERVER_BASE_READY_QUEUE_H
#define SERVER_BASE_READY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in its owner, and in one queue at most. */
typedef struct ready_entry {
    double key;
    uint64_t number; /* in order of arrival; set by the queue */
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
