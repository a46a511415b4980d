#include "proto/config_file.h"
#include "proto/utf8.h"

#include <string.h>

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts the blanks at both ends. */
static char *trim(char *text, char *end)
{
    while (end > text && is_blank(end[-1]))
        end--;
    *end = '\0';
    while (is_blank(*text))
        text++;
    return text;
}

static wire_status malformed(wire_errors *errors, size_t line, const char *why)
{
    wire_errors_add(errors, "", "line %zu: %s", line, why);
    return WIRE_MALFORMED;
}

/* Reads one line, which ends at `end`. */
static wire_status read_line(char *text, char *end, size_t line, wire_setting *setting, void *arg,
                             wire_errors *errors)
{
    if (end > text && end[-1] == '\r')
        end--;
    for (const char *c = text; c < end; c++)
        if ((unsigned char)*c < ' ' && *c != '\t')
            return malformed(errors, line, "control characters are not allowed");
    for (const char *c = text; c < end;) {
        size_t n_bytes = wire_utf8_length(c, (size_t)(end - c));
        if (n_bytes == 0)
            return malformed(errors, line, "not valid UTF-8");
        c += n_bytes;
    }
    if (*text == '#')
        return WIRE_OK;
    text = trim(text, end);
    if (!*text)
        return WIRE_OK;
    char *equals = strchr(text, '=');
    if (!equals)
        return malformed(errors, line, "not of the form 'name = value'");
    char *value = trim(equals + 1, strchr(equals, '\0'));
    char *name = trim(text, equals);
    if (!*name || name[strspn(name, name_letters)])
        return malformed(errors, line, "the name before '=' must consist of a-z, 0-9 and '-'");
    return setting(arg, name, value, line, errors) ? WIRE_OK : WIRE_MALFORMED;
}

wire_status wire_read_settings(char *text, size_t n, wire_setting *setting, void *arg, wire_errors *errors)
{
    char *last = text + n;
    wire_status status = WIRE_OK;
    for (size_t line = 1; status == WIRE_OK && text < last; line++) {
        char *end = memchr(text, '\n', (size_t)(last - text));
        if (!end)
            end = last;
        status = read_line(text, end, line, setting, arg, errors);
        text = end + 1;
    }
    return status;
}
