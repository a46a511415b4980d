/* Asking: who gets which trial, who waits for one, and what is planned for those who wait. */
#include "server/base/clock.h"
#include "server/data/candidate_rows.h"
#include "server/data/study_space.h"
#include "server/http/limits.h"
#include "server/study/internal.h"

#include <assert.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* How long an ask that does not wait is held while a batch is being planned. */
enum { PLANNING_GRACE_MS = 10000 };

static bool may_pick(const study *s)
{
    return s->state == STUDY_ACTIVE && !s->planning && s->trials < study_horizon(s) &&
           !atomic_load(&s->broken) && !atomic_load(&s->app->stopping);
}

bool study_may_plan(const study *s)
{
    return may_pick(s) && !s->exhausted && TAILQ_EMPTY(&s->queued);
}

/* ---- who is at work ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void keep_name(void *name)
{
    (void)name;
}

/* Adds a name to the set; true when it is new. */
static bool is_new_name(void **names, const char *name)
{
    return !tfind(name, names, compare_names) && tsearch(name, names, compare_names);
}

/* How many trials there would be out if nobody were idle: the names that hold or wait for a trial, and what
 * is held or asked for without a name. */
static size_t wanted_in_flight(const study *s)
{
    const wire_study *definition = s->config->wire;
    size_t n = 0;
    void *names = NULL;
    trial *t;
    waiting_ask *w;
    if (definition->min_in_flight.given)
        return (size_t)definition->min_in_flight.value;
    TAILQ_FOREACH (t, &s->pending, link)
        n += !*t->worker || is_new_name(&names, t->worker);
    TAILQ_FOREACH (w, &s->waiting, link)
        n += w->fixed ? 0 : !w->ask->worker ? (size_t)w->ask->count : is_new_name(&names, w->ask->worker);
    tdestroy(names, keep_name);
    return n;
}

/* Asynchronous feedback: asks are waiting and nothing is queued. A new batch if results have come in,
 * otherwise more of the one in force, so that no worker idles. */
static void plan_for_waiting(study *s)
{
    size_t wanted = wanted_in_flight(s), asked = 0;
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link)
        asked += w->fixed ? 0 : (size_t)w->ask->count;
    size_t beyond = wanted > s->n_open ? wanted - s->n_open : 0;
    if (beyond > asked)
        beyond = asked;
    if (s->batches == 0 || study_has_news(s))
        study_start_planning(s, beyond);
    else if (beyond > 0 || s->batch_goes_on)
        study_extend_batch(s, beyond);
}

/* Why fewer trials than wanted are answered. */
static const char *shortage(const study *s)
{
    if (s->state == STUDY_PAUSED)
        return "paused";
    if (s->state == STUDY_FINISHED)
        return "finished";
    if (s->planning || s->delayed)
        return "computing";
    return s->trials >= study_horizon(s) ? "horizon_reached" : "awaiting_feedback";
}

/* ---- asking -------------------------------------------------------------------------------------------- */

/* The trial as answers show it; borrows from it and from `point`, where its features are read to. */
static store_status view(const study *s, const trial *t, double *point, wire_trial *out)
{
    store_error error = {0};
    bool has_point = !s->config->precomputed;
    candidate_view shown =
        candidate_view_of(s->config->wire, s->reference_candidates > 0, t->candidate, point);
    *out = (wire_trial){.id = t->id,
                        .state = trial_state_name(t->state),
                        .batch = t->batch,
                        .attempt = t->attempt,
                        .candidate = shown.candidate,
                        .point = shown.point,
                        .dimension = (size_t)s->dimension,
                        .space = shown.space,
                        .parameters = shown.parameters,
                        .worker = t->worker,
                        .lease_expires_at = t->state == TRIAL_PENDING ? t->lease_expires_at : 0,
                        .has_value = t->has_value,
                        .value = t->value,
                        .objective = s->config->objective,
                        .recorded = t->recorded,
                        .repeats = t->repeats,
                        .metadata = t->metadata,
                        .reason = t->reason,
                        .told_at = t->told_at};
    if (has_point && t->point)
        memcpy(point, t->point, (size_t)s->dimension * sizeof *point);
    else if (has_point)
        return candidate_rows(point, s->app->store, s->number, s->config->wire, (size_t)s->dimension,
                              t->candidate, 1, &error);
    return STORE_OK;
}

