/* The certificate of the server. It can be replaced at any time; existing connections keep the old one. */
#ifndef SERVER_HTTP_TLS_H
#define SERVER_HTTP_TLS_H

#include <gnutls/abstract.h>
#include <stdbool.h>

/* TLS 1.2 and 1.3. */
extern const char http_tls_priorities[];

/* Reads both files (PEM; the certificate with its chain) and uses them from now on. False: they cannot be
 * read or do not match; the reason is logged, and the previous certificate stays. Any thread. */
bool http_tls_load(const char *certificate_file, const char *key_file);

/* Frees all certificates, after the last connection. */
void http_tls_clear(void);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK, which has no argument for a context. So there is one certificate per process. */
int http_tls_retrieve(gnutls_session_t session, const gnutls_datum_t *requested, int n_requested,
                      const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
                      gnutls_pcert_st **certificates, unsigned int *n_certificates, gnutls_privkey_t *key);

/* GnuTLS's version. */
const char *http_tls_version(void);

#endif
