/* Creating, showing, listing and deleting studies. */
#include "proto/changes.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/definition.h"
#include "server/data/history_transfer.h"
#include "server/data/study_space.h"
#include "server/data/study_view.h"
#include "server/data/upload.h"
#include "server/http/idempotency.h"
#include "server/http/limits.h"
#include "server/http/paging.h"
#include "server/study/actor.h"
#include "server/study/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- creating ------------------------------------------------------------------------------------------ */

typedef struct creation {
    http_request *request;
    store_lane *lane;
    store_write *write;
    upload *upload; /* of inline points; NULL */
    char *id;
} creation;

static void creation_free(creation *c)
{
    store_write_free(c->write);
    store_lane_close(c->lane);
    upload_free(c->upload);
    free(c->id);
    free(c);
}

static void drop_held(http_request *request)
{
    free(request->answer.body);
    request->answer = (struct http_answer){0};
    request->held = false;
}

/* In place of the answer that is held. */
static void conflict(http_request *request, const char *id)
{
    drop_held(request);
    http_answer_problem(request, 409, NULL, "there is a study '%s' already%s", id,
                        request->idempotency_key ? ", or a request with this Idempotency-Key" : "");
}

/* The writer thread: the study is on disk, or is not. */
static void created(void *arg, store_status status, int64_t number, int64_t last_seq)
{
    creation *c = arg;
    http_request *request = c->request;
    (void)number;
    (void)last_seq;
    if (status == STORE_OK) {
        log_event(LOG_INFO, "study_created", "study", c->id, NULL);
        if (c->upload)
            upload_keep(c->upload);
        http_release(request);
    } else if (status == STORE_EXISTS) {
        conflict(request, c->id);
    } else if (status == STORE_TOO_MANY) {
        drop_held(request);
        limit_studies_passed(request);
    } else {
        http_release_failed(request, status);
    }
    creation_free(c);
}

/* Once the points are staged: the study itself. */
static void submit_creation(void *arg)
{
    creation *c = arg;
    store_status status = c->upload ? upload_status(c->upload) : STORE_OK;
    if (status != STORE_OK) {
        created(c, status, 0, 0);
        return;
    }
    store_write *write = c->write;
    c->write = NULL;
    store_submit(write, created, c);
}

static store_status stage_points(creation *c, app *a, const wire_study *points)
{
    size_t d = (size_t)points->dimension.value, at_once = upload_rows_at_once(d);
    store_status status = upload_new(&c->upload, a->store);
    for (size_t first = 0; status == STORE_OK && first < points->n_points; first += at_once) {
        size_t left = points->n_points - first;
        status =
            upload_rows(c->upload, first, left < at_once ? left : at_once, d, points->points + first * d);
    }
    return status;
}

/* A space needs no candidates: those of a small one are made from it, those of another while it is explored.
 */
static study_state first_state(const study_config *settings, size_t n_points)
{
    bool ready = n_points > 0 || settings->wire->domain_type == WIRE_DOMAIN_SPACE;
    return ready ? STUDY_ACTIVE : STUDY_AWAITING_CANDIDATES;
}

static store_status add_history(creation *c, const study_config *settings, const takeover *history,
                                int64_t now)
{
    store_status status = STORE_OK;
    if (history->n_points > 0) {
        store_event event = {.type = EVENT_CANDIDATES_ADDED, .time = now};
        event.u.added.points = (store_points){.n = history->n_points,
                                              .dimension = (int64_t)candidate_width(settings->wire),
                                              .rows = history->points};
        status = store_write_add(c->write, &event);
    }
    if (status == STORE_OK && history->n > 0) {
        store_event event = {.type = EVENT_OBSERVATIONS_ADDED, .time = now};
        event.u.observed.list = history->list;
        event.u.observed.n = history->n;
        status = store_write_add(c->write, &event);
    }
    return status;
}

static store_status add_events(creation *c, const study_config *settings, const wire_study *points,
                               const takeover *history, int64_t now, const char *definition)
{
    size_t n_points = points->points ? points->n_points : 0;
    store_event event = {.type = EVENT_STUDY_CREATED, .time = now};
    event.u.created.id = c->id;
    event.u.created.definition = definition;
    event.u.created.state = first_state(settings, n_points);
    store_status status = store_write_add(c->write, &event);
    if (status == STORE_OK && n_points) {
        event = (store_event){.type = EVENT_CANDIDATES_SET, .time = now};
        upload_describe(c->upload, &event);
        event.u.candidates.dimension = points->dimension.value;
        status = store_write_add(c->write, &event);
    }
    return status == STORE_OK && history ? add_history(c, settings, history, now) : status;
}