/* Answers with these trials. */
static void answer_ask(study *s, http_request *request, trial **trials, size_t n, const char *reason)
{
    size_t d = (size_t)s->dimension;
    wire_trial *shown = calloc(n ? n : 1, sizeof *shown);
    double *points = calloc(n ? n * d : 1, sizeof *points);
    store_status status = shown && points ? STORE_OK : STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < n; i++)
        status = view(s, trials[i], points + i * d, &shown[i]);
    if (status == STORE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_ask_answer(&w, shown, n, reason);
        if (reason)
            request->answer.retry_after = strcmp(reason, "finished") == 0 ? 60 : 1;
        http_answer_json(request, 200, &w);
    } else {
        http_answer_store_problem(request, status);
    }
    free(shown);
    free(points);
}

void study_answer_trial(study *s, http_request *request, const trial *t)
{
    wire_trial shown;
    double *point = malloc((size_t)s->dimension * sizeof *point);
    store_status status = point ? view(s, t, point, &shown) : STORE_NO_MEMORY;
    if (status == STORE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_trial(&w, &shown);
        http_answer_json(request, 200, &w);
    } else {
        http_answer_store_problem(request, status);
    }
    free(point);
}

enum { ASK_MAXIMUM = 1000 };

/* Has the trial's point these values? `fixed` NULL: none are wanted. */
static bool has_values(const study *s, const trial *t, const double *fixed)
{
    wire_trial shown;
    size_t width = (size_t)s->dimension;
    if (!fixed)
        return true;
    double *point = calloc(width, sizeof *point);
    bool has = point && view(s, t, point, &shown) == STORE_OK;
    for (size_t i = 0; has && i < width; i++)
        has = isnan(fixed[i]) || fixed[i] == point[i];
    free(point);
    return has;
}

/* Trials that this worker holds already, with those values, by number: a restarted worker gets them back. */
static size_t own_trials(study *s, const wire_ask *ask, const double *fixed, trial **out)
{
    size_t n = 0;
    trial *t;
    if (!ask->worker || ask->fresh)
        return 0;
    TAILQ_FOREACH (t, &s->pending, link) {
        if (strcmp(t->worker, ask->worker) != 0 || !has_values(s, t, fixed))
            continue;
        size_t place = n;
        while (place > 0 && out[place - 1]->id > t->id)
            place--;
        if (place == (size_t)ask->count)
            continue;
        n += n < (size_t)ask->count;
        memmove(out + place + 1, out + place, (n - 1 - place) * sizeof *out);
        out[place] = t;
    }
    return n;
}

/* Serves one ask with its own n trials and what can be handed out now; false when that is nothing. */
static bool serve(study *s, http_request *request, const wire_ask *ask, bool from_queue, trial **trials,
                  size_t n, int64_t now)
{
    size_t wanted = (size_t)ask->count;
    for (size_t i = 0; i < n; i++)
        study_issue(s, trials[i], ask, now);
    while (from_queue && n < wanted && s->state == STUDY_ACTIVE && !TAILQ_EMPTY(&s->queued)) {
        trial *t = TAILQ_FIRST(&s->queued);
        if (!study_issue(s, t, ask, now))
            break;
        trials[n++] = t;
    }
    if (n == 0)
        return false;
    study_hold(s, request);
    answer_ask(s, request, trials, n, n < wanted ? shortage(s) : NULL);
    return true;
}

