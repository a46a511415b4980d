/* The queue of a study: its order after any history, and what it costs when it is long. */
#include "server/base/clock.h"
#include "server/study/trial_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SECONDS = 20
}; /* for 100 000 trials: a fraction of a second, and minutes if each looked at all others */

typedef struct bench {
    workers *names;
    trial_queue *queue;
} bench;

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    b->names = workers_new();
    b->queue = trial_queue_new(b->names);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    trial_queue_free(b->queue);
    workers_free(b->names); /* asserts that no name is in use */
    free(b);
    return 0;
}

static trial *add(bench *b, int64_t id, int64_t batch)
{
    store_trial row = {.trial = id, .state = TRIAL_QUEUED, .batch = batch};
    trial *t = trial_of_row(&row);
    assert_true(trial_queue_add(b->queue, t));
    return t;
}

static void issue(bench *b, trial *t, const char *name, int64_t expires)
{
    assert_true(trial_queue_set_worker(b->queue, t, name));
    trial_queue_take(b->queue, t);
    t->state = TRIAL_PENDING;
    t->lease_end = expires;
    trial_queue_put(b->queue, t);
}

static void come_back(bench *b, trial *t, bool released, int64_t at)
{
    trial_queue_take(b->queue, t);
    t->state = TRIAL_QUEUED;
    t->released = released;
    t->requeued_at = at;
    trial_queue_put(b->queue, t);
}

/* The order as trial_queue.h states it, of queued trials. */
static int compare(const void *x, const void *y)
{
    const trial *a = *(const trial *const *)x, *b = *(const trial *const *)y;
    int places[2];
    for (int i = 0; i < 2; i++) {
        const trial *t = i ? b : a;
        places[i] = t->requeued_at ? (t->released ? 0 : 1) : t->batch < 0 ? 2 : 3;
    }
    if (places[0] != places[1])
        return places[0] - places[1];
    if (places[0] == 0 && a->requeued_at != b->requeued_at)
        return a->requeued_at > b->requeued_at ? -1 : 1;
    int by_id = (a->id > b->id) - (a->id < b->id);
    return places[0] == 0 ? -by_id : by_id;
}

static void the_order_is_that_of_what_is_queued(void **state)
{
    enum { TRIALS = 300, STEPS = 5000 };
    bench *b = *state;
    trial *all[TRIALS], *sorted[TRIALS];
    uint32_t random = 7;
    for (int i = 0; i < TRIALS; i++)
        all[i] = add(b, (i * 7) % TRIALS + 1, i % 5 == 0 ? -1 : 0);
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        trial *t = all[(random >> 8) % TRIALS];
        if (t->state == TRIAL_QUEUED)
            issue(b, t, (random >> 3) % 3 ? "ada" : "", (int64_t)(random >> 20));
        else
            come_back(b, t, (random >> 4) % 2, 1 + (random >> 5) % 50);
        size_t n = 0;
        int64_t expiry = INT64_MAX;
        for (int i = 0; i < TRIALS; i++) {
            if (all[i]->state == TRIAL_QUEUED)
                sorted[n++] = all[i];
            else if (all[i]->lease_end < expiry)
                expiry = all[i]->lease_end;
        }
        qsort(sorted, n, sizeof(trial *), compare);
        assert_ptr_equal(trial_queue_head(b->queue), n ? sorted[0] : NULL);
        assert_int_equal(trial_queue_next_expiry(b->queue), expiry);
    }
    size_t n = 0;
    for (trial *t; (t = trial_queue_head(b->queue)); trial_queue_drop(b->queue, t))
        n++;
    assert_true(n > 0);
}

static void the_memory_of_trials_is_counted(void **state)
{
    bench *b = *state;
    trial *t = add(b, 1, 0);
    size_t one = trial_queue_memory(b->queue);
    assert_true(one > sizeof *t && one < 3 * sizeof *t);
    assert_int_equal(trial_queue_open_memory(b->queue), one);
    for (int i = 2; i <= 10; i++)
        add(b, i, 0);
    assert_int_equal(trial_queue_memory(b->queue), 10 * one);
    char metadata[5000] = {0};
    memset(metadata, 'x', sizeof metadata - 1);
    trial_queue_take(b->queue, t);
    t->state = TRIAL_COMPLETED;
    assert_true(text_replace(&t->metadata, metadata));
    trial_queue_put(b->queue, t);
    assert_int_equal(trial_queue_open_memory(b->queue), 9 * one);
    assert_true(trial_queue_memory(b->queue) >= 10 * one + sizeof metadata - 64);
    trial_queue_drop(b->queue, t);
    assert_int_equal(trial_queue_memory(b->queue), 9 * one);
    trial_queue_clear(b->queue);
    assert_int_equal(trial_queue_memory(b->queue), 0);
    assert_int_equal(trial_queue_open_memory(b->queue), 0);
}

static void a_workers_trials_are_its_own(void **state)
{
    bench *b = *state;
    for (int i = 1; i <= 6; i++)
        issue(b, add(b, i, 0), i == 6 ? "" : i % 2 ? "ada" : "bob", 10);
    assert_int_equal(workers_at_work(b->names), 2);
    assert_int_equal(trial_queue_nameless(b->queue), 1);
    size_t n = 0;
    for (trial *t = workers_first_held(b->names, "ada"); t; t = workers_next_held(t), n++)
        assert_int_equal(t->id % 2, 1);
    assert_int_equal(n, 3);
    for (int i = 1; i <= 5; i += 2)
        come_back(b, trial_queue_find(b->queue, i), false, 20);
    assert_null(workers_first_held(b->names, "ada"));
    assert_int_equal(workers_at_work(b->names), 1);
    study_worker *eve = workers_use(b->names, "eve");
    workers_wait(b->names, eve);
    workers_wait(b->names, eve);
    assert_int_equal(workers_at_work(b->names), 2);
    workers_stop_waiting(b->names, eve);
    workers_stop_waiting(b->names, eve);
    workers_leave(b->names, eve);
    assert_int_equal(workers_at_work(b->names), 1);
}

static void many_leases_expire_together(void **state)
{
    enum { TRIALS = 100000 };
    bench *b = *state;
    int64_t start = clock_steady_ms();
    for (int i = 1; i <= TRIALS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i % 1000);
        issue(b, add(b, i, 0), name, 100 + i % 10);
    }
    for (trial *t; (t = trial_queue_first_lease(b->queue));)
        come_back(b, t, false, 200);
    for (int i = 1; i <= TRIALS; i++) {
        assert_int_equal(trial_queue_head(b->queue)->id, i);
        trial_queue_drop(b->queue, trial_queue_head(b->queue));
    }
    assert_in_range(clock_steady_ms() - start, 0, 1000 * SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_order_is_that_of_what_is_queued, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_memory_of_trials_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_workers_trials_are_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_leases_expire_together, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("trial_queue", tests, NULL, NULL);
}
