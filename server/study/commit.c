#include "server/study/commit.h"

#include "server/base/log.h"
#include "server/notify/notify.h"
#include "server/watch/event_streams.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* An idempotency key whose reply is not on disk yet. */
typedef struct key_in_flight {
    study_request request; /* the members that request_repeats compares; key and caller are copies */
    uint64_t write;        /* number of the write that stores it */
    STAILQ_ENTRY(key_in_flight) link;
} key_in_flight;

STAILQ_HEAD(key_list, key_in_flight);

struct commit {
    app *app;
    const char *id;
    atomic_llong *wake_at;
    int64_t number; /* of the study in the store */
    store_lane *lane;
    store_write *write;  /* of this turn; NULL: no event yet */
    store_status status; /* a failure of this turn */
    notify_news news;    /* of this turn */
    study_request *held, **last_held;
    struct key_list keys;
    uint64_t submitted;
    atomic_uint_fast64_t done;
    atomic_bool broken, deleted;
    bool breaks; /* the memory counts as broken after the next submit */
};

/* A submitted write, and the replies that wait for it. */
typedef struct write_in_flight {
    commit *c;
    study_request *replies;
    notify_news news;
    bool deletion;
} write_in_flight;

/* ---- idempotency keys ---------------------------------------------------------------------------------- */

static void free_key(key_in_flight *k)
{
    free((char *)(uintptr_t)k->request.key);
    free((char *)(uintptr_t)k->request.caller);
    free(k);
}

/* Frees the keys of the writes up to this one. Their replies are stored, or storing them has failed. */
static void forget_keys(commit *c, uint64_t write)
{
    for (key_in_flight *k; (k = STAILQ_FIRST(&c->keys)) && k->write <= write;) {
        STAILQ_REMOVE_HEAD(&c->keys, link);
        free_key(k);
    }
}

/* Adds the reply to the turn's write, if the request has a key. */
static store_status keep_key(commit *c, const study_request *request)
{
    if (!request->key)
        return STORE_OK;
    key_in_flight *k = calloc(1, sizeof *k);
    if (!k)
        return STORE_NO_MEMORY;
    k->request.number = request->number;
    k->request.operation = request->operation;
    k->request.key = strdup(request->key);
    k->request.caller = strdup(request->caller);
    if (!k->request.key || !k->request.caller) {
        free_key(k);
        return STORE_NO_MEMORY;
    }
    k->write = c->submitted + 1;
    STAILQ_INSERT_TAIL(&c->keys, k, link);
    return request->client->keep(request, c->number, c->write);
}

bool commit_begin_keyed(commit *c, study_request *request, bool waits)
{
    if (!request->key)
        return true;
    commit_submit(c);
    forget_keys(c, commit_done(c));
    bool in_progress = waits;
    key_in_flight *k;
    STAILQ_FOREACH (k, &c->keys, link)
        in_progress |= request_repeats(&k->request, request);
    if (in_progress) {
        reply_problem(request, REPLY_CONFLICT, NULL, "a request with this Idempotency-Key is being answered");
        return false;
    }
    return !request->client->repeat(request, c->number);
}

/* ---- creation ------------------------------------------------------------------------------------------ */

commit *commit_new(app *a, const char *id, atomic_llong *wake_at)
{
    commit *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->app = a;
    c->id = id;
    c->wake_at = wake_at;
    c->last_held = &c->held;
    STAILQ_INIT(&c->keys);
    return c;
}

void commit_free(commit *c)
{
    if (!c)
        return;
    commit_close(c);
    forget_keys(c, UINT64_MAX);
    free(c);
}

store_status commit_open(commit *c, int64_t number, int64_t epoch, int64_t last_seq)
{
    c->number = number;
    return store_lane_open(&c->lane, c->app->store, number, epoch, last_seq);
}

void commit_close(commit *c)
{
    store_lane_close(c->lane);
    c->lane = NULL;
}

/* ---- the turn's write ---------------------------------------------------------------------------------- */

static void ensure_write(commit *c)
{
    if (c->status == STORE_OK && !c->write)
        c->status = store_write_new(&c->write, c->lane);
}

void commit_record(commit *c, const store_event *event)
{
    ensure_write(c);
    if (c->status == STORE_OK)
        c->status = store_write_add(c->write, event);
}

notify_news *commit_news(commit *c)
{
    return &c->news;
}

void commit_fail(commit *c, store_status status)
{
    c->status = status;
}

bool commit_has_failed(const commit *c)
{
    return c->status != STORE_OK;
}

int64_t commit_next_seq(const commit *c)
{
    return store_lane_next_seq(c->lane) + (c->write ? (int64_t)store_write_events(c->write) : 0);
}

uint64_t commit_number(const commit *c)
{
    return c->submitted + 1;
}

