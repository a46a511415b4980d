/* Runs a command until it exits, fails, times out or is killed. */
#ifndef CLIENTS_BANDITCTL_PROCESS_H
#define CLIENTS_BANDITCTL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#define PROCESS_OUTPUT_MAX 65536 /* bytes kept of the end of its output */

typedef struct process_request {
    char *const *words;       /* ends with NULL; the program is searched in PATH */
    char *const *environment; /* ends with NULL */
    double timeout;           /* seconds; 0: none */
    int abort;                /* a file descriptor: the command is killed when it becomes readable */
    /* Called after `beat_seconds`. `ended` is a file descriptor that becomes readable when the command ends;
     * the call should then return. Returns the seconds until the next call. */
    double beat_seconds;
    double (*beat)(void *arg, int ended);
    void *arg;
} process_request;

typedef enum process_end {
    PROCESS_EXITED,    /* `number`: its exit status */
    PROCESS_SIGNALLED, /* `number`: the signal */
    PROCESS_TIMED_OUT,
    PROCESS_ABORTED,
    PROCESS_NOT_STARTED /* `number`: errno */
} process_end;

typedef struct process_result {
    process_end end;
    int number;
    double seconds;
    char *output; /* the end of its standard output, NUL-terminated */
    size_t size;
} process_result;

/* The command runs in its own process group, with /dev/null as standard input and this process's standard
 * error. It is killed when the calling thread ends. To end a command, SIGTERM goes to the whole group, and
 * SIGKILL ten seconds later. The caller clears the result. */
void process_run(process_result *out, const process_request *request);
void process_result_clear(process_result *result);

/* Seconds of a monotonic clock. */
double monotonic_seconds(void);

#endif
