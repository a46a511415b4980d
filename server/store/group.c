/* Group commit: one transaction for the waiting writes. If one write fails, the others still succeed; if the commit
 * fails, all of them fail. */
#include "server/store/writer.h"

#include <assert.h>

/* ---- one write inside a transaction -------------------------------------------------------------------- */

static store_status check_owner(const store_lane *lane, const study_record *record, store_error *err)
{
    if (record->epoch != lane->epoch)
        return store_fail(err, STORE_SUPERSEDED, "study %lld has epoch %lld; the writer has %lld",
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
                err, STORE_SUPERSEDED, "the log of study %lld ends at %lld; the writer expected %lld",
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

/* STORE_TOO_MANY: the write would exceed its limit on the number of studies. */
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
    if (!status && write->setting)
        status = s->backend->setting_put(s, write->setting, err);
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

static bool makes_room(const store_op *op)
{
    const store_write *write = (const store_write *)op;
    return op->kind == OP_DELETE || op->kind == OP_ABANDON ||
           (op->kind == OP_WRITE && write->removed_token && write->n == 0 && !write->answer);
}

static store_status apply_op(store *s, store_op *op, store_error *err)
{
    upload_op *upload;
    if (s->backend->is_full && s->backend->is_full(s) && !makes_room(op))
        return store_fail(err, STORE_FULL, "the disk is full");
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

/* Applies one operation between marks, so that a failure undoes only that operation. After some faults the database
 * ends the transaction by itself. */
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

/* The transaction is lost, and every write in it fails. */
static void fail_applied(store_op *first, const store_op *end, store_status status)
{
    for (store_op *op = first; op != end; op = op->next) {
        if (op->status == STORE_OK)
            op->status = status;
        if (op->lane)
            op->lane->failed = true;
    }
}

/* Runs operations without marks, because the database copies every page that is written after a mark, and almost no
 * group has a failure. Returns the first operation that was not run; *failed: the group must be rolled back. */
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

/* Begins a transaction and applies operations until that time, but at least one. *end is the first operation that was
 * not applied. Afterwards the transaction may have ended. If it cannot begin, all operations fail: *end is NULL. */
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

/* One operation's fault has ended the transaction. Runs the others (status STORE_OK) again, each in its own
 * transaction. */
static void run_singly(store *s, store_op *first, const store_op *end, store_error *err)
{
    for (store_op *op = first; op != end; op = op->next)
        if (op->status == STORE_OK && op->lane)
            op->lane->failed = false; /* the failed operation may come later in its lane */
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

static bool has_deletion(const store_op *first, const store_op *end)
{
    while (first != end && !makes_room(first))
        first = first->next;
    return first != end;
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

/* Notes whether the commit is proof that writes reach the disk. A commit that has only failed writes, or an upload that
 * was abandoned before its first block, has written nothing. */
static void note_proof(store *s, const store_op *first, const store_op *end, const store_error *err)
{
    bool wrote = false;
    for (const store_op *op = first; op != end && !wrote; op = op->next)
        wrote = op->status == STORE_OK && op->kind != OP_ABANDON;
    if (err->status || wrote)
        probe_note(s, !err->status);
}

store_op *group_run(store *s, store_op *first, double seconds)
{
    store_error err = {0};
    double start = store_clock();
    store_op *end;
    store_status status = apply_group(s, first, start + seconds, &end, &err);
    if (status)
        fail_applied(first, end, status);
    else if (!s->backend->in_transaction(s))
        run_singly(s, first, end, &err);
    else if ((status = commit(s, &err)) == STORE_FULL && has_deletion(first, end))
        run_singly(s, first, end, &err); /* operations that make room are accepted on a full disk */
    else if (status == STORE_EXISTS || status == STORE_NOT_FOUND || status == STORE_TOO_MANY)
        run_singly(s, first, end, &err); /* the backend notices only now that one of the writes is invalid */
    else if (status)
        fail_applied(first, end, status);
    if (err.status)
        remember_fault(s, &err);
    note_proof(s, first, end, &err);
    if (s->observer)
        tell_observer(s, first, end, store_clock() - start);
    while (first != end) {
        store_op *next = first->next;
        atomic_fetch_add(&s->written, first->status == STORE_OK);
        atomic_fetch_sub(&s->queued, 1);
        writer_finish(first);
        first = next;
    }
    s->backend->after_commit(s);
    return end;
}

store_status group_touch(store *s, store_error *err)
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
