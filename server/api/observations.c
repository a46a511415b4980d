/* Importing observations: read in pieces on the pool, and given to the study in one turn. */
#include "server/study/observations.h"
#include "proto/arrays.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/definition.h"

#include <stdlib.h>
#include <string.h>

static void import_free(void *context)
{
    import *in = context;
    wire_observations_reader_free(in->reader);
    wire_study_free(in->definition);
    free(in->list);
    free(in->points);
    free(in);
}

/* The objective's value. False: the problems are in *errors. */
static bool objective(const import *in, const char *place, const wire_observation *o, double *out,
                      wire_errors *errors)
{
    const char *name = wire_objective(in->definition)->name;
    size_t before = errors->n;
    bool found = o->has_value;
    *out = o->value;
    for (size_t i = 0; i < o->n_values; i++) {
        if (strcmp(o->values[i].name, name) == 0) {
            *out = o->values[i].value;
            found = true;
        } else {
            wire_errors_add(errors, place, "the study declares no metric '%s'", o->values[i].name);
        }
    }
    if (!found)
        wire_errors_add(errors, place, "a value of the objective '%s' is required", name);
    return errors->n == before;
}

static bool take(void *arg, size_t index, const char *place, const wire_observation *o, wire_errors *errors)
{
    import *in = arg;
    double value;
    (void)index;
    size_t width = in->definition->n_parameters;
    if (width == 0 && o->candidate >= in->candidates) {
        wire_errors_add(errors, place, "there are %lld candidates, numbered from 0: %lld is not one of them",
                        (long long)in->candidates, (long long)o->candidate);
        return false;
    }
    if (!objective(in, place, o, &value, errors))
        return false;
    in->no_memory =
        !wire_grow(&in->list, &in->capacity, in->n + 1, 256, sizeof *in->list) ||
        (width && !wire_grow(&in->points, &in->points_capacity, in->n + 1, 256, width * sizeof *in->points));
    if (in->no_memory)
        return false;
    if (width)
        memcpy(in->points + in->n * width, o->parameters, width * sizeof *in->points);
    in->list[in->n++] = (store_observation){
        .candidate = width ? 0 : (uint32_t)o->candidate, .repeats = o->repeats, .value = value};
    return true;
}

static void take_study(void *arg, const store_study *row)
{
    import *in = arg;
    in->study = row->study;
    in->candidates = row->candidates;
    strncpy(in->digest, row->digest, sizeof in->digest - 1);
    in->status = study_config_read(&in->definition, row->definition);
}

/* False: answered. */
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
    store_status status = store_read_study(request->app->store, request->study, take_study, in, &error);
    if (status == STORE_OK)
        status = in->status;
    if (status == STORE_OK &&
        wire_observations_reader_new(&in->reader, json ? WIRE_OBSERVATIONS_JSON : WIRE_OBSERVATIONS_CSV,
                                     in->definition, take, in) != WIRE_OK)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK && wire_has_several(in->definition))
        http_answer_problem(request, 422, NULL,
                            "observations cannot be imported into a study with several objectives or bounds");
    else if (status == STORE_NOT_FOUND)
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
    http_answer_undecodable(request, in->no_memory ? WIRE_NO_MEMORY : status, errors);
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
    if (status == WIRE_OK)
        call_study(request, study_observe);
    else
        answer_reading(request, status, &errors);
    wire_errors_clear(&errors);
}
