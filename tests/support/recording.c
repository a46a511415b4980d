#include "tests/support/recording.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIVIDER "---"

struct recording {
    const char *path;
    bool writes, past_settings;
    FILE *file;
    char *line; /* the last one read, without its end; of getline */
    size_t capacity, number;
    char *kept; /* writes: the settings as they were and what has been seen */
    size_t n_kept;
    FILE *into; /* kept */
};

static bool next_line(recording *r)
{
    ssize_t length = getline(&r->line, &r->capacity, r->file);
    if (length < 0)
        return false;
    if (length > 0 && r->line[length - 1] == '\n')
        r->line[length - 1] = '\0';
    r->number++;
    return true;
}

recording *recording_open(const char *path, bool writes, const char *by)
{
    recording *r = calloc(1, sizeof *r);
    assert_non_null(r);
    *r = (recording){.path = path, .writes = writes, .file = fopen(path, "r")};
    if (!r->file)
        fail_msg("%s cannot be read", path);
    if (writes) {
        r->into = open_memstream(&r->kept, &r->n_kept);
        assert_non_null(r->into);
        while (next_line(r) && strcmp(r->line, DIVIDER) != 0)
            fprintf(r->into, "%s\n", r->line);
        fprintf(r->into, DIVIDER "\nrecorded by %s\n", by);
        rewind(r->file);
        r->number = 0;
    }
    return r;
}

const char *recording_setting(recording *r, const char **words)
{
    while (next_line(r)) {
        if (strcmp(r->line, DIVIDER) == 0) {
            if (!r->writes && (!next_line(r) || strncmp(r->line, "recorded by ", 12) != 0))
                fail_msg("%s: nothing has been recorded yet", r->path);
            r->past_settings = true;
            return NULL;
        }
        if (r->line[0] == '#' || r->line[0] == '\0')
            continue;
        char *space = strchr(r->line, ' ');
        if (space)
            *space = '\0';
        *words = space ? space + 1 : r->line + strlen(r->line);
        return r->line;
    }
    if (!r->writes)
        fail_msg("%s: nothing has been recorded yet", r->path);
    r->past_settings = true;
    return NULL;
}

void recording_refuse(const recording *r, const char *why)
{
    fail_msg("%s:%zu: \"%s\": %s", r->path, r->number, r->line, why);
}

/* The values recorded under this name in the next line. */
static const char *recorded(recording *r, const char *name)
{
    size_t length = strlen(name);
    assert_true(r->past_settings);
    if (!next_line(r))
        fail_msg("%s ends where there is a \"%s\" now", r->path, name);
    if (strncmp(r->line, name, length) != 0 || (r->line[length] != ' ' && r->line[length] != '\0'))
        fail_msg("%s:%zu: recorded is \"%s\" where there is a \"%s\" now", r->path, r->number, r->line, name);
    return r->line + length + (r->line[length] == ' ');
}

void recording_words(recording *r, const char *name, const char *words)
{
    if (r->writes) {
        fprintf(r->into, *words ? "%s %s\n" : "%s%s\n", name, words);
        return;
    }
    const char *then = recorded(r, name);
    if (strcmp(then, words) != 0)
        fail_msg("%s:%zu: %s is \"%s\", recorded is \"%s\"", r->path, r->number, name, words, then);
}

void recording_counts(recording *r, const char *name, const uint64_t *values, size_t n)
{
    char *text = NULL;
    size_t length = 0;
    FILE *into = open_memstream(&text, &length);
    assert_non_null(into);
    for (size_t i = 0; i < n; i++)
        fprintf(into, i ? " %llu" : "%llu", (unsigned long long)values[i]);
    fclose(into);
    recording_words(r, name, text);
    free(text);
}

void recording_count(recording *r, const char *name, uint64_t value)
{
    recording_counts(r, name, &value, 1);
}

static bool is_near(double now, double then, double relative, double size)
{
    if (isnan(now) || isnan(then))
        return isnan(now) && isnan(then);
    return now == then || fabs(now - then) <= relative * fmax(fabs(then), size);
}

void recording_reals(recording *r, const char *name, const double *values, size_t n, double relative,
                     double size)
{
    if (r->writes) {
        fputs(name, r->into);
        for (size_t i = 0; i < n; i++)
            fprintf(r->into, " %.8g", values[i]);
        fputc('\n', r->into);
        return;
    }
    const char *at = recorded(r, name);
    for (size_t i = 0; i < n; i++) {
        char *end;
        double then = strtod(at, &end);
        if (end == at)
            fail_msg("%s:%zu: %s has %zu values, recorded are %zu", r->path, r->number, name, n, i);
        if (!is_near(values[i], then, relative, size))
            fail_msg("%s:%zu: value %zu of %s is %.17g, recorded is %.17g", r->path, r->number, i, name,
                     values[i], then);
        at = end;
    }
    if (*at != '\0')
        fail_msg("%s:%zu: %s has %zu values, recorded are more", r->path, r->number, name, n);
}

unsigned char *recording_stored(recording *r, const char *name, const unsigned char *bytes, size_t *n)
{
    const char *hex = r->writes ? NULL : recorded(r, name);
    size_t length = hex ? strlen(hex) / 2 : *n;
    unsigned char *out = malloc(length + 1);
    assert_non_null(out);
    if (!hex) {
        fprintf(r->into, "%s ", name);
        for (size_t i = 0; i < length; i++)
            fprintf(r->into, "%02x", bytes[i]);
        fputc('\n', r->into);
        memcpy(out, bytes, length);
    }
    for (size_t i = 0; i < length && hex; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            fail_msg("%s:%zu: these are no bytes", r->path, r->number);
        out[i] = (unsigned char)byte;
    }
    *n = length;
    return out;
}

void recording_close(recording *r)
{
    if (r->writes) {
        assert_int_equal(fclose(r->into), 0);
        FILE *file = fopen(r->path, "w");
        if (!file || fwrite(r->kept, 1, r->n_kept, file) != r->n_kept || fclose(file) != 0)
            fail_msg("%s cannot be written", r->path);
    } else if (next_line(r)) {
        fail_msg("%s:%zu: recorded is \"%s\" where there is nothing more now", r->path, r->number, r->line);
    }
    fclose(r->file);
    free(r->kept);
    free(r->line);
    free(r);
}
