#include "server/store/arena.h"

#include <stdlib.h>
#include <string.h>

static size_t aligned(size_t size)
{
    enum { alignment = 8 };
    return (size + alignment - 1) / alignment * alignment;
}

void *arena_copy(arena *a, const void *data, size_t size)
{
    void *copy = NULL;
    if (a->block) {
        copy = a->block + a->used;
        if (size > 0)
            memcpy(copy, data, size);
    }
    a->used += aligned(size);
    return copy;
}

const char *arena_text(arena *a, const char *text)
{
    return text ? arena_copy(a, text, strlen(text) + 1) : NULL;
}

const char *arena_text_or_empty(arena *a, const char *text)
{
    return arena_text(a, text ? text : "");
}

void *arena_clone(const void *value, size_t size, arena_parts *copy_parts)
{
    void *measured = malloc(size);
    if (!measured)
        return NULL;
    memcpy(measured, value, size);
    arena a = {.block = NULL, .used = aligned(size)};
    copy_parts(&a, measured);
    unsigned char *block = realloc(measured, a.used);
    if (!block) {
        free(measured);
        return NULL;
    }
    memcpy(block, value, size); /* measuring has replaced its pointers */
    a = (arena){.block = block, .used = aligned(size)};
    copy_parts(&a, block);
    return block;
}

static void copy_answer(arena *a, void *value)
{
    store_answer *answer = value;
    answer->token = arena_text_or_empty(a, answer->token);
    answer->path = arena_text_or_empty(a, answer->path);
    answer->key = arena_text_or_empty(a, answer->key);
    answer->response = arena_copy(a, answer->response, answer->n_response);
}

store_status store_answer_copy(store_answer **out, const store_answer *answer)
{
    *out = arena_clone(answer, sizeof *answer, copy_answer);
    return *out ? STORE_OK : STORE_NO_MEMORY;
}

static void copy_token(arena *a, void *value)
{
    store_token *token = value;
    token->id = arena_text(a, token->id);
    token->role = arena_text(a, token->role);
    token->study = arena_text(a, token->study);
    token->description = arena_text(a, token->description);
}

store_status store_token_copy(store_token **out, const store_token *token)
{
    *out = arena_clone(token, sizeof *token, copy_token);
    return *out ? STORE_OK : STORE_NO_MEMORY;
}

static void copy_setting(arena *a, void *value)
{
    store_setting *setting = value;
    setting->name = arena_text(a, setting->name);
    setting->value = arena_text(a, setting->value);
}

store_status store_setting_copy(store_setting **out, const store_setting *setting)
{
    *out = arena_clone(setting, sizeof *setting, copy_setting);
    return *out ? STORE_OK : STORE_NO_MEMORY;
}
