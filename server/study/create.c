/* Creation of studies. Points are first staged in the store, in blocks. Then one write records the study's
 * first events and assigns the points to it. */
#include "server/study/create.h"

#include "proto/conditions.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/candidate_keys.h"
#include "server/data/definition.h"
#include "server/data/feature_ranges.h"
#include "server/data/frozen_sources.h"
#include "server/data/history_transfer.h"
#include "server/data/space_rules.h"
#include "server/data/study_space.h"
#include "server/data/study_view.h"
#include "server/data/upload.h"

#include <stdlib.h>
#include <string.h>

typedef struct creation {
    computing_job job;
    app *app;
    study_request *request;
    wire_study *wanted; /* the user's definition, until it is completed */
    char *id;
    study_config *config; /* of the completed definition */
    wire_study
        points; /* n_points x dimension, with their keys, inline or of an enumerated space; NULL: none */
    history_transfer *history; /* the results of another study; NULL: none */
    int64_t history_through;
    char *definition; /* in the stored form */
    int64_t now;
    store_lane *lane;
    store_write *write;
    upload *upload; /* of the points; NULL: none */
} creation;

static void creation_free(creation *c)
{
    store_write_free(c->write);
    store_lane_close(c->lane);
    upload_free(c->upload);
    history_transfer_free(c->history);
    study_config_free(c->config);
    wire_study_free(c->wanted);
    free(c->points.points);
    wire_keys_free(c->points.keys);
    free(c->definition);
    free(c->id);
    free(c);
}

/* ---- the write ----------------------------------------------------------------------------------------- */

/* certain: it is not a write with the same Idempotency-Key that was in the way. */
static void reply_exists(study_request *request, const char *id, bool certain)
{
    reply_problem(request, REPLY_CONFLICT, NULL, "there is already a study '%s'%s", id,
                  certain ? "" : ", or another study was created with this Idempotency-Key");
}

/* Runs on the writer thread: the study is on disk, or writing has failed. */
static void created(void *arg, store_status status, int64_t number, int64_t last_seq)
{
    creation *c = arg;
    study_request *request = c->request;
    (void)number;
    (void)last_seq;
    if (status == STORE_OK) {
        log_event(LOG_INFO, "study_created", "study", c->id, NULL);
        if (c->upload)
            upload_keep(c->upload);
        reply_release(request);
    } else if (status == STORE_EXISTS) {
        request->held = false;
        reply_exists(request, c->id, !request->key);
    } else if (status == STORE_TOO_MANY) {
        request->held = false;
        reply_limit(request, REPLY_TOO_MANY_STUDIES);
    } else {
        reply_unstored(request, status);
    }
    creation_free(c);
}

/* Called when the points are staged. Submits the study itself. */
static void submit(void *arg)
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

static store_status stage_points(creation *c)
{
    const wire_study *points = &c->points;
    size_t d = (size_t)points->dimension.value, at_once = upload_rows_at_once(d);
    store_status status = upload_new(&c->upload, c->app->store);
    for (size_t first = 0; status == STORE_OK && first < points->n_points; first += at_once) {
        size_t left = points->n_points - first;
        status =
            upload_rows(c->upload, first, left < at_once ? left : at_once, d, points->points + first * d);
    }
    return status;
}

/* A space needs no upload: the candidates of an enumerated space follow from its definition, and those of an open space
 * are created when they are first visited. */
static study_state first_state(const creation *c)
{
    bool ready = c->points.n_points > 0 || c->config->wire->domain_type == WIRE_DOMAIN_SPACE;
    return ready ? STUDY_ACTIVE : STUDY_AWAITING_CANDIDATES;
}

static store_status add_history(creation *c)
{
    const history_transfer *history = c->history;
    store_status status = STORE_OK;
    if (history->n_points > 0) {
        store_event event = {.type = EVENT_CANDIDATES_ADDED, .time = c->now};
        event.u.added.points = (store_points){.n = history->n_points,
                                              .dimension = (int64_t)candidate_width(c->config->wire),
                                              .rows = history->points};
        status = store_write_add(c->write, &event);
    }
    if (status == STORE_OK && history->n > 0) {
        store_event event = {.type = EVENT_OBSERVATIONS_ADDED, .time = c->now};
        event.u.observed.list = history->list;
        event.u.observed.n = history->n;
        status = store_write_add(c->write, &event);
    }
    return status;
}

static store_status add_event(void *write, const store_event *event)
{
    return store_write_add(write, event);
}