/* The answer, held until the study is on disk. */
static store_status set_answer(creation *c, const study_config *settings, size_t n_points,
                               const takeover *history, int64_t now, const char *definition)
{
    http_request *request = c->request;
    store_study row = {.id = c->id,
                       .definition = definition,
                       .state = first_state(settings, n_points),
                       .state_reason = "",
                       .created_at = now,
                       .updated_at = now,
                       .candidates = (int64_t)(n_points + (history ? history->n_points : 0)),
                       .observations = history ? (int64_t)history->n : 0};
    wire_writer w = WIRE_WRITER_INIT;
    store_status status = study_view_encode_new(&w, &row, history ? &history->shown : NULL);
    if (status != STORE_OK) {
        wire_writer_clear(&w);
        return status;
    }
    snprintf(request->answer.location, sizeof request->answer.location, "/v1/studies/%s", c->id);
    request->held = true;
    http_answer_json(request, 201, &w);
    return request->answer.status == 201 ? STORE_OK : STORE_NO_MEMORY;
}

static void create(http_request *request, const study_config *settings, const wire_study *points,
                   const takeover *history)
{
    size_t n_points = points->points ? points->n_points : 0;
    app *a = request->app;
    int64_t now = clock_now();
    store_status status = STORE_NO_MEMORY;
    char *definition = NULL;
    size_t size;
    wire_writer w = WIRE_WRITER_INIT;
    creation *c = calloc(1, sizeof *c);
    if (!c || !(c->id = strdup(settings->wire->id)))
        goto failed;
    c->request = request;
    wire_encode_definition(&w, settings->wire);
    if (!wire_writer_finish(&w, &definition, &size))
        goto failed;
    status = store_lane_open(&c->lane, a->store, 0, 0, 0);
    if (status == STORE_OK && n_points)
        status = stage_points(c, a, points);
    if (status == STORE_OK)
        status = store_write_new(&c->write, c->lane);
    if (status == STORE_OK) {
        limit_studies_in_write(request, c->write);
        status = add_events(c, settings, points, history, now, definition);
    }
    if (status == STORE_OK)
        status = set_answer(c, settings, n_points, history, now, definition);
    if (status == STORE_OK)
        status = idempotency_attach(request, 0, c->write);
    if (status != STORE_OK)
        goto failed;
    free(definition);
    if (c->upload)
        upload_wait(c->upload, 0, submit_creation, c);
    else
        submit_creation(c);
    return;
failed:
    free(definition);
    if (c)
        creation_free(c);
    http_release_failed(request, status);
}

/* The points of a small space; none of another. */
static wire_status list_space(wire_study *out, const study_config *settings, wire_errors *errors)
{
    const wire_study *definition = settings->wire;
    bandit_error error = {0};
    if (space_enumerate(&out->points, &out->n_points, definition, &error) != BANDIT_OK)
        return WIRE_NO_MEMORY;
    if (!out->points &&
        !space_takes(settings->parameters, definition->n_parameters, &settings->options, &error)) {
        if (error.status == BANDIT_NO_MEMORY)
            return WIRE_NO_MEMORY;
        wire_errors_add(errors, log_format("/algorithm/%s", *error.field ? error.field : "name"), "%s",
                        error.message);
        return WIRE_INVALID;
    }
    out->dimension = (wire_integer){.given = true, .value = (int64_t)definition->n_parameters};
    return WIRE_OK;
}

static bool fits(http_request *request, const wire_study *definition, const wire_study *points)
{
    if (definition->domain_type == WIRE_DOMAIN_PRECOMPUTED)
        return limit_values(request, (size_t)definition->size.value, (size_t)definition->size.value);
    return limit_values(request, points->n_points, (size_t)points->dimension.value);
}

/* With the results of another study, if it wants them. False: answered, or listed in *errors. */
static bool create_with_history(http_request *request, const study_config *settings, wire_study *points,
                                wire_errors *errors)
{
    takeover *history = NULL;
    store_status stored = STORE_OK;
    wire_status status = WIRE_OK;
    if (settings->wire->history_from)
        status = takeover_new(&history, request->app->store, settings, points, errors, &stored);
    if (stored != STORE_OK)
        http_answer_store_problem(request, stored);
    else if (status == WIRE_OK && fits(request, settings->wire, points))
        create(request, settings, points, history);
    takeover_free(history);
    return status == WIRE_OK;
}

static void create_later(pool_task *task);

static void create_study(http_request *request, bool at_leisure)
{
    wire_study *wanted;
    wire_errors errors = {0};
    study_config *settings = NULL;
    wire_status status = study_config_decode(&wanted, request->body, request->body_size, &errors);
    if (status == WIRE_OK && wanted->history_from && !at_leisure) {
        wire_study_free(wanted);
        request->task.run = create_later;
        pool_submit(request->app->pool, &request->task, POOL_LONG);
        return;
    }
    if (status == WIRE_OK) {
        /* The points go into the store, not into the definition. */
        wire_study points = {
            .points = wanted->points, .n_points = wanted->n_points, .dimension = wanted->dimension};
        wanted->points = NULL;
        status = study_config_complete(wanted, &errors);
        if (status == WIRE_OK)
            status = study_config_new(&settings, wanted, &errors);
        else
            wire_study_free(wanted);
        if (status == WIRE_OK && settings->wire->domain_type == WIRE_DOMAIN_SPACE)
            status = list_space(&points, settings, &errors);
        if (status == WIRE_OK && !create_with_history(request, settings, &points, &errors))
            status = WIRE_INVALID;
        free(points.points);
    }
    if (status != WIRE_OK)
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
    study_config_free(settings);
}

