/* Decides which threads compute. Accounts are compared by virtual time (start-time fair queueing: Goyal, Vin and
 * Cheng, 1997). A thread or job that waits is ordered by the time that its account had used when the wait began. An
 * account that was idle begins at the smallest time of the active accounts. So no account saves up time while it is
 * idle, and none pays later for having computed alone. */
#include "server/base/computing_internal.h"

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/nice.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Seconds. A thread keeps its permit for at least one slice. While a new job waits, which may be short, the slice is
 * shorter. Switching to another thread costs about 0.02 ms. */
static const computing_slices SLICES = {.usual = 0.010, .before_new = 0.001};

/* The scheduler may let a thread keep its processor for milliseconds, and a request passes through five threads. So
 * computing threads yield more often than that. If other programs want the processor as well, they may keep it for
 * milliseconds whenever a thread yields. So before it yields again, it computes for at least as long as it was away. */
static const double YIELD_EVERY = 0.0005;

enum { MOST_PUT_DOWN = 256 }; /* threads beyond the permits: this many jobs may be suspended at once */

_Thread_local computing_thread *computing_self;

/* ---- accounts ------------------------------------------------------------------------------------------ */

static double used_by(const computing_thread *t, double now)
{
    return t->account->used + (now - t->charged) / t->account->weight;
}

static void charge(computing_thread *t, double now)
{
    t->account->used = used_by(t, now);
    t->charged = now;
}

/* The smallest virtual time of an active account. */
static double smallest_use(const struct computing *c, double now)
{
    double smallest = INFINITY;
    if (c->new_jobs.first)
        smallest = fmin(smallest, c->new_jobs.first->key);
    if (c->put_down.first)
        smallest = fmin(smallest, c->put_down.first->key);
    for (size_t i = 0; i < c->n_threads; i++)
        if (c->threads[i]->has_permit)
            smallest = fmin(smallest, used_by(c->threads[i], now));
    return isinf(smallest) ? c->clock : smallest;
}

static void begin_account(struct computing *c, computing_account *account, double now)
{
    if (account->active++ == 0)
        account->used = fmax(account->used, smallest_use(c, now));
    account->references++;
    c->n_jobs++;
}

static void release_account(computing_account *account)
{
    if (--account->references == 0)
        free(account);
}

static void end_account(struct computing *c, computing_account *account)
{
    account->active--;
    c->clock = fmax(c->clock, account->used);
    release_account(account);
    if (--c->n_jobs == 0)
        pthread_cond_broadcast(&c->finished);
}

computing_account *computing_account_new(struct computing *c, double weight)
{
    (void)c;
    computing_account *account = malloc(sizeof *account);
    if (account)
        *account = (computing_account){.weight = weight, .references = 1};
    return account;
}

void computing_account_free(struct computing *c, computing_account *account)
{
    if (!account)
        return;
    pthread_mutex_lock(&c->lock);
    release_account(account);
    pthread_mutex_unlock(&c->lock);
}

void computing_cancel(computing_account *account)
{
    atomic_store(&account->cancelled, true);
}

void computing_resume(computing_account *account)
{
    atomic_store(&account->cancelled, false);
}

/* ---- permits ------------------------------------------------------------------------------------------- */

static void *run_thread(void *arg);

static bool can_begin(const struct computing *c)
{
    return c->idle || c->n_threads < c->most_threads;
}

/* A thread without work, from the cache or a new one. NULL: there is none. */
static computing_thread *find_thread(struct computing *c)
{
    computing_thread *t = c->idle;
    if (t) {
        c->idle = t->next_idle;
        return t;
    }
    t = c->n_threads < c->most_threads ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->c = c;
    t->workers = calloc(c->permits, sizeof *t->workers);
    pthread_cond_init(&t->wake, NULL);
    if (t->workers && pthread_create(&t->id, NULL, run_thread, t) == 0)
        return c->threads[c->n_threads++] = t;
    pthread_cond_destroy(&t->wake);
    free(t->workers);
    free(t);
    c->most_threads = c->n_threads; /* the existing threads must suffice */
    return NULL;
}

static void grant(computing_thread *t)
{
    t->c->free--;
    t->has_permit = true;
    t->slice = t->charged = t->checked = clock_steady();
    pthread_cond_signal(&t->wake);
}

