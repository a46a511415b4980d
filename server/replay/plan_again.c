/* Replans a batch of the log and compares it bit by bit: picks, figures and the state of the engine. */
#include "server/replay/internal.h"

#include "server/data/stop_rule.h"

#include <math.h>
#include <string.h>

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Are the values equal in the form of the log? It does not keep the sign of a zero, and has NaN for all values that are
 * not finite. */
static bool same_logged(double a, double b)
{
    return isfinite(b) ? a == b : !isfinite(a);
}

static bool compare_picks(replaying *r, int64_t seq, int64_t batch, const store_pick *a, size_t n_a,
                          const store_pick *b, size_t n_b)
{
    for (size_t i = 0; i < n_a && i < n_b; i++) {
        if (a[i].candidate != b[i].candidate) {
            replay_differs(r, seq, "batch %lld: pick %zu is candidate %u; replanning chose %u",
                           (long long)batch, i, a[i].candidate, b[i].candidate);
            return false;
        }
        if (!same_logged(a[i].variance, b[i].variance)) {
            replay_differs(r, seq, "batch %lld: pick %zu has variance %.17g; replanning gave %.17g",
                           (long long)batch, i, a[i].variance, b[i].variance);
            return false;
        }
    }
    if (n_a != n_b)
        replay_differs(r, seq, "batch %lld has %zu picks; replanning made %zu", (long long)batch, n_a, n_b);
    return n_a == n_b;
}

/* The rule regret is judged by estimates, which may differ between versions. */
static bool is_estimated(const store_batch *b)
{
    const char *rule;
    int64_t since;
    return advice_is_of_rule(b->advice, &rule, &since) &&
           strcmp(rule, wire_stop_rule_names[WIRE_STOP_REGRET]) == 0;
}

static bool compare_scalars(replaying *r, int64_t seq, const store_batch *a, const store_batch *b)
{
    const struct {
        const char *name;
        double a, b;
    } values[] = {{"beta", a->beta, b->beta},
                  {"ratio", a->ratio, b->ratio},
                  {"observations", (double)a->observations, (double)b->observations},
                  {"dictionary_size", (double)a->dictionary_size, (double)b->dictionary_size}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!same_logged(values[i].a, values[i].b)) {
            replay_differs(r, seq, "batch %lld: %s is %.17g; replanning gave %.17g", (long long)a->batch,
                           values[i].name, values[i].a, values[i].b);
            return false;
        }
    if (strcmp(a->stop_rule, b->stop_rule) != 0) {
        replay_differs(r, seq, "batch %lld ended by the rule %s; replanning ended by %s", (long long)a->batch,
                       a->stop_rule, b->stop_rule);
        return false;
    }
    bool compared = *a->advice && !is_estimated(a) && !is_estimated(b); /* earlier versions gave no advice */
    if (compared && strcmp(a->advice, b->advice) != 0) {
        replay_differs(r, seq, "batch %lld advises %s; replanning advises %s", (long long)a->batch, a->advice,
                       *b->advice ? b->advice : "nothing");
        return false;
    }
    return true;
}

static bool compare_sums(replaying *r, int64_t seq, const store_event *a, const store_event *b)
{
    size_t n = a->u.planned.n_sums;
    bool same = b->u.planned.n_sums == n;
    for (size_t i = 0; same && i < n; i++) {
        const store_arm_sum *x = &a->u.planned.sums[i], *y = &b->u.planned.sums[i];
        same = x->arm == y->arm && x->count == y->count && bits_of(x->sum) == bits_of(y->sum);
    }
    if (!same)
        replay_differs(r, seq, "batch %lld: replanning produced different sums",
                       (long long)a->u.planned.batch.batch);
    return same;
}

