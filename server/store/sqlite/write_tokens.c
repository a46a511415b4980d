/* Writes tokens. */
#include "server/store/sqlite/sqlite.h"

store_status sqlite_token_put(store *s, const store_token *token, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = STORE_OK;
    bool found = true;
    if (*token->study) {
        sqlite3_stmt *row = connection_bind(c, SQL_TOKEN_STUDY, "t", token->study);
        found = connection_step(c, row);
        status = connection_finish(c, row, err);
    }
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no study '%s'", token->study);
    if (!status)
        status = connection_run(c, err, SQL_TOKEN_PUT, "tbtttii", token->id, token->hash, sizeof token->hash,
                                token->role, token->study, token->description, token->created_at,
                                token->expires_at);
    if (!status && sqlite3_changes(c->db) == 0)
        status = store_fail(err, STORE_EXISTS, "there is a token '%s'", token->id);
    return status;
}

store_status sqlite_token_remove(store *s, const char *id, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = connection_run(c, err, SQL_TOKEN_REMOVE, "t", id);
    if (!status && sqlite3_changes(c->db) == 0)
        status = store_fail(err, STORE_NOT_FOUND, "there is no token '%s'", id);
    return status;
}
