/* Replies that wait for writes. After a failure the memory is ahead of what is stored, so that no reply made from it is
 * true, also if it has nothing to write. */
#include "server/study/commit.h"

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
    return b.c && commit_open(b.c, 1, 1, 0) == STORE_OK ? 0 : -1;
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

static void no_reply_is_true_until_the_study_is_loaded_again(void **state)
{
    const bench *b = *state;
    commit_break(b->c);
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_true_reply_is_released, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_reply_is_true_until_the_study_is_loaded_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
