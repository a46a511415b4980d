#include "clients/banditctl/http.h"
#include "clients/banditctl/allocate.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { CONNECT_SECONDS = 10, ANSWER_SECONDS = 60, STALL_SECONDS = 120, POLL_MS = 1000 };

struct http_client {
    CURL *easy;
    CURLM *multi;
    char *base;        /* without a slash at the end */
    char *unix_socket; /* NULL: TCP */
    char *shown;
    char *authorization; /* the header, or NULL */
};

/* A line end in the token, for example one from a file with CRLF, would end the header early. */
static bool has_control(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            return true;
    return false;
}

/* HOST:PORT, as in localhost:8080. */
static bool is_host_and_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && colon > text && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
           !strchr(text, '/');
}

bool http_client_new(http_client **out, const char *url)
{
    http_client *client = allocate(1, sizeof *client);
    const char *token = getenv("BANDITD_TOKEN");
    *out = NULL;
    if (token && has_control(token)) {
        fputs("banditctl: BANDITD_TOKEN must not contain a line end or another control character\n", stderr);
        http_client_free(client);
        return false;
    }
    if (!url)
        url = getenv("BANDITD_URL");
    if (!url || !*url)
        url = "http://127.0.0.1:8080";
    client->shown = duplicate(url);
    if (strncmp(url, "unix:", 5) == 0) {
        client->unix_socket = duplicate(url + 5);
        client->base = duplicate("http://localhost");
    } else if (strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0) {
        client->base = duplicate(url);
        size_t n = strlen(client->base);
        while (n > 0 && client->base[n - 1] == '/')
            client->base[--n] = '\0';
    } else if (is_host_and_port(url)) {
        client->base = format_text("http://%s", url);
    } else {
        fprintf(
            stderr,
            "banditctl: the URL must be http://HOST:PORT, https://HOST:PORT, HOST:PORT or unix:/path, not '%s'\n",
            url);
        http_client_free(client);
        return false;
    }
    if (token && *token)
        client->authorization = format_text("Authorization: Bearer %s", token);
    client->easy = curl_easy_init();
    client->multi = curl_multi_init();
    if (!client->easy || !client->multi)
        out_of_memory();
    *out = client;
    return true;
}

void http_client_free(http_client *client)
{
    if (!client)
        return;
    if (client->easy)
        curl_easy_cleanup(client->easy);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    free(client->base);
    free(client->unix_socket);
    free(client->shown);
    free(client->authorization);
    free(client);
}

const char *http_client_url(const http_client *client)
{
    return client->shown;
}

/* ---- one transfer ---------------------------------------------------------------------------------- */

typedef struct transfer {
    const http_client *client;
    FILE *download;
    http_answer *answer;
    bool write_failed;
} transfer;

static size_t take_body(char *bytes, size_t size, size_t n, void *arg)
{
    transfer *t = arg;
    long status = 0;
    n *= size;
    curl_easy_getinfo(t->client->easy, CURLINFO_RESPONSE_CODE, &status);
    if (t->download && status / 100 == 2) {
        t->write_failed = fwrite(bytes, 1, n, t->download) != n;
        return t->write_failed ? 0 : n;
    }
    t->answer->body = reallocate(t->answer->body, t->answer->size + n + 1);
    memcpy(t->answer->body + t->answer->size, bytes, n);
    t->answer->size += n;
    t->answer->body[t->answer->size] = '\0';
    return n;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *header)
{
    struct curl_slist *longer = curl_slist_append(list, header);
    if (!longer)
        out_of_memory();
    return longer;
}

static struct curl_slist *headers_of(const http_client *client, const http_request *request)
{
    char line[256];
    /* Do not send "Expect: 100-continue": curl would wait up to a second for the response to it. */
    struct curl_slist *headers = add_header(NULL, "Expect:");
    if (request->body || request->upload) {
        snprintf(line, sizeof line, "Content-Type: %s",
                 request->content_type ? request->content_type : "application/json");
        headers = add_header(headers, line);
    }
    if (request->idempotency_key) {
        snprintf(line, sizeof line, "Idempotency-Key: %s", request->idempotency_key);
        headers = add_header(headers, line);
    }
    if (client->authorization)
        headers = add_header(headers, client->authorization);
    return headers;
}

static void prepare(const http_client *client, const http_request *request, const char *url,
                    struct curl_slist *headers, transfer *t, char error[CURL_ERROR_SIZE])
{
    CURL *easy = client->easy;
    curl_easy_reset(easy); /* keeps the connection */
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "banditctl/" BANDITD_VERSION);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
    const char *certificates = getenv("BANDITD_CACERT");
    if (certificates && *certificates)
        curl_easy_setopt(easy, CURLOPT_CAINFO, certificates);
    if (client->unix_socket)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, client->unix_socket);
    if (request->seconds < 0) {
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
    } else {
        double seconds = request->seconds > 0 ? request->seconds : ANSWER_SECONDS;
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(1000 * seconds));
    }
    if (request->upload) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_READDATA, request->upload);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->size);
    } else if (request->body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void refuse(http_answer *out, const char *why)
{
    snprintf(out->why, sizeof out->why, "%s", why);
}

/* Runs the transfer to its end. False: it was cancelled. */
static bool run(const http_client *client, int cancel, CURLcode *code)
{
    int running = 1;
    while (running) {
        struct curl_waitfd waited = {.fd = cancel, .events = CURL_WAIT_POLLIN};
        if (curl_multi_perform(client->multi, &running) != CURLM_OK)
            out_of_memory();
        if (running &&
            curl_multi_poll(client->multi, &waited, cancel >= 0 ? 1 : 0, POLL_MS, NULL) != CURLM_OK)
            out_of_memory();
        if (running && cancel >= 0 && waited.revents)
            return false;
    }
    int left;
    const CURLMsg *message = curl_multi_info_read(client->multi, &left);
    *code = message ? message->data.result : CURLE_ABORTED_BY_CALLBACK;
    return true;
}

void http_send(http_client *client, const http_request *request, http_answer *out)
{
    char error[CURL_ERROR_SIZE] = "";
    char *url = format_text("%s%s", client->base, request->path);
    struct curl_slist *headers = headers_of(client, request);
    transfer t = {.client = client, .download = request->download, .answer = out};
    CURLcode code = CURLE_OK;

    *out = (http_answer){.body = duplicate("")};
    prepare(client, request, url, headers, &t, error);
    if (curl_multi_add_handle(client->multi, client->easy) != CURLM_OK)
        out_of_memory();
    if (!run(client, request->cancel, &code)) {
        out->cancelled = true;
        refuse(out, "cancelled");
    } else if (t.write_failed) {
        out->unwritten = true;
        refuse(out, "cannot write the response to standard output");
    } else if (code != CURLE_OK) {
        refuse(out, *error ? error : curl_easy_strerror(code));
    } else {
        curl_off_t after = 0;
        curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &out->status);
        curl_easy_getinfo(client->easy, CURLINFO_RETRY_AFTER, &after);
        out->retry_after = (double)after;
    }
    curl_multi_remove_handle(client->multi, client->easy);
    /* The handle must not keep pointers to local variables. */
    curl_easy_reset(client->easy);
    curl_slist_free_all(headers);
    free(url);
}

void http_answer_clear(http_answer *answer)
{
    free(answer->body);
    *answer = (http_answer){0};
}
