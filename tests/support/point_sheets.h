/* Uploads of points, read in chunks, for the tests of the readers. */
#ifndef TESTS_SUPPORT_POINT_SHEETS_H
#define TESTS_SUPPORT_POINT_SHEETS_H

#include "proto/points.h"

enum { SHEET_CELLS = 64 };

/* What a reader has handed over. */
typedef struct sheet {
    double cells[SHEET_CELLS];
    size_t rows, dimension, blocks;
    size_t stop_after; /* rows; 0: never */
    bool named;        /* the features have names: x, y, … */
    const char *ignored;
} sheet;

/* Reads text in chunks that end at `cuts`. */
wire_status read_point_chunks(sheet *s, wire_errors *errors, wire_points_format format, size_t dimension,
                              size_t block_rows, const char *text, size_t n, const size_t *cuts,
                              size_t n_cuts);

/* A text and what comes of it: rows, or a refusal. */
typedef struct expectation {
    const char *text;
    size_t size;      /* of text; 0: up to its NUL */
    size_t dimension; /* asked for */
    wire_status status;
    const char *pointer, *detail; /* of a refusal */
    size_t rows, columns;
    double cells[12];
    bool named; /* the features, as in sheet */
    const char *ignored;
} expectation;

/* Whole, cut in two and in three everywhere, and byte by byte; a long text in three where the second cut is
 * near its end. */
void check_everywhere(const expectation *cases, size_t n, wire_points_format format);

#endif
