/* The commands that ask, tell and read. */
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/call.h"
#include "clients/banditctl/commands.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"
#include "clients/banditctl/trial.h"
#include "proto/encode.h"
#include "proto/json_parse.h"
#include "proto/number.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static exit_status wrong(const char *what, const char *given)
{
    fprintf(stderr, "banditctl: '%s' is not %s\n", given, what);
    return STATUS_USAGE;
}

static bool read_number(const char *text, double *out)
{
    return wire_read_number(text, strlen(text), WIRE_NUMBER_LOOSE, out) == WIRE_NUMBER_FINITE;
}

static bool read_whole(const char *text, int64_t *out)
{
    double number;
    if (!read_number(text, &number) || number < 0 || number > (double)WIRE_MAX_INTEGER ||
        number != (double)(int64_t)number)
        return false;
    *out = (int64_t)number;
    return true;
}

/* Posts what was written to the study's path followed by `rest`; see call. `seconds`: see http_request. */
static exit_status post(const arguments *a, const char *rest, wire_writer *w, double seconds, json_t **out)
{
    http_request request = {.method = "POST", .seconds = seconds, .cancel = -1};
    char *path = study_path(a->operands[0], rest), *body = writer_text(w, &request.size);
    request.path = path;
    request.body = body;
    exit_status status = call(a, &request, out);
    free(path);
    free(body);
    return status;
}

/* ---- ask ------------------------------------------------------------------------------------------- */

static void print_trials(const json_t *asked, const trial_names *names)
{
    const json_t *trial;
    size_t i;
    json_array_foreach(json_object_get(asked, "trials"), i, trial)
    {
        trial_values values;
        trial_values_init(&values, trial, names);
        printf("%lld attempt=%lld", json_count(trial, "id"), json_count(trial, "attempt"));
        if (json_object_get(trial, "candidate"))
            printf(" candidate=%lld", json_count(trial, "candidate"));
        trial_values_print(&values, names);
        putchar('\n');
        trial_values_clear(&values);
    }
}

/* Writes the request's body. False: an option is not valid, and the error was printed. */
static bool write_ask(wire_writer *out, const arguments *a)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    wire_integer_member(&w, "count", (int64_t)option_number(a, OPTION_COUNT));
    wire_real_member(&w, "wait_seconds", option_number(a, OPTION_WAIT));
    if (option_given(a, OPTION_WORKER))
        wire_string_member(&w, "worker", option_text(a, OPTION_WORKER));
    if (option_given(a, OPTION_LEASE))
        wire_real_member(&w, "lease_seconds", option_number(a, OPTION_LEASE));
    if (option_given(a, OPTION_FRESH)) {
        wire_key(&w, "fresh");
        wire_boolean(&w, true);
    }
    bool good = write_object_option(&w, a, OPTION_FIXED, "fixed");
    wire_object_end(&w);
    *out = w;
    return good;
}

exit_status command_ask(const arguments *a)
{
    wire_writer w;
    trial_names names = {0};
    json_t *asked = NULL;
    exit_status status = write_ask(&w, a) ? STATUS_OK : STATUS_USAGE;
    /* Read the names first. If that failed after the ask, the trial would be blocked until its lease ends. */
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        status = call_trial_names(a, &names);
    if (status == STATUS_OK)
        status = post(a, "/ask", &w, 60 + option_number(a, OPTION_WAIT), &asked);
    wire_writer_clear(&w);
    if (status == STATUS_OK && json_array_size(json_object_get(asked, "trials")) == 0) {
        char *reason = printable_member(asked, "reason", "no reason given");
        fprintf(stderr, "banditctl: no trial can be handed out now: %s\n", reason);
        free(reason);
        status = STATUS_NOTHING;
    } else if (status == STATUS_OK && !option_given(a, OPTION_JSON)) {
        print_trials(asked, &names);
    }
    json_decref(asked);
    trial_names_clear(&names);
    return status;
}

/* ---- tell ------------------------------------------------------------------------------------------ */

static void write_told(wire_writer *w, const arguments *a)
{
    if (option_given(a, OPTION_OUTCOME))
        wire_string_member(w, "state", option_text(a, OPTION_OUTCOME));
    if (option_given(a, OPTION_REASON))
        wire_string_member(w, "reason", option_text(a, OPTION_REASON));
    if (option_given(a, OPTION_ATTEMPT))
        wire_integer_member(w, "attempt", (int64_t)option_number(a, OPTION_ATTEMPT));
    if (option_given(a, OPTION_REPEATS))
        wire_integer_member(w, "repeats", (int64_t)option_number(a, OPTION_REPEATS));
    if (option_given(a, OPTION_RETRY)) {
        wire_key(w, "retry");
        wire_boolean(w, true);
    }
}

