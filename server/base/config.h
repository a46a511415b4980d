/* Configuration of `banditd serve`. One table (config.c) drives the command line, the environment, the file,
 * --help, the manual page and docs/config.md. */
#ifndef SERVER_BASE_CONFIG_H
#define SERVER_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* Texts are "" when there is none. */
typedef struct server_config {
    const char *config; /* the file that was read */
    const char *listen;
    const char *db;
    const char *allowed_hosts; /* comma-separated */
    const char *cors_origins;  /* comma-separated, or * */
    const char *auth;          /* "none", "token" or "auto": by the address */
    const char *admin_token_file;
    const char *tls_cert, *tls_key; /* both or none */
    const char *log_format, *log_level_name;
    bool insecure;

    /* Limits. */
    size_t threads;
    size_t max_body, max_upload;                         /* bytes */
    size_t max_connections, max_connections_per_address; /* at once */
    size_t request_seconds;                              /* for a request to come */
    size_t idle_seconds;                                 /* between requests of a connection */
    size_t max_studies;
    size_t max_values;      /* candidates x dimension of a study */
    size_t max_results;     /* of a tell */
    size_t max_waiting;     /* asks at once */
    size_t slow_request_ms; /* from then on it is logged */
    size_t evict_seconds;   /* that an unused study stays in memory */
    size_t study_memory;

    /* What follows from it. */
    bool tokens_required; /* --auth token, or by the address */
    bool log_json;
    int log_level; /* log_level of log.h */

    char *file_text; /* what texts from the file point into */
} server_config;

typedef enum config_outcome { CONFIG_RUN, CONFIG_HELP, CONFIG_WRONG } config_outcome;

/* Defaults, then the file (--config, BANDITD_CONFIG), then the environment (BANDITD_…), then the arguments.
 * CONFIG_WRONG: said why on standard error. Texts are borrowed from all of these. */
config_outcome config_read(server_config *out, int argc, char **argv);
void config_clear(server_config *config); /* whatever the outcome was */

/* The options with their defaults and environment variables, on standard output. */
void config_print_help(void);

#endif
