#include "server/commands/database.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the PostgreSQL database; a process opens only one. */
static char name[160], owner[PATH_MAX];

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* A folder that only this user can write to. */
static bool is_private(const char *folder)
{
    struct stat st;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The owner's socket of an SQLite database is next to its file. That of a PostgreSQL database is in a private folder of
 * this user, under a name that is derived from the database's name. */
static void set_owner(server_config *config)
{
    char folder[64] = "/run/banditd";
    if (!is_private(folder)) {
        snprintf(folder, sizeof folder, "/tmp/banditd-%ju", (uintmax_t)geteuid());
        if (mkdir(folder, S_IRWXU) != 0 && !is_private(folder))
            return; /* it belongs to another user: there is no socket, and the log says so */
    }
    snprintf(owner, sizeof owner, "%s/%016jx", folder, (uintmax_t)hash_of(name));
    int fd = open(owner, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd >= 0)
        close(fd);
    config->owner = owner;
}

store_status database_open(store **out, server_config *config, store_error *err)
{
    bool is_file = !*config->database;
    store_status status =
        is_file ? store_open_sqlite(out, config->db, err)
                : store_open_postgres(out, config->database, (double)config->database_patience, err);
    if (!status && !is_file) {
        snprintf(name, sizeof name, "%s", store_name_postgres(*out));
        set_owner(config);
    }
    if (!status)
        store_set_checksums(*out, config->log_checksums);
    return status;
}

store_status database_snapshot(store **out, const server_config *config, store_error *err)
{
    if (!*config->database)
        return store_open_snapshot(out, config->db, err);
    store_status status = store_open_snapshot_postgres(out, config->database, err);
    if (!status)
        snprintf(name, sizeof name, "%s", store_name_postgres(*out));
    return status;
}

store_status database_find_owner(server_config *config, store_error *err)
{
    store *snapshot;
    if (!*config->database)
        return STORE_OK;
    store_status status = database_snapshot(&snapshot, config, err);
    if (!status) {
        store_close(snapshot);
        set_owner(config);
    }
    return status;
}

const char *database_name(const server_config *config)
{
    return !*config->database ? config->db : *name ? name : "the PostgreSQL database";
}
