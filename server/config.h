/* Configuration of `banditd serve`. One table (config.c) drives command line, environment and --help. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

typedef struct server_config {
    const char *listen;
    const char *db;
    const char *allowed_hosts; /* comma-separated */
    size_t threads;
    bool insecure;
    bool tokens_required;         /* --auth token, or by the address */
    const char *auth;             /* "none", "token"; "": by the address */
    const char *admin_token_file; /* "": none */
    bool log_json;
    int log_level; /* log_level of log.h */
    size_t max_body, max_upload;
    size_t study_memory;
} server_config;

typedef enum config_outcome { CONFIG_RUN, CONFIG_HELP, CONFIG_WRONG } config_outcome;

/* Defaults, then the environment (BANDITD_…), then the arguments. CONFIG_WRONG: said why on standard error.
 */
config_outcome config_read(server_config *out, int argc, char **argv);

/* The options with their defaults and environment variables, on standard output. */
void config_print_help(void);

#endif
