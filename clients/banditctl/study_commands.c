/* The commands for studies and their candidates. */
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/call.h"
#include "clients/banditctl/commands.h"
#include "clients/banditctl/file.h"
#include "clients/banditctl/form.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

exit_status command_study_create(const arguments *a)
{
    http_request request = {.method = "POST", .path = "/v1/studies", .seconds = -1, .cancel = -1};
    form_boundary boundary;
    char *body = read_file(a->operands[0], &request.size), *type = NULL;
    exit_status status = body ? STATUS_OK : STATUS_FAILED;
    json_t *study = NULL;
    if (body && a->n_operands > 1) {
        draw_boundary(boundary);
        type = format_text("multipart/form-data; boundary=%s", boundary);
        status = make_form(a, &body, &request.size, boundary);
    }
    request.body = body;
    request.content_type = type;
    if (status == STATUS_OK)
        status = call(a, &request, &study);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        print_text(json_text(study, "id", ""));
    json_decref(study);
    free(type);
    free(body);
    return status;
}

static char *add_query(char *path, const char *name, const char *value)
{
    char *escaped = url_escape(value);
    char *longer = format_text("%s%c%s=%s", path, strchr(path, '?') ? '&' : '?', name, escaped);
    free(escaped);
    free(path);
    return longer;
}

/* `study` is NULL if the study is damaged in the database. */
typedef void study_taker(const json_t *study, const char *id, const char *arg);

/* Reads all pages and passes each study to `take`. With --json it prints the pages instead. */
static exit_status list_studies(const arguments *a, study_taker *take, const char *arg)
{
    char *token = NULL;
    exit_status status;
    do {
        char *path = duplicate("/v1/studies?limit=1000");
        if (option_given(a, OPTION_STATE))
            path = add_query(path, "state", option_text(a, OPTION_STATE));
        if (option_given(a, OPTION_LABEL))
            path = add_query(path, "label", option_text(a, OPTION_LABEL));
        if (token)
            path = add_query(path, "page_token", token);
        http_request request = {.method = "GET", .path = path, .cancel = -1};
        json_t *page;
        status = call(a, &request, &page);
        const json_t *study;
        size_t i;
        json_array_foreach(json_object_get(page, "items"), i, study)
        {
            if (!option_given(a, OPTION_JSON))
                take(study, json_text(study, "id", ""), arg);
        }
        json_array_foreach(json_object_get(page, "damaged"), i, study)
        {
            if (!option_given(a, OPTION_JSON) && json_is_string(study))
                take(NULL, json_string_value(study), arg);
        }
        free(token);
        free(path);
        const char *next = json_text(page, "next_page_token", NULL);
        token = next ? duplicate(next) : NULL;
        json_decref(page);
    } while (status == STATUS_OK && token);
    free(token);
    return status;
}

static void print_study_line(const json_t *study, const char *id, const char *unused)
{
    char best[32] = "-", horizon[32] = "-";
    const json_t *value = json_object_get(json_object_get(study, "best"), "value");
    char *shown = printable(id), *state = printable_member(study, "state", "");
    (void)unused;
    if (json_is_number(value))
        number_text(json_number_value(value), best);
    if (json_object_get(study, "horizon"))
        snprintf(horizon, sizeof horizon, "%lld", json_count(study, "horizon"));
    if (study)
        printf("%-32s %-20s %8lld %8s %s\n", shown, state, json_count(study, "trials_completed"), horizon,
               best);
    else
        printf("%-32s %s\n", shown, "damaged");
    free(shown);
    free(state);
}

void print_header(const char *columns)
{
    if (isatty(STDOUT_FILENO))
        puts(columns);
}

exit_status command_study_list(const arguments *a)
{
    if (!option_given(a, OPTION_JSON))
        print_header("id                               state                  trials  horizon best");
    return list_studies(a, print_study_line, NULL);
}

static void print_matching_id(const json_t *study, const char *id, const char *prefix)
{
    (void)study;
    if (strncmp(id, prefix, strlen(prefix)) == 0)
        print_text(id);
}

void print_study_ids(const char *prefix)
{
    const arguments none = {0};
    list_studies(&none, print_matching_id, prefix);
}

/* Prints one line of a study's description. */
static void print_member(const char *title, const json_t *object, const char *key)
{
    char *text = printable_member(object, key, "");
    printf("%-20s %s\n", title, text);
    free(text);
}

/* Prints what the study's last batch advises: a word, or the rule that advises to end the study. */
static void print_advice(const json_t *study)
{
    const json_t *advice = json_object_get(study, "advice");
    if (!json_is_object(advice)) {
        print_member("advice", study, "advice");
        return;
    }
    char *rule = printable_member(advice, "rule", "");
    printf("%-20s stop, by the rule %s (since batch %lld)\n", "advice", rule,
           json_count(advice, "since_batch"));
    free(rule);
}

exit_status command_study_show(const arguments *a)
{
    static const char *const counters[] = {"candidates",       "trials_queued", "trials_pending",
                                           "trials_completed", "trials_failed", "trials_infeasible",
                                           "trials_stopped",   "observations",  "batch"};
    char *path = study_path(a->operands[0], "");
    http_request request = {.method = "GET", .path = path, .cancel = -1};
    json_t *study;
    exit_status status = call(a, &request, &study);
    free(path);
    if (status != STATUS_OK || option_given(a, OPTION_JSON)) {
        json_decref(study);
        return status;
    }
    print_member("id", study, "id");
    if (json_object_get(study, "display_name"))
        print_member("name", study, "display_name");
    print_member("state", study, "state");
    if (json_object_get(study, "state_reason"))
        print_member("reason", study, "state_reason");
    if (json_object_get(study, "advice"))
        print_advice(study);
    print_member("algorithm", json_object_get(study, "algorithm"), "name");
    if (json_object_get(study, "horizon"))
        printf("%-20s %lld\n", "horizon", json_count(study, "horizon"));
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (json_object_get(study, counters[i]))
            printf("%-20s %lld\n", counters[i], json_count(study, counters[i]));
    const json_t *best = json_object_get(study, "best");
    if (json_is_object(best)) {
        char *value = printable_value(json_object_get(best, "value"));
        const char *source = json_object_get(best, "observation") ? "observation" : "trial";
        printf("%-20s %s (%s %lld)\n", "best value", value, source, json_count(best, source));
        free(value);
    }
    json_decref(study);
    return status;
}

