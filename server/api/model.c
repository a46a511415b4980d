/* Best, predict, model and batches. */
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/api/named.h"
#include "server/app.h"
#include "server/http/paging.h"

#include <stdlib.h>

static void free_predict(void *predict)
{
    wire_predict_free(predict);
}

void handle_best(http_request *request)
{
    call_study(request, study_best);
}

void handle_model(http_request *request)
{
    request->context = request->query[HTTP_QUERY_METRIC];
    call_study(request, study_model);
}

void handle_predict(http_request *request)
{
    wire_predict *predict;
    wire_errors errors = {0};
    wire_status status = wire_decode_predict(&predict, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = predict;
        request->context_free = free_predict;
        if (named_candidates(request, predict->keys, predict->candidates))
            call_study(request, study_predict);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

typedef struct listing {
    wire_writer w;
    page page;
    int64_t study, last;
} listing;

static void take_study(void *arg, const store_study *row)
{
    ((listing *)arg)->study = row->study;
}

static void show_batch(void *arg, const store_batch *row)
{
    listing *l = arg;
    if (!page_take(&l->page, 0))
        return;
    wire_batch shown = {.batch = row->batch,
                        .size = row->size,
                        .ratio = row->ratio,
                        .stop_rule = row->stop_rule,
                        .dictionary_size = row->dictionary_size,
                        .beta = row->beta,
                        .observations = row->observations,
                        .update_seconds = row->update_seconds,
                        .select_seconds = row->select_seconds,
                        .started_at = row->started_at};
    wire_encode_batch(&l->w, &shown);
    l->last = row->batch;
}

void handle_batch_list(http_request *request)
{
    listing l = {0};
    store_error error = {0};
    char token[24];
    if (!page_read(&l.page, request, true, -1))
        return;
    store_status status = store_read_study(request->app->store, request->study, take_study, &l, &error);
    wire_list_begin(&l.w);
    if (status == STORE_OK)
        status = store_read_batches(request->app->store, l.study, l.page.after, l.page.limit + 1, show_batch,
                                    &l, &error);
    page_token(token, l.last);
    wire_list_end(&l.w, l.page.more ? token : NULL);
    if (status == STORE_OK)
        http_answer_json(request, 200, &l.w);
    else if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else
        http_answer_store_problem(request, status);
    wire_writer_clear(&l.w);
}
