/* Reads the log twice: first to find its batches, then entry by entry into the rebuild. */
#include "server/replay/internal.h"

#include "proto/arrays.h"
#include "server/store/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_AT_ONCE = 64, ROW_BYTES = 1 << 20 };

void replay_fail(replaying *r, store_status status, const char *what)
{
    if (r->status)
        return;
    r->status = status;
    if (r->err->status == STORE_OK) {
        r->err->status = status;
        snprintf(r->err->message, sizeof r->err->message, "%s: %s", what, store_status_text(status));
    }
}

void replay_differs(replaying *r, int64_t seq, const char *format, ...)
{
    char text[400], line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(line, sizeof line, "log entry %lld: %s", (long long)seq, text);
    r->result->differences++;
    r->options->difference(r->options->arg, line);
}

/* ---- the log ------------------------------------------------------------------------------------------- */

static store_event *decode(replaying *r, int64_t seq, int64_t time, const char *type, const char *payload)
{
    store_event *event;
    store_error error = {0};
    store_status status = store_event_decode(&event, type, time, payload, &error);
    if (status == STORE_NO_MEMORY)
        replay_fail(r, status, "the log");
    else if (status)
        replay_differs(r, seq, "%s", error.message);
    return event;
}

static void note_batch(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    replaying *r = arg;
    bool extended = strcmp(type, store_event_name(EVENT_BATCH_EXTENDED)) == 0;
    if ((!extended && strcmp(type, store_event_name(EVENT_BATCH_PLANNED)) != 0) || r->status)
        return;
    store_event *event = decode(r, seq, time, type, payload);
    if (!event)
        return;
    if (!wire_grow(&r->batches, &r->capacity, r->n_batches + 1, 256, sizeof *r->batches)) {
        replay_fail(r, STORE_NO_MEMORY, "the batches");
        free(event);
        return;
    }
    int64_t through_seq = extended ? event->u.extended.through_seq : event->u.planned.through_seq;
    r->batches[r->n_batches++] =
        (planned_at){.seq = seq, .through_seq = extended && through_seq == 0 ? seq - 1 : through_seq};
    free(event);
}

static void plan_recorded(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    replaying *r = arg;
    store_event *event = decode(r, seq, time, type, payload);
    if (event)
        replay_plan_again(r, seq, event);
    free(event);
}

/* Replans the next batch if it was planned from exactly the entries read so far. */
static void plan_what_follows(replaying *r)
{
    int64_t known = r->result->entries;
    if (r->strayed || r->status || r->plan || r->next == r->n_batches ||
        r->batches[r->next].through_seq != known)
        return;
    store_status status =
        store_read_log(r->from, r->number, r->batches[r->next++].seq - 1, 1, plan_recorded, r, r->err);
    if (status)
        replay_fail(r, status, "the log");
}

/* Must the engine be reloaded after this event? The server does the same. */
static bool renews_engine(const store_event *event)
{
    return event->type == EVENT_CANDIDATES_SET || event->type == EVENT_CANDIDATES_ADDED ||
           event->type == EVENT_TRIAL_PROPOSED ||
           (event->type == EVENT_STUDY_CHANGED && event->u.changed.definition);
}

static void take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    replaying *r = arg;
    wire_errors errors = {0};
    if (r->status || seq > r->last_seq)
        return;
    store_event *event = decode(r, seq, time, type, payload);
    if (!event) {
        replay_fail(r, r->status ? r->status : STORE_CORRUPT, "the log");
        return;
    }
    if (event->type == EVENT_BATCH_PLANNED || event->type == EVENT_BATCH_EXTENDED) {
        if (r->plan) {
            replay_compare_plan(r, seq, event);
        } else if (!r->strayed && !r->status) {
            replay_differs(r, seq, "%s: the entry after which it was planned does not come before it", type);
            r->strayed = true;
        }
    }
    if (r->study && renews_engine(event))
        study_drop_engine(r->study);
    wire_status taken = rebuild_entry(r->rebuild, seq, time, type, payload, &errors);
    if (taken != WIRE_OK) {
        if (errors.n)
            replay_differs(r, seq, "%s", errors.items[0].detail);
        replay_fail(r, taken == WIRE_NO_MEMORY ? STORE_NO_MEMORY : STORE_CORRUPT, "the log");
    }
    wire_errors_clear(&errors);
    free(event);
    r->result->entries = seq;
    plan_what_follows(r);
}

/* Copies of log entries, since handling them reads from the log as well. */
typedef struct log_page {
    struct log_entry {
        int64_t seq, time;
        char *type, *payload;
    } entries[ENTRIES_AT_ONCE];
    size_t n;
    bool no_memory;
} log_page;

static void keep_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    log_page *page = arg;
    struct log_entry *entry = &page->entries[page->n++];
    *entry = (struct log_entry){.seq = seq, .time = time, .type = strdup(type), .payload = strdup(payload)};
    page->no_memory |= !entry->type || !entry->payload;
}

