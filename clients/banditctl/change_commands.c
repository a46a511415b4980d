/* The commands that change a running study: its candidates, its trials and its fields. */
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/call.h"
#include "clients/banditctl/commands.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"
#include "clients/banditctl/trial.h"
#include "proto/encode.h"
#include "proto/json_parse.h"

#include <stdlib.h>
#include <string.h>

/* Reads text as JSON of any kind; NULL: it is not JSON. */
static json_t *read_any(const char *text)
{
    return json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
}

/* Sends an object, which it frees, to the study's path followed by `rest`; see call. */
static exit_status send_object(const arguments *a, const char *method, const char *rest, json_t *object,
                               json_t **out)
{
    char *path = study_path(a->operands[0], rest), *body = json_dumps(object, JSON_REAL_PRECISION(17));
    json_decref(object);
    if (!body)
        out_of_memory();
    http_request request = {.method = method, .path = path, .body = body, .size = strlen(body), .cancel = -1};
    exit_status status = call(a, &request, out);
    free(path);
    free(body);
    return status;
}

/* ---- candidates ------------------------------------------------------------------------------------ */

exit_status command_candidates_mark(const arguments *a)
{
    bool retire = strcmp(a->command->name, "candidates retire") == 0;
    bool by_key = option_given(a, OPTION_KEY);
    json_t *numbers = json_array(), *object = json_object();
    for (size_t i = 1; i < a->n_operands; i++) {
        json_t *number = by_key ? json_string(a->operands[i]) : read_any(a->operands[i]);
        if (!number) {
            fprintf(stderr,
                    "banditctl: '%s' is not the number of a candidate; with --key, operands are keys\n",
                    a->operands[i]);
            json_decref(numbers);
            json_decref(object);
            return STATUS_USAGE;
        }
        json_array_append_new(numbers, number);
    }
    json_object_set_new(object, by_key ? "keys" : "candidates", numbers);
    json_t *marked;
    exit_status status =
        send_object(a, "POST", retire ? "/candidates/retire" : "/candidates/restore", object, &marked);
    const char *done = retire ? "retired" : "restored";
    if (status == STATUS_OK && !option_given(a, OPTION_JSON)) {
        long long n = json_count(marked, done);
        printf("%lld candidate%s %s\n", n, n == 1 ? "" : "s", done);
    }
    json_decref(marked);
    return status;
}

/* The expected values of all modelled metrics, by name; nothing if there is only one. */
static void print_expected_values(const json_t *candidate)
{
    json_t *values = json_object_get(json_object_get(candidate, "posterior"), "values");
    const char *name;
    json_t *expected;
    json_object_foreach(values, name, expected)
    {
        char *shown = printable(name), *text = printable_value(json_object_get(expected, "mean"));
        printf("%s=%s ", shown, text);
        free(shown);
        free(text);
    }
}

static void print_candidate(const json_t *candidate, const trial_names *unused)
{
    (void)unused;
    static const char *const keys[] = {"candidate", "pulls", "mean"}, *const believed[] = {"mean", "std"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *member = json_object_get(candidate, keys[i]);
        char *text = member && !json_is_null(member) ? printable_value(member) : duplicate("-");
        printf("%-12s ", text);
        free(text);
    }
    for (size_t i = 0; i < sizeof believed / sizeof *believed; i++) {
        const json_t *member = json_object_get(json_object_get(candidate, "posterior"), believed[i]);
        char *text = member ? printable_value(member) : duplicate("-");
        printf("%-22s ", text);
        free(text);
    }
    print_expected_values(candidate);
    const char *key = json_text(candidate, "key", "");
    bool retired = json_is_true(json_object_get(candidate, "retired"));
    char *text = printable(key);
    printf("%s%s%s\n", retired ? "retired" : "", retired && *key ? " " : "", text);
    free(text);
}

/* The filters as a query. */
static char *filters(const arguments *a)
{
    char *retired = url_escape(option_given(a, OPTION_RETIRED) ? option_text(a, OPTION_RETIRED) : "");
    char *pulls = option_given(a, OPTION_PULLS) ? format_text("&pulls=%s", option_text(a, OPTION_PULLS))
                                                : duplicate("");
    char *query = format_text("%s%s%s", *retired ? "&retired=" : "", retired, pulls);
    free(retired);
    free(pulls);
    return query;
}

