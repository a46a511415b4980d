#include "server/study/trial.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void trial_free(void *t)
{
    free(((trial *)t)->worker);
    free(((trial *)t)->reason);
    free(((trial *)t)->recorded);
    free(((trial *)t)->metadata);
    free(((trial *)t)->point);
    free(t);
}

trial *trial_of_row(const store_trial *row)
{
    trial *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (trial){.id = row->trial,
                 .state = row->state,
                 .attempt = row->attempt,
                 .batch = row->batch,
                 .candidate = (uint32_t)row->candidate,
                 .variance = row->variance,
                 .issued_at = row->issued_at,
                 .lease_expires_at = row->lease_expires_at,
                 .has_value = row->has_value,
                 .value = row->value,
                 .repeats = row->repeats ? row->repeats : 1,
                 .told_at = row->told_at,
                 .told_seq = row->told_seq,
                 .told_cost = NAN};
    if (text_replace(&t->worker, row->worker) && text_replace(&t->reason, row->reason) &&
        text_replace(&t->recorded, row->recorded) && text_replace(&t->metadata, row->metadata))
        return t;
    trial_free(t);
    return NULL;
}

bool trial_is_open(const trial *t)
{
    return t->state == TRIAL_QUEUED || t->state == TRIAL_PENDING;
}

/* The size of a block of malloc, including its header. */
static size_t block(void *p)
{
    return p ? malloc_usable_size(p) + sizeof(size_t) : 0;
}

size_t trial_memory(const trial *t)
{
    return block((void *)t) + block(t->worker) + block(t->recorded) + block(t->metadata) + block(t->reason) +
           block(t->point);
}

bool trial_set_point(trial *t, const double *point, size_t n)
{
    t->point = malloc(n * sizeof *point);
    if (t->point)
        memcpy(t->point, point, n * sizeof *point);
    return t->point != NULL;
}

bool text_replace(char **field, const char *text)
{
    char *copy = strdup(text ? text : "");
    if (copy) {
        free(*field);
        *field = copy;
    }
    return copy != NULL;
}
