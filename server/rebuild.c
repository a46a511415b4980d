#include "server/rebuild.h"

#include "proto/parse.h"
#include "server/routes.h"
#include "server/space.h"
#include "server/store/event.h"
#include "server/study_config.h"
#include "server/upload.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one write takes before the next begins: bounded time for the disk, and for others' writes. */
enum { WRITE_EVENTS = 200, WRITE_BYTES = 256 * 1024 };

typedef struct held_write {
    struct held_write *next;
    store_write *write;
} held_write;

struct rebuild {
    store *store;
    store_lane *lane;
    char *id;
    bool staged, renamed, published;
    upload *upload; /* of the candidates; NULL: none */
    size_t rows, dimension;
    bool has_gaps; /* NaN, which only points of a space may have */
    double *few;   /* the rows, while they are no more than a space that is listed has; NULL */
    bool attached;

    store_write *write; /* being filled */
    size_t bytes;
    held_write *held, **last_held; /* full ones that wait for the candidates */

    /* The study as its entries have described it so far. */
    int64_t entries, candidates, columns, trials, batches;
    bool has_set, has_gone; /* its last candidates were uploaded; and are not there */
    char digest[80];
    study_config *config;
    bandit_arms *space; /* without points; NULL: none */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    size_t on_their_way;
    bool freed; /* by its owner: the last write frees the memory */
    bool made;  /* the study is in the store */
    int64_t number;
    store_status status;
    size_t most;
    void (*settled)(void *arg);
    void *settled_arg;
};

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

static void fail(rebuild *r, store_status status)
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
    (void)status; /* otherwise it is removed at the next start */
    (void)study;
    (void)last_seq;
    free_parts(arg);
}

/* Nothing is on its way any more. */
static void destroy(rebuild *r)
{
    bool left = r->staged && r->made && !r->published;
    if (left) { /* by a lane of its own: a write of the other one may have failed */
        store_lane_close(r->lane);
        left = store_lane_open(&r->lane, r->store, r->number, 0, 0) == STORE_OK;
    }
    if (left)
        store_submit_delete(r->lane, removed, r);
    else
        free_parts(r); /* what is left in the store is removed at the next start */
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
    free(r->few);
    pthread_mutex_lock(&r->lock);
    bool last = r->on_their_way == 0;
    r->freed = !last;
    r->settled = NULL;
    pthread_mutex_unlock(&r->lock);
    if (last)
        destroy(r);
}

/* The writer thread. */
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

/* The write being filled is full: it goes, or waits for the candidates that its study is to have. */
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
        fail(r, STORE_NO_MEMORY);
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

/* What rebuild_settle waits for, while the candidates are on their way. */
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
        fail(r, STORE_NO_MEMORY);
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

/* Keeps the rows if a space may have so many: they are looked at when it is known. False: out of memory. */
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
        wire_errors_add(errors, "", "the candidates come before the log");
        return WIRE_INVALID;
    }
    if (dimension < 1 || dimension > WIRE_MAX_DIMENSION || (r->rows > 0 && dimension != r->dimension)) {
        wire_errors_add(errors, "", "a row of candidates has %zu values", dimension);
        return WIRE_INVALID;
    }
    for (size_t i = 0; i < n * dimension; i++) {
        r->has_gaps |= isnan(rows[i]);
        if (isinf(rows[i])) {
            wire_errors_add(errors, "", "row %zu of the candidates has a value that is not finite",
                            r->rows + i / dimension);
            return WIRE_INVALID;
        }
    }
    if (r->rows + n > WIRE_MAX_COUNT) {
        wire_errors_add(errors, "", "there are more than %d candidates", WIRE_MAX_COUNT);
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
        fail(r, status);
    return WIRE_OK;
}

/* ---- looking at events --------------------------------------------------------------------------------- */

static bool refuse(wire_errors *errors, int64_t seq, const char *type, const char *what)
{
    wire_errors_add(errors, "", "log entry %lld, %s: %s", (long long)seq, type, what);
    return false;
}

static char *text_of(const wire_study *definition)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text = NULL;
    size_t size;
    wire_encode_definition(&w, definition);
    return wire_writer_finish(&w, &text, &size) ? text : NULL;
}

/* Does it have every value in force, as a study's has from its creation on? */
static bool is_complete(wire_study *definition, wire_errors *problems)
{
    char *before = text_of(definition), *after = NULL;
    if (before && study_config_complete(definition, problems) == WIRE_OK)
        after = text_of(definition);
    bool same = after && strcmp(before, after) == 0;
    free(before);
    free(after);
    return same;
}

