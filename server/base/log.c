#include "server/base/log.h"
#include "proto/json_writer.h"
#include "server/base/clock.h"
#include "server/base/log_queue.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static log_level threshold = LOG_INFO;
static bool as_json;

bool log_level_parse(log_level *out, const char *name)
{
    for (int i = 0; i <= LOG_DEBUG; i++)
        if (strcmp(name, level_names[i]) == 0) {
            *out = (log_level)i;
            return true;
        }
    return false;
}

void log_configure(log_level level, bool json)
{
    threshold = level;
    as_json = json;
}

bool log_enabled(log_level level)
{
    return level <= threshold;
}

const char *log_format(const char *format, ...)
{
    static _Thread_local char buffers[8][256];
    static _Thread_local unsigned next;
    char *buffer = buffers[next++ % 8];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffers[0], format, args);
    va_end(args);
    return buffer;
}

/* U+0080 to U+009F: terminals interpret some of these as commands. */
static bool is_second_control(const char *c)
{
    return (unsigned char)c[0] == 0xc2 && (unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xa0;
}

/* Can the value be written without quotes, so that a reader can split the line at blanks? */
static bool is_plain(const char *value)
{
    if (!*value)
        return false;
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == '"' || *c == '=' || *c == '\\' || *c == 127 ||
            is_second_control(c))
            return false;
    return true;
}

static void text_pair(FILE *out, const char *key, const char *value)
{
    if (is_plain(value)) {
        fprintf(out, " %s=%s", key, value);
        return;
    }
    fprintf(out, " %s=\"", key);
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if ((unsigned char)*c < ' ' || *c == 127)
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        else if (is_second_control(c))
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*++c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

/* The line of an event, including its newline; NULL: out of memory. Free it with free(). */
static char *line_of(log_level level, const char *event, va_list args, size_t *size)
{
    char *line = NULL;
    char time[32];
    clock_format(clock_now(), time);
    if (as_json) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_object_begin(&w);
        wire_key(&w, "time");
        wire_string(&w, time);
        wire_key(&w, "level");
        wire_string(&w, level_names[level]);
        wire_key(&w, "event");
        wire_string(&w, event);
        for (const char *key; (key = va_arg(args, const char *));) {
            const char *value = va_arg(args, const char *);
            if (value) {
                wire_key(&w, key);
                wire_string(&w, value);
            }
        }
        wire_object_end(&w);
        char *object;
        if (wire_writer_finish(&w, &object, size)) {
            object[(*size)++] = '\n'; /* replaces the NUL, which is not needed: the line has a length */
            line = object;
        }
    } else {
        FILE *out = open_memstream(&line, size);
        if (out) {
            fprintf(out, "%s %s %s", time, level_names[level], event);
            for (const char *key; (key = va_arg(args, const char *));) {
                const char *value = va_arg(args, const char *);
                if (value)
                    text_pair(out, key, value);
            }
            fputc('\n', out);
            fclose(out);
        }
    }
    return line;
}

void log_event(log_level level, const char *event, ...)
{
    if (!log_enabled(level))
        return;
    size_t size = 0;
    va_list args;
    va_start(args, event);
    char *line = line_of(level, event, args, &size);
    va_end(args);
    if (line)
        log_queue_add(line, size);
}

static char *a_line_of(size_t *size, log_level level, const char *event, ...)
{
    va_list args;
    va_start(args, event);
    char *line = line_of(level, event, args, size);
    va_end(args);
    return line;
}

static char *dropped_line(uint64_t dropped, size_t *size)
{
    return a_line_of(size, LOG_WARN, "log_lines_dropped", "lines", log_format("%" PRIu64, dropped), NULL);
}

bool log_start(void)
{
    return log_queue_start(STDERR_FILENO, dropped_line);
}

void log_stop(void)
{
    log_queue_stop();
}

uint64_t log_lines_dropped(void)
{
    return log_queue_dropped();
}