/* Begins the next job. False: there is no thread for it. */
static bool begin_next(struct computing *c)
{
    computing_thread *t = find_thread(c);
    if (!t)
        return false;
    ready_entry *next = ready_queue_take(&c->new_jobs);
    t->job = (computing_job *)(void *)((char *)next - offsetof(computing_job, ready));
    t->account = t->job->account;
    grant(t);
    return true;
}

static void take_up_next(struct computing *c)
{
    ready_entry *next = ready_queue_take(&c->put_down);
    grant((computing_thread *)(void *)((char *)next - offsetof(computing_thread, ready)));
}

static bool find_helper(struct computing *c)
{
    computing_tiles *tiles = computing_helpable(c);
    computing_thread *t = tiles ? find_thread(c) : NULL;
    if (t) {
        computing_begin_help(t, tiles);
        grant(t);
    }
    return t;
}

void computing_dispatch(struct computing *c)
{
    bool more = true;
    while (c->free > 0 && more) {
        const ready_entry *job = can_begin(c) ? c->new_jobs.first : NULL, *thread = c->put_down.first;
        if (job && (!thread || job->key <= thread->key))
            begin_next(c); /* if it cannot, can_begin returns false from now on */
        else if (thread)
            take_up_next(c);
        else
            more = find_helper(c);
    }
    atomic_store(&c->n_waiting, c->new_jobs.n + c->put_down.n);
}

void computing_release(computing_thread *t)
{
    charge(t, clock_steady());
    t->has_permit = false;
    t->c->free++;
}

void computing_acquire(computing_thread *t)
{
    ready_queue_add(&t->c->put_down, &t->ready, t->account->used);
    computing_dispatch(t->c);
    while (!t->has_permit)
        pthread_cond_wait(&t->wake, &t->c->lock);
    t->had = clock_thread();
}

/* ---- checkpoints --------------------------------------------------------------------------------------- */

/* Is it somebody else's turn? Call it with the lock held. */
static bool is_others_turn(const computing_thread *t, double now)
{
    const struct computing *c = t->c;
    const ready_entry *job = can_begin(c) ? c->new_jobs.first : NULL, *thread = c->put_down.first;
    double time = now - t->slice, used = used_by(t, now);
    return (job && time >= c->slices.before_new && job->key < used) ||
           (thread && time >= c->slices.usual && thread->key < used);
}

static void put_down_if_due(computing_thread *t, double now)
{
    if (!is_others_turn(t, now))
        return;
    computing_release(t);
    computing_acquire(t);
}

/* Measures a step that may be a long one, in processor time, which excludes the time of other processes. That clock is
 * slower to read, so the step is counted from the last reading, which was shortly before its start. */
static void note_step(computing_thread *t, double now)
{
    bool may_be_long = now - t->checked > YIELD_EVERY;
    t->checked = now;
    if (!may_be_long)
        return;
    double had = clock_thread(), seconds = had - t->had, longest = atomic_load(&t->c->longest_step);
    t->had = had;
    while (seconds > longest && !atomic_compare_exchange_weak(&t->c->longest_step, &longest, seconds))
        continue;
}

static void yield(computing_thread *t, double now)
{
    t->had = clock_thread();
    sched_yield();
    t->checked = clock_steady();
    t->next_yield = t->checked + fmax(YIELD_EVERY, t->checked - now);
}

void computing_yield(computing_thread *t)
{
    double now = clock_steady();
    note_step(t, now);
    if (now < t->next_yield)
        return;
    pthread_mutex_unlock(&t->c->lock);
    yield(t, now);
    pthread_mutex_lock(&t->c->lock);
}

void computing_give_way(computing_thread *t)
{
    computing_yield(t);
    if (atomic_load(&t->c->n_waiting) > 0)
        put_down_if_due(t, clock_steady());
}

static bool is_cancelled(const computing_thread *t)
{
    return atomic_load(&t->c->stopping) || atomic_load(&t->account->cancelled);
}

/* bandit_pause calls it. */
static bool check(void *arg)
{
    computing_thread *t = arg;
    struct computing *c = t->c;
    double now = clock_steady();
    note_step(t, now);
    if (now >= t->next_yield)
        yield(t, now);
    if (atomic_load(&c->n_waiting) > 0 && now - t->slice >= c->slices.before_new) {
        pthread_mutex_lock(&c->lock);
        put_down_if_due(t, now);
        pthread_mutex_unlock(&c->lock);
    }
    return is_cancelled(t);
}

