#include "server/study/news.h"

#include "server/notify/notify.h"

#include <stdio.h>
#include <string.h>

void study_tell_state(study *s, study_state state, const char *reason)
{
    notify_news *news = commit_news(s->commit);
    if (state == s->state)
        return;
    if (state == STUDY_ERROR)
        notify_note_stuck(news, reason);
    if (state != STUDY_FINISHED)
        return;
    news->any = news->finished = true;
    snprintf(news->reason, sizeof news->reason, "%s", reason);
}

void study_tell_better(study *s, int64_t id, double value)
{
    notify_news *news = commit_news(s->commit);
    news->any = true;
    news->trial = id;
    news->value = value;
}

void study_tell_result(study *s, const trial *t, bool better)
{
    if (t->state == TRIAL_FAILED)
        study_tell_failure(s);
    else if (t->has_value || t->state == TRIAL_INFEASIBLE)
        notify_note_evaluation(commit_news(s->commit));
    if (better)
        study_tell_better(s, t->id, t->value);
}

void study_tell_failure(study *s)
{
    notify_note_failure(commit_news(s->commit));
}

void study_tell_expiry(study *s)
{
    commit_news(s->commit)->expired = true;
}

void study_tell_advice(study *s, const char *advice)
{
    bool stuck = strcmp(advice, ADVICE_NO_FEASIBLE_POINT) == 0;
    if (stuck && strcmp(s->advice, advice) != 0)
        notify_note_stuck(commit_news(s->commit), "no point seems to keep all bounds");
    snprintf(s->advice, sizeof s->advice, "%s", advice);
}

/* If workers wait, one of them gets the expired trial, so the study is not abandoned. */
void study_tell_abandoned(study *s)
{
    notify_news *news = commit_news(s->commit);
    if (news->expired && s->state == STUDY_ACTIVE && !trial_queue_first(s->queue, TRIALS_PENDING))
        notify_note_stuck(news, "the last lease has expired, and no worker has a trial");
}
