/* Tokens and permissions. A token is `banditd_<id>_<secret>`: the id is public, and only a hash of the secret
 * is stored. The store's tokens are kept in memory, so that a request is checked as soon as its headers have
 * been received, without a read. */
#ifndef SERVER_HTTP_AUTH_H
#define SERVER_HTTP_AUTH_H

#include "server/store/store.h"

struct server_config;

/* What a route requires, and what the role of a token grants. From AUTH_VIEWER to AUTH_ADMIN, each role
 * includes those before it. */
typedef enum auth_access {
    AUTH_UNSAID, /* not set */
    AUTH_OPEN,   /* no token required */
    AUTH_VIEWER,
    AUTH_WORKER,
    AUTH_EDITOR,
    AUTH_ADMIN,
    AUTH_WHOLE_VIEWER /* of routes about the whole server: a viewer whose token is not limited to one study */
} auth_access;

/* viewer, worker, editor, admin. */
const char *auth_role_name(auth_access role);
bool auth_role_parse(auth_access *out, const char *name);

/* The caller of a request. */
enum { AUTH_ID_SIZE = 24 };
typedef struct auth_identity {
    auth_access role;      /* AUTH_OPEN: unknown caller */
    char study[64];        /* the study that the token is limited to; "": all */
    char id[AUTH_ID_SIZE]; /* the token's; "" without one */
    unsigned version;      /* of the token in a file: how often it has been replaced */
} auth_identity;

typedef enum auth_verdict { AUTH_ALLOWED, AUTH_UNKNOWN_CALLER, AUTH_FORBIDDEN } auth_verdict;

/* Decides whether a caller may use a route. study: the study in the path, or "". If the path names no study,
 * a token of one study may only use routes that require AUTH_VIEWER. */
auth_verdict auth_decide(auth_access needed, const auth_identity *identity, const char *study);

typedef struct auth auth;

/* Reads the store's tokens, and the administrator token in config->admin_token_file. On failure it logs the
 * reason and returns false. */
bool auth_open(auth **out, const struct server_config *config, store *s);
void auth_close(auth *a); /* NULL is fine */

/* Reads the file again and replaces its token. If the file cannot be used, logs the reason and keeps the old token.
 * Any thread. */
void auth_reload(auth *a, const struct server_config *config);

size_t auth_tokens(auth *a); /* their number, including the file's */

/* The caller that an Authorization header identifies; AUTH_OPEN if it is NULL, unknown or expired. Compares
 * in constant time. Any thread. */
auth_identity auth_identify(auth *a, const char *authorization, int64_t now);

/* Makes a new token. text: the token that its owner sends. *out: its id, borrowed from `id`, and its hash. */
enum { AUTH_TEXT_SIZE = 80 };
void auth_make(store_token *out, char id[AUTH_ID_SIZE], char text[AUTH_TEXT_SIZE]);

/* What the server knows about the caller's token. */
typedef struct auth_token {
    int64_t expires_at; /* ms; 0: never */
    char *name;         /* its description, owned by the caller of auth_about; NULL: none */
} auth_token;

/* Fills *out; everything is zero without a token, or after it was revoked. False: out of memory. */
bool auth_about(auth_token *out, auth *a, const auth_identity *identity);

/* Is the caller's token still valid? False once it has been revoked or has expired. */
bool auth_is_valid(auth *a, const auth_identity *identity, int64_t now);

/* These apply changes of the store to the tokens in memory; any thread. Call auth_entry_new before the write, so that
 * nothing can fail after it. auth_add takes ownership of the entry. */
typedef struct auth_entry auth_entry;
auth_entry *auth_entry_new(const store_token *token); /* NULL without memory */
void auth_entry_free(auth_entry *entry);              /* NULL is fine */
void auth_add(auth *a, auth_entry *entry);
void auth_remove(auth *a, const char *id);
void auth_remove_study(auth *a, const char *study);

#endif
