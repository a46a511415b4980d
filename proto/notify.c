#include "proto/notify.h"
#include "proto/encode.h"
#include "proto/json_decode.h"

#include <string.h>

static const char *const words[WIRE_NOTICES + 1] = {
#define X(enumerator, word) word,
    WIRE_NOTICE_LIST(X)
#undef X
};

const char *wire_notice_word(wire_notice notice)
{
    return words[notice];
}

/* ---- decoding ------------------------------------------------------------------------------------------ */

static bool is_url(const char *url)
{
    size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    size_t host = strcspn(url + scheme, "/?:");
    size_t authority = strcspn(url + scheme, "/?");
    for (const char *at = url; *at; at++)
        if (*at <= ' ' || *at > '~' || strchr("\"#<>\\", *at))
            return false;
    return scheme > 0 && host > 0 && !memchr(url + scheme, '@', authority);
}

static bool is_secret(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (strncmp(text, WIRE_SECRET_PREFIX, strlen(WIRE_SECRET_PREFIX)) != 0)
        return false;
    text += strlen(WIRE_SECRET_PREFIX);
    size_t n = strlen(text), n_digits = strspn(text, digits), padding = n - n_digits;
    size_t bytes = n / 4 * 3 - padding;
    return n % 4 == 0 && padding <= 2 && strspn(text + n_digits, "=") == padding &&
           bytes >= WIRE_SECRET_LEAST && bytes <= WIRE_SECRET_MOST;
}

static void fill_events(wire_object *o, uint32_t *events)
{
    wire_decoder *d = o->decoder;
    wire_place at = wire_place_member(o->place, "events");
    const json_t *json = wire_take(o, "events", WIRE_OPTIONAL);
    *events = (1u << WIRE_NOTICES) - 1;
    if (!json || !wire_check_list(d, &at, json, 1, WIRE_NOTICES))
        return;
    *events = 0;
    for (size_t i = 0; i < json_array_size(json); i++) {
        wire_place place = wire_place_element(&at, i);
        const char *text = json_string_value(json_array_get(json, i));
        size_t notice = 0;
        while (text && words[notice] && strcmp(words[notice], text) != 0)
            notice++;
        if (!text || notice == WIRE_NOTICES)
            wire_refuse(d, &place, "must be \"finished\", \"better\", \"stuck\" or \"failing\"");
        else if (*events & 1u << notice)
            wire_refuse(d, &place, "is in the list twice");
        else
            *events |= 1u << notice;
    }
}

static void fill_receiver(wire_decoder *d, const wire_place *at, const json_t *json, wire_receiver *out)
{
    wire_object o;
    if (!wire_object_open(&o, d, at, json))
        return;
    if (wire_take_string(&o, "url", WIRE_REQUIRED, 1, WIRE_MAX_URL, &out->url) && out->url &&
        !is_url(out->url)) {
        wire_place place = wire_place_member(at, "url");
        wire_refuse(d, &place,
                    "must start with https:// or http:// and a host, without a user, a fragment, spaces or "
                    "characters beyond ASCII");
    }
    if (wire_take_string(&o, "secret", WIRE_OPTIONAL, 1, WIRE_MAX_NAME, &out->secret) && out->secret &&
        !is_secret(out->secret)) {
        wire_place place = wire_place_member(at, "secret");
        wire_refuse(d, &place, "must be " WIRE_SECRET_PREFIX " and the base64 of %d to %d bytes",
                    WIRE_SECRET_LEAST, WIRE_SECRET_MOST);
    }
    fill_events(&o, &out->events);
    wire_object_close(&o);
}

static void refuse_repeated(wire_decoder *d, const wire_place *at, const wire_notify *notify)
{
    for (size_t i = 1; i < notify->n; i++)
        for (size_t k = 0; k < i; k++)
            if (notify->list[i].url && notify->list[k].url &&
                strcmp(notify->list[i].url, notify->list[k].url) == 0) {
                wire_place element = wire_place_element(at, i), place = wire_place_member(&element, "url");
                wire_refuse(d, &place, "is in the list twice");
                break;
            }
}

static void fill_notify(wire_decoder *d, json_t *body, void *out)
{
    wire_notify *notify = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    const json_t *json = wire_take(&o, "notify", WIRE_REQUIRED);
    wire_place at = wire_place_member(NULL, "notify");
    if (json && wire_check_list(d, &at, json, 0, WIRE_MAX_RECEIVERS)) {
        notify->list = wire_allocate(d, json_array_size(json), sizeof *notify->list);
        notify->n = notify->list ? json_array_size(json) : 0;
        for (size_t i = 0; i < notify->n; i++) {
            wire_place place = wire_place_element(&at, i);
            fill_receiver(d, &place, json_array_get(json, i), &notify->list[i]);
        }
        refuse_repeated(d, &at, notify);
    }
    wire_object_close(&o);
}

WIRE_DEFINE_DECODER(notify)

void wire_notify_free(wire_notify *notify)
{
    if (!notify)
        return;
    for (size_t i = 0; i < notify->n; i++) {
        free(notify->list[i].url);
        free(notify->list[i].secret);
    }
    free(notify->list);
    free(notify);
}

/* ---- encoding ------------------------------------------------------------------------------------------ */

void wire_encode_receiver(wire_writer *w, const wire_receiver *receiver, const char *secret,
                          const wire_receiver_counts *counts)
{
    wire_object_begin(w);
    wire_string_member(w, "url", receiver->url);
    wire_key(w, "events");
    wire_array_begin(w);
    for (size_t i = 0; i < WIRE_NOTICES; i++)
        if (receiver->events & 1u << i)
            wire_string(w, words[i]);
    wire_array_end(w);
    wire_optional_string(w, "secret", secret);
    if (counts) {
        wire_integer_member(w, "queued", counts->queued);
        wire_integer_member(w, "sent", counts->sent);
        wire_integer_member(w, "failed", counts->failed);
        wire_integer_member(w, "dropped", counts->dropped);
        wire_key(w, "last_error");
        if (*counts->last_error)
            wire_string(w, counts->last_error);
        else
            wire_null(w);
    }
    wire_object_end(w);
}

void wire_encode_notification(wire_writer *w, const wire_notification *n)
{
    wire_object_begin(w);
    wire_string_member(w, "id", n->id);
    wire_string_member(w, "event", words[n->notice]);
    wire_string_member(w, "study", n->study);
    wire_time_member(w, "time", n->time);
    wire_optional_string(w, "reason", n->reason);
    if (n->notice == WIRE_NOTICE_BETTER) {
        wire_integer_member(w, "trial", n->trial);
        wire_real_member(w, "value", n->value);
    }
    if (n->notice == WIRE_NOTICE_FAILING)
        wire_integer_member(w, "failures", n->failures);
    wire_object_end(w);
}
