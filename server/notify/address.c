#include "server/notify/internal.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The blocks that are not globally reachable according to IANA's registry of special-purpose addresses, and
 * multicast. */
static const struct {
    uint32_t first;
    int bits;
} special[] = {
    {0x00000000, 8},  /* this network */
    {0x0a000000, 8},  /* private */
    {0x64400000, 10}, /* shared by carriers */
    {0x7f000000, 8},  /* loopback */
    {0xa9fe0000, 16}, /* link-local; clouds serve credentials here */
    {0xac100000, 12}, /* private */
    {0xc0000000, 24}, /* protocol assignments */
    {0xc0000200, 24}, /* documentation */
    {0xc0586300, 24}, /* 6to4 relays */
    {0xc0a80000, 16}, /* private */
    {0xc6120000, 15}, /* benchmarks */
    {0xc6336400, 24}, /* documentation */
    {0xcb007100, 24}, /* documentation */
    {0xe0000000, 3},  /* multicast, reserved, broadcast */
};

static bool is_public_4(const unsigned char bytes[4])
{
    uint32_t address =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if ((address ^ special[i].first) >> (32 - special[i].bits) == 0)
            return false;
    return true;
}

/* Global unicast addresses start with the bits 001. Some of them contain an IPv4 address, and some are for
 * documentation or protocols. */
static bool is_public_6(const unsigned char b[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char translated[12] = {0x00, 0x64, 0xff, 0x9b};
    if (memcmp(b, mapped, sizeof mapped) == 0 || memcmp(b, translated, sizeof translated) == 0)
        return is_public_4(b + 12);
    if (b[0] >> 5 != 1)
        return false;
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
        return is_public_4(b + 2);
    bool protocols = b[0] == 0x20 && b[1] == 0x01 && b[2] < 0x02; /* 2001::/23, with Teredo */
    bool documents = (b[0] == 0x20 && b[1] == 0x01 && b[2] == 0x0d && b[3] == 0xb8) ||
                     (b[0] == 0x3f && b[1] == 0xff && b[2] < 0x10);
    return !protocols && !documents;
}

bool address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return is_public_4((const unsigned char *)&in.sin_addr);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, address, sizeof in);
        return is_public_6((const unsigned char *)&in.sin6_addr);
    }
    return false;
}

static bool is_private_host(const char *host)
{
    char text[64]; /* longer than any address */
    size_t bracket = *host == '[', size = strcspn(host + bracket, "]");
    if (size >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)size, host + bracket);
    struct addrinfo *address = NULL;
    const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    if (getaddrinfo(text, NULL, &numeric, &address) != 0)
        return false;
    bool is_private = !address_is_public(address->ai_addr);
    freeaddrinfo(address);
    return is_private;
}

static url_kind kind_of(CURLU *parts, const char *url)
{
    char *host = NULL, *port = NULL;
    url_kind kind = URL_MALFORMED;
    if ((lib.curl_url_set)(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        (lib.curl_url_get)(parts, CURLUPART_HOST, &host, CURLU_URLDECODE) == CURLUE_OK &&
        (lib.curl_url_get)(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        strtol(port, NULL, 10) > 0)
        kind = is_private_host(host) ? URL_PRIVATE : URL_PUBLIC;
    (lib.curl_free)(host);
    (lib.curl_free)(port);
    return kind;
}

url_kind address_url_kind(const char *url)
{
    CURLU *parts = (lib.curl_url)();
    if (!parts)
        return URL_NO_MEMORY;
    url_kind kind = kind_of(parts, url);
    (lib.curl_url_cleanup)(parts);
    return kind;
}
