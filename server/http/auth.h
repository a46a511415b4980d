/* Who may call what. A token is `banditd_<id>_<secret>`: the id is public, of the secret only a hash is
 * known. The tokens of the store are kept in memory, so that a request is checked where its headers come in,
 * without a read. */
#ifndef SERVER_HTTP_AUTH_H
#define SERVER_HTTP_AUTH_H

#include "server/store/store.h"

struct server_config;

/* What a route needs, and what a token's role grants. From the third on each includes those before it. */
typedef enum auth_access {
    AUTH_UNSAID, /* no route's, no role's */
    AUTH_OPEN,   /* no token */
    AUTH_VIEWER,
    AUTH_WORKER,
    AUTH_EDITOR,
    AUTH_ADMIN,
    AUTH_WHOLE_VIEWER /* a route's only: viewer, of no single study (what speaks of the whole server) */
} auth_access;

/* viewer, worker, editor, admin. */
const char *auth_role_name(auth_access role);
bool auth_role_parse(auth_access *out, const char *name);

/* In whose name a request is made. */
enum { AUTH_ID_SIZE = 24 };
typedef struct auth_identity {
    auth_access role;      /* AUTH_OPEN: nobody's */
    char study[64];        /* the one study it is good for; "": all */
    char id[AUTH_ID_SIZE]; /* the token's; "" without one */
} auth_identity;

typedef enum auth_verdict { AUTH_ALLOWED, AUTH_UNKNOWN_CALLER, AUTH_FORBIDDEN } auth_verdict;

/* The rule. study: of the request's path, "" when it names none; then a token of one study may read what
 * needs AUTH_VIEWER, and nothing else. */
auth_verdict auth_decide(auth_access needed, const auth_identity *identity, const char *study);

typedef struct auth auth;

/* Reads the store's tokens, and the administrator's token from config->admin_token_file; logs and returns
 * false when it cannot. */
bool auth_open(auth **out, const struct server_config *config, store *s);
void auth_close(auth *a); /* NULL is fine */

size_t auth_tokens(auth *a); /* how many there are, the file's included */

/* Whose the value of an Authorization header is; nobody's when it is NULL, unknown or expired. Compares in
 * constant time. Any thread. */
auth_identity auth_identify(auth *a, const char *authorization, int64_t now);

/* A new token: `text` is what its owner sends, *out the rest of it, with texts borrowed from the arguments
 * and from `id`. */
enum { AUTH_TEXT_SIZE = 80 };
void auth_make(store_token *out, char id[AUTH_ID_SIZE], char text[AUTH_TEXT_SIZE]);

/* May whoever was identified still be who they were? False once the token has been revoked or has expired. */
bool auth_is_valid(auth *a, const auth_identity *identity, int64_t now);

/* Keeps up with the store; any thread. auth_entry_new comes before the write, so that nothing can fail after
 * it; auth_add takes the entry. */
typedef struct auth_entry auth_entry;
auth_entry *auth_entry_new(const store_token *token); /* NULL without memory */
void auth_entry_free(auth_entry *entry);              /* NULL is fine */
void auth_add(auth *a, auth_entry *entry);
void auth_remove(auth *a, const char *id);
void auth_remove_study(auth *a, const char *study);

#endif