/* Are they the same but for what a PATCH changes? */
static bool same_study(const wire_study *a, const wire_study *b)
{
    char *texts[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        wire_study kept = i == 0 ? *a : *b;
        kept.id = kept.display_name = kept.labels = kept.metadata = NULL;
        kept.horizon = kept.min_in_flight = kept.max_attempts = (wire_integer){0};
        kept.lease_seconds = (wire_number){0};
        texts[i] = text_of(&kept);
    }
    bool same = texts[0] && texts[1] && strcmp(texts[0], texts[1]) == 0;
    free(texts[0]);
    free(texts[1]);
    return same;
}

/* The definition in force from here on. -> NULL, or what is wrong with it */
static const char *take_definition(rebuild *r, const char *text)
{
    wire_study *definition = NULL;
    study_config *config = NULL;
    wire_errors problems = {0};
    bandit_error error = {0};
    if (wire_decode_study(&definition, text, strlen(text), &problems) == WIRE_OK &&
        is_complete(definition, &problems))
        study_config_new(&config, definition, &problems);
    else
        wire_study_free(definition);
    wire_errors_clear(&problems);
    if (!config)
        return "the definition is not one of this program's";
    bool same = !r->config || same_study(config->wire, r->config->wire);
    study_config_free(r->config);
    r->config = config;
    if (!same)
        return "the definition changes what stays";
    if (config->parameters && !r->space &&
        bandit_arms_new_space(&r->space, config->parameters, config->wire->n_parameters, &error) != BANDIT_OK)
        return "the space cannot be made";
    return NULL;
}

/* The definition with the study's new name. The caller frees it; NULL: out of memory. */
static char *renamed_definition(rebuild *r)
{
    char *name = strdup(r->id);
    if (!name)
        return NULL;
    free(r->config->wire->id);
    r->config->wire->id = name;
    return text_of(r->config->wire);
}

static bool below(const uint32_t *list, size_t n, int64_t candidates)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] >= candidates)
            return false;
    return true;
}

/* Rows as wide as the space. */
static bool are_points(const rebuild *r, const double *rows, size_t n)
{
    bandit_error error = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < n; i++)
        fine =
            bandit_arms_check_point(r->space, rows + i * r->config->wire->n_parameters, &error) == BANDIT_OK;
    return fine;
}

/* New candidates; none is fine. */
static const char *check_points(rebuild *r, const store_points *points)
{
    bool space = r->config->wire->domain_type == WIRE_DOMAIN_SPACE;
    int64_t width = space ? (int64_t)r->config->wire->n_parameters : r->config->wire->dimension.value;
    if (points->n == 0)
        return NULL;
    if (points->dimension != width || points->dimension < 1 ||
        (r->candidates > 0 && points->dimension != r->columns))
        return "the candidates have another dimension";
    if (space && !are_points(r, points->rows, points->n))
        return "a point is none of the space";
    for (size_t i = 0; !space && i < points->n * (size_t)points->dimension; i++)
        if (!isfinite(points->rows[i]))
            return "a value is not finite";
    r->columns = points->dimension;
    r->candidates += (int64_t)points->n;
    return r->candidates > WIRE_MAX_COUNT ? "there are too many of them" : NULL;
}

static const char *check_picks(rebuild *r, int64_t first_trial, const store_pick *picks, size_t n)
{
    if (first_trial != r->trials + 1)
        return "the trials are not the next ones";
    for (size_t i = 0; i < n; i++)
        if (picks[i].candidate >= r->candidates)
            return "a pick is not one of the candidates";
    r->trials += (int64_t)n;
    return NULL;
}

static const char *check_held(const rebuild *r, const store_held *held, size_t n_picks)
{
    bool fits = held->n_values == 0 ||
                (r->space && held->n_values == r->config->wire->n_parameters && held->n_picks <= n_picks);
    return fits ? NULL : "what it held is not of the space, or of more picks than there are";
}

static const char *check_planned(rebuild *r, int64_t seq, const store_event *event)
{
    const store_arm_sum *sums = event->u.planned.sums;
    if (event->u.planned.batch.batch != r->batches)
        return "the batch is not the next one";
    if (event->u.planned.through_seq < 0 || event->u.planned.through_seq >= seq)
        return "through_seq is not before it";
    const store_batch *batch = &event->u.planned.batch;
    if (!isfinite(batch->ratio) || !isfinite(batch->beta) || !isfinite(batch->update_seconds) ||
        !isfinite(batch->select_seconds))
        return "a figure of the batch is not finite";
    const char *problem = check_held(r, &event->u.planned.held, event->u.planned.n_picks);
    if (!problem)
        problem = check_points(r, &event->u.planned.points);
    if (problem)
        return problem;
    if (!below(event->u.planned.dictionary, (size_t)event->u.planned.batch.dictionary_size, r->candidates))
        return "the dictionary has a member that is not one of the candidates";
    for (size_t i = 0; i < event->u.planned.n_sums; i++)
        if (sums[i].arm >= r->candidates || (i > 0 && sums[i].arm <= sums[i - 1].arm) ||
            sums[i].count > WIRE_MAX_INTEGER || !isfinite(sums[i].sum))
            return "the sums are not those of candidates, in ascending order";
    r->batches++;
    return check_picks(r, event->u.planned.first_trial, event->u.planned.picks, event->u.planned.n_picks);
}

