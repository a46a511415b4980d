/* Roles, tokens, and that the routes ask for the roles that openapi.yaml names. */
#include "server/api/routes.h"
#include "server/base/config.h"
#include "server/base/embedded.h"
#include "server/base/log.h"
#include "server/http/auth.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

/* ---- the table and the contract ------------------------------------------------------------------------ */

static const char *const method_names[HTTP_METHODS] = {"get", "post", "put", "patch", "delete"};

/* The role in the `security` of an operation of openapi.yaml; "open" for none, NULL: no such operation. */
static const char *documented(const char *path, const char *method, char role[16])
{
    char heading[128], verb[32];
    const char *text = embedded_find("openapi.yaml")->data;
    snprintf(heading, sizeof heading, "\n  %s:\n", path);
    snprintf(verb, sizeof verb, "\n    %s:\n", method);
    const char *at = strstr(text, heading);
    if (!at)
        return NULL;
    const char *end = strstr(at + 1, "\n  /");
    at = strstr(at, verb);
    if (!at || (end && at > end))
        return NULL;
    at = strstr(at, "\n      security: [");
    assert_non_null(at);
    if (sscanf(at, "\n      security: [{token: [%15[a-z]]}]", role) != 1)
        strcpy(role, strncmp(at, "\n      security: []\n", 20) == 0 ? "open" : "unreadable");
    return role;
}

static void routes_ask_for_the_roles_of_the_contract(void **state)
{
    int n = 0;
    (void)state;
    for (const route *r = api_routes; r->path; r++) {
        char role[16];
        if (strcmp(r->path, "/{file}") == 0) { /* named in the text of "/" */
            assert_int_equal(r->access, AUTH_OPEN);
            continue;
        }
        const char *want = documented(r->path, method_names[r->method], role);
        if (!want)
            fail_msg("%s %s is not in openapi.yaml", method_names[r->method], r->path);
        const char *have = r->access == AUTH_OPEN           ? "open"
                           : r->access == AUTH_WHOLE_VIEWER ? "viewer"
                                                            : auth_role_name(r->access);
        if (strcmp(want, have) != 0)
            fail_msg("%s %s asks for %s, openapi.yaml says %s", method_names[r->method], r->path, have, want);
        n++;
    }
    assert_true(n > 20);
}

/* ---- the rule ------------------------------------------------------------------------------------------ */

static void roles_include_one_another(void **state)
{
    static const auth_access order[] = {AUTH_VIEWER, AUTH_WORKER, AUTH_EDITOR, AUTH_ADMIN};
    (void)state;
    for (int have = 0; have < 4; have++)
        for (int need = 0; need < 4; need++) {
            auth_identity all = {.role = order[have]}, one = {.role = order[have], .study = "mine"};
            auth_verdict by_role = have >= need ? AUTH_ALLOWED : AUTH_FORBIDDEN;
            assert_int_equal(auth_decide(order[need], &all, ""), by_role);
            assert_int_equal(auth_decide(order[need], &all, "theirs"), by_role);
            assert_int_equal(auth_decide(order[need], &one, "mine"), by_role);
            assert_int_equal(auth_decide(order[need], &one, "theirs"), AUTH_FORBIDDEN);
            assert_int_equal(auth_decide(order[need], &one, "min"), AUTH_FORBIDDEN);
            assert_int_equal(auth_decide(order[need], &one, ""), need == 0 ? AUTH_ALLOWED : AUTH_FORBIDDEN);
            assert_int_equal(auth_decide(AUTH_OPEN, &one, "theirs"), AUTH_ALLOWED);
            assert_int_equal(auth_decide(AUTH_WHOLE_VIEWER, &all, ""), AUTH_ALLOWED);
            assert_int_equal(auth_decide(AUTH_WHOLE_VIEWER, &one, ""), AUTH_FORBIDDEN);
        }
}

static void who_is_unknown_gets_what_is_open(void **state)
{
    auth_identity nobody = {.role = AUTH_OPEN}, blank = {0};
    (void)state;
    for (auth_access need = AUTH_UNSAID; need <= AUTH_WHOLE_VIEWER; need++) {
        assert_int_equal(auth_decide(need, &nobody, "mine"),
                         need == AUTH_OPEN ? AUTH_ALLOWED : AUTH_UNKNOWN_CALLER);
        assert_int_equal(auth_decide(need, &blank, ""),
                         need == AUTH_OPEN ? AUTH_ALLOWED : AUTH_UNKNOWN_CALLER);
    }
    auth_identity admin = {.role = AUTH_ADMIN};
    assert_int_equal(auth_decide(AUTH_UNSAID, &admin, ""), AUTH_FORBIDDEN); /* a route that forgot to say */
}

