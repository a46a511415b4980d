#include "proto/keys.h"

#include "proto/arrays.h"
#include "proto/utf8.h"

#include <stdlib.h>
#include <string.h>

const char *wire_key_problem(const char *text, size_t n)
{
    if (n == 0)
        return "must not be empty";
    if (n > WIRE_MAX_KEY)
        return "must have at most 200 bytes";
    if (text[0] == ' ' || text[n - 1] == ' ')
        return "must not begin or end with a blank";
    for (size_t i = 0, length; i < n; i += length) {
        length = wire_utf8_length(text + i, n - i);
        if (length == 0)
            return "is not UTF-8";
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return "must not have tabs, line breaks or other control characters";
    }
    return NULL;
}

bool wire_keys_add(wire_keys *keys, const char *text, size_t n)
{
    if (!wire_grow(&keys->text, &keys->text_capacity, keys->n_text + n + 1, 1024, 1) ||
        !wire_grow(&keys->at, &keys->capacity, keys->n + 1, 64, sizeof *keys->at))
        return false;
    keys->at[keys->n++] = keys->n_text;
    memcpy(keys->text + keys->n_text, text, n);
    keys->text[keys->n_text + n] = '\0';
    keys->n_text += n + 1;
    return true;
}

const char *wire_keys_at(const wire_keys *keys, size_t i)
{
    return keys->text + keys->at[i];
}

bool wire_keys_are_empty(const wire_keys *keys)
{
    return keys->n_text == keys->n;
}

void wire_keys_clear(wire_keys *keys)
{
    free(keys->text);
    free(keys->at);
    *keys = (wire_keys){0};
}

void wire_keys_free(wire_keys *keys)
{
    if (keys)
        wire_keys_clear(keys);
    free(keys);
}

/* Equal keys stay in their order, which is that of their places in memory. */
static int compare(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcmp(x, y);
    return order != 0 ? order : (x > y) - (x < y);
}

/* The place of a key that is in the list. */
static size_t place_of(const wire_keys *keys, const char *key)
{
    size_t place, offset = (size_t)(key - keys->text);
    BANDIT_LOWER_BOUND(place, keys->n, i, keys->at[i] < offset);
    return place;
}

wire_status wire_keys_find_repeated(const wire_keys *keys, size_t *first, size_t *second)
{
    const char **sorted = malloc((keys->n ? keys->n : 1) * sizeof *sorted);
    const char *repeated = NULL, *before = NULL;
    *first = *second = SIZE_MAX;
    if (!sorted)
        return WIRE_NO_MEMORY;
    for (size_t i = 0; i < keys->n; i++)
        sorted[i] = wire_keys_at(keys, i);
    qsort(sorted, keys->n, sizeof *sorted, compare);
    for (size_t i = 1; i < keys->n; i++)
        if (*sorted[i] && (!repeated || sorted[i] < repeated) && strcmp(sorted[i], sorted[i - 1]) == 0) {
            before = sorted[i - 1];
            repeated = sorted[i];
        }
    free(sorted);
    if (!repeated)
        return WIRE_OK;
    *first = place_of(keys, before);
    *second = place_of(keys, repeated);
    return WIRE_INVALID;
}

/* ---- lines -------------------------------------------------------------------------------------------- */

/* The end of the line's text; *next is the beginning of the next line. */
static const char *line_end(const char *line, const char *end, const char **next)
{
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    *next = stop ? stop + 1 : end;
    stop = stop ? stop : end;
    return stop > line && stop[-1] == '\r' ? stop - 1 : stop;
}

wire_status wire_read_key_lines(wire_keys *out, const char *body, size_t size, wire_errors *errors)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of byte order */
    const char *line = body, *end = body + size, *next;
    if (size >= 3 && memcmp(body, mark, 3) == 0)
        line += 3;
    for (; line < end; line = next) {
        const char *stop = line_end(line, end, &next);
        while (stop > line && stop[-1] == ' ')
            stop--;
        while (line < stop && *line == ' ')
            line++;
        const char *why = stop > line ? wire_key_problem(line, (size_t)(stop - line)) : NULL;
        if (why)
            wire_errors_add(errors, "", "line %zu: a key %s", out->n + 1, why);
        if (!wire_keys_add(out, line, why ? 0 : (size_t)(stop - line)))
            return WIRE_NO_MEMORY;
    }
    size_t first, second;
    wire_status status = wire_keys_find_repeated(out, &first, &second);
    if (status == WIRE_INVALID)
        wire_errors_add(errors, "", "line %zu: \"%s\" is already the key of line %zu", second + 1,
                        wire_keys_at(out, second), first + 1);
    if (errors->no_memory)
        return WIRE_NO_MEMORY;
    return errors->n > 0 ? WIRE_INVALID : status;
}
