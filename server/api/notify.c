/* The list of receivers of notifications, which is shown and set as a whole. It is stored as one setting, in the form
 * of a request. */
#include "proto/notify.h"
#include "server/api/handlers.h"
#include "server/api/notify_settings.h"
#include "server/app.h"
#include "server/base/log.h"
#include "server/notify/notify.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTING "notify"

/* ---- at the start -------------------------------------------------------------------------------------- */

typedef struct stored {
    app *app;
    bool good;
} stored;

static void take_stored(void *arg, const char *text)
{
    stored *s = arg;
    wire_notify *receivers;
    wire_errors errors = {0};
    char why[200] = "the stored setting is damaged";
    bool read = wire_decode_notify(&receivers, text, strlen(text), &errors) == WIRE_OK;
    for (size_t i = 0; read && i < receivers->n; i++)
        read = receivers->list[i].secret != NULL;
    s->good = read && (receivers->n == 0 || notify_can_send(why, sizeof why));
    if (!s->good)
        log_event(LOG_ERROR, "nobody_is_notified", "reason", why, NULL);
    else
        s->good = notify_set(s->app->notify, receivers);
    wire_notify_free(receivers);
    wire_errors_clear(&errors);
}

store_status notify_settings_load(app *a, store_error *err)
{
    stored s = {.app = a};
    store_status status = store_read_setting(a->store, SETTING, take_stored, &s, err);
    return status == STORE_NOT_FOUND ? STORE_OK : status;
}

/* ---- showing ------------------------------------------------------------------------------------------- */

static void show_one(void *arg, const wire_receiver *receiver, const wire_receiver_counts *counts)
{
    wire_encode_receiver(arg, receiver, NULL, counts);
}

void handle_notify_get(http_request *request)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    wire_key(&w, "notify");
    wire_array_begin(&w);
    notify_list(request->app->notify, show_one, &w);
    wire_array_end(&w);
    wire_object_end(&w);
    http_answer_json(request, 200, &w);
}

/* ---- setting ------------------------------------------------------------------------------------------- */

/* A write in progress. */
typedef struct notify_write {
    http_request *request;
    store_lane *lane;
    store_write *write;
    wire_notify *receivers;         /* each with a secret */
    bool shown[WIRE_MAX_RECEIVERS]; /* its secret was made for this request */
} notify_write;

static void notify_write_free(notify_write *n)
{
    store_write_free(n->write);
    store_lane_close(n->lane);
    for (size_t i = 0; n->receivers && i < n->receivers->n; i++)
        if (n->receivers->list[i].secret)
            sodium_memzero(n->receivers->list[i].secret, strlen(n->receivers->list[i].secret));
    wire_notify_free(n->receivers);
    free(n);
}

/* Writes the list. `secrets`: whose secrets it includes; NULL: all. */
static void encode(wire_writer *w, const wire_notify *receivers, const bool *secrets)
{
    wire_object_begin(w);
    wire_key(w, "notify");
    wire_array_begin(w);
    for (size_t i = 0; i < receivers->n; i++)
        wire_encode_receiver(w, &receivers->list[i],
                             !secrets || secrets[i] ? receivers->list[i].secret : NULL, NULL);
    wire_array_end(w);
    wire_object_end(w);
}

typedef struct keeping {
    wire_notify *receivers;
    bool no_memory;
} keeping;

/* A receiver that is already in the list keeps its secret, unless a new one was given. */
static void keep_secret(void *arg, const wire_receiver *receiver, const wire_receiver_counts *counts)
{
    keeping *k = arg;
    (void)counts;
    for (size_t i = 0; i < k->receivers->n; i++) {
        wire_receiver *wanted = &k->receivers->list[i];
        if (wanted->secret || strcmp(wanted->url, receiver->url) != 0)
            continue;
        wanted->secret = strdup(receiver->secret);
        k->no_memory |= !wanted->secret;
    }
}

