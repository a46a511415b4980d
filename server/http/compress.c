/* The entity tag of an answer's body, and gzip. Both run on the thread that makes the answer. */
#include "proto/entity_tag.h"
#include "server/http/internal.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

/* Bodies are compressed from WORTH_IT bytes on, which fill more than one packet. Files are compressed from
 * FILE_WORTH_IT bytes on, because a page consists of many small ones. */
enum {
    TAG_BYTES = 12,
    WORTH_IT = 1400,
    FILE_WORTH_IT = 256,
    LEVEL = 1,
    FILE_LEVEL = 6,
    GZIP_WINDOW = 15 + 16
};
static const char gzip_suffix[] = "-gz\""; /* of the tag: a different representation needs a different tag */

void http_tag(struct http_answer *answer)
{
    unsigned char digest[16];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)answer->body, answer->size, NULL, 0);
    answer->etag[0] = '"';
    sodium_bin2hex(answer->etag + 1, sizeof answer->etag - 1, digest, TAG_BYTES);
    strcat(answer->etag, "\"");
}

/* Does an Accept-Encoding such as "gzip;q=0.5, *;q=0" give gzip a positive weight? * applies if gzip is not
 * named. */
bool http_accepts_gzip(const char *accepted)
{
    double gzip = -1, any = -1;
    for (const char *at = accepted; at && *at;) {
        at += strspn(at, " \t,");
        size_t n = strcspn(at, " \t,;");
        const char *name = at;
        size_t whole = strcspn(at, ",");
        double weight = 1;
        for (const char *p = at + n; p + 2 < at + whole; p++)
            if ((p[0] == 'q' || p[0] == 'Q') && p[1] == '=')
                weight = strtod(p + 2, NULL);
        if (n == 4 && strncasecmp(name, "gzip", 4) == 0)
            gzip = weight;
        else if (n == 1 && *name == '*')
            any = weight;
        at += whole;
    }
    return gzip >= 0 ? gzip > 0 : any > 0;
}

bool http_client_has(http_request *request, const char *etag)
{
    const char *tags = http_header_value(request, "If-None-Match");
    char *sent = request->answer.etag;
    size_t room = sizeof request->answer.etag, n = strlen(etag);
    memcpy(sent, etag, n + 1);
    if (wire_etag_matches(tags, sent))
        return true;
    if (http_accepts_gzip(http_header_value(request, "Accept-Encoding")) && n + sizeof gzip_suffix <= room) {
        strcpy(strrchr(sent, '"'), gzip_suffix);
        if (wire_etag_matches(tags, sent))
            return true;
    }
    *sent = '\0';
    return false;
}

bool http_compress(struct http_answer *answer)
{
    z_stream stream = {0};
    const char *body = answer->body ? answer->body : answer->static_body;
    if (answer->size < (answer->body ? WORTH_IT : FILE_WORTH_IT) || answer->size > UINT32_MAX / 2 ||
        deflateInit2(&stream, answer->body ? LEVEL : FILE_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    uLong bound = deflateBound(&stream, answer->size);
    char *smaller = malloc(bound);
    stream.next_in = (Bytef *)(uintptr_t)body;
    stream.avail_in = (uInt)answer->size;
    stream.next_out = (Bytef *)smaller;
    stream.avail_out = (uInt)bound;
    bool done = smaller && deflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out < answer->size;
    size_t size = stream.total_out;
    deflateEnd(&stream);
    if (!done) {
        free(smaller);
        return false;
    }
    free(answer->body);
    answer->body = smaller;
    answer->size = size;
    answer->gzip = true;
    if (answer->etag[0])
        strcpy(strrchr(answer->etag, '"'), gzip_suffix);
    return true;
}