static bool compare_planned(replaying *r, int64_t seq, const store_event *a, const store_event *b)
{
    const store_batch *batch = &a->u.planned.batch;
    if (!compare_scalars(r, seq, batch, &b->u.planned.batch))
        return false;
    if (batch->dictionary_size && memcmp(a->u.planned.dictionary, b->u.planned.dictionary,
                                         (size_t)batch->dictionary_size * sizeof(uint32_t)) != 0) {
        replay_differs(r, seq, "batch %lld: replanning produced a different dictionary",
                       (long long)batch->batch);
        return false;
    }
    if (!compare_sums(r, seq, a, b) ||
        !compare_picks(r, seq, batch->batch, a->u.planned.picks, a->u.planned.n_picks, b->u.planned.picks,
                       b->u.planned.n_picks))
        return false;
    bool same =
        a->u.planned.n_engine_state == b->u.planned.n_engine_state &&
        memcmp(a->u.planned.engine_state, b->u.planned.engine_state, a->u.planned.n_engine_state) == 0;
    if (!same)
        replay_differs(r, seq, "batch %lld: replanning produced a different engine state",
                       (long long)batch->batch);
    return same;
}

/* A plan made by a job, since engines must be called from one. */
typedef struct replanning {
    computing_job job;
    replaying *r;
    const store_event *recorded;
    const char *refusal;
    store_status status;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
} replanning;

static void run_replanning(computing_job *job)
{
    replanning *p = (replanning *)(void *)job;
    p->status = plan_again(p->r->study, p->recorded, &p->r->planned, &p->r->plan, &p->refusal);
    pthread_mutex_lock(&p->lock);
    p->done = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static store_status plan_in_job(replaying *r, const store_event *recorded, const char **refusal)
{
    replanning p = {.job.run = run_replanning, .r = r, .recorded = recorded};
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    computing_submit(r->options->computing, &p.job, NULL);
    pthread_mutex_lock(&p.lock);
    while (!p.done)
        pthread_cond_wait(&p.changed, &p.lock);
    pthread_mutex_unlock(&p.lock);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    *refusal = p.refusal;
    return p.status;
}

void replay_plan_again(replaying *r, int64_t seq, const store_event *recorded)
{
    const char *refusal = NULL;
    store_error error = {0};
    store_status status = rebuild_wait(r->rebuild);
    if (!status && !rebuild_has_candidates(r->rebuild)) {
        replay_differs(
            r, seq, "the candidates differ from those that the log refers to, so no batch can be replanned");
        r->strayed = true;
        return;
    }
    if (!status && !r->study && !(r->study = study_new(&r->app, rebuild_id(r->rebuild))))
        status = STORE_NO_MEMORY;
    if (!status)
        status = study_load(r->study, &error);
    if (status) {
        replay_fail(r, status, "the rebuilt study");
        return;
    }
    status = plan_in_job(r, recorded, &refusal);
    if (status)
        replay_fail(r, status, "replanning");
    else if (refusal) {
        replay_differs(r, seq, "the engine cannot replan the batch: %s", refusal);
        plan_free(r->plan);
        r->plan = NULL;
        r->strayed = true;
    }
    study_unload(r->study);
}

void replay_compare_plan(replaying *r, int64_t seq, const store_event *recorded)
{
    const char *path = recorded->type == EVENT_BATCH_PLANNED ? recorded->u.planned.batch.code_path : NULL;
    const char *here = r->planned.u.planned.batch.code_path;
    bool same;
    if (recorded->type == EVENT_BATCH_PLANNED)
        same = compare_planned(r, seq, recorded, &r->planned);
    else
        same = compare_picks(r, seq, recorded->u.extended.batch, recorded->u.extended.picks,
                             recorded->u.extended.n_picks, r->planned.u.extended.picks,
                             r->planned.u.extended.n_picks);
    if (!same && path && strcmp(path, here) != 0)
        replay_differs(
            r, seq,
            "the batch was planned on another kind of machine (%s; this one is %s), which may be the cause",
            path, here);
    r->strayed = !same;
    r->result->batches += recorded->type == EVENT_BATCH_PLANNED;
    plan_free(r->plan);
    r->plan = NULL;
}