void computing_wait_begin(struct computing *c)
{
    if (!computing_self)
        return;
    pthread_mutex_lock(&c->lock);
    computing_release(computing_self);
    computing_dispatch(c);
    pthread_mutex_unlock(&c->lock);
}

void computing_wait_end(struct computing *c)
{
    if (!computing_self)
        return;
    pthread_mutex_lock(&c->lock);
    computing_acquire(computing_self);
    pthread_mutex_unlock(&c->lock);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

/* Call it with the lock held. */
static void run_job(computing_thread *t)
{
    struct computing *c = t->c;
    computing_job *job = t->job;
    t->job = NULL;
    t->boss = t;
    t->worker = 0;
    t->n_workers = 1;
    t->workers[0] = true;
    pthread_mutex_unlock(&c->lock);
    job->run(job); /* may free the job and the account's owner */
    if (c->pool)
        pool_release(c->pool);
    pthread_mutex_lock(&c->lock);
    computing_release(t);
    while (t->n_workers > 1) /* a helper may have come too late for tiles */
        pthread_cond_wait(&t->wake, &c->lock);
    t->workers[0] = false;
    end_account(c, t->account);
}

static void *run_thread(void *arg)
{
    computing_thread *t = arg;
    struct computing *c = t->c;
    computing_self = t;
    nice_raise(NICER_COMPUTING);
    bandit_on_pause(check, t);
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!t->has_permit && !c->ending)
            pthread_cond_wait(&t->wake, &c->lock);
        if (!t->has_permit)
            break;
        t->had = clock_thread();
        if (t->job)
            run_job(t);
        else
            computing_help(t);
        t->next_idle = c->idle;
        c->idle = t;
        computing_dispatch(c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

void computing_submit(struct computing *c, computing_job *job, computing_account *account)
{
    double now = clock_steady();
    if (c->pool)
        pool_hold(c->pool);
    pthread_mutex_lock(&c->lock);
    job->account = account ? account : &c->others;
    if (computing_self && computing_self->c == c && computing_self->account == job->account)
        charge(computing_self, now); /* a job that continues as another one */
    begin_account(c, job->account, now);
    ready_queue_add(&c->new_jobs, &job->ready, job->account->used);
    computing_dispatch(c);
    pthread_mutex_unlock(&c->lock);
}

void computing_stop(struct computing *c)
{
    atomic_store(&c->stopping, true);
}

void computing_read_statistics(struct computing *c, computing_statistics *out)
{
    pthread_mutex_lock(&c->lock);
    *out = (computing_statistics){.permits = c->permits,
                                  .jobs = c->n_jobs,
                                  .waiting = c->new_jobs.n + c->put_down.n,
                                  .threads = c->n_threads,
                                  .longest_step = atomic_load(&c->longest_step)};
    pthread_mutex_unlock(&c->lock);
}

/* ---- start and end ------------------------------------------------------------------------------------- */

struct computing *computing_new(size_t permits, pool *p)
{
    assert(permits >= 1);
    struct computing *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->pool = p;
    c->permits = c->free = permits;
    c->slices = SLICES;
    c->most_threads = permits + MOST_PUT_DOWN;
    c->others = (computing_account){.weight = 1.0, .references = 1};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->finished, NULL);
    c->threads = calloc(c->most_threads, sizeof(computing_thread *));
    bool started = c->threads;
    pthread_mutex_lock(&c->lock);
    while (started && c->n_threads < permits)
        started = find_thread(c);
    for (size_t i = 0; i < c->n_threads; i++) {
        c->threads[i]->next_idle = c->idle;
        c->idle = c->threads[i];
    }
    pthread_mutex_unlock(&c->lock);
    if (!started) {
        computing_free(c);
        return NULL;
    }
    return c;
}

void computing_free(struct computing *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    while (c->n_jobs > 0)
        pthread_cond_wait(&c->finished, &c->lock);
    c->ending = true;
    for (size_t i = 0; i < c->n_threads; i++)
        pthread_cond_signal(&c->threads[i]->wake);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < c->n_threads; i++) {
        pthread_join(c->threads[i]->id, NULL);
        pthread_cond_destroy(&c->threads[i]->wake);
        free(c->threads[i]->workers);
        free(c->threads[i]);
    }
    pthread_cond_destroy(&c->finished);
    pthread_mutex_destroy(&c->lock);
    free(c->threads);
    free(c);
}
