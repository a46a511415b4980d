/* A whole study as lines of JSON (NDJSON): what GET …/export?format=ndjson gives and POST /v1/studies takes.
 *
 *   {"banditd":"study","version":1,"program":"0.1.0","study":"a","entries":57,"candidates":2,"dimension":3}
 *   {"candidates":0,"rows":[[0.5,1.0,2.0],[1.5,null,3.0]]}      uploaded candidates; null: not a number
 *   {"seq":1,"time":"2026-01-01T00:00:00.000Z","type":"study_created","payload":{…}}            the log
 *   {"end":57}                              the number of entries: proves that nothing is missing */
#ifndef PROTO_STUDY_FILE_H
#define PROTO_STUDY_FILE_H

#include "proto/wire.h"

#define WIRE_FILE_VERSION  1
#define WIRE_FILE_LINE_MAX 268435456 /* bytes */

typedef struct wire_file_head {
    const char *program, *study;
    int64_t entries;               /* of the log */
    int64_t candidates, dimension; /* of the lines before the log; 0: none */
} wire_file_head;

/* Each writes one line. */
void wire_encode_file_head(wire_writer *w, const wire_file_head *head);
/* Rows first … first + n − 1: n x dimension, row-major; NaN for inactive parameters. */
void wire_encode_file_rows(wire_writer *w, int64_t first, const double *rows, size_t n, size_t dimension);
/* payload: a JSON object as text. */
void wire_encode_file_entry(wire_writer *w, int64_t seq, int64_t time, const char *type, const char *payload);
void wire_encode_file_end(wire_writer *w, int64_t entries);

/* Streaming reader: bytes in, parts out in order. Memory is bounded by one line. Any result but WIRE_OK of a
 * part's function ends the reading; the problems that it has added get the number of the line. */
typedef struct wire_file_sink {
    wire_status (*head)(void *arg, const wire_file_head *head, wire_errors *errors);
    wire_status (*rows)(void *arg, size_t n, size_t dimension, const double *rows, wire_errors *errors);
    wire_status (*entry)(void *arg, int64_t seq, int64_t time, const char *type, const char *payload,
                         wire_errors *errors);
} wire_file_sink;

typedef struct wire_file_reader wire_file_reader;

wire_status wire_file_reader_new(wire_file_reader **out, const wire_file_sink *sink, void *arg);
wire_status wire_file_reader_feed(wire_file_reader *reader, const char *bytes, size_t n, wire_errors *errors);
/* End of input. WIRE_INVALID if the last line is missing. */
wire_status wire_file_reader_finish(wire_file_reader *reader, wire_errors *errors);
void wire_file_reader_free(wire_file_reader *reader);

#endif
