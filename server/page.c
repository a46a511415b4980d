#include "server/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A whole number from `minimum` on, digits only. */
static bool parse(const char *text, int64_t minimum, int64_t maximum, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < minimum || value > maximum)
        return false;
    *out = value;
    return true;
}

bool page_read(page *out, http_request *request, bool numeric, int64_t first)
{
    const char *limit = request->query[HTTP_QUERY_LIMIT];
    int64_t value = PAGE_LIMIT_DEFAULT;
    *out = (page){.after = first, .token = request->query[HTTP_QUERY_PAGE_TOKEN]};
    if (limit && !parse(limit, 1, PAGE_LIMIT_MAXIMUM, &value)) {
        http_answer_problem(request, 422, NULL, "query parameter 'limit' must be a whole number from 1 to %d",
                            PAGE_LIMIT_MAXIMUM);
        return false;
    }
    out->limit = (size_t)value;
    if (numeric && out->token && !parse(out->token, 0, WIRE_MAX_INTEGER, &out->after)) {
        http_answer_problem(request, 422, NULL, "query parameter 'page_token' is not one of this list's");
        return false;
    }
    return true;
}

bool page_take(page *p)
{
    if (p->rows == p->limit) {
        p->more = true;
        return false;
    }
    p->rows++;
    return true;
}

void page_token(char text[24], int64_t last)
{
    snprintf(text, 24, "%" PRId64, last);
}
