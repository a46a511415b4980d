#include "server/base/fair_queue.h"

void fair_queue_init(fair_queue *q)
{
    *q = (fair_queue){.last = &q->first};
}

/* Puts a class that is not empty at the end of the list of turns. */
static void line_up(fair_queue *q, fair_class *c)
{
    c->next = NULL;
    *q->last = c;
    q->last = &c->next;
}

void fair_queue_add(fair_queue *q, pool_task *task, uint64_t caller)
{
    fair_class *c = &q->classes[(caller * 0x9e3779b97f4a7c15u) >> 32 & (FAIR_CLASSES - 1)];
    task->next = NULL;
    if (c->first) {
        *c->last = task;
    } else {
        c->first = task;
        line_up(q, c);
    }
    c->last = &task->next;
    q->n++;
}

pool_task *fair_queue_take(fair_queue *q)
{
    fair_class *c = q->first;
    if (!c)
        return NULL;
    q->first = c->next;
    if (!q->first)
        q->last = &q->first;
    pool_task *task = c->first;
    c->first = task->next;
    if (c->first)
        line_up(q, c);
    task->next = NULL;
    q->n--;
    return task;
}
