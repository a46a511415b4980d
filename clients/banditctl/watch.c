/* Follows a study. On a terminal it redraws a picture; otherwise it prints one line per interval. */
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/call.h"
#include "clients/banditctl/commands.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"
#include "clients/banditctl/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PLOT_ROWS = 8, MARGIN = 14, NARROWEST = 40, WIDEST = 160 };

typedef struct view {
    const char *id;
    bool drawing;
    size_t columns;
    double rate; /* trials per second; < 0: not known yet */
    long long told;
    double looked_at;
} view;

/* A part of the study as JSON. NULL: *status and *why say what failed. */
static json_t *get(http_client *client, const char *study, const char *rest, exit_status *status, char **why)
{
    char *path = study_path(study, rest);
    const http_request request = {.method = "GET", .path = path, .cancel = -1};
    http_answer answer;
    http_send(client, &request, &answer);
    json_t *json = NULL;
    *status = status_of_answer(&answer);
    free(*why);
    *why = NULL;
    if (*status == STATUS_OK)
        json = answer_json(&answer);
    else
        *why = describe_answer(&answer);
    http_answer_clear(&answer);
    free(path);
    return json;
}

static long long told_trials(const json_t *study)
{
    return json_count(study, "trials_completed") + json_count(study, "trials_failed") +
           json_count(study, "trials_infeasible") + json_count(study, "trials_stopped");
}

static bool is_done(const json_t *study)
{
    const long long open = json_count(study, "trials_pending") + json_count(study, "trials_queued");
    return strcmp(json_text(study, "state", ""), "finished") == 0 ||
           (json_object_get(study, "horizon") && open == 0 &&
            told_trials(study) >= json_count(study, "horizon"));
}

/* Updates the trials per second since the last look, smoothed. */
static void keep_rate(view *v, const json_t *study)
{
    const double now = monotonic_seconds();
    const long long told = told_trials(study);
    if (v->looked_at > 0 && now > v->looked_at) {
        double rate = (double)(told - v->told) / (now - v->looked_at);
        v->rate = v->rate < 0 ? rate : 0.7 * v->rate + 0.3 * rate;
    }
    v->looked_at = now;
    v->told = told;
}

static void print_line(const json_t *study, const view *v)
{
    char best[32] = "-", rate[32] = "-";
    const json_t *value = json_object_get(json_object_get(study, "best"), "value");
    if (json_is_number(value))
        number_text(json_number_value(value), best);
    if (v->rate >= 0)
        snprintf(rate, sizeof rate, "%.3g", v->rate);
    char *state = printable_member(study, "state", "");
    printf("state=%s told=%lld failed=%lld pending=%lld batches=%lld best=%s rate=%s\n", state,
           told_trials(study), json_count(study, "trials_failed"), json_count(study, "trials_pending"),
           json_count(study, "batch"), best, rate);
    free(state);
}

/* ---- the picture ----------------------------------------------------------------------------------- */

static void draw_bar(const json_t *study, size_t columns)
{
    const long long horizon = json_count(study, "horizon"), told = told_trials(study);
    if (horizon <= 0) {
        printf("%lld trials reported, no horizon\n", told);
        return;
    }
    const double part = fmin(1, (double)told / (double)horizon);
    const size_t width = columns - 30, full = (size_t)(part * (double)width);
    putchar('[');
    for (size_t i = 0; i < width; i++)
        putchar(i < full ? '#' : '.');
    printf("] %lld/%lld, %.0f %%\n", told, horizon, floor(100 * part));
}

/* Prints the workers that hold trials, as many as fit on a line. */
static void draw_workers(const json_t *pending, size_t columns)
{
    const json_t *trial;
    size_t i, used = 10, left = 0;
    fputs("working: ", stdout);
    json_array_foreach(json_object_get(pending, "items"), i, trial)
    {
        char *worker = printable_member(trial, "worker", "?");
        char *text = format_text(" %s (%lld)", worker, json_count(trial, "id"));
        free(worker);
        if (used + strlen(text) + 16 > columns) {
            left++;
        } else {
            fputs(text, stdout);
            used += strlen(text);
        }
        free(text);
    }
    if (left > 0)
        printf(" and %zu more", left);
    putchar('\n');
}

/* The trial of an entry of the series; for an imported value, the one before it. */
static double place_of(const json_t *entry, double before)
{
    return json_real_or(entry, "trial", before);
}

static double last_place(const json_t *items)
{
    double last = 0;
    for (size_t i = 0; i < json_array_size(items); i++)
        last = place_of(json_array_get(items, i), last);
    return last > 0 ? last : 1;
}

