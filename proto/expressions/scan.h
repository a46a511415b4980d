/* The tokens of an expression. */
#ifndef PROTO_EXPRESSIONS_SCAN_H
#define PROTO_EXPRESSIONS_SCAN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME, /* also and, or, not, if, then, and functions */
    TOKEN_QUOTED_NAME,
    TOKEN_WORD,
    TOKEN_SIGN /* operators, parentheses, commas */
} token_kind;

typedef struct token {
    token_kind kind;
    size_t at, size;     /* bytes of the text */
    double number;       /* of a number */
    const char *problem; /* why the text is no token, or NULL */
} token;

/* The token that begins at byte `from` or after the blanks there. */
token scan_token(const char *text, size_t from);

/* Copies the content of a quoted name or a word, without quotes and escapes, to `out`, which has room for
 * size bytes. */
void scan_content(const char *text, const token *t, char *out);

/* Is the token this sign or word? */
bool scan_is(const char *text, const token *t, const char *what);

#endif
