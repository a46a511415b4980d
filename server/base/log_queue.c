#include "server/base/log_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

typedef struct line {
    char *text;
    size_t size;
    STAILQ_ENTRY(line) link;
} line;

STAILQ_HEAD(line_list, line);

static struct {
    pthread_mutex_t lock; /* guards the other members, except the counts */
    pthread_cond_t filled, written;
    struct line_list lines;
    size_t bytes; /* of the lines in the list, and of those being written */
    bool running, stopping;
    pthread_t thread;
    int descriptor;
    char *(*dropped_line)(uint64_t dropped, size_t *size);
    atomic_uint_fast64_t dropped;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .descriptor = STDERR_FILENO};

/* A log that cannot be written to must not stop the service, so text that cannot be written is left out. */
static void write_text(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(queue.descriptor, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        size -= (size_t)n;
    }
}

/* Writes how many lines were dropped since the last such line. */
static void say_dropped(uint64_t *said)
{
    uint64_t dropped = atomic_load(&queue.dropped);
    if (dropped == *said)
        return;
    size_t size;
    char *text = queue.dropped_line(dropped - *said, &size);
    if (!text)
        return;
    write_text(text, size);
    free(text);
    *said = dropped;
}

static void *write_lines(void *arg)
{
    uint64_t said = 0;
    (void)arg;
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (STAILQ_EMPTY(&queue.lines) && !queue.stopping)
            pthread_cond_wait(&queue.filled, &queue.lock);
        line *first = STAILQ_FIRST(&queue.lines);
        if (!first)
            break;
        STAILQ_REMOVE_HEAD(&queue.lines, link);
        pthread_mutex_unlock(&queue.lock);
        write_text(first->text, first->size);
        say_dropped(&said);
        pthread_mutex_lock(&queue.lock);
        queue.bytes -= first->size;
        free(first->text);
        free(first);
    }
    queue.running = false;
    pthread_cond_signal(&queue.written);
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

bool log_queue_start(int descriptor, char *(*dropped_line)(uint64_t dropped, size_t *size))
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&queue.filled, NULL);
    pthread_cond_init(&queue.written, &steady);
    pthread_condattr_destroy(&steady);
    pthread_mutex_lock(&queue.lock);
    STAILQ_INIT(&queue.lines);
    queue.bytes = 0;
    queue.stopping = false;
    queue.descriptor = descriptor;
    queue.dropped_line = dropped_line;
    queue.running = pthread_create(&queue.thread, NULL, write_lines, NULL) == 0;
    bool started = queue.running;
    pthread_mutex_unlock(&queue.lock);
    return started;
}

void log_queue_add(char *text, size_t size)
{
    line *added = malloc(sizeof *added);
    pthread_mutex_lock(&queue.lock);
    bool running = queue.running && !queue.stopping;
    bool room = running && added && queue.bytes + size <= LOG_QUEUE_BYTES;
    if (room) {
        *added = (line){.text = text, .size = size};
        STAILQ_INSERT_TAIL(&queue.lines, added, link);
        queue.bytes += size;
        pthread_cond_signal(&queue.filled);
    }
    bool stuck = queue.running && queue.stopping;
    pthread_mutex_unlock(&queue.lock);
    if (room)
        return;
    free(added);
    if (running || stuck)
        atomic_fetch_add(&queue.dropped, 1);
    else
        write_text(text, size);
    free(text);
}

uint64_t log_queue_dropped(void)
{
    return atomic_load(&queue.dropped);
}

void log_queue_stop(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LOG_QUEUE_SECONDS;
    pthread_mutex_lock(&queue.lock);
    bool started = queue.running;
    queue.stopping = true;
    if (started)
        pthread_cond_signal(&queue.filled);
    int late = 0;
    while (queue.running && !late)
        late = pthread_cond_timedwait(&queue.written, &queue.lock, &until);
    bool ended = !queue.running;
    pthread_mutex_unlock(&queue.lock);
    if (started && ended)
        pthread_join(queue.thread, NULL);
    else if (started)
        pthread_detach(queue.thread); /* it ends with the program */
}