/* The best value so far in `width` columns, from the series of the study. NaN: no value yet. */
static void resample(const json_t *items, double *out, size_t width)
{
    const size_t n = json_array_size(items);
    const double last = last_place(items);
    size_t at = 0;
    double best = NAN, place = 0;
    for (size_t x = 0; x < width; x++) {
        const double until = last * (double)(x + 1) / (double)width;
        while (at < n && (place = place_of(json_array_get(items, at), place)) <= until)
            best = json_real_or(json_array_get(items, at++), "best", best);
        out[x] = best;
    }
}

static void draw_plot(const json_t *series, size_t columns)
{
    const json_t *items = json_object_get(series, "items");
    double best[WIDEST], low = INFINITY, high = -INFINITY;
    const size_t width = columns - MARGIN;
    if (json_array_size(items) == 0)
        return;
    resample(items, best, width);
    for (size_t x = 0; x < width; x++) {
        low = fmin(low, best[x]);
        high = fmax(high, best[x]);
    }
    puts("\nbest so far");
    for (int row = PLOT_ROWS - 1; row >= 0; row--) {
        char label[32] = "";
        if (row == PLOT_ROWS - 1 || (row == 0 && high > low))
            snprintf(label, sizeof label, "%.4g", row ? high : low);
        printf("%12s |", label);
        for (size_t x = 0; x < width; x++) {
            const double place =
                high > low ? (best[x] - low) / (high - low) * (PLOT_ROWS - 1) : PLOT_ROWS - 1;
            putchar(!isnan(best[x]) && lround(place) == row ? '*' : ' ');
        }
        putchar('\n');
    }
}

static void draw(const view *v, const json_t *study, const json_t *pending, const json_t *series)
{
    char best[32] = "none yet", rate[64] = "", clock[16];
    const json_t *value = json_object_get(json_object_get(study, "best"), "value");
    const time_t now = time(NULL);
    struct tm local;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &local));
    if (json_is_number(value))
        number_text(json_number_value(value), best);
    if (v->rate >= 0)
        snprintf(rate, sizeof rate, "%.3g trials per second   ", v->rate);
    fputs("\033[H\033[J", stdout);
    char *id = printable_member(study, "id", ""), *state = printable_member(study, "state", "");
    printf("%s  %s  %s\n", id, state, clock);
    free(id);
    free(state);
    draw_bar(study, v->columns);
    printf("best %s   %s%lld batches   %lld pending, %lld queued, %lld failed\n", best, rate,
           json_count(study, "batch"), json_count(study, "trials_pending"),
           json_count(study, "trials_queued"), json_count(study, "trials_failed"));
    draw_workers(pending, v->columns);
    draw_plot(series, v->columns);
}

static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col > WIDEST ? WIDEST : size.ws_col;
}

/* ---- following ------------------------------------------------------------------------------------- */

/* Looks once. *done: nothing more will change, or an error will not go away. */
static exit_status look(const arguments *a, http_client *client, view *v, bool *done)
{
    exit_status status, unused;
    char *why = NULL;
    json_t *study = get(client, v->id, "", &status, &why);
    *done = status != STATUS_OK && status != STATUS_UNREACHABLE;
    if (status != STATUS_OK)
        fprintf(stderr, "banditctl: %s\n", why);
    if (status == STATUS_OK) {
        *done = is_done(study);
        keep_rate(v, study);
        if (option_given(a, OPTION_JSON)) {
            char *text = value_text(study);
            puts(text);
            free(text);
        } else if (v->drawing) {
            v->columns = terminal_columns();
            json_t *pending = get(client, v->id, "/trials?state=pending&limit=1000", &unused, &why);
            json_t *series = get(client, v->id, "/series?points=1000", &unused, &why);
            draw(v, study, pending, series);
            json_decref(pending);
            json_decref(series);
        } else {
            print_line(study, v);
        }
        fflush(stdout);
    }
    json_decref(study);
    free(why);
    return status;
}

exit_status command_watch(const arguments *a)
{
    const double interval = option_number(a, OPTION_INTERVAL);
    const struct timespec pause = {.tv_sec = (time_t)interval,
                                   .tv_nsec = (long)(1e9 * (interval - floor(interval)))};
    view v = {
        .id = a->operands[0], .drawing = isatty(STDOUT_FILENO) && !option_given(a, OPTION_JSON), .rate = -1};
    http_client *client;
    if (!http_client_new(&client, option_text(a, OPTION_URL)))
        return STATUS_USAGE;
    exit_status status;
    bool done;
    for (;;) {
        status = look(a, client, &v, &done);
        if (done || option_given(a, OPTION_ONCE))
            break;
        nanosleep(&pause, NULL);
    }
    http_client_free(client);
    return status;
}
