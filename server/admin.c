#include "server/admin.h"

#include "proto/study_file.h"
#include "server/blas.h"
#include "server/config.h"
#include "server/export.h"
#include "server/log.h"
#include "server/rebuild.h"
#include "server/replay.h"
#include "server/routes.h"
#include "server/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the command line ---------------------------------------------------------------------------------- */

typedef struct admin_arguments {
    server_config config; /* db, threads, study_memory */
    const char *operands[2];
    int n_operands;
    const char *format, *id, *study, *scratch; /* NULL: not given */
    bool no_replay, quiet;
} admin_arguments;

enum { FOR_EXPORT = 1, FOR_IMPORT = 2, FOR_CHECK = 4 };

typedef struct admin_option {
    const char *name;
    const char *argument; /* NULL: a switch */
    const char *meaning;
    unsigned commands;
    size_t field; /* of admin_arguments */
} admin_option;

#define OPTION(field) offsetof(admin_arguments, field)
static const admin_option options[] = {
    {"format", "ndjson|csv", "ndjson (default): all of it, for import; csv: its trials as a table",
     FOR_EXPORT, OPTION(format)},
    {"id", "ID", "the study's new name (default: the one it has in the file)", FOR_IMPORT, OPTION(id)},
    {"study", "ID", "check this study's log only (default: all)", FOR_CHECK, OPTION(study)},
    {"no-replay", NULL, "leave out the replay of the logs: the file and its counters only", FOR_CHECK,
     OPTION(no_replay)},
    {"scratch", "DIRECTORY", "where each study is built once more (default: TMPDIR, or /var/tmp)", FOR_CHECK,
     OPTION(scratch)},
    {"quiet", NULL, "print problems only", FOR_CHECK, OPTION(quiet)},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static unsigned bit_of(const admin_command *command)
{
    return strcmp(command->name, "export") == 0   ? FOR_EXPORT
           : strcmp(command->name, "import") == 0 ? FOR_IMPORT
           : strcmp(command->name, "check") == 0  ? FOR_CHECK
                                                  : 0;
}

static void print_help(const admin_command *command)
{
    printf("usage: banditd %s [options]%s%s\n\n%s\n\noptions:\n", command->name,
           *command->operands ? " " : "", command->operands, command->help);
    printf("  %-24s %s\n", "--db PATH", "SQLite file (BANDITD_DB; default ./banditd.db)");
    if (bit_of(command) == FOR_CHECK)
        printf("  %-24s %s\n  %-24s %s\n", "--threads N",
               "threads that plan (BANDITD_THREADS; default: cores)", "--study-memory SIZE",
               "as for serve (BANDITD_STUDY_MEMORY; default 2GiB)");
    for (int i = 0; i < N_OPTIONS; i++) {
        char form[64];
        if (!(options[i].commands & bit_of(command)))
            continue;
        snprintf(form, sizeof form, "--%s %s", options[i].name,
                 options[i].argument ? options[i].argument : "");
        printf("  %-24s %s\n", form, options[i].meaning);
    }
}

static int usage(const admin_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int usage(const admin_command *command, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "banditd %s: ", command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (banditd %s --help)\n", command->name);
    return ADMIN_USAGE;
}

/* The option of that name with its value; *value NULL: in the next argument. */
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

/* 0 to go on, −1 when there is nothing more to do, or the exit status. Options that serve has, too, are left
 * to its table. */
static int read_arguments(admin_arguments *out, int argc, char **argv, const admin_command *command,
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
                return usage(command, "'%s' is one too many", argv[i]);
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
                return usage(command, "--%s wants a value", o->name);
            *(const char **)((char *)out + o->field) = value;
        } else {
            static const char *const known[] = {"--db", "--threads", "--study-memory"};
            bool is_shared = false;
            for (size_t k = 0; k < (bit_of(command) == FOR_CHECK ? 3 : 1); k++) {
                size_t n = strlen(known[k]);
                is_shared |= strncmp(argv[i], known[k], n) == 0 && (argv[i][n] == '\0' || argv[i][n] == '=');
            }
            if (!is_shared || n_shared + 2 > (int)(sizeof shared / sizeof *shared))
                return usage(command, "unknown option '%s'", argv[i]);
            shared[n_shared++] = argv[i];
            if (!strchr(argv[i], '=') && i + 1 < argc)
                shared[n_shared++] = argv[++i];
        }
    }
    if (out->n_operands < operands_min)
        return usage(command, "%s is missing", command->operands);
    return config_read(&out->config, n_shared, shared) == CONFIG_RUN ? 0 : ADMIN_USAGE;
}

