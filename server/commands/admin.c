#include "server/commands/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the command line ---------------------------------------------------------------------------------- */

enum { FOR_EXPORT = 1, FOR_IMPORT = 2, FOR_CHECK = 4, FOR_COPY = 8 };

typedef struct admin_option {
    const char *name;
    const char *argument; /* NULL for a switch */
    const char *meaning;
    unsigned commands;
    size_t field; /* of admin_arguments */
} admin_option;

#define OPTION(field) offsetof(admin_arguments, field)
static const admin_option options[] = {
    {"format", "ndjson|csv", "ndjson (default): the whole study, for import; csv: its trials as a table",
     FOR_EXPORT, OPTION(format)},
    {"id", "ID", "the id of the new study (default: the id in the file)", FOR_IMPORT, OPTION(id)},
    {"study", "ID", "check the log of this study only (default: all studies)", FOR_CHECK, OPTION(study)},
    {"no-replay", NULL, "check the file, its counters and the checksums of logs only; do not replay the logs",
     FOR_CHECK, OPTION(no_replay)},
    {"scratch", "DIRECTORY", "where each study is rebuilt for comparison (default: TMPDIR, or /var/tmp)",
     FOR_CHECK, OPTION(scratch)},
    {"from", "PATH|URI", "SQLite file or PostgreSQL database (default: the configured one)", FOR_COPY,
     OPTION(from)},
    {"to", "PATH|URI", "the same; a file that does not exist is created", FOR_COPY, OPTION(to)},
    {"quiet", NULL, "print problems only", FOR_CHECK | FOR_COPY, OPTION(quiet)},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static unsigned bit_of(const admin_command *command)
{
    return strcmp(command->name, "export") == 0   ? FOR_EXPORT
           : strcmp(command->name, "import") == 0 ? FOR_IMPORT
           : strcmp(command->name, "check") == 0  ? FOR_CHECK
           : strcmp(command->name, "copy") == 0   ? FOR_COPY
                                                  : 0;
}

static void print_help(const admin_command *command)
{
    printf("usage: banditd %s [options]%s%s\n\n%s\n\noptions:\n", command->name,
           *command->operands ? " " : "", command->operands, command->help);
    bool names_both = bit_of(command) == FOR_COPY; /* --from and --to name the databases */
    if (!names_both)
        printf("  %-24s %s\n", "--db PATH", "SQLite file (BANDITD_DB; default ./banditd.db)");
    if (!names_both && strcmp(command->name, "backup") != 0)
        printf("  %-24s %s\n", "--database URI", "PostgreSQL database in place of --db (BANDITD_DATABASE)");
    if (bit_of(command) & (FOR_CHECK | FOR_COPY))
        printf("  %-24s %s\n  %-24s %s\n", "--threads N",
               "number of planning threads (BANDITD_THREADS; default: one per processor)",
               "--study-memory SIZE", "as for serve (BANDITD_STUDY_MEMORY; default 2GiB)");
    for (int i = 0; i < N_OPTIONS; i++) {
        char form[64];
        if (!(options[i].commands & bit_of(command)))
            continue;
        snprintf(form, sizeof form, "--%s %s", options[i].name,
                 options[i].argument ? options[i].argument : "");
        printf("  %-24s %s\n", form, options[i].meaning);
    }
}

int admin_usage(const admin_command *command, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "banditd %s: ", command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (banditd %s --help)\n", command->name);
    return ADMIN_USAGE;
}

/* The option that the argument names. *value: the text after its '=', or NULL if the value is the next argument.
 * Returns NULL if the command has no such option. */
static const admin_option *find_option(const admin_command *command, const char *argument, const char **value)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        size_t n = strlen(options[i].name);
        if ((options[i].commands & bit_of(command)) && strncmp(argument + 2, options[i].name, n) == 0 &&
            (argument[2 + n] == '\0' || argument[2 + n] == '=')) {
            *value = argument[2 + n] == '=' ? argument + 3 + n : NULL;
            return &options[i];
        }
    }
    return NULL;
}