/* Reads the pages at the study's path followed by `rest`, and prints each item. filter: more of the query, "" or "&…" */
static exit_status print_pages(const arguments *a, const char *rest, const char *filter,
                               void (*print)(const json_t *item, const trial_names *names),
                               const trial_names *names)
{
    char *token = NULL;
    exit_status status;
    do {
        char *query =
            format_text("%s?limit=1000%s%s%s", rest, filter, token ? "&page_token=" : "", token ? token : "");
        char *path = study_path(a->operands[0], query);
        http_request request = {.method = "GET", .path = path, .cancel = -1};
        json_t *page;
        const json_t *item;
        size_t i;
        status = call(a, &request, &page);
        if (!option_given(a, OPTION_JSON))
            json_array_foreach(json_object_get(page, "items"), i, item) print(item, names);
        free(query);
        free(path);
        free(token);
        const char *next = json_text(page, "next_page_token", NULL);
        token = next ? url_escape(next) : NULL;
        json_decref(page);
    } while (status == STATUS_OK && token);
    free(token);
    return status;
}

exit_status command_candidates_list(const arguments *a)
{
    char *sort = url_escape(option_text(a, OPTION_SORT)), *filter = filters(a);
    char *query = format_text("&sort=%s%s", sort, filter);
    if (!option_given(a, OPTION_JSON))
        print_header("candidate    pulls        mean         expected               std                    ");
    exit_status status = print_pages(a, "/candidates", query, print_candidate, NULL);
    free(query);
    free(filter);
    free(sort);
    return status;
}

/* ---- imported results ------------------------------------------------------------------------------ */

static void print_observation(const json_t *observation, const trial_names *names)
{
    static const char *const keys[] = {"observation", "state", "value"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *member = json_object_get(observation, keys[i]);
        char *text = member ? printable_value(member) : duplicate("-");
        printf("%s%-12s", i > 0 ? " " : "", text);
        free(text);
    }
    if (json_object_get(observation, "candidate"))
        printf(" candidate=%lld", json_count(observation, "candidate"));
    char *key = printable_member(observation, "key", "");
    if (*key)
        printf(" key=%s", key);
    free(key);
    trial_values values;
    trial_values_init(&values, observation, names);
    trial_values_print(&values, names);
    trial_values_clear(&values);
    putchar('\n');
}

exit_status command_observations_list(const arguments *a)
{
    trial_names names = {0};
    bool json = option_given(a, OPTION_JSON);
    exit_status status = json ? STATUS_OK : call_trial_names(a, &names);
    if (status == STATUS_OK) {
        if (!json)
            print_header("observation  state        value");
        status = print_pages(a, "/observations", "", print_observation, &names);
    }
    trial_names_clear(&names);
    return status;
}

/* ---- trials ---------------------------------------------------------------------------------------- */

exit_status command_propose(const arguments *a)
{
    bool by_key = option_given(a, OPTION_KEY);
    json_t *point = by_key ? json_string(a->operands[1]) : read_any(a->operands[1]), *object = json_object();
    if (!point) {
        fprintf(
            stderr,
            "banditctl: '%s' is neither the number of a candidate nor a point as JSON; with --key, it is a key\n",
            a->operands[1]);
        json_decref(object);
        return STATUS_USAGE;
    }
    json_object_set_new(object, by_key ? "key" : json_is_object(point) ? "parameters" : "candidate", point);
    json_t *trial;
    char *broken = option_given(a, OPTION_BROKEN) ? url_escape(option_text(a, OPTION_BROKEN)) : NULL;
    char *rest = broken ? format_text("/trials?broken=%s", broken) : duplicate("/trials");
    exit_status status = send_object(a, "POST", rest, object, &trial);
    free(broken);
    free(rest);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        printf("%lld\n", json_count(trial, "id"));
    json_decref(trial);
    return status;
}

