/* A study's candidates: set, added, retired, restored. */
#include "proto/changes.h"
#include "proto/keys.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/study_space.h"
#include "server/data/upload.h"
#include "server/study/engine_lane.h"
#include "server/study/failures.h"
#include "server/study/patch.h"
#include "server/study/points.h"
#include "server/study/requests.h"
#include "server/study/trials.h"
#include "server/study/turn_end.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CANDIDATES = 0x7fffffff };

/* ---- setting ------------------------------------------------------------------------------------------- */

static void answer_count(study_request *request, const candidate_upload *uploaded)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_candidates_answer(&w, (int64_t)upload_count(uploaded->upload), (int64_t)uploaded->dimension);
    reply_json(request, &w);
}

/* The reason why the candidates cannot be replaced; NULL: they can be. */
static const char *why_kept(const study *s)
{
    size_t n_observations;
    if (s->batches > 0 || plan_state_is_busy(s->plans))
        return "candidates cannot be replaced after the first ask";
    if (s->trials > 0)
        return "candidates cannot be replaced once there are trials";
    pending_results_observations(s->results, &n_observations);
    if (n_observations > 0)
        return "candidates cannot be replaced once there are results";
    if (s->candidates != s->reference_candidates || s->failures)
        return "candidates cannot be replaced once some were added or retired";
    return NULL;
}

/* Takes the names of features from the upload's header. The study is active then. */
static void take_names(study *s, const candidate_upload *uploaded)
{
    char *definition;
    if (!study_name_features(s, uploaded->names, uploaded->n_names, &definition))
        commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
    if (s->state == STUDY_AWAITING_CANDIDATES)
        study_set_state(s, STUDY_ACTIVE, "", definition);
    else if (definition)
        study_set_state(s, s->state, s->state_reason, definition);
    free(definition);
}

/* Handles an upload of the same candidates again, perhaps with other keys and names. */
static void keyed_again(study *s, study_request *request, const uint32_t *arms)
{
    (void)arms;
    if (!why_kept(s))
        take_names(s, request->context);
    commit_hold(s->commit, request);
    answer_count(request, request->context);
}

void study_set_candidates(study *s, study_request *request)
{
    const candidate_upload *uploaded = request->context;
    const char *digest = upload_digest(uploaded->upload), *why = why_kept(s);
    if (!study_is_meant(s, request, uploaded->study))
        return;
    bool same = strcmp(digest, s->digest) == 0;
    bool renames =
        s->config->wire->n_feature_names > 0 && study_has_other_names(s, uploaded->names, uploaded->n_names);
    if (why && (!same || renames)) {
        commit_hold(s->commit, request);
        reply_problem(request, REPLY_CONFLICT, NULL, "%s", why);
        return;
    }
    if (same && uploaded->keys) {
        study_place_keys(s, request, uploaded->keys, keyed_again);
        return;
    }
    if (same) {
        if (!why)
            take_names(s, uploaded);
        commit_hold(s->commit, request);
        answer_count(request, uploaded);
        return;
    }
    commit_hold(s->commit, request);
    store_event event = {.type = EVENT_CANDIDATES_SET, .time = clock_now()};
    upload_describe(uploaded->upload, &event);
    event.u.candidates.dimension = (int64_t)uploaded->dimension;
    commit_record(s->commit, &event);
    upload_keep(uploaded->upload);
    s->candidates = s->reference_candidates = (int64_t)upload_count(uploaded->upload);
    s->dimension = (int64_t)uploaded->dimension;
    strncpy(s->digest, digest, sizeof s->digest - 1);
    s->has_keys = false;
    if (uploaded->keys)
        study_record_keys(s, 0, uploaded->keys);
    take_names(s, uploaded);
    study_renew_engine(s);
    answer_count(request, uploaded);
}

/* ---- changing ------------------------------------------------------------------------------------------ */

/* Can the candidates be changed? False: the request was refused. */
static bool may_change(const study *s, study_request *request)
{
    const char *why = NULL;
    if (s->config->parameters)
        why = "the study's domain is a space: its definition says which points there are";
    else if (s->config->precomputed)
        why = "the candidates are given by a kernel matrix: their number is fixed";
    else if (s->state == STUDY_AWAITING_CANDIDATES)
        why = "the study has no candidates yet: upload them first";
    if (why)
        reply_problem(request, REPLY_CONFLICT, NULL, "%s", why);
    return !why;
}

/* ---- adding -------------------------------------------------------------------------------------------- */

static void added(study *s, study_request *request, const uint32_t *arms)
{
    const wire_points *points = request->context;
    plan_state_set_exhausted(s->plans, false);
    commit_hold(s->commit, request);
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_added(&w, arms[0], (int64_t)points->n);
    reply_json(request, &w);
}

