/* multipart/form-data. A part ends where the delimiter (a line break, "--" and the boundary) begins. The only CR of
 * the delimiter is its first byte, so after a mismatch the search continues at the byte that differed. */
#include "proto/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BOUNDARY_MAX = 70, LINE_MAX_BYTES = 2048, LINES_MAX = 32, NAME_BYTES = 1024, TYPE_BYTES = 64 };

struct wire_form_reader {
    const wire_form_sink *sink;
    void *arg;
    enum {
        FORM_BEFORE,    /* the first delimiter */
        FORM_DELIMITED, /* in the line of a delimiter */
        FORM_HEADERS,   /* in a line of a header */
        FORM_DATA,
        FORM_AFTER /* the last delimiter */
    } state;
    wire_status status; /* the first failure, which stays */
    char delimiter[BOUNDARY_MAX + 5];
    size_t n_delimiter, matched; /* bytes of it */
    char line[LINE_MAX_BYTES + 1];
    size_t n_line, n_lines; /* bytes of the line, headers of the part */
    bool named;
    char name[NAME_BYTES], file[NAME_BYTES], type[TYPE_BYTES]; /* of the part */
};

static wire_status refuse(wire_errors *errors, const char *why)
{
    wire_errors_add(errors, "", "the form cannot be read: %s", why);
    return WIRE_INVALID;
}

/* ---- headers ------------------------------------------------------------------------------------------ */

/* Copies a value, in quotes or not, up to its end. False: it is too long, or a quote is missing. */
static bool copy_value(const char *from, char *out, size_t size)
{
    size_t n = 0;
    bool quoted = *from == '"';
    from += quoted;
    while (*from && (quoted ? *from != '"' : !strchr("; \t", *from))) {
        from += quoted && *from == '\\' && (from[1] == '"' || from[1] == '\\');
        if (n + 1 == size)
            return false;
        out[n++] = *from++;
    }
    out[n] = '\0';
    return !quoted || *from == '"';
}

/* Finds a parameter of a header's value: `x` in `form-data; name=x`. False: there is none that can be read. */
static bool find_parameter(const char *value, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    bool quoted = false;
    for (const char *at = value; *at; at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (quoted && *at == '\\' && at[1])
            at++;
        if (quoted || *at != ';')
            continue;
        const char *found = at + 1 + strspn(at + 1, " \t");
        if (strncasecmp(found, name, n) == 0 && found[n] == '=')
            return copy_value(found + n + 1, out, size);
    }
    return false;
}

/* The value, if the line is a header of this name; otherwise NULL. */
static const char *header_value(const char *line, const char *name)
{
    size_t n = strlen(name);
    if (strncasecmp(line, name, n) != 0 || line[n] != ':')
        return NULL;
    return line + n + 1 + strspn(line + n + 1, " \t");
}

static void take_type(wire_form_reader *r, const char *value)
{
    size_t n = 0;
    for (; value[n] && !strchr("; \t", value[n]) && n + 1 < TYPE_BYTES; n++)
        r->type[n] = value[n] >= 'A' && value[n] <= 'Z' ? (char)(value[n] - 'A' + 'a') : value[n];
    r->type[n] = '\0';
}

/* Takes a line of the headers, without its line break. */
static wire_status take_header(wire_form_reader *r, wire_errors *errors)
{
    const char *disposition = header_value(r->line, "Content-Disposition");
    const char *type = header_value(r->line, "Content-Type");
    if (++r->n_lines > LINES_MAX)
        return refuse(errors, "a part has too many headers");
    if (disposition) {
        r->named = find_parameter(disposition, "name", r->name, sizeof r->name);
        if (!find_parameter(disposition, "filename", r->file, sizeof r->file))
            r->file[0] = '\0';
    } else if (type) {
        take_type(r, type);
    }
    return WIRE_OK;
}

static wire_status end_headers(wire_form_reader *r, wire_errors *errors)
{
    r->state = FORM_DATA;
    r->matched = 0;
    if (!r->named)
        return refuse(errors, "a part has no Content-Disposition with a name");
    return r->sink->part(r->arg, r->name, r->file, r->type, errors);
}