exit_status command_study_state(const arguments *a)
{
    static const char *const states[][2] = {
        {"study pause", "paused"}, {"study resume", "active"}, {"study finish", "finished"}};
    const char *state = NULL;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(a->command->name, states[i][0]) == 0)
            state = states[i][1];
    char *path = study_path(a->operands[0], "");
    char *body = format_text("{\"state\": \"%s\"}", state);
    http_request request = {
        .method = "PATCH", .path = path, .body = body, .size = strlen(body), .cancel = -1};
    exit_status status = call(a, &request, NULL);
    free(path);
    free(body);
    return status;
}

exit_status command_study_delete(const arguments *a)
{
    char *path = study_path(a->operands[0], "");
    http_request request = {.method = "DELETE", .path = path, .cancel = -1};
    exit_status status = call(a, &request, NULL);
    free(path);
    return status;
}

static const char *type_of_file(const char *name)
{
    static const char *const types[][2] = {{".csv", "text/csv"},
                                           {".json", "application/json"},
                                           {".ndjson", "application/x-ndjson"},
                                           {".npy", "application/octet-stream"}};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t k = strlen(types[i][0]);
        if (n > k && strcmp(name + n - k, types[i][0]) == 0)
            return types[i][1];
    }
    return NULL;
}

/* Opens a file and finds its size. NULL: the error was printed, and *status is the exit status. */
static FILE *open_upload(const char *name, size_t *size, exit_status *status)
{
    struct stat about;
    if (stat(name, &about) == 0 && !S_ISREG(about.st_mode)) {
        fprintf(stderr, "banditctl: %s is not a regular file\n", name);
        *status = STATUS_USAGE;
        return NULL;
    }
    FILE *file = fopen(name, "re");
    if (file && fstat(fileno(file), &about) == 0) {
        *size = (size_t)about.st_size;
        return file;
    }
    *status = cannot_read(name);
    if (file)
        fclose(file);
    return NULL;
}

exit_status command_study_import(const arguments *a)
{
    http_request request = {
        .method = "POST", .content_type = "application/x-ndjson", .seconds = -1, .cancel = -1};
    const char *name = a->operands[0];
    exit_status status = STATUS_FAILED;
    char *body = NULL, *path = duplicate("/v1/studies");
    if (strcmp(name, "-") == 0)
        request.body = body = read_all(stdin, &request.size);
    else
        request.upload = open_upload(name, &request.size, &status);
    if (a->n_operands > 1)
        path = add_query(path, "id", a->operands[1]);
    if (!request.body && !request.upload) {
        free(path);
        return strcmp(name, "-") == 0 ? cannot_read(name) : status;
    }
    request.path = path;
    json_t *study;
    status = call(a, &request, &study);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        print_text(json_text(study, "id", ""));
    json_decref(study);
    if (request.upload)
        fclose(request.upload);
    free(path);
    free(body);
    return status;
}

/* Sends a file, whose name says its type, to the study's path followed by `rest`. */
static exit_status send_file(const arguments *a, const char *method, const char *rest, json_t **out)
{
    const char *name = a->operands[1], *type = type_of_file(name);
    size_t size;
    exit_status status;
    *out = NULL;
    if (!type) {
        fprintf(stderr, "banditctl: the name of %s must end in .csv, .json, .ndjson or .npy\n", name);
        return STATUS_USAGE;
    }
    FILE *file = open_upload(name, &size, &status);
    if (!file)
        return status;
    char *path = study_path(a->operands[0], rest);
    if (option_given(a, OPTION_BROKEN))
        path = add_query(path, "broken", option_text(a, OPTION_BROKEN));
    if (option_given(a, OPTION_IGNORE))
        path = add_query(path, "ignore", option_text(a, OPTION_IGNORE));
    http_request request = {.method = method,
                            .path = path,
                            .upload = file,
                            .size = size,
                            .content_type = type,
                            .seconds = -1,
                            .cancel = -1};
    status = call(a, &request, out);
    fclose(file);
    free(path);
    return status;
}

exit_status command_candidates_upload(const arguments *a)
{
    json_t *counted;
    exit_status status = send_file(a, "PUT", "/candidates", &counted);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        printf("%lld candidates of dimension %lld\n", json_count(counted, "count"),
               json_count(counted, "dimension"));
    json_decref(counted);
    return status;
}

exit_status command_candidates_add(const arguments *a)
{
    json_t *added;
    exit_status status = send_file(a, "POST", "/candidates", &added);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON)) {
        size_t n = json_array_size(json_object_get(added, "candidates"));
        printf("%zu candidate%s added\n", n, n == 1 ? "" : "s");
    }
    json_decref(added);
    return status;
}

static void print_imported(const json_t *imported)
{
    long long n = json_count(imported, "accepted");
    printf("%lld result%s imported, from number %lld\n", n, n == 1 ? "" : "s", json_count(imported, "first"));
}

exit_status command_import(const arguments *a)
{
    json_t *imported;
    exit_status status = send_file(a, "POST", "/observations", &imported);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        print_imported(imported);
    json_decref(imported);
    return status;
}
