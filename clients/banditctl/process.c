#include "clients/banditctl/process.h"
#include "clients/banditctl/allocate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILL_SECONDS = 10 };

double monotonic_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct process {
    pid_t pid;
    int ended;  /* a pidfd: readable after the process ended */
    int output; /* the reading end of its standard output; < 0: closed */
    double begun, deadline, next_beat, kill_at;
    process_end reason; /* why it is being ended; PROCESS_EXITED: it is running */
} process;

/* ---- starting -------------------------------------------------------------------------------------- */

/* Runs in the child, so it may only call functions that are safe between fork and exec. */
static _Noreturn void become(const process_request *request, int output, int failure)
{
    sigset_t none;
    int error;
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execvpe(request->words[0], request->words, request->environment);
    error = errno;
    while (write(failure, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* Returns 0 or errno. */
static int start(process *p, const process_request *request)
{
    int output[2] = {-1, -1}, failure[2] = {-1, -1}, error = 0;
    *p = (process){.pid = -1, .ended = -1, .output = -1};
    if (pipe2(output, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0) {
        error = errno;
        goto out;
    }
    p->pid = fork();
    if (p->pid == 0)
        become(request, output[1], failure[1]);
    if (p->pid < 0) {
        error = errno;
        goto out;
    }
    setpgid(p->pid, p->pid); /* the child does this as well; the first call wins, and the other may fail */
    close(failure[1]);
    failure[1] = -1;
    ssize_t n;
    do
        n = read(failure[0], &error, sizeof error);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof error)
        error = 0;
    if (error == 0) {
        p->ended = (int)syscall(SYS_pidfd_open, p->pid, 0);
        if (p->ended < 0) {
            error = errno;
            kill(-p->pid, SIGKILL);
        }
    }
    if (error)
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    if (!error) {
        p->output = output[0];
        output[0] = -1;
        fcntl(p->output, F_SETFL, O_NONBLOCK);
    }
out:
    for (int i = 0; i < 2; i++) {
        if (output[i] >= 0)
            close(output[i]);
        if (failure[i] >= 0)
            close(failure[i]);
    }
    return error;
}

/* ---- running --------------------------------------------------------------------------------------- */

/* Reads the available output; closes the pipe at its end. */
static void take_output(process *p, process_result *out)
{
    char piece[16384];
    while (p->output >= 0) {
        ssize_t n = read(p->output, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(p->output);
            p->output = -1;
            return;
        }
        size_t more = (size_t)n, keep = out->size;
        if (keep + more > PROCESS_OUTPUT_MAX)
            keep = PROCESS_OUTPUT_MAX - more;
        memmove(out->output, out->output + (out->size - keep), keep);
        memcpy(out->output + keep, piece, more);
        out->size = keep + more;
    }
}

static void end(process *p, process_end reason)
{
    p->reason = reason;
    p->kill_at = monotonic_seconds() + KILL_SECONDS;
    kill(-p->pid, SIGTERM);
}

static double earlier(double a, double b)
{
    return a < b ? a : b;
}

/* Does what is due now: timeout, kill, heartbeat. */
static void keep_time(process *p, const process_request *request)
{
    double now = monotonic_seconds();
    if (p->reason == PROCESS_EXITED && now >= p->deadline)
        end(p, PROCESS_TIMED_OUT);
    if (p->reason != PROCESS_EXITED && now >= p->kill_at) {
        kill(-p->pid, SIGKILL);
        p->kill_at = now + KILL_SECONDS;
    }
    if (now >= p->next_beat && request->beat)
        p->next_beat = monotonic_seconds() + request->beat(request->arg, p->ended);
}

static void follow(process *p, const process_request *request, process_result *out)
{
    for (;;) {
        double until = earlier(p->next_beat, p->reason == PROCESS_EXITED ? p->deadline : p->kill_at);
        double wait = until - monotonic_seconds();
        struct pollfd waited[] = {
            {.fd = p->ended, .events = POLLIN},
            {.fd = p->output, .events = POLLIN},
            {.fd = p->reason == PROCESS_EXITED ? request->abort : -1, .events = POLLIN}};
        int n = poll(waited, 3, wait <= 0 ? 0 : wait > 3600 ? 3600000 : (int)(wait * 1000) + 1);
        if (n > 0 && waited[1].revents)
            take_output(p, out);
        if (n > 0 && waited[0].revents)
            return;
        if (n > 0 && waited[2].revents)
            end(p, PROCESS_ABORTED);
        keep_time(p, request);
    }
}

void process_run(process_result *out, const process_request *request)
{
    process p;
    *out = (process_result){.output = allocate(PROCESS_OUTPUT_MAX + 1, 1)};
    int error = start(&p, request), status = 0;
    if (error) {
        out->end = PROCESS_NOT_STARTED;
        out->number = error;
        return;
    }
    p.begun = monotonic_seconds();
    p.deadline = p.begun + (request->timeout > 0 ? request->timeout : 1e9);
    p.next_beat = p.begun + (request->beat ? request->beat_seconds : 1e9);
    follow(&p, request, out);
    while (waitpid(p.pid, &status, 0) < 0 && errno == EINTR)
        ;
    take_output(&p, out); /* its last output, but not what its child processes may still write */
    if (p.output >= 0)
        close(p.output);
    close(p.ended);
    out->output[out->size] = '\0';
    out->seconds = monotonic_seconds() - p.begun;
    out->end = p.reason;
    if (p.reason == PROCESS_EXITED && WIFSIGNALED(status))
        out->end = PROCESS_SIGNALLED;
    out->number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (p.reason != PROCESS_EXITED)
        kill(-p.pid, SIGKILL); /* the rest of its group */
}

void process_result_clear(process_result *result)
{
    free(result->output);
    *result = (process_result){0};
}
