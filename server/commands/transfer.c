/* banditd export and import: write one study to a file, and create a study from one. */
#include "server/base/blas.h"
#include "server/commands/database.h"
#include "server/commands/internal.h"
#include "server/data/study_export.h"

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

typedef struct file_pieces {
    FILE *in;
    char bytes[1 << 18];
} file_pieces;

static store_status next_of_file(void *arg, const char **bytes, size_t *n, store_error *err)
{
    file_pieces *f = arg;
    *bytes = f->bytes;
    *n = fread(f->bytes, 1, sizeof f->bytes, f->in);
    if (*n == 0 && ferror(f->in)) {
        err->status = STORE_IO;
        snprintf(err->message, sizeof err->message, "the file: %s", strerror(errno));
    }
    return err->status;
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
    static file_pieces pieces;
    FILE *in = pieces.in = from_file ? fopen(a.operands[0], "r") : stdin;
    if (!in) {
        fprintf(stderr, "banditd import: %s: %s\n", a.operands[0], strerror(errno));
        return ADMIN_FAILED;
    }
    store_status status = database_open(&s, &a.config, &error);
    if (!status)
        status = rebuild_new(&r, s, a.id, true);
    if (!status)
        status = admin_rebuild(r, next_of_file, &pieces, &errors, &error);
    if (!status && errors.n == 0)
        status = admin_try(r, s, &a.config, &error);
    bool unloadable = status == STORE_CORRUPT && errors.n == 0;
    if (!status && errors.n == 0)
        status = admin_publish(r);
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
