/* The thread that sends. Only it uses transfers. It uses data that it shares with other threads with the lock held. */
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/nice.h"
#include "server/notify/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECT_MS = 5000,
    ANSWER_MS = 15000,
    ANSWER_BYTES = 64 * 1024, /* how much of an answer is read; its content is not used */
    IDLE_MS = 60000
};

/* ---- one transfer -------------------------------------------------------------------------------------- */

/* Checks the address when it is connected to, so that a name cannot resolve to another address after the check. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    receiver *r = arg;
    (void)purpose;
    if (!r->owner->with_private && !address_is_public(&address->addr)) {
        r->refused_address = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t take_answer(char *bytes, size_t size, size_t n, void *arg)
{
    receiver *r = arg;
    (void)bytes;
    r->answer_bytes += size * n;
    return r->answer_bytes > ANSWER_BYTES ? 0 : size * n;
}

static bool add_header(receiver *r, const char *name, const char *value)
{
    char text[160];
    snprintf(text, sizeof text, "%s: %s", name, value);
    struct curl_slist *more = lib.curl_slist_append(r->headers, text);
    if (more)
        r->headers = more;
    return more != NULL;
}

static bool add_headers(receiver *r, const delivery *d)
{
    char signature[SIGNATURE_SIZE], time[24];
    int64_t seconds = clock_now() / 1000;
    message_sign(signature, r->wanted.secret, d->id, seconds, d->body, d->size);
    snprintf(time, sizeof time, "%lld", (long long)seconds);
    return add_header(r, "Content-Type", "application/json") && add_header(r, "webhook-id", d->id) &&
           add_header(r, "webhook-timestamp", time) && add_header(r, "webhook-signature", signature);
}

#define SET(option, value) ((lib.curl_easy_setopt)(r->easy, option, value) == CURLE_OK)

/* Uses no proxy, because a proxy would connect to addresses that were not checked here. */
static bool set_options(receiver *r, const delivery *d)
{
    return SET(CURLOPT_URL, r->wanted.url) && SET(CURLOPT_PROTOCOLS_STR, "http,https") &&
           SET(CURLOPT_FOLLOWLOCATION, 0L) && SET(CURLOPT_PROXY, "") && SET(CURLOPT_NOSIGNAL, 1L) &&
           SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
           SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) && SET(CURLOPT_TIMEOUT_MS, (long)ANSWER_MS) &&
           SET(CURLOPT_USERAGENT, "banditd/" BANDITD_VERSION) && SET(CURLOPT_HTTPHEADER, r->headers) &&
           SET(CURLOPT_POSTFIELDS, d->body) && SET(CURLOPT_POSTFIELDSIZE, (long)d->size) &&
           SET(CURLOPT_OPENSOCKETFUNCTION, open_socket) && SET(CURLOPT_OPENSOCKETDATA, r) &&
           SET(CURLOPT_WRITEFUNCTION, take_answer) && SET(CURLOPT_WRITEDATA, r) && SET(CURLOPT_PRIVATE, r);
}

#undef SET

static void end_transfer(receiver *r)
{
    if (r->easy) {
        lib.curl_multi_remove_handle(r->owner->multi, r->easy);
        lib.curl_easy_cleanup(r->easy);
    }
    lib.curl_slist_free_all(r->headers);
    r->easy = NULL;
    r->headers = NULL;
}

/* Begins the receiver's first delivery; a failure counts as a failed try. Call it with the lock held. */
static void begin_transfer(receiver *r, int64_t now)
{
    delivery *d = STAILQ_FIRST(&r->queue);
    STAILQ_REMOVE_HEAD(&r->queue, link);
    r->queued--;
    r->current = d;
    r->answer_bytes = 0;
    r->refused_address = false;
    r->easy = lib.curl_easy_init();
    if (r->easy && add_headers(r, d) && set_options(r, d) &&
        lib.curl_multi_add_handle(r->owner->multi, r->easy) == CURLM_OK)
        return;
    end_transfer(r);
    receiver_settle(r, now, "libcurl could not begin the request");
}

