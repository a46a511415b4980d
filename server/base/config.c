#include "server/base/config.h"

#include "proto/config_file.h"
#include "server/base/blas.h"
#include "server/base/config_options.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/base/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool apply(server_config *out, const config_option *o, const char *value, const char *from)
{
    if (config_option_set(out, o, value))
        return true;
    fprintf(stderr, "banditd: %s: '%s' is not a valid value for --%s (%s)\n", from, value, o->name,
            config_option_form(o));
    return false;
}

bool config_has_password(const char *uri)
{
    const char *user = strstr(uri, "://");
    const char *host = user ? strchr(user + 3, '@') : NULL;
    return strstr(uri, "password=") || (host && memchr(user + 3, ':', (size_t)(host - user - 3)));
}

/* only: the one option to set; NULL sets all. */
static config_outcome read_arguments(server_config *out, int argc, char **argv, const config_option *only)
{
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i], *value = NULL;
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
            return CONFIG_HELP;
        size_t n = strncmp(argument, "--", 2) == 0 ? strcspn(argument + 2, "=") : 0;
        const config_option *found = n > 0 ? config_option_named(argument + 2, n) : NULL;
        if (!found) {
            fprintf(stderr, "banditd: unknown option '%s' (banditd serve --help lists the options)\n",
                    argument);
            return CONFIG_WRONG;
        }
        if (argument[2 + n] == '=')
            value = argument + 3 + n;
        else if (!found->argument)
            value = "true";
        else if (++i < argc)
            value = argv[i];
        if (!value) {
            fprintf(stderr, "banditd: --%s requires a value (%s)\n", found->name, found->argument);
            return CONFIG_WRONG;
        }
        if (found->offset == offsetof(server_config, database) && config_has_password(value)) {
            fputs(
                "banditd: --database has a password, which other users of this machine can read on the command line: "
                "put it into BANDITD_DATABASE, the configuration file, PGPASSWORD or a pass file\n",
                stderr);
            return CONFIG_WRONG;
        }
        if ((!only || found == only) && !apply(out, found, value, "command line"))
            return CONFIG_WRONG;
    }
    return CONFIG_RUN;
}

enum { LARGEST_FILE = 64 << 10 };

typedef struct file_reading {
    server_config *out;
    size_t lines[CONFIG_MOST_OPTIONS]; /* the line that set each option; 0: none */
} file_reading;

static bool apply_setting(void *arg, const char *name, const char *value, size_t line, wire_errors *errors)
{
    file_reading *r = arg;
    const config_option *o = config_option_named(name, strlen(name));
    if (!o || o->offset == offsetof(server_config, config)) {
        wire_errors_add(errors, "", "line %zu: unknown option '%s'", line, name);
    } else if (r->lines[o - config_options]) {
        wire_errors_add(errors, "", "line %zu: %s is already set in line %zu", line, name,
                        r->lines[o - config_options]);
    } else if (!config_option_set(r->out, o, value)) {
        wire_errors_add(errors, "", "line %zu: '%s' is not a valid value for %s (%s)", line, value, name,
                        config_option_form(o));
    } else {
        r->lines[o - config_options] = line;
        return true;
    }
    return false;
}

/* The whole file, followed by a NUL. Prints the reason and returns NULL on failure. */
static char *read_whole(const char *path, size_t *n)
{
    const char *problem = NULL;
    char *text = malloc(LARGEST_FILE + 2);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    *n = 0;
    while (text && fd >= 0 && got > 0 && *n <= LARGEST_FILE) {
        got = read(fd, text + *n, LARGEST_FILE + 1 - *n);
        *n += got > 0 ? (size_t)got : 0;
    }
    if (!text)
        problem = "out of memory";
    else if (fd < 0 || got < 0)
        problem = strerror(errno);
    else if (*n > LARGEST_FILE)
        problem = "the file is larger than 64 KiB";
    if (fd >= 0)
        close(fd);
    if (!problem) {
        text[*n] = '\0';
        return text;
    }
    fprintf(stderr, "banditd: --config %s: %s\n", path, problem);
    free(text);
    return NULL;
}

static bool read_file(server_config *out, const char *path)
{
    size_t n;
    file_reading reading = {.out = out};
    wire_errors errors = {0};
    out->file_text = read_whole(path, &n);
    if (!out->file_text)
        return false;
    wire_status status = wire_read_settings(out->file_text, n, apply_setting, &reading, &errors);
    if (status != WIRE_OK)
        fprintf(stderr, "banditd: %s: %s\n", path, errors.n ? errors.items[0].detail : "out of memory");
    wire_errors_clear(&errors);
    return status == WIRE_OK;
}

