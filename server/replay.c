#include "server/replay.h"

#include "server/app.h"
#include "server/rebuild.h"
#include "server/store/event.h"
#include "server/study_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_AT_ONCE = 64, ROW_BYTES = 1 << 20 };

/* Where a batch stands in the log, and what it was planned from. */
typedef struct planned_at {
    int64_t seq, through_seq;
} planned_at;

typedef struct replaying {
    const replay_options *options;
    replay_result *result;
    store_error *err;
    store *from, *to;
    rebuild *rebuild;
    app app;
    study *study; /* in the new place */
    /* of the study in the old one */
    int64_t number, last_seq, candidates, dimension, reference_candidates;
    planned_at *batches;
    size_t n_batches, capacity, next;
    planning *plan; /* the last one made again, and not compared yet */
    store_event planned;
    bool strayed; /* the engine has chosen otherwise: nothing is planned any more */
    store_status status;
} replaying;

static void fail(replaying *r, store_status status, const char *what)
{
    if (r->status)
        return;
    r->status = status;
    if (r->err->status == STORE_OK) {
        r->err->status = status;
        snprintf(r->err->message, sizeof r->err->message, "%s: %s", what, store_status_text(status));
    }
}

static void differs(replaying *r, int64_t seq, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void differs(replaying *r, int64_t seq, const char *format, ...)
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

/* ---- planning again ------------------------------------------------------------------------------------ */

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* As the log has them: no sign on a zero, NaN for what is not finite. */
static bool same_logged(double a, double b)
{
    return isfinite(b) ? a == b : !isfinite(a);
}

static bool compare_picks(replaying *r, int64_t seq, int64_t batch, const store_pick *a, size_t n_a,
                          const store_pick *b, size_t n_b)
{
    for (size_t i = 0; i < n_a && i < n_b; i++) {
        if (a[i].candidate != b[i].candidate) {
            differs(r, seq, "batch %lld: pick %zu is candidate %u; planned again it is %u", (long long)batch,
                    i, a[i].candidate, b[i].candidate);
            return false;
        }
        if (!same_logged(a[i].variance, b[i].variance)) {
            differs(r, seq, "batch %lld: pick %zu has the variance %.17g; planned again %.17g",
                    (long long)batch, i, a[i].variance, b[i].variance);
            return false;
        }
    }
    if (n_a != n_b)
        differs(r, seq, "batch %lld has %zu picks; planned again it has %zu", (long long)batch, n_a, n_b);
    return n_a == n_b;
}

static bool compare_scalars(replaying *r, int64_t seq, const store_batch *a, const store_batch *b)
{
    const struct {
        const char *name;
        double a, b;
    } values[] = {{"beta", a->beta, b->beta},
                  {"ratio", a->ratio, b->ratio},
                  {"observations", (double)a->observations, (double)b->observations},
                  {"dictionary_size", (double)a->dictionary_size, (double)b->dictionary_size}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!same_logged(values[i].a, values[i].b)) {
            differs(r, seq, "batch %lld: %s is %.17g; planned again it is %.17g", (long long)a->batch,
                    values[i].name, values[i].a, values[i].b);
            return false;
        }
    if (strcmp(a->stop_rule, b->stop_rule) != 0) {
        differs(r, seq, "batch %lld ended by %s; planned again by %s", (long long)a->batch, a->stop_rule,
                b->stop_rule);
        return false;
    }
    return true;
}

static bool compare_sums(replaying *r, int64_t seq, const store_event *a, const store_event *b)
{
    size_t n = a->u.planned.n_sums;
    bool same = b->u.planned.n_sums == n;
    for (size_t i = 0; same && i < n; i++) {
        const store_arm_sum *x = &a->u.planned.sums[i], *y = &b->u.planned.sums[i];
        same = x->arm == y->arm && x->count == y->count && bits_of(x->sum) == bits_of(y->sum);
    }
    if (!same)
        differs(r, seq, "batch %lld: the sums are others when planned again",
                (long long)a->u.planned.batch.batch);
    return same;
}

static bool compare_planned(replaying *r, int64_t seq, const store_event *a, const store_event *b)
{
    const store_batch *batch = &a->u.planned.batch;
    if (!compare_scalars(r, seq, batch, &b->u.planned.batch))
        return false;
    if (batch->dictionary_size && memcmp(a->u.planned.dictionary, b->u.planned.dictionary,
                                         (size_t)batch->dictionary_size * sizeof(uint32_t)) != 0) {
        differs(r, seq, "batch %lld: the dictionary is another when planned again", (long long)batch->batch);
        return false;
    }
    if (!compare_sums(r, seq, a, b) ||
        !compare_picks(r, seq, batch->batch, a->u.planned.picks, a->u.planned.n_picks, b->u.planned.picks,
                       b->u.planned.n_picks))
        return false;
    bool same =
        a->u.planned.n_engine_state == b->u.planned.n_engine_state &&
        memcmp(a->u.planned.engine_state, b->u.planned.engine_state, a->u.planned.n_engine_state) == 0;
    if (!same)
        differs(r, seq, "batch %lld: the engine's state is another when planned again",
                (long long)batch->batch);
    return same;
}

/* Engines spread their work from a thread of the pool. */
typedef struct pooled_plan {
    pool_task task;
    replaying *r;
    const store_event *recorded;
    const char *refusal;
    store_status status;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
} pooled_plan;

static void run_pooled(pool_task *task)
{
    pooled_plan *p = (pooled_plan *)(void *)task;
    p->status = study_plan_again(p->r->study, p->recorded, &p->r->planned, &p->r->plan, &p->refusal);
    pthread_mutex_lock(&p->lock);
    p->done = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static store_status plan_on_pool(replaying *r, const store_event *recorded, const char **refusal)
{
    pooled_plan p = {.task.run = run_pooled, .r = r, .recorded = recorded};
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    pool_submit(r->options->pool, &p.task, POOL_LONG);
    pthread_mutex_lock(&p.lock);
    while (!p.done)
        pthread_cond_wait(&p.changed, &p.lock);
    pthread_mutex_unlock(&p.lock);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    *refusal = p.refusal;
    return p.status;
}

/* Makes the plan again, with the study as it is when everything up to here is known. */
static void plan_again(replaying *r, int64_t seq, const store_event *recorded)
{
    const char *refusal = NULL;
    store_error error = {0};
    store_status status = rebuild_wait(r->rebuild);
    if (!status && !rebuild_has_candidates(r->rebuild)) {
        differs(r, seq, "the candidates are not those that the log speaks of: nothing can be planned again");
        r->strayed = true;
        return;
    }
    if (!status && !r->study && !(r->study = study_new(&r->app, NULL, rebuild_id(r->rebuild))))
        status = STORE_NO_MEMORY;
    if (!status)
        status = study_load(r->study, &error);
    if (status) {
        fail(r, status, "the study as rebuilt");
        return;
    }
    status = plan_on_pool(r, recorded, &refusal);
    if (status)
        fail(r, status, "planning again");
    else if (refusal) {
        differs(r, seq, "the engine refuses to plan again: %s", refusal);
        study_plan_free(r->plan);
        r->plan = NULL;
        r->strayed = true;
    }
    study_unload(r->study);
}

static void compare_plan(replaying *r, int64_t seq, const store_event *recorded)
{
    const char *path = recorded->type == EVENT_BATCH_PLANNED ? recorded->u.planned.batch.code_path : NULL;
    const char *here = r->planned.u.planned.batch.code_path;
    bool same;
    if (recorded->type == EVENT_BATCH_PLANNED)
        same = compare_planned(r, seq, recorded, &r->planned);
    else
        same = compare_picks(r, seq, recorded->u.extended.batch, recorded->u.extended.picks,
                             recorded->u.extended.n_picks, r->planned.u.extended.picks,
                             r->planned.u.extended.n_picks);
    if (!same && path && strcmp(path, here) != 0)
        differs(r, seq,
                "it was planned on another kind of machine (%s; this one is %s), which may be the cause",
                path, here);
    r->strayed = !same;
    r->result->batches += recorded->type == EVENT_BATCH_PLANNED;
    study_plan_free(r->plan);
    r->plan = NULL;
}

/* ---- the log ------------------------------------------------------------------------------------------- */

static store_event *decode(replaying *r, int64_t seq, int64_t time, const char *type, const char *payload)
{
    store_event *event;
    store_error error = {0};
    store_status status = store_event_decode(&event, type, time, payload, &error);
    if (status == STORE_NO_MEMORY)
        fail(r, status, "the log");
    else if (status)
        differs(r, seq, "%s", error.message);
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
    if (r->n_batches == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 256;
        planned_at *grown = realloc(r->batches, capacity * sizeof *grown);
        if (!grown) {
            fail(r, STORE_NO_MEMORY, "the batches");
            free(event);
            return;
        }
        r->batches = grown;
        r->capacity = capacity;
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
        plan_again(r, seq, event);
    free(event);
}

/* Is a batch of the log planned from just what is known now? */
static void plan_what_follows(replaying *r)
{
    int64_t known = r->result->entries;
    if (r->strayed || r->status || r->plan || r->next == r->n_batches ||
        r->batches[r->next].through_seq != known)
        return;
    store_status status =
        store_read_log(r->from, r->number, r->batches[r->next++].seq - 1, 1, plan_recorded, r, r->err);
    if (status)
        fail(r, status, "the log");
}

/* The engine has to be loaded again, as the server does it. */
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
        fail(r, r->status ? r->status : STORE_CORRUPT, "the log");
        return;
    }
    if (event->type == EVENT_BATCH_PLANNED || event->type == EVENT_BATCH_EXTENDED) {
        if (r->plan) {
            compare_plan(r, seq, event);
        } else if (!r->strayed && !r->status) {
            differs(r, seq, "%s: the entry that it was planned after is not before it", type);
            r->strayed = true;
        }
    }
    if (r->study && renews_engine(event))
        study_drop_engine(r->study);
    wire_status taken = rebuild_entry(r->rebuild, seq, time, type, payload, &errors);
    if (taken != WIRE_OK) {
        if (errors.n)
            differs(r, seq, "%s", errors.items[0].detail);
        fail(r, taken == WIRE_NO_MEMORY ? STORE_NO_MEMORY : STORE_CORRUPT, "the log");
    }
    wire_errors_clear(&errors);
    free(event);
    r->result->entries = seq;
    plan_what_follows(r);
}

/* Entries of the log, copied: what is done with them reads from the log, too. */
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
            fail(r, status ? status : STORE_NO_MEMORY, "the log");
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
            fail(r, status, "the study as rebuilt");
    }
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

