#include "server/replay/rebuild.h"

#include "server/data/study_space.h"
#include "server/replay/rebuild_internal.h"
#include "server/store/event.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The size of one write, bounded so that other writes do not wait long. */
enum { WRITE_EVENTS = 200, WRITE_BYTES = 256 * 1024 };

typedef struct held_write {
    struct held_write *next;
    store_write *write;
} held_write;

store_status rebuild_new(rebuild **out, store *s, const char *id, bool staged)
{
    *out = NULL;
    rebuild *r = calloc(1, sizeof *r);
    if (!r)
        return STORE_NO_MEMORY;
    r->store = s;
    r->staged = staged;
    r->renamed = id != NULL;
    r->last_held = &r->held;
    r->id = id ? strdup(id) : NULL;
    if ((id && !r->id) || store_lane_open(&r->lane, s, 0, 0, 0) != STORE_OK) {
        free(r->id);
        free(r);
        return STORE_NO_MEMORY;
    }
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    *out = r;
    return STORE_OK;
}

const char *rebuild_id(const rebuild *r)
{
    return r->id;
}

int64_t rebuild_entries(const rebuild *r)
{
    return r->entries;
}

int64_t rebuild_number(rebuild *r)
{
    pthread_mutex_lock(&r->lock);
    int64_t number = r->number;
    pthread_mutex_unlock(&r->lock);
    return number;
}

store_status rebuild_status(rebuild *r)
{
    pthread_mutex_lock(&r->lock);
    store_status status = r->status;
    pthread_mutex_unlock(&r->lock);
    if (status == STORE_OK && r->upload)
        status = upload_status(r->upload);
    return status;
}

void rebuild_fail(rebuild *r, store_status status)
{
    pthread_mutex_lock(&r->lock);
    if (r->status == STORE_OK)
        r->status = status;
    pthread_mutex_unlock(&r->lock);
}

/* ---- writes -------------------------------------------------------------------------------------------- */

static void free_parts(rebuild *r)
{
    store_lane_close(r->lane);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r->id);
    free(r);
}

static void removed(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    (void)status; /* if this has failed, the next start removes the study */
    (void)study;
    (void)last_seq;
    free_parts(arg);
}

/* Called when no write is unfinished. */
static void destroy(rebuild *r)
{
    bool left = r->staged && r->made && !r->published;
    if (left) { /* in a new lane, since a write of the old lane may have failed */
        store_lane_close(r->lane);
        left = store_lane_open(&r->lane, r->store, r->number, 0, 0) == STORE_OK;
    }
    if (left)
        store_submit_delete(r->lane, removed, r);
    else
        free_parts(r); /* the next start removes the remains from the store */
}

static void take_held(rebuild *r)
{
    while (r->held) {
        held_write *next = r->held->next;
        store_write_free(r->held->write);
        free(r->held);
        r->held = next;
    }
    r->last_held = &r->held;
}

void rebuild_free(rebuild *r)
{
    if (!r)
        return;
    store_write_free(r->write);
    take_held(r);
    upload_free(r->upload);
    study_config_free(r->config);
    bandit_arms_free(r->space);
    wire_keys_clear(&r->keys);
    free(r->few);
    pthread_mutex_lock(&r->lock);
    bool last = r->on_their_way == 0;
    r->freed = !last;
    r->settled = NULL;
    pthread_mutex_unlock(&r->lock);
    if (last)
        destroy(r);
}

/* Called on the writer thread. */
static void write_done(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    rebuild *r = arg;
    void (*settled)(void *) = NULL;
    (void)last_seq;
    pthread_mutex_lock(&r->lock);
    if (status == STORE_OK) {
        r->made = true;
        r->number = study;
    } else if (r->status == STORE_OK) {
        r->status = status;
    }
    r->on_their_way--;
    void *settled_arg = r->settled_arg;
    if (r->settled && r->on_their_way <= r->most) {
        settled = r->settled;
        r->settled = NULL;
    }
    bool last = r->freed && r->on_their_way == 0;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (settled)
        settled(settled_arg); /* may free the rebuild */
    if (last)
        destroy(r);
}

static void submit(rebuild *r, store_write *write)
{
    pthread_mutex_lock(&r->lock);
    r->on_their_way++;
    pthread_mutex_unlock(&r->lock);
    store_submit(write, write_done, r);
}

/* Ends the write that is being filled, and queues it behind the candidates of its study. */
static void end_write(rebuild *r)
{
    if (!r->write)
        return;
    held_write *held = calloc(1, sizeof *held);
    if (held) {
        held->write = r->write;
        *r->last_held = held;
        r->last_held = &held->next;
    } else {
        store_write_free(r->write);
        rebuild_fail(r, STORE_NO_MEMORY);
    }
    r->write = NULL;
    r->bytes = 0;
}

