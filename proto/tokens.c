#include "proto/tokens.h"
#include "proto/encode.h"
#include "proto/json_decode.h"

#include <string.h>

static void fill_new_token(wire_decoder *d, json_t *body, void *out)
{
    static const char *const roles[] = {"viewer", "worker", "editor", "admin", NULL};
    wire_new_token *token = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    wire_take_word_text(&o, "role", WIRE_REQUIRED, roles, &token->role);
    if (wire_take_string(&o, "study", WIRE_OPTIONAL, 1, 63, &token->study) && token->study && token->role &&
        strcmp(token->role, "admin") == 0) {
        wire_place at = wire_place_member(NULL, "study");
        wire_refuse(d, &at, "must be left out: the role \"admin\" applies to all studies");
    }
    wire_take_string(&o, "description", WIRE_OPTIONAL, 0, WIRE_MAX_NAME, &token->description);
    wire_take_given_integer(&o, "lifetime_seconds", 1, WIRE_MAX_TOKEN_LIFETIME, &token->lifetime_seconds);
    wire_object_close(&o);
}

WIRE_DEFINE_DECODER(new_token)

void wire_new_token_free(wire_new_token *token)
{
    if (!token)
        return;
    free(token->role);
    free(token->study);
    free(token->description);
    free(token);
}

void wire_encode_token(wire_writer *w, const wire_token *token)
{
    wire_object_begin(w);
    wire_string_member(w, "id", token->id);
    wire_string_member(w, "role", token->role);
    wire_optional_string(w, "study", token->study);
    wire_optional_string(w, "description", token->description);
    wire_time_member(w, "created_at", token->created_at);
    if (token->expires_at)
        wire_time_member(w, "expires_at", token->expires_at);
    wire_optional_string(w, "token", token->text);
    wire_object_end(w);
}

static void text_or_null(wire_writer *w, const char *name, const char *text)
{
    wire_key(w, name);
    if (text && *text)
        wire_string(w, text);
    else
        wire_null(w);
}

void wire_encode_caller(wire_writer *w, const wire_caller *caller)
{
    wire_object_begin(w);
    wire_string_member(w, "role", caller->role);
    text_or_null(w, "study", caller->study);
    wire_key(w, "expires_at");
    if (caller->expires_at)
        wire_time(w, caller->expires_at);
    else
        wire_null(w);
    text_or_null(w, "name", caller->name);
    wire_object_end(w);
}
