/* Imports observations. They are read in pieces on the pool, and given to the study in one turn. */
#include "server/study/observations.h"
#include "proto/arrays.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/candidate_match.h"
#include "server/data/definition.h"
#include "server/data/result_values.h"
#include "server/data/study_space.h"
#include "server/http/paging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void import_free(void *context)
{
    import *in = context;
    wire_observations_reader_free(in->reader);
    study_config_free(in->config);
    for (size_t i = 0; i < in->n; i++)
        free((char *)(uintptr_t)in->list[i].recorded);
    wire_errors_clear(&in->misses);
    free(in->list);
    free(in->points);
    free(in->broken);
    free(in);
}

/* The candidate in `list` until it is found, if a result names its candidate by features. */
enum { BY_FEATURES = -1 };

/* The most results at points that break a constraint: each of them is an entry of the log, and all are written in one
 * turn of the study. */
enum { MOST_BROKEN = 10000 };

/* Adds the errors of a row of a table, without their pointers. */
static void add_row_errors(const char *place, const wire_errors *from, wire_errors *errors)
{
    for (size_t i = 0; i < from->n; i++) {
        const char *name = strrchr(from->items[i].pointer, '/');
        wire_errors_add(errors, "", "%s, \"%.100s\": %s", place, name ? name + 1 : "", from->items[i].detail);
    }
    errors->no_memory |= from->no_memory;
}

/* Reads the first objective's value, and the text of the other values. False: the problems are in *errors. */
static bool read_values(import *in, const char *place, const wire_observation *o, double *value,
                        char **recorded, wire_errors *errors)
{
    wire_errors found = {0};
    wire_result result = {.has_value = o->has_value,
                          .value = o->value,
                          .values = (wire_named_value *)(uintptr_t)o->values,
                          .n_values = o->n_values,
                          .std_error = o->std_error,
                          .std_errors = (wire_named_value *)(uintptr_t)o->std_errors,
                          .n_std_errors = o->n_std_errors};
    bool fine = result_values_read(in->config, &result, in->is_json ? place : "", recorded,
                                   in->is_json ? errors : &found);
    if (!fine && !in->is_json)
        add_row_errors(place, &found, errors);
    in->no_memory |= !fine && errors->n == 0;
    wire_errors_clear(&found);
    *value = result.value;
    return fine;
}

/* Clears the points of the results that have a candidate's number. There is room for n points. */
static void set_blank(import *in, size_t width)
{
    memset(in->points + in->n_points * width, 0, (in->n - in->n_points) * width * sizeof *in->points);
    in->n_points = in->n;
}

/* Finds the number of the candidate with the key. If there is none, it is 0, and *in has the problem. False: the store
 * failed. */
static bool find_by_key(import *in, const char *place, const char *key, int64_t *candidate)
{
    store_error error = {0};
    in->status = store_find_key(in->store, in->study, key, candidate, &error);
    if (in->status == STORE_OK && *candidate >= in->candidates)
        *candidate = -1; /* the candidate is newer than the import */
    if (in->status == STORE_OK && *candidate < 0) {
        char pointer[80];
        snprintf(pointer, sizeof pointer, "%s/key", place);
        wire_errors_add(&in->misses, in->is_json ? pointer : "", "%s%sno candidate has the key \"%s\"",
                        in->is_json ? "" : place, in->is_json ? "" : ": ", key);
        *candidate = 0;
    }
    return in->status == STORE_OK;
}

static bool take(void *arg, size_t index, const char *place, const wire_observation *o, wire_errors *errors)
{
    import *in = arg;
    double value;
    char *recorded;
    (void)index;
    bool space = in->definition->n_parameters > 0;
    size_t width = o->parameters || o->features ? candidate_width(in->definition) : 0;
    int64_t named = o->candidate;
    if (o->key && !find_by_key(in, place, o->key, &named))
        return false;
    if (width == 0 && named >= in->candidates) {
        wire_errors_add(errors, place, "there are %lld candidates, numbered from 0: %lld is not one of them",
                        (long long)in->candidates, (long long)named);
        return false;
    }
    if (o->broken && ++in->n_broken > MOST_BROKEN) {
        wire_errors_add(errors, in->is_json ? place : "",
                        "%s%smore than %d results break a constraint: import the table in parts",
                        in->is_json ? "" : place, in->is_json ? "" : ": ", MOST_BROKEN);
        return false;
    }
    if (!read_values(in, place, o, &value, &recorded, errors))
        return false;
    in->no_memory =
        !wire_grow(&in->list, &in->capacity, in->n + 1, 256, sizeof *in->list) ||
        (in->takes_broken &&
         !wire_grow(&in->broken, &in->broken_capacity, in->n + 1, 256, sizeof *in->broken)) ||
        (width && !wire_grow(&in->points, &in->points_capacity, in->n + 1, 256, width * sizeof *in->points));
    if (in->no_memory) {
        free(recorded);
        return false;
    }
    const double *point = space ? o->parameters : o->features;
    if (width && point) {
        set_blank(in, width);
        memcpy(in->points + in->n * width, point, width * sizeof *in->points);
        in->n_points = in->n + 1;
    }
    uint32_t candidate = width == 0 ? (uint32_t)named : space ? 0 : (uint32_t)BY_FEATURES;
    if (in->takes_broken)
        in->broken[in->n] = o->broken;
    in->list[in->n++] = (store_observation){
        .candidate = candidate, .repeats = o->repeats, .value = value, .recorded = recorded, .cost = o->cost};
    return true;
}

