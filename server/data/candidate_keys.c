#include "server/data/candidate_keys.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The keys that are read, in the order of the requested candidates. */
typedef struct reading {
    candidate_key *out;
    const int64_t *indices;
    size_t n, at;
} reading;

static void take_key(void *arg, const store_key *key)
{
    reading *r = arg;
    while (r->at < r->n && r->indices[r->at] != key->candidate)
        r->at++;
    if (r->at < r->n)
        snprintf(r->out[r->at++].text, sizeof r->out->text, "%s", key->key);
}

store_status candidate_keys_at(candidate_key *out, store *s, int64_t study, bool has_keys,
                               const int64_t *indices, size_t n, store_error *err)
{
    reading r = {.out = out, .indices = indices, .n = n};
    for (size_t i = 0; i < n; i++)
        out[i].text[0] = '\0';
    return has_keys ? store_read_keys_at(s, study, indices, n, take_key, &r, err) : STORE_OK;
}

store_status candidate_keys_find(int64_t *out, store *s, int64_t study, const wire_keys *keys,
                                 wire_errors *errors, store_error *err)
{
    store_status status = STORE_OK;
    for (size_t i = 0; status == STORE_OK && i < keys->n; i++) {
        char pointer[40];
        snprintf(pointer, sizeof pointer, "/keys/%zu", i);
        status = store_find_key(s, study, wire_keys_at(keys, i), &out[i], err);
        if (status == STORE_OK && out[i] < 0)
            wire_errors_add(errors, pointer, "no candidate has the key \"%s\"", wire_keys_at(keys, i));
    }
    return status;
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

typedef struct comparing {
    const wire_keys *keys;
    int64_t first;
    size_t next; /* the first entry of `keys` that is not yet compared */
    bool same;
} comparing;

static void compare_key(void *arg, const store_key *key)
{
    comparing *c = arg;
    size_t place = (size_t)(key->candidate - c->first);
    while (c->next < c->keys->n && c->next < place)
        c->same &= !*wire_keys_at(c->keys, c->next++);
    c->same &= c->next < c->keys->n && strcmp(wire_keys_at(c->keys, c->next), key->key) == 0;
    c->next++;
}

store_status candidate_keys_compare(bool *same, store *s, int64_t study, int64_t first, const wire_keys *keys,
                                    store_error *err)
{
    comparing c = {.keys = keys, .first = first, .same = true};
    store_status status = store_read_keys(s, study, first, SIZE_MAX, compare_key, &c, err);
    while (c.next < keys->n)
        c.same &= !*wire_keys_at(keys, c.next++);
    *same = c.same;
    return status;
}

/* ---- recording ----------------------------------------------------------------------------------------- */

enum { KEYS_AT_ONCE = 500 };

store_status candidate_keys_record(int64_t first, const wire_keys *keys, int64_t time,
                                   candidate_keys_event *record, void *arg)
{
    store_status status = STORE_OK;
    for (size_t at = 0; status == STORE_OK && at < keys->n; at += KEYS_AT_ONCE) {
        const char *list[KEYS_AT_ONCE];
        size_t left = keys->n - at, n = left < KEYS_AT_ONCE ? left : KEYS_AT_ONCE;
        for (size_t i = 0; i < n; i++)
            list[i] = wire_keys_at(keys, at + i);
        store_event event = {.type = EVENT_CANDIDATES_KEYED, .time = time};
        event.u.keyed.first = first + (int64_t)at;
        event.u.keyed.keys = list;
        event.u.keyed.n = n;
        status = record(arg, &event);
    }
    return status;
}
