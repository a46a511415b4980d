#include "server/study/preview.h"

#include "server/base/log.h"
#include "server/study/insight_cache.h"
#include "server/study/insight_reply.h"
#include "server/study/pending_results.h"
#include "server/study/plan_internal.h"
#include "server/study/trial_queue.h"

#include <stdio.h>
#include <stdlib.h>

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

static void end(study *s, bandit_engine *own)
{
    bandit_engine_free(s->engine.engine);
    s->engine.engine = own;
}

/* Puts the copy in the place of the study's engine, which is returned. NULL: it cannot be made, and nothing has
 * changed. */
static bandit_engine *begin(study *s, plan *p)
{
    bandit_engine *own = s->engine.engine;
    engine_outcome *out = &p->outcome;
    p->source.memory_limit = memory_left(p->source.memory_limit, own);
    s->engine.engine = NULL;
    if (engine_wait_for_store(s, &p->source))
        engine_build(s, &p->source, out);
    else
        out->stored = STORE_ABORTED;
    if (engine_fine(out))
        plan_take_results(s, p);
    if (engine_fine(out))
        return own;
    log_event(LOG_DEBUG, "no_preview", "study", s->id, "reason",
              out->stored != STORE_OK ? store_status_text(out->stored) : out->error.message, NULL);
    end(s, own);
    return NULL;
}

void preview_answer(study *s, question *q)
{
    bandit_description about;
    char key[32];
    bandit_engine_describe(bandit_engine_of_metric(s->engine.engine, 0), &about);
    snprintf(key, sizeof key, "best %lld", (long long)q->preview->through_seq);
    if (insight_reply_again(s, q->request, (int64_t)about.batch, key))
        return;
    bandit_engine *own = begin(s, q->preview);
    if (own)
        q->source.through_seq = q->preview->through_seq;
    q->answer(s, q);
    if (own)
        end(s, own);
    if (own && q->kept)
        insight_cache_keep(&s->engine.insights, (int64_t)about.batch, key, q->kept);
    if (q->kind == REMEMBERED_NOTHING) {
        free(q->kept);
        q->kept = NULL;
    }
}