static void take_study(void *arg, const store_study *row)
{
    import *in = arg;
    in->study = row->study;
    in->candidates = row->candidates;
    strncpy(in->digest, row->digest, sizeof in->digest - 1);
    wire_study *definition = NULL;
    wire_errors errors = {0};
    in->status = study_config_read(&definition, row->definition);
    if (in->status == STORE_OK)
        in->status = study_config_status(study_config_new(&in->config, definition, &errors));
    if (in->status == STORE_OK)
        in->definition = in->config->wire;
    wire_errors_clear(&errors);
}

/* ?broken=. False: the request has been answered. */
static bool take_broken(http_request *request, import *in)
{
    if (!query_takes_broken(request, &in->takes_broken))
        return false;
    if (in->takes_broken && in->definition->n_constraints == 0) {
        http_answer_problem(request, 422, NULL,
                            "query parameter 'broken' applies to a space with constraints only");
        return false;
    }
    if (in->takes_broken)
        wire_observations_reader_take_broken(in->reader);
    return true;
}

/* False: the request has been answered. */
static bool open_import(http_request *request)
{
    bool json = strcmp(request->content_type, "application/json") == 0 || !request->content_type[0];
    store_error error = {0};
    if (!json && strcmp(request->content_type, "text/csv") != 0) {
        http_answer_problem(request, 415, NULL, "observations must be application/json or text/csv, not %s",
                            request->content_type);
        return false;
    }
    import *in = calloc(1, sizeof *in);
    if (!in) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return false;
    }
    request->context = in;
    request->context_free = import_free;
    in->is_json = json;
    store_status status = store_read_study(request->app->store, request->study, take_study, in, &error);
    if (status == STORE_OK)
        status = in->status;
    if (status == STORE_OK &&
        wire_observations_reader_new(&in->reader, json ? WIRE_OBSERVATIONS_JSON : WIRE_OBSERVATIONS_CSV,
                                     in->definition, take, in) != WIRE_OK)
        status = STORE_NO_MEMORY;
    const char *ignored = request->query[HTTP_QUERY_IGNORE];
    if (status == STORE_OK && ignored && wire_observations_reader_ignore(in->reader, ignored) != WIRE_OK)
        status = STORE_NO_MEMORY;
    in->store = request->app->store;
    if (status == STORE_OK && !take_broken(request, in))
        return false;
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else
        return true;
    return false;
}

static void answer_reading(http_request *request, wire_status status, const wire_errors *errors)
{
    const import *in = request->context;
    if (in->status != STORE_OK)
        http_answer_store_problem(request, in->status);
    else
        http_answer_undecodable(request, in->no_memory ? WIRE_NO_MEMORY : status, errors);
}

/* Names the results whose candidates were not found. */
static void answer_misses(http_request *request, const int64_t *found)
{
    enum { SHOWN = 100 };
    const import *in = request->context;
    wire_errors errors = {0};
    size_t misses = 0;
    for (size_t i = 0; i < in->n; i++) {
        char pointer[48];
        if (in->list[i].candidate != (uint32_t)BY_FEATURES || found[i] >= 0 || misses++ >= SHOWN)
            continue;
        snprintf(pointer, sizeof pointer, "/observations/%zu/point", i);
        if (in->is_json)
            wire_errors_add(&errors, pointer, "no candidate has these features, to seven digits");
        else
            wire_errors_add(&errors, "", "result %zu: no candidate has these features, to seven digits",
                            i + 1);
    }
    http_answer_problem(request, 422, &errors, "%zu %s not among the candidates", misses,
                        misses == 1 ? "result is of a point that is" : "results are of points that are");
    wire_errors_clear(&errors);
}

/* Finds the candidates that results name by features. False: the request has been answered. */
static bool find_candidates(http_request *request)
{
    import *in = request->context;
    store_error error = {0};
    int64_t *found = malloc(in->n * sizeof *found);
    store_status status = STORE_NO_MEMORY;
    size_t width = candidate_width(in->definition);
    bool complete = true,
         room = wire_grow(&in->points, &in->points_capacity, in->n, 1, width * sizeof *in->points);
    if (room)
        set_blank(in, width);
    if (found && room)
        status = candidate_match(found, request->app->store, in->study, in->definition, width, in->candidates,
                                 in->points, in->n, &error);
    for (size_t i = 0; status == STORE_OK && i < in->n; i++)
        complete &= in->list[i].candidate != (uint32_t)BY_FEATURES || found[i] >= 0;
    if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else if (!complete)
        answer_misses(request, found);
    for (size_t i = 0; status == STORE_OK && complete && i < in->n; i++)
        if (in->list[i].candidate == (uint32_t)BY_FEATURES)
            in->list[i].candidate = (uint32_t)found[i];
    free(found);
    return status == STORE_OK && complete;
}

void handle_observations_piece(http_request *request, const char *bytes, size_t n)
{
    if (!request->context && !open_import(request))
        return;
    import *in = request->context;
    wire_errors errors = {0};
    wire_status status = wire_observations_reader_feed(in->reader, bytes, n, &errors);
    if (status == WIRE_OK)
        http_upload_continue(request);
    else
        answer_reading(request, status, &errors);
    wire_errors_clear(&errors);
}

void handle_observations_post(http_request *request)
{
    if (!request->context && !open_import(request))
        return;
    import *in = request->context;
    wire_errors errors = {0};
    wire_status status = wire_observations_reader_finish(in->reader, &errors);
    if (status != WIRE_OK)
        answer_reading(request, status, &errors);
    else if (in->misses.n > 0)
        http_answer_problem(request, 422, &in->misses, "%zu of the results %s",
                            in->misses.n + in->misses.dropped,
                            in->misses.n + in->misses.dropped == 1 ? "has a key that no candidate has"
                                                                   : "have keys that no candidate has");
    else if (in->definition->n_parameters > 0 || !in->points || find_candidates(request))
        call_study(request, study_observe);
    wire_errors_clear(&errors);
}
