/* Shared by the files behind computing.h: computing.c (which thread computes) and computing_tiles.c (for_each). */
#ifndef SERVER_BASE_COMPUTING_INTERNAL_H
#define SERVER_BASE_COMPUTING_INTERNAL_H

#include "server/base/computing.h"

#include <pthread.h>
#include <stdatomic.h>

struct computing_account {
    atomic_bool cancelled;
    double weight, used; /* used: virtual seconds, that is the seconds of its threads divided by the weight */
    size_t active;       /* jobs */
    size_t references;   /* jobs, and the owner */
};

typedef struct computing_thread computing_thread;

/* One for_each in progress. Lives on the stack of the thread that called it. */
typedef struct computing_tiles {
    bandit_task *task;
    void *arg;
    size_t n, taken, finished;
    computing_thread *caller;
    struct computing_tiles *next;
} computing_tiles;

struct computing_thread {
    struct computing *c;
    pthread_t id;
    pthread_cond_t wake; /* one of the members below has changed */
    bool has_permit;
    ready_entry ready;          /* while it waits for a permit */
    computing_job *job;         /* to begin */
    computing_tiles *helps;     /* to help with */
    computing_account *account; /* of the job that it runs or helps with */
    computing_thread *boss;     /* the thread that runs the job: itself, or the one that it helps */
    size_t worker;              /* its number among the threads of the job; the boss is 0 */
    bool *workers;              /* of a boss: which numbers are in use; as many as there are permits */
    size_t n_workers;
    double slice;   /* when it got its permit */
    double charged; /* the time up to which account->used includes its work */
    double next_yield, checked;
    double had; /* its processor time, at or shortly before `checked` */
    computing_thread *next_idle;
};

/* How long a thread keeps its permit, in seconds. */
typedef struct computing_slices {
    double usual;
    double before_new; /* while a new job waits; not more than `usual` */
} computing_slices;

struct computing {
    computing_slices slices; /* changed only by tests, before the first job */
    pthread_mutex_t lock;    /* guards everything that is not atomic */
    pthread_cond_t finished;
    pool *pool;
    size_t permits, free; /* free: held by no thread */
    ready_queue new_jobs, put_down;
    atomic_size_t n_waiting; /* of both queues, to be read without the lock */
    computing_tiles *tiles;  /* with tiles to take */
    computing_thread **threads, *idle;
    size_t n_threads, most_threads, n_jobs;
    computing_account others;
    double clock; /* the virtual time at which an account begins if none is active */
    atomic_bool stopping;
    bool ending;
    _Atomic double longest_step;
};

/* This thread, if it belongs to a `computing`; otherwise NULL. */
extern _Thread_local computing_thread *computing_self;

/* ---- computing.c; call all with the lock held ---------------------------------------------------------- */

/* Gives free permits to threads and jobs that wait. Call it when permits, waiting threads or jobs, or tiles were
 * added. */
void computing_dispatch(struct computing *c);

void computing_release(computing_thread *t); /* gives the permit back; without dispatching */
void computing_acquire(computing_thread *t); /* waits for a permit */

/* Both are called between tiles. This one offers the processor to other threads, … */
void computing_yield(computing_thread *t);
/* … and this one the permit, if it is their turn. */
void computing_give_way(computing_thread *t);

/* ---- computing_tiles.c; call all with the lock held ---------------------------------------------------- */

/* The first for_each that one more thread could help with; NULL: none. */
computing_tiles *computing_helpable(const struct computing *c);
/* Assigns the thread to these tiles: sets t->helps. */
void computing_begin_help(computing_thread *t, computing_tiles *tiles);
/* Takes tiles until none is left, or until somebody waits for a permit. Then it gives its permit back. */
void computing_help(computing_thread *t);

#endif
