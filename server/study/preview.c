#include "server/study/preview.h"

#include "server/base/log.h"
#include "server/study/pending_results.h"
#include "server/study/plan_internal.h"
#include "server/study/trial_queue.h"

bool preview_gather(plan **out, const study *s)
{
    *out = NULL;
    if (s->state == STUDY_ERROR || plan_state_is_busy(s->plans) ||
        !trial_queue_is_empty(s->queue, TRIALS_PENDING))
        return true;
    plan *p = plan_gather_preview(s);
    if (!p)
        return false;
    if (p->n_results > 0 || p->n_amendments > 0)
        *out = p;
    else
        plan_free(p);
    return true;
}

/* Both engines together keep the limit of one. */
static size_t memory_left(size_t limit, const bandit_engine *own)
{
    size_t used = bandit_engine_memory(own);
    if (limit == 0)
        return 0;
    return limit > used ? limit - used : 1;
}

/* Makes the copy. False: it cannot be made. */
static bool make(study *s, plan *p)
{
    engine_lane *lane = &s->engine;
    bandit_engine *own = lane->engine;
    engine_outcome *out = &p->outcome;
    p->source.memory_limit = memory_left(p->source.memory_limit, own);
    lane->engine = NULL;
    if (engine_wait_for_store(s, &p->source))
        engine_build(s, &p->source, out);
    else
        out->stored = STORE_ABORTED;
    if (engine_fine(out))
        plan_take_results(s, p);
    lane->preview.engine = lane->engine;
    lane->preview.through_seq = p->through_seq;
    lane->engine = own;
    if (engine_fine(out))
        return true;
    log_event(LOG_DEBUG, "no_preview", "study", s->id, "reason",
              out->stored != STORE_OK ? store_status_text(out->stored) : out->error.message, NULL);
    study_drop_preview(s);
    return false;
}

/* Puts the copy in the place of the study's engine, or back. */
static void exchange(engine_lane *lane)
{
    bandit_engine *engine = lane->engine;
    struct insight_cache *insights = lane->insights;
    lane->engine = lane->preview.engine;
    lane->insights = lane->preview.insights;
    lane->preview.engine = engine;
    lane->preview.insights = insights;
}

void preview_answer(study *s, question *q)
{
    engine_lane *lane = &s->engine;
    if (lane->preview.engine && lane->preview.through_seq != q->preview->through_seq)
        study_drop_preview(s);
    bool made = lane->preview.engine || make(s, q->preview);
    if (made) {
        exchange(lane);
        q->source.through_seq = q->preview->through_seq;
        q->has_begun = true;
    }
    q->answer(s, q);
    if (made)
        exchange(lane);
    study_count_memory(s);
}
