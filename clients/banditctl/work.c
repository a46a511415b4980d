#include "clients/banditctl/work.h"
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/commands.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* ---- shared by the workers -------------------------------------------------------------------------- */

static bool is_readable(int fd)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    return poll(&waited, 1, 0) > 0;
}

bool work_stopping(const work *w)
{
    return is_readable(w->stop);
}

bool work_aborting(const work *w)
{
    return is_readable(w->abort);
}

void work_stop(work *w, exit_status failure)
{
    pthread_mutex_lock(&w->lock);
    if (w->failure == STATUS_OK)
        w->failure = failure;
    pthread_mutex_unlock(&w->lock);
    eventfd_write(w->stop, 1); /* never read, so it stays readable */
}

void work_log(work *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text;
    if (vasprintf(&text, format, list) < 0)
        out_of_memory();
    va_end(list);
    pthread_mutex_lock(&w->lock);
    fprintf(stderr, "banditctl: %s\n", text);
    pthread_mutex_unlock(&w->lock);
    free(text);
}

/* ---- preparing ------------------------------------------------------------------------------------- */

/* Reads the names of the study's values, and checks that the command uses no other names. If the server does
 * not answer yet, it waits until a signal arrives. */
static exit_status learn_names(work *w, http_client *client, int signals)
{
    http_answer answer;
    char *path = study_path(w->study, ""), *unknown;
    http_request request = {.method = "GET", .path = path};
    sending sent = work_send(w, client, &request, signals, &answer);
    free(path);
    if (sent != SENT)
        return sent == SENDING_CANCELLED ? STATUS_INTERRUPTED : STATUS_UNREACHABLE;
    exit_status status = status_of_answer(&answer);
    if (status != STATUS_OK) {
        char *why = describe_answer(&answer);
        work_log(w, "%s", why);
        free(why);
        http_answer_clear(&answer);
        return status;
    }
    json_t *study = answer_json(&answer);
    trial_names_init(&w->names, study);
    json_decref(study);
    http_answer_clear(&answer);
    const trial_context nothing = {.study = "", .worker = "", .candidate = -1, .names = &w->names};
    char **words = trial_words(w->words, w->n_words, &nothing, &unknown);
    if (!words) {
        fprintf(stderr, "banditctl: trials of study %s have no value {%s}; they have", w->study, unknown);
        for (size_t i = 0; i < w->names.n && i < 20; i++) {
            char *name = printable(w->names.items[i]);
            fprintf(stderr, " {%s}", name);
            free(name);
        }
        fprintf(stderr, "%s. Write {{%s}} for the text {%s}\n", w->names.n > 20 ? " …" : "", unknown,
                unknown);
        free(unknown);
        return STATUS_USAGE;
    }
    words_free(words);
    return STATUS_OK;
}

static exit_status prepare_worker(worker *out, work *w, int ended)
{
    char host[128] = "worker";
    const char *name = option_text(w->arguments, OPTION_NAME);
    if (!name && gethostname(host, sizeof host) == 0) {
        host[sizeof host - 1] = '\0';
        name = host;
    }
    *out = (worker){.work = w, .ended = ended, .name = {.lock = -1}};
    if (!http_client_new(&out->client, option_text(w->arguments, OPTION_URL)))
        return STATUS_USAGE;
    bool named = worker_name_take(&out->name, http_client_url(out->client), w->study, name ? name : host);
    return named ? STATUS_OK : STATUS_FAILED;
}

/* ---- running --------------------------------------------------------------------------------------- */

/* Waits until all workers have ended. After the first signal, running commands may finish; the second kills
 * them. Returns whether there was a signal. */
static bool wait_for_end(work *w, size_t running, int ended, int signals)
{
    bool signalled = false;
    while (running > 0) {
        struct pollfd waited[] = {{.fd = ended, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        struct signalfd_siginfo signal;
        eventfd_t n;
        if (poll(waited, 2, -1) < 0)
            continue;
        if (waited[0].revents && eventfd_read(ended, &n) == 0)
            running -= (size_t)n < running ? (size_t)n : running;
        if (!waited[1].revents || read(signals, &signal, sizeof signal) != (ssize_t)sizeof signal)
            continue;
        if (signalled) {
            work_log(w, "killing the running commands");
            eventfd_write(w->abort, 1);
        } else if (running > 0) {
            work_log(w, "waiting for the running commands to finish (a second signal kills them)");
        }
        signalled = true;
        work_stop(w, STATUS_OK);
    }
    return signalled;
}

static exit_status run_workers(work *w, worker *workers, size_t n, int ended, int signals)
{
    size_t started = 0;
    while (started < n) {
        int error = pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]);
        if (error) {
            work_log(w, "cannot start a thread: %s", strerror(error));
            work_stop(w, STATUS_FAILED);
            break;
        }
        started++;
    }
    const bool signalled = wait_for_end(w, started, ended, signals);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    if (!option_given(w->arguments, OPTION_QUIET))
        work_log(w, "%zu trials completed, %zu failed%s%s", w->completed, w->failed, w->ending ? "; " : "",
                 w->ending ? w->ending : "");
    if (w->failure != STATUS_OK)
        return w->failure;
    return signalled && !w->ending ? STATUS_INTERRUPTED : STATUS_OK;
}

/* Whether each ask can be written; otherwise the error was printed. */
static bool asks_can_be_written(const arguments *a)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    bool good = write_object_option(&w, a, OPTION_FIXED, "fixed");
    wire_writer_clear(&w);
    return good;
}

exit_status command_work(const arguments *a)
{
    if (!asks_can_be_written(a))
        return STATUS_USAGE;
    work w = {.arguments = a,
              .study = a->operands[0],
              .words = a->operands + 1,
              .n_words = a->n_operands - 1,
              .stop = eventfd(0, EFD_CLOEXEC),
              .abort = eventfd(0, EFD_CLOEXEC),
              .lock = PTHREAD_MUTEX_INITIALIZER};
    const size_t n = (size_t)option_number(a, OPTION_JOBS);
    worker *workers = allocate(n, sizeof *workers);
    size_t prepared = 0;
    exit_status status = STATUS_OK;
    sigset_t waited;
    sigemptyset(&waited);
    sigaddset(&waited, SIGINT);
    sigaddset(&waited, SIGTERM);
    sigaddset(&waited, SIGHUP);
    /* Block the signals before threads start, so that all threads inherit the mask. */
    pthread_sigmask(SIG_BLOCK, &waited, NULL);
    signal(SIGPIPE, SIG_IGN);
    int ended = eventfd(0, EFD_CLOEXEC), signals = signalfd(-1, &waited, SFD_CLOEXEC);
    if (w.stop < 0 || w.abort < 0 || ended < 0 || signals < 0) {
        fprintf(stderr, "banditctl: %s\n", strerror(errno));
        status = STATUS_FAILED;
    }
    while (status == STATUS_OK && prepared < n)
        status = prepare_worker(&workers[prepared++], &w, ended);
    if (status == STATUS_OK)
        status = learn_names(&w, workers[0].client, signals);
    if (status == STATUS_OK)
        status = run_workers(&w, workers, n, ended, signals);
    for (size_t i = 0; i < prepared; i++) {
        http_client_free(workers[i].client);
        worker_name_release(&workers[i].name);
    }
    free(workers);
    free(w.refusal);
    trial_names_clear(&w.names);
    const int descriptors[] = {w.stop, w.abort, ended, signals};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return status;
}
