/* The writer thread: takes what has queued up, commits it together, then lets the jobs answer. */
#include "server/store/writer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A group ends after this long even if more has queued. */
static const double slice_seconds = 0.020;
static const time_t idle_seconds = 1;
static const double bulk_slice_seconds = 0.005; /* their commit takes longer than a tell's */
static const time_t probe_seconds = 5;

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
    case OP_DELETE: /* a member of its lane */
        break;
    case OP_UPLOAD:
    case OP_ABANDON:
        free(op);
        break;
    }
}

static void finish(store_op *op)
{
    store_done *done = op->done;
    void *arg = op->arg;
    store_status status = op->status;
    int64_t study = op->study, last_seq = op->last_seq;
    free_op(op); /* first: `done` may let the owner close the lane */
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
        finish(op);
    }
}

static store_op *take_all(op_queue *queue)
{
    store_op *first = queue->first;
    queue_init(queue);
    return first;
}

/* ---- one write inside a transaction -------------------------------------------------------------------- */

static store_status check_owner(const store_lane *lane, const study_record *record, store_error *err)
{
    if (record->epoch != lane->epoch)
        return store_fail(err, STORE_SUPERSEDED, "study %lld is at epoch %lld, its owner at %lld",
                          (long long)record->study, (long long)record->epoch, (long long)lane->epoch);
    return STORE_OK;
}

static store_status apply_events(store *s, store_write *write, store_error *err)
{
    store_lane *lane = write->op.lane;
    study_record record = {0};
    store_status status = STORE_OK;
    if (write->items[0].event->type != EVENT_STUDY_CREATED) {
        status = s->backend->study_load(s, lane->study, &record, err);
        if (!status)
            status = check_owner(lane, &record, err);
        if (!status && record.last_seq + 1 != write->first_seq)
            status = store_fail(
                err, STORE_SUPERSEDED, "the log of study %lld ends at %lld, its owner expected %lld",
                (long long)lane->study, (long long)record.last_seq, (long long)write->first_seq - 1);
    }
    for (size_t i = 0; !status && i < write->n; i++)
        status = store_apply(s, &record, lane->epoch, write->items[i].event, write->items[i].payload, err);
    if (!status)
        status = s->backend->study_save(s, &record, err);
    if (!status && write->stages)
        status = s->backend->study_stage(s, record.study, err);
    if (!status) {
        lane->study = record.study;
        write->op.study = record.study;
        write->op.last_seq = record.last_seq;
    }
    return status;
}

/* Of a write that makes one more study to be seen. */
static store_status check_room(store *s, const store_write *write, store_error *err)
{
    bool makes = write->n > 0 && write->items[0].event->type == EVENT_STUDY_CREATED && !write->stages;
    size_t n = 0;
    if (write->most_studies == 0 || !(makes || write->publishes))
        return STORE_OK;
    store_status status = s->backend->study_count(s, &n, err);
    return !status && n >= write->most_studies ? STORE_TOO_MANY : status;
}

static store_status apply_write(store *s, store_write *write, store_error *err)
{
    store_status status = check_room(s, write, err);
    write->op.study = write->op.lane->study;
    write->op.last_seq = write->first_seq - 1;
    if (!status && write->n > 0)
        status = apply_events(s, write, err);
    if (!status && write->token)
        status = s->backend->token_put(s, write->token, err);
    if (!status && write->removed_token)
        status = s->backend->token_remove(s, write->removed_token, err);
    if (!status && write->publishes)
        status = s->backend->study_publish(s, write->op.study, err);
    if (!status && write->answer) {
        status = s->backend->answer_put(s, write->answer, err);
        if (status && write->publishes && s->backend->in_transaction(s))
            s->backend->study_stage(s, write->op.study, NULL);
    }
    return status;
}

static store_status apply_delete(store *s, store_op *op, store_error *err)
{
    study_record record;
    assert(op->lane);
    store_status status = s->backend->study_load(s, op->lane->study, &record, err);
    if (!status)
        status = check_owner(op->lane, &record, err);
    if (!status)
        status = s->backend->study_delete(s, record.study, err);
    if (!status) {
        op->study = record.study;
        op->last_seq = record.last_seq;
    }
    return status;
}

static store_status apply_op(store *s, store_op *op, store_error *err)
{
    upload_op *upload;
    switch (op->kind) {
    case OP_WRITE:
        return apply_write(s, (store_write *)op, err);
    case OP_DELETE:
        return apply_delete(s, op, err);
    case OP_UPLOAD:
        upload = (upload_op *)op;
        return s->backend->content_append(s, upload->content, upload->first, upload->n, upload->dimension,
                                          upload->rows, err);
    case OP_ABANDON:
        return s->backend->content_abandon(s, ((upload_op *)op)->content, err);
    }
    return STORE_OK;
}