static store_status add_events(creation *c)
{
    store_event event = {.type = EVENT_STUDY_CREATED, .time = c->now};
    event.u.created.id = c->id;
    event.u.created.definition = c->definition;
    event.u.created.state = first_state(c);
    store_status status = store_write_add(c->write, &event);
    if (status == STORE_OK && c->upload) {
        event = (store_event){.type = EVENT_CANDIDATES_SET, .time = c->now};
        upload_describe(c->upload, &event);
        event.u.candidates.dimension = c->points.dimension.value;
        status = store_write_add(c->write, &event);
    }
    if (status == STORE_OK && c->points.keys && !wire_keys_are_empty(c->points.keys))
        status = candidate_keys_record(0, c->points.keys, c->now, add_event, c->write);
    return status == STORE_OK && c->history ? add_history(c) : status;
}

/* Makes the reply, which is held until the study is on disk. */
static store_status make_reply(creation *c)
{
    study_request *request = c->request;
    const history_transfer *history = c->history;
    store_study row = {.id = c->id,
                       .advice = "",
                       .definition = c->definition,
                       .state = first_state(c),
                       .state_reason = "",
                       .created_at = c->now,
                       .updated_at = c->now,
                       .reference_candidates = (int64_t)c->points.n_points,
                       .candidates = (int64_t)(c->points.n_points + (history ? history->n_points : 0)),
                       .observations = history ? (int64_t)history->n : 0};
    wire_writer w = WIRE_WRITER_INIT;
    store_status status = study_view_encode_new(&w, &row, history, c->points.points);
    if (status != STORE_OK) {
        wire_writer_clear(&w);
        return status;
    }
    request->held = true;
    return reply_created(request, &w, c->id) ? STORE_OK : STORE_NO_MEMORY;
}

static store_status prepare(creation *c)
{
    size_t size;
    wire_writer w = WIRE_WRITER_INIT;
    c->now = clock_now();
    c->id = strdup(c->config->wire->id);
    wire_encode_definition(&w, c->config->wire);
    if (!wire_writer_finish(&w, &c->definition, &size) || !c->id)
        return STORE_NO_MEMORY;
    store_status status = store_lane_open(&c->lane, c->app->store, 0, 0, 0);
    if (status == STORE_OK && c->points.n_points > 0)
        status = stage_points(c);
    if (status == STORE_OK)
        status = store_write_new(&c->write, c->lane);
    if (status == STORE_OK) {
        store_write_limit_studies(c->write, c->app->config->max_studies);
        status = add_events(c);
    }
    if (status == STORE_OK)
        status = make_reply(c);
    if (status == STORE_OK && c->request->key)
        status = c->request->client->keep(c->request, 0, c->write);
    return status;
}

static void ignore_row(void *arg, const store_study *row)
{
    (void)arg;
    (void)row;
}

/* The write refuses a taken id as well, but cannot tell it from a key that was used at the same moment. */
static bool is_taken(const creation *c)
{
    store_error error = {0};
    return store_read_study(c->app->store, c->config->wire->id, ignore_row, NULL, &error) == STORE_OK;
}

static void create(creation *c)
{
    if (c->request->key && is_taken(c)) {
        reply_exists(c->request, c->config->wire->id, true);
        creation_free(c);
        return;
    }
    store_status status = prepare(c);
    if (status != STORE_OK) {
        reply_unstored(c->request, status);
        creation_free(c);
        return;
    }
    free(c->points.points); /* they are staged now */
    c->points.points = NULL;
    if (c->upload) {
        upload_wait(c->upload, 0, submit, c);
    } else {
        submit(c);
    }
}

/* ---- the parts of a new study -------------------------------------------------------------------------- */

/* Are there points that keep the constraints? */
static wire_status look_for_points(const creation *c, wire_errors *errors)
{
    bandit_arms *arms = NULL;
    bandit_error error = {0};
    bool no_memory = space_arms_new(&arms, c->config->wire, c->config->parameters, &error) != BANDIT_OK;
    bool found = !no_memory && space_has_points(arms, c->config->wire, errors, &no_memory);
    bandit_arms_free(arms);
    if (no_memory)
        return WIRE_NO_MEMORY;
    return found ? WIRE_OK : WIRE_INVALID;
}

/* Lists the points of an enumerated space. An open space has none yet. */
static wire_status list_space(creation *c, wire_errors *errors)
{
    const wire_study *definition = c->config->wire;
    bandit_error error = {0};
    bool listed;
    if (space_enumerate(&c->points.points, &c->points.n_points, &listed, definition, &error) != BANDIT_OK)
        return WIRE_NO_MEMORY;
    if (definition->n_constraints > 0 && c->points.n_points == 0) {
        wire_status status = look_for_points(c, errors);
        if (status != WIRE_OK)
            return status;
    }
    if (!c->points.points &&
        !space_takes(c->config->parameters, definition->n_parameters, &c->config->options, &error)) {
        if (error.status == BANDIT_NO_MEMORY)
            return WIRE_NO_MEMORY;
        wire_errors_add(errors, log_format("/algorithm/%s", *error.field ? error.field : "name"), "%s",
                        error.message);
        return WIRE_INVALID;
    }
    c->points.dimension = (wire_integer){.given = true, .value = (int64_t)definition->n_parameters};
    return WIRE_OK;
}