/* Takes a whole line that belongs to a delimiter or to the headers. */
static wire_status take_line(wire_form_reader *r, wire_errors *errors)
{
    size_t n = r->n_line;
    r->n_line = 0;
    r->line[n] = '\0';
    if (memchr(r->line, '\0', n))
        return refuse(errors, "a header has a NUL");
    if (r->state == FORM_HEADERS)
        return n > 0 ? take_header(r, errors) : end_headers(r, errors);
    if (strspn(r->line, " \t") != n)
        return refuse(errors, "text follows a delimiter in its line");
    r->state = FORM_HEADERS;
    r->named = false;
    r->n_lines = 0;
    r->name[0] = r->file[0] = r->type[0] = '\0';
    return WIRE_OK;
}

/* Takes a byte of the line of a delimiter, or of a header. */
static wire_status feed_line(wire_form_reader *r, char c, wire_errors *errors)
{
    if (c == '\n' && r->n_line > 0 && r->line[r->n_line - 1] == '\r') {
        r->n_line--;
        return take_line(r, errors);
    }
    if (r->n_line == LINE_MAX_BYTES)
        return refuse(errors, "a header is too long");
    r->line[r->n_line++] = c;
    if (r->state == FORM_DELIMITED && r->n_line == 2 && memcmp(r->line, "--", 2) == 0)
        r->state = FORM_AFTER;
    return WIRE_OK;
}

/* ---- data --------------------------------------------------------------------------------------------- */

static wire_status pass(const wire_form_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    return r->state == FORM_DATA && n > 0 ? r->sink->bytes(r->arg, bytes, n, errors) : WIRE_OK;
}

/* Takes bytes up to the end of a delimiter; *taken is how many. */
static wire_status feed_data(wire_form_reader *r, const char *bytes, size_t n, size_t *taken,
                             wire_errors *errors)
{
    size_t begin = 0, at = 0; /* bytes[begin … at) are data, not passed on yet */
    wire_status status = WIRE_OK;
    while (at < n && status == WIRE_OK && r->matched < r->n_delimiter) {
        if (bytes[at] == r->delimiter[r->matched]) {
            if (r->matched == 0)
                status = pass(r, bytes + begin, at - begin, errors);
            r->matched++;
            begin = ++at;
        } else if (r->matched > 0) { /* the matched bytes were data; look at this byte again */
            status = pass(r, r->delimiter, r->matched, errors);
            r->matched = 0;
        } else {
            const char *next = memchr(bytes + at, '\r', n - at);
            at = next ? (size_t)(next - bytes) : n;
        }
    }
    if (status == WIRE_OK)
        status = pass(r, bytes + begin, at - begin, errors);
    *taken = at;
    if (status != WIRE_OK || r->matched < r->n_delimiter)
        return status;
    status = r->state == FORM_DATA ? r->sink->end(r->arg, errors) : WIRE_OK;
    r->state = FORM_DELIMITED;
    r->n_line = 0;
    return status;
}

/* ---- the reader --------------------------------------------------------------------------------------- */

wire_status wire_form_reader_new(wire_form_reader **out, const char *content_type, const wire_form_sink *sink,
                                 void *arg, wire_errors *errors)
{
    char boundary[BOUNDARY_MAX + 1];
    *out = NULL;
    if (!find_parameter(content_type, "boundary", boundary, sizeof boundary) || !*boundary ||
        strchr(boundary, '\r'))
        return refuse(errors, "its Content-Type has no boundary of 1 to 70 characters");
    wire_form_reader *r = calloc(1, sizeof *r);
    if (!r)
        return WIRE_NO_MEMORY;
    r->sink = sink;
    r->arg = arg;
    r->n_delimiter = strlen(boundary) + 4;
    snprintf(r->delimiter, sizeof r->delimiter, "\r\n--%s", boundary);
    r->matched = 2; /* the first delimiter may be at the start, without a line break before it */
    *out = r;
    return WIRE_OK;
}

wire_status wire_form_reader_feed(wire_form_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    for (size_t at = 0; at < n && r->status == WIRE_OK && r->state != FORM_AFTER;) {
        size_t taken = 1;
        if (r->state == FORM_DELIMITED || r->state == FORM_HEADERS)
            r->status = feed_line(r, bytes[at], errors);
        else
            r->status = feed_data(r, bytes + at, n - at, &taken, errors);
        at += taken;
    }
    return r->status;
}

wire_status wire_form_reader_finish(wire_form_reader *r, wire_errors *errors)
{
    if (r->status == WIRE_OK && r->state != FORM_AFTER)
        r->status =
            refuse(errors, r->state == FORM_BEFORE ? "it does not have the boundary of its Content-Type"
                                                   : "it ends before its last delimiter");
    return r->status;
}

void wire_form_reader_free(wire_form_reader *r)
{
    free(r);
}
