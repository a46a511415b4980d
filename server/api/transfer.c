/* Exports, imports and forks whole studies: GET …/export, POST /v1/studies with an exported file, and POST …/fork. */
#include "proto/changes.h"
#include "proto/study_file.h"
#include "server/api/fork_changed.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/base/log.h"
#include "server/data/study_export.h"
#include "server/data/study_view.h"
#include "server/http/idempotency.h"
#include "server/http/limits.h"
#include "server/replay/rebuild.h"
#include "server/study/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- exports ------------------------------------------------------------------------------------------- */

/* An export. The pool reads one part at a time while the stream is suspended; the HTTP thread sends it. */
typedef struct outgoing {
    study_export *export;
    char *text;
    size_t size, sent;
    bool more;
    store_status status; /* of reading */
} outgoing;

static void outgoing_free(void *context)
{
    outgoing *o = context;
    export_free(o->export);
    free(o->text);
    free(o);
}

static void read_part(http_request *request)
{
    outgoing *o = request->context;
    wire_writer w = WIRE_WRITER_INIT;
    store_error error = {0};
    enum { ENOUGH = 64 * 1024 };
    free(o->text);
    o->text = NULL;
    o->size = o->sent = 0;
    while (o->more && !o->status && w.size < ENOUGH)
        o->status = export_read(o->export, &w, &o->more, &error);
    if (o->status)
        log_event(o->status == STORE_NOT_FOUND ? LOG_INFO : LOG_ERROR, "export_failed", "study",
                  request->study, "reason", store_status_text(o->status), NULL);
    else if (atomic_load(&request->app->stopping))
        o->status = STORE_CLOSED;
    else if (!wire_writer_finish(&w, &o->text, &o->size))
        o->status = STORE_NO_MEMORY;
    wire_writer_clear(&w);
}

static void read_next_part(pool_task *task)
{
    http_request *request = (http_request *)((char *)task - offsetof(http_request, task));
    read_part(request);
    http_stream_resume(request);
}

static ptrdiff_t send_part(http_request *request, char *out, size_t n)
{
    outgoing *o = request->context;
    if (o->status) {
        http_stream_cut(request); /* so that no client mistakes it for the whole file */
        return HTTP_STREAM_END;
    }
    if (o->sent == o->size && !o->more)
        return HTTP_STREAM_END;
    if (o->sent == o->size) {
        http_stream_suspend(request);
        request->task.run = read_next_part;
        http_read_later(request, &request->task);
        return 0;
    }
    size_t left = o->size - o->sent, take = left < n ? left : n;
    memcpy(out, o->text + o->sent, take);
    o->sent += take;
    return (ptrdiff_t)take;
}

void handle_export(http_request *request)
{
    const char *format = request->query[HTTP_QUERY_FORMAT];
    bool csv = format && strcmp(format, "csv") == 0;
    store_error error = {0};
    if (format && !csv && strcmp(format, "ndjson") != 0) {
        http_answer_problem(request, 422, NULL, "query parameter 'format' must be ndjson or csv");
        return;
    }
    outgoing *o = calloc(1, sizeof *o);
    store_status status = o ? STORE_OK : STORE_NO_MEMORY;
    if (o) {
        request->context = o;
        request->context_free = outgoing_free;
        status = export_open(&o->export, request->app->store, request->study,
                             csv ? EXPORT_CSV : EXPORT_NDJSON, &error);
    }
    if (!status) {
        o->more = true;
        read_part(request); /* an immediate failure becomes an answer, not a broken stream */
        status = o->status;
    }
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status)
        http_answer_store_problem(request, status);
    else
        http_answer_stream(request, csv ? "text/csv" : "application/x-ndjson", send_part);
}

/* ---- imports ------------------------------------------------------------------------------------------- */

/* How many writes may be unfinished while the next bytes are read. */
enum { WRITES_AHEAD = 4 };