static bool fits_domain(const rebuild *r, const store_event *event)
{
    const wire_study *wire = r->config->wire;
    switch (wire->domain_type) {
    case WIRE_DOMAIN_CANDIDATES:
        return event->u.candidates.dimension == wire->dimension.value && !r->has_gaps;
    case WIRE_DOMAIN_PRECOMPUTED:
        return event->u.candidates.dimension == wire->size.value &&
               event->u.candidates.count == wire->size.value && !r->has_gaps;
    case WIRE_DOMAIN_SPACE:
        return event->u.candidates.dimension == (int64_t)wire->n_parameters &&
               event->u.candidates.count == (int64_t)bandit_arms_space_size(r->space) &&
               event->u.candidates.count <= SPACE_ENUMERATED_POINTS &&
               (r->rows == 0 ||
                (r->few && r->dimension == wire->n_parameters && are_points(r, r->few, r->rows)));
    }
    return false;
}

static const char *check_candidates(rebuild *r, store_event *event)
{
    bool here = r->rows > 0 && event->u.candidates.count == (int64_t)r->rows &&
                event->u.candidates.dimension == (int64_t)r->dimension &&
                strcmp(event->u.candidates.digest, upload_digest(r->upload)) == 0;
    if (r->batches > 0)
        return "candidates are not replaced after the first batch";
    if (event->u.candidates.count < 1 || event->u.candidates.count > WIRE_MAX_COUNT ||
        event->u.candidates.dimension < 1 || event->u.candidates.dimension > WIRE_MAX_DIMENSION)
        return "there are too many of them, or none";
    if (!fits_domain(r, event))
        return "they are not as the definition says";
    r->has_set = here && !r->attached;
    r->has_gone = !r->has_set;
    event->u.candidates.content = 0;
    if (r->has_set) {
        store_event described;
        upload_describe(r->upload, &described);
        event->u.candidates.content = described.u.candidates.content;
        r->attached = true;
    }
    r->candidates = event->u.candidates.count;
    r->columns = event->u.candidates.dimension;
    return NULL;
}

static const char *check_added(rebuild *r, const store_event *event)
{
    if (event->u.added.first != r->candidates || event->u.added.points.n < 1)
        return "the candidates are not the next ones";
    return check_points(r, &event->u.added.points);
}

/* "" or the text of a JSON object: it is written into answers as it is. */
static bool is_object_text(const char *text)
{
    json_t *json = NULL;
    wire_errors errors = {0};
    if (!text || !*text)
        return true;
    wire_status status = wire_parse(&json, text, strlen(text), &errors);
    bool good = status == WIRE_OK && json_is_object(json);
    json_decref(json);
    wire_errors_clear(&errors);
    return good;
}

/* What may be told over HTTP. */
static bool is_value(double value)
{
    return fabs(value) <= WIRE_MAX_VALUE;
}

/* `value`: 0 when there is none. */
static const char *check_result(const rebuild *r, int64_t trial, trial_state state, double value,
                                int64_t repeats, const char *recorded, const char *metadata)
{
    if (trial < 1 || trial > r->trials)
        return "there is no such trial";
    if (state == TRIAL_QUEUED || state == TRIAL_PENDING)
        return "its state is not one of results";
    if (!is_value(value))
        return "its value is out of range";
    if (repeats < 0 || repeats > WIRE_MAX_REPEATS)
        return "its repeats are out of range";
    return is_object_text(recorded) && is_object_text(metadata) ? NULL : "it carries what is no JSON object";
}

static const char *check_amended(const rebuild *r, const store_event *event)
{
    bool has_best = event->u.amended.best_trial != 0;
    if (event->u.amended.best_trial < 0 || event->u.amended.best_trial > r->trials ||
        event->u.amended.best_candidate < 0 ||
        (has_best && event->u.amended.best_candidate >= r->candidates) ||
        !is_value(event->u.amended.best_value))
        return "the best trial is none of the study's";
    return check_result(r, event->u.amended.trial, event->u.amended.state,
                        event->u.amended.has_value ? event->u.amended.value : 0, 1, event->u.amended.recorded,
                        "");
}

static const char *check_observed(const rebuild *r, const store_event *event)
{
    for (size_t i = 0; i < event->u.observed.n; i++) {
        const store_observation *o = &event->u.observed.list[i];
        if (o->candidate >= r->candidates || o->repeats < 1 || o->repeats > WIRE_MAX_REPEATS ||
            !is_value(o->value))
            return "a reward is not one of the candidates', or it or its repeats are out of range";
    }
    return NULL;
}

