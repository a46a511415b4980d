/* One worker: asks for a trial, runs the command, reports the result. */
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"
#include "clients/banditctl/process.h"
#include "clients/banditctl/value.h"
#include "clients/banditctl/work.h"
#include "proto/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* The longest wait of an ask. A worker that stops lets its ask end. If it cancelled the ask, a trial that the
 * server hands out at that moment would be blocked until its lease ends. */
static const double ask_seconds = 5, heartbeat_seconds = 10, goodbye_seconds = 5;
static const char study_finished[] = "the study is finished";

/* ---- reporting ------------------------------------------------------------------------------------ */

typedef struct result {
    const char *state; /* NULL: a value */
    double value;
    char *values; /* JSON, in place of value; or NULL */
    bool retry;
    char reason[256];
} result;

static void random_key(char key[33])
{
    uint64_t bits[2] = {0};
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        abort();
    snprintf(key, 33, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
}

static char *result_json(const trial_context *trial, const result *r)
{
    wire_writer w = WIRE_WRITER_INIT;
    size_t size;
    wire_object_begin(&w);
    wire_integer_member(&w, "trial", trial->trial);
    wire_integer_member(&w, "attempt", trial->attempt);
    if (r->state) {
        wire_string_member(&w, "state", r->state);
        wire_optional_string(&w, "reason", r->reason);
    } else if (r->values) {
        wire_key(&w, "values");
        wire_raw(&w, r->values);
    } else {
        wire_real_member(&w, "value", r->value);
    }
    if (r->retry) {
        wire_key(&w, "retry");
        wire_boolean(&w, true);
    }
    wire_object_end(&w);
    return writer_text(&w, &size);
}

/* Prints why a result was refused, and stops the work if no other result can be accepted. */
static void refused(worker *self, const trial_context *trial, const result *r, const http_answer *answer)
{
    work *w = self->work;
    char *why = describe_answer(answer);
    work_log(w, "trial %lld: the server refused its result: %s", trial->trial, why);
    free(why);
    exit_status status = status_of_answer(answer);
    if (status == STATUS_DENIED || status == STATUS_NOT_FOUND || (status == STATUS_FAILED && r->state))
        work_stop(w, status);
}

/* Sends until the server answers; only once, and briefly, if the commands are being killed. */
static sending deliver(worker *self, http_request *request, http_answer *answer)
{
    if (!work_aborting(self->work))
        return work_send(self->work, self->client, request, self->work->abort, answer);
    request->seconds = goodbye_seconds;
    request->cancel = -1;
    http_send(self->client, request, answer);
    if (answer->status != 0)
        return SENT;
    http_answer_clear(answer);
    return SENDING_CANCELLED;
}

/* UNACCEPTABLE: the server will never accept the value. */
typedef enum telling { TAKEN, UNACCEPTABLE, NOT_TAKEN } telling;

/* Sends the result until the server accepts or refuses it. */
static telling tell(worker *self, const trial_context *trial, const result *r)
{
    work *w = self->work;
    char key[33], *told = result_json(trial, r);
    char *path = study_path(w->study, "/tell"), *body = format_text("{\"results\": [%s]}", told);
    telling end = NOT_TAKEN;
    http_answer answer;
    http_request request = {
        .method = "POST", .path = path, .body = body, .size = strlen(body), .idempotency_key = key};
    random_key(key);
    if (deliver(self, &request, &answer) != SENT) {
        work_log(w, "trial %lld: cannot report its result: %s", trial->trial, told);
        work_stop(w, STATUS_UNREACHABLE);
    } else {
        const bool taken = answer.status / 100 == 2;
        if (taken && option_given(w->arguments, OPTION_JSON)) {
            puts(told);
            fflush(stdout);
        }
        if (!taken)
            refused(self, trial, r, &answer);
        end = taken ? TAKEN : answer.status == 422 && !r->state ? UNACCEPTABLE : NOT_TAKEN;
        http_answer_clear(&answer);
    }
    free(told);
    free(path);
    free(body);
    return end;
}

/* ---- running --------------------------------------------------------------------------------------- */

typedef struct heart {
    worker *self;
    char *path;
    long long attempt; /* only its lease is renewed; another attempt belongs to another worker */
    double lease;
    bool lost; /* the user was informed */
} heart;

/* Sends one heartbeat. Returns the seconds until the next. */
static double beat(void *arg, int ended)
{
    heart *h = arg;
    char body[96];
    http_answer answer;
    snprintf(body, sizeof body, "{\"lease_seconds\": %.17g, \"attempt\": %lld}", h->lease, h->attempt);
    http_request request = {.method = "POST",
                            .path = h->path,
                            .body = body,
                            .size = strlen(body),
                            .seconds = heartbeat_seconds,
                            .cancel = ended};
    http_send(h->self->client, &request, &answer);
    const bool refused = answer.status / 100 == 4, kept = answer.status / 100 == 2;
    if (refused && !h->lost) {
        char *why = describe_answer(&answer);
        work_log(h->self->work, "the lease is lost (%s); the server may still accept the result", why);
        free(why);
    }
    h->lost = refused || (h->lost && !kept);
    http_answer_clear(&answer);
    return kept || refused ? h->lease / 3 : h->lease / 12;
}

static bool write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "we");
    bool written = file && fwrite(text, 1, size, file) == size;
    return (file ? fclose(file) == 0 : false) && written;
}

