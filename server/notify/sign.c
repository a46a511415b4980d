#include "server/notify/internal.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

void notify_make_secret(char *text)
{
    unsigned char key[32];
    randombytes_buf(key, sizeof key);
    strcpy(text, WIRE_SECRET_PREFIX);
    size_t n = strlen(text);
    sodium_bin2base64(text + n, NOTIFY_SECRET_SIZE - n, key, sizeof key, sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(key, sizeof key);
}

void message_id_make(char id[MESSAGE_ID_SIZE])
{
    unsigned char bytes[16];
    randombytes_buf(bytes, sizeof bytes);
    strcpy(id, "msg_");
    sodium_bin2hex(id + 4, MESSAGE_ID_SIZE - 4, bytes, sizeof bytes);
}

void message_sign(char out[SIGNATURE_SIZE], const char *secret, const char *id, int64_t seconds,
                  const char *body, size_t size)
{
    unsigned char key[WIRE_SECRET_MOST], mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    char head[MESSAGE_ID_SIZE + 32];
    size_t n_key = 0;
    const char *digits = secret + strlen(WIRE_SECRET_PREFIX);
    if (sodium_base642bin(key, sizeof key, digits, strlen(digits), NULL, &n_key, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        n_key = 0; /* the secret was damaged in the database: no receiver will accept this signature */
    snprintf(head, sizeof head, "%s.%lld.", id, (long long)seconds);
    crypto_auth_hmacsha256_init(&state, key, n_key);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)head, strlen(head));
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, size);
    crypto_auth_hmacsha256_final(&state, mac);
    strcpy(out, "v1,");
    sodium_bin2base64(out + 3, SIGNATURE_SIZE - 3, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(key, sizeof key);
    sodium_memzero(&state, sizeof state);
}
