/* Long jobs (planning a batch, loading an engine, predictions), of any length and number, side by side.
 *
 * A job is ordinary code on a thread of its own, from a cache of threads. Permits say who computes: a thread works only
 * while it holds one. At a checkpoint (bandit_pause, and between tiles) a thread whose time slice is over gives its
 * permit to the thread or new job whose account has used least; so a job of 5 ms does not wait for one of 100 s. What a
 * job computes cannot depend on that: it is put down and taken up where it is. Permits that no job wants go to helpers,
 * which take tiles of those that run.
 *
 * An account is what shares are counted by: a study has one. All functions may be called by any thread, except where it
 * says otherwise. */
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

/* permits >= 1: how many threads compute at once. p: is kept from ending while there are jobs, which may submit to
 * it; NULL: they do not. NULL if no thread can be created. */
struct computing *computing_new(size_t permits, pool *p);

/* Its jobs share by weight with those of other accounts. NULL: out of memory. */
computing_account *computing_account_new(struct computing *c, double weight);
void computing_account_free(struct computing *c,
                            computing_account *account); /* jobs may still run; NULL is fine */

/* account NULL: that of all jobs that belong to no study. */
void computing_submit(struct computing *c, computing_job *job, computing_account *account);

/* Jobs of this account, or all jobs, are given up: those in progress at their next checkpoint, later ones at their
 * first. For ever. */
void computing_cancel(computing_account *account);
void computing_stop(struct computing *c);

/* The executor for engine calls, which only jobs may make. */
bandit_executor computing_executor(struct computing *c);

/* In a job: it waits for something else than a processor in between. Others compute. */
void computing_wait_begin(struct computing *c);
void computing_wait_end(struct computing *c);

typedef struct computing_statistics {
    size_t permits;
    size_t jobs;         /* begun or not */
    size_t waiting;      /* of them: those that wait for a permit, and their tiles that do */
    size_t threads;      /* of the cache */
    double longest_step; /* seconds of a processor: the most between two checkpoints so far */
} computing_statistics;

void computing_read_statistics(struct computing *c, computing_statistics *out);

/* Finishes all jobs, then ends the threads. No account is freed after it. NULL is fine. */
void computing_free(struct computing *c);

#endif
