/* banditctl work: what its workers share. Each worker is a thread that asks, runs the command and tells; the
 * main thread waits for signals. */
#ifndef CLIENTS_BANDITCTL_WORK_H
#define CLIENTS_BANDITCTL_WORK_H

#include "clients/banditctl/call.h"
#include "clients/banditctl/trial.h"
#include "clients/banditctl/worker_name.h"

#include <pthread.h>

typedef struct work {
    const arguments *arguments;
    const char *study;
    char *const *words; /* of the command, as given */
    size_t n_words;
    trial_names names;
    int stop;  /* an eventfd, readable for good once no more trials are to be begun */
    int abort; /* the same, once the commands are to be killed as well */

    pthread_mutex_t lock; /* guards what follows, and standard error */
    bool unreachable;     /* has been reported */
    char *refusal;        /* of an ask, the last one reported */
    bool done;
    exit_status failure; /* the first that ended the work; STATUS_OK: none */
    size_t failed_in_a_row, completed, failed;
} work;

typedef struct worker {
    work *work;
    worker_name name;
    http_client *client;
    pthread_t thread;
    int ended; /* an eventfd of the main thread's */
} worker;

/* The life of a worker (its thread's function). */
void *worker_main(void *arg);

bool work_stopping(const work *w);
bool work_aborting(const work *w);
/* No more trials are begun. `failure`: why, or STATUS_OK. */
void work_stop(work *w, exit_status failure);

/* A line on standard error. */
void work_log(work *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef enum sending { SENT, SENDING_CANCELLED, SENDING_GAVE_UP } sending;

/* Sends until the server answers something else than that it is not there or too busy, with growing pauses.
 * SENT: *answer is to be cleared by the caller. It is cancelled when `cancel` becomes readable. */
sending work_send(work *w, http_client *client, http_request *request, int cancel, http_answer *answer);

#endif
