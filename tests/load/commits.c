/* Group commits alone: the rows that asks and tells write, given straight to the store, without HTTP,
 * JSON and studies. Each worker has one write on its way, and submits its next as soon as that is on disk.
 *
 * usage: commits FILE|URI WORKERS STUDIES SECONDS
 *
 * FILE: an SQLite database; URI (postgresql://…): a PostgreSQL database that has its schema.
 *
 * Prints one JSON object: writes a second, and writes in a commit; the median and the 99th percentile of a write's time in
 * ms; processor time of this process and most memory in use (kB). */
#include "server/store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BATCH = 4096, MOST_TIMES = 1 << 22 };

typedef struct study {
    pthread_mutex_t lock; /* of the lane and the numbers */
    store_lane *lane;
    int64_t trials, next; /* planned; the next to hand out */
    int64_t batches;
} study;

typedef struct worker {
    store *s;
    study *study;
    int number;
    int64_t trial; /* held; 0: none */
    double submitted;
} worker;

static atomic_bool stopping;
static atomic_llong written, on_their_way;
static float times[MOST_TIMES]; /* s, of the first writes */
static struct rusage before;    /* when all studies had their trials */
static store_statistics prepared;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void submit(study *t, const store_event *event, store_done *done, void *arg)
{
    store_write *write;
    if (store_write_new(&write, t->lane) != STORE_OK || store_write_add(write, event) != STORE_OK)
        fail("out of memory");
    atomic_fetch_add(&on_their_way, 1);
    store_submit(write, done, arg);
}

static void planned(void *arg, store_status status, int64_t number, int64_t last_seq)
{
    (void)arg;
    (void)number;
    (void)last_seq;
    if (status != STORE_OK)
        fail(store_status_text(status));
    atomic_fetch_sub(&on_their_way, 1);
}

static void plan(study *t)
{
    static const store_pick picks[BATCH];
    store_event event = {.type = EVENT_BATCH_PLANNED, .time = 1};
    event.u.planned.batch =
        (store_batch){.batch = t->batches++, .size = BATCH, .stop_rule = "max_batch", .code_path = "avx2"};
    event.u.planned.first_trial = t->trials + 1;
    event.u.planned.picks = picks;
    event.u.planned.n_picks = BATCH;
    submit(t, &event, planned, NULL);
    t->trials += BATCH;
}

static void next_write(worker *w);

static void done(void *arg, store_status status, int64_t number, int64_t last_seq)
{
    (void)number;
    (void)last_seq;
    if (status != STORE_OK)
        fail(store_status_text(status));
    long long n = atomic_fetch_add(&written, 1);
    if (n < MOST_TIMES)
        times[n] = (float)(now() - ((worker *)arg)->submitted);
    if (!atomic_load(&stopping))
        next_write(arg);
    atomic_fetch_sub(&on_their_way, 1);
}

static void next_write(worker *w)
{
    study *t = w->study;
    char name[16];
    snprintf(name, sizeof name, "w%d", w->number);
    store_event event = {.time = 1800000000000};
    pthread_mutex_lock(&t->lock);
    if (w->trial == 0) {
        if (t->next == t->trials)
            plan(t);
        w->trial = ++t->next;
        event.type = EVENT_TRIAL_ISSUED;
        event.u.issued.trial = w->trial;
        event.u.issued.attempt = 1;
        event.u.issued.worker = name;
        event.u.issued.lease_expires_at = 1800000600000;
    } else {
        event.type = EVENT_TRIAL_TOLD;
        event.u.told.trial = w->trial;
        event.u.told.attempt = 1;
        event.u.told.state = TRIAL_COMPLETED;
        event.u.told.has_value = true;
        event.u.told.value = (double)(w->trial % 1000) / 1000.0;
        event.u.told.reason = "";
        w->trial = 0;
    }
    w->submitted = now();
    submit(t, &event, done, w);
    pthread_mutex_unlock(&t->lock);
}

static int by_time(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double cpu_seconds(const struct rusage *r)
{
    return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
           1e-6 * (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
}

static void print_results(store *s, long long total, double seconds)
{
    struct rusage used;
    store_statistics statistics;
    size_t n = total < MOST_TIMES ? (size_t)total : MOST_TIMES;
    getrusage(RUSAGE_SELF, &used);
    store_read_statistics(s, &statistics);
    qsort(times, n, sizeof *times, by_time);
    printf("{\"per_second\": %.1f, \"a_commit\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, "
           "\"cpu_seconds\": %.3f, \"writes\": %lld, \"memory_kb\": %ld}\n",
           (double)total / seconds,
           (double)(statistics.writes - prepared.writes) / (double)(statistics.commits - prepared.commits),
           n ? 1e3 * (double)times[n / 2] : 0.0, n ? 1e3 * (double)times[n * 99 / 100] : 0.0,
           cpu_seconds(&used) - cpu_seconds(&before), total, used.ru_maxrss);
}

static void create(store *s, study *t, int number)
{
    char id[16];
    snprintf(id, sizeof id, "s%d", number);
    store_event event = {.type = EVENT_STUDY_CREATED, .time = 1};
    event.u.created.id = id;
    event.u.created.definition = "{}";
    event.u.created.state = STUDY_ACTIVE;
    pthread_mutex_init(&t->lock, NULL);
    if (store_lane_open(&t->lane, s, 0, 0, 0) != STORE_OK)
        fail("out of memory");
    submit(t, &event, planned, NULL);
}

int main(int argc, char **argv)
{
    store *s;
    store_error error = {0};
    if (argc < 5)
        return 2;
    int n = atoi(argv[2]), n_studies = atoi(argv[3]);
    double seconds = atof(argv[4]);
    store_status status = strstr(argv[1], "://") ? store_open_postgres(&s, argv[1], 10, &error)
                                                 : store_open_sqlite(&s, argv[1], &error);
    if (status != STORE_OK)
        fail(error.message);
    study *studies = calloc((size_t)n_studies, sizeof *studies);
    worker *workers = calloc((size_t)n, sizeof *workers);
    if (!studies || !workers)
        fail("out of memory");
    for (int i = 0; i < n_studies; i++)
        create(s, &studies[i], i);
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < n_studies; i++) {
        plan(&studies[i]); /* not measured, unless the run is so long that it needs another batch */
        while (atomic_load(&on_their_way) > 0)
            nanosleep(&pause, NULL);
    }
    getrusage(RUSAGE_SELF, &before);
    store_read_statistics(s, &prepared);
    double start = now();
    for (int i = 0; i < n; i++) {
        workers[i] = (worker){.s = s, .study = &studies[i % n_studies], .number = i};
        next_write(&workers[i]);
    }
    while (now() < start + seconds)
        nanosleep(&pause, NULL);
    long long total = atomic_load(&written);
    seconds = now() - start;
    atomic_store(&stopping, true);
    while (atomic_load(&on_their_way) > 0)
        nanosleep(&pause, NULL);
    print_results(s, total, seconds);
    for (int i = 0; i < n_studies; i++)
        store_lane_close(studies[i].lane);
    store_close(s);
    free(workers);
    free(studies);
    return 0;
}
