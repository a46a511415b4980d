/* Requests about the service itself: health, readiness, version, contract. */
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/algorithm_options.h"
#include "server/watch/metrics.h"

#include <stdlib.h>

void handle_healthz(http_request *request)
{
    static const char body[] = "{\"status\":\"ok\"}\n";
    http_answer_static(request, 200, "application/json", body, sizeof body - 1);
}

/* A request that waits for the outcome of a probe. */
typedef struct readiness {
    store_probe probe;
    store_error outcome;
    http_request *request;
} readiness;

static void answer_ready(http_request *request)
{
    static const char body[] = "{\"status\":\"ready\"}\n";
    http_answer_static(request, 200, "application/json", body, sizeof body - 1);
}

/* The outcome of a write is known. Answers after checking whether the database can also be read. */
static void answer_readiness(pool_task *task)
{
    http_request *request = (http_request *)((char *)task - offsetof(http_request, task));
    store_error *outcome = &((readiness *)request->context)->outcome;
    size_t studies;
    store_status status = outcome->status;
    if (status == STORE_OK)
        status = store_count_studies(request->app->store, &studies, outcome);
    if (status == STORE_OK)
        answer_ready(request);
    else if (status == STORE_BUSY && *outcome->message) /* the disk or another process makes it busy */
        http_answer_problem(request, 503, NULL, "%s", outcome->message);
    else
        http_answer_problem(request, 503, NULL, "%s", store_status_text(status));
}

/* Called on the writer thread, which must not spend its time on answering thousands of requests. */
static void take_outcome(store_probe *probe, const store_error *outcome)
{
    readiness *r = (readiness *)(void *)probe;
    r->outcome = *outcome;
    r->request->task.run = answer_readiness;
    http_read_later(r->request, &r->request->task);
}

void handle_readyz(http_request *request)
{
    store *s = request->app->store;
    if (store_is_proved(s)) {
        answer_ready(request);
        return;
    }
    readiness *r = calloc(1, sizeof *r);
    if (!r) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    if (!http_defer(request)) {
        free(r);
        return;
    }
    *r = (readiness){.probe.done = take_outcome, .request = request};
    request->context = r;
    request->context_free = free;
    store_probe_start(s, &r->probe);
}

void handle_version(http_request *request)
{
    static const char body[] = "{\"name\":\"banditd\",\"version\":\"" BANDITD_VERSION "\"}\n";
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
