/* The engine's set of arms has the points of a study. Finding a point is therefore a job of the engine lane, which
 * also numbers new points. A plan also numbers new points. Only one such job may run at a time
 * (plan_state_is_busy), and requests with points wait here for their turn. */
#include "server/study/points.h"

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/space_rules.h"
#include "server/study/engine_lane.h"
#include "server/study/insight_cache.h"
#include "server/study/remembered.h"

#include <stdlib.h>
#include <string.h>

struct placing {
    engine_job job;
    study_job done;
    engine_source source;
    study_request *request;
    const double *points; /* n x width; owned by the request */
    size_t n;
    bool appends; /* all points are new candidates, not points of a space */
    const wire_keys
        *keys;      /* of the new candidates, or, without points, of all; owned by the request. NULL: none */
    bool same_keys; /* the candidates already have these keys */
    wire_errors refused; /* keys that other candidates have */
    bandit_arms *broken; /* points that break a constraint of an enumerated space; NULL: not loaded */
    study_placed *placed;
    engine_outcome outcome;
    uint32_t *arms; /* the arm of each point */
    double *added;  /* n_added x width: the new points, in the order of their numbers */
    size_t n_added;
    STAILQ_ENTRY(placing) link;
};

static void placing_free(placing *p)
{
    wire_errors_clear(&p->refused);
    free(p->arms);
    free(p->added);
    bandit_arms_free(p->broken);
    free(p);
}

/* The points of an enumerated space that break its constraints are not among the engine's arms. When a request has such
 * a point, a set of arms is made from them. */
static bool load_broken(study *s, placing *p)
{
    const engine_source *from = &p->source;
    store_error error = {0};
    if (p->broken)
        return true;
    double *rows = malloc((from->broken + 1) * from->dimension * sizeof *rows);
    if (!rows)
        p->outcome.stored = STORE_NO_MEMORY;
    else if (!engine_wait_for_store(s, from))
        p->outcome.stored = STORE_ABORTED;
    else if (from->broken > 0)
        p->outcome.stored = candidate_rows(rows, s->app->store, from->number, from->config->wire,
                                           from->dimension, (int64_t)from->candidates, from->broken, &error);
    if (p->outcome.stored == STORE_OK &&
        space_arms_new(&p->broken, from->config->wire, from->config->parameters, &p->outcome.error) ==
            BANDIT_OK &&
        from->broken > 0)
        bandit_arms_append(p->broken, rows, from->broken, &p->outcome.error);
    free(rows);
    return engine_fine(&p->outcome);
}

static void place_one(study *s, placing *p, size_t i)
{
    bandit_arms *arms = s->engine.arms;
    size_t width = p->source.dimension, first = 0;
    const double *point = p->points + i * width;
    if (bandit_arms_check_point(arms, point, &p->outcome.error) != BANDIT_OK)
        return;
    size_t arm = bandit_arms_find(arms, point);
    if (arm == SIZE_MAX && p->source.reference_candidates > 0) {
        if (!load_broken(s, p))
            return;
        arms = p->broken;
        first = p->source.candidates;
        arm = bandit_arms_find(arms, point);
    }
    if (arm == SIZE_MAX) {
        arm = bandit_arms_count(arms);
        if (bandit_arms_append(arms, point, 1, &p->outcome.error) != BANDIT_OK)
            return;
        bandit_arms_coded(arms, arm, p->added + p->n_added * width);
        p->n_added++;
    }
    p->arms[i] = (uint32_t)(first + arm);
}

/* A set of arms may grow only while no engine uses it. The engine is therefore freed, and restored when it is
 * needed. */
static void append_all(study *s, placing *p)
{
    size_t first = bandit_arms_count(s->engine.arms), width = p->source.dimension;
    bandit_engine_free(s->engine.engine);
    s->engine.engine = NULL;
    if (bandit_arms_check_appended(s->engine.arms, p->points, p->n, &p->outcome.error) != BANDIT_OK ||
        bandit_arms_append(s->engine.arms, p->points, p->n, &p->outcome.error) != BANDIT_OK)
        return;
    memcpy(p->added, p->points, p->n * width * sizeof *p->added);
    p->n_added = p->n;
    for (size_t i = 0; i < p->n; i++)
        p->arms[i] = (uint32_t)(first + i);
}