typedef struct incoming {
    const http_request *request;
    wire_file_reader *reader;
    rebuild *rebuild;
    int64_t source;      /* of a fork: the number of the study that is forked; otherwise 0 */
    int64_t through;     /* of a fork: the last entry that it has */
    store_status status; /* of showing the study */
    computing_job job;
    http_request *publishing; /* the request, for the job */
} incoming;

static void incoming_free(void *context)
{
    incoming *in = context;
    wire_file_reader_free(in->reader);
    rebuild_free(in->rebuild);
    free(in);
}

static wire_status take_head(void *arg, const wire_file_head *head, wire_errors *errors)
{
    const incoming *in = arg;
    if (limit_values_fit(in->request, (size_t)head->candidates, (size_t)head->dimension))
        return WIRE_OK;
    wire_errors_add(errors, "", "%lld candidates of %lld values are more than --max-values allows",
                    (long long)head->candidates, (long long)head->dimension);
    return WIRE_INVALID;
}

static wire_status take_rows(void *arg, size_t n, size_t dimension, const double *rows, wire_errors *errors)
{
    return rebuild_rows(((incoming *)arg)->rebuild, n, dimension, rows, errors);
}

static wire_status take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload,
                              wire_errors *errors)
{
    const incoming *in = arg;
    return seq > in->through ? WIRE_OK : rebuild_entry(in->rebuild, seq, time, type, payload, errors);
}

/* id: of the rebuilt study; NULL: as in the log. False: the request has been answered. */
static bool open_rebuild(http_request *request, const char *id, int64_t source, int64_t through)
{
    static const wire_file_sink sink = {.head = take_head, .rows = take_rows, .entry = take_entry};
    if (!request->idempotency_key &&
        !limit_studies(request)) /* with a key, the same request may have created the study: see publish */
        return false;
    incoming *in = calloc(1, sizeof *in);
    store_status status = in ? rebuild_new(&in->rebuild, request->app->store, id, true) : STORE_NO_MEMORY;
    if (!status && wire_file_reader_new(&in->reader, &sink, in) != WIRE_OK)
        status = STORE_NO_MEMORY;
    if (in) {
        in->request = request;
        in->source = source;
        in->through = through;
        request->context = in;
        request->context_free = incoming_free;
    }
    if (status)
        http_answer_store_problem(request, status);
    return status == STORE_OK;
}

static bool open_import(http_request *request)
{
    const char *id = request->query[HTTP_QUERY_ID]; /* NULL: the id in the file */
    if (id && !wire_is_study_id(id, strlen(id))) {
        http_answer_problem(
            request, 422, NULL,
            "query parameter 'id' must have 1 to 63 lower-case letters, digits, '.', '_' and '-', and "
            "begin with a letter or a digit");
        return false;
    }
    return open_rebuild(request, id, 0, INT64_MAX);
}

/* Only the write that publishes the study has the key, so that it may have failed for its sake. */
static void answer_exists(http_request *request)
{
    const incoming *in = request->context;
    bool certain = !request->idempotency_key || rebuild_status(in->rebuild) == STORE_EXISTS;
    http_answer_problem(request, 409, NULL, "there is already a study '%s'%s", rebuild_id(in->rebuild),
                        certain ? "" : ", or another study was created with this Idempotency-Key");
}

static void answer_failure(http_request *request, store_status status)
{
    if (status == STORE_EXISTS)
        answer_exists(request);
    else if (status == STORE_TOO_MANY)
        limit_studies_passed(request);
    else if (status == STORE_NOT_FOUND) /* an entry names a trial or batch that no earlier entry created */
        http_answer_problem(
            request, 422, NULL,
            "the log contradicts itself: an entry names a trial or batch that does not exist, or "
            "whose state does not allow it");
    else
        http_answer_store_problem(request, status);
}

static void piece_settled(void *arg)
{
    http_request *request = arg;
    incoming *in = request->context;
    store_status status = rebuild_status(in->rebuild);
    /* A repeated request finds the study that it created the first time. Its key can be looked up only after the whole
     * body was received. */
    bool repeated = status == STORE_EXISTS && request->idempotency_key;
    if (status && !repeated)
        answer_failure(request, status);
    else
        http_upload_continue(request);
}