static int failed(const admin_command *command, const store_error *error, store_status status)
{
    fprintf(stderr, "banditd %s: %s\n", command->name,
            error->status && *error->message ? error->message : store_status_text(status));
    return ADMIN_FAILED;
}

/* ---- migrate, backup ----------------------------------------------------------------------------------- */

static int migrate(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    store *s;
    int64_t before = 0, now = 0;
    int exit = read_arguments(&a, argc, argv, command, 0, 0);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    if (access(a.config.db, F_OK) != 0) {
        fprintf(stderr, "banditd migrate: %s: %s\n", a.config.db, strerror(errno));
        return ADMIN_FAILED;
    }
    store_status status = store_read_version(a.config.db, &before, &error);
    if (!status)
        status = store_open_sqlite(&s, a.config.db, &error);
    if (status)
        return failed(command, &error, status);
    store_close(s);
    status = store_read_version(a.config.db, &now, &error);
    if (status)
        return failed(command, &error, status);
    if (before == now)
        printf("%s: schema version %lld already\n", a.config.db, (long long)now);
    else if (before == 0)
        printf("%s: schema version %lld\n", a.config.db, (long long)now);
    else
        printf("%s: schema version %lld, from %lld; as it was: %s.v%lld\n", a.config.db, (long long)now,
               (long long)before, a.config.db, (long long)before);
    return ADMIN_DONE;
}

static int backup(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    int exit = read_arguments(&a, argc, argv, command, 1, 1);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    store_status status = store_back_up(a.config.db, a.operands[0], &error);
    return status ? failed(command, &error, status) : ADMIN_DONE;
}

/* ---- check --------------------------------------------------------------------------------------------- */

typedef struct checking {
    const admin_arguments *a;
    const char *study; /* whose log is being replayed; NULL: none */
    int64_t problems, last_seq;
    bool terminal;
    struct checked_study {
        char *id;
        int64_t entries;
    } * studies;
    size_t n, capacity;
    bool no_memory;
} checking;

static void clear_progress(const checking *c)
{
    if (c->terminal)
        fputs("\r\033[K", stderr);
}

static void print_problem(void *arg, const char *problem)
{
    checking *c = arg;
    clear_progress(c);
    if (c->study)
        printf("study %s: %s\n", c->study, problem);
    else
        puts(problem);
    fflush(stdout);
    c->problems++;
}

static void print_progress(void *arg, int64_t entry)
{
    const checking *c = arg;
    if (c->terminal && !c->a->quiet)
        fprintf(stderr, "\rstudy %s: entry %lld of %lld", c->study, (long long)entry, (long long)c->last_seq);
}

static void keep_id(void *arg, const store_study *row)
{
    checking *c = arg;
    if (c->a->study && strcmp(c->a->study, row->id) != 0)
        return;
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 64;
        struct checked_study *grown = realloc(c->studies, capacity * sizeof *grown);
        c->no_memory |= !grown;
        if (!grown)
            return;
        c->studies = grown;
        c->capacity = capacity;
    }
    struct checked_study *next = &c->studies[c->n];
    *next = (struct checked_study){.id = strdup(row->id), .entries = row->last_seq};
    c->no_memory |= !next->id;
    c->n += next->id != NULL;
}

