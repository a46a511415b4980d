#include "server/http/tls.h"

#include "server/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char http_tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

enum { CHAIN_MAXIMUM = 16 };

typedef struct identity {
    struct identity *before; /* the previous certificate, which handshakes in progress may use */
    gnutls_pcert_st chain[CHAIN_MAXIMUM];
    unsigned n;
    gnutls_privkey_t key;
} identity;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static identity *shown;

static void identity_free(identity *i)
{
    for (unsigned k = 0; k < i->n; k++)
        gnutls_pcert_deinit(&i->chain[k]);
    if (i->key)
        gnutls_privkey_deinit(i->key);
    free(i);
}

static int read_chain(identity *i, const char *file)
{
    gnutls_datum_t text = {0};
    unsigned n = CHAIN_MAXIMUM;
    int rc = gnutls_load_file(file, &text);
    if (rc == 0)
        rc = gnutls_pcert_list_import_x509_raw(i->chain, &n, &text, GNUTLS_X509_FMT_PEM,
                                               GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    i->n = rc == 0 ? n : 0;
    gnutls_free(text.data);
    return rc;
}

static int read_key(identity *i, const char *file)
{
    gnutls_datum_t text = {0};
    int rc = gnutls_load_file(file, &text);
    if (rc == 0)
        rc = gnutls_privkey_init(&i->key);
    if (rc == 0)
        rc = gnutls_privkey_import_x509_raw(i->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (text.data)
        gnutls_memset(text.data, 0, text.size);
    gnutls_free(text.data);
    return rc;
}

/* Does the key belong to the first certificate? */
static int check_pair(const identity *i)
{
    unsigned char ids[2][64];
    size_t sizes[2] = {sizeof ids[0], sizeof ids[1]};
    gnutls_pubkey_t public;
    int rc = gnutls_pubkey_init(&public);
    if (rc != 0)
        return rc;
    rc = gnutls_pubkey_import_privkey(public, i->key, 0, 0);
    if (rc == 0)
        rc = gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, ids[0], &sizes[0]);
    if (rc == 0)
        rc = gnutls_pubkey_get_key_id(i->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, ids[1], &sizes[1]);
    if (rc == 0 && (sizes[0] != sizes[1] || memcmp(ids[0], ids[1], sizes[0]) != 0))
        rc = GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
    gnutls_pubkey_deinit(public);
    return rc;
}

bool http_tls_load(const char *certificate_file, const char *key_file)
{
    identity *i = calloc(1, sizeof *i);
    const char *file = certificate_file;
    int rc = i ? read_chain(i, certificate_file) : GNUTLS_E_MEMORY_ERROR;
    if (rc == 0) {
        file = key_file;
        rc = read_key(i, key_file);
    }
    if (rc == 0)
        rc = check_pair(i);
    if (rc != 0) {
        log_event(LOG_ERROR, "certificate_failed", "file", file, "reason", gnutls_strerror(rc), NULL);
        if (i)
            identity_free(i);
        return false;
    }
    pthread_mutex_lock(&lock);
    i->before = shown;
    shown = i;
    pthread_mutex_unlock(&lock);
    log_event(LOG_INFO, "certificate_loaded", "file", certificate_file, NULL);
    return true;
}

void http_tls_clear(void)
{
    pthread_mutex_lock(&lock);
    while (shown) {
        identity *before = shown->before;
        identity_free(shown);
        shown = before;
    }
    pthread_mutex_unlock(&lock);
}

int http_tls_retrieve(gnutls_session_t session, const gnutls_datum_t *requested, int n_requested,
                      const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
                      gnutls_pcert_st **certificates, unsigned int *n_certificates, gnutls_privkey_t *key)
{
    (void)session;
    (void)requested;
    (void)n_requested;
    (void)algorithms;
    (void)n_algorithms;
    pthread_mutex_lock(&lock);
    identity *i = shown;
    pthread_mutex_unlock(&lock);
    if (!i)
        return -1;
    *certificates = i->chain;
    *n_certificates = i->n;
    *key = i->key;
    return 0;
}

const char *http_tls_version(void)
{
    return gnutls_check_version(NULL);
}