/* What is wrong with the event, as far as the store does not see it itself; NULL: nothing. Changes its
 * content and, in another place, its name to what they are there. */
static const char *check_event(rebuild *r, int64_t seq, store_event *event)
{
    const char *problem;
    switch (event->type) {
    case EVENT_STUDY_CREATED:
        problem = take_definition(r, event->u.created.definition);
        if (!problem && strcmp(r->config->wire->id, event->u.created.id) != 0)
            return "the definition has another id";
        if (!problem && !route_is_study_id(event->u.created.id, strlen(event->u.created.id)))
            return "the id cannot be a study's";
        if (!problem && !r->id && !(r->id = strdup(event->u.created.id)))
            fail(r, STORE_NO_MEMORY);
        return problem;
    case EVENT_STUDY_CHANGED:
        return event->u.changed.definition ? take_definition(r, event->u.changed.definition) : NULL;
    case EVENT_CANDIDATES_SET:
        return check_candidates(r, event);
    case EVENT_CANDIDATES_ADDED:
        return check_added(r, event);
    case EVENT_CANDIDATES_RETIRED:
        return below(event->u.retired.list, event->u.retired.n, r->candidates) ? NULL
                                                                               : "there is no such candidate";
    case EVENT_BATCH_PLANNED:
        return check_planned(r, seq, event);
    case EVENT_BATCH_EXTENDED:
        if (event->u.extended.batch != r->batches - 1)
            return "the batch is not the last one";
        if (event->u.extended.through_seq < 0 || event->u.extended.through_seq >= seq)
            return "through_seq is not before it";
        if (!isfinite(event->u.extended.ratio))
            return "its ratio is not finite";
        problem = check_held(r, &event->u.extended.held, event->u.extended.n_picks);
        if (!problem)
            problem = check_points(r, &event->u.extended.points);
        if (problem)
            return problem;
        return check_picks(r, event->u.extended.first_trial, event->u.extended.picks,
                           event->u.extended.n_picks);
    case EVENT_TRIAL_ISSUED:
    case EVENT_TRIAL_RENEWED:
    case EVENT_TRIAL_REQUEUED:
        return NULL; /* the store looks at the trial */
    case EVENT_TRIAL_MEASURED:
        return is_value(event->u.measured.value) ? NULL : "its value is out of range";
    case EVENT_TRIAL_PROPOSED:
        return check_picks(r, event->u.proposed.trial, &event->u.proposed.pick, 1);
    case EVENT_TRIAL_TOLD:
        return check_result(r, event->u.told.trial, event->u.told.state,
                            event->u.told.has_value ? event->u.told.value : 0, event->u.told.repeats,
                            event->u.told.recorded, event->u.told.metadata);
    case EVENT_LATE_RESULT_TOLD:
        return check_result(r, event->u.late.trial, TRIAL_COMPLETED, event->u.late.value,
                            event->u.late.repeats, event->u.late.recorded, event->u.late.metadata);
    case EVENT_TRIAL_AMENDED:
        return check_amended(r, event);
    case EVENT_OBSERVATIONS_ADDED:
        return check_observed(r, event);
    case STORE_EVENT_TYPES:
        break;
    }
    return "unknown";
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* Adds the event, with the study's new name where it has one. */
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

wire_status rebuild_entry(rebuild *r, int64_t seq, int64_t time, const char *type, const char *payload,
                          wire_errors *errors)
{
    store_event *event = NULL;
    store_error error = {0};
    const char *problem = NULL;
    if (seq != r->entries + 1) {
        refuse(errors, seq, type, "it is not the next entry");
        return WIRE_INVALID;
    }
    store_status status = store_event_decode(&event, type, time, payload, &error);
    if (status == STORE_NO_MEMORY)
        return WIRE_NO_MEMORY;
    if (status)
        problem = error.message;
    else if ((event->type == EVENT_STUDY_CREATED) != (seq == 1))
        problem = "a study is made by its first entry, and by no other";
    else
        problem = check_event(r, seq, event);
    r->entries = seq;
    if (problem)
        refuse(errors, seq, type, problem);
    else if ((status = add(r, event, payload)) != STORE_OK)
        fail(r, status);
    free(event);
    return problem ? WIRE_INVALID : WIRE_OK;
}

bool rebuild_has_candidates(const rebuild *r)
{
    return !r->has_gone && (r->rows == 0 || r->attached);
}

wire_status rebuild_finish(rebuild *r, wire_errors *errors)
{
    if (r->entries == 0)
        wire_errors_add(errors, "", "there is no log");
    else if (!rebuild_has_candidates(r))
        wire_errors_add(errors, "", "the candidates are not those that the log speaks of");
    else
        return WIRE_OK;
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
