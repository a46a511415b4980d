/* banditd check: checks the file, and replays the log of each study. */
#include "proto/arrays.h"
#include "server/base/blas.h"
#include "server/base/log.h"
#include "server/commands/database.h"
#include "server/commands/internal.h"
#include "server/replay/replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct checking {
    const admin_arguments *a;
    const char *study; /* the study whose log is being replayed; NULL: none */
    int64_t problems, last_seq;
    bool terminal;
    struct checked_study {
        char *id;
        int64_t number, entries;
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

/* Damage that prevents reading counts as a problem, not as a failure, so that the other studies are still checked. */
static void take_damage(checking *c, store_status *status, store_error *error)
{
    if (*status != STORE_CORRUPT)
        return;
    print_problem(c, error->status && *error->message ? error->message : store_status_text(*status));
    *error = (store_error){0};
    *status = STORE_OK;
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
    if (!wire_grow(&c->studies, &c->capacity, c->n + 1, 64, sizeof *c->studies)) {
        c->no_memory = true;
        return;
    }
    struct checked_study *next = &c->studies[c->n];
    *next = (struct checked_study){.id = strdup(row->id), .number = row->study, .entries = row->last_seq};
    c->no_memory |= !next->id;
    c->n += next->id != NULL;
}

/* Creates a private directory; clear_scratch removes the files in it. */
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
    struct computing *p = computing_new(c->a->config.threads, NULL);
    for (size_t i = 0; p && i < c->n && !status; i++) {
        const replay_options wanted = {.config = &c->a->config,
                                       .computing = p,
                                       .scratch = file,
                                       .difference = print_problem,
                                       .progress = print_progress,
                                       .arg = c};
        replay_result result;
        c->study = c->studies[i].id;
        c->last_seq = c->studies[i].entries;
        status = replay_study(snapshot, c->studies[i].id, &wanted, &result, error);
        clear_progress(c);
        bool damaged = status == STORE_CORRUPT;
        take_damage(c, &status, error);
        if (!status && !damaged && result.differences == 0 && !c->a->quiet) {
            printf("study %s: OK (%lld log entries, %lld batches replanned)\n", c->studies[i].id,
                   (long long)result.entries, (long long)result.batches);
        }
        fflush(stdout);
        clear_scratch(directory);
    }
    c->study = NULL;
    computing_free(p);
    rmdir(directory);
    return p ? status : STORE_NO_MEMORY;
}

/* Compares the checksums of log entries. */
static store_status check_logs(checking *c, store *snapshot, store_error *error)
{
    store_status status = STORE_OK;
    int64_t entries = 0, checked = 0, before = c->problems;
    for (size_t i = 0; i < c->n && !status; i++) {
        const struct checked_study *study = &c->studies[i];
        c->study = study->id;
        entries += study->entries;
        status = store_check_log(snapshot, study->number, study->entries, &checked, print_problem, c, error);
        take_damage(c, &status, error);
    }
    c->study = NULL;
    if (!status && c->problems == before && !c->a->quiet)
        printf("%s: OK (%lld log entries, %lld of them with checksums)\n", database_name(&c->a->config),
               (long long)entries, (long long)checked);
    return status;
}

static store_status check_studies(checking *c, store_error *error)
{
    store *snapshot;
    store_study_filter all = {0};
    store_status status = database_snapshot(&snapshot, &c->a->config, error);
    if (status)
        return status;
    status = store_read_studies(snapshot, &all, SIZE_MAX, keep_id, c, error);
    if (!status && c->no_memory)
        status = STORE_NO_MEMORY;
    if (!status && c->a->study && c->n == 0) {
        fprintf(stderr, "banditd check: there is no study '%s'\n", c->a->study);
        status = STORE_NOT_FOUND;
    }
    if (!status)
        status = check_logs(c, snapshot, error);
    if (!status && !c->a->no_replay)
        status = replay_all(c, snapshot, error);
    store_close(snapshot);
    return status;
}

int admin_check(int argc, char **argv, const admin_command *command)
{
    admin_arguments a;
    store_error error = {0};
    checking c = {.a = &a, .terminal = isatty(STDERR_FILENO)};
    int exit = admin_read_arguments(&a, argc, argv, command, 0, 0);
    if (exit)
        return exit < 0 ? ADMIN_DONE : exit;
    log_configure(LOG_ERROR, false);
    if (!blas_prepare(a.config.threads) || sodium_init() < 0)
        return ADMIN_FAILED;
    bool is_file = !*a.config.database;
    store_status status = is_file ? store_check(a.config.db, print_problem, &c, &error)
                                  : store_check_postgres(a.config.database, print_problem, &c, &error);
    if (!status && c.problems == 0 && !a.quiet)
        printf("%s: OK (the %s, its keys and its counters)\n", database_name(&a.config),
               is_file ? "file" : "schema");
    if (!status)
        status = check_studies(&c, &error);
    for (size_t i = 0; i < c.n; i++)
        free(c.studies[i].id);
    free(c.studies);
    if (status == STORE_CORRUPT) { /* the rest cannot be read */
        c.study = NULL;
        print_problem(&c, error.status && *error.message ? error.message : store_status_text(status));
        status = STORE_OK;
    }
    if (status)
        return admin_failed(command, &error, status);
    if (c.problems > 0)
        printf("%lld problem%s\n", (long long)c.problems, c.problems == 1 ? "" : "s");
    return c.problems > 0 ? ADMIN_UNSOUND : ADMIN_DONE;
}