static void roles_have_names(void **state)
{
    auth_access role;
    (void)state;
    for (role = AUTH_VIEWER; role <= AUTH_ADMIN; role++) {
        auth_access back = AUTH_UNSAID;
        assert_true(auth_role_parse(&back, auth_role_name(role)));
        assert_int_equal(back, role);
    }
    assert_false(auth_role_parse(&role, ""));
    assert_false(auth_role_parse(&role, "Admin"));
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

static void add(auth *a, const store_token *token)
{
    auth_entry *entry = auth_entry_new(token);
    assert_non_null(entry);
    auth_add(a, entry);
}

static auth_identity identify(auth *a, const char *text, int64_t now)
{
    char header[200];
    snprintf(header, sizeof header, "Bearer %s", text);
    return auth_identify(a, header, now);
}

static void a_token_is_known_by_its_text(void **state)
{
    store *s;
    auth *a;
    char ids[2][AUTH_ID_SIZE], texts[2][AUTH_TEXT_SIZE];
    store_token tokens[2] = {{.role = "worker", .study = "mine"}, {.role = "viewer", .study = ""}};
    server_config config = {.admin_token_file = ""};
    (void)state;
    assert_int_equal(store_open_memory(&s, NULL), STORE_OK);
    assert_true(auth_open(&a, &config, s));
    for (int i = 0; i < 2; i++) {
        auth_make(&tokens[i], ids[i], texts[i]);
        assert_int_equal(strlen(texts[i]), 68);
        add(a, &tokens[i]);
    }
    assert_string_not_equal(texts[0], texts[1]);
    assert_int_equal(auth_tokens(a), 2);
    auth_identity who = identify(a, texts[0], 1);
    assert_int_equal(who.role, AUTH_WORKER);
    assert_string_equal(who.study, "mine");
    assert_string_equal(who.id, ids[0]);
    assert_int_equal(identify(a, texts[1], 1).role, AUTH_VIEWER);
    for (size_t i = 0; i < strlen(texts[0]); i++) { /* every character counts */
        char other[AUTH_TEXT_SIZE];
        strcpy(other, texts[0]);
        other[i] = other[i] == 'A' ? 'B' : 'A';
        assert_int_equal(identify(a, other, 1).role, AUTH_OPEN);
    }
    auth_remove(a, ids[1]);
    assert_int_equal(identify(a, texts[1], 1).role, AUTH_OPEN);
    auth_remove_study(a, "mine");
    assert_int_equal(identify(a, texts[0], 1).role, AUTH_OPEN);
    assert_int_equal(auth_tokens(a), 0);
    auth_close(a);
    store_close(s);
}

static void a_token_is_good_until_it_expires(void **state)
{
    store *s;
    auth *a;
    char id[AUTH_ID_SIZE], text[AUTH_TEXT_SIZE];
    store_token token = {.role = "admin", .study = "", .expires_at = 1000};
    server_config config = {.admin_token_file = ""};
    (void)state;
    assert_int_equal(store_open_memory(&s, NULL), STORE_OK);
    assert_true(auth_open(&a, &config, s));
    auth_make(&token, id, text);
    add(a, &token);
    assert_int_equal(identify(a, text, 999).role, AUTH_ADMIN);
    assert_int_equal(identify(a, text, 1000).role, AUTH_OPEN);
    auth_close(a);
    store_close(s);
}

static void a_token_tells_its_name_and_expiry(void **state)
{
    store *s;
    auth *a;
    char ids[2][AUTH_ID_SIZE], texts[2][AUTH_TEXT_SIZE];
    store_token tokens[2] = {
        {.role = "worker", .study = "mine", .description = "the cluster", .expires_at = 1000},
        {.role = "viewer", .study = "", .description = ""}};
    server_config config = {.admin_token_file = ""};
    auth_token about;
    (void)state;
    assert_int_equal(store_open_memory(&s, NULL), STORE_OK);
    assert_true(auth_open(&a, &config, s));
    for (int i = 0; i < 2; i++) {
        auth_make(&tokens[i], ids[i], texts[i]);
        add(a, &tokens[i]);
    }
    auth_identity who = identify(a, texts[0], 1);
    assert_true(auth_about(&about, a, &who));
    assert_string_equal(about.name, "the cluster");
    assert_int_equal(about.expires_at, 1000);
    free(about.name);
    auth_remove(a, ids[0]);
    assert_true(auth_about(&about, a, &who));
    assert_null(about.name);
    assert_int_equal(about.expires_at, 0);
    who = identify(a, texts[1], 1);
    assert_true(auth_about(&about, a, &who));
    assert_null(about.name);
    assert_int_equal(about.expires_at, 0);
    auth_close(a);
    store_close(s);
}

static void a_role_of_a_newer_version_is_good_for_nothing(void **state)
{
    store_token token = {.id = "1", .role = "owner", .study = ""};
    store *s;
    auth *a;
    char id[AUTH_ID_SIZE], text[AUTH_TEXT_SIZE];
    server_config config = {.admin_token_file = ""};
    (void)state;
    assert_int_equal(store_open_memory(&s, NULL), STORE_OK);
    assert_true(auth_open(&a, &config, s));
    auth_make(&token, id, text);
    add(a, &token);
    auth_identity who = identify(a, text, 1);
    assert_int_equal(auth_decide(AUTH_VIEWER, &who, ""), AUTH_UNKNOWN_CALLER);
    auth_close(a);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_ask_for_the_roles_of_the_contract),
        cmocka_unit_test(roles_include_one_another),
        cmocka_unit_test(who_is_unknown_gets_what_is_open),
        cmocka_unit_test(roles_have_names),
        cmocka_unit_test(a_token_is_known_by_its_text),
        cmocka_unit_test(a_token_is_good_until_it_expires),
        cmocka_unit_test(a_token_tells_its_name_and_expiry),
        cmocka_unit_test(a_role_of_a_newer_version_is_good_for_nothing),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
