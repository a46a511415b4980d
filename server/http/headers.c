/* Reads the headers of a request: finds its route and its caller, and makes all refusals that are possible before the
 * body is read. */
#include "proto/arrays.h"
#include "server/base/clock.h"
#include "server/http/auth.h"
#include "server/http/connection.h"
#include "server/http/route.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DRAINED_MAXIMUM = 64 << 20, SKIPPED_MAXIMUM = 1 << 20, KEY_MAXIMUM = 255 };

/* Requests the bytes of many ids from the kernel at once, because this takes longer than everything else about an
 * id. */
static void random_id(char out[HTTP_ID_SIZE])
{
    enum { ID_BYTES = 8 };
    static _Thread_local unsigned char bytes[64 * ID_BYTES];
    static _Thread_local size_t left;
    if (left == 0) {
        randombytes_buf(bytes, sizeof bytes);
        left = sizeof bytes;
    }
    left -= ID_BYTES;
    sodium_bin2hex(out, HTTP_ID_SIZE, bytes + left, ID_BYTES);
}

void http_request_id(struct MHD_Connection *connection, char out[HTTP_ID_SIZE])
{
    const char *sent = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Request-Id");
    size_t n = sent ? strlen(sent) : 0;
    bool usable = n > 0 && n < HTTP_ID_SIZE;
    for (size_t i = 0; usable && i < n; i++)
        usable = sent[i] > ' ' && sent[i] < 127;
    if (usable)
        memcpy(out, sent, n + 1);
    else
        random_id(out);
}

/* Keeps the Idempotency-Key of a POST, or refuses the request. */
static void set_idempotency_key(http_connection *c)
{
    const char *sent = http_connection_header(c, "Idempotency-Key");
    if (!sent || strcmp(c->method, "POST") != 0)
        return;
    size_t n = strlen(sent);
    bool usable = n > 0 && n <= KEY_MAXIMUM;
    for (size_t i = 0; usable && i < n; i++)
        usable = sent[i] >= ' ' && sent[i] < 127;
    if (!usable)
        http_answer_problem(&c->request, MHD_HTTP_BAD_REQUEST, NULL,
                            "Idempotency-Key must have 1 to %d printable ASCII characters", KEY_MAXIMUM);
    else if (!(c->request.idempotency_key = strdup(sent)))
        http_answer_store_problem(&c->request, STORE_NO_MEMORY);
    else
        crypto_generichash_init(&c->hash, NULL, 0, sizeof c->request.body_hash);
}

static void set_content_type(http_connection *c)
{
    const char *sent = http_connection_header(c, MHD_HTTP_HEADER_CONTENT_TYPE);
    char *out = c->request.content_type;
    size_t n = 0;
    while (sent && sent[n] && !strchr("; \t", sent[n]) && n + 1 < sizeof c->request.content_type) {
        out[n] = (char)tolower((unsigned char)sent[n]);
        n++;
    }
    out[n] = '\0';
}

static const struct {
    const char *name;
    http_query query;
} query_names[] = {
    {"limit", HTTP_QUERY_LIMIT},   {"page_token", HTTP_QUERY_PAGE_TOKEN},
    {"state", HTTP_QUERY_STATE},   {"epsilon", HTTP_QUERY_EPSILON},
    {"worker", HTTP_QUERY_WORKER}, {"points", HTTP_QUERY_POINTS},
    {"sort", HTTP_QUERY_SORT},     {"format", HTTP_QUERY_FORMAT},
    {"label", HTTP_QUERY_LABEL},   {"order", HTTP_QUERY_ORDER},
    {"metric", HTTP_QUERY_METRIC}, {"parameter", HTTP_QUERY_PARAMETER},
    {"with", HTTP_QUERY_WITH},     {"retired", HTTP_QUERY_RETIRED},
    {"pulls", HTTP_QUERY_PULLS},   {"ignore", HTTP_QUERY_IGNORE},
    {"id", HTTP_QUERY_ID},         {"trials", HTTP_QUERY_TRIALS},
    {"key", HTTP_QUERY_KEY},       {"broken", HTTP_QUERY_BROKEN},
};

