/* Paging of lists: ?limit= and ?page_token=. */
#ifndef SERVER_HTTP_PAGING_H
#define SERVER_HTTP_PAGING_H

#include "server/http/http.h"

enum { PAGE_LIMIT_DEFAULT = 100, PAGE_LIMIT_MAXIMUM = 1000 };

typedef struct page {
    size_t limit;      /* rows to show; one more is read, to know whether there is a next page */
    int64_t after;     /* number after which to go on; `first` without a token */
    const char *token; /* as given; NULL */
    size_t rows;       /* shown so far */
    bool more;
} page;

/* Reads the request's parameters, numeric tokens included when `numeric`; answers and returns false when they
 * are not valid. */
bool page_read(page *out, http_request *request, bool numeric, int64_t first);

/* For each row that comes: true when it is to be shown. */
bool page_take(page *p);

/* The token that goes on after this number. */
void page_token(char text[24], int64_t last);

/* A query parameter that is a whole number. *out stays as it is when none was given; answers and returns
 * false when it is not one from minimum to maximum. */
bool query_integer(http_request *request, http_query query, const char *name, int64_t minimum,
                   int64_t maximum, int64_t *out);

#endif
