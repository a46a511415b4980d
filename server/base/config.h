/* Configuration of `banditd serve`. One table (config_options.c) drives the command line, the environment, the file,
 * --help, the manual page and docs/config.md. */
#ifndef SERVER_BASE_CONFIG_H
#define SERVER_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* A text that was not given is "". */
typedef struct server_config {
    const char *config; /* the configuration file */
    const char *listen;
    const char *db;
    const char *database;      /* a PostgreSQL database, in place of db */
    const char *allowed_hosts; /* comma-separated */
    const char *cors_origins;  /* comma-separated, or * */
    const char *auth;          /* "none", "token", or "auto": depends on the address */
    const char *admin_token_file;
    const char *tls_cert, *tls_key; /* both or none */
    const char *log_format, *log_level_name;
    const char *log_checksums_word;
    bool insecure;
    bool notify_private; /* notifications may go to loopback and private addresses */

    /* Limits. */
    size_t threads;
    size_t max_body, max_upload;                         /* bytes */
    size_t max_connections, max_connections_per_address; /* open at the same time */
    size_t request_seconds;                              /* to receive a request */
    size_t idle_seconds;                                 /* between two requests on a connection */
    size_t max_studies;
    size_t max_values;      /* candidates x dimension of one study */
    size_t max_results;     /* in one tell */
    size_t max_waiting;     /* asks that wait at the same time */
    size_t max_reads;       /* long requests of one caller in progress */
    size_t max_buffered;    /* bytes of bodies and answers in memory */
    size_t slow_request_ms; /* slower requests are logged */
    size_t evict_seconds;   /* for which an idle study stays in memory */
    size_t study_memory;
    size_t total_memory;      /* of all engines */
    size_t database_patience; /* s */

    /* Derived from the options above. */
    const char
        *owner; /* PATH of the socket of the database's owner, PATH.sock: db, or a file for `database` */
    bool tokens_required; /* --auth token, or auto on an address that is not loopback */
    bool log_json;
    bool log_checksums; /* of the entries of studies' logs */
    int log_level;      /* log_level of log.h */

    char *file_text; /* owns the texts that come from the file */
} server_config;

typedef enum config_outcome { CONFIG_RUN, CONFIG_HELP, CONFIG_WRONG } config_outcome;

/* Reads the defaults, then the file (--config, BANDITD_CONFIG), then the environment (BANDITD_...), then the
 * arguments; later ones take precedence. A `db` of the arguments also replaces a `database` of the file or the
 * environment. CONFIG_WRONG: the reason is on standard error. Texts in *out are borrowed from the arguments, the
 * environment and file_text. */
config_outcome config_read(server_config *out, int argc, char **argv);
void config_clear(server_config *config); /* after every outcome */

/* Logs a warning for each environment variable BANDITD_… that neither an option nor a client uses. */
void config_warn_of_unknown(void);

/* Prints the options, their defaults and their environment variables on standard output. */
void config_print_help(void);

/* Would libpq take a password from this URI, or from these settings? */
bool config_has_password(const char *uri);

#endif
