/* Paging of lists: ?limit= and ?page_token=. */
#ifndef SERVER_HTTP_PAGING_H
#define SERVER_HTTP_PAGING_H

#include "server/http/http.h"

enum { PAGE_LIMIT_DEFAULT = 100, PAGE_LIMIT_MAXIMUM = 1000 };

/* A page ends after the first row that brings it to PAGE_BYTES, so that wide rows neither fill the server's memory nor
 * occupy a thread for long. A number in an answer has about PAGE_NUMBER_BYTES bytes. */
enum { PAGE_BYTES = 1 << 20, PAGE_NUMBER_BYTES = 20 };

typedef struct page {
    size_t limit;      /* rows to show; one more is read to see whether there is a next page */
    int64_t after;     /* the page begins after this number; `first` without a token */
    const char *token; /* as given; NULL: none */
    size_t rows;       /* shown so far */
    size_t bytes;      /* the approximate size of these rows */
    bool more;
} page;

/* Reads limit and page_token of the request. numeric: the token is a number. If they are not valid, it
 * answers and returns false. */
bool page_read(page *out, http_request *request, bool numeric, int64_t first);

/* Call it for each row, with its approximate size in bytes. True: show the row. */
bool page_take(page *p, size_t bytes);

/* The token of the page that begins after this number. */
void page_token(char text[24], int64_t last);

/* Reads a query parameter that is a whole number from minimum to maximum. *out keeps its value if the
 * parameter is not given. If it is not valid, the function answers and returns false. */
bool query_integer(http_request *request, http_query query, const char *name, int64_t minimum,
                   int64_t maximum, int64_t *out);

/* Reads ?broken=infeasible, which says how to treat points that break a constraint. *out: is it given? If it is not
 * valid, the function answers and returns false. */
bool query_takes_broken(http_request *request, bool *out);

/* Answers that the query parameter 'state' must be one of these n names. */
void query_refuse_state(http_request *request, const char *const *names, size_t n);

#endif
