#include "server/notify/notify.h"

#include "server/base/clock.h"
#include "server/notify/internal.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

notify *notify_new(bool with_private)
{
    notify *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->with_private = with_private;
    pthread_mutex_init(&n->lock, NULL);
    STAILQ_INIT(&n->receivers);
    return n;
}

const char *notify_refuses(const notify *n, const char *url)
{
    switch (address_url_kind(url)) {
    case URL_PUBLIC:
        break;
    case URL_PRIVATE:
        return n->with_private ? NULL : NOTIFY_REFUSAL;
    case URL_MALFORMED:
        return "must be a URL with a host and, if it has a port, one from 1 to 65535";
    case URL_NO_MEMORY:
        return "cannot be checked: out of memory";
    }
    return NULL;
}

void notify_free(notify *n)
{
    if (!n)
        return;
    sending_stop(n);
    tdestroy(n->runs, free);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

bool notify_can_send(char *why, size_t size)
{
    return curl_library_load(curl_library_names, why, size);
}

/* ---- receivers ----------------------------------------------------------------------------------------- */

static receiver *find(notify *n, const char *url)
{
    receiver *r;
    STAILQ_FOREACH (r, &n->receivers, link)
        if (!r->removed && strcmp(r->wanted.url, url) == 0)
            return r;
    return NULL;
}

/* Makes the new receivers. fresh: one entry per receiver, NULL if the receiver already exists. */
static bool make_fresh(notify *n, const wire_notify *receivers, receiver **fresh, char **secrets)
{
    for (size_t i = 0; i < receivers->n; i++) {
        const wire_receiver *wanted = &receivers->list[i];
        if (find(n, wanted->url))
            secrets[i] = strdup(wanted->secret);
        else
            fresh[i] = receiver_new(n, wanted);
        if (!fresh[i] && !secrets[i])
            return false;
    }
    return true;
}

/* Replaces the receivers by those of the list, in its order. */
static void replace(notify *n, const wire_notify *receivers, receiver **fresh, char **secrets)
{
    uint32_t wanted = 0;
    receiver *r, *kept[WIRE_MAX_RECEIVERS];
    for (size_t i = 0; i < receivers->n; i++) {
        kept[i] = fresh[i] ? fresh[i] : find(n, receivers->list[i].url);
        kept[i]->wanted.events = receivers->list[i].events;
        wanted |= kept[i]->wanted.events;
        if (secrets[i]) {
            free(kept[i]->wanted.secret);
            kept[i]->wanted.secret = secrets[i];
            STAILQ_REMOVE(&n->receivers, kept[i], receiver, link);
        }
    }
    STAILQ_FOREACH (r, &n->receivers, link)
        r->removed = true;
    for (size_t i = 0; i < receivers->n; i++)
        STAILQ_INSERT_TAIL(&n->receivers, kept[i], link);
    atomic_store(&n->wanted, wanted);
}

bool notify_set(notify *n, const wire_notify *receivers)
{
    receiver *fresh[WIRE_MAX_RECEIVERS] = {0};
    char *secrets[WIRE_MAX_RECEIVERS] = {0};
    pthread_mutex_lock(&n->lock);
    bool made = make_fresh(n, receivers, fresh, secrets) && (receivers->n == 0 || sending_start(n));
    if (made)
        replace(n, receivers, fresh, secrets);
    for (size_t i = 0; !made && i < receivers->n; i++) {
        free(secrets[i]);
        if (fresh[i])
            receiver_free(fresh[i]);
    }
    sending_wake(n);
    pthread_mutex_unlock(&n->lock);
    return made;
}

void notify_list(notify *n, notify_row *row, void *arg)
{
    receiver *r;
    pthread_mutex_lock(&n->lock);
    STAILQ_FOREACH (r, &n->receivers, link) {
        if (r->removed)
            continue;
        r->counts.queued = (int64_t)r->queued + (r->current != NULL);
        row(arg, &r->wanted, &r->counts);
    }
    pthread_mutex_unlock(&n->lock);
}

/* ---- runs of failures: call with the lock held --------------------------------------------------------- */

/* How many attempts of a study in a row have failed. Studies without failures have no entry. */
typedef struct run {
    int64_t study;
    int64_t failures;
} run;

static int compare_runs(const void *a, const void *b)
{
    int64_t x = ((const run *)a)->study, y = ((const run *)b)->study;
    return (x > y) - (x < y);
}

static void set_run(notify *n, int64_t study, int64_t failures)
{
    run key = {.study = study};
    run **found = tfind(&key, &n->runs, compare_runs);
    if (found && failures > 0) {
        (*found)->failures = failures;
    } else if (found) {
        run *gone = *found;
        tdelete(&key, &n->runs, compare_runs);
        free(gone);
    } else if (failures > 0) {
        run *made = malloc(sizeof *made);
        if (!made)
            return; /* out of memory: the count starts later */
        *made = (run){.study = study, .failures = failures};
        if (!tsearch(made, &n->runs, compare_runs))
            free(made);
    }
}

/* Has the run reached the length that is notified? */
static bool count_failures(notify *n, int64_t study, const notify_news *news)
{
    run key = {.study = study};
    run **found = tfind(&key, &n->runs, compare_runs);
    int64_t before = found ? (*found)->failures : 0, through = before + news->failures;
    bool reached = before < NOTIFY_FAILURES && through >= NOTIFY_FAILURES;
    if (news->evaluated) {
        reached |= news->failures_since >= NOTIFY_FAILURES;
        through = news->failures_since;
    }
    if (through != before)
        set_run(n, study, through);
    return reached;
}

void notify_forget(notify *n, int64_t number)
{
    if (!n)
        return;
    pthread_mutex_lock(&n->lock);
    set_run(n, number, 0);
    pthread_mutex_unlock(&n->lock);
}

/* ---- news ---------------------------------------------------------------------------------------------- */

void notify_note_failure(notify_news *news)
{
    news->any = true;
    if (news->evaluated)
        news->failures_since++;
    else
        news->failures++;
}

void notify_note_evaluation(notify_news *news)
{
    news->any = true;
    news->evaluated = true;
    news->failures_since = 0;
}

void notify_note_stuck(notify_news *news, const char *reason)
{
    news->any = news->stuck = true;
    snprintf(news->reason, sizeof news->reason, "%s", reason);
}

/* If there is no memory or no room, the notification counts as dropped. */
static void push(receiver *r, const wire_notification *what, int64_t study)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_notification named = *what;
    delivery *d = calloc(1, sizeof *d);
    if (d) {
        message_id_make(d->id);
        named.id = d->id;
        d->notice = what->notice;
        d->study = study;
        wire_encode_notification(&w, &named);
    }
    if (d && wire_writer_finish(&w, &d->body, &d->size)) {
        receiver_push(r, d);
        return;
    }
    free(d);
    r->counts.dropped++;
    atomic_fetch_add(&r->owner->dropped, 1);
}

