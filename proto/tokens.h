/* Tokens in the API. Rules of decoding: proto/wire.h. */
#ifndef PROTO_TOKENS_H
#define PROTO_TOKENS_H

#include "proto/wire.h"

#define WIRE_MAX_TOKEN_LIFETIME 315360000 /* s: ten years */

/* POST /v1/tokens */
typedef struct wire_new_token {
    char *role;                    /* "viewer", "worker", "editor" or "admin" */
    char *study;                   /* NULL: all */
    char *description;             /* NULL: none */
    wire_integer lifetime_seconds; /* not given: never expires */
} wire_new_token;

wire_status wire_decode_new_token(wire_new_token **out, const char *body, size_t size, wire_errors *errors);
void wire_new_token_free(wire_new_token *token);

/* A token in a response. */
typedef struct wire_token {
    const char *id, *role;
    const char *study; /* "": all */
    const char *description;
    int64_t created_at, expires_at; /* ms; expires_at 0: never */
    const char *text;               /* what its owner sends, shown once when it is created; NULL */
} wire_token;

void wire_encode_token(wire_writer *w, const wire_token *token);

/* GET /v1/whoami: the caller and its token. */
typedef struct wire_caller {
    const char *role;
    const char *study;  /* "": all */
    const char *name;   /* the token's description; NULL: none */
    int64_t expires_at; /* ms; 0: never */
} wire_caller;

/* Every member is in the response; what does not apply is null. */
void wire_encode_caller(wire_writer *w, const wire_caller *caller);

#endif