uint64_t commit_last(const commit *c)
{
    return c->submitted + (c->write != NULL);
}

void commit_hold(commit *c, study_request *request)
{
    request->held = true;
    request->next = NULL;
    *c->last_held = request;
    c->last_held = &request->next;
}

static void release_all(study_request *replies, store_status status)
{
    while (replies) {
        study_request *next = replies->next;
        if (status == STORE_OK)
            reply_release(replies);
        else
            reply_unstored(replies, status);
        replies = next;
    }
}

/* Runs on the writer thread: a write of this study is on disk, or has failed. */
static void write_done(void *arg, store_status status, int64_t number, int64_t last_seq)
{
    write_in_flight *w = arg;
    commit *c = w->c;
    (void)last_seq;
    if (status != STORE_OK) {
        if (!atomic_exchange(&c->broken, true))
            log_event(LOG_ERROR, "write_failed", "study", c->id, "reason", store_status_text(status), NULL);
        atomic_store(c->wake_at, 0); /* wakes the study, which then recovers */
    }
    if (status == STORE_OK && w->deletion) {
        if (c->app->study_deleted)
            c->app->study_deleted(c->app, number, c->id);
        atomic_store(&c->deleted, true); /* before any client learns of it */
    }
    if (status == STORE_OK) {
        events_changed(c->app->events, number);
        notify_post(c->app->notify, c->id, number, &w->news);
    }
    study_request *replies = w->replies;
    free(w);
    atomic_fetch_add(&c->done, 1); /* the study may be freed from here on */
    release_all(replies, status);  /* last: a client that repeats a request at once finds its reply stored */
}

/* Submits the turn's write with the held replies. False: out of memory, or the write could not be built;
 * c->status says why. */
static bool send_write(commit *c)
{
    write_in_flight *w = malloc(sizeof *w);
    if (!w && c->status == STORE_OK)
        c->status = STORE_NO_MEMORY;
    ensure_write(c); /* a write without events keeps its replies in order */
    for (study_request *r = c->held; r && c->status == STORE_OK; r = r->next)
        c->status = keep_key(c, r);
    if (c->status != STORE_OK) {
        free(w);
        return false;
    }
    *w = (write_in_flight){.c = c, .replies = c->held, .news = c->news};
    c->submitted++;
    store_submit(c->write, write_done, w);
    c->write = NULL;
    return true;
}

void commit_submit(commit *c)
{
    bool settled = commit_is_settled(c);
    for (const study_request *r = c->held; r && settled; r = r->next)
        settled = !r->key; /* a reply to a request with a key must be stored */
    /* Checked after `settled`, so that a write that fails in between is noticed. Until the study is loaded again,
     * replies show the state of its memory, which is not stored. */
    if (commit_is_broken(c)) {
        release_all(c->held, STORE_ABORTED);
    } else if (!c->write && c->status == STORE_OK && settled) {
        release_all(c->held, STORE_OK); /* there is nothing to write, and all earlier writes are on disk */
    } else if ((c->held || c->write || c->status != STORE_OK) && !send_write(c)) {
        atomic_store(&c->broken, true);
        release_all(c->held, c->status);
    }
    store_write_free(c->write);
    c->write = NULL;
    c->status = STORE_OK;
    c->news = (notify_news){0};
    c->held = NULL;
    c->last_held = &c->held;
    if (c->breaks)
        commit_break(c);
    c->breaks = false;
}

bool commit_submit_deletion(commit *c, study_request *request)
{
    commit_submit(c); /* first submits the events that this turn has recorded so far */
    write_in_flight *w = malloc(sizeof *w);
    if (!w)
        return false;
    request->held = true;
    request->next = NULL;
    reply_empty(request);
    *w = (write_in_flight){.c = c, .replies = request, .deletion = true};
    c->submitted++;
    store_submit_delete(c->lane, write_done, w);
    return true;
}

/* ---- the outcome of writes ----------------------------------------------------------------------------- */

uint64_t commit_done(const commit *c)
{
    return atomic_load(&c->done);
}

bool commit_is_broken(const commit *c)
{
    return atomic_load(&c->broken);
}

bool commit_deletion_is_stored(const commit *c)
{
    return atomic_load(&c->deleted);
}

bool commit_is_settled(const commit *c)
{
    return atomic_load(&c->done) == c->submitted;
}

bool commit_is_idle(const commit *c)
{
    return commit_is_settled(c) && !c->held && !c->write;
}

void commit_break_after(commit *c)
{
    c->breaks = true;
}

void commit_break(commit *c)
{
    atomic_store(&c->broken, true);
}

void commit_mend(commit *c)
{
    c->breaks = false;
    atomic_store(&c->broken, false);
}
