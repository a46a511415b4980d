#include "server/study/workers.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct study_worker {
    const char *name; /* allocated together with this struct */
    size_t uses, n_waiting;
    TAILQ_HEAD(held_list, trial) held;
};

struct workers {
    void *by_name; /* tsearch tree of worker */
    size_t n_at_work;
};

workers *workers_new(void)
{
    return calloc(1, sizeof(workers));
}

void workers_free(workers *w)
{
    assert(!w || !w->by_name);
    free(w);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const study_worker *)a)->name, ((const study_worker *)b)->name);
}

static study_worker *find(const workers *w, const char *name)
{
    study_worker key = {.name = name};
    study_worker **found = tfind(&key, &w->by_name, compare_names);
    return found ? *found : NULL;
}

study_worker *workers_use(workers *w, const char *name)
{
    study_worker *one = find(w, name);
    if (!one) {
        size_t size = strlen(name) + 1;
        one = malloc(sizeof *one + size);
        if (!one)
            return NULL;
        *one = (study_worker){.name = memcpy(one + 1, name, size)};
        TAILQ_INIT(&one->held);
        if (!tsearch(one, &w->by_name, compare_names)) {
            free(one);
            return NULL;
        }
    }
    one->uses++;
    return one;
}

void workers_leave(workers *w, study_worker *one)
{
    if (--one->uses > 0)
        return;
    assert(one->n_waiting == 0 && TAILQ_EMPTY(&one->held));
    tdelete(one, &w->by_name, compare_names);
    free(one);
}

static bool is_at_work(const study_worker *one)
{
    return one->n_waiting > 0 || !TAILQ_EMPTY(&one->held);
}

void workers_hold(workers *w, study_worker *one, trial *t)
{
    w->n_at_work += !is_at_work(one);
    TAILQ_INSERT_TAIL(&one->held, t, held);
}

void workers_let_go(workers *w, study_worker *one, trial *t)
{
    TAILQ_REMOVE(&one->held, t, held);
    w->n_at_work -= !is_at_work(one);
}

void workers_wait(workers *w, study_worker *one)
{
    w->n_at_work += !is_at_work(one);
    one->n_waiting++;
}

void workers_stop_waiting(workers *w, study_worker *one)
{
    one->n_waiting--;
    w->n_at_work -= !is_at_work(one);
}

trial *workers_first_held(const workers *w, const char *name)
{
    const study_worker *one = find(w, name);
    return one ? TAILQ_FIRST(&one->held) : NULL;
}

trial *workers_next_held(const trial *t)
{
    return TAILQ_NEXT(t, held);
}

size_t workers_at_work(const workers *w)
{
    return w->n_at_work;
}
