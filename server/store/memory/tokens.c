#include "server/store/arena.h"
#include "server/store/memory/memory.h"

#include <stdlib.h>
#include <string.h>

static memory_token **find(memory_store *s, const char *id)
{
    memory_token **link = &s->tokens;
    while (*link && strcmp((*link)->token->id, id) != 0)
        link = &(*link)->next;
    return link;
}

static void free_token(memory_token *entry)
{
    if (!entry)
        return;
    free(entry->token);
    free(entry);
}

/* Inserts the token in the order of numbers. */
static void insert(memory_store *s, memory_token *entry)
{
    memory_token **link = &s->tokens;
    while (*link && (*link)->token->number < entry->token->number)
        link = &(*link)->next;
    entry->next = *link;
    *link = entry;
}

store_status memory_token_put(store *base, const store_token *token, store_error *err)
{
    memory_store *s = memory_of(base);
    if (*token->study && !memory_find_id(s, token->study))
        return store_fail(err, STORE_NOT_FOUND, "there is no study '%s'", token->study);
    if (*find(s, token->id))
        return store_fail(err, STORE_EXISTS, "there is a token '%s'", token->id);
    memory_token *entry = calloc(1, sizeof *entry);
    if (!entry || store_token_copy(&entry->token, token)) {
        free(entry);
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    }
    entry->token->number = ++s->last_token;
    insert(s, entry);
    s->new_token = entry;
    return STORE_OK;
}

store_status memory_token_remove(store *base, const char *id, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_token **link = find(s, id);
    if (!*link)
        return store_fail(err, STORE_NOT_FOUND, "there is no token '%s'", id);
    s->removed_token = *link;
    *link = (*link)->next;
    return STORE_OK;
}

void memory_undo_token(memory_store *s)
{
    if (s->new_token) {
        *find(s, s->new_token->token->id) = s->new_token->next;
        free_token(s->new_token);
    }
    if (s->removed_token)
        insert(s, s->removed_token);
    s->new_token = s->removed_token = NULL;
}

void memory_release_token(memory_store *s)
{
    free_token(s->removed_token);
    s->new_token = s->removed_token = NULL;
}

void memory_remove_tokens_of(memory_store *s, const char *study)
{
    memory_token **link = &s->tokens;
    while (*link) {
        memory_token *entry = *link;
        if (strcmp(entry->token->study, study) != 0) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        free_token(entry);
    }
}

void memory_free_tokens(memory_store *s)
{
    while (s->tokens) {
        memory_token *next = s->tokens->next;
        free_token(s->tokens);
        s->tokens = next;
    }
}

store_status memory_read_tokens(store *base, int64_t after, size_t limit, store_token_row *row, void *arg,
                                store_error *err)
{
    memory_store *s = memory_of(base);
    (void)err;
    pthread_rwlock_rdlock(&s->lock);
    for (const memory_token *entry = s->tokens; entry && limit > 0; entry = entry->next)
        if (entry->token->number > after) {
            row(arg, entry->token);
            limit--;
        }
    pthread_rwlock_unlock(&s->lock);
    return STORE_OK;
}
