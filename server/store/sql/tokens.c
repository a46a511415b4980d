/* Writes tokens and settings. */
#include "server/store/sql/sql.h"

store_status sql_token_put(store *s, const store_token *token, store_error *err)
{
    sql_connection *c = sql_writer(s);
    store_status status = STORE_OK;
    bool found = true;
    if (*token->study) {
        sql_start(c, SQL_TOKEN_STUDY, "t", token->study);
        found = sql_step(c);
        status = sql_finish(c, err);
    }
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no study '%s'", token->study);
    if (!status)
        status = sql_run(c, err, SQL_TOKEN_PUT, "tbtttii", token->id, token->hash, sizeof token->hash,
                         token->role, token->study, token->description, token->created_at, token->expires_at);
    return status ? status : sql_must_change(c, err, STORE_EXISTS, "there is a token '%s'", token->id);
}

store_status sql_token_remove(store *s, const char *id, store_error *err)
{
    sql_connection *c = sql_writer(s);
    store_status status = sql_run(c, err, SQL_TOKEN_REMOVE, "t", id);
    return status ? status : sql_must_change(c, err, STORE_NOT_FOUND, "there is no token '%s'", id);
}

store_status sql_setting_put(store *s, const store_setting *setting, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_SETTING_PUT, "tt", setting->name, setting->value);
}
