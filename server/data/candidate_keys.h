/* Keys of candidates, read from the store and written to it. */
#ifndef SERVER_DATA_CANDIDATE_KEYS_H
#define SERVER_DATA_CANDIDATE_KEYS_H

#include "proto/keys.h"
#include "server/store/store.h"

typedef struct candidate_key {
    char text[WIRE_MAX_KEY + 1]; /* "": the candidate has no key */
} candidate_key;

/* Reads the keys of n candidates, in the order of `indices`. has_keys: the study has keys; otherwise nothing is
 * read. */
store_status candidate_keys_at(candidate_key *out, store *s, int64_t study, bool has_keys,
                               const int64_t *indices, size_t n, store_error *err);

/* Finds the numbers of the candidates with these keys; out: keys->n numbers. For a key that no candidate has, the
 * number is −1, and *errors lists the key at "/keys/0" and so on. */
store_status candidate_keys_find(int64_t *out, store *s, int64_t study, const wire_keys *keys,
                                 wire_errors *errors, store_error *err);

/* Sets *same: do the candidates first, first + 1, … have exactly these keys, and the candidates after them none? */
store_status candidate_keys_compare(bool *same, store *s, int64_t study, int64_t first, const wire_keys *keys,
                                    store_error *err);

/* Calls `record` with events that give these keys to the candidates from `first` on. Each event has a few hundred keys,
 * because an entry of the log is read as a whole. */
typedef store_status candidate_keys_event(void *arg, const store_event *event);
store_status candidate_keys_record(int64_t first, const wire_keys *keys, int64_t time,
                                   candidate_keys_event *record, void *arg);

#endif
