/* Statuses and errors of libbandit. One list defines the enum and its texts. */
#ifndef BANDIT_STATUS_H
#define BANDIT_STATUS_H

#define BANDIT_STATUS_LIST(X)                                                                                \
    X(BANDIT_OK, "ok")                                                                                       \
    X(BANDIT_NO_MEMORY, "out of memory")                                                                     \
    X(BANDIT_INVALID_OPTION, "invalid option")   /* error.field names it */                                  \
    X(BANDIT_INVALID_ARMS, "invalid candidates") /* non-finite feature, not positive semi-definite … */    \
    X(BANDIT_INVALID_STATE, "invalid stored state")                                                          \
    X(BANDIT_UNSUPPORTED, "not supported by this algorithm")                                                 \
    X(BANDIT_MEMORY_LIMIT, "would need more memory than allowed")                                            \
    X(BANDIT_NUMERICAL, "numerical breakdown")                                                               \
    X(BANDIT_CANCELLED, "cancelled") /* bandit_pause said so */

typedef enum bandit_status {
#define X(name, text) name,
    BANDIT_STATUS_LIST(X)
#undef X
} bandit_status;

/* What went wrong, for people. Every function that takes one fills it if it returns a status other than
 * BANDIT_OK, and otherwise leaves it unchanged. */
typedef struct bandit_error {
    bandit_status status;
    char field[48];    /* option at fault, as in the HTTP API ("lambda", "kernel/lengthscale"), or "" */
    char message[256]; /* without a final period */
} bandit_error;

/* The status's text; static. */
const char *bandit_status_text(bandit_status status);

/* Fills *err, if not NULL, from a printf format. */
void bandit_error_set(bandit_error *err, bandit_status status, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same, with the status as its value, so that callers can return it. It is a macro, so that an analyzer
 * sees which status is returned. */
#define bandit_fail(err, status, field, ...) (bandit_error_set(err, status, field, __VA_ARGS__), (status))

#endif