const char *http_query_name(http_query query)
{
    for (size_t i = 0; i < sizeof query_names / sizeof *query_names; i++)
        if (query_names[i].query == query)
            return query_names[i].name;
    return "";
}

typedef struct query_reading {
    http_connection *c;
    wire_errors *errors;
    bool no_memory;
} query_reading;

/* Reads ?min:NAME= and ?max:NAME=. False: it is neither. */
static bool take_bound(query_reading *reading, const char *key, const char *value)
{
    http_request *request = &reading->c->request;
    bool upper = strncmp(key, "max:", 4) == 0;
    if (!(request->route->queries & 1u << HTTP_QUERY_BOUNDS) || (!upper && strncmp(key, "min:", 4) != 0))
        return false;
    if (!wire_grow(&request->bounds, &request->bounds_capacity, request->n_bounds + 1, 4,
                   sizeof *request->bounds)) {
        reading->no_memory = true;
        return true;
    }
    http_bound *bound = &request->bounds[request->n_bounds++];
    *bound = (http_bound){.upper = upper, .name = strdup(key + 4), .value = strdup(value ? value : "")};
    reading->no_memory = !bound->name || !bound->value;
    return true;
}

/* Reads ?bound=min:NAME=VALUE, for clients whose query parameters must have fixed names. False: it is another
 * parameter. */
static bool take_bound_text(query_reading *reading, const char *key, const char *value)
{
    const http_request *request = &reading->c->request;
    if (!(request->route->queries & 1u << HTTP_QUERY_BOUNDS) || strcmp(key, "bound") != 0)
        return false;
    const char *equals = value ? strrchr(value, '=') : NULL;
    char *name = equals ? strndup(value, (size_t)(equals - value)) : NULL;
    if (equals && !name)
        reading->no_memory = true;
    else if (!equals || !take_bound(reading, name, equals + 1))
        wire_errors_add(reading->errors, "",
                        "query parameter 'bound' must be min:NAME=VALUE or max:NAME=VALUE, not '%.100s'",
                        value ? value : "");
    free(name);
    return true;
}

/* Refuses an unknown query parameter, with a list of those that the route has. */
static void refuse_unknown(query_reading *reading, const char *key)
{
    const uint32_t queries = reading->c->request.route->queries;
    char known[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof query_names / sizeof *query_names; i++)
        if (queries & 1u << query_names[i].query && used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, ", %s", query_names[i].name);
    wire_errors_add(reading->errors, "", "unknown query parameter '%.100s'; %s%s%s", key,
                    used ? "known are " : "this call has none", used ? known + 2 : "",
                    queries & 1u << HTTP_QUERY_BOUNDS ? ", min:NAME, max:NAME" : "");
}

static enum MHD_Result read_query(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
    query_reading *reading = arg;
    http_request *request = &reading->c->request;
    (void)kind;
    for (size_t i = 0; i < sizeof query_names / sizeof *query_names; i++) {
        http_query query = query_names[i].query;
        if (strcmp(key, query_names[i].name) != 0 || !(request->route->queries & 1u << query))
            continue;
        if (request->query[query]) {
            wire_errors_add(reading->errors, "", "query parameter '%s' is given twice", key);
            return MHD_YES;
        }
        request->query[query] = strdup(value ? value : "");
        reading->no_memory = !request->query[query];
        return reading->no_memory ? MHD_NO : MHD_YES;
    }
    if (!take_bound_text(reading, key, value) && !take_bound(reading, key, value))
        refuse_unknown(reading, key);
    return reading->no_memory ? MHD_NO : MHD_YES;
}

/* Must a body that is too large be read and discarded? Closing the connection while the client is sending would lose
 * the answer. False if the body is very large, or if the client waits for 100 Continue. */
