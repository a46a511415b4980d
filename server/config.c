#include "server/config.h"
#include "server/listen.h"
#include "server/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct option {
    const char *name;
    const char *argument; /* NULL: a switch */
    const char *fallback; /* default, as the user would write it; NULL: found at run time */
    const char *meaning;
    bool (*set)(server_config *out, const char *value); /* false: not a valid value */
} option;

static bool set_listen(server_config *out, const char *value)
{
    bool loopback;
    out->listen = value;
    return listen_address_check(value, &loopback);
}

static bool set_db(server_config *out, const char *value)
{
    out->db = value;
    return *value != '\0';
}

static bool parse_count(const char *value, size_t maximum, size_t *out)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || errno || *end || n < 1 || n > maximum)
        return false;
    *out = (size_t)n;
    return true;
}

static bool set_threads(server_config *out, const char *value)
{
    return parse_count(value, 1024, &out->threads);
}

static bool set_insecure(server_config *out, const char *value)
{
    out->insecure = strcmp(value, "true") == 0;
    return out->insecure || strcmp(value, "false") == 0;
}

static bool set_auth(server_config *out, const char *value)
{
    out->auth = value;
    return *value == '\0' || strcmp(value, "none") == 0 || strcmp(value, "token") == 0;
}

static bool set_admin_token_file(server_config *out, const char *value)
{
    out->admin_token_file = value;
    return true;
}

static bool set_allowed_hosts(server_config *out, const char *value)
{
    out->allowed_hosts = value;
    return true;
}

static bool set_log_format(server_config *out, const char *value)
{
    out->log_json = strcmp(value, "json") == 0;
    return out->log_json || strcmp(value, "text") == 0;
}

static bool set_log_level(server_config *out, const char *value)
{
    log_level level;
    if (!log_level_parse(&level, value))
        return false;
    out->log_level = (int)level;
    return true;
}

/* Bytes, with KiB, MiB or GiB. */
static bool parse_size(const char *value, size_t *out)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    char *end;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || errno || n < 1)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && n <= SIZE_MAX >> units[i].shift) {
            *out = (size_t)n << units[i].shift;
            return true;
        }
    return false;
}

static bool set_max_body(server_config *out, const char *value)
{
    return parse_size(value, &out->max_body);
}

static bool set_max_upload(server_config *out, const char *value)
{
    return parse_size(value, &out->max_upload);
}

static bool set_study_memory(server_config *out, const char *value)
{
    return parse_size(value, &out->study_memory);
}

static const option options[] = {
    {"listen", "ADDR:PORT", "127.0.0.1:8080",
     "where to serve; also [::1]:8080, unix:/path, systemd (its socket unit's); port 0 picks a free one",
     set_listen},
    {"db", "PATH", "./banditd.db", "SQLite file; created and migrated on start", set_db},
    {"threads", "N", NULL, "threads of the compute pool", set_threads},
    {"allowed-host", "HOST,…", "", "names, besides the loopback ones, that requests may call this server by",
     set_allowed_hosts},
    {"auth", "none|token", "", "who may call: everybody, or who has a token (none on loopback, else token)",
     set_auth},
    {"admin-token-file", "FILE", "", "file with one more token, an administrator's, of 32 characters or more",
     set_admin_token_file},
    {"insecure", NULL, "false", "allow --auth none on an address that is not loopback", set_insecure},
    {"log-format", "text|json", "text", "one line an event, on standard error", set_log_format},
    {"log-level", "LEVEL", "info", "error, warn, info or debug", set_log_level},
    {"max-body", "SIZE", "4MiB", "largest request body", set_max_body},
    {"max-upload", "SIZE", "2GiB", "largest upload of candidates", set_max_upload},
    {"study-memory", "SIZE", "2GiB", "most that one study's engine may take", set_study_memory},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static void environment_name(const option *o, char name[64])
{
    size_t n = (size_t)snprintf(name, 64, "BANDITD_%s", o->name);
    for (size_t i = 0; i < n; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

static bool apply(server_config *out, const option *o, const char *value, const char *from)
{
    if (o->set(out, value))
        return true;
    fprintf(stderr, "banditd: %s: '%s' is not a valid value for --%s (%s)\n", from, value, o->name,
            o->argument ? o->argument : "true or false");
    return false;
}

static config_outcome read_arguments(server_config *out, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
            return CONFIG_HELP;
        const option *found = NULL;
        const char *value = NULL;
        for (int k = 0; k < N_OPTIONS && strncmp(argument, "--", 2) == 0; k++) {
            size_t n = strlen(options[k].name);
            if (strncmp(argument + 2, options[k].name, n) == 0 &&
                (argument[2 + n] == '\0' || argument[2 + n] == '=')) {
                found = &options[k];
                value = argument[2 + n] == '=' ? argument + 3 + n : NULL;
            }
        }
        if (!found) {
            fprintf(stderr, "banditd: unknown option '%s' (banditd serve --help lists them)\n", argument);
            return CONFIG_WRONG;
        }
        if (!found->argument && !value)
            value = "true";
        if (!value && ++i < argc)
            value = argv[i];
        if (!value) {
            fprintf(stderr, "banditd: --%s wants a value (%s)\n", found->name, found->argument);
            return CONFIG_WRONG;
        }
        if (!apply(out, found, value, "command line"))
            return CONFIG_WRONG;
    }
    return CONFIG_RUN;
}

config_outcome config_read(server_config *out, int argc, char **argv)
{
    *out = (server_config){0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    out->threads = cores > 0 ? (size_t)cores : 1;
    for (int i = 0; i < N_OPTIONS; i++) {
        char name[64];
        environment_name(&options[i], name);
        const char *value = getenv(name);
        if (options[i].fallback && !apply(out, &options[i], options[i].fallback, "default"))
            return CONFIG_WRONG;
        if (value && !apply(out, &options[i], value, name))
            return CONFIG_WRONG;
    }
    config_outcome outcome = read_arguments(out, argc, argv);
    bool loopback = true;
    if (outcome != CONFIG_RUN)
        return outcome;
    listen_address_check(out->listen, &loopback);
    out->tokens_required = *out->auth ? strcmp(out->auth, "token") == 0 : !loopback;
    if (!loopback && !out->tokens_required && !out->insecure) {
        fprintf(
            stderr,
            "banditd: --listen %s is not a loopback address: with --auth none anybody who reaches it could "
            "change every\nstudy. Give --insecure as well if that is what you want.\n",
            out->listen);
        return CONFIG_WRONG;
    }
    return outcome;
}

void config_print_help(void)
{
    puts("usage: banditd serve [options]\n\nCommand line over environment over default.\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        const option *o = &options[i];
        char name[64], form[64];
        environment_name(o, name);
        snprintf(form, sizeof form, "--%s %s", o->name, o->argument ? o->argument : "");
        printf("  %-24s %s\n  %-24s (%s; default %s)\n", form, o->meaning, "", name,
               !o->fallback   ? "as many as there are cores"
               : *o->fallback ? o->fallback
                              : "none");
    }
}
