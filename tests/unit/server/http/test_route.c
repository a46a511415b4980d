/* The table of routes: each row is found by a path of its own, and no path belongs to two rows. */
#include "server/api/routes.h"
#include "server/http/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

/* A path of this pattern. */
static void fill(const char *pattern, char *out, size_t size)
{
    static const struct {
        const char *name, *example;
    } examples[] = {{"{study}", "a.b-c_9"}, {"{number}", "12"}, {"{token}", "t-1"}, {"{file}", "index.html"}};
    size_t n = 0;
    while (*pattern) {
        size_t i = 0;
        while (i < 4 && strncmp(pattern, examples[i].name, strlen(examples[i].name)) != 0)
            i++;
        n +=
            (size_t)snprintf(out + n, size - n, i < 4 ? "%s" : "%.1s", i < 4 ? examples[i].example : pattern);
        assert_true(n < size);
        pattern += i < 4 ? strlen(examples[i].name) : 1;
    }
}

static const route *find(const route *table, const char *path, const route *like, unsigned *methods)
{
    http_request request = {0};
    const char *type = route_content_type(like->body);
    snprintf(request.content_type, sizeof request.content_type, "%s", type ? type : "application/json");
    const route *found = route_find(table, path, like->method, &request, methods);
    if (found && strstr(found->path, "{study}"))
        assert_string_equal(request.study, "a.b-c_9");
    if (found && strstr(found->path, "{number}"))
        assert_int_equal(request.number, 12);
    if (found && strstr(found->path, "{token}"))
        assert_string_equal(request.token, "t-1");
    return found;
}

/* So the rows can have any order. */
static void test_each_path_has_one_row(void **state)
{
    (void)state;
    char path[128];
    unsigned methods;
    for (const route *r = api_routes; r->path; r++) {
        fill(r->path, path, sizeof path);
        assert_ptr_equal(find(api_routes, path, r, &methods), r);
        for (const route *other = r + 1; other->path; other++) {
            const route alone[] = {*other, {0}};
            bool takes_rest = other->method == r->method && strcmp(other->path, r->path) == 0;
            assert_true(!find(alone, path, r, &methods) || takes_rest);
            assert_true(methods == 0 || strcmp(other->path, r->path) == 0);
        }
    }
}

static void test_paths_that_nearly_fit(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "",
        "v1/version",
        "/v1",
        "/v1/",
        "/v1/vers",
        "/v1/versions",
        "/v1/version/",
        "/v1//version",
        "//v1",
        "/v1/studies/A",
        "/v1/studies/a/ask/",
        "/v1/studies/a/as",
        "/v1/studies/a/asks",
        "/v1/studies//ask",
        "/v1/studies/a/trials/x",
        "/v1/studies/a/trials/-1",
        "/v1/studies/a/trials//why",
        "/v1/tokens/",
        "/index.htm",
        "/{file}",
        "/v1/studies/{study}",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (int m = 0; m < HTTP_METHODS; m++) {
            http_request request = {0};
            unsigned methods = 1;
            assert_null(route_find(api_routes, paths[i], (http_method)m, &request, &methods));
            assert_int_equal(methods, 0);
        }
    http_request request = {0};
    assert_true(route_has_word_for_number(api_routes, "/v1/studies/a/trials/x", &request));
    assert_string_equal(request.study, "a");
    assert_false(route_has_word_for_number(api_routes, "/v1/studies/a/trials//why", &request));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_path_has_one_row),
                                       cmocka_unit_test(test_paths_that_nearly_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
