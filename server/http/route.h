/* Routes, and how a request finds its route. The table of routes is passed to http_start. */
#ifndef SERVER_HTTP_ROUTE_H
#define SERVER_HTTP_ROUTE_H

#include "server/http/http.h"

typedef enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_METHODS } http_method;

typedef enum route_kind {
    ROUTE_IMMEDIATE, /* the handler answers at once, on the HTTP thread; it must not compute */
    ROUTE_DEFERRED,  /* the same, or it calls http_defer and answers later; it must not wait */
    ROUTE_POOL, /* the handler runs on the serving threads or, if the body is large, on the reading threads */
    ROUTE_READ, /* the handler may take long: it runs on the reading threads, only a few per caller at a time */
    ROUTE_UPLOAD /* as ROUTE_READ; `piece` gets the body in pieces, then the handler is called */
} route_kind;

typedef enum route_body {
    ROUTE_BODY_NONE,
    ROUTE_BODY_OPTIONAL,
    ROUTE_BODY_REQUIRED,
    /* Required, of type application/x-ndjson or multipart/form-data; a later route takes other types. */
    ROUTE_BODY_LINES,
    ROUTE_BODY_FORM
} route_body;

typedef struct route {
    const char *path; /* {study}, {number} and {token} each stand for one segment, {file} for all the rest */
    http_method method;
    auth_access access; /* the role that may call it; a test compares it with openapi.yaml */
    route_kind kind;
    route_body body;
    uint32_t queries; /* bit 1 << http_query */
    void (*handler)(http_request *request);
    void (*piece)(http_request *request, const char *bytes, size_t n);
} route;

/* The only valid Content-Type of such a body; NULL: the handler or the kind of the route decides. */
const char *route_content_type(route_body body);

const char *http_method_name(http_method method);

/* Finds the route in a table that ends with a path of NULL, and sets request->study, ->number and so on from
 * the path. NULL: *methods has the bits 1 << http_method of the methods that the path supports, 0 if there is
 * no such path. The caller handles OPTIONS and HEAD. */
const route *route_find(const route *table, const char *path, http_method method, http_request *request,
                        unsigned *methods);

/* Would a route be found if a {number} could be a word? Sets request->study. */
bool route_has_word_for_number(const route *table, const char *path, http_request *request);

/* The value of the Allow header for these methods. */
enum { ROUTE_ALLOW_SIZE = 64 };
void route_allow(unsigned methods, char out[ROUTE_ALLOW_SIZE]);

#endif