/* The last line of the value file; NULL if there is no such file. The caller frees it. */
static char *read_value_file(const char *path)
{
    char text[PROCESS_OUTPUT_MAX];
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    return last_line(text, n);
}

static void judge_exit(worker *self, const process_result *p, const char *value_file, result *r)
{
    const arguments *a = self->work->arguments;
    bool is_number;
    if (p->number != 0) {
        const bool infeasible =
            option_given(a, OPTION_INFEASIBLE) && p->number == (int)option_number(a, OPTION_INFEASIBLE);
        r->state = infeasible ? "infeasible" : "failed";
        snprintf(r->reason, sizeof r->reason, "exit status %d", p->number);
        return;
    }
    char *text = read_value_file(value_file);
    if (!text)
        text = last_line(p->output, p->size);
    if (!value_read(text, &is_number, &r->value, &r->values, r->reason))
        r->state = "failed";
    free(text);
}

/* Turns a command's end into a result. */
static void judge(worker *self, const process_result *p, const char *value_file, result *r)
{
    *r = (result){0};
    switch (p->end) {
    case PROCESS_EXITED:
        judge_exit(self, p, value_file, r);
        break;
    case PROCESS_SIGNALLED:
        r->state = "failed";
        snprintf(r->reason, sizeof r->reason, "killed by signal %d (%s)", p->number, strsignal(p->number));
        break;
    case PROCESS_TIMED_OUT:
        r->state = "failed";
        snprintf(r->reason, sizeof r->reason, "took longer than --timeout (%s s)",
                 option_text(self->work->arguments, OPTION_TIMEOUT));
        break;
    case PROCESS_ABORTED:
    case PROCESS_NOT_STARTED:
        r->state = "released";
        break;
    }
    r->retry = r->state && strcmp(r->state, "failed") == 0 &&
               option_given(self->work->arguments, OPTION_RETRY_FAILED);
}

/* Prints the result, and stops the work after too many failures in a row. */
static void account(worker *self, const trial_context *trial, const result *r, double seconds)
{
    work *w = self->work;
    char number[32] = "";
    const bool failed = r->state && strcmp(r->state, "failed") == 0;
    if (!r->state && !r->values)
        number_text(r->value, number);
    if (!option_given(w->arguments, OPTION_QUIET) || failed) {
        char *reason = printable(r->state ? r->reason : "");
        work_log(w, "trial %lld (%s): %s%s%s, %.1f s", trial->trial, self->name.name,
                 r->state    ? r->state
                 : r->values ? r->values
                             : number,
                 *reason ? ": " : "", reason, seconds);
        free(reason);
    }
    pthread_mutex_lock(&w->lock);
    w->completed += !r->state;
    w->failed += failed;
    w->failed_in_a_row = failed ? w->failed_in_a_row + 1 : r->state ? w->failed_in_a_row : 0;
    const bool enough =
        failed && (double)w->failed_in_a_row >= option_number(w->arguments, OPTION_MAX_FAILURES);
    pthread_mutex_unlock(&w->lock);
    if (enough && !work_stopping(w)) {
        work_log(w, "stopping: %s failures in a row (--max-failures)",
                 option_text(w->arguments, OPTION_MAX_FAILURES));
        work_stop(w, STATUS_FAILED);
    }
}