void study_add_candidates(study *s, study_request *request)
{
    const wire_points *points = request->context;
    wire_errors errors = {0};
    if (!may_change(s, request))
        return;
    if (points->dimension != (size_t)s->dimension)
        wire_errors_add(&errors, "/points/0", "must have %lld features", (long long)s->dimension);
    else if (points->n > (size_t)(MOST_CANDIDATES - s->candidates))
        wire_errors_add(&errors, "/points", "a study has at most %d candidates", MOST_CANDIDATES);
    if (errors.n > 0)
        reply_undecodable(request, WIRE_INVALID, &errors);
    else
        study_append_points(s, request, points->rows, points->n, points->keys, added);
    wire_errors_clear(&errors);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static void keyed(study *s, study_request *request, const uint32_t *arms)
{
    const wire_keys *keys = request->context;
    int64_t n = 0;
    (void)arms;
    for (size_t i = 0; i < keys->n; i++)
        n += *wire_keys_at(keys, i) != '\0';
    commit_hold(s->commit, request);
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_keys_answer(&w, n);
    reply_json(request, &w);
}

void study_set_keys(study *s, study_request *request)
{
    const wire_keys *keys = request->context;
    wire_errors errors = {0};
    if (s->config->parameters)
        reply_problem(request, REPLY_CONFLICT, NULL,
                      "the study's domain is a space: its points have no keys");
    else if (s->state == STUDY_AWAITING_CANDIDATES)
        reply_problem(request, REPLY_CONFLICT, NULL, "the study has no candidates yet: upload them first");
    else if ((int64_t)keys->n != s->candidates)
        wire_errors_add(&errors, "/keys",
                        "there must be one key, or an empty one, for each of the %lld candidates, not %zu",
                        (long long)s->candidates, keys->n);
    else
        study_place_keys(s, request, keys, keyed);
    if (errors.n > 0)
        reply_undecodable(request, WIRE_INVALID, &errors);
    wire_errors_clear(&errors);
}

/* ---- retiring ------------------------------------------------------------------------------------------ */

static int compare_candidates(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Selects the candidates that are retired, or those that are not, ascending, each once. NULL: out of memory. */
static uint32_t *select_candidates(const study *s, const wire_retire *retire, bool retired, size_t *n)
{
    uint32_t *list = malloc((retire->n ? retire->n : 1) * sizeof *list);
    size_t kept = 0;
    *n = 0;
    if (!list)
        return NULL;
    for (size_t i = 0; i < retire->n; i++)
        if (study_is_retired(s, (uint32_t)retire->candidates[i]) == retired)
            list[kept++] = (uint32_t)retire->candidates[i];
    qsort(list, kept, sizeof *list, compare_candidates);
    for (size_t i = 0; i < kept; i++)
        if (i == 0 || list[i] != list[i - 1])
            list[(*n)++] = list[i];
    return list;
}

/* Do all of the request's candidates exist? False: the request was refused. */
static bool are_known(const study *s, study_request *request)
{
    const wire_retire *named = request->context;
    wire_errors errors = {0};
    for (size_t i = 0; i < named->n; i++)
        if (named->candidates[i] >= s->candidates)
            wire_errors_add(&errors, log_format("/candidates/%zu", i), "there are %lld candidates, from 0",
                            (long long)s->candidates);
    bool known = errors.n == 0;
    if (!known)
        reply_undecodable(request, WIRE_INVALID, &errors);
    wire_errors_clear(&errors);
    return known;
}

void study_retire_candidates(study *s, study_request *request)
{
    const wire_retire *retire = request->context;
    size_t n;
    if (!may_change(s, request) || !are_known(s, request))
        return;
    uint32_t *list = select_candidates(s, retire, false, &n);
    for (size_t i = 0; list && i < n; i++)
        if (!study_mark_retired(s, list[i]))
            commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
    if (!list) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    store_event event = {.type = EVENT_CANDIDATES_RETIRED, .time = clock_now()};
    event.u.retired.list = list;
    event.u.retired.n = n;
    if (n > 0)
        commit_record(s->commit, &event);
    free(list);
    size_t cancelled = study_cancel_retired(s);
    commit_hold(s->commit, request);
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_retired(&w, (int64_t)n, (int64_t)cancelled);
    reply_json(request, &w);
}

void study_restore_candidates(study *s, study_request *request)
{
    size_t n;
    if (!may_change(s, request) || !are_known(s, request))
        return;
    uint32_t *list = select_candidates(s, request->context, true, &n);
    if (!list) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < n; i++)
        study_mark_restored(s, list[i]);
    store_event event = {.type = EVENT_CANDIDATES_RESTORED, .time = clock_now()};
    event.u.restored.list = list;
    event.u.restored.n = n;
    if (n > 0) {
        commit_record(s->commit, &event);
        plan_state_set_exhausted(s->plans, false);
    }
    free(list);
    commit_hold(s->commit, request);
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_restored(&w, (int64_t)n);
    reply_json(request, &w);
}
