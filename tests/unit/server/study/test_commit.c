/* Replies that wait for writes. After a failure the memory is ahead of what is stored, so that no reply made from it is
 * true, also if it has nothing to write. */
#include "server/study/commit.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct asked {
    study_request request;
    int released, unstored;
} asked;

static void take_reply(study_request *request, const study_reply *reply)
{
    ((asked *)(void *)request)->unstored += reply->unstored;
}

static void release(study_request *request)
{
    ((asked *)(void *)request)->released++;
}

static const study_client client = {.reply = take_reply, .release = release};

typedef struct bench {
    app app;
    commit *c;
    atomic_llong wake_at;
} bench;

static int set_up(void **state)
{
    static bench b;
    store_error error = {0};
    b = (bench){0};
    *state = &b;
    if (store_open_memory(&b.app.store, &error) != STORE_OK)
        return -1;
    b.c = commit_new(&b.app, "s", &b.wake_at);
    return b.c && commit_open(b.c, 1, 1, 1) == STORE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    bench *b = *state;
    commit_free(b->c);
    store_close(b->app.store);
    return 0;
}

/* A turn that records nothing, such as one that answers a repeated result. */
static asked turn(commit *c)
{
    asked a = {.request.client = &client};
    commit_hold(c, &a.request);
    commit_submit(c);
    return a;
}

static void a_true_reply_is_released(void **state)
{
    const bench *b = *state;
    asked a = turn(b->c);
    assert_int_equal(a.released, 1);
    assert_int_equal(a.unstored, 0);
}

static void record(commit *c, int64_t trial)
{
    store_event event = {.type = EVENT_TRIAL_RENEWED, .time = 1};
    event.u.renewed.trial = trial;
    event.u.renewed.attempt = 1;
    event.u.renewed.worker = "w";
    event.u.renewed.lease_expires_at = 2;
    commit_record(c, &event);
}

static void settle(const commit *c)
{
    while (!commit_is_settled(c))
        sched_yield();
}

static void no_reply_is_true_until_the_study_is_loaded_again(void **state)
{
    const bench *b = *state;
    record(b->c, 99); /* the study has no trial 99, so the write fails */
    commit_submit(b->c);
    settle(b->c);
    for (int i = 0; i < 3; i++) {
        asked a = turn(b->c);
        assert_int_equal(a.released, 0);
        assert_int_equal(a.unstored, 1);
        assert_true(commit_is_settled(b->c));
        assert_true(commit_is_broken(b->c));
    }
    commit_mend(b->c);
    a_true_reply_is_released(state);
}

/* The study's memory is to be loaded again, because planning has failed. That is itself recorded. */
static void what_a_turn_recorded_is_written_when_it_breaks_the_memory(void **state)
{
    const bench *b = *state;
    uint64_t before = commit_done(b->c);
    record(b->c, 1);
    commit_break_after(b->c);
    commit_submit(b->c);
    settle(b->c);
    assert_int_equal(commit_done(b->c), before + 1);
    assert_true(commit_is_broken(b->c));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_true_reply_is_released, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_reply_is_true_until_the_study_is_loaded_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_turn_recorded_is_written_when_it_breaks_the_memory, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
