/* GET …/trials/{number}/why. The answers are computed one after the other, apart from the studies, so that planning
 * and other requests go on. */
#include "proto/why.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/base/computing.h"
#include "server/study/why.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct asked {
    computing_job job;
    http_request *request;
    planned_trial trial;
    struct asked *next;
} asked;

/* One at a time, since each may need as much memory as a study. The first of the list is in progress. */
static struct {
    pthread_mutex_t lock;
    asked *first, **last;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &line.first};

static void answer(http_request *request, const engine_outcome *out, wire_writer *w)
{
    if (out->stored == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no such trial any more");
    else if (out->stored != STORE_OK)
        http_answer_store_problem(request, out->stored);
    else if (out->error.status != BANDIT_OK)
        http_answer_problem(request, 409, NULL, "the trial's batch cannot be restored: %s",
                            out->error.message);
    else
        http_answer_json(request, 200, w);
}

static void run(computing_job *job)
{
    asked *q = (asked *)(void *)job;
    struct computing *computing = q->request->app->computing;
    wire_writer w = WIRE_WRITER_INIT;
    engine_outcome out = {0};
    study_why(q->request->app, &q->trial, &w, &out);
    answer(q->request, &out, &w);
    wire_writer_clear(&w);
    pthread_mutex_lock(&line.lock);
    line.first = q->next;
    if (!line.first)
        line.last = &line.first;
    asked *next = line.first;
    pthread_mutex_unlock(&line.lock);
    if (next)
        computing_submit(computing, &next->job, NULL);
    free(q);
}

static void line_up(http_request *request, const planned_trial *planned)
{
    asked *q = calloc(1, sizeof *q);
    if (!q) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *q = (asked){.job.run = run, .request = request, .trial = *planned};
    pthread_mutex_lock(&line.lock);
    bool now = line.first == NULL;
    *line.last = q;
    line.last = &q->next;
    pthread_mutex_unlock(&line.lock);
    if (now)
        computing_submit(request->app->computing, &q->job, NULL);
}

static void take_study(void *arg, const store_study *row)
{
    planned_trial *planned = arg;
    planned->study = row->study;
    planned->dimension = row->dimension;
    planned->reference_candidates = row->reference_candidates;
}

static void take_trial(void *arg, const store_trial *row)
{
    *(bool *)arg = row->batch < 0;
}

void handle_trial_why(http_request *request)
{
    planned_trial planned = {.trial = request->number};
    bool own = false;
    store *from = request->app->store;
    store_error error = {0};
    store_status status = store_read_study(from, request->study, take_study, &planned, &error);
    if (status == STORE_NOT_FOUND) {
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
        return;
    }
    if (status == STORE_OK)
        status = store_read_trial(from, planned.study, planned.trial, take_trial, &own, &error);
    if (status == STORE_NOT_FOUND) {
        http_answer_problem(request, 404, NULL, "there is no trial %lld", (long long)planned.trial);
    } else if (status != STORE_OK) {
        http_answer_store_problem(request, status);
    } else if (own) {
        wire_writer w = WIRE_WRITER_INIT;
        study_why_own(&w, planned.trial);
        http_answer_json(request, 200, &w);
        wire_writer_clear(&w);
    } else {
        line_up(request, &planned);
    }
}
