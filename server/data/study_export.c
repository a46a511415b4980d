#include "server/data/study_export.h"

#include "proto/encode_export.h"
#include "proto/study_file.h"
#include "proto/trials.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/definition.h"
#include "server/data/study_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sizes of one part. */
enum { NUMBERS_AT_ONCE = 8192, ENTRIES_AT_ONCE = 16, TRIALS_AT_ONCE = 256, SEARCHED_AT_ONCE = 65536 };

typedef enum export_stage {
    STAGE_HEAD,
    STAGE_CANDIDATES,
    STAGE_LOG,
    STAGE_END,
    STAGE_TRIALS,
    STAGE_LATE,
    STAGE_IMPORTS
} export_stage;

struct study_export {
    store *store;
    export_format format;
    export_stage stage;
    char id[64];
    int64_t study, last_seq, trials, imported, reference_candidates, dimension;
    bool has_keys; /* some candidates have keys */
    int64_t
        at; /* candidates, entries, trials or imported results written; entries searched for late results */
    wire_study *definition;
    double *rows; /* candidates of a part, or a trial's point */
    wire_writer *w;
    store_status status; /* of a callback */
};

static void take_study(void *arg, const store_study *row)
{
    study_export *x = arg;
    x->study = row->study;
    x->last_seq = row->last_seq;
    x->trials = row->trials;
    x->imported = row->imported;
    x->has_keys = row->has_keys;
    x->reference_candidates = row->reference_candidates;
    x->dimension = row->reference_candidates > 0 ? row->dimension : 0;
    snprintf(x->id, sizeof x->id, "%s", row->id);
    x->status = study_config_read(&x->definition, row->definition);
}

static size_t rows_at_once(const study_export *x)
{
    size_t row = x->dimension ? (size_t)x->dimension : 1;
    return row < NUMBERS_AT_ONCE ? NUMBERS_AT_ONCE / row : 1;
}

store_status export_open(study_export **out, store *s, const char *id, export_format format, store_error *err)
{
    *out = NULL;
    study_export *x = calloc(1, sizeof *x);
    if (!x)
        return STORE_NO_MEMORY;
    x->store = s;
    x->format = format;
    store_status status = store_read_study(s, id, take_study, x, err);
    if (!status)
        status = x->status;
    if (!status) {
        size_t width = candidate_width(x->definition), numbers = rows_at_once(x) * (size_t)x->dimension;
        x->rows = calloc(numbers + width + 1, sizeof *x->rows);
        status = x->rows ? STORE_OK : STORE_NO_MEMORY;
    }
    if (status)
        export_free(x);
    else
        *out = x;
    return status;
}

void export_free(study_export *x)
{
    if (!x)
        return;
    wire_study_free(x->definition);
    free(x->rows);
    free(x);
}

/* ---- NDJSON -------------------------------------------------------------------------------------------- */

static store_status write_candidates(study_export *x, wire_writer *w, store_error *err)
{
    size_t left = (size_t)(x->reference_candidates - x->at), n = rows_at_once(x);
    if (left == 0)
        return STORE_OK;
    n = left < n ? left : n;
    store_status status =
        candidate_rows(x->rows, x->store, x->study, x->definition, (size_t)x->dimension, x->at, n, err);
    if (!status)
        wire_encode_file_rows(w, x->at, x->rows, n, (size_t)x->dimension);
    x->at += (int64_t)n;
    return status;
}

static void write_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    study_export *x = arg;
    if (seq > x->last_seq)
        return;
    wire_encode_file_entry(x->w, seq, time, type, payload);
    x->at = seq;
}

static store_status write_log(study_export *x, wire_writer *w, store_error *err)
{
    int64_t before = x->at;
    x->w = w;
    store_status status = store_read_log(x->store, x->study, x->at, ENTRIES_AT_ONCE, write_entry, x, err);
    return status || x->at > before ? status : STORE_CORRUPT; /* entries are missing */
}

static store_status read_ndjson(study_export *x, wire_writer *w, bool *more, store_error *err)
{
    store_status status = STORE_OK;
    const wire_file_head head = {.program = BANDITD_VERSION,
                                 .study = x->id,
                                 .entries = x->last_seq,
                                 .candidates = x->reference_candidates,
                                 .dimension = x->dimension};
    *more = true;
    switch (x->stage) {
    case STAGE_HEAD:
        wire_encode_file_head(w, &head);
        x->stage = STAGE_CANDIDATES;
        break;
    case STAGE_CANDIDATES:
        status = write_candidates(x, w, err);
        if (x->at == x->reference_candidates) {
            x->stage = STAGE_LOG;
            x->at = 0;
        }
        break;
    case STAGE_LOG:
        status = write_log(x, w, err);
        if (x->at == x->last_seq)
            x->stage = STAGE_END;
        break;
    case STAGE_END:
        wire_encode_file_end(w, x->last_seq);
        *more = false;
        break;
    case STAGE_TRIALS:
    case STAGE_LATE:
    case STAGE_IMPORTS:
        break;
    }
    return status;
}

/* ---- CSV ----------------------------------------------------------------------------------------------- */

