/* banditctl work: the state that its workers share. Each worker is a thread that asks for a trial, runs the
 * command and reports the result. The main thread waits for signals. */
#ifndef CLIENTS_BANDITCTL_WORK_H
#define CLIENTS_BANDITCTL_WORK_H

#include "clients/banditctl/call.h"
#include "clients/banditctl/trial.h"
#include "clients/banditctl/worker_name.h"

#include <pthread.h>

typedef struct work {
    const arguments *arguments;
    const char *study;
    char *const *words; /* the command as given */
    size_t n_words;
    trial_names names;
    int stop;  /* an eventfd; once readable, no worker begins another trial */
    int abort; /* an eventfd; once readable, the commands are killed */

    pthread_mutex_t lock; /* guards the members below, and standard error */
    bool unreachable;     /* the user was informed that the server does not answer */
    char *refusal;        /* the last refusal of an ask that was printed */
    const char *ending;   /* why the study hands out nothing any more; NULL: it may */
    exit_status failure;  /* the first failure that ended the work; STATUS_OK: none */
    size_t failed_in_a_row, completed, failed;
} work;

typedef struct worker {
    work *work;
    worker_name name;
    http_client *client;
    pthread_t thread;
    int ended; /* an eventfd of the main thread */
} worker;

/* The function of a worker's thread. */
void *worker_main(void *arg);

bool work_stopping(const work *w);
bool work_aborting(const work *w);
/* Makes the workers begin no more trials. `failure`: the reason, or STATUS_OK. */
void work_stop(work *w, exit_status failure);

/* Prints a line on standard error. */
void work_log(work *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef enum sending { SENT, SENDING_CANCELLED, SENDING_GAVE_UP } sending;

/* Sends a request again, with growing pauses, as long as the server does not answer or is too busy. SENT: the
 * caller clears *answer. The sending is cancelled when `cancel` becomes readable. */
sending work_send(work *w, http_client *client, http_request *request, int cancel, http_answer *answer);

#endif