/* A number, or an object of numbers by metric. False: it is neither. */
static bool write_std_error(wire_writer *w, const arguments *a)
{
    double error;
    if (!option_given(a, OPTION_STD_ERROR))
        return true;
    const char *text = option_text(a, OPTION_STD_ERROR);
    if (read_number(text, &error)) {
        wire_real_member(w, "std_error", error);
        return true;
    }
    wire_key(w, "std_errors");
    bool good = write_object(w, text);
    if (!good)
        fprintf(stderr, "banditctl: --std-error must be a number or a JSON object, not '%s'\n", text);
    return good;
}

static bool write_cost(wire_writer *w, const arguments *a)
{
    double cost;
    if (!option_given(a, OPTION_COST))
        return true;
    bool good = read_number(option_text(a, OPTION_COST), &cost) && cost >= 0.0;
    if (good)
        wire_real_member(w, "cost", cost);
    else
        fprintf(stderr, "banditctl: --cost must be a number from 0, not '%s'\n", option_text(a, OPTION_COST));
    return good;
}

exit_status command_tell(const arguments *a)
{
    int64_t trial;
    double value = 0;
    bool has_value = a->n_operands > 2;
    if (!read_whole(a->operands[1], &trial))
        return wrong("the number of a trial", a->operands[1]);
    if (has_value && !read_number(a->operands[2], &value))
        return wrong("a finite number", a->operands[2]);
    if (!has_value && !option_given(a, OPTION_OUTCOME) && !option_given(a, OPTION_VALUES)) {
        fputs("banditctl: tell requires a VALUE, --values or --state\n", stderr);
        return STATUS_USAGE;
    }
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    wire_key(&w, "results");
    wire_array_begin(&w);
    wire_object_begin(&w);
    wire_integer_member(&w, "trial", trial);
    if (has_value)
        wire_real_member(&w, "value", value);
    write_told(&w, a);
    bool objects = write_object_option(&w, a, OPTION_VALUES, "values") &&
                   write_object_option(&w, a, OPTION_METADATA, "metadata") && write_std_error(&w, a) &&
                   write_cost(&w, a);
    if (!objects) {
        wire_writer_clear(&w);
        return STATUS_USAGE;
    }
    wire_object_end(&w);
    wire_array_end(&w);
    wire_object_end(&w);
    json_t *told;
    exit_status status = post(a, "/tell", &w, 0, &told);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON))
        puts(json_count(told, "duplicates") ? "already reported"
             : json_count(told, "late")     ? "accepted as an additional measurement"
                                            : "accepted");
    json_decref(told);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* Prints the members of an object as name=value. */
static void print_members(const char *title, const json_t *object)
{
    const char *key;
    const json_t *member;
    if (!json_is_object(object)) {
        printf("%-12s none yet\n", title);
        return;
    }
    printf("%-12s", title);
    /* The iterator requires a non-const object, but does not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, key, member)
    {
        char *name = printable(key), *text = printable_value(member);
        printf(" %s=%s", name, text);
        free(name);
        free(text);
    }
    putchar('\n');
}

/* Prints the observed or the recommended part of the best: one point, or a front with one line for each. */
static void print_part(const char *title, const json_t *part)
{
    const json_t *front = json_object_get(part, "pareto");
    if (!front) {
        print_members(title, part);
        return;
    }
    for (size_t i = 0; i < json_array_size(front); i++)
        print_members(title, json_array_get(front, i));
    if (json_array_size(front) == 0)
        print_members(title, NULL);
}

exit_status command_best(const arguments *a)
{
    char *path = study_path(a->operands[0], "/best");
    http_request request = {.method = "GET", .path = path, .cancel = -1};
    json_t *best;
    exit_status status = call(a, &request, &best);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON)) {
        const json_t *volume = json_object_get(best, "hypervolume");
        if (json_is_number(volume))
            printf("%-12s %.10g\n", "hypervolume", json_number_value(volume));
        print_part("observed", json_object_get(best, "observed"));
        print_part("recommended", json_object_get(best, "recommended"));
    }
    json_decref(best);
    free(path);
    return status;
}

/* Prints the objects of a list. */
static void print_list(const char *title, const json_t *list)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item) print_members(title, item);
}