/* Writes a row; reads its point first. */
static void write_row(study_export *x, wire_row_origin origin, int64_t candidate, wire_trial *trial,
                      int64_t observation)
{
    store_error error = {0};
    trial->candidate = candidate;
    size_t width = candidate_width(x->definition);
    if (width > 0)
        x->status =
            candidate_rows_at(x->rows, x->store, x->study, x->definition, width, &candidate, 1, &error);
    candidate_key key;
    if (x->has_keys && !x->status)
        x->status = candidate_keys_at(&key, x->store, x->study, true, &candidate, 1, &error);
    trial->key = x->has_keys ? key.text : NULL;
    if (x->definition->domain_type == WIRE_DOMAIN_SPACE)
        trial->parameters = x->rows;
    else
        trial->point = x->rows;
    if (!x->status)
        wire_write_table_row(x->w, x->definition, origin, trial, observation);
    trial->key = NULL; /* the text that it points to is valid only here */
}

static void write_trial(void *arg, const store_trial *row)
{
    study_export *x = arg;
    if (row->trial > x->trials || x->status)
        return;
    wire_trial trial = {.id = row->trial,
                        .state = trial_state_name(row->state),
                        .attempt = row->attempt,
                        .batch = row->batch,
                        .issued_at = row->issued_at,
                        .metadata = row->metadata,
                        .worker = row->worker,
                        .has_value = row->has_value,
                        .value = row->value,
                        .repeats = row->repeats,
                        .cost = row->cost,
                        .recorded = row->recorded,
                        .reason = row->reason,
                        .told_at = row->told_at};
    write_row(x, WIRE_ROW_TRIAL, row->candidate, &trial, 0);
    x->at = row->trial;
}

static void write_late(void *arg, const store_late_result *row)
{
    study_export *x = arg;
    if (row->attempt == ESTIMATED_ATTEMPT || x->status)
        return;
    wire_trial late = {.id = row->trial,
                       .state = trial_state_name(TRIAL_COMPLETED),
                       .attempt = row->attempt,
                       .metadata = row->metadata,
                       .has_value = true,
                       .value = row->value,
                       .repeats = row->repeats,
                       .cost = row->cost,
                       .recorded = row->recorded,
                       .told_at = row->told_at};
    write_row(x, WIRE_ROW_LATE, row->candidate, &late, 0);
}

static store_status read_late(study_export *x, store_error *err)
{
    int64_t through = x->last_seq - x->at > SEARCHED_AT_ONCE ? x->at + SEARCHED_AT_ONCE : x->last_seq;
    store_status status = store_read_late_results(x->store, x->study, 0, x->at, through, write_late, x, err);
    x->at = through;
    return status ? status : x->status;
}

static void write_imported(void *arg, const store_imported *row)
{
    study_export *x = arg;
    if (row->observation > x->imported || x->status)
        return;
    wire_trial imported = {.state = trial_state_name(row->state),
                           .has_value = row->has_value,
                           .value = row->value,
                           .repeats = row->repeats,
                           .cost = row->cost,
                           .recorded = row->recorded,
                           .reason = row->reason,
                           .told_at = row->imported_at};
    write_row(x, WIRE_ROW_IMPORT, row->candidate, &imported, row->observation);
    x->at = row->observation;
}

static store_status read_csv(study_export *x, wire_writer *w, bool *more, store_error *err)
{
    store_status status = STORE_OK;
    bool trials = x->stage == STAGE_TRIALS;
    int64_t before = x->at, last = trials ? x->trials : x->imported;
    store_trial_filter filter = {.after = before};
    *more = true;
    x->w = w;
    if (x->stage == STAGE_HEAD) {
        wire_write_table_header(w, x->definition, x->has_keys);
        x->stage = STAGE_TRIALS;
        return STORE_OK;
    }
    if (x->stage == STAGE_LATE) {
        status = read_late(x, err);
        if (x->at == x->last_seq) {
            x->stage = STAGE_IMPORTS;
            x->at = 0;
        }
        *more = !status;
        return status;
    }
    if (before < last)
        status = trials ? store_read_trials(x->store, x->study, &filter, TRIALS_AT_ONCE, write_trial, x, err)
                        : store_read_observation_page(x->store, x->study, before, TRIALS_AT_ONCE,
                                                      write_imported, x, err);
    if (!status)
        status = x->status;
    if (!status && before < last && x->at == before)
        status = STORE_CORRUPT; /* rows are missing */
    if (!status && trials && x->at == last) {
        x->stage = STAGE_LATE;
        x->at = 0;
    } else {
        *more = !status && x->at < last;
    }
    return status;
}

/* ---- both formats -------------------------------------------------------------------------------------- */

static void take_key(void *arg, const store_study *row)
{
    *(int64_t *)arg = row->study;
}

/* Missing rows may have been deleted together with the study, and another study may have its id now. */
static bool is_deleted(const study_export *x)
{
    store_error error = {0};
    int64_t study = x->study;
    store_status status = store_read_study(x->store, x->id, take_key, &study, &error);
    return status == STORE_NOT_FOUND || study != x->study;
}

store_status export_read(study_export *x, wire_writer *w, bool *more, store_error *err)
{
    store_status status = x->format == EXPORT_CSV ? read_csv(x, w, more, err) : read_ndjson(x, w, more, err);
    return status == STORE_CORRUPT && is_deleted(x) ? STORE_NOT_FOUND : status;
}