/* Reports the result. If the server will never accept its value, the trial has failed; otherwise the server would hand
 * it to this worker again. */
static void report(worker *self, const trial_context *trial, const result *r, double seconds)
{
    const result failed = {.state = "failed", .reason = "the study does not accept its value"};
    switch (tell(self, trial, r)) {
    case TAKEN:
        account(self, trial, r, seconds);
        break;
    case UNACCEPTABLE:
        tell(self, trial, &failed);
        account(self, trial, &failed, seconds);
        break;
    case NOT_TAKEN:
        break;
    }
}

static void run_command(worker *self, const trial_context *trial, const json_t *json)
{
    work *w = self->work;
    char *unknown, *trial_file = format_text("%s/trial.json", self->name.folder);
    char *value_file = format_text("%s/value", self->name.folder);
    char **words = trial_words(w->words, w->n_words, trial, &unknown);
    char **environment = trial_environment(trial, trial_file, value_file);
    char rest[64];
    snprintf(rest, sizeof rest, "/trials/%lld/heartbeat", trial->trial);
    heart h = {.self = self,
               .path = study_path(w->study, rest),
               .attempt = trial->attempt,
               .lease = option_number(w->arguments, OPTION_WORK_LEASE)};
    size_t size;
    char *text = trial_json(trial, json, &size);
    process_result ran = {.end = PROCESS_NOT_STARTED};
    result r;

    /* learn_names has checked the names before the first trial. */
    if (!words)
        out_of_memory();
    unlink(value_file);
    if (write_file(trial_file, text, size)) {
        process_request request = {.words = words,
                                   .environment = environment,
                                   .timeout = option_number(w->arguments, OPTION_TIMEOUT),
                                   .abort = w->abort,
                                   .beat_seconds = h.lease / 3,
                                   .beat = beat,
                                   .arg = &h};
        process_run(&ran, &request);
        if (ran.end == PROCESS_NOT_STARTED)
            work_log(w, "cannot run %s: %s", words[0], strerror(ran.number));
    } else {
        work_log(w, "cannot write %s: %s", trial_file, strerror(errno));
    }
    judge(self, &ran, value_file, &r);
    if (ran.end == PROCESS_NOT_STARTED)
        work_stop(w, STATUS_FAILED);
    report(self, trial, &r, ran.seconds);
    unlink(trial_file);
    unlink(value_file);
    process_result_clear(&ran);
    words_free(words);
    words_free(environment);
    free(h.path);
    free(r.values);
    free(text);
    free(trial_file);
    free(value_file);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

static void take_trial(worker *self, const json_t *json)
{
    work *w = self->work;
    trial_values values;
    trial_values_init(&values, json, &w->names);
    const json_t *candidate = json_object_get(json, "candidate");
    const trial_context trial = {.study = w->study,
                                 .worker = self->name.name,
                                 .trial = json_count(json, "id"),
                                 .attempt = json_count(json, "attempt"),
                                 .candidate = candidate ? json_integer_value(candidate) : -1,
                                 .names = &w->names,
                                 .values = &values};
    if (work_stopping(w)) {
        const result released = {.state = "released"};
        tell(self, &trial, &released);
    } else {
        run_command(self, &trial, json);
    }
    trial_values_clear(&values);
}

/* Whether all trials have results. Called after the horizon is reached: until then, trials of other workers
 * may return to the queue when their leases end. */
static bool everything_told(worker *self)
{
    http_answer answer;
    char *path = study_path(self->work->study, "");
    http_request request = {.method = "GET", .path = path};
    bool all = false;
    if (work_send(self->work, self->client, &request, self->work->stop, &answer) == SENT) {
        json_t *study = answer_json(&answer);
        all = answer.status == 200 &&
              json_count(study, "trials_queued") + json_count(study, "trials_pending") == 0;
        json_decref(study);
        http_answer_clear(&answer);
    }
    free(path);
    return all;
}

/* What the summary says of a study that hands out nothing new, once all trials have results; NULL: it may hand out
 * more. An exhausted study remains active. */
static const char *ending_of(const char *reason)
{
    if (strcmp(reason, "exhausted") == 0)
        return "the study is exhausted: it has no further points";
    return strcmp(reason, "horizon_reached") == 0 ? study_finished : NULL;
}

static void finished(work *w, const char *ending)
{
    pthread_mutex_lock(&w->lock);
    w->ending = ending;
    pthread_mutex_unlock(&w->lock);
    work_stop(w, STATUS_OK);
}

/* Handles a refused ask: the work ends, or the worker asks again later. */
static void ask_refused(work *w, const http_answer *answer)
{
    exit_status status = status_of_answer(answer);
    char *why = describe_answer(answer);
    pthread_mutex_lock(&w->lock);
    const bool news = !w->refusal || strcmp(w->refusal, why) != 0;
    if (news) {
        free(w->refusal);
        w->refusal = duplicate(why);
    }
    pthread_mutex_unlock(&w->lock);
    if (news)
        work_log(w, "%s%s", why, status == STATUS_CONFLICT ? "; waiting" : "");
    free(why);
    /* A conflict may end: candidates are uploaded, or a study in state error is resumed. */
    if (status != STATUS_CONFLICT)
        work_stop(w, status);
}

/* Asks once. Returns the trials (a new reference), or NULL. *nothing_new: see ending_of. */
static json_t *ask(worker *self, double wait, const char **nothing_new)
{
    work *w = self->work;
    wire_writer writer = WIRE_WRITER_INIT;
    http_answer answer;
    json_t *trials = NULL;
    wire_object_begin(&writer);
    wire_string_member(&writer, "worker", self->name.name);
    wire_real_member(&writer, "wait_seconds", wait);
    wire_real_member(&writer, "lease_seconds", option_number(w->arguments, OPTION_WORK_LEASE));
    write_object_option(&writer, w->arguments, OPTION_FIXED, "fixed");
    wire_object_end(&writer);
    http_request request = {.method = "POST", .seconds = 60 + wait};
    char *path = study_path(w->study, "/ask"), *body = writer_text(&writer, &request.size);
    request.path = path;
    request.body = body;
    *nothing_new = NULL;
    switch (work_send(w, self->client, &request, w->abort, &answer)) {
    case SENDING_CANCELLED:
        break;
    case SENDING_GAVE_UP:
        work_stop(w, STATUS_UNREACHABLE);
        break;
    case SENT:
        if (answer.status == 200) {
            json_t *asked = answer_json(&answer);
            const char *reason = json_text(asked, "reason", "");
            trials = json_incref(json_object_get(asked, "trials"));
            if (json_array_size(trials) == 0 && strcmp(reason, "finished") == 0)
                finished(w, study_finished);
            *nothing_new = ending_of(reason);
            json_decref(asked);
        } else {
            ask_refused(w, &answer);
        }
        http_answer_clear(&answer);
    }
    free(path);
    free(body);
    return trials;
}

/* Waits, but stops waiting when the work stops. */
static void rest(const work *w, double seconds)
{
    struct pollfd waited = {.fd = w->stop, .events = POLLIN};
    if (seconds > 0)
        poll(&waited, 1, (int)(1000 * seconds) + 1);
}

void *worker_main(void *arg)
{
    worker *self = arg;
    work *w = self->work;
    double wait = 0;
    while (!work_stopping(w)) {
        const char *nothing_new;
        const double begun = monotonic_seconds();
        json_t *trials = ask(self, wait, &nothing_new);
        const bool any = json_array_size(trials) > 0;
        for (size_t i = 0; i < json_array_size(trials); i++)
            take_trial(self, json_array_get(trials, i));
        json_decref(trials);
        if (!any && nothing_new && everything_told(self))
            finished(w, nothing_new);
        /* The first ask after a trial does not wait, so that the worker notices the end of the study; the
         * next asks wait. When there is nothing new, only a trial that another worker lost can be handed
         * out. */
        if (!any && (wait > 0 || nothing_new))
            rest(w, 1 - (monotonic_seconds() - begun));
        wait = any || nothing_new ? 0 : ask_seconds;
    }
    eventfd_write(self->ended, 1);
    return NULL;
}
