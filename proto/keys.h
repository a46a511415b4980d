/* Keys of candidates: users' own names for them, such as a SMILES or a sample number. */
#ifndef PROTO_KEYS_H
#define PROTO_KEYS_H

#include "proto/wire.h"

#define WIRE_MAX_KEY 200 /* bytes */

/* A list of keys, one after another in one piece of memory. Starts as {0}. */
typedef struct wire_keys {
    char *text; /* each key, followed by NUL */
    size_t n_text, text_capacity;
    size_t *at; /* where each begins */
    size_t n, capacity;
} wire_keys;

/* What is wrong with the n bytes as a key; NULL: they can be one. */
const char *wire_key_problem(const char *text, size_t n);

/* Adds a key; "": this candidate has none. False: no memory. */
bool wire_keys_add(wire_keys *keys, const char *text, size_t n);
const char *wire_keys_at(const wire_keys *keys, size_t i);
bool wire_keys_are_empty(const wire_keys *keys); /* no key, or only "" */
void wire_keys_clear(wire_keys *keys);
void wire_keys_free(wire_keys *keys); /* also the struct itself; NULL is fine */

/* Finds a key that occurs twice: *second is the first place with a key that an earlier place has, *first is that
 * earlier place. WIRE_INVALID if there is one; WIRE_NO_MEMORY. */
wire_status wire_keys_find_repeated(const wire_keys *keys, size_t *first, size_t *second);

/* PUT …/candidates/keys: one key per line, an empty line for a candidate without one. Each problem is recorded with
 * its line. */
wire_status wire_read_key_lines(wire_keys *out, const char *body, size_t size, wire_errors *errors);
/* The same as JSON: {"keys": ["a", null, "b"]}. */
wire_status wire_decode_keys(wire_keys *out, const char *body, size_t size, wire_errors *errors);

/* {"keys": n}: how many candidates have one. */
void wire_encode_keys_answer(wire_writer *w, int64_t n);

#endif
