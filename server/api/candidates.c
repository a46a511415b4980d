/* Uploads of candidates, or of the kernel matrix of a precomputed set. The bytes are read in pieces on the pool and
 * staged in blocks; then the study's turn takes them over in one small transaction. */
#include "bandit/arms.h"
#include "proto/points.h"
#include "server/api/calls.h"
#include "server/api/candidate_upload.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/definition.h"
#include "server/data/feature_ranges.h"
#include "server/data/upload.h"
#include "server/http/limits.h"
#include "server/http/route.h"

#include <stdlib.h>
#include <string.h>

/* BLOCKS_AHEAD: how many blocks may be unwritten while the next bytes are read. */
enum { BLOCKS_AHEAD = 4, BLOCK_ROWS = 256 };

typedef struct receiving {
    candidate_upload staged; /* comes first: the study reads the context as this member */
    wire_points_reader *reader;
    double *rows; /* of the block being filled */
    size_t filled, capacity, first;
    feature_ranges ranges; /* of candidates */
    bandit_scaling scaling;
    bandit_arms *kernel; /* a kernel matrix, kept to check it as a whole; NULL for candidates */
    bool kernel_given;   /* the upload is a kernel matrix */
    bandit_error error;  /* the fault of the matrix */
    store_status status;
    size_t max_values;
    bool too_large; /* there are more values than max_values */
    computing_job job;
    http_request *checking; /* the request, for the job */
} receiving;

static void receiving_free(void *context)
{
    receiving *r = context;
    wire_points_reader_free(r->reader);
    upload_free(r->staged.upload);
    feature_ranges_clear(&r->ranges);
    bandit_arms_free(r->kernel);
    free(r->rows);
    free(r);
}

static bool stage(receiving *r)
{
    if (r->filled > 0)
        r->status = upload_rows(r->staged.upload, r->first, r->filled, r->staged.dimension, r->rows);
    r->first += r->filled;
    r->filled = 0;
    return r->status == STORE_OK;
}

/* Gathers rows from the reader into blocks of the store's size. */
static bool take_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    receiving *r = arg;
    r->too_large = first + n > r->max_values / dimension;
    if (r->too_large)
        return false;
    if (r->kernel && (first + n > r->staged.dimension ||
                      bandit_arms_set_rows(r->kernel, first, n, rows, &r->error) != BANDIT_OK)) {
        if (r->error.status == BANDIT_OK)
            bandit_error_set(&r->error, BANDIT_INVALID_ARMS, "", "the matrix has more than %zu rows",
                             r->staged.dimension);
        return false;
    }
    if (!r->rows) {
        r->staged.dimension = dimension;
        r->capacity = upload_rows_at_once(dimension);
        r->rows = malloc(r->capacity * dimension * sizeof *rows);
        if (!r->rows) {
            r->status = STORE_NO_MEMORY;
            return false;
        }
    }
    if (!r->kernel && !feature_ranges_add(&r->ranges, n, dimension, rows)) {
        r->status = STORE_NO_MEMORY;
        return false;
    }
    while (n > 0) {
        size_t room = r->capacity - r->filled, take = n < room ? n : room;
        memcpy(r->rows + r->filled * dimension, rows, take * dimension * sizeof *rows);
        r->filled += take;
        rows += take * dimension;
        n -= take;
        if (r->filled == r->capacity && !stage(r))
            return false;
    }
    return true;
}

/* What the study accepts as an upload. */
typedef struct wanted {
    store_status status; /* of reading the definition */
    int64_t study;
    bool precomputed, space;
    size_t dimension; /* of each row */
    wire_study *definition;
    bool renames; /* the features have their names from the header of an earlier upload */
} wanted;

/* The first entry of the log has the definition with which the study was created. */
static void take_created(void *arg, int64_t seq, const store_event *event)
{
    wanted *w = arg;
    wire_study *first = NULL;
    (void)seq;
    w->status = event->type == EVENT_STUDY_CREATED ? study_config_read(&first, event->u.created.definition)
                                                   : STORE_CORRUPT;
    w->renames = first && first->n_feature_names == 0;
    wire_study_free(first);
}

