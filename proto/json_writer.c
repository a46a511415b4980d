#include "proto/json_writer.h"

#include "proto/arrays.h"
#include "proto/shortest.h"
#include "proto/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and a NUL. */
static bool reserve(wire_writer *w, size_t n)
{
    if (w->failed)
        return false;
    if (n < w->capacity - w->size)
        return true;
    assert(n < SIZE_MAX - w->size); /* the texts in memory are shorter than this */
    w->failed = !wire_grow(&w->data, &w->capacity, w->size + n + 1, 256, 1);
    return !w->failed;
}

static void put(wire_writer *w, const char *bytes, size_t n)
{
    if (!reserve(w, n))
        return;
    memcpy(w->data + w->size, bytes, n);
    w->size += n;
}

static void put_char(wire_writer *w, char c)
{
    put(w, &c, 1);
}

/* Writes the comma before a value or a key. */
static void separate(wire_writer *w)
{
    if (w->comma)
        put_char(w, ',');
    w->comma = true;
}

static void value(wire_writer *w, const char *bytes, size_t n)
{
    separate(w);
    put(w, bytes, n);
}

void wire_object_begin(wire_writer *w)
{
    value(w, "{", 1);
    w->comma = false;
}

void wire_object_end(wire_writer *w)
{
    put_char(w, '}');
    w->comma = true;
}

void wire_array_begin(wire_writer *w)
{
    value(w, "[", 1);
    w->comma = false;
}

void wire_array_end(wire_writer *w)
{
    put_char(w, ']');
    w->comma = true;
}

void wire_key(wire_writer *w, const char *key)
{
    wire_string(w, key);
    put_char(w, ':');
    w->comma = false;
}

static void put_escape(wire_writer *w, unsigned char c)
{
    static const char short_form[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *p = short_form; *p; p += 2) {
        if ((unsigned char)p[0] == c) {
            put_char(w, '\\');
            put_char(w, p[1]);
            return;
        }
    }
    char long_form[8];
    int n = snprintf(long_form, sizeof long_form, "\\u%04x", c);
    put(w, long_form, (size_t)n);
}

void wire_string(wire_writer *w, const char *text)
{
    separate(w);
    put_char(w, '"');
    size_t n = strlen(text);
    size_t start = 0; /* of a run that can be copied unchanged */
    for (size_t i = 0; i < n;) {
        size_t length = wire_utf8_length(text + i, n - i);
        unsigned char c = (unsigned char)text[i];
        if (length > 0 && c >= 0x20 && c != '"' && c != '\\') {
            i += length;
            continue;
        }
        put(w, text + start, i - start);
        if (length == 0)
            put(w, "\xEF\xBF\xBD", 3); /* U+FFFD */
        else
            put_escape(w, c);
        start = ++i;
    }
    put(w, text + start, n - start);
    put_char(w, '"');
}

void wire_integer_value(wire_writer *w, int64_t number)
{
    char text[24] = "-";
    size_t sign = number < 0, n = shortest_integer(text + sign, sign ? -(uint64_t)number : (uint64_t)number);
    value(w, text, sign + n);
}

void wire_real(wire_writer *w, double number)
{
    assert(isfinite(number));
    char text[SHORTEST_MAX + 2];
    size_t n = shortest_text(text, number);
    if (!memchr(text, '.', n) && !memchr(text, 'e', n)) {
        /* A real stays a real for typed clients. */
        text[n++] = '.';
        text[n++] = '0';
    }
    value(w, text, n);
}

void wire_boolean(wire_writer *w, bool truth)
{
    if (truth)
        value(w, "true", 4);
    else
        value(w, "false", 5);
}

void wire_null(wire_writer *w)
{
    value(w, "null", 4);
}

/* The Gregorian date of a day counted from 1970-01-01. Years are counted from March here, so that a leap day is their
 * last one, and in cycles of 400 years (146 097 days). */
static void date_of_day(int64_t day, int *year, int *month, int *of_month)
{
    int64_t cycle = 146097, since = day + 719468; /* days from 0000-03-01 */
    int64_t cycles = (since >= 0 ? since : since - cycle + 1) / cycle;
    int of_cycle = (int)(since - cycles * cycle);
    int years = (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
    int of_year = of_cycle - (365 * years + years / 4 - years / 100);
    int from_march = (5 * of_year + 2) / 153;
    *of_month = of_year - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = (int)(400 * cycles) + years + (*month <= 2);
}

/* Writes n digits and the character after them. */
static char *put_digits(char *out, int number, int n, char after)
{
    for (int i = n; i-- > 0; number /= 10)
        out[i] = (char)('0' + number % 10);
    out[n] = after;
    return out + n + 1;
}

/* Does not use the C library, whose functions take 5000 instructions per time: every trial in an answer has times. */
void wire_time(wire_writer *w, int64_t milliseconds)
{
    /* RFC 3339 has four digits for the year; times outside that range are shown as its first or last
     * instant. */
    const int64_t first = -62167219200000; /* 0000-01-01T00:00:00.000Z */
    const int64_t last = 253402300799999;  /* 9999-12-31T23:59:59.999Z */
    const int64_t day = 86400000;
    if (milliseconds < first)
        milliseconds = first;
    if (milliseconds > last)
        milliseconds = last;
    int rest = (int)(milliseconds % day);
    if (rest < 0)
        rest += (int)day;
    int year, month, of_month;
    date_of_day((milliseconds - rest) / day, &year, &month, &of_month);
    char text[26], *end = text;
    *end++ = '"';
    end = put_digits(end, year, 4, '-');
    end = put_digits(end, month, 2, '-');
    end = put_digits(end, of_month, 2, 'T');
    end = put_digits(end, rest / 3600000, 2, ':');
    end = put_digits(end, rest / 60000 % 60, 2, ':');
    end = put_digits(end, rest / 1000 % 60, 2, '.');
    end = put_digits(end, rest % 1000, 3, 'Z');
    *end++ = '"';
    value(w, text, (size_t)(end - text));
}

void wire_raw(wire_writer *w, const char *json)
{
    value(w, json, strlen(json));
}

void wire_raw_members(wire_writer *w, const char *object)
{
    size_t n = strlen(object);
    if (n > 2)
        value(w, object + 1, n - 2);
}

void wire_cell(wire_writer *w, const char *text)
{
    separate(w);
    size_t n = strlen(text);
    bool blank_at_end =
        n > 0 && (text[0] == ' ' || text[n - 1] == ' ' || text[0] == '\t' || text[n - 1] == '\t');
    if (!blank_at_end && !strpbrk(text, ",\"\r\n")) {
        put(w, text, n);
        return;
    }
    put_char(w, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            put_char(w, '"');
        put_char(w, *c);
    }
    put_char(w, '"');
}

void wire_line_end(wire_writer *w)
{
    put_char(w, '\n');
    w->comma = false;
}

bool wire_writer_finish(wire_writer *w, char **out, size_t *size)
{
    *out = NULL;
    *size = 0;
    bool ok = reserve(w, 0);
    if (ok) {
        w->data[w->size] = '\0';
        *out = w->data;
        *size = w->size;
        w->data = NULL;
    }
    wire_writer_clear(w);
    return ok;
}

void wire_writer_clear(wire_writer *w)
{
    free(w->data);
    *w = (wire_writer)WIRE_WRITER_INIT;
}