static bool read_environment(server_config *out, const config_option *only)
{
    for (size_t i = 0; i < n_config_options; i++) {
        char name[64];
        config_option_variable(&config_options[i], name);
        const char *value = getenv(name);
        if (value && (!only || only == &config_options[i]) && !apply(out, &config_options[i], value, name))
            return false;
    }
    return true;
}

static bool is_known_variable(const char *name, size_t n)
{
    static const char *const clients[] = {"BANDITD_URL", "BANDITD_TOKEN", "BANDITD_CACERT"};
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        if (strlen(clients[i]) == n && memcmp(clients[i], name, n) == 0)
            return true;
    for (size_t i = 0; i < n_config_options; i++) {
        char own[64];
        config_option_variable(&config_options[i], own);
        if (strlen(own) == n && memcmp(own, name, n) == 0)
            return true;
    }
    return false;
}

void config_warn_of_unknown(void)
{
    for (char **variable = environ; variable && *variable; variable++) {
        size_t n = strcspn(*variable, "=");
        if (strncmp(*variable, "BANDITD_", 8) == 0 && !is_known_variable(*variable, n))
            log_event(LOG_WARN, "unknown_variable", "name",
                      log_format("%.*s", n > 100 ? 100 : (int)n, *variable), "hint",
                      "no option uses this variable: banditd serve --help lists the variables", NULL);
    }
}

static bool set_defaults(server_config *out)
{
    *out = (server_config){0};
    for (size_t i = 0; i < n_config_options; i++)
        if (config_options[i].fallback &&
            !apply(out, &config_options[i], config_options[i].fallback, "default"))
            return false;
    size_t processors = process_processors();
    out->threads = processors < BLAS_MOST_CALLERS ? processors : BLAS_MOST_CALLERS;
    return true;
}

/* Makes the checks that depend on more than one value, and sets the values that follow from others. */
static bool conclude(server_config *out)
{
    bool loopback = true;
    log_level level = LOG_INFO;
    log_level_parse(&level, out->log_level_name);
    out->log_level = (int)level;
    out->log_json = strcmp(out->log_format, "json") == 0;
    out->log_checksums = strcmp(out->log_checksums_word, "on") == 0;
    out->owner = out->db;
    listen_address_check(out->listen, &loopback);
    out->tokens_required = strcmp(out->auth, "auto") == 0 ? !loopback : strcmp(out->auth, "token") == 0;
    bool many = out->threads > BLAS_MOST_CALLERS;
    if (many || out->max_results > WIRE_MAX_TRIALS) {
        fprintf(stderr, "banditd: --%s\n",
                many ? "threads must be at most 256" : "max-results must be at most 1000");
        return false;
    }
    if ((*out->tls_cert == '\0') != (*out->tls_key == '\0')) {
        fputs("banditd: --tls-cert and --tls-key must be given together\n", stderr);
        return false;
    }
    if (!loopback && !out->tokens_required && !out->insecure) {
        fprintf(
            stderr,
            "banditd: --listen %s is not a loopback address, so with --auth none anybody who can reach it can\n"
            "change every study. Use --auth token, or add --insecure if this is what you want.\n",
            out->listen);
        return false;
    }
    return true;
}

config_outcome config_read(server_config *out, int argc, char **argv)
{
    const config_option *file = config_option_named("config", strlen("config"));
    if (!set_defaults(out) || !read_environment(out, file))
        return CONFIG_WRONG;
    config_outcome outcome = read_arguments(out, argc, argv, file);
    if (outcome != CONFIG_RUN)
        return outcome;
    if ((*out->config && !read_file(out, out->config)) || !read_environment(out, NULL))
        return CONFIG_WRONG;
    const char *db = out->db, *database = out->database;
    outcome = read_arguments(out, argc, argv, NULL);
    if (out->db != db && out->database == database) /* texts of the command line have other addresses */
        out->database = "";
    return outcome == CONFIG_RUN && !conclude(out) ? CONFIG_WRONG : outcome;
}

void config_clear(server_config *config)
{
    free(config->file_text);
    config->file_text = NULL;
}

void config_print_help(void)
{
    puts(
        "usage: banditd serve [options]\n\nPrecedence: command line, environment, configuration file, default.\n");
    for (size_t i = 0; i < n_config_options; i++) {
        const config_option *o = &config_options[i];
        char name[64], form[64];
        config_option_variable(o, name);
        snprintf(form, sizeof form, "--%s %s", o->name, o->argument ? o->argument : "");
        if (strlen(form) > 24)
            printf("  %s\n  %-24s %s\n", form, "", o->meaning);
        else
            printf("  %-24s %s\n", form, o->meaning);
        printf("  %-24s (%s; default %s)\n", "", name,
               !o->fallback   ? "one per processor that it may use"
               : *o->fallback ? o->fallback
                              : "none");
    }
}
