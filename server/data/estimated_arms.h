/* The candidates whose value is only estimated, because their trials were stopped: the model knows them like others, but
 * they are never recommended. */
#ifndef SERVER_DATA_ESTIMATED_ARMS_H
#define SERVER_DATA_ESTIMATED_ARMS_H

#include "server/store/store.h"

typedef struct estimated_arms {
    uint32_t *list; /* n, ascending: one entry for each estimate */
    size_t n, capacity;
    bool no_memory;
} estimated_arms;

/* Reads the estimates up to a position of the log. *out is {0}; clear it in any case. */
store_status estimated_arms_read(estimated_arms *out, store *s, int64_t study, int64_t through_seq);
void estimated_arms_clear(estimated_arms *e);

/* Whether these are all results of the arm, which has `count`. */
bool estimated_arms_only(const estimated_arms *e, uint32_t arm, uint64_t count);

#endif
