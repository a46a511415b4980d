/* Keeps answers to requests for a series, so that a study is read once per change, however many viewers it has. Any
 * thread. */
#ifndef SERVER_DATA_SERIES_CACHE_H
#define SERVER_DATA_SERIES_CACHE_H

#include <stddef.h>
#include <stdint.h>

typedef struct series_cache series_cache;

/* Everything that an answer depends on. Every change of a study adds to its log. A log that has lost its end
 * (another machine's copy of the database may lack it) has another time at the same length. */
typedef struct series_key {
    int64_t study, last_seq, updated_at; /* as in store_study */
    int64_t points;                      /* the most that are shown */
    const char *metric;                  /* as requested; "": none was */
} series_key;

enum {
    SERIES_CACHE_BYTES = 8 << 20, /* the server's value for `most` */
    SERIES_CACHE_ANSWERS = 1024   /* the most answers: each request searches all of them */
};

/* The kept answers have at most `most` bytes together, including their keys and entries. NULL: out of memory. */
series_cache *series_cache_new(size_t most);
void series_cache_free(series_cache *c); /* NULL is fine */

/* A copy of the text that is kept for the key, followed by a NUL. The caller frees it. NULL: none is kept, or out of
 * memory. */
char *series_cache_find(series_cache *c, const series_key *key, size_t *size);

/* Keeps a copy, in place of an answer for an earlier state of the study. If there is no room, the least recently used
 * answers are dropped. Keeps nothing if memory has run out. */
void series_cache_keep(series_cache *c, const series_key *key, const char *text, size_t size);

#endif
