/* Refuses requests before they are routed. */
#include "server/base/config.h"
#include "server/http/internal.h"

#include <ctype.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static http_refusal refusal(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
static http_refusal refusal(int status, const char *format, ...)
{
    http_refusal r = {.status = status};
    va_list args;
    va_start(args, format);
    vsnprintf(r.detail, sizeof r.detail, format, args);
    va_end(args);
    return r;
}

static const http_refusal none = {0};

bool http_library_checks_heads(void)
{
    return strncmp(MHD_get_version(), "0.", 2) != 0;
}

http_refusal http_check_target(const char *target)
{
    for (const char *c = target; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 127)
            return refusal(400, "the request target contains an unencoded space or control character");
    for (const char *c = strchr(target, '%'); c; c = strchr(c + 1, '%')) {
        if (!isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2]))
            return refusal(400, "the request target contains a percent sign without two hexadecimal digits");
        if (c[1] == '0' && c[2] == '0')
            return refusal(400, "the request target contains an encoded NUL");
    }
    return none;
}

/* Are there more bytes between `text` and `next` than `length` and `ends` together? Both point into the received
 * bytes. */
static bool is_cut(const char *text, size_t length, const char *next, size_t ends)
{
    uintptr_t begin = (uintptr_t)text, end = (uintptr_t)next;
    return !http_library_checks_heads() && end > begin && end - begin < HTTP_HEAD_MEMORY &&
           end - begin > length + ends;
}

static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

http_refusal http_check_line(const char *method, const char *target, size_t length, const char *version)
{
    size_t n = strspn(method, token);
    if (method[n] || is_cut(method, n, target, 1))
        return refusal(400, "the request method is malformed");
    if (is_cut(target, length, version, 1))
        return refusal(400, "the request target contains a NUL");
    return none;
}

bool http_target_has_slash(const char *target)
{
    const char *query = strchrnul(target, '?');
    for (const char *c = strchr(target, '%'); c && c < query; c = strchr(c + 1, '%'))
        if (c[1] == '2' && (c[2] == 'F' || c[2] == 'f'))
            return true;
    return false;
}

const char *http_target_path(struct MHD_Connection *connection, const char *target, http_refusal *out)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                    : strncasecmp(target, "https://", 8) == 0 ? 8
                                                              : 0;
    if (scheme == 0)
        return target;
    size_t n = strcspn(target + scheme, "/");
    if (!host || strlen(host) != n || strncasecmp(host, target + scheme, n) != 0) {
        *out = refusal(400, "the host of the request target does not match the Host header");
        return NULL;
    }
    return target[scheme + n] ? target + scheme + n : "/";
}

/* ---- framing ------------------------------------------------------------------------------------------- */

/* Headers that the server uses and that may occur only once: if there were two, another program might use the other
 * one. */
static const char *const single[] = {MHD_HTTP_HEADER_AUTHORIZATION,
                                     MHD_HTTP_HEADER_CONTENT_TYPE,
                                     MHD_HTTP_HEADER_CONTENT_ENCODING,
                                     MHD_HTTP_HEADER_ORIGIN,
                                     "Idempotency-Key",
                                     "Last-Event-ID",
                                     "Sec-Fetch-Site"};

typedef struct framing {
    int lengths, encodings, hosts;
    unsigned singles;     /* bit i: single[i] has occurred */
    const char *repeated; /* one of them; NULL: none */
    bool bad_length, bad_name, bad_value, bad_line;
    const char *next; /* where the next line begins if lines end in CR LF */
} framing;

static bool is_digits(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n < 20 && text[n] == '\0';
}

/* RFC 9110, 5.6.2. libmicrohttpd (0.9.75) appends a continuation line to the name of the previous header. A length or
 * an encoding with such a name would be overlooked. */
static bool is_name(const char *name)
{
    static const char *const framing_names[] = {MHD_HTTP_HEADER_CONTENT_LENGTH,
                                                MHD_HTTP_HEADER_TRANSFER_ENCODING};
    for (size_t i = 0; i < sizeof framing_names / sizeof *framing_names; i++) {
        size_t n = strlen(framing_names[i]);
        if (strncasecmp(name, framing_names[i], n) == 0 && name[n])
            return false;
    }
    return name[strspn(name, token)] == '\0';
}

/* Other parsers treat a carriage return as the end of a line, and a NUL as the end of a text (RFC 9110, 5.5). */
static bool has_control(const char *text, size_t size)
{
    return text && (memchr(text, '\0', size) || memchr(text, '\r', size) || memchr(text, '\n', size));
}

/* libmicrohttpd before 1.0 ends a line at a bare line feed, a value at a NUL, and the head at a line that begins with
 * a NUL, and leaves out lines without a name. It keeps the lines in the memory where they were received, with NULs in
 * place of their ends. So in each of these cases, a line does not begin right after the CR LF of the previous one. */
static void check_line(framing *f, const char *key, const char *value, size_t value_size)
{
    f->bad_line |= f->next && key != f->next;
    f->next = value ? value + value_size + 2 : NULL;
}

