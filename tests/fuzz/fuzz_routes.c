/* The first byte is a method; the first line a path, the second an If-None-Match, the third an address to
 * listen on. What the table answers is compared with a search of its rows by another way of matching. */
#include "proto/entity_tag.h"
#include "server/api/routes.h"
#include "server/base/embedded.h"
#include "server/base/listen.h"
#include "server/http/auth.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

static bool is_id(const char *text, size_t n)
{
    if (n < 1 || n > 63 || !(islower((unsigned char)*text) || isdigit((unsigned char)*text)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && !strchr("._-", text[i]))
            return false;
    return true;
}

/* Do the fixed segments and the number of segments fit? A {file} is all that is left. */
static bool has_shape(const char *pattern, const char *path)
{
    while (*pattern) {
        if (strcmp(pattern, "{file}") == 0)
            return true;
        if (*pattern == '{') {
            pattern += strcspn(pattern, "/");
            path += strcspn(path, "/");
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

static void check_route(const char *path, http_method method)
{
    http_request request = {0};
    unsigned methods = 0, shaped = 0;
    const route *found = route_find(api_routes, path, method, &request, &methods);
    for (const route *r = api_routes; r->path; r++)
        shaped |= has_shape(r->path, path) ? 1u << r->method : 0;
    if (found) {
        HOLDS(found->method == method && has_shape(found->path, path));
        HOLDS(!strstr(found->path, "{study}") || is_id(request.study, strlen(request.study)));
        HOLDS(!strstr(found->path, "{number}") || request.number >= 0);
        HOLDS(!strstr(found->path, "{file}") || request.file);
        HOLDS(route_has_word_for_number(api_routes, path, &request) || !strstr(found->path, "{number}"));
    } else {
        HOLDS((methods & ~shaped) == 0 && (methods & (1u << method)) == 0);
    }
    char allow[ROUTE_ALLOW_SIZE];
    route_allow(methods, allow);
    HOLDS(strlen(allow) < sizeof allow);
    HOLDS(wire_is_study_id(path, strlen(path)) == is_id(path, strlen(path)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tags[] = {"\"a\"", "\"0123abcd\""};
    char *line[3], *text;
    bool loopback;
    if (size == 0 || memchr(data, '\0', size))
        return 0;
    text = malloc(size);
    HOLDS(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    char *at = text;
    for (size_t i = 0; i < 3; i++) {
        size_t n = strcspn(at, "\n");
        line[i] = at;
        at += n + (at[n] == '\n');
    }
    for (size_t i = 0; i < 3; i++)
        line[i][strcspn(line[i], "\n")] = '\0';
    check_route(line[0], (http_method)(data[0] % HTTP_METHODS));
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        HOLDS(!wire_etag_matches(line[1], tags[i]) || strstr(line[1], tags[i]) || strchr(line[1], '*'));
    listen_address_check(line[2], &loopback);
    free(text);
    return 0;
}
