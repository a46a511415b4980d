/* Answers to requests for a series, so that many viewers of a study have it read once for each change. Any thread. */
#ifndef SERVER_DATA_SERIES_CACHE_H
#define SERVER_DATA_SERIES_CACHE_H

#include <stddef.h>
#include <stdint.h>

typedef struct series_cache series_cache;

/* What an answer depends on. Every change of a study adds to its log; a log that lost its end, with the database of
 * another machine, has another time at the same length. */
typedef struct series_key {
    int64_t study, last_seq, updated_at; /* as in store_study */
    int64_t points;                      /* at most that many are shown */
    const char *metric;                  /* as requested; "": none was */
} series_key;

enum {
    SERIES_CACHE_BYTES = 8 << 20, /* what the server uses */
    SERIES_CACHE_ANSWERS = 1024   /* at most: all are looked through for each request */
};

/* Those that are kept have at most `most` bytes together, with their keys and what holds them. NULL: out of memory. */
series_cache *series_cache_new(size_t most);
void series_cache_free(series_cache *c); /* NULL is fine */

/* A copy of the text kept for the key, the caller's, with a NUL behind it. NULL: none is kept, or out of memory. */
char *series_cache_find(series_cache *c, const series_key *key, size_t *size);

/* Keeps a copy, in place of one of an earlier state of the study. Those that were used least give way. Without memory
 * it keeps nothing. */
void series_cache_keep(series_cache *c, const series_key *key, const char *text, size_t size);

#endif