/* A directory of our own, and later what it holds. */
static bool make_scratch(const admin_arguments *a, char *directory, size_t size)
{
    const char *parent = a->scratch ? a->scratch : getenv("TMPDIR");
    snprintf(directory, size, "%s/banditd-check-XXXXXX", parent && *parent ? parent : "/var/tmp");
    if (mkdtemp(directory))
        return true;
    fprintf(stderr, "banditd check: %s: %s\n", directory, strerror(errno));
    return false;
}

static void clear_scratch(const char *directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
}

static store_status replay_all(checking *c, store *snapshot, store_error *error)
{
    char directory[4096], file[4200];
    store_status status = STORE_OK;
    if (!make_scratch(c->a, directory, sizeof directory))
        return STORE_IO;
    snprintf(file, sizeof file, "%s/study.db", directory);
    pool *p = pool_new(c->a->config.threads);
    for (size_t i = 0; p && i < c->n && !status; i++) {
        const replay_options wanted = {.config = &c->a->config,
                                       .pool = p,
                                       .scratch = file,
                                       .difference = print_problem,
                                       .progress = print_progress,
                                       .arg = c};
        replay_result result;
        c->study = c->studies[i].id;
        c->last_seq = c->studies[i].entries;
        status = replay_study(snapshot, c->studies[i].id, &wanted, &result, error);
        clear_progress(c);
        if (!status && result.differences == 0 && !c->a->quiet)
            printf("study %s: as its log says: %lld entries, %lld batches planned again\n", c->studies[i].id,
                   (long long)result.entries, (long long)result.batches);
        fflush(stdout);
        clear_scratch(directory);
    }
    c->study = NULL;
    pool_free(p);
    rmdir(directory);
    return p ? status : STORE_NO_MEMORY;
}

static store_status check_studies(checking *c, store_error *error)
{
    store *snapshot;
    store_status status = store_open_snapshot(&snapshot, c->a->config.db, error);
    if (status)
        return status;
    status = store_read_studies(snapshot, "", SIZE_MAX, keep_id, c, error);
    if (!status && c->no_memory)
        status = STORE_NO_MEMORY;
    if (!status && c->a->study && c->n == 0) {
        fprintf(stderr, "banditd check: there is no study '%s'\n", c->a->study);
        status = STORE_NOT_FOUND;
    }
    if (!status)
        status = replay_all(c, snapshot, error);
    store_close(snapshot);
    return status;
}

static int check(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    checking c = {.a = &a, .terminal = isatty(STDERR_FILENO)};
    int exit = read_arguments(&a, argc, argv, command, 0, 0);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    log_configure(LOG_ERROR, false);
    if (!blas_prepare() || sodium_init() < 0)
        return ADMIN_FAILED;
    store_status status = store_check(a.config.db, print_problem, &c, &error);
    if (!status && c.problems == 0 && !a.quiet)
        printf("%s: the file, its keys and its counters are sound\n", a.config.db);
    if (!status && !a.no_replay)
        status = check_studies(&c, &error);
    for (size_t i = 0; i < c.n; i++)
        free(c.studies[i].id);
    free(c.studies);
    if (status == STORE_CORRUPT && c.problems > 0)
        status = STORE_OK; /* more cannot be read, and that has been said */
    if (status)
        return failed(command, &error, status);
    if (c.problems > 0)
        printf("%lld problem%s\n", (long long)c.problems, c.problems == 1 ? "" : "s");
    return c.problems > 0 ? ADMIN_UNSOUND : ADMIN_DONE;
}

/* ---- export -------------------------------------------------------------------------------------------- */

static bool write_all(FILE *out, wire_writer *w)
{
    char *text;
    size_t size;
    if (!wire_writer_finish(w, &text, &size))
        return false;
    bool good = fwrite(text, 1, size, out) == size;
    free(text);
    return good;
}

