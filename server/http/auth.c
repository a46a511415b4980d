#include "server/http/auth.h"

#include "server/base/config.h"
#include "server/base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PREFIX  "banditd_"
#define FILE_ID "file" /* the id of the token in --admin-token-file */
enum { HASH_SIZE = 32, ID_BYTES = 8, SECRET_BYTES = 32, SHORTEST = 32, LONGEST = 256 };

struct auth_entry {
    auth_entry *next;
    auth_identity identity;
    int64_t expires_at; /* 0: never */
    char *name;         /* the description; "": none */
    unsigned char hash[HASH_SIZE];
};

struct auth {
    pthread_rwlock_t lock;
    auth_entry *entries;
    size_t n;
};

/* ---- the rule ------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    auth_access access;
} roles[] = {
    {"viewer", AUTH_VIEWER}, {"worker", AUTH_WORKER}, {"editor", AUTH_EDITOR}, {"admin", AUTH_ADMIN}};
enum { N_ROLES = sizeof roles / sizeof *roles };

const char *auth_role_name(auth_access role)
{
    for (size_t i = 0; i < N_ROLES; i++)
        if (roles[i].access == role)
            return roles[i].name;
    return "";
}

bool auth_role_parse(auth_access *out, const char *name)
{
    for (size_t i = 0; i < N_ROLES; i++)
        if (strcmp(roles[i].name, name) == 0) {
            *out = roles[i].access;
            return true;
        }
    return false;
}

auth_verdict auth_decide(auth_access needed, const auth_identity *identity, const char *study)
{
    if (needed == AUTH_OPEN)
        return AUTH_ALLOWED;
    if (identity->role <= AUTH_OPEN)
        return AUTH_UNKNOWN_CALLER;
    if (*identity->study && *study && strcmp(identity->study, study) != 0)
        return AUTH_FORBIDDEN;
    if (*identity->study && !*study && needed != AUTH_VIEWER)
        return AUTH_FORBIDDEN;
    if (needed == AUTH_UNSAID)
        return AUTH_FORBIDDEN;
    return identity->role >= (needed == AUTH_WHOLE_VIEWER ? AUTH_VIEWER : needed) ? AUTH_ALLOWED
                                                                                  : AUTH_FORBIDDEN;
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

static void hash_text(unsigned char out[HASH_SIZE], const char *text, size_t n)
{
    crypto_generichash(out, HASH_SIZE, (const unsigned char *)text, n, NULL, 0);
}

void auth_make(store_token *out, char id[AUTH_ID_SIZE], char text[AUTH_TEXT_SIZE])
{
    unsigned char id_bytes[ID_BYTES], secret[SECRET_BYTES];
    char secret_text[sodium_base64_ENCODED_LEN(SECRET_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    randombytes_buf(id_bytes, sizeof id_bytes);
    randombytes_buf(secret, sizeof secret);
    sodium_bin2hex(id, AUTH_ID_SIZE, id_bytes, sizeof id_bytes);
    sodium_bin2base64(secret_text, sizeof secret_text, secret, sizeof secret,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    int n = snprintf(text, AUTH_TEXT_SIZE, PREFIX "%s_%s", id, secret_text);
    hash_text(out->hash, text, (size_t)n);
    out->id = id;
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(secret_text, sizeof secret_text);
}

auth_entry *auth_entry_new(const store_token *token)
{
    auth_entry *entry = calloc(1, sizeof *entry);
    if (entry)
        entry->name = strdup(token->description ? token->description : "");
    if (!entry || !entry->name) {
        free(entry);
        return NULL;
    }
    if (!auth_role_parse(&entry->identity.role, token->role))
        entry->identity.role = AUTH_OPEN; /* a role of a newer version, which has no rights here */
    snprintf(entry->identity.study, sizeof entry->identity.study, "%s", token->study);
    snprintf(entry->identity.id, sizeof entry->identity.id, "%s", token->id);
    entry->expires_at = token->expires_at;
    memcpy(entry->hash, token->hash, sizeof entry->hash);
    return entry;
}

void auth_entry_free(auth_entry *entry)
{
    if (!entry)
        return;
    free(entry->name);
    free(entry);
}

void auth_add(auth *a, auth_entry *entry)
{
    pthread_rwlock_wrlock(&a->lock);
    entry->next = a->entries;
    a->entries = entry;
    a->n++;
    pthread_rwlock_unlock(&a->lock);
}

/* Removes the tokens with that id, or those of that study; one of them is NULL. */
static void remove_where(auth *a, const char *id, const char *study)
{
    pthread_rwlock_wrlock(&a->lock);
    for (auth_entry **link = &a->entries; *link;) {
        auth_entry *entry = *link;
        bool goes = (id && strcmp(entry->identity.id, id) == 0) ||
                    (study && strcmp(entry->identity.study, study) == 0);
        if (!goes) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        auth_entry_free(entry);
        a->n--;
    }
    pthread_rwlock_unlock(&a->lock);
}

void auth_remove(auth *a, const char *id)
{
    remove_where(a, id, NULL);
}

void auth_remove_study(auth *a, const char *study)
{
    remove_where(a, NULL, study);
}

size_t auth_tokens(auth *a)
{
    pthread_rwlock_rdlock(&a->lock);
    size_t n = a->n;
    pthread_rwlock_unlock(&a->lock);
    return n;
}

