/* Tokens and settings in every backend of the store. */
#include "tests/support/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static store_status submitted(store_write *write)
{
    store_waiter waiter = STORE_WAITER_INIT;
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    return waiter.last_status;
}

static store_status put_token(store_lane *lane, const char *id, const char *study, const char *key)
{
    store_write *write;
    store_token token = {.id = id, .role = "worker", .study = study, .description = "d", .created_at = 5};
    store_answer answer = {.token = "", .path = "/v1/tokens", .key = key, .time = 1000};
    memset(token.hash, *id, sizeof token.hash);
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    assert_int_equal(store_write_put_token(write, &token), STORE_OK);
    if (key)
        assert_int_equal(store_write_set_answer(write, &answer), STORE_OK);
    return submitted(write);
}

static store_status remove_token(store_lane *lane, const char *id)
{
    store_write *write;
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    assert_int_equal(store_write_remove_token(write, id), STORE_OK);
    return submitted(write);
}

typedef struct seen_tokens {
    char text[256];
    int64_t last;
} seen_tokens;

static void take_token(void *arg, const store_token *token)
{
    seen_tokens *seen = arg;
    assert_true(token->number > seen->last);
    assert_int_equal(token->hash[31], token->id[0]);
    assert_string_equal(token->role, "worker");
    assert_string_equal(token->description, "d");
    assert_int_equal(token->created_at, 5);
    seen->last = token->number;
    sprintf(seen->text + strlen(seen->text), "%s:%s ", token->id, token->study);
}

static void expect_tokens(store *s, size_t limit, const char *want)
{
    seen_tokens seen = {0};
    assert_int_equal(store_read_tokens(s, 0, limit, take_token, &seen, NULL), STORE_OK);
    assert_string_equal(seen.text, want);
}

/* Each write on a lane of its own: a failed one fails all that follow it. */
#define ON_A_LANE(status, call)                                                                              \
    do {                                                                                                     \
        assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);                                      \
        assert_int_equal(call, status);                                                                      \
        store_lane_close(lane);                                                                              \
    } while (0)

static void tokens_come_and_go(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *mine = suite_create(s, "mine", &study), *lane;
    ON_A_LANE(STORE_OK, put_token(lane, "a", "", NULL));
    ON_A_LANE(STORE_OK, put_token(lane, "b", "mine", "k"));
    ON_A_LANE(STORE_OK, put_token(lane, "c", "", NULL));
    ON_A_LANE(STORE_EXISTS, put_token(lane, "b", "", NULL));
    ON_A_LANE(STORE_NOT_FOUND, put_token(lane, "d", "theirs", NULL));
    ON_A_LANE(STORE_EXISTS, put_token(lane, "e", "", "k")); /* answered before: the token is taken back */
    expect_tokens(s, 10, "a: b:mine c: ");
    expect_tokens(s, 2, "a: b:mine ");
    ON_A_LANE(STORE_OK, remove_token(lane, "a"));
    ON_A_LANE(STORE_NOT_FOUND, remove_token(lane, "a"));
    expect_tokens(s, 10, "b:mine c: ");
    store_waiter waiter = STORE_WAITER_INIT;
    store_submit_delete(mine, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_OK);
    expect_tokens(s, 10, "c: ");
    store_lane_close(mine);
}

static store_status put_setting(store_lane *lane, const char *name, const char *value, const char *key)
{
    store_write *write;
    store_answer answer = {.token = "", .path = "/v1/settings", .key = key, .time = 1000};
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    assert_int_equal(store_write_put_setting(write, name, value), STORE_OK);
    if (key)
        assert_int_equal(store_write_set_answer(write, &answer), STORE_OK);
    return submitted(write);
}

static void take_setting(void *arg, const char *value)
{
    snprintf(arg, 16, "%s", value);
}

static void expect_setting(store *s, const char *name, store_status status, const char *value)
{
    char got[16] = "";
    assert_int_equal(store_read_setting(s, name, take_setting, got, NULL), status);
    assert_string_equal(got, value);
}

static void settings_are_replaced(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_lane *lane;
    expect_setting(s, "a", STORE_NOT_FOUND, "");
    ON_A_LANE(STORE_OK, put_setting(lane, "a", "one", "k"));
    ON_A_LANE(STORE_OK, put_setting(lane, "b", "other", NULL));
    ON_A_LANE(STORE_OK, put_setting(lane, "a", "two", NULL));
    expect_setting(s, "a", STORE_OK, "two");
    /* Answered before: nothing of the write stays. */
    ON_A_LANE(STORE_EXISTS, put_setting(lane, "a", "three", "k"));
    ON_A_LANE(STORE_EXISTS, put_setting(lane, "c", "new", "k"));
    expect_setting(s, "a", STORE_OK, "two");
    expect_setting(s, "b", STORE_OK, "other");
    expect_setting(s, "c", STORE_NOT_FOUND, "");
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(tokens_come_and_go),
        SUITE_TEST(settings_are_replaced),
    };
    return suite_run("store_tokens", tests, sizeof tests / sizeof *tests);
}
