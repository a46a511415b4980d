#include "server/study/plan_state.h"

#include <assert.h>
#include <stdlib.h>

struct plan_state {
    bool busy, delayed, continues, unfinished, exhausted, renewing;
    study_request *deferred, **last_deferred;
    struct placing_list placing;
};

plan_state *plan_state_new(void)
{
    plan_state *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->last_deferred = &p->deferred;
    STAILQ_INIT(&p->placing);
    return p;
}

void plan_state_free(plan_state *p)
{
    assert(!p || (!p->deferred && STAILQ_EMPTY(&p->placing)));
    free(p);
}

void plan_state_reset(plan_state *p)
{
    p->busy = p->delayed = p->continues = p->unfinished = p->exhausted = p->renewing = false;
}

void plan_state_begin(plan_state *p)
{
    p->busy = true;
}

void plan_state_end(plan_state *p)
{
    p->busy = false;
}

bool plan_state_is_busy(const plan_state *p)
{
    return p->busy;
}

void plan_state_delay(plan_state *p, bool delayed)
{
    p->delayed = delayed;
}

bool plan_state_is_delayed(const plan_state *p)
{
    return p->delayed;
}

bool plan_state_is_computing(const plan_state *p)
{
    return p->busy || p->delayed;
}

void plan_state_set_continues(plan_state *p, bool continues)
{
    p->continues = continues;
}

bool plan_state_continues(const plan_state *p)
{
    return p->continues;
}

void plan_state_set_unfinished(plan_state *p, bool unfinished)
{
    p->unfinished = unfinished;
}

bool plan_state_is_unfinished(const plan_state *p)
{
    return p->unfinished;
}

void plan_state_set_exhausted(plan_state *p, bool exhausted)
{
    p->exhausted = exhausted;
}

bool plan_state_is_exhausted(const plan_state *p)
{
    return p->exhausted;
}

void plan_state_set_renewing(plan_state *p, bool renewing)
{
    p->renewing = renewing;
}

bool plan_state_is_renewing(const plan_state *p)
{
    return p->renewing;
}

void plan_state_defer(plan_state *p, study_request *request)
{
    request->next = NULL;
    *p->last_deferred = request;
    p->last_deferred = &request->next;
}

study_request *plan_state_take_deferred(plan_state *p)
{
    study_request *first = p->deferred;
    p->deferred = NULL;
    p->last_deferred = &p->deferred;
    return first;
}

bool plan_state_has_deferred(const plan_state *p)
{
    return p->deferred != NULL;
}

bool plan_state_defers_key(const plan_state *p, const study_request *request)
{
    for (const study_request *r = p->deferred; r; r = r->next)
        if (request_repeats(r, request))
            return true;
    return false;
}

struct placing_list *plan_state_placing(plan_state *p)
{
    return &p->placing;
}