/* Waits until the keys of earlier jobs are on disk, and then looks for the request's keys in the store. */
static void check_keys(study *s, placing *p)
{
    store *from = s->app->store;
    store_error error = {0};
    int64_t other = -1;
    if (!engine_wait_for_store(s, &p->source)) {
        p->outcome.stored = STORE_ABORTED;
        return;
    }
    if (!p->appends) {
        p->outcome.stored = candidate_keys_compare(&p->same_keys, from, p->source.number, 0, p->keys, &error);
        return;
    }
    for (size_t i = 0; p->outcome.stored == STORE_OK && i < p->keys->n; i++) {
        const char *key = wire_keys_at(p->keys, i);
        if (!*key)
            continue;
        p->outcome.stored = store_find_key(from, p->source.number, key, &other, &error);
        if (p->outcome.stored == STORE_OK && other >= 0)
            wire_errors_add(&p->refused, log_format("/keys/%zu", i), "is already the key of candidate %lld",
                            (long long)other);
    }
}

static void placing_done(study *s, study_job *job);

static void end_placing(study *s, placing *p)
{
    engine_settle(&p->outcome);
    if (!engine_fine(&p->outcome))
        study_drop_engine(s); /* it may have arms that will not be stored */
    p->done.run = placing_done;
    study_post(s, &p->done);
}

static void run_placing(study *s, engine_job *job)
{
    placing *p = (placing *)(void *)job;
    if (p->keys)
        check_keys(s, p);
    if (p->refused.n > 0 || p->n == 0) {
        insight_cache_free(s->engine.insights); /* its answers have the keys of candidates */
        s->engine.insights = NULL;
        study_drop_preview(s); /* its cache has them as well */
        end_placing(s, p);
        return;
    }
    engine_ensure_arms(s, &p->source, &p->outcome);
    p->arms = malloc((p->n ? p->n : 1) * sizeof *p->arms);
    p->added = malloc((p->n ? p->n : 1) * p->source.dimension * sizeof *p->added);
    if (!p->arms || !p->added)
        p->outcome.stored = STORE_NO_MEMORY;
    if (engine_fine(&p->outcome) && p->appends)
        append_all(s, p);
    for (size_t i = 0; engine_fine(&p->outcome) && !p->appends && i < p->n; i++)
        place_one(s, p, i);
    end_placing(s, p);
}

static void record_points(study *s, const double *rows, size_t n)
{
    if (n == 0)
        return;
    store_event event = {.type = EVENT_CANDIDATES_ADDED, .time = clock_now()};
    event.u.added.first = s->candidates;
    event.u.added.points = (store_points){.n = n, .dimension = s->dimension, .rows = rows};
    commit_record(s->commit, &event);
    s->candidates += (int64_t)n;
}

static store_status record_event(void *arg, const store_event *event)
{
    commit_record(arg, event);
    return STORE_OK;
}

void study_record_keys(study *s, int64_t first, const wire_keys *keys)
{
    bool none = wire_keys_are_empty(keys);
    if (!none || first == 0)
        candidate_keys_record(first, keys, clock_now(), record_event, s->commit);
    s->has_keys = first == 0 ? !none : s->has_keys || !none;
    remembered_forget(s); /* answers name candidates by their keys */
}

static void refuse_points(const placing *p)
{
    wire_errors errors = {0};
    wire_errors_add(&errors, "/points", "%s", p->outcome.error.message);
    reply_undecodable(p->request, WIRE_INVALID, &errors);
    wire_errors_clear(&errors);
}

