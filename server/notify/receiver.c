#include "server/base/log.h"
#include "server/notify/internal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_DELAY = 1000, LONGEST_DELAY = 600000 }; /* ms */

receiver *receiver_new(notify *owner, const wire_receiver *wanted)
{
    receiver *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->owner = owner;
    r->wanted = (wire_receiver){
        .url = strdup(wanted->url), .events = wanted->events, .secret = strdup(wanted->secret)};
    r->counts.last_error = r->last_error;
    STAILQ_INIT(&r->queue);
    if (r->wanted.url && r->wanted.secret)
        return r;
    receiver_free(r);
    return NULL;
}

static void delivery_free(delivery *d)
{
    free(d->body);
    free(d);
}

static void take_out(receiver *r, delivery *d)
{
    STAILQ_REMOVE(&r->queue, d, delivery, link);
    r->queued--;
    atomic_fetch_sub(&r->owner->queued, 1);
    delivery_free(d);
}

void receiver_free(receiver *r)
{
    while (!STAILQ_EMPTY(&r->queue))
        take_out(r, STAILQ_FIRST(&r->queue));
    free(r->wanted.url);
    free(r->wanted.secret);
    free(r);
}

/* The URL's scheme, host and port, for the log. The rest may be a secret: with the whole URL of a chat's hook, anybody
 * can post. */
static const char *origin(const receiver *r)
{
    const char *host = strstr(r->wanted.url, "//") + 2;
    return log_format("%.*s", (int)(host - r->wanted.url + (ptrdiff_t)strcspn(host, "/?")), r->wanted.url);
}

/* If several results in turn became the best one, only the last one is of interest. Drops the older notifications. */
static void drop_older(receiver *r, const delivery *than)
{
    delivery *d, *next;
    for (d = STAILQ_FIRST(&r->queue); d && than->notice == WIRE_NOTICE_BETTER; d = next) {
        next = STAILQ_NEXT(d, link);
        if (d->notice == WIRE_NOTICE_BETTER && d->study == than->study)
            take_out(r, d);
    }
}

void receiver_push(receiver *r, delivery *d)
{
    drop_older(r, d);
    /* The delivery that is being sent, or will be sent again, does not count. */
    if (r->queued + (r->current != NULL) > NOTIFY_QUEUE) {
        if (!r->dropping)
            log_event(LOG_WARN, "notifications_dropped", "receiver", origin(r), "reason",
                      "the receiver's queue is full", NULL);
        r->dropping = true;
        r->counts.dropped++;
        atomic_fetch_add(&r->owner->dropped, 1);
        take_out(r, STAILQ_FIRST(&r->queue));
    }
    STAILQ_INSERT_TAIL(&r->queue, d, link);
    r->queued++;
    atomic_fetch_add(&r->owner->queued, 1);
}

static void settle_failure(receiver *r, int64_t now, const char *error)
{
    delivery *d = r->current;
    snprintf(r->last_error, sizeof r->last_error, "%s", error);
    if (r->delay == 0)
        log_event(LOG_WARN, "notification_not_sent", "receiver", origin(r), "reason", error, NULL);
    r->delay = r->delay == 0 ? FIRST_DELAY : r->delay * 2 > LONGEST_DELAY ? LONGEST_DELAY : r->delay * 2;
    r->next_try = now + r->delay;
    if (++d->tries < NOTIFY_TRIES) {
        STAILQ_INSERT_HEAD(&r->queue, d, link);
        r->queued++;
        return;
    }
    log_event(LOG_ERROR, "notification_given_up", "receiver", origin(r), "id", d->id, "tries",
              log_format("%d", d->tries), "reason", error, NULL);
    r->counts.failed++;
    atomic_fetch_add(&r->owner->failed, 1);
    atomic_fetch_sub(&r->owner->queued, 1);
    delivery_free(d);
}

void receiver_settle(receiver *r, int64_t now, const char *error)
{
    delivery *d = r->current;
    if (error) {
        settle_failure(r, now, error);
    } else {
        log_event(LOG_DEBUG, "notification_sent", "receiver", origin(r), "id", d->id, NULL);
        r->counts.sent++;
        atomic_fetch_add(&r->owner->sent, 1);
        atomic_fetch_sub(&r->owner->queued, 1);
        r->delay = 0;
        r->dropping = false;
        r->last_error[0] = '\0';
        delivery_free(d);
    }
    r->current = NULL;
}
