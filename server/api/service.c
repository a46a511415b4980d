/* The service itself: alive, ready, version, contract. */
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/algorithm_options.h"
#include "server/watch/metrics.h"

void handle_healthz(http_request *request)
{
    static const char body[] = "{\"status\":\"ok\"}";
    http_answer_static(request, 200, "application/json", body, sizeof body - 1);
}

void handle_readyz(http_request *request)
{
    store_error error = {0};
    store_status status = store_probe(request->app->store, &error);
    static const char body[] = "{\"status\":\"ready\"}";
    if (status == STORE_OK)
        http_answer_static(request, 200, "application/json", body, sizeof body - 1);
    else if (status == STORE_BUSY && *error.message) /* by the disk, or by another process */
        http_answer_problem(request, 503, NULL, "%s", error.message);
    else
        http_answer_problem(request, 503, NULL, "%s", store_status_text(status));
}

void handle_version(http_request *request)
{
    static const char body[] = "{\"name\":\"banditd\",\"version\":\"" BANDITD_VERSION "\"}";
    http_answer_static(request, 200, "application/json", body, sizeof body - 1);
}

void handle_algorithms(http_request *request)
{
    wire_writer w = WIRE_WRITER_INIT;
    algorithm_list_encode(&w);
    http_answer_json(request, 200, &w);
}

void handle_metrics(http_request *request)
{
    events_statistics streams;
    events_read_statistics(request->app->events, &streams);
    store_status status =
        metrics_encode(request->app, &streams, &request->answer.body, &request->answer.size);
    if (status != STORE_OK) {
        http_answer_store_problem(request, status);
        return;
    }
    request->answer.status = 200;
    request->answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    http_answer_again(request);
}
