/* GET …/trials/{number}/why. The answers are computed one after the other, independently of the studies in memory, so
 * that planning and other requests continue. */
#include "proto/why.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/base/computing.h"
#include "server/base/fair_queue.h"
#include "server/study/why.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct asked {
    computing_job job;
    pool_task turn; /* its place among the requests that wait */
    http_request *request;
    planned_trial trial;
} asked;

/* Only one answer is computed at a time, since each may need as much memory as a study. Callers take turns. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    fair_queue waiting;
    bool busy; /* an answer is being computed */
} line = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void begin_line(void)
{
    fair_queue_init(&line.waiting);
}

static void answer(http_request *request, const engine_outcome *out, wire_writer *w)
{
    if (out->stored == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "this trial no longer exists");
    else if (out->stored != STORE_OK)
        http_answer_store_problem(request, out->stored);
    else if (out->error.status != BANDIT_OK)
        http_answer_problem(request, 409, NULL, "the trial's batch cannot be restored: %s",
                            out->error.message);
    else
        http_answer_json(request, 200, w);
}

static void begin_next(struct computing *computing)
{
    pthread_mutex_lock(&line.lock);
    pool_task *turn = line.busy ? NULL : fair_queue_take(&line.waiting);
    line.busy |= turn != NULL;
    pthread_mutex_unlock(&line.lock);
    if (turn)
        computing_submit(computing, &((asked *)(void *)((char *)turn - offsetof(asked, turn)))->job, NULL);
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
    free(q);
    pthread_mutex_lock(&line.lock);
    line.busy = false;
    pthread_mutex_unlock(&line.lock);
    begin_next(computing);
}

static void line_up(http_request *request, const planned_trial *planned)
{
    asked *q = calloc(1, sizeof *q);
    if (!q) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *q = (asked){.job.run = run, .request = request, .trial = *planned};
    struct computing *computing = request->app->computing;
    pthread_once(&line.once, begin_line);
    pthread_mutex_lock(&line.lock);
    fair_queue_add(&line.waiting, &q->turn, http_caller(request));
    pthread_mutex_unlock(&line.lock);
    begin_next(computing);
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
