/* banditd copy: copies the studies, tokens and settings of one database into another. */
#include "server/base/blas.h"
#include "server/base/log.h"
#include "server/commands/internal.h"
#include "server/data/study_export.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct copying {
    const admin_arguments *a;
    store *from, *to;
    const char *to_name; /* in the form that is shown */
    store_error error;
    int64_t copied, present, problems;
    bool terminal;
    /* The study that is being copied. */
    char *id;
    int64_t number, last_seq;
    study_export *source;
    rebuild *rebuild;
    bool more; /* more of its export is to come */
    char *piece;
    char differs_in[40]; /* the first table with a difference; "": none */
} copying;

/* ---- messages ------------------------------------------------------------------------------------------ */

static void clear_progress(const copying *c)
{
    if (c->terminal)
        fputs("\r\033[K", stderr);
}

static void say(const copying *c, const char *what, int64_t entries)
{
    clear_progress(c);
    if (!c->a->quiet)
        printf("study %s: %s (%lld log entries)\n", c->id, what, (long long)entries);
    fflush(stdout);
}

__attribute__((format(printf, 2, 3))) static void say_problem(copying *c, const char *format, ...)
{
    va_list args;
    clear_progress(c);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    c->problems++;
}

static void show_progress(const copying *c)
{
    if (c->terminal && !c->a->quiet)
        fprintf(stderr, "\rstudy %s: entry %lld of %lld", c->id, (long long)rebuild_entries(c->rebuild),
                (long long)c->last_seq);
}

/* ---- one study ----------------------------------------------------------------------------------------- */

static void take_difference(void *arg, const char *text)
{
    copying *c = arg;
    if (!*c->differs_in)
        snprintf(c->differs_in, sizeof c->differs_in, "%.*s", (int)strcspn(text, ":"), text);
}

static store_status compare(copying *c, int64_t other)
{
    *c->differs_in = '\0';
    return store_compare_rows(c->from, c->id, c->number, c->to, other, take_difference, c, &c->error);
}

static store_status next_of_export(void *arg, const char **bytes, size_t *n, store_error *err)
{
    copying *c = arg;
    store_status status = STORE_OK;
    *n = 0;
    while (*n == 0 && c->more && !status) { /* a part may be empty */
        wire_writer w = WIRE_WRITER_INIT;
        free(c->piece);
        c->piece = NULL;
        status = export_read(c->source, &w, &c->more, err);
        if (!status && !wire_writer_finish(&w, &c->piece, n))
            status = STORE_NO_MEMORY;
        wire_writer_clear(&w);
    }
    *bytes = c->piece;
    show_progress(c);
    return status;
}

/* Writes the study into the other database, where it is staged. Then loads, compares and publishes it. */
static store_status write_copy(copying *c, wire_errors *errors)
{
    store_status status = export_open(&c->source, c->from, c->id, EXPORT_NDJSON, &c->error);
    c->more = true;
    if (!status)
        status = rebuild_new(&c->rebuild, c->to, NULL, true);
    if (!status)
        status = admin_rebuild(c->rebuild, next_of_export, c, errors, &c->error);
    if (status || errors->n > 0)
        return status;
    status = admin_try(c->rebuild, c->to, &c->a->config, &c->error);
    if (!status)
        status = compare(c, rebuild_number(c->rebuild));
    if (!status && !*c->differs_in)
        status = admin_publish(c->rebuild);
    return status;
}

static store_status make_copy(copying *c)
{
    wire_errors errors = {0};
    store_status status = write_copy(c, &errors);
    if (!status && errors.n > 0) {
        say_problem(c, "study %s: %s", c->id, errors.items[0].detail);
    } else if (!status && *c->differs_in) {
        say_problem(c, "study %s: its copy differs (%s) and was removed: banditd check says more", c->id,
                    c->differs_in);
    } else if (!status) {
        c->copied++;
        say(c, "copied", c->last_seq);
    } else if (status == STORE_CORRUPT) {
        say_problem(c, "study %s: it cannot be loaded: %s", c->id, c->error.message);
        c->error = (store_error){0};
        status = STORE_OK;
    }
    wire_errors_clear(&errors);
    rebuild_free(c->rebuild);
    export_free(c->source);
    free(c->piece);
    c->rebuild = NULL;
    c->source = NULL;
    c->piece = NULL;
    return status;
}

static void take_number(void *arg, const store_study *row)
{
    *(int64_t *)arg = row->study;
}

static store_status copy_study(copying *c)
{
    int64_t other = 0;
    store_status status = store_read_study(c->to, c->id, take_number, &other, NULL);
    if (status == STORE_NOT_FOUND)
        return make_copy(c);
    if (!status)
        status = compare(c, other);
    if (!status && *c->differs_in) {
        say_problem(c, "study %s: %s already has a different study with this id (%s), which was not changed",
                    c->id, c->to_name, c->differs_in);
    } else if (!status) {
        c->present++;
        say(c, "exists and is equal", c->last_seq);
    }
    return status;
}

/* ---- all studies --------------------------------------------------------------------------------------- */

static void take_study(void *arg, const store_study *row)
{
    copying *c = arg;
    c->id = strdup(row->id);
    c->number = row->study;
    c->last_seq = row->last_seq;
}

