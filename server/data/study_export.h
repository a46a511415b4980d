/* Exports a study: everything as NDJSON (proto/study_file.h), or its trials as a table in CSV (proto/encode_export.h).
 * The export is read from the store in parts, and shows the state at the moment of opening. Its memory does not
 * grow. */
#ifndef SERVER_DATA_STUDY_EXPORT_H
#define SERVER_DATA_STUDY_EXPORT_H

#include "proto/json_writer.h"
#include "server/store/store.h"

typedef enum export_format { EXPORT_NDJSON, EXPORT_CSV } export_format;

typedef struct study_export study_export;

/* STORE_NOT_FOUND: there is no such study. */
store_status export_open(study_export **out, store *s, const char *id, export_format format,
                         store_error *err);

/* Writes the next part, some lines; *more is false after the last one. STORE_NOT_FOUND: the study has been
 * deleted since it was opened. */
store_status export_read(study_export *x, wire_writer *w, bool *more, store_error *err);

void export_free(study_export *x); /* NULL is fine */

#endif
