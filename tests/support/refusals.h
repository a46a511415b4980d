/* Tables of requests that a decoder refuses, each with the exact problem. */
#ifndef TESTS_SUPPORT_REFUSALS_H
#define TESTS_SUPPORT_REFUSALS_H

#include "proto/wire.h"

/* Decodes, frees what came out, and says that *out was NULL unless WIRE_OK. */
typedef wire_status decode_attempt(const char *body, size_t size, wire_errors *errors);

typedef struct refusal {
    const char *body; /* ' stands for " */
    const char *pointer, *detail;
} refusal;

/* Each body is WIRE_INVALID with that problem and no other; "unknown field" stands for that with any list
 * of the allowed ones. */
void check_refusals(decode_attempt *attempt, const refusal *cases, size_t n);
/* Each body is WIRE_OK. */
void check_accepted(decode_attempt *attempt, const char *const *bodies, size_t n);
/* What no decoder of JSON takes: not JSON, not an object, a member nobody knows. */
void check_common(decode_attempt *attempt);

/* A new string with " for '. */
char *with_quotes(const char *text);

#endif