/* Options that `serve` also has are collected, and read through the table of `serve`. */
int admin_read_arguments(admin_arguments *out, int argc, char **argv, const admin_command *command,
                         int operands_min, int operands_max)
{
    char *shared[16];
    int n_shared = 0;
    *out = (admin_arguments){.operands = {"", ""}};
    for (int i = 0; i < argc; i++) {
        const char *value;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(command);
            return -1;
        }
        if (strncmp(argv[i], "--", 2) != 0) {
            if (out->n_operands == operands_max)
                return admin_usage(command, "unexpected argument '%s'", argv[i]);
            out->operands[out->n_operands++] = argv[i];
            continue;
        }
        const admin_option *o = find_option(command, argv[i], &value);
        if (o && !o->argument) {
            *(bool *)((char *)out + o->field) = true;
        } else if (o) {
            if (!value && i + 1 < argc)
                value = argv[++i];
            if (!value || !*value)
                return admin_usage(command, "--%s requires a value", o->name);
            *(const char **)((char *)out + o->field) = value;
        } else {
            static const char *const known[] = {"--db", "--database", "--threads", "--study-memory"};
            bool is_shared = false;
            size_t first = bit_of(command) == FOR_COPY ? 2 : 0;
            size_t end = bit_of(command) & (FOR_CHECK | FOR_COPY) ? 4 : 2;
            for (size_t k = first; k < end; k++) {
                size_t n = strlen(known[k]);
                is_shared |= strncmp(argv[i], known[k], n) == 0 && (argv[i][n] == '\0' || argv[i][n] == '=');
            }
            if (!is_shared || n_shared + 2 > (int)(sizeof shared / sizeof *shared))
                return admin_usage(command, "unknown option '%s'", argv[i]);
            shared[n_shared++] = argv[i];
            if (!strchr(argv[i], '=') && i + 1 < argc)
                shared[n_shared++] = argv[++i];
        }
    }
    if (out->n_operands < operands_min)
        return admin_usage(command, "%s is missing", command->operands);
    /* A command uses the options, which point into the text of the configuration file, until the process ends. */
    static server_config kept;
    config_clear(&kept);
    config_outcome outcome = config_read(&kept, n_shared, shared);
    out->config = kept;
    return outcome == CONFIG_RUN ? 0 : ADMIN_USAGE;
}

int admin_failed(const admin_command *command, const store_error *error, store_status status)
{
    fprintf(stderr, "banditd %s: %s\n", command->name,
            error->status && *error->message ? error->message : store_status_text(status));
    return ADMIN_FAILED;
}

/* ---- migrate, backup ----------------------------------------------------------------------------------- */

static int migrate_postgres(const admin_arguments *a, const admin_command *command)
{
    store_error error = {0};
    store_migration m;
    store_status status = store_migrate_postgres(a->config.database, &m, &error);
    if (status)
        return admin_failed(command, &error, status);
    if (m.before == m.now)
        printf("%s: already at schema version %lld\n", m.name, (long long)m.now);
    else if (m.before == 0)
        printf("%s: schema version %lld\n", m.name, (long long)m.now);
    else
        printf("%s: migrated from schema version %lld to %lld\n", m.name, (long long)m.before,
               (long long)m.now);
    return ADMIN_DONE;
}

static int migrate(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    store *s;
    int64_t before = 0, now = 0;
    int exit = admin_read_arguments(&a, argc, argv, command, 0, 0);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    assert(a.config.db && a.config.database); /* the options have defaults */
    if (*a.config.database)
        return migrate_postgres(&a, command);
    if (access(a.config.db, F_OK) != 0) {
        fprintf(stderr, "banditd migrate: %s: %s\n", a.config.db, strerror(errno));
        return ADMIN_FAILED;
    }
    store_status status = store_read_version(a.config.db, &before, &error);
    if (!status)
        status = store_open_sqlite(&s, a.config.db, &error);
    if (status)
        return admin_failed(command, &error, status);
    store_close(s);
    status = store_read_version(a.config.db, &now, &error);
    if (status)
        return admin_failed(command, &error, status);
    if (before == now)
        printf("%s: already at schema version %lld\n", a.config.db, (long long)now);
    else if (before == 0)
        printf("%s: schema version %lld\n", a.config.db, (long long)now);
    else
        printf("%s: migrated from schema version %lld to %lld; backup in %s.v%lld\n", a.config.db,
               (long long)before, (long long)now, a.config.db, (long long)before);
    return ADMIN_DONE;
}