void handle_study_import_piece(http_request *request, const char *bytes, size_t n)
{
    if (!request->context && !open_import(request))
        return;
    incoming *in = request->context;
    wire_errors errors = {0};
    wire_status status = wire_file_reader_feed(in->reader, bytes, n, &errors);
    if (status == WIRE_OK)
        rebuild_settle(in->rebuild, WRITES_AHEAD, piece_settled, request);
    else
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
}

/* Called on the writer thread: the study is published, or the write has failed. */
static void published(void *arg, store_status status, int64_t number, int64_t last_seq)
{
    http_request *request = arg;
    incoming *in = request->context;
    (void)number;
    (void)last_seq;
    if (status == STORE_OK) {
        log_event(LOG_INFO, "study_imported", "study", rebuild_id(in->rebuild), NULL);
        http_release(request);
        return;
    }
    free(request->answer.body);
    request->answer = (struct http_answer){0};
    request->held = false;
    answer_failure(request, status);
}

static void show_staged(void *arg, const store_study *row)
{
    http_request *request = arg;
    incoming *in = request->context;
    wire_writer w = WIRE_WRITER_INIT;
    in->status = study_view_encode(&w, request->app->store, request->app->definitions, row);
    if (in->status == STORE_OK) {
        snprintf(request->answer.location, sizeof request->answer.location, "/v1/studies/%s", row->id);
        request->held = true;
        http_answer_json(request, 201, &w);
        in->status = request->answer.status == 201 ? STORE_OK : STORE_NO_MEMORY;
    }
    wire_writer_clear(&w);
}

/* A job that runs when everything is staged. If the study can be loaded, it is published and the request answered. */
static void publish(computing_job *job)
{
    incoming *in = (incoming *)((char *)job - offsetof(incoming, job));
    http_request *request = in->publishing;
    store_write *write = NULL;
    store_error error = {0};
    int64_t number = rebuild_number(in->rebuild);
    store_status status = study_try(request->app, rebuild_id(in->rebuild), number, &error);
    if (status == STORE_CORRUPT) {
        http_answer_problem(request, 422, NULL, "a study of these entries cannot be loaded: %s",
                            error.message);
        return;
    }
    if (!status)
        status = store_read_staged(request->app->store, number, show_staged, request, &error);
    if (!status)
        status = in->status;
    if (!status)
        status = rebuild_publication(in->rebuild, &write);
    if (!status) {
        limit_studies_in_write(request, write);
        status = idempotency_attach(request, in->source, write);
    }
    if (!status) {
        rebuild_publish(in->rebuild, write, published, request);
        return;
    }
    store_write_free(write);
    published(request, status, 0, 0);
}

static void all_settled(void *arg)
{
    http_request *request = arg;
    incoming *in = request->context;
    store_status status = rebuild_status(in->rebuild);
    if (status) {
        answer_failure(request, status);
        return;
    }
    in->publishing = request;
    in->job.run = publish;
    computing_submit(request->app->computing, &in->job, NULL);
}

void handle_study_import(http_request *request)
{
    if (idempotency_repeat(request, 0) || (!request->context && !open_import(request)))
        return;
    incoming *in = request->context;
    wire_errors errors = {0};
    wire_status status = wire_file_reader_finish(in->reader, &errors);
    if (status == WIRE_OK)
        status = rebuild_finish(in->rebuild, &errors);
    if (status == WIRE_OK)
        rebuild_settle(in->rebuild, 0, all_settled, request);
    else
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
}

/* ---- forks ---------------------------------------------------------------------------------------------- */

/* The position in the log at which a fork ends. */
typedef struct fork_point {
    int64_t study, told_seq;
    char *definition; /* of the study; owned */
} fork_point;

static void take_source(void *arg, const store_study *row)
{
    fork_point *point = arg;
    point->study = row->study;
    point->definition = strdup(row->definition);
}

