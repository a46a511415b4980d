/* The ready queue against a plain search for the smallest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/base/ready_queue.h"

enum { ENTRIES = 300, STEPS = 200000 };

typedef struct waiting {
    ready_entry entry; /* first */
    double key;
    uint64_t arrival;
    bool waits;
} waiting;

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

static waiting *smallest(waiting *all)
{
    waiting *best = NULL;
    for (int i = 0; i < ENTRIES; i++) {
        waiting *w = &all[i];
        if (w->waits && (!best || w->key < best->key || (w->key == best->key && w->arrival < best->arrival)))
            best = w;
    }
    return best;
}

static void the_smallest_key_comes_first(void **state)
{
    (void)state;
    static waiting all[ENTRIES];
    ready_queue q = {0};
    uint64_t random = 88172645463325252u, arrivals = 0;
    size_t n = 0;
    for (int step = 0; step < STEPS; step++) {
        waiting *w = &all[next_random(&random) % ENTRIES];
        bool grows = step / 1000 % 2 == 0;
        if (!w->waits && (grows || next_random(&random) % 2)) {
            w->key = (double)(next_random(&random) % 20); /* equal keys are frequent */
            w->arrival = arrivals++;
            w->waits = true;
            ready_queue_add(&q, &w->entry, w->key);
            n++;
        } else if (!grows || next_random(&random) % 8 == 0) {
            waiting *expected = smallest(all);
            assert_ptr_equal(ready_queue_take(&q), expected ? &expected->entry : NULL);
            if (expected) {
                expected->waits = false;
                n--;
            }
        }
        assert_int_equal(q.n, n);
    }
    while (n-- > 0) {
        waiting *expected = smallest(all);
        assert_ptr_equal(ready_queue_take(&q), &expected->entry);
        expected->waits = false;
    }
    assert_null(ready_queue_take(&q));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_smallest_key_comes_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