static int backup(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    int exit = admin_read_arguments(&a, argc, argv, command, 1, 1);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    assert(a.config.database); /* the option has a default */
    if (*a.config.database) {
        fputs("banditd backup: a PostgreSQL database is backed up by pg_dump, or as its provider does\n",
              stderr);
        return ADMIN_FAILED;
    }
    store_status status = store_back_up(a.config.db, a.operands[0], &error);
    return status ? admin_failed(command, &error, status) : ADMIN_DONE;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

const admin_command admin_commands[] = {
    {"migrate", "", "migrate the database to this program's schema version, as serve does on start",
     "Migrates the database to this program's schema version. The database is copied to PATH.v<N> first,\n"
     "where N is its old version. To go back, replace the database by that copy and start the old program.\n"
     "No server may be using the database.\n\n"
     "In a PostgreSQL database, creates or migrates the schema `banditd` and its tables, which serve does not do.\n"
     "Make a backup with pg_dump first.",
     migrate},
    {"check", "", "check the database, also while a server runs",
     "Checks the file, its keys, its counters and the checksums of log entries. Rebuilds each study from its log\n"
     "alone and compares it with the stored study. Replans every batch: on the same kind of machine the engine\n"
     "must choose exactly the same trials.\n\n"
     "It only reads the database, in its state at one moment. A server may be running; its write-ahead log then grows\n"
     "until the check has finished, so on a busy server check a backup instead.\n\n"
     "Exit status: 0 no problems, 3 problems (one line each), 1 the check failed, 2 wrong usage.",
     admin_check},
    {"backup", "FILE", "copy the database, also while a server runs",
     "Copies the database, as it is at one moment, to FILE, which must not exist. FILE appears complete and\n"
     "synced to disk, or not at all. The database is only read; a server may be running.\n\n"
     "To restore a backup: stop the server, replace the database by FILE, remove PATH-wal and PATH-shm if they\n"
     "exist, and start the server.",
     backup},
    {"export", "STUDY [FILE]", "write one study as JSON lines or as a table",
     "Writes one study to FILE, which must not exist, or to standard output. The database is only read; a\n"
     "server may be running.",
     admin_export},
    {"import", "FILE", "create a study from an exported file",
     "Creates a study from FILE, which `banditd export` wrote in the format ndjson (-: standard input). The\n"
     "study is created completely, and will choose the same trials next, or not at all. No server may be using\n"
     "the database; to import into a running server, use `banditctl study import` or POST /v1/studies.",
     admin_import},
    {"copy", "", "copy all studies and tokens into another database",
     "Copies all studies and tokens, as they are at one moment, into another database: from SQLite to PostgreSQL,\n"
     "back, or between two databases of one kind. Each copied study is compared with the original row by row\n"
     "before it appears, and will choose the same trials next. A study that the second database has already is\n"
     "skipped if it is equal, so repeat the command after an interruption. If it differs, it is reported and not\n"
     "changed. A server may be using the first database, but not the second. A PostgreSQL database needs its\n"
     "schema first (banditd migrate). Answers kept for repeated requests are not copied.\n\n"
     "The default of --from and --to is the database that BANDITD_DATABASE or BANDITD_DB names. Put a password\n"
     "into BANDITD_DATABASE, PGPASSWORD or a pass file.\n\n"
     "Exit status: 0 everything is copied, 3 some studies or tokens are not (a line for each), 1 the copy failed,\n"
     "2 wrong usage.",
     admin_copy},
    {0},
};