static store_status write_export(study_export *x, FILE *out, const char *name, store_error *error)
{
    bool more = true;
    store_status status = STORE_OK;
    while (more && !status) {
        wire_writer w = WIRE_WRITER_INIT;
        status = export_read(x, &w, &more, error);
        if (!status && !write_all(out, &w)) {
            error->status = status = STORE_IO;
            snprintf(error->message, sizeof error->message, "%s: %s", name, strerror(errno));
        }
        wire_writer_clear(&w);
    }
    return status;
}

static FILE *create_file(const char *name, store_error *error)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        error->status = STORE_IO;
        snprintf(error->message, sizeof error->message, "%s: %s", name, strerror(errno));
    }
    return out;
}

static int export_study(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    store *snapshot = NULL;
    study_export *x = NULL;
    FILE *out = stdout;
    int exit = read_arguments(&a, argc, argv, command, 1, 2);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    bool csv = a.format && strcmp(a.format, "csv") == 0;
    if (a.format && !csv && strcmp(a.format, "ndjson") != 0)
        return usage(command, "--format is ndjson or csv, not '%s'", a.format);
    bool to_file = a.n_operands == 2 && strcmp(a.operands[1], "-") != 0;
    const char *name = to_file ? a.operands[1] : "standard output";
    store_status status = store_open_snapshot(&snapshot, a.config.db, &error);
    if (!status)
        status = export_open(&x, snapshot, a.operands[0], csv ? EXPORT_CSV : EXPORT_NDJSON, &error);
    if (!status && to_file && !(out = create_file(name, &error)))
        status = STORE_IO;
    if (!status)
        status = write_export(x, out, name, &error);
    if (!status && (fflush(out) != 0 || (to_file && fsync(fileno(out)) != 0))) {
        error.status = status = STORE_IO;
        snprintf(error.message, sizeof error.message, "%s: %s", name, strerror(errno));
    }
    if (to_file && out)
        fclose(out);
    if (status && to_file && out)
        unlink(name); /* nothing half done */
    export_free(x);
    store_close(snapshot);
    return status ? failed(command, &error, status) : ADMIN_DONE;
}

/* ---- import -------------------------------------------------------------------------------------------- */

static wire_status take_head(void *arg, const wire_file_head *head, wire_errors *errors)
{
    (void)arg;
    (void)head;
    (void)errors;
    return WIRE_OK;
}

static wire_status take_rows(void *arg, size_t n, size_t dimension, const double *rows, wire_errors *errors)
{
    return rebuild_rows(arg, n, dimension, rows, errors);
}

static wire_status take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload,
                              wire_errors *errors)
{
    return rebuild_entry(arg, seq, time, type, payload, errors);
}

static void note_status(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    (void)study;
    (void)last_seq;
    *(_Atomic int *)arg = (int)status;
}

static store_status publish(rebuild *r)
{
    static _Atomic int published = -1;
    store_write *write;
    store_status status = rebuild_publication(r, &write);
    if (status)
        return status;
    rebuild_publish(r, write, note_status, (void *)&published);
    while (published < 0)
        usleep(1000);
    return (store_status)published;
}

/* The file into the rebuild; what is wrong with it is in *errors. */
static store_status read_file(FILE *in, rebuild *r, wire_errors *errors)
{
    static const wire_file_sink sink = {.head = take_head, .rows = take_rows, .entry = take_entry};
    enum { PIECE = 1 << 18 };
    wire_file_reader *reader;
    char *bytes = malloc(PIECE);
    size_t n;
    store_status status = STORE_OK;
    wire_status read = bytes ? wire_file_reader_new(&reader, &sink, r) : WIRE_NO_MEMORY;
    if (read != WIRE_OK) {
        free(bytes);
        return STORE_NO_MEMORY;
    }
    while (read == WIRE_OK && !status && (n = fread(bytes, 1, PIECE, in)) > 0) {
        read = wire_file_reader_feed(reader, bytes, n, errors);
        status = rebuild_wait(r);
    }
    if (ferror(in))
        status = STORE_IO;
    if (read == WIRE_OK && !status)
        read = wire_file_reader_finish(reader, errors);
    if (read == WIRE_OK && !status)
        read = rebuild_finish(r, errors);
    if (!status)
        status = rebuild_wait(r);
    wire_file_reader_free(reader);
    free(bytes);
    if (read == WIRE_NO_MEMORY && !status)
        status = STORE_NO_MEMORY;
    return status;
}

