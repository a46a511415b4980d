#include "proto/expressions/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes above 127 are parts of letters of other alphabets. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static size_t digits_from(const char *text, size_t at)
{
    while (is_digit(text[at]))
        at++;
    return at;
}

static token scan_number(const char *text, size_t at)
{
    enum { LONGEST = 60 };
    char copy[LONGEST + 1];
    size_t end = digits_from(text, at);
    if (text[end] == '.')
        end = digits_from(text, end + 1);
    if (text[end] == 'e' || text[end] == 'E') {
        size_t sign = text[end + 1] == '+' || text[end + 1] == '-' ? 1 : 0;
        if (is_digit(text[end + 1 + sign]))
            end = digits_from(text, end + 1 + sign);
    }
    token t = {.kind = TOKEN_NUMBER, .at = at, .size = end - at};
    if (t.size > LONGEST) {
        t.problem = "has too many digits";
        return t;
    }
    memcpy(copy, text + at, t.size);
    copy[t.size] = '\0';
    t.number = strtod(copy, NULL);
    if (!isfinite(t.number))
        t.problem = "is too large";
    return t;
}

/* In a word, a backslash stands before a quote or a backslash. */
static token scan_quoted(const char *text, size_t at, token_kind kind)
{
    char quote = text[at];
    token t = {.kind = kind, .at = at};
    size_t end = at + 1;
    while (text[end] != '\0' && text[end] != quote) {
        if (quote == '"' && text[end] == '\\' && (text[end + 1] == '"' || text[end + 1] == '\\'))
            end++;
        end++;
    }
    t.size = end - at + (text[end] == quote ? 1 : 0);
    if (text[end] != quote)
        t.problem = quote == '"' ? "has no closing quote" : "has no closing back quote";
    return t;
}

token scan_token(const char *text, size_t from)
{
    static const char *const pairs[] = {"<=", ">=", "!=", "=="};
    size_t at = from;
    while (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')
        at++;
    char c = text[at];
    token t = {.kind = TOKEN_END, .at = at};
    if (c == '\0')
        return t;
    if (is_digit(c) || (c == '.' && is_digit(text[at + 1])))
        return scan_number(text, at);
    if (c == '"' || c == '`')
        return scan_quoted(text, at, c == '"' ? TOKEN_WORD : TOKEN_QUOTED_NAME);
    if (is_letter(c)) {
        t.kind = TOKEN_NAME;
        while (is_letter(text[at + t.size]) || is_digit(text[at + t.size]))
            t.size++;
        return t;
    }
    t.kind = TOKEN_SIGN;
    t.size = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strncmp(text + at, pairs[i], 2) == 0)
            t.size = 2;
    }
    if (t.size == 1 && !strchr("+-*/^(),<>=", c))
        t.problem = "is not part of an expression";
    return t;
}

void scan_content(const char *text, const token *t, char *out)
{
    size_t n = 0, end = t->at + t->size;
    bool quoted = t->kind == TOKEN_WORD || t->kind == TOKEN_QUOTED_NAME;
    for (size_t i = t->at + quoted; i + quoted < end; i++) {
        if (t->kind == TOKEN_WORD && text[i] == '\\')
            i++;
        out[n++] = text[i];
    }
    out[n] = '\0';
}

bool scan_is(const char *text, const token *t, const char *what)
{
    return (t->kind == TOKEN_SIGN || t->kind == TOKEN_NAME) && strlen(what) == t->size &&
           strncmp(text + t->at, what, t->size) == 0;
}
