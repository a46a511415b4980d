#include "clients/banditctl/call.h"
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"
#include "proto/json_parse.h"

#include <stdlib.h>
#include <string.h>

char *url_escape(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
    char *escaped = allocate(3 * strlen(text) + 1, 1), *end = escaped;
    for (const char *c = text; *c; c++)
        end += sprintf(end, strchr(plain, *c) ? "%c" : "%%%02X", (unsigned char)*c);
    return escaped;
}

char *study_path(const char *study, const char *rest)
{
    char *escaped = url_escape(study);
    char *path = format_text("/v1/studies/%s%s", escaped, rest);
    free(escaped);
    return path;
}

exit_status status_of_answer(const http_answer *answer)
{
    switch (answer->status) {
    case 0:
        return answer->unwritten   ? STATUS_FAILED
               : answer->cancelled ? STATUS_INTERRUPTED
                                   : STATUS_UNREACHABLE;
    case 502:
    case 503:
    case 504:
        return STATUS_UNREACHABLE;
    case 401:
    case 403:
        return STATUS_DENIED;
    case 404:
        return STATUS_NOT_FOUND;
    case 409:
        return STATUS_CONFLICT;
    default:
        return answer->status / 100 == 2 ? STATUS_OK : STATUS_FAILED;
    }
}

json_t *answer_json(const http_answer *answer)
{
    wire_errors errors = {0};
    json_t *json;
    if (wire_parse(&json, answer->body, answer->size, &errors) == WIRE_NO_MEMORY)
        out_of_memory();
    wire_errors_clear(&errors);
    return json;
}

char *describe_answer(const http_answer *answer)
{
    if (answer->status == 0)
        return printable(answer->why);
    json_t *problem = answer_json(answer);
    char *title = printable_member(problem, "title", "(no explanation)");
    char *detail = printable_member(problem, "detail", "");
    char *text = format_text("%ld %s%s%s", answer->status, title, *detail ? ": " : "", detail);
    free(title);
    free(detail);
    const json_t *error, *errors = json_object_get(problem, "errors");
    size_t i;
    if (json_array_size(errors) > 1) /* the detail has the first one */
        json_array_foreach(errors, i, error)
        {
            char *pointer = printable_member(error, "pointer", "");
            char *what = printable_member(error, "detail", "");
            char *longer = format_text("%s\n  %s%s%s", text, pointer, *pointer ? ": " : "", what);
            free(pointer);
            free(what);
            free(text);
            text = longer;
        }
    if (json_count(problem, "errors_omitted") > 0) {
        char *longer = format_text("%s\n  and %lld more errors", text, json_count(problem, "errors_omitted"));
        free(text);
        text = longer;
    }
    json_decref(problem);
    return text;
}

exit_status call(const arguments *a, const http_request *request, json_t **out)
{
    http_client *client;
    http_answer answer;
    if (out)
        *out = NULL;
    if (!http_client_new(&client, option_text(a, OPTION_URL)))
        return STATUS_USAGE;
    http_send(client, request, &answer);
    exit_status status = status_of_answer(&answer);
    if (status == STATUS_OK && out)
        *out = answer_json(&answer);
    if (status == STATUS_OK && out && !*out) {
        fprintf(stderr, "banditctl: the response of %s is not JSON; check that it is a banditd server\n",
                http_client_url(client));
        status = STATUS_FAILED;
    } else if (status == STATUS_OK && option_given(a, OPTION_JSON) && answer.size > 0) {
        printf("%s%s", answer.body, answer.body[answer.size - 1] == '\n' ? "" : "\n");
    } else if (status != STATUS_OK) {
        char *why = describe_answer(&answer);
        if (answer.status == 0 && !answer.unwritten)
            fprintf(stderr, "banditctl: no answer from %s: %s\n", http_client_url(client), why);
        else
            fprintf(stderr, "banditctl: %s\n", why);
        free(why);
    }
    http_answer_clear(&answer);
    http_client_free(client);
    return status;
}

bool write_object(wire_writer *w, const char *text)
{
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(object);
    if (good)
        wire_write_json(w, object);
    json_decref(object);
    return good;
}

bool write_object_option(wire_writer *w, const arguments *a, option_id id, const char *name)
{
    if (!option_given(a, id))
        return true;
    wire_key(w, name);
    bool good = write_object(w, option_text(a, id));
    if (!good)
        fprintf(stderr, "banditctl: --%s must be a JSON object, not '%s'\n", name, option_text(a, id));
    return good;
}
