/* Asks: which trials an ask gets, and how they are answered. waiting.c handles asks that wait. */
#include "server/study/ask.h"

#include "proto/trials.h"
#include "server/base/clock.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/study_space.h"
#include "server/data/trial_view.h"
#include "server/study/requests.h"
#include "server/study/trials.h"
#include "server/study/turn_end.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *study_shortage(const study *s)
{
    if (s->state == STUDY_PAUSED)
        return "paused";
    if (s->state == STUDY_FINISHED)
        return "finished";
    if (plan_state_is_computing(s->plans))
        return "computing";
    if (s->trials >= study_horizon(s))
        return "horizon_reached";
    bool exhausted = s->config->never_repeats && plan_state_is_exhausted(s->plans);
    return exhausted ? "exhausted" : "awaiting_feedback";
}

/* The trial as answers show it. *out borrows from the trial, from `point`, which receives its features, and from
 * *key. */
static store_status view(const study *s, const trial *t, double *point, candidate_key *key, wire_trial *out)
{
    store_error error = {0};
    trial_context of = {
        .definition = s->config->wire, .listed = s->reference_candidates, .width = (size_t)s->dimension};
    store_trial row = {.trial = t->id,
                       .state = t->state,
                       .batch = t->batch,
                       .attempt = t->attempt,
                       .candidate = t->candidate,
                       .worker = t->worker,
                       .lease_expires_at = t->lease_expires_at,
                       .has_value = t->has_value,
                       .value = t->value,
                       .recorded = t->recorded,
                       .repeats = t->repeats,
                       .metadata = t->metadata,
                       .reason = t->reason,
                       .told_at = t->told_at};
    int64_t candidate = t->candidate;
    store_status status =
        candidate_keys_at(key, s->app->store, s->number, s->has_keys, &candidate, 1, &error);
    *out = trial_view(&row, &of, point, key->text);
    if (status != STORE_OK || s->config->precomputed)
        return status;
    if (!t->point)
        return candidate_rows(point, s->app->store, s->number, of.definition, of.width, t->candidate, 1,
                              &error);
    memcpy(point, t->point, of.width * sizeof *point);
    return STORE_OK;
}

/* Call it when the answer cannot be made. Then none of its contents may be stored: otherwise a trial would be pending
 * that no worker has, and an idempotency key would have no answer. The turn fails, and the study is loaded again. */
static void refuse_answer(study *s, study_request *request, store_status status)
{
    if (request->held)
        commit_fail(s->commit, status);
    reply_store_problem(request, status);
}

void study_answer_ask(study *s, study_request *request, trial **trials, size_t n, const char *reason)
{
    size_t d = (size_t)s->dimension;
    wire_trial *shown = calloc(n ? n : 1, sizeof *shown);
    double *points = calloc(n ? n * d : 1, sizeof *points);
    candidate_key *keys = calloc(n ? n : 1, sizeof *keys);
    store_status status = shown && points && keys ? STORE_OK : STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < n; i++)
        status = view(s, trials[i], points + i * d, &keys[i], &shown[i]);
    if (status == STORE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_ask_answer(&w, shown, n, reason);
        reply_json_later(request, &w, !reason ? 0 : strcmp(reason, "finished") == 0 ? 60 : 1);
    } else {
        refuse_answer(s, request, status);
    }
    free(shown);
    free(points);
    free(keys);
}

void study_answer_trial(study *s, study_request *request, const trial *t)
{
    wire_trial shown;
    candidate_key key;
    double *point = malloc((size_t)s->dimension * sizeof *point);
    store_status status = point ? view(s, t, point, &key, &shown) : STORE_NO_MEMORY;
    if (status == STORE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_trial(&w, &shown);
        reply_json(request, &w);
    } else {
        refuse_answer(s, request, status);
    }
    free(point);
}

/* Does the trial's point have these values? fixed NULL: any point does. */
static bool has_values(const study *s, const trial *t, const double *fixed)
{
    wire_trial shown;
    candidate_key key;
    size_t width = (size_t)s->dimension;
    if (!fixed)
        return true;
    double *point = calloc(width, sizeof *point);
    bool has = point && view(s, t, point, &key, &shown) == STORE_OK;
    for (size_t i = 0; has && i < width; i++)
        has = isnan(fixed[i]) || fixed[i] == point[i];
    free(point);
    return has;
}

