/* The commands for the receivers of notifications, which only administrators may see and set. */
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/call.h"
#include "clients/banditctl/commands.h"
#include "clients/banditctl/file.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"

#include <stdlib.h>
#include <string.h>

#define NOTIFY_PATH "/v1/notify"

/* The events of a receiver, separated by commas. The caller frees it. */
static char *events_of(const json_t *receiver)
{
    char *list = duplicate("");
    const json_t *event;
    size_t i;
    json_array_foreach(json_object_get(receiver, "events"), i, event)
    {
        char *text = value_text(event), *longer = format_text("%s%s%s", list, i > 0 ? "," : "", text);
        free(text);
        free(list);
        list = longer;
    }
    char *shown = printable(list);
    free(list);
    return shown;
}

static void print_receiver(const json_t *receiver)
{
    static const char *const counts[] = {"sent", "failed", "dropped", "queued"};
    char *url = printable(json_text(receiver, "url", "")), *events = events_of(receiver);
    char *error = printable(json_text(receiver, "last_error", ""));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        printf("%-8lld ", json_count(receiver, counts[i]));
    printf("%s %s%s%s\n", events, url, *error ? ": " : "", error);
    free(url);
    free(events);
    free(error);
}

exit_status command_notify_show(const arguments *a)
{
    const http_request request = {.method = "GET", .path = NOTIFY_PATH, .cancel = -1};
    json_t *state;
    const json_t *receiver;
    size_t i;
    exit_status status = call(a, &request, &state);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON)) {
        print_header("sent     failed   dropped  queued   events and address");
        json_array_foreach(json_object_get(state, "notify"), i, receiver) print_receiver(receiver);
    }
    json_decref(state);
    return status;
}

/* Sets the list that `body` has, and prints the secrets that were made. */
static exit_status send_list(const arguments *a, const char *body, size_t size)
{
    const http_request request = {
        .method = "PUT", .path = NOTIFY_PATH, .body = body, .size = size, .cancel = -1};
    json_t *set;
    const json_t *receiver;
    size_t i;
    exit_status status = call(a, &request, &set);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        json_array_foreach(json_object_get(set, "notify"), i, receiver)
        {
            char *url = printable(json_text(receiver, "url", ""));
            char *secret = printable(json_text(receiver, "secret", ""));
            if (*secret)
                printf("%s %s\n", url, secret);
            free(url);
            free(secret);
        }
    json_decref(set);
    return status;
}

exit_status command_notify_set(const arguments *a)
{
    size_t size;
    char *body = read_file(a->operands[0], &size);
    exit_status status = body ? send_list(a, body, size) : STATUS_FAILED;
    free(body);
    return status;
}

/* The receiver that the operands of `notify add` describe. */
static json_t *wanted(const arguments *a)
{
    json_t *events = a->n_operands > 1 ? json_array() : json_pack("[sss]", "finished", "stuck", "failing");
    for (size_t i = 1; i < a->n_operands; i++)
        json_array_append_new(events, json_string(a->operands[i]));
    return json_pack("{ssso}", "url", a->operands[0], "events", events);
}

/* Reads the current list into *out, without the receiver that the first operand names. *had: whether it was in the
 * list. */
static exit_status read_others(const arguments *a, json_t **out, bool *had)
{
    const http_request request = {.method = "GET", .path = NOTIFY_PATH, .cancel = -1};
    arguments quiet = *a;
    json_t *state;
    const json_t *receiver;
    size_t i;
    quiet.given[OPTION_JSON] = NULL;
    exit_status status = call(&quiet, &request, &state);
    *out = json_array();
    *had = false;
    json_array_foreach(json_object_get(state, "notify"), i, receiver)
    {
        const char *url = json_text(receiver, "url", "");
        if (strcmp(url, a->operands[0]) == 0)
            *had = true;
        else
            json_array_append_new(
                *out, json_pack("{sssO}", "url", url, "events", json_object_get(receiver, "events")));
    }
    json_decref(state);
    return status;
}

exit_status command_notify_change(const arguments *a)
{
    bool add = strcmp(a->command->name, "notify add") == 0, had;
    json_t *list;
    exit_status status = read_others(a, &list, &had);
    if (status == STATUS_OK && !add && !had) {
        fprintf(stderr, "banditctl: there is no receiver '%s'\n", a->operands[0]);
        status = STATUS_NOT_FOUND;
    }
    if (status == STATUS_OK) {
        if (add)
            json_array_append_new(list, wanted(a));
        json_t *object = json_pack("{sO}", "notify", list);
        char *body = value_text(object);
        status = send_list(a, body, strlen(body));
        free(body);
        json_decref(object);
    }
    json_decref(list);
    return status;
}