/* The empty line has two bytes; after it, the head must have the size that libmicrohttpd counts. */
static void check_last_line(framing *f, struct MHD_Connection *connection, const char *method)
{
    const union MHD_ConnectionInfo *head =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    f->bad_line |= f->next && head && (uintptr_t)f->next + 2 != (uintptr_t)method + head->header_size;
}

static void count_single(framing *f, const char *key)
{
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        if (strcasecmp(key, single[i]) != 0)
            continue;
        if (f->singles & 1u << i)
            f->repeated = single[i];
        f->singles |= 1u << i;
    }
}

static enum MHD_Result count_header(void *arg, enum MHD_ValueKind kind, const char *key, size_t key_size,
                                    const char *value, size_t value_size)
{
    framing *f = arg;
    (void)kind;
    f->bad_name |= key_size == 0 || strlen(key) != key_size || !is_name(key);
    f->bad_value |= has_control(value, value_size);
    check_line(f, key, value, value_size);
    if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        f->lengths++;
        f->bad_length |= !value || !is_digits(value);
    } else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        f->encodings++;
        f->bad_length |= !value || strcasecmp(value, "chunked") != 0;
    } else if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
        f->hosts++;
    } else {
        count_single(f, key);
    }
    return MHD_YES;
}

http_refusal http_check_framing(struct MHD_Connection *connection, const char *method, const char *version)
{
    framing f = {.next = version + strlen(version) + 2};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, count_header, &f);
    if (f.bad_name)
        return refusal(400, "a header name is malformed, or a header value continues on another line");
    check_last_line(&f, connection, method);
    if (f.bad_line && !http_library_checks_heads())
        return refusal(400, "a line of the request head has no name, has a NUL, or does not end in CR LF");
    if (f.bad_value)
        return refusal(400, "a header value contains a NUL or the end of a line");
    if (f.encodings && strcmp(version, MHD_HTTP_VERSION_1_0) == 0) /* RFC 9112, 6.1 */
        return refusal(400, "HTTP/1.0 has no Transfer-Encoding");
    if (f.repeated)
        return refusal(400, "the request has more than one %s", f.repeated);
    if (f.lengths > 1)
        return refusal(400, "the request has more than one Content-Length");
    if (f.lengths && f.encodings)
        return refusal(400, "the request has both Content-Length and Transfer-Encoding");
    if (f.encodings > 1)
        return refusal(400, "the request has more than one Transfer-Encoding");
    if (f.bad_length)
        return refusal(400, "the body must have a valid Content-Length or Transfer-Encoding: chunked");
    if (f.hosts > 1 || (f.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_1) == 0))
        return refusal(400, "the request must have exactly one Host header");
    return none;
}

/* ---- origins ------------------------------------------------------------------------------------------- */

/* The host of "host", "host:port" or "[address]:port". */
static void host_name(const char *value, char *out, size_t size)
{
    const char *end = *value == '[' ? strchr(value, ']') : strrchr(value, ':');
    size_t n = end ? (size_t)(end - value) + (*value == '[') : strlen(value);
    n = n < size ? n : size - 1;
    memcpy(out, value, n);
    out[n] = '\0';
}

static bool is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host));
}

/* Is the host one of the comma-separated names? */
static bool is_listed(const char *list, const char *host)
{
    size_t n = strlen(host);
    for (const char *at = list; *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        if (length == n && strncasecmp(at, host, n) == 0)
            return true;
        at += length;
    }
    return false;
}

const char *http_cors_origin(const char *origin, const server_config *config)
{
    if (!origin || !*config->cors_origins)
        return NULL;
    if (strcmp(config->cors_origins, "*") == 0)
        return "*";
    return is_listed(config->cors_origins, origin) ? origin : NULL;
}

static bool is_safe(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "OPTIONS") == 0;
}

http_refusal http_check_origin(struct MHD_Connection *connection, const char *method,
                               const server_config *config)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);
    const char *site = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");
    char name[256];
    /* Browsers reach a unix socket through a proxy. Its host may have any name, unless names are configured. If the
     * proxy replaces the host by its own, the browser's header says whether the page has the same origin. */
    bool proxied = strncmp(config->listen, "unix:", 5) == 0;
    host_name(host ? host : "", name, sizeof name);
    if (host && (!proxied || *config->allowed_hosts) && !is_loopback(name) &&
        !is_listed(config->allowed_hosts, name))
        return refusal(403, "the host '%.64s' is not allowed; see --allowed-host", name);
    if (is_safe(method))
        return none;
    if (http_cors_origin(origin, config) || (proxied && site && strcmp(site, "same-origin") == 0))
        return none;
    const char *authority = origin ? strstr(origin, "://") : NULL;
    if (origin && (!authority || !host || strcasecmp(authority + 3, host) != 0))
        return refusal(403, "writes from another origin are not allowed; see --cors-origin");
    if (!origin && site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return refusal(403, "writes from another site are not allowed; see --cors-origin");
    return none;
}
