/* The best value that a study has: reported for a trial, or imported. Only results that keep all bounds count, and with
 * several objectives there is none. */
#ifndef SERVER_DATA_BEST_VALUE_H
#define SERVER_DATA_BEST_VALUE_H

#include "proto/wire.h"
#include "server/store/store.h"

typedef struct best_value {
    bool given;
    int64_t trial;       /* 0: the value was imported */
    int64_t observation; /* of an imported value: its number, from 1 in the order of import */
    int64_t candidate;
    double value;
} best_value;

/* Compares *best with n imported values, whose numbers begin with `first`. Among equal values, the value of a trial is
 * the best; if there is none, the first imported one is. False: out of memory, or a recorded value is missing. */
bool best_value_compare(best_value *best, const wire_study *definition, int64_t first,
                        const store_observation *list, size_t n);

/* Compares *best with all imported values of the study. */
store_status best_value_compare_imported(best_value *best, store *s, int64_t study,
                                         const wire_study *definition, store_error *err);

#endif
