/* The dashboard's files, which are linked into the program. */
#include "server/api/handlers.h"
#include "server/base/embedded.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* Everything must come from this server, scripts in the page's text do not run, and no other site may frame the page. A
 * browser caches a file, but asks each time whether it has changed. */
static const http_header document_headers[] = {
    {"Cache-Control", "no-cache"},
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {0},
};

/* A policy applies to the document that loads a script or a style sheet. In the answers with these files it would have
 * no effect, and the first view of the dashboard loads more than thirty of them. */
static const http_header part_headers[] = {
    {"Cache-Control", "no-cache"},
    {0},
};

static const struct {
    const char *suffix, *type;
} content_types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".txt", "text/plain; charset=utf-8"},
    {".webmanifest", "application/manifest+json"},
    {".woff2", "font/woff2"},
};

const char *web_content_type(const char *name)
{
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix && i < sizeof content_types / sizeof *content_types; i++)
        if (strcmp(suffix, content_types[i].suffix) == 0)
            return content_types[i].type;
    return "application/octet-stream";
}

static bool is_part(const char *content_type)
{
    return strncmp(content_type, "text/javascript", 15) == 0 || strncmp(content_type, "text/css", 8) == 0;
}

static void answer_file(http_request *request, const embedded_file *file, const char *content_type)
{
    unsigned char digest[16];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)file->data, file->size, NULL, 0);
    request->answer.etag[0] = '"';
    sodium_bin2hex(request->answer.etag + 1, sizeof request->answer.etag - 2, digest, sizeof digest);
    strcat(request->answer.etag, "\"");
    request->answer.headers = is_part(content_type) ? part_headers : document_headers;
    http_answer_static(request, 200, content_type, file->data, file->size);
}

void handle_index(http_request *request)
{
    const embedded_file *file = embedded_find_web("index.html");
    assert(file);
    answer_file(request, file, web_content_type(file->name));
}

void handle_file(http_request *request)
{
    answer_file(request, request->file, web_content_type(request->file->name));
}

void handle_openapi(http_request *request)
{
    const embedded_file *file = embedded_find("openapi.yaml");
    assert(file);
    answer_file(request, file, "application/yaml");
}
