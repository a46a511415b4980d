/* Makes studies from exported files: reads the files, tries to load the studies, and publishes them. */
#include "proto/study_file.h"
#include "server/commands/internal.h"
#include "server/study/probe.h"

/* ---- reading ------------------------------------------------------------------------------------------- */

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

store_status admin_rebuild(rebuild *r, admin_piece *next, void *arg, wire_errors *errors, store_error *err)
{
    static const wire_file_sink sink = {.head = take_head, .rows = take_rows, .entry = take_entry};
    wire_file_reader *reader;
    const char *bytes;
    size_t n = 0;
    wire_status read = wire_file_reader_new(&reader, &sink, r);
    if (read != WIRE_OK)
        return STORE_NO_MEMORY;
    store_status status = next(arg, &bytes, &n, err);
    while (read == WIRE_OK && !status && n > 0) {
        read = wire_file_reader_feed(reader, bytes, n, errors);
        status = rebuild_wait(r);
        if (!status)
            status = next(arg, &bytes, &n, err);
    }
    if (read == WIRE_OK && !status)
        read = wire_file_reader_finish(reader, errors);
    if (read == WIRE_OK && !status)
        read = rebuild_finish(r, errors);
    if (!status)
        status = rebuild_wait(r);
    wire_file_reader_free(reader);
    if (read == WIRE_NO_MEMORY && !status)
        status = STORE_NO_MEMORY;
    return status;
}

/* ---- trying to load ------------------------------------------------------------------------------------ */

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

store_status admin_try(rebuild *r, store *s, const server_config *config, store_error *error)
{
    trying t = {.job.run = run_trying, .rebuild = r, .number = rebuild_number(r), .error = error};
    t.app = (app){.config = config, .store = s, .computing = computing_new(config->threads, NULL)};
    if (!t.app.computing)
        return STORE_NO_MEMORY;
    computing_submit(t.app.computing, &t.job, NULL);
    computing_free(t.app.computing); /* waits for the job */
    return t.status;
}

/* ---- publishing ---------------------------------------------------------------------------------------- */

void admin_note_outcome(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    admin_outcome *o = arg;
    (void)study;
    (void)last_seq;
    o->status = status;
    sem_post(&o->known);
}

store_status admin_await(admin_outcome *o)
{
    while (sem_wait(&o->known) != 0)
        ; /* interrupted by a signal */
    sem_destroy(&o->known);
    return o->status;
}

store_status admin_publish(rebuild *r)
{
    admin_outcome outcome;
    store_write *write;
    store_status status = rebuild_publication(r, &write);
    if (status)
        return status;
    sem_init(&outcome.known, 0, 0);
    rebuild_publish(r, write, admin_note_outcome, &outcome);
    return admin_await(&outcome);
}