static bool is_drained(http_connection *c, unsigned long long length)
{
    return length <= DRAINED_MAXIMUM && !http_connection_header(c, MHD_HTTP_HEADER_EXPECT);
}

/* Refuses a body with the wrong Content-Type. */
static void refuse_content_type(http_connection *c)
{
    const route *own = c->request.route;
    char others[128] = ""; /* the types that other routes of the same call accept */
    size_t n = 0;
    for (const route *r = c->door->service->routes; r->path; r++) {
        const char *type = route_content_type(r->body);
        if (type && n < sizeof others && r->method == own->method && strcmp(r->path, own->path) == 0)
            n += (size_t)snprintf(others + n, sizeof others - n, " or %s", type);
    }
    const char *given = c->request.content_type;
    http_answer_problem(&c->request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, NULL,
                        "the Content-Type must be application/json%s, %s%s", others,
                        *given ? "not " : "but is missing", given);
}

/* Makes the refusals that follow from the headers alone. True: the request may continue. */
static bool check_headers(http_connection *c)
{
    http_request *request = &c->request;
    const char *length = http_connection_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (request->route->body != ROUTE_BODY_NONE) {
        if (request->route->body != ROUTE_BODY_OPTIONAL && !length &&
            !http_connection_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
            http_answer_problem(request, MHD_HTTP_LENGTH_REQUIRED, NULL,
                                "this call requires a body with a Content-Length");
            return false;
        }
        c->limit = request->route->kind == ROUTE_UPLOAD ? request->app->config->max_upload
                                                        : request->app->config->max_body;
        c->length = length ? strtoull(length, NULL, 10) : SIZE_MAX;
        if (length && c->length > c->limit && is_drained(c, c->length)) {
            c->too_large = true;
        } else if (length && c->length > c->limit) {
            http_refuse_too_large(c);
            return false;
        }
        bool sent = http_connection_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
                    (length && strtoull(length, NULL, 10) > 0);
        if (request->route->kind != ROUTE_UPLOAD && sent &&
            strcmp(request->content_type, "application/json") != 0) {
            refuse_content_type(c);
            return false;
        }
    }
    const char *coding = http_connection_header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
    if (coding && *coding && strcasecmp(coding, "identity") != 0 && request->route->body != ROUTE_BODY_NONE) {
        http_answer_problem(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, NULL,
                            "Content-Encoding %.64s is not supported; send the body uncompressed", coding);
        return false;
    }
    wire_errors errors = {0};
    query_reading reading = {.c = c, .errors = &errors};
    MHD_get_connection_values(c->mhd, MHD_GET_ARGUMENT_KIND, read_query, &reading);
    if (reading.no_memory) {
        wire_errors_clear(&errors);
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return false;
    }
    if (errors.n > 0) {
        http_answer_problem(request, MHD_HTTP_UNPROCESSABLE_CONTENT, NULL, "%s", errors.items[0].detail);
        wire_errors_clear(&errors);
        return false;
    }
    return true;
}

/* Finds the first reason to refuse the request before it is routed. */
static http_refusal check_request(http_connection *c, const char *version)
{
    if (c->refusal.status)
        return c->refusal; /* of the target */
    http_refusal refusal = http_check_framing(c->mhd, c->method, version);
    if (refusal.status || c->door->owners || c->request.app->config->tokens_required)
        return refusal; /* a page in a browser has no token, and cannot reach the owner's socket */
    return http_check_origin(c->mhd, c->method, c->request.app->config);
}

/* Sets the holder in whose budgets this request is counted. */
static void set_holder(http_connection *c)
{
    http_request *request = &c->request;
    if (c->door->owners)
        return;
    if (*request->caller.id)
        snprintf(request->holder, sizeof request->holder, "token %s", request->caller.id);
    else if (c->link)
        http_link_address(c->link, request->holder, sizeof request->holder);
    if (!*request->holder)
        snprintf(request->holder, sizeof request->holder, "unknown");
}