static void placing_done(study *s, study_job *job)
{
    placing *p = (placing *)((char *)job - offsetof(placing, done));
    bool keyed = p->request->key != NULL;
    study_engine_job_done(s);
    plan_state_end(s->plans);
    STAILQ_REMOVE(plan_state_placing(s->plans), p, placing, link);
    if (s->deleted || !s->loaded || commit_is_broken(s->commit)) {
        reply_problem(p->request, s->deleted ? REPLY_NOT_FOUND : REPLY_UNAVAILABLE, NULL, "the study is %s",
                      s->deleted ? "deleted" : "not available now");
    } else if (p->outcome.stored != STORE_OK) {
        reply_store_problem(p->request, p->outcome.stored);
    } else if (p->outcome.error.status != BANDIT_OK) {
        refuse_points(p);
    } else if (p->refused.n > 0) {
        reply_undecodable(p->request, WIRE_INVALID, &p->refused);
    } else if (p->keys && !p->appends && (int64_t)p->keys->n != s->candidates) {
        reply_problem(p->request, REPLY_CONFLICT, NULL,
                      "the request has keys for %zu candidates, and the study has %lld by now", p->keys->n,
                      (long long)s->candidates);
    } else {
        if (keyed)
            commit_submit(s->commit); /* its reply gets a separate write */
        int64_t first = p->appends ? s->candidates : 0;
        record_points(s, p->added, p->n_added);
        if (p->keys && !p->same_keys)
            study_record_keys(s, first, p->keys);
        p->placed(s, p->request, p->arms);
        if (keyed)
            commit_submit(s->commit);
    }
    placing_free(p);
}

static void place(study *s, study_request *request, const double *points, size_t n, bool appends,
                  const wire_keys *keys, study_placed *placed)
{
    placing *p = calloc(1, sizeof *p);
    if (!p) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    p->job.run = run_placing;
    p->request = request;
    p->points = points;
    p->n = n;
    p->placed = placed;
    p->appends = appends;
    p->keys = keys;
    STAILQ_INSERT_TAIL(plan_state_placing(s->plans), p, link);
}

void study_place_points(study *s, study_request *request, const double *points, size_t n,
                        study_placed *placed)
{
    place(s, request, points, n, false, NULL, placed);
}

void study_append_points(study *s, study_request *request, const double *points, size_t n,
                         const wire_keys *keys, study_placed *placed)
{
    place(s, request, points, n, true, keys, placed);
}

void study_place_keys(study *s, study_request *request, const wire_keys *keys, study_placed *placed)
{
    place(s, request, NULL, 0, false, keys, placed);
}

/* Would the study have too many values with the new candidates of the request? */
static bool is_too_large(const study *s, const placing *p)
{
    size_t most = s->app->config->max_values / (size_t)(s->dimension > 0 ? s->dimension : 1);
    size_t present = (size_t)s->candidates;
    return p->appends && (present > most || p->n > most - present);
}

void study_start_placing(study *s)
{
    placing *p = STAILQ_FIRST(plan_state_placing(s->plans));
    if (!p || plan_state_is_busy(s->plans) || commit_is_broken(s->commit))
        return;
    while (p && is_too_large(s, p)) { /* known only now: requests before this one may have added some */
        STAILQ_REMOVE_HEAD(plan_state_placing(s->plans), link);
        reply_limit(p->request, REPLY_TOO_MANY_VALUES);
        placing_free(p);
        p = STAILQ_FIRST(plan_state_placing(s->plans));
    }
    if (!p)
        return;
    p->source = engine_source_of(s);
    plan_state_begin(s->plans);
    study_post_engine(s, &p->job);
}

void study_refuse_placing(study *s)
{
    placing *first = plan_state_is_busy(s->plans) ? STAILQ_FIRST(plan_state_placing(s->plans)) : NULL, *p,
            *next;
    for (p = STAILQ_FIRST(plan_state_placing(s->plans)); p; p = next) {
        next = STAILQ_NEXT(p, link);
        if (p == first && p->source.config)
            continue; /* its job is on the engine lane; the request is refused when the job ends */
        STAILQ_REMOVE(plan_state_placing(s->plans), p, placing, link);
        reply_problem(p->request, s->deleted ? REPLY_NOT_FOUND : REPLY_UNAVAILABLE, NULL, "the study is %s",
                      s->deleted ? "deleted" : "not available now");
        placing_free(p);
    }
}

bool study_places_with_key(const study *s, const study_request *request)
{
    placing *p;
    STAILQ_FOREACH (p, plan_state_placing(s->plans), link)
        if (request_repeats(p->request, request))
            return true;
    return false;
}