static store_status copy_studies(copying *c)
{
    char *after = NULL;
    store_status status = STORE_OK;
    do {
        const store_study_filter next = {.after = after};
        c->number = 0;
        c->id = NULL;
        status = store_read_studies(c->from, &next, 1, take_study, c, &c->error);
        free(after);
        after = c->id;
        if (!status && c->number && !c->id)
            status = STORE_NO_MEMORY;
        if (!status && c->id)
            status = copy_study(c);
    } while (!status && c->id);
    free(after);
    return status;
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

typedef struct copied_tokens {
    copying *c;
    int64_t copied, present, last;
    bool any;
    store_status status;
} copied_tokens;

static store_status submit(store_write *write)
{
    admin_outcome outcome;
    sem_init(&outcome.known, 0, 0);
    store_submit(write, admin_note_outcome, &outcome);
    return admin_await(&outcome);
}

static store_status put_token(store *to, const store_token *token)
{
    store_lane *lane;
    store_write *write;
    store_status status = store_lane_open(&lane, to, 0, 0, 0);
    if (status)
        return status;
    status = store_write_new(&write, lane);
    if (!status && (status = store_write_put_token(write, token)))
        store_write_free(write);
    if (!status)
        status = submit(write);
    store_lane_close(lane);
    return status;
}

static void copy_token(void *arg, const store_token *token)
{
    copied_tokens *t = arg;
    t->any = true;
    t->last = token->number;
    store_status status = t->status ? t->status : put_token(t->c->to, token);
    if (status == STORE_NOT_FOUND)
        say_problem(t->c, "token %s: its study %s was not copied", token->id, token->study);
    else if (status == STORE_EXISTS)
        t->present++;
    else if (status == STORE_OK)
        t->copied++;
    else
        t->status = status;
}

static store_status copy_tokens(copying *c)
{
    copied_tokens t = {.c = c};
    store_status status = STORE_OK;
    do {
        t.any = false;
        status = store_read_tokens(c->from, t.last, 100, copy_token, &t, &c->error);
        status = status ? status : t.status;
    } while (!status && t.any);
    if (!status && !c->a->quiet && (t.copied || t.present))
        printf("tokens: %lld copied, %lld existed\n", (long long)t.copied, (long long)t.present);
    return status;
}

/* ---- settings ------------------------------------------------------------------------------------------ */

static void take_setting(void *arg, const char *value)
{
    char **out = arg;
    *out = strdup(value);
}

static store_status put_setting(store *to, const char *name, const char *value)
{
    store_lane *lane;
    store_write *write;
    store_status status = store_lane_open(&lane, to, 0, 0, 0);
    if (status)
        return status;
    status = store_write_new(&write, lane);
    if (!status && (status = store_write_put_setting(write, name, value)))
        store_write_free(write);
    if (!status)
        status = submit(write);
    store_lane_close(lane);
    return status;
}

/* Copies the list of receivers of notifications, unless the other database has one. */
static store_status copy_settings(copying *c)
{
    static const char name[] = "notify";
    char *value = NULL, *present = NULL;
    store_status status = store_read_setting(c->from, name, take_setting, &value, &c->error);
    if (status == STORE_NOT_FOUND)
        return STORE_OK;
    if (!status && !value)
        status = STORE_NO_MEMORY;
    if (!status) {
        status = store_read_setting(c->to, name, take_setting, &present, &c->error);
        if (status == STORE_NOT_FOUND)
            status = put_setting(c->to, name, value);
    }
    free(value);
    free(present);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static bool is_uri(const char *name)
{
    return strncmp(name, "postgresql://", 13) == 0 || strncmp(name, "postgres://", 11) == 0;
}

static store_status open_both(copying *c, const char *from, const char *to)
{
    store_status status = is_uri(from) ? store_open_snapshot_postgres(&c->from, from, &c->error)
                                       : store_open_snapshot(&c->from, from, &c->error);
    if (!status && is_uri(to))
        status = store_open_postgres(&c->to, to, (double)c->a->config.database_patience, &c->error);
    else if (!status)
        status = store_open_sqlite(&c->to, to, &c->error);
    if (!status)
        c->to_name = is_uri(to) ? store_name_postgres(c->to) : to;
    return status;
}

/* Returns 0 if --from and --to can be used, otherwise the exit status. */
static int check_names(const admin_arguments *a, const char *from, const char *to,
                       const admin_command *command)
{
    const char *given[] = {a->from ? a->from : "", a->to ? a->to : ""};
    if (!a->from && !a->to)
        return admin_usage(command, "--from or --to is missing");
    if (strcmp(from, to) == 0)
        return admin_usage(command, "--from and --to are the same database");
    for (int i = 0; i < 2; i++)
        if (is_uri(given[i]) && config_has_password(given[i]))
            return admin_usage(command,
                               "a database has a password, which other users of this machine can read on the "
                               "command line: put it into BANDITD_DATABASE, PGPASSWORD or a pass file");
    return 0;
}

int admin_copy(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    copying c = {.a = &a, .terminal = isatty(STDERR_FILENO)};
    int exit = admin_read_arguments(&a, argc, argv, command, 0, 0);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    const char *configured = *a.config.database ? a.config.database : a.config.db;
    const char *from = a.from ? a.from : configured, *to = a.to ? a.to : configured;
    if ((exit = check_names(&a, from, to, command)))
        return exit;
    log_configure(LOG_ERROR, false);
    if (!blas_prepare(a.config.threads) || sodium_init() < 0)
        return ADMIN_FAILED;
    store_status status = open_both(&c, from, to);
    if (!status)
        status = copy_studies(&c);
    if (!status)
        status = copy_tokens(&c);
    if (!status)
        status = copy_settings(&c);
    clear_progress(&c);
    if (!status && !a.quiet)
        printf("%s: %lld studies copied, %lld existed, %lld problems\n", c.to_name, (long long)c.copied,
               (long long)c.present, (long long)c.problems);
    store_close(c.to);
    store_close(c.from);
    if (status)
        return admin_failed(command, &c.error, status);
    return c.problems > 0 ? ADMIN_UNSOUND : ADMIN_DONE;
}
