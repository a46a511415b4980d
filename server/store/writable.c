/* Finds out whether the database is writable. One small write answers all probes that wait at one time, and so does any
 * write that has just succeeded. */
#include "server/store/writer.h"

#include <stdlib.h>

static const double fresh_seconds = 1.0; /* for this time, a write that has reached the disk is proof */
static const double probe_seconds = 5.0; /* a disk that takes longer counts as failed */

void probe_note(store *s, bool works)
{
    atomic_store(&s->proved_at, works ? store_clock() : -fresh_seconds);
}

/* Ends every probe in the list. */
static void end_all(store_probe *first, const store_error *outcome)
{
    for (store_probe *p = first, *next; p; p = next) {
        next = p->next;
        p->done(p, outcome);
    }
}

/* Takes all probes. Call it with the mutex held. */
static store_probe *take_all(store *s)
{
    store_probe *first = s->probes;
    s->probes = NULL;
    return first;
}

static store_error late(void)
{
    store_error error = {0};
    store_error_set(&error, STORE_BUSY, "no write has reached the disk in %d s", (int)probe_seconds);
    return error;
}

void probe_run(store *s)
{
    store_error outcome = {0};
    probe_note(s, group_touch(s, &outcome) == STORE_OK);
    pthread_mutex_lock(&s->mutex);
    store_probe *first = take_all(s);
    s->probing_since = 0;
    pthread_mutex_unlock(&s->mutex);
    end_all(first, &outcome);
}

bool store_is_proved(store *s)
{
    return store_clock() - atomic_load(&s->proved_at) < fresh_seconds && !atomic_load(&s->read_failed);
}

void store_probe_start(store *s, store_probe *probe)
{
    store_error outcome = {0};
    double now = store_clock();
    pthread_mutex_lock(&s->mutex);
    if (s->stopped) {
        store_error_set(&outcome, STORE_CLOSED, "the store is closing");
    } else if (s->probing_since > 0 && now - s->probing_since >= probe_seconds) {
        outcome = late();
    } else {
        probe->next = s->probes;
        s->probes = probe;
        if (!(s->probing_since > 0)) {
            s->probing_since = now;
            pthread_cond_signal(&s->work);
        }
        probe = NULL;
    }
    pthread_mutex_unlock(&s->mutex);
    if (probe)
        probe->done(probe, &outcome);
}

void store_tick(store *s)
{
    store_probe *first = NULL;
    pthread_mutex_lock(&s->mutex);
    if (s->probing_since > 0 && store_clock() - s->probing_since >= probe_seconds)
        first = take_all(s);
    pthread_mutex_unlock(&s->mutex);
    if (first) {
        store_error outcome = late();
        end_all(first, &outcome);
    }
}
