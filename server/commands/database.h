/* Which database a command works on: an SQLite file (--db), or a PostgreSQL database (--database). */
#ifndef SERVER_COMMANDS_DATABASE_H
#define SERVER_COMMANDS_DATABASE_H

#include "server/base/config.h"
#include "server/store/store.h"

/* Opens the database for this process alone, to read and write. Afterwards config->owner and database_name are those of
 * the database. */
store_status database_open(store **out, server_config *config, store_error *err);

/* Opens the database's state at one moment. A server may use the database at the same time. */
store_status database_snapshot(store **out, const server_config *config, store_error *err);

/* The name of the database for messages, without a password. Before it is opened, a PostgreSQL database has a general
 * name. */
const char *database_name(const server_config *config);

/* Finds config->owner, without opening the database for writing. */
store_status database_find_owner(server_config *config, store_error *err);

#endif