/* Applies one op between marks, so that its failure takes back nothing but itself. Afterwards the
 * transaction may be gone: the database ends it itself on some faults. */
static void run_op(store *s, store_op *op, store_error *err)
{
    store_lane *lane = op->lane;
    if (lane && lane->failed) {
        op->status = STORE_ABORTED;
        return;
    }
    op->status = s->backend->mark(s, err);
    if (op->status) {
        s->backend->rollback(s);
    } else {
        op->status = apply_op(s, op, err);
        if (!op->status)
            op->status = s->backend->release(s, err);
        if (op->status && s->backend->in_transaction(s) && s->backend->undo(s, NULL))
            s->backend->rollback(s);
    }
    if (op->status && lane)
        lane->failed = true;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static void remember_fault(store *s, const store_error *err)
{
    pthread_mutex_lock(&s->mutex);
    s->last_failure = *err;
    pthread_mutex_unlock(&s->mutex);
}

static store_status commit(store *s, store_error *err)
{
    store_status status = s->backend->commit(s, err);
    if (!status)
        atomic_fetch_add(&s->commits, 1);
    return status;
}

/* All that was applied since begin is gone: the writes of a failed group fail together. */
static void fail_applied(store_op *first, const store_op *end, store_status status)
{
    for (store_op *op = first; op != end; op = op->next) {
        if (op->status == STORE_OK)
            op->status = status;
        if (op->lane)
            op->lane->failed = true;
    }
}

/* Without marks, for which the database copies every page that is written: in almost every group nothing
 * fails. Returns the first op that was not run; *failed: the group must be rolled back. */
static store_op *run_unmarked(store *s, store_op *first, double until, bool *failed)
{
    store_op *op = first;
    store_error err = {0};
    do {
        bool follows_failure = op->lane && op->lane->failed;
        op->status = follows_failure ? STORE_ABORTED : apply_op(s, op, &err);
        *failed = op->status && !follows_failure;
        op = op->next;
    } while (op && !*failed && store_clock() < until);
    return op;
}

static store_op *run_marked(store *s, store_op *first, double until, store_error *err)
{
    store_op *op = first;
    do {
        run_op(s, op, err);
        op = op->next;
    } while (op && s->backend->in_transaction(s) && store_clock() < until);
    return op;
}

/* Begins a transaction and applies ops until then, one at least; *end is the first that was not. Afterwards
 * the transaction may be gone. A failure to begin is everyone's: *end is NULL. */
static store_status apply_group(store *s, store_op *first, double until, store_op **end, store_error *err)
{
    bool failed = true;
    store_status status = s->backend->begin(s, err);
    *end = NULL;
    if (!status && s->backend->rolls_back) {
        *end = run_unmarked(s, first, until, &failed);
        if (failed) {
            s->backend->rollback(s);
            status = s->backend->begin(s, err);
        }
    }
    if (failed)
        *end = status ? NULL : run_marked(s, first, until, err);
    return status;
}

/* The database has ended the transaction at the fault of one op: the others (status STORE_OK) once more,
 * each in a transaction of its own. */
static void run_singly(store *s, store_op *first, const store_op *end, store_error *err)
{
    for (store_op *op = first; op != end; op = op->next)
        if (op->status == STORE_OK && op->lane)
            op->lane->failed = false; /* the one that failed may come after it in its lane */
    for (store_op *op = first; op != end; op = op->next) {
        if (op->status) {
            if (op->lane)
                op->lane->failed = true;
            continue;
        }
        op->status = s->backend->begin(s, err);
        if (!op->status) {
            run_op(s, op, err);
            if (!op->status)
                op->status = commit(s, err);
            else if (s->backend->in_transaction(s))
                s->backend->rollback(s);
        }
        if (op->status && op->lane)
            op->lane->failed = true;
    }
}

static void tell_observer(store *s, const store_op *first, const store_op *end, double seconds)
{
    store_commit commit = {.seconds = seconds};
    for (const store_op *op = first; op != end; op = op->next) {
        const store_write *write = op->kind == OP_WRITE ? (const store_write *)op : NULL;
        commit.writes += op->status == STORE_OK;
        commit.failed += op->status != STORE_OK && op->status != STORE_EXISTS &&
                         op->status != STORE_TOO_MANY && op->status != STORE_NOT_FOUND;
        for (size_t i = 0; write && op->status == STORE_OK && i < write->n; i++)
            commit.events[write->items[i].event->type]++;
    }
    s->observer(s->observer_arg, &commit);
}

/* Runs ops from the head of the list for at most `seconds` and commits them together; calls their `done`.
 * Returns the rest of the list. */
static store_op *run_group(store *s, store_op *first, double seconds)
{
    store_error err = {0};
    double start = store_clock();
    store_op *end;
    store_status status = apply_group(s, first, start + seconds, &end, &err);
    if (status)
        fail_applied(first, end, status);
    else if (!s->backend->in_transaction(s))
        run_singly(s, first, end, &err);
    else if ((status = commit(s, &err)) != STORE_OK)
        fail_applied(first, end, status);
    if (err.status)
        remember_fault(s, &err);
    if (s->observer)
        tell_observer(s, first, end, store_clock() - start);
    while (first != end) {
        store_op *next = first->next;
        atomic_fetch_add(&s->written, first->status == STORE_OK);
        atomic_fetch_sub(&s->queued, 1);
        finish(first);
        first = next;
    }
    s->backend->after_commit(s);
    return end;
}

static store_status write_touch(store *s, store_error *err)
{
    store_status status = s->backend->begin(s, err);
    if (status)
        return status;
    status = s->backend->touch(s, err);
    if (!status)
        return commit(s, err);
    if (s->backend->in_transaction(s))
        s->backend->rollback(s);
    return status;
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

static struct timespec seconds_from_now(time_t seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += seconds;
    return t;
}

/* With the mutex held. Returns false when a second has gone by without work. */
static bool wait_for_work(store *s, bool bounded)
{
    struct timespec deadline = seconds_from_now(idle_seconds);
    while (!s->writes.first && !s->uploads.first && !s->closing && s->probes_wanted == s->probes_done) {
        if (!bounded)
            pthread_cond_wait(&s->work, &s->mutex);
        else if (pthread_cond_timedwait(&s->work, &s->mutex, &deadline) == ETIMEDOUT)
            return false;
    }
    return true;
}

static void answer_probes(store *s, uint64_t wanted)
{
    store_error err = {0};
    write_touch(s, &err);
    pthread_mutex_lock(&s->mutex);
    s->probe = err;
    s->probes_done = wanted;
    pthread_cond_broadcast(&s->probed);
    pthread_mutex_unlock(&s->mutex);
}

static void *writer_main(void *arg)
{
    store *s = arg;
    store_op *bulk = NULL;
    store_chore chore = CHORE_MORE;
    bool settled = false; /* idle has run since the last write */
    for (;;) {
        pthread_mutex_lock(&s->mutex);
        bool woken = bulk || chore == CHORE_MORE || wait_for_work(s, !settled || chore == CHORE_FAILED);
        store_op *writes = take_all(&s->writes);
        if (!bulk)
            bulk = take_all(&s->uploads);
        uint64_t probes = s->probes_wanted;
        bool probing = probes != s->probes_done;
        bool end = s->closing && !writes && !bulk && !probing;
        s->stopped = end;
        pthread_mutex_unlock(&s->mutex);
        if (end)
            return NULL;
        if (writes || bulk)
            settled = false;
        bool wrote = writes || bulk;
        while (writes)
            writes = run_group(s, writes, slice_seconds);
        if (bulk)
            bulk = run_group(s, bulk, bulk_slice_seconds);
        if (probing)
            answer_probes(s, probes);
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
    queue_init(&s->writes);
    queue_init(&s->uploads);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->work, &monotonic);
    pthread_cond_init(&s->probed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int rc = pthread_create(&s->thread, NULL, writer_main, s);
    s->running = rc == 0;
    if (s->running)
        return STORE_OK;
    pthread_cond_destroy(&s->probed);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->mutex);
    return store_fail(err, STORE_NO_MEMORY, "cannot start the writer thread: %s", strerror(rc));
}

void store_close(store *s)
{
    if (!s)
        return;
    if (!s->running) {
        s->backend->close(s); /* a snapshot */
        return;
    }
    pthread_mutex_lock(&s->mutex);
    s->closing = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->probed);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->mutex);
    s->backend->close(s);
}

store_status store_probe(store *s, store_error *err)
{
    struct timespec deadline = seconds_from_now(probe_seconds);
    bool late = false;
    store_error answer = {0};
    pthread_mutex_lock(&s->mutex);
    bool stopped = s->stopped;
    uint64_t ticket = ++s->probes_wanted;
    pthread_cond_signal(&s->work);
    while (!stopped && !late && s->probes_done < ticket)
        late = pthread_cond_timedwait(&s->probed, &s->mutex, &deadline) == ETIMEDOUT;
    if (stopped)
        store_error_set(&answer, STORE_CLOSED, "the store is closing");
    else if (s->probes_done < ticket)
        store_error_set(&answer, STORE_BUSY, "no write has reached the disk for %d s", (int)probe_seconds);
    else
        answer = s->probe;
    pthread_mutex_unlock(&s->mutex);
    if (answer.status && err)
        *err = answer;
    return answer.status;
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
        .wal_bytes = s->backend->wal_bytes(s),
    };
    pthread_mutex_lock(&s->mutex);
    out->last_failure = s->last_failure;
    pthread_mutex_unlock(&s->mutex);
}
