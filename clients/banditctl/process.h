/* Runs a command to its end, however it comes. */
#ifndef CLIENTS_BANDITCTL_PROCESS_H
#define CLIENTS_BANDITCTL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#define PROCESS_OUTPUT_MAX 65536 /* bytes of the end of its output that are kept */

typedef struct process_request {
    char *const *words;       /* the program is looked for in PATH; ends with NULL */
    char *const *environment; /* ends with NULL */
    double timeout;           /* seconds; 0: none */
    int abort;                /* a file descriptor: the command is killed when it becomes readable */
    /* Called when `beat_seconds` have passed, with a file descriptor that becomes readable when the command
     * ends: the call should then return. Answers the seconds until the next call. */
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

/* The command gets a process group of its own, /dev/null as standard input and this process's standard error,
 * and is killed when the calling thread ends. A command that is to end gets SIGTERM, and SIGKILL ten seconds
 * later, the whole group. The result is cleared by the caller. */
void process_run(process_result *out, const process_request *request);
void process_result_clear(process_result *result);

/* Seconds of a clock that only goes forward. */
double monotonic_seconds(void);

#endif
