#include "server/study/remembered.h"

#include "server/base/clock.h"
#include "server/study/queries.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT_MS = 5 * 60 * 1000 };

static bool is_true(const study *s, remembered_kind kind)
{
    const remembered *r = &s->remembered[kind];
    bool same = r->text && r->batches == s->batches;
    if (kind != REMEMBERED_BEST)
        return same;
    return same && r->best_trial == s->best_trial && r->best_value == s->best_value &&
           r->imported == s->imported;
}

bool remembered_answer(study *s, study_request *request, remembered_kind kind)
{
    remembered *r = &s->remembered[kind];
    wire_writer w = WIRE_WRITER_INIT;
    r->asked_at = clock_steady_ms();
    if (!plan_state_is_busy(s->plans) || request->key || !is_true(s, kind))
        return false;
    w.data = malloc(r->size + 1);
    if (!w.data)
        return false;
    memcpy(w.data, r->text, r->size + 1);
    w.size = r->size;
    w.capacity = r->size + 1;
    commit_hold(s->commit, request); /* the state that the answer shows may not be on disk yet */
    reply_json(request, &w);
    return true;
}

void remembered_keep(study *s, struct question *q)
{
    remembered *r = &s->remembered[q->kind];
    if (q->kept && s->loaded && !s->deleted && q->forgotten == s->forgotten) {
        free(r->text);
        r->text = q->kept;
        r->size = strlen(q->kept);
        r->batches = q->source.batches;
        r->best_trial = q->best_trial;
        r->best_value = q->best_value;
        r->imported = q->imported;
        q->kept = NULL;
    }
    free(q->kept);
    q->kept = NULL;
}

void remembered_forget(study *s)
{
    s->forgotten++; /* so that answers that are being computed now are not kept */
    for (int kind = 0; kind < REMEMBERED_KINDS; kind++) {
        free(s->remembered[kind].text);
        s->remembered[kind].text = NULL;
    }
}

/* ---- after a batch ---------------------------------------------------------------------------------------- */

/* Questions whose answers no client gets. They only refresh the remembered answers. */
typedef struct refresh {
    engine_job job;
    study_job done;
    question questions[REMEMBERED_KINDS];
    study_request nobody;
} refresh;

static void drop_reply(study_request *nobody, const study_reply *reply)
{
    (void)nobody;
    free(reply->body);
}

static void refresh_done(study *s, study_job *job)
{
    refresh *r = (refresh *)(void *)((char *)job - offsetof(refresh, done));
    study_engine_job_done(s);
    for (int kind = 0; kind < REMEMBERED_KINDS; kind++)
        if (r->questions[kind].kind)
            remembered_keep(s, &r->questions[kind]);
    free(r);
}

static void run_refresh(study *s, engine_job *job)
{
    refresh *r = (refresh *)(void *)job;
    for (int kind = 0; kind < REMEMBERED_KINDS && s->engine.engine; kind++)
        if (r->questions[kind].kind)
            r->questions[kind].answer(s, &r->questions[kind]);
    r->done.run = refresh_done;
    study_post(s, &r->done);
}

static bool is_looked_at(const study *s, remembered_kind kind, int64_t steady)
{
    int64_t at = s->remembered[kind].asked_at;
    return at > 0 && steady - at < LOOKED_AT_MS;
}

void remembered_refresh(study *s)
{
    static const study_client client = {.reply = drop_reply};
    int64_t steady = clock_steady_ms();
    refresh *r = NULL;
    for (remembered_kind kind = REMEMBERED_BEST; kind < REMEMBERED_KINDS; kind++) {
        if (!is_looked_at(s, kind, steady))
            continue;
        if (!r && !(r = calloc(1, sizeof *r)))
            return; /* the next question waits for the engine */
        r->nobody.client = &client;
        question_fill(&r->questions[kind], s, &r->nobody, kind);
    }
    if (!r)
        return;
    r->job.run = run_refresh;
    study_post_engine(s, &r->job);
}
