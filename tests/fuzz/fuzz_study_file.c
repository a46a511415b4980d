/* However the text is cut, what comes of it is the same, in its order; what has come as an entry is written
 * as a line that gives it again. */
#include "proto/study_file.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

typedef struct tally {
    bool opened;
    int64_t entries;
    size_t rows, numbers;
    uint64_t hash;
} tally;

static void mix(tally *t, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        t->hash = (t->hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static wire_status take_head(void *arg, const wire_file_head *head, wire_errors *errors)
{
    tally *t = arg;
    (void)errors;
    HOLDS(!t->opened && head->entries >= 1 && (head->candidates > 0) == (head->dimension > 0));
    t->opened = true;
    mix(t, head->study, strlen(head->study));
    return WIRE_OK;
}

static wire_status take_rows(void *arg, size_t n, size_t dimension, const double *rows, wire_errors *errors)
{
    tally *t = arg;
    (void)errors;
    HOLDS(t->opened && t->entries == 0 && n > 0 && dimension > 0);
    t->rows += n;
    mix(t, rows, n * dimension * sizeof *rows);
    return WIRE_OK;
}

static wire_status take_again(void *arg, int64_t seq, int64_t time, const char *type, const char *payload,
                              wire_errors *errors)
{
    (void)seq;
    (void)errors;
    mix(arg, &time, sizeof time);
    mix(arg, type, strlen(type));
    mix(arg, payload, strlen(payload));
    return WIRE_OK;
}

/* The entry alone in a file of its own. */
static uint64_t written_again(int64_t time, const char *type, const char *payload)
{
    static const wire_file_sink sink = {.head = take_head, .rows = take_rows, .entry = take_again};
    const wire_file_head head = {.program = "p", .study = "s", .entries = 1};
    tally t = {0}, first;
    char *text;
    size_t size;
    wire_errors errors = {0};
    wire_file_reader *r;
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_file_head(&w, &head);
    wire_encode_file_entry(&w, 1, time, type, payload);
    wire_encode_file_end(&w, 1);
    HOLDS(wire_writer_finish(&w, &text, &size));
    HOLDS(wire_file_reader_new(&r, &sink, &t) == WIRE_OK);
    HOLDS(wire_file_reader_feed(r, text, size, &errors) == WIRE_OK);
    HOLDS(wire_file_reader_finish(r, &errors) == WIRE_OK);
    wire_file_reader_free(r);
    free(text);
    first = (tally){0};
    mix(&first, "s", 1);
    take_again(&first, 1, time, type, payload, &errors);
    HOLDS(first.hash == t.hash);
    return t.hash;
}

static wire_status take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload,
                              wire_errors *errors)
{
    tally *t = arg;
    (void)errors;
    HOLDS(seq == ++t->entries && time >= 0 && *payload);
    uint64_t hash = written_again(time, type, payload);
    mix(t, &hash, sizeof hash);
    return WIRE_OK;
}

static wire_status read_chunks(tally *t, wire_errors *errors, const uint8_t *data, size_t size, size_t chunk)
{
    static const wire_file_sink sink = {.head = take_head, .rows = take_rows, .entry = take_entry};
    wire_file_reader *r;
    HOLDS(wire_file_reader_new(&r, &sink, t) == WIRE_OK);
    wire_status status = WIRE_OK;
    for (size_t at = 0; at < size && status == WIRE_OK; at += chunk)
        status =
            wire_file_reader_feed(r, (const char *)data + at, size - at < chunk ? size - at : chunk, errors);
    if (status == WIRE_OK)
        status = wire_file_reader_finish(r, errors);
    check_problems(status, status == WIRE_OK, errors);
    HOLDS(status != WIRE_OK || (t->opened && t->entries > 0));
    wire_file_reader_free(r);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tally whole = {0}, cut = {0};
    wire_errors errors = {0}, other = {0};
    wire_status status = read_chunks(&whole, &errors, data, size, size ? size : 1);
    HOLDS(read_chunks(&cut, &other, data, size, 5) == status);
    HOLDS(whole.hash == cut.hash && whole.entries == cut.entries && whole.rows == cut.rows);
    wire_errors_clear(&errors);
    wire_errors_clear(&other);
    return 0;
}