static size_t rows_at_once(const replaying *r)
{
    size_t row = (size_t)r->dimension * sizeof(double);
    return row < ROW_BYTES ? ROW_BYTES / row : 1;
}

/* Those that were uploaded are taken over: they are not in the log. */
static void copy_candidates(replaying *r)
{
    if (r->reference_candidates == 0)
        return;
    wire_errors errors = {0};
    size_t at_once = rows_at_once(r);
    double *rows = malloc(at_once * (size_t)r->dimension * sizeof *rows);
    if (!rows)
        fail(r, STORE_NO_MEMORY, "the candidates");
    for (int64_t first = 0; first < r->reference_candidates && !r->status; first += (int64_t)at_once) {
        size_t left = (size_t)(r->reference_candidates - first), n = left < at_once ? left : at_once;
        store_status status = store_read_candidates(r->from, r->number, first, n, rows, r->err);
        if (!status && rebuild_rows(r->rebuild, n, (size_t)r->dimension, rows, &errors) != WIRE_OK)
            status = STORE_CORRUPT;
        if (!status)
            status = rebuild_wait(r->rebuild);
        if (status)
            fail(r, status, "the candidates");
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
        fail(r, STORE_NO_MEMORY, "the candidates");
    for (int64_t first = 0; first < r->candidates && !r->status; first += (int64_t)at_once) {
        size_t left = (size_t)(r->candidates - first), n = left < at_once ? left : at_once;
        store_status status = store_read_candidates(r->from, r->number, first, n, rows, r->err);
        if (!status)
            status = store_read_candidates(r->to, other, first, n, rows + values, r->err);
        if (status)
            fail(r, status, "the candidates");
        else if (memcmp(rows, rows + values, n * (size_t)r->dimension * sizeof *rows) != 0) {
            differs(r, r->last_seq, "the candidates from %lld on are not those that the log speaks of",
                    (long long)first);
            break;
        }
    }
    free(rows);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

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
        differs(r, r->last_seq, "%s", errors.items[0].detail);
    wire_errors_clear(&errors);
    store_status status = rebuild_wait(r->rebuild);
    int64_t other = rebuild_number(r->rebuild);
    if (!status)
        status = store_compare(r->from, r->number, r->options->scratch, other, count_difference, r, r->err);
    if (status)
        fail(r, status, "comparing");
    if (rebuild_has_candidates(r->rebuild))
        compare_candidates(r, other);
}

store_status replay_study(store *snapshot, const char *id, const replay_options *options, replay_result *out,
                          store_error *err)
{
    store_error own = {0};
    replaying r = {.options = options, .result = out, .err = err ? err : &own, .from = snapshot};
    *out = (replay_result){0};
    *r.err = (store_error){0};
    store_status status = store_read_study(snapshot, id, take_study, &r, r.err);
    if (!status)
        status = store_open_scratch(&r.to, options->scratch, r.err);
    if (!status)
        status = rebuild_new(&r.rebuild, r.to, NULL, false);
    r.app = (app){.config = options->config, .store = r.to, .pool = options->pool};
    if (status) {
        fail(&r, status, id);
    } else {
        copy_candidates(&r);
        read_log(&r, note_batch, false);
        read_log(&r, take_entry, true);
        compare_tables(&r);
    }
    study_plan_free(r.plan);
    if (r.study)
        study_free(r.study);
    rebuild_free(r.rebuild);
    store_close(r.to);
    free(r.batches);
    bool found = out->differences > 0 && r.status == STORE_CORRUPT;
    return found ? STORE_OK : r.status; /* a log that cannot be read to its end has been looked at */
}