static void wait_for_writes(rebuild *r, size_t most, void (*settled)(void *arg), void *arg)
{
    pthread_mutex_lock(&r->lock);
    bool now = r->on_their_way <= most;
    if (!now) {
        r->most = most;
        r->settled = settled;
        r->settled_arg = arg;
    }
    pthread_mutex_unlock(&r->lock);
    if (now)
        settled(arg);
}

/* The rest of rebuild_settle, which runs when the candidates have been written. */
typedef struct settling {
    rebuild *r;
    size_t most;
    void (*settled)(void *arg);
    void *arg;
} settling;

static void submit_held(rebuild *r)
{
    while (r->held && rebuild_status(r) == STORE_OK) {
        held_write *first = r->held;
        r->held = first->next;
        submit(r, first->write);
        free(first);
    }
    take_held(r);
}

static void candidates_settled(void *arg)
{
    settling s = *(settling *)arg;
    free(arg);
    submit_held(s.r);
    wait_for_writes(s.r, s.most, s.settled, s.arg);
}

void rebuild_settle(rebuild *r, size_t most, void (*settled)(void *arg), void *arg)
{
    end_write(r);
    if (!r->upload) {
        submit_held(r);
        wait_for_writes(r, most, settled, arg);
        return;
    }
    settling *s = malloc(sizeof *s);
    if (!s) {
        rebuild_fail(r, STORE_NO_MEMORY);
        settled(arg);
        return;
    }
    *s = (settling){.r = r, .most = most, .settled = settled, .arg = arg};
    upload_wait(r->upload, r->held ? 0 : most, candidates_settled, s);
}

