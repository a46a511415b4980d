#include "tests/support/point_sheets.h"

#include "tests/support/repeats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LONG = 500, NEAR = 8 }; /* bytes of a text, and from its end */

static bool take_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    sheet *s = arg;
    assert_int_equal(first, s->rows);
    assert_true(n > 0);
    assert_true((s->rows + n) * dimension <= SHEET_CELLS);
    s->dimension = dimension;
    memcpy(s->cells + s->rows * dimension, rows, n * dimension * sizeof *rows);
    s->rows += n;
    s->blocks++;
    return s->stop_after == 0 || s->rows < s->stop_after;
}

wire_status read_point_chunks(sheet *s, wire_errors *errors, wire_points_format format, size_t dimension,
                              size_t block_rows, const char *text, size_t n, const size_t *cuts,
                              size_t n_cuts)
{
    wire_points_reader *r;
    assert_int_equal(wire_points_reader_new(&r, format, dimension, block_rows, take_rows, s), WIRE_OK);
    if (s->named)
        assert_int_equal(wire_points_reader_set_names(
                             r, (char *[]){(char[]){"x"}, (char[]){"y"}, (char[]){"z"}}, dimension),
                         WIRE_OK);
    if (s->ignored)
        assert_int_equal(wire_points_reader_ignore(r, s->ignored), WIRE_OK);
    wire_status status = WIRE_OK;
    size_t from = 0;
    for (size_t i = 0; i <= n_cuts && status == WIRE_OK; i++) {
        size_t to = i < n_cuts ? cuts[i] : n;
        /* A copy of just these bytes, so that reading past them is seen. */
        char *chunk = malloc(to - from + 1);
        assert_non_null(chunk);
        memcpy(chunk, text + from, to - from);
        chunk = realloc(chunk, to - from > 0 ? to - from : 1);
        status = wire_points_reader_feed(r, chunk, to - from, errors);
        free(chunk);
        from = to;
    }
    wire_errors unused = {0};
    if (status == WIRE_OK)
        status = wire_points_reader_finish(r, errors);
    else /* a failed reader says nothing new */
        assert_int_equal(wire_points_reader_finish(r, &unused), status);
    assert_int_equal(unused.n, 0);
    if (status == WIRE_OK) {
        assert_int_equal(wire_points_reader_rows(r), s->rows);
        assert_int_equal(wire_points_reader_dimension(r), s->dimension);
    }
    wire_points_reader_free(r);
    return status;
}

static size_t text_size(const expectation *e)
{
    return e->size > 0 ? e->size : strlen(e->text);
}

static void check(const expectation *e, wire_points_format format, size_t block_rows, const size_t *cuts,
                  size_t n_cuts)
{
    sheet s = {.named = e->named, .ignored = e->ignored};
    wire_errors errors = {0};
    wire_status status =
        read_point_chunks(&s, &errors, format, e->dimension, block_rows, e->text, text_size(e), cuts, n_cuts);
    if (status != e->status)
        print_error("%s: %s\n", e->text, errors.n ? errors.items[0].detail : "");
    assert_int_equal(status, e->status);
    if (status == WIRE_OK) {
        assert_int_equal(errors.n, 0);
        assert_int_equal(s.rows, e->rows);
        assert_int_equal(s.dimension, e->columns);
        assert_int_equal(s.blocks, (s.rows + block_rows - 1) / block_rows);
        assert_memory_equal(s.cells, e->cells, e->rows * e->columns * sizeof(double));
    } else {
        assert_int_equal(errors.n, 1);
        assert_string_equal(errors.items[0].pointer, e->pointer);
        assert_string_equal(errors.items[0].detail, e->detail);
    }
    wire_errors_clear(&errors);
}

void check_everywhere(const expectation *cases, size_t n, wire_points_format format)
{
    for (size_t c = 0; c < n; c++) {
        const expectation *e = &cases[c];
        size_t size = text_size(e);
        check(e, format, 1, NULL, 0);
        check(e, format, 3, NULL, 0);
        for (size_t i = 0; i <= size; i += size > LONG ? repeats(1, 61) : 1) {
            size_t least = size > LONG && i + NEAR < size ? size - NEAR : i;
            for (size_t j = least; j <= size; j++)
                check(e, format, 2, (size_t[]){i, j}, 2);
        }
        size_t *cuts = malloc((size + 1) * sizeof *cuts);
        assert_non_null(cuts);
        for (size_t i = 0; i < size; i++)
            cuts[i] = i;
        check(e, format, 2, cuts, size);
        free(cuts);
    }
}