static bool complete_secrets(notify_write *n)
{
    keeping k = {.receivers = n->receivers};
    notify_list(n->request->app->notify, keep_secret, &k);
    for (size_t i = 0; !k.no_memory && i < n->receivers->n; i++) {
        wire_receiver *wanted = &n->receivers->list[i];
        if (wanted->secret)
            continue;
        wanted->secret = malloc(NOTIFY_SECRET_SIZE);
        if (!wanted->secret)
            return false;
        notify_make_secret(wanted->secret);
        n->shown[i] = true;
    }
    return !k.no_memory;
}

/* The outcome of the write, on the writer thread: changes take effect in the order in which they are stored. */
static void stored_list(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    notify_write *n = arg;
    (void)study;
    (void)last_seq;
    if (status == STORE_OK && !notify_set(n->request->app->notify, n->receivers))
        log_event(LOG_ERROR, "nobody_is_notified", "reason",
                  "out of memory, or a thread could not be started; restart the server", NULL);
    if (status == STORE_OK) {
        log_event(LOG_INFO, "notify_set", "receivers", log_format("%zu", n->receivers->n), "by",
                  n->request->caller.id, NULL);
        http_release(n->request);
    } else {
        http_release_failed(n->request, status);
    }
    notify_write_free(n);
}

static store_status prepare(notify_write *n)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text = NULL;
    size_t size;
    if (!complete_secrets(n))
        return STORE_NO_MEMORY;
    store_status status = store_lane_open(&n->lane, n->request->app->store, 0, 0, 0);
    if (status == STORE_OK)
        status = store_write_new(&n->write, n->lane);
    encode(&w, n->receivers, NULL);
    if (!wire_writer_finish(&w, &text, &size))
        return STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = store_write_put_setting(n->write, SETTING, text);
    sodium_memzero(text, size);
    free(text);
    return status;
}

static void put(http_request *request, wire_notify *receivers)
{
    wire_writer w = WIRE_WRITER_INIT;
    notify_write *n = calloc(1, sizeof *n);
    if (!n) {
        wire_notify_free(receivers);
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *n = (notify_write){.request = request, .receivers = receivers};
    store_status status = prepare(n);
    if (status != STORE_OK) {
        notify_write_free(n);
        http_answer_store_problem(request, status);
        return;
    }
    encode(&w, receivers, n->shown);
    request->held = true;
    http_answer_json(request, 200, &w);
    if (request->answer.status != 200) {
        notify_write_free(n);
        http_release(request);
        return;
    }
    store_write *write = n->write;
    n->write = NULL;
    store_submit(write, stored_list, n);
}

static wire_status check_urls(const http_request *request, const wire_notify *receivers, wire_errors *errors)
{
    bool refused = false;
    for (size_t i = 0; i < receivers->n; i++) {
        char pointer[40];
        const char *why = notify_refuses(request->app->notify, receivers->list[i].url);
        if (!why)
            continue;
        snprintf(pointer, sizeof pointer, "/notify/%zu/url", i);
        wire_errors_add(errors, pointer, "%s", why);
        refused = true;
    }
    return errors->no_memory ? WIRE_NO_MEMORY : refused ? WIRE_INVALID : WIRE_OK;
}

void handle_notify_put(http_request *request)
{
    wire_notify *receivers;
    wire_errors errors = {0};
    char why[200];
    wire_status status = wire_decode_notify(&receivers, request->body, request->body_size, &errors);
    bool can_send = status != WIRE_OK || receivers->n == 0 || notify_can_send(why, sizeof why);
    if (status == WIRE_OK && can_send)
        status = check_urls(request, receivers, &errors);
    if (status == WIRE_OK && can_send) {
        put(request, receivers);
    } else {
        wire_notify_free(receivers);
        if (can_send)
            http_answer_undecodable(request, status, &errors);
        else
            http_answer_problem(request, 503, NULL, "%s", why);
    }
    wire_errors_clear(&errors);
}