static void take_wanted(void *arg, const store_study *row)
{
    wanted *w = arg;
    w->study = row->study;
    w->status = study_config_read(&w->definition, row->definition);
    if (w->status != STORE_OK)
        return;
    const wire_study *definition = w->definition;
    w->precomputed = definition->domain_type == WIRE_DOMAIN_PRECOMPUTED;
    w->space = definition->domain_type == WIRE_DOMAIN_SPACE;
    w->dimension = (size_t)(w->precomputed ? definition->size.value : definition->dimension.value);
}

/* False: the study accepts no upload, and the request has been answered. */
static bool read_wanted(http_request *request, wanted *out)
{
    bool kernel = strcmp(request->route->path + strlen("/v1/studies/{study}/"), "kernel") == 0;
    store_error error = {0};
    *out = (wanted){0};
    store_status status = store_read_study(request->app->store, request->study, take_wanted, out, &error);
    if (status == STORE_OK)
        status = out->status;
    if (status == STORE_OK && out->definition->n_feature_names > 0) {
        status = store_read_events(request->app->store, out->study, 0, 1, take_created, out, &error);
        if (status == STORE_OK)
            status = out->status;
    }
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else if (out->space)
        http_answer_problem(request, 409, NULL, "the study's domain is a space: it needs no upload");
    else if (kernel != out->precomputed)
        http_answer_problem(request, 409, NULL, "the study's domain is given by its %s",
                            out->precomputed ? "kernel" : "candidates");
    else
        return true;
    return false;
}

bool candidate_format(http_request *request, wire_points_format *out)
{
    static const struct {
        const char *type;
        wire_points_format format;
    } known[] = {{"application/json", WIRE_POINTS_JSON},
                 {"application/x-ndjson", WIRE_POINTS_NDJSON},
                 {"application/octet-stream", WIRE_POINTS_NPY},
                 {"text/csv", WIRE_POINTS_CSV}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(request->content_type, known[i].type) == 0) {
            *out = known[i].format;
            return true;
        }
    http_answer_problem(request, 415, NULL,
                        "candidates must be text/csv, application/json, application/x-ndjson or "
                        "application/octet-stream, not %s",
                        request->content_type[0] ? request->content_type : "without a Content-Type");
    return false;
}

/* False: the request has been answered. */
static bool begin_receiving(http_request *request, const wanted *w)
{
    wire_points_format format;
    receiving *r;
    if (!candidate_format(request, &format))
        return false;
    r = calloc(1, sizeof *r);
    if (!r) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return false;
    }
    request->context = r;
    request->context_free = receiving_free;
    r->status = upload_new(&r->staged.upload, request->app->store);
    if (r->status == STORE_OK &&
        wire_points_reader_new(&r->reader, format, w->dimension, BLOCK_ROWS, take_rows, r) != WIRE_OK)
        r->status = STORE_NO_MEMORY;
    if (r->status == STORE_OK && wire_points_reader_set_names(r->reader, w->definition->feature_names,
                                                              w->definition->n_feature_names) != WIRE_OK)
        r->status = STORE_NO_MEMORY;
    if (r->status == STORE_OK && w->renames)
        wire_points_reader_rename(r->reader);
    const char *ignored = request->query[HTTP_QUERY_IGNORE];
    if (r->status == STORE_OK && ignored && wire_points_reader_ignore(r->reader, ignored) != WIRE_OK)
        r->status = STORE_NO_MEMORY;
    r->staged.dimension = w->dimension;
    r->scaling = study_scaling(w->definition);
    r->staged.study = w->study;
    r->kernel_given = w->precomputed;
    r->max_values = request->app->config->max_values;
    if (w->precomputed && bandit_arms_new_precomputed(&r->kernel, w->dimension, &r->error) != BANDIT_OK)
        r->status = STORE_NO_MEMORY;
    if (r->status == STORE_OK)
        return true;
    http_answer_store_problem(request, r->status);
    return false;
}

