/* Runs long jobs (planning a batch, loading an engine, predictions) side by side. They may be of any length and number.
 *
 * A job is ordinary code on a thread of its own, from a cache of threads. Permits decide which threads compute: a
 * thread works only while it holds one. At a checkpoint (bandit_pause, and between tiles) a thread whose time slice is
 * over gives its permit to the thread or new job whose account has used the least time; so a job of 5 ms does not wait
 * for one of 100 s. This cannot change a job's result: the job is suspended, and continues where it was. Permits that
 * no job needs go to helpers, which take tiles of the running jobs.
 *
 * Shares of time are counted by account; each study has one. All functions may be called by any thread, unless their
 * comments say otherwise. */
#ifndef SERVER_BASE_COMPUTING_H
#define SERVER_BASE_COMPUTING_H

#include "bandit/executor.h"
#include "server/base/pool.h"
#include "server/base/ready_queue.h"

#include <stdbool.h>
#include <stddef.h>

struct computing;
typedef struct computing_account computing_account;

/* Embedded in its owner, which must live until `run` is called. From then on it may be submitted again. */
typedef struct computing_job {
    void (*run)(struct computing_job *job);
    computing_account *account;
    ready_entry ready;
} computing_job;

/* permits >= 1: how many threads compute at once. p: a pool that jobs may submit tasks to, and that therefore does not
 * end while there are jobs; NULL: they submit none. Returns NULL if no thread can be created. */
struct computing *computing_new(size_t permits, pool *p);

/* The account's jobs share the processors with those of other accounts, in proportion to the weights. NULL: out of
 * memory. */
computing_account *computing_account_new(struct computing *c, double weight);
void computing_account_free(struct computing *c,
                            computing_account *account); /* jobs may still run; NULL is fine */

/* account NULL: that of all jobs that belong to no study. */
void computing_submit(struct computing *c, computing_job *job, computing_account *account);

/* Gives up the jobs of this account, or all jobs: those in progress at their next checkpoint, and every later one at
 * its first. An account without jobs may be resumed; jobs that are submitted later then run as usual. */
void computing_cancel(computing_account *account);
void computing_resume(computing_account *account);
void computing_stop(struct computing *c);

/* The executor for engine calls. Only jobs may make such calls. */
bandit_executor computing_executor(struct computing *c);

/* Between these two calls, a job waits for something other than a processor, and gives others its permit. */
void computing_wait_begin(struct computing *c);
void computing_wait_end(struct computing *c);

typedef struct computing_statistics {
    size_t permits;
    size_t jobs;         /* begun or not */
    size_t waiting;      /* jobs, and tiles of jobs, that wait for a permit */
    size_t threads;      /* of the cache */
    double longest_step; /* the most processor seconds between two checkpoints so far */
} computing_statistics;

void computing_read_statistics(struct computing *c, computing_statistics *out);

/* Finishes all jobs, then ends the threads. No account may be freed after it. NULL is fine. */
void computing_free(struct computing *c);

#endif