static void read_log(replaying *r, store_log_row *row, bool to_rebuild)
{
    for (int64_t after = 0; after < r->last_seq && !r->status; after += ENTRIES_AT_ONCE) {
        log_page page = {0};
        store_status status =
            store_read_log(r->from, r->number, after, ENTRIES_AT_ONCE, keep_entry, &page, r->err);
        if (status || page.no_memory)
            replay_fail(r, status ? status : STORE_NO_MEMORY, "the log");
        for (size_t i = 0; i < page.n; i++) {
            struct log_entry *entry = &page.entries[i];
            if (!r->status)
                row(r, entry->seq, entry->time, entry->type, entry->payload);
            free(entry->type);
            free(entry->payload);
        }
        if (!to_rebuild)
            continue;
        if (r->options->progress)
            r->options->progress(r->options->arg, r->result->entries);
        status = rebuild_wait(r->rebuild);
        if (status)
            replay_fail(r, status, "the rebuilt study");
    }
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

static size_t rows_at_once(const replaying *r)
{
    size_t row = (size_t)r->dimension * sizeof(double);
    return row < ROW_BYTES ? ROW_BYTES / row : 1;
}

/* Copies the uploaded candidates, which are not in the log. */
static void copy_candidates(replaying *r)
{
    if (r->reference_candidates == 0)
        return;
    wire_errors errors = {0};
    size_t at_once = rows_at_once(r);
    double *rows = malloc(at_once * (size_t)r->dimension * sizeof *rows);
    if (!rows)
        replay_fail(r, STORE_NO_MEMORY, "the candidates");
    for (int64_t first = 0; first < r->reference_candidates && !r->status; first += (int64_t)at_once) {
        size_t left = (size_t)(r->reference_candidates - first), n = left < at_once ? left : at_once;
        store_status status =
            store_read_candidates(r->from, r->number, first, n, (size_t)r->dimension, rows, r->err);
        if (!status && rebuild_rows(r->rebuild, n, (size_t)r->dimension, rows, &errors) != WIRE_OK)
            status = STORE_CORRUPT;
        if (!status)
            status = rebuild_wait(r->rebuild);
        if (status)
            replay_fail(r, status, "the candidates");
    }
    wire_errors_clear(&errors);
    free(rows);
}

static void compare_candidates(replaying *r, int64_t other)
{
    if (r->candidates == 0 || r->status)
        return;
    size_t at_once = rows_at_once(r), values = at_once * (size_t)r->dimension;
    double *rows = malloc(2 * values * sizeof *rows);
    if (!rows)
        replay_fail(r, STORE_NO_MEMORY, "the candidates");
    for (int64_t first = 0; first < r->candidates && !r->status; first += (int64_t)at_once) {
        size_t left = (size_t)(r->candidates - first), n = left < at_once ? left : at_once;
        store_status status =
            store_read_candidates(r->from, r->number, first, n, (size_t)r->dimension, rows, r->err);
        if (!status)
            status =
                store_read_candidates(r->to, other, first, n, (size_t)r->dimension, rows + values, r->err);
        if (status)
            replay_fail(r, status, "the candidates");
        else if (memcmp(rows, rows + values, n * (size_t)r->dimension * sizeof *rows) != 0) {
            replay_differs(r, r->last_seq,
                           "the candidates from number %lld on differ from those that the log refers to",
                           (long long)first);
            break;
        }
    }
    free(rows);
}

/* ---- the replay ---------------------------------------------------------------------------------------- */

static void take_study(void *arg, const store_study *row)
{
    replaying *r = arg;
    r->number = row->study;
    r->last_seq = row->last_seq;
    r->candidates = row->candidates;
    r->dimension = row->dimension;
    r->reference_candidates = row->reference_candidates;
}

static void count_difference(void *arg, const char *text)
{
    replaying *r = arg;
    r->result->differences++;
    r->options->difference(r->options->arg, text);
}

static void compare_tables(replaying *r)
{
    wire_errors errors = {0};
    if (r->status)
        return;
    if (!r->strayed && rebuild_finish(r->rebuild, &errors) != WIRE_OK && errors.n)
        replay_differs(r, r->last_seq, "%s", errors.items[0].detail);
    wire_errors_clear(&errors);
    store_status status = rebuild_wait(r->rebuild);
    int64_t other = rebuild_number(r->rebuild);
    if (!status)
        status =
            store_compare(r->from, r->id, r->number, r->options->scratch, other, count_difference, r, r->err);
    if (status)
        replay_fail(r, status, "the comparison");
    if (rebuild_has_candidates(r->rebuild))
        compare_candidates(r, other);
}

store_status replay_study(store *snapshot, const char *id, const replay_options *options, replay_result *out,
                          store_error *err)
{
    store_error own = {0};
    replaying r = {.id = id, .options = options, .result = out, .err = err ? err : &own, .from = snapshot};
    *out = (replay_result){0};
    *r.err = (store_error){0};
    store_status status = store_read_study(snapshot, id, take_study, &r, r.err);
    if (!status)
        status = store_open_scratch(&r.to, options->scratch, r.err);
    if (!status)
        status = rebuild_new(&r.rebuild, r.to, NULL, false);
    r.app = (app){.config = options->config, .store = r.to, .computing = options->computing};
    if (status) {
        replay_fail(&r, status, id);
    } else {
        copy_candidates(&r);
        read_log(&r, note_batch, false);
        read_log(&r, take_entry, true);
        compare_tables(&r);
    }
    plan_free(r.plan);
    if (r.study)
        study_free(r.study);
    rebuild_free(r.rebuild);
    store_close(r.to);
    free(r.batches);
    bool found = out->differences > 0 && r.status == STORE_CORRUPT;
    return found ? STORE_OK
                 : r.status; /* a log that cannot be read to its end counts as checked nevertheless */
}