/* The parameters that the ask holds, coded: *out is to be freed, NULL without any. False: answered. */
static bool code_fixed(double **out, const study *s, http_request *request)
{
    const wire_ask *ask = request->context;
    const wire_study *definition = s->config->wire;
    wire_errors errors = {0};
    *out = NULL;
    if (!ask->fixed.items)
        return true;
    if (!s->config->parameters) {
        wire_errors_add(&errors, "/fixed", "applies to a domain of type \"space\" only");
    } else if (!(*out = malloc((size_t)s->dimension * sizeof **out))) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return false;
    } else {
        wire_code_parameters(*out, definition->parameters, definition->n_parameters, &ask->fixed,
                             WIRE_PARTIAL, "/fixed", &errors);
    }
    bool fine = errors.n == 0;
    if (!fine) {
        http_answer_undecodable(request, WIRE_INVALID, &errors);
        free(*out);
    }
    wire_errors_clear(&errors);
    return fine;
}

void study_ask(study *s, http_request *request)
{
    const wire_ask *ask = request->context;
    int64_t now = clock_now();
    if (s->state == STUDY_AWAITING_CANDIDATES) {
        http_answer_problem(request, 409, NULL, "the study has no candidates yet: upload them first");
        return;
    }
    if (s->state == STUDY_ERROR) {
        http_answer_problem(request, 409, NULL, "the study has stopped: %s", s->state_reason);
        return;
    }
    trial *own[ASK_MAXIMUM];
    assert(ask->count <= ASK_MAXIMUM);
    double *fixed;
    if (!code_fixed(&fixed, s, request))
        return;
    size_t n = own_trials(s, ask, fixed, own);
    if (n > 0) {
        serve(s, request, ask, !fixed, own, n, now);
        free(fixed);
        return;
    }
    if (!limit_waiting_more(request)) {
        free(fixed);
        return;
    }
    waiting_ask *w = malloc(sizeof *w);
    if (!w) {
        free(fixed);
        limit_waiting_less(s->app);
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    int64_t wait = (int64_t)(ask->wait_seconds * 1000), start = clock_steady_ms();
    *w = (waiting_ask){.number = ++s->asks,
                       .request = request,
                       .ask = ask,
                       .fixed = fixed,
                       .deadline = start + wait,
                       .planning_deadline = start + (wait > PLANNING_GRACE_MS ? wait : PLANNING_GRACE_MS)};
    request->may_wait = ask->wait_seconds;
    TAILQ_INSERT_TAIL(&s->waiting, w, link); /* served at the end of the turn, in order */
}

/* Takes an ask out of the line; its request is the caller's to answer. */
static http_request *stop_waiting(study *s, waiting_ask *w)
{
    http_request *request = w->request;
    TAILQ_REMOVE(&s->waiting, w, link);
    limit_waiting_less(s->app);
    free(w->fixed);
    free(w);
    return request;
}

void study_answer_waiting(study *s, const char *reason)
{
    for (waiting_ask *w = TAILQ_FIRST(&s->waiting), *next; w; w = next) {
        next = TAILQ_NEXT(w, link);
        http_request *request = stop_waiting(s, w);
        if (reason) {
            study_hold(s, request);
            answer_ask(s, request, NULL, 0, reason);
        } else {
            http_answer_problem(request, s->deleted ? 404 : 503, NULL, "the study is %s",
                                s->deleted ? "deleted" : "not available now");
        }
    }
}

static bool is_repeated(const http_request *held, const http_request *request)
{
    return held->idempotency_key && held->route == request->route && held->number == request->number &&
           strcmp(held->idempotency_key, request->idempotency_key) == 0 &&
           strcmp(held->caller.id, request->caller.id) == 0;
}

bool study_waits_with_key(const study *s, const http_request *request)
{
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link)
        if (is_repeated(w->request, request))
            return true;
    for (const http_request *r = s->deferred; r; r = r->next)
        if (is_repeated(r, request))
            return true;
    return false;
}

static waiting_ask *find_waiting(study *s, uint64_t number)
{
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link)
        if (w->number == number)
            return w;
    return NULL;
}

void study_begin_fixed(study *s, uint64_t number)
{
    const waiting_ask *w = find_waiting(s, number);
    if (w && w->request->idempotency_key)
        study_submit(s); /* its answer has a write of its own */
}

static bool has_gone(waiting_ask *w, int64_t steady)
{
    w->checked_at = steady;
    return http_client_is_gone(w->request);
}

