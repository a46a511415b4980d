#include "proto/config_file.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

typedef struct reading {
    size_t last_line, n;
} reading;

static bool take(void *arg, const char *name, const char *value, size_t line, wire_errors *errors)
{
    reading *r = arg;
    size_t n = strlen(value);
    (void)errors;
    HOLDS(line > r->last_line);
    HOLDS(*name != '\0');
    for (const char *c = name; *c; c++)
        HOLDS(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-');
    HOLDS(n == 0 || (!isblank((unsigned char)value[0]) && !isblank((unsigned char)value[n - 1])));
    HOLDS(!strpbrk(value, "\r\n"));
    r->last_line = line;
    r->n++;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire_errors errors = {0};
    reading r = {0};
    char *text = malloc(size + 1);
    HOLDS(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    wire_status status = wire_read_settings(text, size, take, &r, &errors);
    check_problems(status, status == WIRE_OK, &errors);
    HOLDS(status == WIRE_OK || strncmp(errors.items[0].detail, "line ", 5) == 0);
    wire_errors_clear(&errors);
    free(text);
    return 0;
}
