/* Notifications without a network: addresses, signatures, and a missing library. */
#include "server/notify/internal.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool is_public(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return address_is_public((const struct sockaddr *)&in);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return address_is_public((const struct sockaddr *)&in6);
}

static void addresses(void **state)
{
    /* The first and the last of each block, beside what is just outside. */
    static const char *const inside[] = {"0.0.0.0",
                                         "0.255.255.255",
                                         "10.0.0.0",
                                         "10.255.255.255",
                                         "100.64.0.0",
                                         "100.127.255.255",
                                         "127.0.0.1",
                                         "127.255.255.255",
                                         "169.254.169.254",
                                         "172.16.0.0",
                                         "172.31.255.255",
                                         "192.0.0.8",
                                         "192.0.2.1",
                                         "192.88.99.1",
                                         "192.168.0.0",
                                         "192.168.255.255",
                                         "198.18.0.0",
                                         "198.19.255.255",
                                         "198.51.100.7",
                                         "203.0.113.9",
                                         "224.0.0.1",
                                         "240.0.0.1",
                                         "255.255.255.255",
                                         "::",
                                         "::1",
                                         "::ffff:10.1.2.3",
                                         "::ffff:127.0.0.1",
                                         "::127.0.0.1",
                                         "64:ff9b::a00:1",
                                         "64:ff9b:1::1",
                                         "2002:a00:1::",
                                         "2002:7f00:1::1",
                                         "2001::1",
                                         "2001:1ff:ffff::1",
                                         "2001:db8::1",
                                         "3fff::1",
                                         "fc00::1",
                                         "fdff::1",
                                         "fe80::1",
                                         "fec0::1",
                                         "ff02::1",
                                         "100::1",
                                         "4000::1"};
    static const char *const outside[] = {
        "1.0.0.0",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255",   "100.128.0.0",
        "126.255.255.255", "128.0.0.0",       "169.253.255.255", "169.255.0.0",      "172.15.255.255",
        "172.32.0.0",      "192.0.1.0",       "192.167.255.255", "192.169.0.0",      "198.17.255.255",
        "198.20.0.0",      "223.255.255.255", "::ffff:8.8.8.8",  "64:ff9b::808:808", "2002:808:808::1",
        "2001:200::1",     "2001:4860::8888", "2a00:1450::1",    "3ffe:ffff::1"};
    (void)state;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (is_public(inside[i]))
            fail_msg("%s", inside[i]);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (!is_public(outside[i]))
            fail_msg("%s", outside[i]);
    struct sockaddr other = {.sa_family = AF_UNIX};
    assert_false(address_is_public(&other));
}

/* The example of the specification of Standard Webhooks. */
static void signatures(void **state)
{
    static const char body[] = "{\"test\": 2432232314}";
    char text[SIGNATURE_SIZE], secret[NOTIFY_SECRET_SIZE], again[NOTIFY_SECRET_SIZE], id[MESSAGE_ID_SIZE];
    (void)state;
    message_sign(text, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                 body, strlen(body));
    assert_string_equal(text, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    notify_make_secret(secret);
    notify_make_secret(again);
    assert_string_not_equal(secret, again);
    assert_int_equal(strlen(secret), strlen(WIRE_SECRET_PREFIX) + 44);
    message_id_make(id);
    assert_int_equal(strlen(id), 36);
}

static void a_missing_library(void **state)
{
    static const char *const absent[] = {"libcurl-absent.so.4", NULL}, *const other[] = {"libc.so.6", NULL};
    char why[200] = "";
    (void)state;
    assert_false(curl_library_load(absent, why, sizeof why));
    assert_string_equal(why,
                        "libcurl-absent.so.4 cannot be loaded, which notifications need (package libcurl4)");
    assert_false(curl_library_load(other, why, sizeof why));
    assert_string_equal(why, "libcurl has no curl_easy_cleanup: it is older than 7.85");
    assert_true(notify_can_send(why, sizeof why));
}

/* Failures are counted from write to write, and a run is told once. */
static void runs_of_failures(void **state)
{
    /* per write: failures before an evaluation, whether there was one, failures after; queued after it */
    static const struct {
        int failures, evaluations, since;
        size_t queued;
    } writes[] = {{4, 0, 0, 0}, {0, 1, 0, 0}, {4, 0, 0, 0}, {1, 0, 0, 1}, {9, 0, 0, 1},
                  {0, 1, 4, 1}, {1, 0, 0, 2}, {2, 1, 5, 3}, {0, 1, 0, 3}, {5, 1, 0, 4}};
    wire_receiver entry = {.url = (char *)"http://192.0.2.1/",
                           .secret = (char *)"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                           .events = 1u << WIRE_NOTICE_FAILING};
    const wire_notify list = {.list = &entry, .n = 1};
    char why[200];
    notify_statistics now;
    notify *n = notify_new(false);
    (void)state;
    assert_true(notify_can_send(why, sizeof why) && notify_set(n, &list));
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        notify_news news = {0};
        for (int k = 0; k < writes[i].failures; k++)
            notify_note_failure(&news);
        for (int k = 0; k < writes[i].evaluations; k++)
            notify_note_evaluation(&news);
        for (int k = 0; k < writes[i].since; k++)
            notify_note_failure(&news);
        notify_post(n, "s", 1, &news);
        notify_read_statistics(n, &now);
        if (now.queued != writes[i].queued)
            fail_msg("write %zu: %zu", i, now.queued);
    }
    notify_forget(n, 1);
    notify_free(n);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(signatures),
        cmocka_unit_test(a_missing_library),
        cmocka_unit_test(runs_of_failures),
    };
    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