exit_status command_amend(const arguments *a)
{
    json_t *number = read_any(a->operands[1]), *object = json_object();
    json_t *value = a->n_operands > 2 ? read_any(a->operands[2]) : NULL;
    bool good = json_is_integer(number) && (a->n_operands < 3 || json_is_number(value)) &&
                (value || option_given(a, OPTION_OUTCOME));
    bool imported = strcmp(a->command->name, "observations amend") == 0;
    char *rest = format_text("/%s/%lld/amend", imported ? "observations" : "trials",
                             json_is_integer(number) ? json_integer_value(number) : 0);
    json_decref(number);
    if (value)
        json_object_set_new(object, "value", value);
    if (option_given(a, OPTION_OUTCOME))
        json_object_set_new(object, "state", json_string(option_text(a, OPTION_OUTCOME)));
    if (option_given(a, OPTION_REASON))
        json_object_set_new(object, "reason", json_string(option_text(a, OPTION_REASON)));
    exit_status status = STATUS_USAGE;
    if (good) {
        json_t *trial;
        status = send_object(a, "POST", rest, object, &trial);
        json_decref(trial);
    } else {
        json_decref(object);
        fprintf(stderr, "banditctl: amend requires the number of %s, and a VALUE or --state\n",
                imported ? "an imported result" : "a trial");
    }
    free(rest);
    return status;
}

/* ---- the study's fields ---------------------------------------------------------------------------- */

/* Adds the operands from `first` on, each name=value, to an object. False: one of them is not, and the error was
 * printed. */
static bool read_assignments(const arguments *a, size_t first, json_t *object)
{
    for (size_t i = first; i < a->n_operands; i++) {
        const char *word = a->operands[i], *equals = strchr(word, '=');
        if (!equals || equals == word) {
            fprintf(stderr, "banditctl: '%s' is not of the form 'name=value'\n", word);
            return false;
        }
        json_t *value = read_any(equals + 1);
        char *name = format_text("%.*s", (int)(equals - word), word);
        json_object_set_new(object, name, value ? value : json_string(equals + 1));
        free(name);
    }
    return true;
}

exit_status command_study_set(const arguments *a)
{
    json_t *object = json_object();
    if (read_assignments(a, 1, object))
        return send_object(a, "PATCH", "", object, NULL);
    json_decref(object);
    return STATUS_USAGE;
}

exit_status command_study_fork(const arguments *a)
{
    json_t *object = json_object(), *study = NULL;
    bool has_trial = a->n_operands > 2 && !strchr(a->operands[2], '=');
    json_t *trial = has_trial ? read_any(a->operands[2]) : NULL;
    json_object_set_new(object, "id", json_string(a->operands[1]));
    bool is_number = !has_trial || json_is_integer(trial);
    if (!is_number)
        fprintf(stderr, "banditctl: '%s' is not the number of a trial\n", a->operands[2]);
    if (!is_number || !read_assignments(a, has_trial ? 3 : 2, object)) {
        json_decref(trial);
        json_decref(object);
        return STATUS_USAGE;
    }
    if (has_trial)
        json_object_set_new(object, "at_trial", trial);
    exit_status status = send_object(a, "POST", "/fork", object, &study);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        print_text(json_text(study, "id", ""));
    json_decref(study);
    return status;
}

exit_status command_study_rename(const arguments *a)
{
    json_t *object = json_object();
    json_object_set_new(object, "display_name", json_string(a->operands[1]));
    return send_object(a, "PATCH", "", object, NULL);
}

exit_status command_study_clone(const arguments *a)
{
    FILE *lines = tmpfile();
    if (!lines) {
        perror("banditctl: cannot make a temporary file");
        return STATUS_FAILED;
    }
    char *from = study_path(a->operands[0], "/export"), *id = url_escape(a->operands[1]);
    char *to = format_text("/v1/studies?id=%s", id);
    http_request request = {.method = "GET", .path = from, .download = lines, .seconds = -1, .cancel = -1};
    exit_status status = call(a, &request, NULL);
    long size = status == STATUS_OK && fflush(lines) == 0 ? ftell(lines) : -1;
    if (size >= 0) {
        rewind(lines);
        request = (http_request){.method = "POST",
                                 .path = to,
                                 .upload = lines,
                                 .size = (size_t)size,
                                 .content_type = "application/x-ndjson",
                                 .seconds = -1,
                                 .cancel = -1};
        json_t *study;
        status = call(a, &request, &study);
        if (status == STATUS_OK && !option_given(a, OPTION_JSON))
            print_text(json_text(study, "id", ""));
        json_decref(study);
    } else if (status == STATUS_OK) {
        status = STATUS_FAILED;
    }
    fclose(lines);
    free(from);
    free(id);
    free(to);
    return status;
}
