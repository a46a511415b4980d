/* The certificate that the HTTP front shows. It can be replaced while connections are made; those that exist
 * keep theirs. */
#ifndef SERVER_HTTP_TLS_H
#define SERVER_HTTP_TLS_H

#include <gnutls/abstract.h>
#include <stdbool.h>

/* TLS 1.2 and 1.3. */
extern const char http_tls_priorities[];

/* Reads both files (PEM; the certificate with its chain) and shows them from now on. False: they cannot be
 * read, or do not belong together; logged, and what was shown before stays. Any thread. */
bool http_tls_load(const char *certificate_file, const char *key_file);

/* Forgets them. After the last connection. */
void http_tls_clear(void);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK. It has no argument of its own: hence there is one certificate a
 * process. */
int http_tls_retrieve(gnutls_session_t session, const gnutls_datum_t *requested, int n_requested,
                      const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
                      gnutls_pcert_st **certificates, unsigned int *n_certificates, gnutls_privkey_t *key);

#endif
