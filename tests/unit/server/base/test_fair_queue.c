/* The fair queue: callers take turns, the tasks of one stay in order, and none is lost. */
#include "server/base/fair_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void callers_take_turns(void **state)
{
    enum { MANY = 1000, FEW = 5 };
    (void)state;
    fair_queue *q = malloc(sizeof *q);
    pool_task *greedy = calloc(MANY, sizeof *greedy), modest[FEW];
    fair_queue_init(q);
    for (int i = 0; i < MANY; i++)
        fair_queue_add(q, &greedy[i], 1);
    for (int i = 0; i < FEW; i++)
        fair_queue_add(q, &modest[i], 2);
    for (int i = 0; i < FEW; i++) {
        assert_ptr_equal(fair_queue_take(q), &greedy[i]);
        assert_ptr_equal(fair_queue_take(q), &modest[i]);
    }
    for (int i = FEW; i < MANY; i++)
        assert_ptr_equal(fair_queue_take(q), &greedy[i]);
    assert_null(fair_queue_take(q));
    free(greedy);
    free(q);
}

static void all_callers_are_served(void **state)
{
    enum { TASKS = 20000, CALLERS = 3000 };
    (void)state;
    fair_queue *q = malloc(sizeof *q);
    pool_task *tasks = calloc(TASKS, sizeof *tasks);
    int last[CALLERS] = {0}, taken = 0, added = 0;
    uint32_t random = 3;
    fair_queue_init(q);
    while (taken < TASKS) {
        random = random * 1664525u + 1013904223u;
        if (added < TASKS && random >> 31) {
            fair_queue_add(q, &tasks[added], (uint64_t)(added % CALLERS) << (added % 7 ? 0 : 20));
            added++;
            continue;
        }
        const pool_task *task = fair_queue_take(q);
        assert_int_equal(task == NULL, taken == added);
        if (!task)
            continue;
        int index = (int)(task - tasks);
        assert_true(index >= last[index % CALLERS] || index % 7 == 0 || last[index % CALLERS] % 7 == 0);
        last[index % CALLERS] = index;
        taken++;
        assert_int_equal(q->n, added - taken);
    }
    free(tasks);
    free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_take_turns),
        cmocka_unit_test(all_callers_are_served),
    };
    return cmocka_run_group_tests_name("fair_queue", tests, NULL, NULL);
}