static void take_trial(void *arg, const store_trial *row)
{
    ((fork_point *)arg)->told_seq = row->told_seq;
}

/* Sets point->told_seq to the log position of the trial's result, or, if the request names no trial, to a position
 * after the last one. False: the request has been answered. */
static bool find_fork_point(http_request *request, const wire_fork *wanted, fork_point *point)
{
    store_error error = {0};
    wire_errors errors = {0};
    point->told_seq = INT64_MAX;
    if (!wanted->at_trial.given)
        return true;
    store_status status = store_read_trial(request->app->store, point->study, wanted->at_trial.value,
                                           take_trial, point, &error);
    bool told = status == STORE_OK && point->told_seq > 0;
    if (status == STORE_NOT_FOUND)
        wire_errors_add(&errors, "/at_trial", "there is no trial %lld", (long long)wanted->at_trial.value);
    else if (status == STORE_OK && !told)
        wire_errors_add(&errors, "/at_trial", "trial %lld has no result yet",
                        (long long)wanted->at_trial.value);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    if (errors.n > 0)
        http_answer_problem(request, status == STORE_OK ? 409 : 422, &errors,
                            "the study was not forked: see errors");
    wire_errors_clear(&errors);
    return told;
}

/* Reads the log of the study, and rebuilds the fork from it. False: the request has been answered. */
static bool copy_log(http_request *request)
{
    incoming *in = request->context;
    study_export *export = NULL;
    store_error error = {0};
    wire_errors errors = {0};
    bool more = true;
    wire_status read = WIRE_OK;
    store_status status = export_open(&export, request->app->store, request->study, EXPORT_NDJSON, &error);
    while (more && status == STORE_OK && read == WIRE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        char *text = NULL;
        size_t size = 0;
        status = export_read(export, &w, &more, &error);
        if (status == STORE_OK && !wire_writer_finish(&w, &text, &size))
            status = STORE_NO_MEMORY;
        if (status == STORE_OK)
            read = wire_file_reader_feed(in->reader, text, size, &errors);
        wire_writer_clear(&w);
        free(text);
        if (status == STORE_OK && read == WIRE_OK)
            status = rebuild_wait(in->rebuild);
    }
    if (status == STORE_OK && read == WIRE_OK)
        read = wire_file_reader_finish(in->reader, &errors);
    if (status == STORE_OK && read == WIRE_OK)
        read = rebuild_finish(in->rebuild, &errors);
    if (status != STORE_OK)
        answer_failure(request, status);
    else if (read != WIRE_OK)
        http_answer_undecodable(request, read, &errors);
    export_free(export);
    wire_errors_clear(&errors);
    return status == STORE_OK && read == WIRE_OK;
}

static void fork_changed_from(http_request *request, const wire_fork *wanted, fork_point *point)
{
    if (!idempotency_repeat(request, 0) && limit_studies(request) && find_fork_point(request, wanted, point))
        fork_changed(request, wanted, point->definition, point->told_seq);
}

static void fork_study(http_request *request, const wire_fork *wanted)
{
    fork_point point = {0};
    store_error error = {0};
    if (*request->caller.study) {
        http_answer_problem(request, 403, NULL,
                            "a token that is limited to one study cannot create another study");
        return;
    }
    store_status status = store_read_study(request->app->store, request->study, take_source, &point, &error);
    if (status == STORE_OK && !point.definition)
        status = STORE_NO_MEMORY;
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else if (wanted->changes)
        fork_changed_from(request, wanted, &point);
    else if (!idempotency_repeat(request, point.study) && find_fork_point(request, wanted, &point) &&
             open_rebuild(request, wanted->id, point.study, point.told_seq) && copy_log(request))
        rebuild_settle(((incoming *)request->context)->rebuild, 0, all_settled, request);
    free(point.definition);
}

void handle_study_fork(http_request *request)
{
    wire_fork *wanted;
    wire_errors errors = {0};
    wire_status status = wire_decode_fork(&wanted, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        fork_study(request, wanted);
        wire_fork_free(wanted);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}