auth_identity auth_identify(auth *a, const char *authorization, int64_t now)
{
    static const char scheme[] = "Bearer ";
    auth_identity found = {.role = AUTH_OPEN};
    unsigned char hash[HASH_SIZE];
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return found;
    const char *text = authorization + sizeof scheme - 1;
    text += strspn(text, " ");
    size_t n = strlen(text);
    if (n > LONGEST)
        return found;
    hash_text(hash, text, n);
    pthread_rwlock_rdlock(&a->lock);
    /* All entries are compared, so that the time does not depend on which one matches. */
    for (const auth_entry *entry = a->entries; entry; entry = entry->next) {
        bool same = sodium_memcmp(entry->hash, hash, HASH_SIZE) == 0;
        if (same && (entry->expires_at == 0 || now < entry->expires_at))
            found = entry->identity;
    }
    pthread_rwlock_unlock(&a->lock);
    return found;
}

bool auth_is_valid(auth *a, const auth_identity *identity, int64_t now)
{
    bool valid = identity->id[0] == '\0'; /* without a token */
    pthread_rwlock_rdlock(&a->lock);
    for (const auth_entry *entry = a->entries; entry && !valid; entry = entry->next)
        valid = strcmp(entry->identity.id, identity->id) == 0 &&
                entry->identity.version == identity->version &&
                (entry->expires_at == 0 || now < entry->expires_at);
    pthread_rwlock_unlock(&a->lock);
    return valid;
}

bool auth_about(auth_token *out, auth *a, const auth_identity *identity)
{
    bool copied = true;
    *out = (auth_token){0};
    if (!identity->id[0])
        return true;
    pthread_rwlock_rdlock(&a->lock);
    for (const auth_entry *entry = a->entries; entry; entry = entry->next)
        if (strcmp(entry->identity.id, identity->id) == 0) {
            out->expires_at = entry->expires_at;
            out->name = entry->name[0] ? strdup(entry->name) : NULL;
            copied = out->name || !entry->name[0];
            break;
        }
    pthread_rwlock_unlock(&a->lock);
    return copied;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

typedef struct loading {
    auth *a;
    bool failed;
} loading;

static void load(void *arg, const store_token *token)
{
    loading *l = arg;
    auth_entry *entry = auth_entry_new(token);
    if (entry)
        auth_add(l->a, entry);
    else
        l->failed = true;
}

/* Reads the token from the file: one line of at least 32 printable characters without blanks. NULL: it cannot be used,
 * which is logged with the consequence. */
static auth_entry *read_file_token(const char *path, const char *consequence)
{
    char text[LONGEST + 2];
    const char *problem = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (n < 0)
        problem = strerror(errno);
    if (fd >= 0)
        close(fd);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    if (!problem && (n < SHORTEST || n > LONGEST))
        problem = "the file must contain one token of 32 to 256 characters";
    for (ssize_t i = 0; i < n && !problem; i++)
        if (text[i] <= ' ' || text[i] > 126)
            problem = "the token must consist of printable ASCII characters without blanks";
    auth_entry *entry = NULL;
    if (!problem) {
        store_token token = {.id = FILE_ID, .role = "admin", .study = ""};
        hash_text(token.hash, text, (size_t)n);
        entry = auth_entry_new(&token);
        if (!entry)
            problem = "out of memory";
    }
    sodium_memzero(text, sizeof text);
    if (problem)
        log_event(LOG_ERROR, "admin_token_failed", "file", path, "reason", problem, "consequence",
                  consequence, NULL);
    return entry;
}

static bool has_file(const server_config *config)
{
    return config->admin_token_file && *config->admin_token_file;
}

static bool open_file_token(auth *a, const server_config *config)
{
    auth_entry *entry =
        has_file(config) ? read_file_token(config->admin_token_file, "the server does not start") : NULL;
    if (entry)
        auth_add(a, entry);
    return entry || !has_file(config);
}

void auth_reload(auth *a, const server_config *config)
{
    auth_entry *entry =
        has_file(config) ? read_file_token(config->admin_token_file, "the old token stays valid") : NULL;
    if (!entry)
        return;
    pthread_rwlock_wrlock(&a->lock);
    for (auth_entry *old = a->entries; old; old = old->next) {
        if (strcmp(old->identity.id, FILE_ID) != 0)
            continue;
        if (memcmp(old->hash, entry->hash, HASH_SIZE) != 0)
            old->identity.version++; /* streams that were opened with the old token end */
        memcpy(old->hash, entry->hash, HASH_SIZE);
    }
    pthread_rwlock_unlock(&a->lock);
    auth_entry_free(entry);
    log_event(LOG_INFO, "admin_token_loaded", "file", config->admin_token_file, NULL);
}

bool auth_open(auth **out, const server_config *config, store *s)
{
    store_error error = {0};
    *out = NULL;
    auth *a = calloc(1, sizeof *a);
    if (!a) {
        log_event(LOG_ERROR, "tokens_failed", "reason", "out of memory", NULL);
        return false;
    }
    pthread_rwlock_init(&a->lock, NULL);
    loading l = {.a = a};
    store_status status = store_read_tokens(s, 0, SIZE_MAX, load, &l, &error);
    if (status != STORE_OK || l.failed) {
        log_event(LOG_ERROR, "tokens_failed", "reason", l.failed ? "out of memory" : error.message, NULL);
    } else if (open_file_token(a, config)) {
        *out = a;
        return true;
    }
    auth_close(a);
    return false;
}

void auth_close(auth *a)
{
    if (!a)
        return;
    while (a->entries) {
        auth_entry *next = a->entries->next;
        auth_entry_free(a->entries);
        a->entries = next;
    }
    pthread_rwlock_destroy(&a->lock);
    free(a);
}