/* False: the request has been answered. */
static bool open_upload(http_request *request)
{
    wanted w;
    bool opened = read_wanted(request, &w) && begin_receiving(request, &w);
    wire_study_free(w.definition);
    return opened;
}

static void answer_reading(http_request *request, wire_status status, const wire_errors *errors)
{
    const receiving *r = request->context;
    store_status stored = r->error.status == BANDIT_NO_MEMORY   ? STORE_NO_MEMORY
                          : r->error.status == BANDIT_CANCELLED ? STORE_CLOSED /* the server is stopping */
                                                                : r->status;
    if (r->too_large) {
        limit_values_passed(request);
    } else if (r->error.status != BANDIT_OK && stored == STORE_OK) {
        wire_errors found = {0};
        wire_errors_add(&found, "", "%s", r->error.message);
        http_answer_undecodable(request, WIRE_INVALID, &found);
        wire_errors_clear(&found);
    } else if (stored != STORE_OK) {
        http_answer_store_problem(request, stored);
    } else {
        http_answer_undecodable(request, status, errors);
    }
}

static void go_on(void *arg)
{
    http_upload_continue(arg);
}

void handle_candidates_piece(http_request *request, const char *bytes, size_t n)
{
    if (!request->context && !open_upload(request))
        return;
    receiving *r = request->context;
    wire_errors errors = {0};
    wire_status status = wire_points_reader_feed(r->reader, bytes, n, &errors);
    if (status == WIRE_OK && r->status == STORE_OK)
        upload_wait(r->staged.upload, BLOCKS_AHEAD, go_on, request);
    else
        answer_reading(request, status, &errors);
    wire_errors_clear(&errors);
}

/* Everything is staged. Passes the upload to the study, which accepts or refuses it. */
static void all_staged(void *arg)
{
    http_request *request = arg;
    receiving *r = request->context;
    store_status status = upload_status(r->staged.upload);
    if (!r->kernel_given) {
        r->staged.names = wire_points_reader_header(r->reader, &r->staged.n_names);
        r->staged.keys = wire_points_reader_keys(r->reader);
    }
    if (status == STORE_OK)
        call_study(request, study_set_candidates);
    else
        http_answer_store_problem(request, status);
}

/* A job: is the matrix symmetric and positive semi-definite? */
static void check_kernel(computing_job *job)
{
    receiving *r = (receiving *)((char *)job - offsetof(receiving, job));
    http_request *request = r->checking;
    if (bandit_arms_finish(r->kernel, BANDIT_SCALING_NONE, r->staged.dimension, &r->error) == BANDIT_OK) {
        bandit_arms_free(r->kernel);
        r->kernel = NULL;
        upload_wait(r->staged.upload, 0, all_staged, request);
    } else {
        answer_reading(request, WIRE_INVALID, NULL);
    }
}

void handle_candidates_put(http_request *request)
{
    if (!request->context && !open_upload(request))
        return;
    receiving *r = request->context;
    wire_errors errors = {0};
    wire_status status = wire_points_reader_finish(r->reader, &errors);
    bool fine = status == WIRE_OK && r->status == STORE_OK && stage(r);
    if (fine && r->kernel && upload_count(r->staged.upload) != r->staged.dimension) {
        bandit_error_set(&r->error, BANDIT_INVALID_ARMS, "", "the matrix has %zu rows and %zu columns",
                         upload_count(r->staged.upload), r->staged.dimension);
        fine = false;
    }
    fine = fine && feature_ranges_check(&r->ranges, r->scaling, &r->error) == BANDIT_OK;
    if (fine && r->kernel) {
        r->checking = request;
        r->job.run = check_kernel;
        computing_submit(request->app->computing, &r->job, NULL);
    } else if (fine) {
        upload_wait(r->staged.upload, 0, all_staged, request);
    } else {
        answer_reading(request, status, &errors);
    }
    wire_errors_clear(&errors);
}
