#include "server/http/paging.h"

#include "proto/integer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool query_integer(http_request *request, http_query query, const char *name, int64_t minimum,
                   int64_t maximum, int64_t *out)
{
    const char *text = request->query[query];
    if (!text || wire_decode_integer(text, strlen(text), minimum, maximum, out))
        return true;
    http_answer_problem(request, 422, NULL,
                        "query parameter '%s' must be a whole number from %" PRId64 " to %" PRId64, name,
                        minimum, maximum);
    return false;
}

bool page_read(page *out, http_request *request, bool numeric, int64_t first)
{
    int64_t value = PAGE_LIMIT_DEFAULT;
    *out = (page){.after = first, .token = request->query[HTTP_QUERY_PAGE_TOKEN]};
    if (!query_integer(request, HTTP_QUERY_LIMIT, "limit", 1, PAGE_LIMIT_MAXIMUM, &value))
        return false;
    out->limit = (size_t)value;
    if (numeric && out->token &&
        !wire_decode_integer(out->token, strlen(out->token), 0, WIRE_MAX_INTEGER, &out->after)) {
        http_answer_problem(request, 422, NULL, "query parameter 'page_token' is not a token of this list");
        return false;
    }
    return true;
}

bool page_take(page *p, size_t bytes)
{
    if (p->rows == p->limit || p->bytes >= PAGE_BYTES) {
        p->more = true;
        return false;
    }
    p->rows++;
    p->bytes += bytes;
    return true;
}

void page_token(char text[24], int64_t last)
{
    snprintf(text, 24, "%" PRId64, last);
}

bool query_takes_broken(http_request *request, bool *out)
{
    const char *broken = request->query[HTTP_QUERY_BROKEN];
    bool valid = !broken || strcmp(broken, "infeasible") == 0;
    *out = broken != NULL;
    if (!valid)
        http_answer_problem(request, 422, NULL, "query parameter 'broken' must be infeasible");
    return valid;
}

void query_refuse_state(http_request *request, const char *const *names, size_t n)
{
    char list[200] = "";
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s'%s'",
                 i == 0      ? ""
                 : i + 1 < n ? ", "
                             : " or ",
                 names[i]);
    }
    http_answer_problem(request, 422, NULL, "query parameter 'state' must be %s, not '%.60s'", list,
                        request->query[HTTP_QUERY_STATE]);
}