static void tell(notify *n, const wire_notification *what, int64_t study)
{
    receiver *r;
    STAILQ_FOREACH (r, &n->receivers, link)
        if (!r->removed && r->wanted.events & 1u << what->notice)
            push(r, what, study);
}

void notify_post(notify *n, const char *study, int64_t number, const notify_news *news)
{
    if (!n || !news->any || atomic_load(&n->wanted) == 0)
        return;
    wire_notification what = {.study = study,
                              .time = clock_now(),
                              .trial = news->trial,
                              .value = news->value,
                              .failures = NOTIFY_FAILURES,
                              .reason = ""};
    pthread_mutex_lock(&n->lock);
    bool failing = count_failures(n, number, news);
    if (news->trial) {
        what.notice = WIRE_NOTICE_BETTER;
        tell(n, &what, number);
    }
    if (failing) {
        what.notice = WIRE_NOTICE_FAILING;
        tell(n, &what, number);
    }
    what.reason = news->reason;
    if (news->stuck) {
        what.notice = WIRE_NOTICE_STUCK;
        tell(n, &what, number);
    }
    if (news->finished) {
        what.notice = WIRE_NOTICE_FINISHED;
        tell(n, &what, number);
    }
    sending_wake(n);
    pthread_mutex_unlock(&n->lock);
}

void notify_read_statistics(notify *n, notify_statistics *out)
{
    *out = (notify_statistics){0};
    if (!n)
        return;
    out->sent = atomic_load(&n->sent);
    out->failed = atomic_load(&n->failed);
    out->dropped = atomic_load(&n->dropped);
    out->queued = atomic_load(&n->queued);
}
