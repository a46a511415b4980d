#include "server/study/waiting_line.h"

#include "server/base/clock.h"

#include <assert.h>
#include <stdlib.h>

enum {
    PLANNING_GRACE_MS = 10000, /* for an ask without waiting time, while a batch is being planned */
    CLIENT_CHECK_MS = 2000     /* interval of checks whether a waiting ask's client is connected */
};

struct waiting_line {
    app *app;
    TAILQ_HEAD(waiting_list, waiting_ask) asks;
    uint64_t n_ever;
    size_t asked, nameless; /* see waiting_line_asked and waiting_line_nameless */
    workers *workers;
};

waiting_line *waiting_line_new(app *a, workers *w)
{
    waiting_line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->app = a;
    line->workers = w;
    TAILQ_INIT(&line->asks);
    return line;
}

void waiting_line_free(waiting_line *line)
{
    assert(!line || TAILQ_EMPTY(&line->asks));
    free(line);
}

void waiting_line_add(waiting_line *line, study_request *request, double *fixed, size_t n_held)
{
    const wire_ask *ask = request->context;
    bool named = !fixed && ask->worker && *ask->worker;
    waiting_ask *w = malloc(sizeof *w);
    study_worker *asking = w && named ? workers_use(line->workers, ask->worker) : NULL;
    if (!w || (named && !asking)) {
        free(w);
        free(fixed);
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    int64_t wait = (int64_t)(ask->wait_seconds * 1000), start = clock_steady_ms();
    *w = (waiting_ask){.number = ++line->n_ever,
                       .request = request,
                       .ask = ask,
                       .fixed = fixed,
                       .holds = n_held > 0,
                       .n_held = n_held,
                       .worker = asking,
                       .deadline = start + wait,
                       .planning_deadline = start + (wait > PLANNING_GRACE_MS ? wait : PLANNING_GRACE_MS)};
    TAILQ_INSERT_TAIL(&line->asks, w, link);
    if (asking)
        workers_wait(line->workers, asking);
    if (!fixed)
        line->asked += (size_t)ask->count;
    if (!fixed && !asking)
        line->nameless += (size_t)ask->count;
}

bool waiting_line_keep(waiting_line *line, waiting_ask *w)
{
    app *a = line->app;
    if (w->keeps)
        return true;
    if (!budget_take(a->places, w->request->holder, 1, a->config->max_waiting))
        return false;
    w->keeps = true;
    atomic_fetch_add(&a->waiting, 1);
    w->request->may_wait = w->ask->wait_seconds;
    return true;
}

study_request *waiting_line_take(waiting_line *line, waiting_ask *w)
{
    study_request *request = w->request;
    TAILQ_REMOVE(&line->asks, w, link);
    if (!w->fixed)
        line->asked -= (size_t)w->ask->count;
    if (!w->fixed && !w->worker)
        line->nameless -= (size_t)w->ask->count;
    if (w->worker) {
        workers_stop_waiting(line->workers, w->worker);
        workers_leave(line->workers, w->worker);
    }
    if (w->keeps) {
        budget_give(line->app->places, request->holder, 1);
        atomic_fetch_sub(&line->app->waiting, 1);
    }
    free(w->fixed);
    free(w);
    return request;
}

bool waiting_line_is_empty(const waiting_line *line)
{
    return TAILQ_EMPTY(&line->asks);
}

waiting_ask *waiting_line_first(const waiting_line *line)
{
    return TAILQ_FIRST(&line->asks);
}

waiting_ask *waiting_line_next(const waiting_ask *w)
{
    return TAILQ_NEXT(w, link);
}

waiting_ask *waiting_line_find(const waiting_line *line, uint64_t number)
{
    waiting_ask *w;
    TAILQ_FOREACH (w, &line->asks, link)
        if (w->number == number)
            return w;
    return NULL;
}

bool waiting_line_has_key(const waiting_line *line, const study_request *request)
{
    const waiting_ask *w;
    TAILQ_FOREACH (w, &line->asks, link)
        if (request_repeats(w->request, request))
            return true;
    return false;
}

size_t waiting_line_asked(const waiting_line *line)
{
    return line->asked;
}

size_t waiting_line_nameless(const waiting_line *line)
{
    return line->nameless;
}

bool waiting_ask_is_due(const waiting_ask *w, int64_t steady)
{
    return steady - w->checked_at >= CLIENT_CHECK_MS;
}

bool waiting_ask_is_gone(waiting_ask *w, int64_t steady)
{
    w->checked_at = steady;
    return w->request->client->is_gone(w->request);
}

int64_t waiting_line_wake_at(const waiting_line *line, bool planning)
{
    int64_t at = INT64_MAX;
    const waiting_ask *w;
    TAILQ_FOREACH (w, &line->asks, link) {
        int64_t deadline = planning ? w->planning_deadline : w->deadline;
        if (deadline < at)
            at = deadline;
        if (w->checked_at + CLIENT_CHECK_MS < at)
            at = w->checked_at + CLIENT_CHECK_MS;
    }
    return at;
}