/* A restarted worker gets its trials back. */
size_t study_own_trials(study *s, const wire_ask *ask, const double *fixed, trial **out)
{
    size_t n = 0;
    trial *t;
    if (!ask->worker || ask->fresh)
        return 0;
    for (t = workers_first_held(s->workers, ask->worker); t; t = workers_next_held(t)) {
        if (!has_values(s, t, fixed))
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

bool study_serve(study *s, study_request *request, const wire_ask *ask, bool from_queue, trial **trials,
                 size_t n, int64_t now)
{
    size_t wanted = (size_t)ask->count;
    for (size_t i = 0; i < n; i++)
        study_issue(s, trials[i], ask, now);
    while (from_queue && n < wanted && s->state == STUDY_ACTIVE &&
           !trial_queue_is_empty(s->queue, TRIALS_QUEUED)) {
        trial *t = trial_queue_head(s->queue);
        if (!study_issue(s, t, ask, now))
            break;
        trials[n++] = t;
    }
    if (n == 0)
        return false;
    commit_hold(s->commit, request);
    study_answer_ask(s, request, trials, n, n < wanted ? study_shortage(s) : NULL);
    return true;
}

/* Encodes the parameters that the ask fixes. The caller frees *out; NULL: there are none. False: the request was
 * refused. */
static bool code_fixed(double **out, const study *s, study_request *request)
{
    const wire_ask *ask = request->context;
    const wire_study *definition = s->config->wire;
    wire_errors errors = {0};
    *out = NULL;
    if (!ask->fixed.items && !space_has_context(definition))
        return true;
    if (!s->config->parameters) {
        wire_errors_add(&errors, "/fixed", "applies to a domain of type \"space\" only");
    } else if (!(*out = malloc((size_t)s->dimension * sizeof **out))) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return false;
    } else {
        wire_code_parameters(*out, definition->parameters, definition->n_parameters, &ask->fixed, WIRE_ASKED,
                             "/fixed", &errors);
    }
    bool fine = errors.n == 0;
    if (!fine) {
        reply_undecodable(request, WIRE_INVALID, &errors);
        free(*out);
    }
    wire_errors_clear(&errors);
    return fine;
}

/* In a space with a context, a requeued trial waits for an ask for one trial with its values. Returns how many it has
 * found: 0 or 1. */
static size_t returned_trial(study *s, const wire_ask *ask, const double *fixed, trial **out)
{
    size_t n = 0;
    for (trial *t = trial_queue_first(s->queue, TRIALS_QUEUED); ask->count == 1 && t;
         t = trial_queue_next(t)) {
        if (has_values(s, t, fixed) && (n == 0 || t->id < out[0]->id)) {
            out[0] = t;
            n = 1;
        }
    }
    return n;
}

/* An ask gets fewer trials than it requests if their points have more numbers in total than this, because the turn
 * itself encodes the answer, which takes long for wide points. */
enum { NUMBERS_AN_ASK = 50000 };

void study_ask(study *s, study_request *request)
{
    wire_ask *ask = request->context;
    size_t most = NUMBERS_AN_ASK / ((size_t)s->dimension + 1) + 1;
    if (!s->config->precomputed && ask->count > (int64_t)most)
        ask->count = (int64_t)most;
    int64_t now = clock_now();
    if (s->state == STUDY_AWAITING_CANDIDATES) {
        reply_problem(request, REPLY_CONFLICT, NULL, "the study has no candidates yet: upload them first");
        return;
    }
    if (s->state == STUDY_ERROR) {
        reply_problem(request, REPLY_CONFLICT, NULL, "the study has stopped: %s", s->state_reason);
        return;
    }
    trial *own[ASK_MAXIMUM];
    assert(ask->count <= ASK_MAXIMUM);
    double *fixed;
    if (!code_fixed(&fixed, s, request))
        return;
    size_t n = study_own_trials(s, ask, fixed, own);
    if (n == 0 && fixed && space_has_context(s->config->wire) && s->state == STUDY_ACTIVE)
        n = returned_trial(s, ask, fixed, own);
    bool enough = n == (size_t)ask->count || s->state != STUDY_ACTIVE ||
                  !study_config_serves_in_full(s->config); /* otherwise the rest is planned first */
    if (n > 0 && enough) {
        study_serve(s, request, ask, !fixed, own, n, now);
        free(fixed);
        return;
    }
    waiting_line_add(s->waiting, request, fixed, n); /* served at the end of the turn, in order */
}