static int import_study(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    store *s = NULL;
    rebuild *r = NULL;
    wire_errors errors = {0};
    int exit = read_arguments(&a, argc, argv, command, 1, 1);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    if (a.id && !route_is_study_id(a.id, strlen(a.id)))
        return usage(command, "'%s' cannot be a study's id", a.id);
    bool from_file = strcmp(a.operands[0], "-") != 0;
    FILE *in = from_file ? fopen(a.operands[0], "r") : stdin;
    if (!in) {
        fprintf(stderr, "banditd import: %s: %s\n", a.operands[0], strerror(errno));
        return ADMIN_FAILED;
    }
    store_status status = sodium_init() < 0 ? STORE_NO_MEMORY : store_open_sqlite(&s, a.config.db, &error);
    if (!status)
        status = rebuild_new(&r, s, a.id, true);
    if (!status)
        status = read_file(in, r, &errors);
    if (!status && errors.n == 0)
        status = publish(r);
    if (errors.n > 0)
        fprintf(stderr, "banditd import: %s\n", errors.items[0].detail);
    else if (status == STORE_EXISTS)
        fprintf(stderr, "banditd import: there is a study '%s' already (--id gives it another name)\n",
                rebuild_id(r));
    else if (status == STORE_BUSY)
        fprintf(stderr, "banditd import: %s: it takes the file by `banditctl study import`\n", error.message);
    else if (status)
        failed(command, &error, status);
    else
        printf("study %s: %lld entries\n", rebuild_id(r), (long long)rebuild_entries(r));
    bool good = !status && errors.n == 0;
    wire_errors_clear(&errors);
    rebuild_free(r);
    store_close(s);
    if (from_file)
        fclose(in);
    return good ? ADMIN_DONE : ADMIN_FAILED;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

const admin_command admin_commands[] = {
    {"migrate", "", "bring the database to this program's schema, as serve does on start",
     "Brings the database to this program's schema. Before the first migration the database is copied to\n"
     "PATH.v<N>, N being its version: to go back, put that file in its place and start the old program.\n"
     "No server may be using it.",
     migrate},
    {"check", "", "check the database, also beside a running server",
     "Checks the file, its keys and its counters; builds each study once more from its log alone and "
     "compares;\n"
     "and plans every batch of it again: on the same kind of machine the engine must come to the same "
     "choices,\n"
     "to the bit. Reads only, as of one moment, also beside a running server, whose write-ahead log cannot "
     "start\n"
     "anew meanwhile: on a busy server check a backup instead.\n\n"
     "Exit status: 0 sound, 3 problems (a line each), 1 it could not be looked at, 2 usage.",
     check},
    {"backup", "FILE", "copy the database as it is at one moment, also beside a running server",
     "Copies the database, as it is at one moment, to FILE, which must not exist. It appears whole and on "
     "disk, or\n"
     "not at all. Reads only, also beside a running server. To restore: stop the server, put FILE in the "
     "place of\n"
     "the database, remove what is left of PATH-wal and PATH-shm, start the server.",
     backup},
    {"export", "STUDY [FILE]", "write one study as lines of JSON or as a table",
     "Writes one study to FILE, which must not exist, or to standard output. Reads only, also beside a "
     "running\n"
     "server.",
     export_study},
    {"import", "FILE", "make a study from what export wrote",
     "Makes the study that export (format ndjson) wrote to FILE (-: standard input): all of it, with the "
     "same next\n"
     "choices, or none. No server may be using the database; a running one takes the file by POST "
     "/v1/studies.",
     import_study},
    {0},
};
