/* The writer thread: its queue, its loop, its end. */
#include "server/store/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A group ends after this time even if more writes are queued. */
static const double slice_seconds = 0.020;
static const time_t idle_seconds = 1;
static const double bulk_slice_seconds = 0.005; /* for uploads, whose commits take longer */

/* ---- the queue ----------------------------------------------------------------------------------------- */

static void queue_init(op_queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

static void free_op(store_op *op)
{
    switch (op->kind) {
    case OP_WRITE:
        store_write_free((store_write *)op);
        break;
    case OP_DELETE: /* it is a member of its lane, which frees it */
        break;
    case OP_UPLOAD:
    case OP_ABANDON:
        free(op);
        break;
    }
}

void writer_finish(store_op *op)
{
    store_done *done = op->done;
    void *arg = op->arg;
    store_status status = op->status;
    int64_t study = op->study, last_seq = op->last_seq;
    free_op(op); /* before `done`, after which the owner may close the lane */
    if (done)
        done(arg, status, study, last_seq);
}

void writer_submit(store *s, op_queue *queue, store_op *op)
{
    op->next = NULL;
    pthread_mutex_lock(&s->mutex);
    bool taken = !s->stopped;
    if (taken) {
        *queue->end = op;
        queue->end = &op->next;
        atomic_fetch_add(&s->queued, 1);
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->mutex);
    if (!taken) {
        op->status = STORE_CLOSED;
        writer_finish(op);
    }
}

static store_op *take_all(op_queue *queue)
{
    store_op *first = queue->first;
    queue_init(queue);
    return first;
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

static struct timespec seconds_from_now(time_t seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += seconds;
    return t;
}

/* Waits for work. If bounded, returns false after a second without work. Call it with the mutex held. */
static bool wait_for_work(store *s, bool bounded)
{
    struct timespec deadline = seconds_from_now(idle_seconds);
    while (!s->writes.first && !s->uploads.first && !s->closing && !(s->probing_since > 0)) {
        if (!bounded)
            pthread_cond_wait(&s->work, &s->mutex);
        else if (pthread_cond_timedwait(&s->work, &s->mutex, &deadline) == ETIMEDOUT)
            return false;
    }
    return true;
}

static void *writer_main(void *arg)
{
    store *s = arg;
    store_op *bulk = NULL;
    store_chore chore = CHORE_MORE;
    bool settled = false; /* the backend's `idle` has run since the last write */
    for (;;) {
        pthread_mutex_lock(&s->mutex);
        bool woken = bulk || chore == CHORE_MORE || wait_for_work(s, !settled || chore == CHORE_FAILED);
        store_op *writes = take_all(&s->writes);
        if (!bulk)
            bulk = take_all(&s->uploads);
        bool probing = s->probing_since > 0;
        bool end = s->closing && !writes && !bulk && !probing;
        s->stopped = end;
        pthread_mutex_unlock(&s->mutex);
        if (end)
            return NULL;
        if (writes || bulk)
            settled = false;
        bool wrote = writes || bulk;
        while (writes)
            writes = group_run(s, writes, slice_seconds);
        if (bulk)
            bulk = group_run(s, bulk, bulk_slice_seconds);
        if (probing)
            probe_run(s);
        if (wrote || chore == CHORE_MORE || !woken)
            chore = s->backend->chore(s);
        if (chore == CHORE_MORE)
            settled = false;
        if (!woken) {
            s->backend->idle(s);
            settled = true;
        }
    }
}

store_status store_start(store *s, const store_backend *backend, int64_t next_content, store_error *err)
{
    s->backend = backend;
    s->next_content = next_content;
    probe_note(s, false);
    queue_init(&s->writes);
    queue_init(&s->uploads);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int rc = pthread_create(&s->thread, NULL, writer_main, s);
    s->running = rc == 0;
    if (s->running)
        return STORE_OK;
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->mutex);
    return store_fail(err, STORE_NO_MEMORY, "cannot start the writer thread: %s", strerror(rc));
}

void store_close(store *s)
{
    if (!s)
        return;
    if (!s->running) {
        s->backend->close(s); /* a snapshot has no thread */
        return;
    }
    pthread_mutex_lock(&s->mutex);
    s->closing = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->mutex);
    s->backend->close(s);
}

void store_observe(store *s, store_observer *observer, void *arg)
{
    s->observer = observer;
    s->observer_arg = arg;
}

void store_read_statistics(store *s, store_statistics *out)
{
    *out = (store_statistics){
        .commits = atomic_load(&s->commits),
        .writes = atomic_load(&s->written),
        .queued_writes = atomic_load(&s->queued),
    };
    if (s->backend->add_statistics)
        s->backend->add_statistics(s, out);
    pthread_mutex_lock(&s->mutex);
    out->last_failure = s->last_failure;
    pthread_mutex_unlock(&s->mutex);
}