static void wake(void *arg)
{
    rebuild *r = arg;
    pthread_mutex_lock(&r->lock);
    r->most = SIZE_MAX;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

store_status rebuild_wait(rebuild *r)
{
    pthread_mutex_lock(&r->lock);
    r->most = 0;
    pthread_mutex_unlock(&r->lock);
    rebuild_settle(r, 0, wake, r);
    pthread_mutex_lock(&r->lock);
    while (r->most != SIZE_MAX)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return rebuild_status(r);
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

/* Keeps the rows if they may belong to an enumerated space, so that they can be checked when the space is known. False:
 * out of memory. */
static bool keep_few(rebuild *r, size_t n, size_t dimension, const double *rows)
{
    size_t kept = r->rows * dimension, more = n * dimension;
    if (kept + more > SPACE_ENUMERATED_NUMBERS) {
        free(r->few);
        r->few = NULL;
        return true;
    }
    double *grown = realloc(r->few, (kept + more + 1) * sizeof *grown);
    if (!grown)
        return false;
    r->few = grown;
    memcpy(r->few + kept, rows, more * sizeof *rows);
    return true;
}

wire_status rebuild_rows(rebuild *r, size_t n, size_t dimension, const double *rows, wire_errors *errors)
{
    if (r->entries > 0) {
        wire_errors_add(errors, "", "candidates must come before the log");
        return WIRE_INVALID;
    }
    if (dimension < 1 || dimension > WIRE_MAX_DIMENSION || (r->rows > 0 && dimension != r->dimension)) {
        wire_errors_add(errors, "", "a row of candidates must not have %zu values", dimension);
        return WIRE_INVALID;
    }
    for (size_t i = 0; i < n * dimension; i++) {
        r->has_gaps |= isnan(rows[i]);
        if (isinf(rows[i])) {
            wire_errors_add(errors, "", "row %zu of the candidates has an infinite value",
                            r->rows + i / dimension);
            return WIRE_INVALID;
        }
    }
    if (r->rows + n > WIRE_MAX_COUNT) {
        wire_errors_add(errors, "", "there must be at most %d candidates", WIRE_MAX_COUNT);
        return WIRE_INVALID;
    }
    store_status status = keep_few(r, n, dimension, rows) ? STORE_OK : STORE_NO_MEMORY;
    if (!status && !r->upload)
        status = upload_new(&r->upload, r->store);
    r->dimension = dimension;
    size_t at_once = upload_rows_at_once(dimension);
    for (size_t first = 0; status == STORE_OK && first < n; first += at_once) {
        size_t left = n - first, take = left < at_once ? left : at_once;
        status = upload_rows(r->upload, r->rows, take, dimension, rows + first * dimension);
        r->rows += take;
    }
    if (status)
        rebuild_fail(r, status);
    return WIRE_OK;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* The definition with the study's new id. The caller frees it. */
static char *renamed_definition(rebuild *r)
{
    char *name = strdup(r->id), *text = NULL;
    size_t size;
    wire_writer w = WIRE_WRITER_INIT;
    if (!name)
        return NULL;
    free(r->config->wire->id);
    r->config->wire->id = name;
    wire_encode_definition(&w, r->config->wire);
    return wire_writer_finish(&w, &text, &size) ? text : NULL;
}

/* Adds the event, with the new id if the study has one. */
static store_status add(rebuild *r, store_event *event, const char *payload)
{
    char *definition = NULL;
    store_status status = STORE_OK;
    const char **text = event->type == EVENT_STUDY_CREATED   ? &event->u.created.definition
                        : event->type == EVENT_STUDY_CHANGED ? &event->u.changed.definition
                                                             : NULL;
    if (r->renamed && text && *text) {
        *text = definition = renamed_definition(r);
        if (!definition)
            return STORE_NO_MEMORY;
    }
    if (event->type == EVENT_STUDY_CREATED)
        event->u.created.id = r->id;
    if (!r->write)
        status = store_write_new(&r->write, r->lane);
    if (!status && event->type == EVENT_STUDY_CREATED && r->staged)
        store_write_stage(r->write);
    if (!status)
        status = store_write_add(r->write, event);
    free(definition);
    r->bytes += strlen(payload);
    if (!status && (store_write_events(r->write) >= WRITE_EVENTS || r->bytes >= WRITE_BYTES))
        end_write(r);
    return status;
}

static void refuse(wire_errors *errors, int64_t seq, const char *type, const rebuild_problem *problem)
{
    char pointer[80];
    snprintf(pointer, sizeof pointer, "/payload%s%s", *problem->member ? "/" : "", problem->member);
    wire_errors_add(errors, pointer, "log entry %lld, %s: %s", (long long)seq, type, problem->what);
}

wire_status rebuild_entry(rebuild *r, int64_t seq, int64_t time, const char *type, const char *payload,
                          wire_errors *errors)
{
    store_event *event = NULL;
    store_error error = {0};
    rebuild_problem problem = {0};
    if (seq != r->entries + 1) {
        refuse(errors, seq, type, &(rebuild_problem){.what = "is not the next entry"});
        return WIRE_INVALID;
    }
    store_status status = store_event_decode(&event, type, time, payload, &error);
    if (status == STORE_NO_MEMORY)
        return WIRE_NO_MEMORY;
    if (status) {
        snprintf(problem.member, sizeof problem.member, "%s", error.field);
        snprintf(problem.what, sizeof problem.what, "%.200s", error.message);
    } else if ((event->type == EVENT_STUDY_CREATED) != (seq == 1)) {
        snprintf(problem.what, sizeof problem.what, "the first entry, and no other, must be study_created");
    } else {
        rebuild_check(r, event, &problem);
    }
    r->entries = seq;
    if (!problem.no_memory && *problem.what)
        refuse(errors, seq, type, &problem);
    else if (!problem.no_memory && (status = add(r, event, payload)) != STORE_OK)
        rebuild_fail(r, status);
    free(event);
    return problem.no_memory ? WIRE_NO_MEMORY : *problem.what ? WIRE_INVALID : WIRE_OK;
}

bool rebuild_has_candidates(const rebuild *r)
{
    return !r->has_gone && (r->rows == 0 || r->attached);
}

static wire_status check_keys(const rebuild *r, wire_errors *errors)
{
    size_t first, second;
    wire_status status = wire_keys_find_repeated(&r->keys, &first, &second);
    if (status == WIRE_INVALID)
        wire_errors_add(errors, "", "candidates %zu and %zu have the same key", first, second);
    return status;
}

wire_status rebuild_finish(rebuild *r, wire_errors *errors)
{
    if (r->entries == 0)
        wire_errors_add(errors, "", "the log is missing");
    else if (!rebuild_has_candidates(r))
        wire_errors_add(errors, "", "the candidates differ from those that the log refers to");
    else if (r->candidates == 0 && r->config->wire->domain_type != WIRE_DOMAIN_SPACE && !r->awaits)
        wire_errors_add(errors, "",
                        "the study has no candidates, although its state is not awaiting_candidates");
    else
        return check_keys(r, errors);
    return WIRE_INVALID;
}

/* ---- publishing ---------------------------------------------------------------------------------------- */

typedef struct publication {
    rebuild *r;
    store_done *done;
    void *arg;
} publication;

static void publication_done(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    publication p = *(publication *)arg;
    free(arg);
    p.r->published = status == STORE_OK;
    if (p.r->published && p.r->upload)
        upload_keep(p.r->upload);
    p.done(p.arg, status, study, last_seq);
}

store_status rebuild_publication(rebuild *r, store_write **out)
{
    store_status status = store_write_new(out, r->lane);
    if (!status)
        store_write_publish(*out);
    return status;
}

void rebuild_publish(rebuild *r, store_write *write, store_done *done, void *arg)
{
    publication *p = malloc(sizeof *p);
    if (!p) {
        store_write_free(write);
        done(arg, STORE_NO_MEMORY, 0, 0);
        return;
    }
    *p = (publication){.r = r, .done = done, .arg = arg};
    store_submit(write, publication_done, p);
}