/* A long task: another study's results are read. */
static void create_later(pool_task *task)
{
    create_study((http_request *)((char *)task - offsetof(http_request, task)), true);
}

void handle_study_create(http_request *request)
{
    if (!idempotency_replay(request, 0) && limit_studies(request))
        create_study(request, false);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct showing {
    store *store;
    wire_writer w;
    page page;
    char last_id[64];
    wire_writer damaged; /* the ids of those that are: the beginning of an array */
    bool any_damaged;
    store_status status; /* of showing a row */
    char etag[40];       /* of one study */
} showing;

static void show_got(void *arg, const store_study *row)
{
    showing *s = arg;
    study_etag(s->etag, row->study, row->last_seq);
    s->status = study_view_encode(&s->w, s->store, row);
}

void handle_study_get(http_request *request)
{
    showing s = {.store = request->app->store};
    store_error error = {0};
    store_status status = store_read_study(request->app->store, request->study, show_got, &s, &error);
    if (status == STORE_OK)
        status = s.status;
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else {
        memcpy(request->answer.etag, s.etag, sizeof s.etag);
        http_answer_json(request, 200, &s.w);
    }
    wire_writer_clear(&s.w);
}

static void show_listed(void *arg, const store_study *row)
{
    showing *s = arg;
    if (!page_take(&s->page))
        return;
    snprintf(s->last_id, sizeof s->last_id, "%s", row->id);
    store_status status = row->damaged ? STORE_CORRUPT : study_view_encode(&s->w, s->store, row);
    if (status == STORE_CORRUPT) {
        if (!s->any_damaged)
            wire_array_begin(&s->damaged);
        s->any_damaged = true;
        wire_string(&s->damaged, row->id);
    } else if (status != STORE_OK && status != STORE_NOT_FOUND) { /* that one has been deleted meanwhile */
        s->status = status;
    }
}

/* The list is written to its end, or s->status says why not. */
static void end_list(showing *s)
{
    char *damaged = NULL;
    size_t size;
    if (s->any_damaged) {
        wire_array_end(&s->damaged);
        if (!wire_writer_finish(&s->damaged, &damaged, &size))
            s->status = STORE_NO_MEMORY;
    }
    wire_study_list_end(&s->w, damaged, s->page.more ? s->last_id : NULL);
    free(damaged);
}

/* ?state= and ?label=key:value; answers and returns false when they are not valid. */
static bool read_filters(http_request *request, store_study_filter *filter)
{
    const char *state = request->query[HTTP_QUERY_STATE];
    char *label = request->query[HTTP_QUERY_LABEL];
    char *colon = label ? strchr(label, ':') : NULL;
    if (state && !study_state_parse(&filter->state, state)) {
        http_answer_problem(request, 422, NULL, "query parameter 'state' is no state of a study");
        return false;
    }
    if (label && !colon) {
        http_answer_problem(request, 422, NULL, "query parameter 'label' must be key:value");
        return false;
    }
    filter->by_state = state != NULL;
    if (colon) {
        *colon = '\0';
        filter->label = label;
        filter->label_value = colon + 1;
    }
    return true;
}

void handle_study_list(http_request *request)
{
    showing s = {.store = request->app->store};
    store_error error = {0};
    store_study_filter filter = {0};
    if (!page_read(&s.page, request, false, 0) || !read_filters(request, &filter))
        return;
    filter.after = s.page.token;
    if (*request->caller.study) /* a token of one study sees that one */
        filter.id = request->caller.study;
    wire_list_begin(&s.w);
    store_status status =
        store_read_studies(request->app->store, &filter, s.page.limit + 1, show_listed, &s, &error);
    end_list(&s);
    if (status == STORE_OK)
        status = s.status;
    if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else
        http_answer_json(request, 200, &s.w);
    wire_writer_clear(&s.damaged);
    wire_writer_clear(&s.w);
}

static void free_patch(void *patch)
{
    wire_study_patch_free(patch);
}

void handle_study_patch(http_request *request)
{
    wire_study_patch *patch;
    wire_errors errors = {0};
    wire_status status = wire_decode_study_patch(&patch, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = patch;
        request->context_free = free_patch;
        registry_post(request->app->registry, request, study_patch);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

void handle_study_delete(http_request *request)
{
    registry_post(request->app->registry, request, study_delete);
}