/* Completes the definition. Its points go to the store, and are not part of the stored definition. */
static wire_status complete(creation *c, wire_errors *errors)
{
    wire_study *wanted = c->wanted;
    c->points =
        (wire_study){.points = wanted->points, .n_points = wanted->n_points, .dimension = wanted->dimension};
    c->points.keys = wanted->keys;
    wanted->points = NULL;
    wanted->keys = NULL;
    wire_status status = study_config_complete(wanted, errors);
    /* a fork may have the conditions of its stored definition */
    if (status == WIRE_OK && c->history_through == INT64_MAX && !wire_check_conditions(wanted, errors))
        status = WIRE_INVALID;
    if (status != WIRE_OK)
        return status;
    c->wanted = NULL;
    status = study_config_new(&c->config, wanted, errors);
    if (status == WIRE_OK && c->config->wire->domain_type == WIRE_DOMAIN_SPACE)
        status = list_space(c, errors);
    return status;
}

/* Can a model be built from the points? */
static wire_status check_points(const creation *c, wire_errors *errors)
{
    feature_ranges ranges = {0};
    bandit_error error = {0};
    if (c->config->wire->domain_type != WIRE_DOMAIN_CANDIDATES)
        return WIRE_OK;
    if (!feature_ranges_add(&ranges, c->points.n_points, (size_t)c->points.dimension.value, c->points.points))
        return WIRE_NO_MEMORY;
    bandit_status status = feature_ranges_check(&ranges, c->config->scaling, &error);
    if (status != BANDIT_OK)
        wire_errors_add(errors, "/domain/points", "%s", error.message);
    feature_ranges_clear(&ranges);
    return status == BANDIT_OK ? WIRE_OK : WIRE_INVALID;
}

static bool fits(const creation *c)
{
    const wire_study *definition = c->config->wire;
    bool matrix = definition->domain_type == WIRE_DOMAIN_PRECOMPUTED;
    size_t rows = matrix ? (size_t)definition->size.value : c->points.n_points;
    size_t columns = (size_t)(matrix ? definition->size : c->points.dimension).value;
    return columns == 0 || rows <= c->app->config->max_values / columns;
}

static wire_status take_history(creation *c, wire_errors *errors, store_status *stored)
{
    history_request asked = {.study = c->config->wire->history_from,
                             .pointer = "/history_from",
                             .through_seq = c->history_through};
    return history_transfer_new(&c->history, c->app->store, c->config, &asked, &c->points, errors, stored);
}

/* Does everything that can be done before the write, including reading the results of another study if the definition
 * requests them. False: the request was refused. */
static bool decide(creation *c)
{
    wire_errors errors = {0};
    store_status stored = STORE_OK;
    wire_status status = complete(c, &errors);
    if (status == WIRE_OK)
        status = check_points(c, &errors);
    if (status == WIRE_OK && c->config->wire->history_from)
        status = take_history(c, &errors, &stored);
    if (status == WIRE_OK && stored == STORE_OK)
        status = frozen_sources_make(c->app->store, c->app->config->study_memory, c->config, &c->points,
                                     &errors, &stored);
    bool fine = stored == STORE_OK && status == WIRE_OK && fits(c);
    if (stored != STORE_OK)
        reply_store_problem(c->request, stored);
    else if (status != WIRE_OK)
        reply_undecodable(c->request, status, &errors);
    else if (!fine)
        reply_limit(c->request, REPLY_TOO_MANY_VALUES);
    wire_errors_clear(&errors);
    return fine;
}

static void run(computing_job *job)
{
    creation *c = (creation *)(void *)job;
    if (decide(c))
        create(c);
    else
        creation_free(c);
}

void study_create(app *a, study_request *request, wire_study *wanted, int64_t history_through)
{
    creation *c = calloc(1, sizeof *c);
    if (!c) {
        wire_study_free(wanted);
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *c = (creation){
        .job.run = run, .app = a, .request = request, .wanted = wanted, .history_through = history_through};
    /* reading another study's results may take long, and so may a search for points that keep constraints */
    if (wanted->history_from || wanted->n_learn_from > 0 || wanted->n_constraints > 0)
        computing_submit(a->computing, &c->job, NULL);
    else
        run(&c->job);
}