/* May the caller use this route? If not, it answers with a text that does not reveal which studies exist. */
static bool check_caller(http_connection *c)
{
    http_request *request = &c->request;
    if (c->door->owners || !request->app->config->tokens_required)
        request->caller = (auth_identity){.role = AUTH_ADMIN};
    else
        request->caller = auth_identify(
            request->app->auth, http_connection_header(c, MHD_HTTP_HEADER_AUTHORIZATION), clock_now());
    set_holder(c);
    switch (auth_decide(request->route->access, &request->caller, request->study)) {
    case AUTH_ALLOWED:
        return true;
    case AUTH_UNKNOWN_CALLER:
        request->answer.authenticate = "Bearer realm=\"banditd\"";
        http_answer_problem(request, MHD_HTTP_UNAUTHORIZED, NULL,
                            "this call requires a valid token in the header Authorization: Bearer TOKEN");
        return false;
    case AUTH_FORBIDDEN:
        break;
    }
    http_answer_problem(request, MHD_HTTP_FORBIDDEN, NULL,
                        "the role or the study of this token does not allow this call");
    return false;
}

void http_open_request(http_connection *c, const char *version)
{
    http_request *request = &c->request;
    http_request_id(c->mhd, request->id);
    set_content_type(c);
    c->refusal = check_request(c, version);
    if (c->refusal.status) {
        http_answer_problem(request, c->refusal.status, NULL, "%s", c->refusal.detail);
        return;
    }
    unsigned methods = 0;
    http_method method = HTTP_METHODS;
    if (strcmp(c->method, "GET") == 0 || strcmp(c->method, "HEAD") == 0)
        method = HTTP_GET;
    else if (strcmp(c->method, "POST") == 0)
        method = HTTP_POST;
    else if (strcmp(c->method, "PUT") == 0)
        method = HTTP_PUT;
    else if (strcmp(c->method, "PATCH") == 0)
        method = HTTP_PATCH;
    else if (strcmp(c->method, "DELETE") == 0)
        method = HTTP_DELETE;
    if (!c->encoded_slash)
        request->route = route_find(c->door->service->routes, c->path, method, request, &methods);
    if (strcmp(c->path, "*") == 0 && strcmp(c->method, "OPTIONS") == 0)
        methods = (1u << HTTP_METHODS) - 1; /* the methods of the whole server (RFC 9112, 3.2.4) */
    if (atomic_load(&request->app->stopping)) {
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "the server is shutting down");
    } else if (c->encoded_slash) {
        http_answer_problem(request, MHD_HTTP_NOT_FOUND, NULL,
                            "no path of this API contains an encoded slash (%%2F)");
    } else if (!request->route && !methods &&
               route_has_word_for_number(c->door->service->routes, c->path, request)) {
        http_answer_problem(
            request, MHD_HTTP_NOT_FOUND, NULL,
            "there is nothing at %s: a candidate, trial or result has its number in the path; "
            "GET /v1/studies/%s/candidates?key=KEY finds a candidate by its key",
            c->path, request->study);
    } else if (!request->route && !methods) {
        http_answer_problem(request, MHD_HTTP_NOT_FOUND, NULL, "there is nothing at %s", c->path);
    } else if (!request->route) {
        route_allow(methods, request->answer.allow);
        if (strcmp(c->method, "OPTIONS") == 0)
            http_answer_empty(request, MHD_HTTP_NO_CONTENT);
        else
            http_answer_problem(request, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, "%s supports only %s", c->path,
                                request->answer.allow);
    } else if (check_caller(c) && check_headers(c)) {
        set_idempotency_key(c);
    }
}

bool http_may_go_on(http_connection *c)
{
    const char *length = http_connection_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return !c->refusal.status && !http_connection_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) &&
           !http_connection_header(c, MHD_HTTP_HEADER_EXPECT) &&
           (!length || strtoull(length, NULL, 10) <= SKIPPED_MAXIMUM);
}