exit_status command_why(const arguments *a)
{
    static const char *const figures[] = {"rule", "score", "promise", "ignorance", "incumbent", "in_flight"};
    int64_t trial;
    char rest[48];
    if (!read_whole(a->operands[1], &trial))
        return wrong("the number of a trial", a->operands[1]);
    snprintf(rest, sizeof rest, "/trials/%lld/why", (long long)trial);
    char *path = study_path(a->operands[0], rest);
    http_request request = {.method = "GET", .path = path, .cancel = -1};
    json_t *why;
    exit_status status = call(a, &request, &why);
    if (status == STATUS_OK && !option_given(a, OPTION_JSON)) {
        print_text(json_text(why, "sentence", ""));
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
            char *text = printable_value(json_object_get(why, figures[i]));
            printf("%-12s %s\n", figures[i], text);
            free(text);
        }
        print_list("expected", json_object_get(why, "predictions"));
        print_list("nearest", json_object_get(why, "nearest"));
    }
    json_decref(why);
    free(path);
    return status;
}

/* Prints the prediction of one metric. metric: NULL if there is only one. */
static void print_metric(const char *point, const json_t *prediction, const char *metric)
{
    static const char *const figures[] = {"mean", "std", "ucb"};
    fputs(point, stdout);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char text[32];
        const json_t *figure = json_object_get(prediction, figures[i]);
        printf(" %s", json_is_number(figure) ? number_text(json_number_value(figure), text) : "-");
    }
    char *name = printable(metric ? metric : "");
    printf("%s%s\n", metric ? " " : "", name);
    free(name);
}

static void print_prediction(const char *point, const json_t *prediction)
{
    const json_t *values = json_object_get(prediction, "values"), *value;
    const char *metric;
    if (!values)
        print_metric(point, prediction, NULL);
    /* The iterator requires a non-const object, but does not change it. */
    json_object_foreach((json_t *)(uintptr_t)values, metric, value)
    {
        print_metric(point, value, metric);
    }
}

exit_status command_predict(const arguments *a)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    bool by_key = option_given(a, OPTION_KEY), named = !by_key && *a->operands[1] == '{';
    wire_key(&w, by_key ? "keys" : named ? "parameters" : "candidates");
    wire_array_begin(&w);
    for (size_t i = 1; i < a->n_operands; i++) {
        int64_t candidate = 0;
        if (by_key) {
            wire_string(&w, a->operands[i]);
            continue;
        }
        if (named ? !write_object(&w, a->operands[i]) : !read_whole(a->operands[i], &candidate)) {
            wire_writer_clear(&w);
            return wrong(named ? "a JSON object" : "the number of a candidate; with --key, operands are keys",
                         a->operands[i]);
        }
        if (!named)
            wire_integer_value(&w, candidate);
    }
    wire_array_end(&w);
    wire_object_end(&w);
    json_t *predicted;
    exit_status status = post(a, "/predict", &w, 0, &predicted);
    const json_t *prediction;
    size_t i;
    if (!option_given(a, OPTION_JSON))
        json_array_foreach(json_object_get(predicted, "predictions"), i, prediction)
            print_prediction(a->operands[i + 1], prediction);
    json_decref(predicted);
    return status;
}

exit_status command_export(const arguments *a)
{
    char *format = url_escape(option_text(a, OPTION_FORMAT));
    char *rest = format_text("/export?format=%s", format);
    char *path = study_path(a->operands[0], rest);
    http_request request = {.method = "GET", .path = path, .download = stdout, .seconds = -1, .cancel = -1};
    exit_status status = call(a, &request, NULL);
    free(format);
    free(rest);
    free(path);
    return status;
}

/* ---- the service ----------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

exit_status command_ping(const arguments *a)
{
    static const struct timespec pause = {.tv_nsec = 100000000};
    const http_request request = {.method = "GET", .path = "/readyz", .cancel = -1};
    const double until = now() + option_number(a, OPTION_WAIT);
    http_client *client;
    if (!http_client_new(&client, option_text(a, OPTION_URL)))
        return STATUS_USAGE;
    exit_status status;
    for (;;) {
        http_answer answer;
        const double begun = now();
        http_send(client, &request, &answer);
        status = status_of_answer(&answer);
        const bool again = status == STATUS_UNREACHABLE && now() < until;
        char *why = describe_answer(&answer);
        if (status == STATUS_OK && option_given(a, OPTION_JSON))
            fputs(answer.body, stdout);
        else if (status == STATUS_OK)
            printf("ready in %.1f ms: %s\n", 1e3 * (now() - begun), http_client_url(client));
        else if (!again)
            fprintf(stderr, "banditctl: %s: %s\n", http_client_url(client), why);
        free(why);
        http_answer_clear(&answer);
        if (!again)
            break;
        nanosleep(&pause, NULL);
    }
    http_client_free(client);
    return status;
}

exit_status command_version(const arguments *a)
{
    if (option_given(a, OPTION_JSON))
        puts("{\"name\": \"banditctl\", \"version\": \"" BANDITD_VERSION "\"}");
    else
        puts("banditctl " BANDITD_VERSION);
    return STATUS_OK;
}