/* Answers an ask with no trial, and why. */
static void end_waiting(study *s, waiting_ask *w)
{
    http_request *request = stop_waiting(s, w);
    if (!request->idempotency_key) /* nothing to store: not even under a key */
        study_hold(s, request);    /* but what it says is to be true */
    answer_ask(s, request, NULL, 0, shortage(s));
}

void study_serve_fixed(study *s, uint64_t number, int64_t first, size_t n)
{
    waiting_ask *w = find_waiting(s, number);
    trial *trials[ASK_MAXIMUM];
    size_t found = 0;
    if (!w || s->write_status != STORE_OK)
        return;
    if (has_gone(w, clock_steady_ms())) {
        end_waiting(s, w);
        return;
    }
    bool keyed = w->request->idempotency_key != NULL;
    for (size_t i = 0; i < n && i < ASK_MAXIMUM; i++)
        if ((trials[found] = study_find_trial(s, first + (int64_t)i)))
            found++;
    const wire_ask *wanted = w->ask;
    http_request *request = stop_waiting(s, w);
    if (found > 0)
        serve(s, request, wanted, false, trials, found, clock_now());
    else if (s->trials >= study_horizon(s))
        answer_ask(s, request, NULL, 0, shortage(s));
    else
        http_answer_problem(request, 409, NULL, "no point with these values is left to be handed out");
    if (keyed)
        study_submit(s);
}

static void plan_for(study *s, waiting_ask *w)
{
    if (w->fixed && may_pick(s))
        study_plan_fixed(s, w);
    else if (w->fixed)
        ; /* its turn comes */
    else if (study_may_plan(s) && s->config->asynchronous)
        plan_for_waiting(s);
    else if (study_may_plan(s) && s->n_open == 0)
        study_start_planning(s, 0);
}

/* Whether a client has gone is looked at when its ask begins to wait, now and then, and before it is handed a
 * trial: then its time is over. What it can be given as it comes it is: it may have ended its sending only.
 */
void study_serve_waiting(study *s, int64_t now)
{
    int64_t steady = clock_steady_ms();
    waiting_ask *w, *next;
    for (w = TAILQ_FIRST(&s->waiting); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (s->state == STUDY_ERROR) {
            http_request *request = stop_waiting(s, w);
            study_hold(s, request); /* the state may not be on disk yet */
            http_answer_problem(request, 409, NULL, "the study has stopped: %s", s->state_reason);
            continue;
        }
        trial *trials[ASK_MAXIMUM];
        bool may_serve = s->state == STUDY_ACTIVE && !TAILQ_EMPTY(&s->queued) && !w->fixed;
        bool comes = w->checked_at == 0;
        bool gone =
            !comes && (may_serve || steady - w->checked_at >= HTTP_CLIENT_CHECK_MS) && has_gone(w, steady);
        bool keyed = may_serve && !gone && w->request->idempotency_key;
        if (keyed)
            study_submit(s); /* its answer has a write of its own */
        if (may_serve && !gone && serve(s, w->request, w->ask, true, trials, 0, now)) {
            stop_waiting(s, w);
            if (keyed)
                study_submit(s);
            continue;
        }
        if (!gone)
            plan_for(s, w);
        bool computing = s->planning || s->delayed;
        bool over = steady >= w->deadline && (!computing || steady >= w->planning_deadline);
        bool no_hope = s->state == STUDY_FINISHED || atomic_load(&s->app->stopping);
        if (over || no_hope || gone || (comes && has_gone(w, steady)))
            end_waiting(s, w);
    }
}

int64_t study_next_wake(const study *s)
{
    int64_t at = s->delayed ? 0 : INT64_MAX;
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link) {
        int64_t deadline = s->planning || s->delayed ? w->planning_deadline : w->deadline;
        if (deadline < at)
            at = deadline;
        if (w->checked_at + HTTP_CLIENT_CHECK_MS < at)
            at = w->checked_at + HTTP_CLIENT_CHECK_MS;
    }
    return at;
}