static void finish_transfer(notify *n, receiver *r, CURLcode result, int64_t now)
{
    char error[160] = "";
    long status = 0;
    (lib.curl_easy_getinfo)(r->easy, CURLINFO_RESPONSE_CODE, &status);
    bool too_long = r->answer_bytes > ANSWER_BYTES;
    if (r->refused_address && result != CURLE_OK)
        snprintf(error, sizeof error, NOTIFY_REFUSAL);
    else if (result != CURLE_OK && !too_long)
        snprintf(error, sizeof error, "%s", lib.curl_easy_strerror(result));
    else if (status / 100 == 3)
        snprintf(error, sizeof error, "the receiver answered %ld; redirects are not followed", status);
    else if (status / 100 != 2)
        snprintf(error, sizeof error, "the receiver answered %ld", status);
    end_transfer(r);
    pthread_mutex_lock(&n->lock);
    receiver_settle(r, now, *error ? error : NULL);
    pthread_mutex_unlock(&n->lock);
}

static void finish_transfers(notify *n)
{
    CURLMsg *message;
    int left;
    while ((message = lib.curl_multi_info_read(n->multi, &left)))
        if (message->msg == CURLMSG_DONE) {
            CURLcode result = message->data.result;
            receiver *r = NULL;
            (lib.curl_easy_getinfo)(message->easy_handle, CURLINFO_PRIVATE, (char **)&r);
            finish_transfer(n, r, result, clock_steady_ms());
        }
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

/* Call it without the lock, because libcurl may wait here for the resolver's answer. */
static void free_receivers(receiver_list *gone)
{
    receiver *r;
    while ((r = STAILQ_FIRST(gone))) {
        STAILQ_REMOVE_HEAD(gone, link);
        end_transfer(r);
        if (r->current) {
            STAILQ_INSERT_HEAD(&r->queue, r->current, link);
            r->queued++;
        }
        receiver_free(r);
    }
}

/* Begins the deliveries that are due. Returns the time until the next one is due, in ms. */
static int begin_due(notify *n)
{
    receiver_list gone = STAILQ_HEAD_INITIALIZER(gone);
    int64_t now = clock_steady_ms(), wait = IDLE_MS;
    receiver *r, *next;
    pthread_mutex_lock(&n->lock);
    for (r = STAILQ_FIRST(&n->receivers); r; r = next) {
        next = STAILQ_NEXT(r, link);
        if (r->removed) {
            STAILQ_REMOVE(&n->receivers, r, receiver, link);
            STAILQ_INSERT_TAIL(&gone, r, link);
        } else if (!r->current && r->queued > 0 && r->next_try <= now) {
            begin_transfer(r, now);
        }
        if (!r->removed && !r->current && r->queued > 0 && r->next_try - now < wait)
            wait = r->next_try - now;
    }
    pthread_mutex_unlock(&n->lock);
    free_receivers(&gone);
    return (int)wait;
}

static void *run(void *arg)
{
    notify *n = arg;
    int running;
    nice_raise(NICER_READING);
    while (!atomic_load(&n->stopping)) {
        lib.curl_multi_poll(n->multi, NULL, 0, begin_due(n), NULL); /* returns at once if one has begun */
        lib.curl_multi_perform(n->multi, &running);
        finish_transfers(n);
    }
    return NULL;
}

bool sending_start(notify *n)
{
    if (n->running)
        return true;
    n->multi = lib.curl_multi_init();
    n->running = n->multi && pthread_create(&n->thread, NULL, run, n) == 0;
    if (!n->running && n->multi) {
        lib.curl_multi_cleanup(n->multi);
        n->multi = NULL;
    }
    return n->running;
}

void sending_wake(notify *n)
{
    if (n->running)
        lib.curl_multi_wakeup(n->multi);
}

void sending_stop(notify *n)
{
    if (!n->running)
        return;
    atomic_store(&n->stopping, true);
    sending_wake(n);
    pthread_join(n->thread, NULL);
    n->running = false;
    if (atomic_load(&n->queued) > 0)
        log_event(LOG_WARN, "notifications_lost", "count", log_format("%zu", atomic_load(&n->queued)), NULL);
    free_receivers(&n->receivers);
    lib.curl_multi_cleanup(n->multi);
}
