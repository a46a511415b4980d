/* banditd export and import: write one study to a file, and create a study from one. */
#include "proto/study_file.h"
#include "server/base/blas.h"
#include "server/commands/database.h"
#include "server/commands/internal.h"
#include "server/data/study_export.h"
#include "server/replay/rebuild.h"
#include "server/study/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int admin_export(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    store *snapshot = NULL;
    study_export *x = NULL;
    FILE *out = stdout;
    int exit = admin_read_arguments(&a, argc, argv, command, 1, 2);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    bool csv = a.format && strcmp(a.format, "csv") == 0;
    if (a.format && !csv && strcmp(a.format, "ndjson") != 0)
        return admin_usage(command, "--format must be ndjson or csv, not '%s'", a.format);
    bool to_file = a.n_operands == 2 && strcmp(a.operands[1], "-") != 0;
    const char *name = to_file ? a.operands[1] : "standard output";
    store_status status = database_snapshot(&snapshot, &a.config, &error);
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
        unlink(name); /* leave no incomplete file */
    export_free(x);
    store_close(snapshot);
    return status ? admin_failed(command, &error, status) : ADMIN_DONE;
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

/* Feeds the file to the rebuild. Problems of the file's content are added to *errors. */
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

/* A trial load of the rebuilt study. It runs in a job, since engines need one. */
typedef struct trying {
    computing_job job;
    app app;
    const rebuild *rebuild;
    int64_t number;
    store_error *error;
    store_status status;
} trying;

static void run_trying(computing_job *job)
{
    trying *t = (trying *)(void *)job;
    t->status = study_try(&t->app, rebuild_id(t->rebuild), t->number, t->error);
}

static store_status try_it(rebuild *r, store *s, const server_config *config, store_error *error)
{
    trying t = {.job.run = run_trying, .rebuild = r, .number = rebuild_number(r), .error = error};
    t.app = (app){.config = config, .store = s, .computing = computing_new(config->threads, NULL)};
    if (!t.app.computing)
        return STORE_NO_MEMORY;
    computing_submit(t.app.computing, &t.job, NULL);
    computing_free(t.app.computing); /* waits for the job */
    return t.status;
}

int admin_import(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    store *s = NULL;
    rebuild *r = NULL;
    wire_errors errors = {0};
    int exit = admin_read_arguments(&a, argc, argv, command, 1, 1);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    if (a.id && !wire_is_study_id(a.id, strlen(a.id)))
        return admin_usage(
            command,
            "--id '%s' is not a valid study id: 1 to 63 characters a-z, 0-9, '.', '_' and '-', the first a-z or 0-9",
            a.id);
    if (!blas_prepare(a.config.threads) || sodium_init() < 0)
        return ADMIN_FAILED;
    bool from_file = strcmp(a.operands[0], "-") != 0;
    FILE *in = from_file ? fopen(a.operands[0], "r") : stdin;
    if (!in) {
        fprintf(stderr, "banditd import: %s: %s\n", a.operands[0], strerror(errno));
        return ADMIN_FAILED;
    }
    store_status status = database_open(&s, &a.config, &error);
    if (!status)
        status = rebuild_new(&r, s, a.id, true);
    if (!status)
        status = read_file(in, r, &errors);
    if (!status && errors.n == 0)
        status = try_it(r, s, &a.config, &error);
    bool unloadable = status == STORE_CORRUPT && errors.n == 0;
    if (!status && errors.n == 0)
        status = publish(r);
    if (errors.n > 0)
        fprintf(stderr, "banditd import: %s\n", errors.items[0].detail);
    else if (unloadable)
        fprintf(stderr, "banditd import: the study in this file cannot be loaded: %s\n", error.message);
    else if (status == STORE_EXISTS)
        fprintf(stderr, "banditd import: study '%s' already exists; use --id to import under another id\n",
                rebuild_id(r));
    else if (status == STORE_BUSY)
        fprintf(stderr, "banditd import: %s; to import into a running server, use `banditctl study import`\n",
                error.message);
    else if (status)
        admin_failed(command, &error, status);
    else
        printf("study %s: imported %lld log entries\n", rebuild_id(r), (long long)rebuild_entries(r));
    bool good = !status && errors.n == 0;
    wire_errors_clear(&errors);
    rebuild_free(r);
    store_close(s);
    if (from_file)
        fclose(in);
    return good ? ADMIN_DONE : ADMIN_FAILED;
}
