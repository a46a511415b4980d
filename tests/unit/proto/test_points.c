/* The readers of uploads: whatever the chunks, the same rows or the same refusal. */
#include "proto/csv.h"
#include "proto/points.h"
#include "tests/support/repeats.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_CELLS 64

enum { LONG = 500, NEAR = 8 }; /* bytes of a text, and from its end */

typedef struct sheet {
    double cells[MAX_CELLS];
    size_t rows, dimension, blocks;
    size_t stop_after; /* rows; 0: never */
    bool named;        /* the features have names: x, y, … */
    const char *ignored;
} sheet;

static bool take_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    sheet *s = arg;
    assert_int_equal(first, s->rows);
    assert_true(n > 0);
    assert_true((s->rows + n) * dimension <= MAX_CELLS);
    s->dimension = dimension;
    memcpy(s->cells + s->rows * dimension, rows, n * dimension * sizeof *rows);
    s->rows += n;
    s->blocks++;
    return s->stop_after == 0 || s->rows < s->stop_after;
}

static bool take_wide(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    bool *seen = arg;
    assert_true(first == 0 && n == 1 && rows[0] == 7 && rows[dimension - 1] == 7);
    return *seen = true;
}

/* Reads text in chunks that end at `cuts`. */
static wire_status read_chunks(sheet *s, wire_errors *errors, wire_points_format format, size_t dimension,
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
        read_chunks(&s, &errors, format, e->dimension, block_rows, e->text, text_size(e), cuts, n_cuts);
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

/* Whole, cut in two and in three everywhere, and byte by byte; a long text in three where the second cut is
 * near its end. */
static void check_everywhere(const expectation *cases, size_t n, wire_points_format format)
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

static void test_csv(void **state)
{
    (void)state;
    static const expectation cases[] = {
        {.text = "1,2\n3,4\n", .rows = 2, .columns = 2, .cells = {1, 2, 3, 4}},
        {.text = "1,2\r\n3,4", .rows = 2, .columns = 2, .cells = {1, 2, 3, 4}},
        {.text = "1,2\r3,4\r", .rows = 2, .columns = 2, .cells = {1, 2, 3, 4}},
        {.text = "a,b\n1,2\n", .rows = 1, .columns = 2, .cells = {1, 2}},
        {.text = "a,2\n1,2\n", .rows = 1, .columns = 2, .cells = {1, 2}},
        {.text = ",b\n1,2\n", .rows = 1, .columns = 2, .cells = {1, 2}},
        {.text = "a, nan\n1,2\n", .dimension = 2, .rows = 1, .columns = 2, .cells = {1, 2}},
        {.text = "\xEF\xBB\xBF"
                 "1\n2\n3\n",
         .rows = 3,
         .columns = 1,
         .cells = {1, 2, 3}},
        {.text = "\xEF\xBC\xA1\n2\n", .rows = 1, .columns = 1, .cells = {2}},
        {.text = "\xEF\xBB\n2\n", .rows = 1, .columns = 1, .cells = {2}},
        {.text = "\n \t\r\n1 ,\t2\n\n \n3,4\n\n", .rows = 2, .columns = 2, .cells = {1, 2, 3, 4}},
        {.text = "\"a\"\"b\",\"c,\nd\"\r\n\"1\",\"2\" \n3,4\n",
         .rows = 2,
         .columns = 2,
         .cells = {1, 2, 3, 4}},
        {.text = "+1,-2.5e-3,.5,5.,1E2,-0\n",
         .dimension = 6,
         .rows = 1,
         .columns = 6,
         .cells = {1, -2.5e-3, .5, 5, 100, -0.0}},
        {.text = "", .status = WIRE_INVALID, .pointer = "", .detail = "there are no rows"},
        {.text = "a,b\n", .status = WIRE_INVALID, .pointer = "", .detail = "there are no rows"},
        {.text = "1,2\n3,x\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 2, column 2: not a finite number: \"x\""},
        {.text = "a,b\n\n1,2\n3, y y \n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 4, row 2, column 2 (\"b\"): not a finite number: \"y y\""},
        {.text = "a,\"b\n\"\n1,\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 3, row 1, column 2 (\"b\n\"): empty: \"\""},
        {.text = "1,nan\n2,3\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1, row 1, column 2: not a finite number: \"nan\""},
        {.text = "1,+Infinity\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1, row 1, column 2: not a finite number: \"+Infinity\""},
        {.text = "-x,+\n1,2\n", .rows = 1, .columns = 2, .cells = {1, 2}},
        {.text = "1,,3\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1, row 1, column 2: empty: \"\""},
        {.text = "1,2\n-Inf,3\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 2, column 1: not a finite number: \"-Inf\""},
        {.text = "1,1e999\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1, row 1, column 2: too large for a double: \"1e999\""},
        {.text = "1\n0x10\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 2, column 1: not a finite number: \"0x10\""},
        {.text = "1,2\n3\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 2: 1 cell, 2 expected"},
        {.text = "1,2\n3,4,5\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 2: more than 2 cells, 2 expected"},
        {.text = "1,2\n",
         .dimension = 3,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1, row 1: 2 cells, 3 expected"},
        {.text = "a,b\n1,2\n",
         .dimension = 3,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has 2 columns, 3 expected"},
        {.text = "a,b,c\n1,2,3\n",
         .dimension = 2,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has 3 columns, 2 expected; ?ignore= with the names of other columns "
                   "skips these"},
        {.text = "1,2\n3,\"4\n5,6\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 4, column 2: the closing quote is missing"},
        {.text = "1,2\n3,4\"\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, column 2: a quote inside a cell that does not start with a quote"},
        {.text = "1,\"2\"3\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1, column 2: text after a closing quote"},
        {.text = "x,y,z\n1,2\n",
         .dimension = 3,
         .named = true,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 1: 2 cells, 3 expected"},
        {.text = "x,z\n1,2\n",
         .dimension = 3,
         .named = true,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has no column \"y\""},
        {.text = "y,x,y\n1,2,3\n",
         .dimension = 2,
         .named = true,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has two columns \"y\""},
        {.text = "y,xx\n1,2\n",
         .dimension = 2,
         .named = true,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail =
             "line 1: the header has a column that is not a feature of the study: \"xx\"; ?ignore= with the names of "
             "other columns skips these"},
        {.text = "y,x,y\n1,2,3\n",
         .dimension = 2,
         .named = true,
         .ignored = "y",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has no column \"y\""},
        {.text = "a,note,b\n1,2,3\n",
         .dimension = 1,
         .ignored = "note",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has 3 columns, 2 expected; ?ignore= with the names of other columns "
                   "skips these"},
        {.text = "x,note,y\n1,what,2\n3,4\n",
         .dimension = 2,
         .named = true,
         .ignored = "note",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 3, row 2: 2 cells, 3 expected"},
        {.text = "x\ty\n1\t2\n",
         .dimension = 2,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has 1 column, 2 expected; cells are separated by commas, not by tabs"},
        {.text = "x;y\n1;2\n",
         .dimension = 2,
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 1: the header has 1 column, 2 expected; cells are separated by commas, and numbers "
                   "have a decimal point"},
    };
    check_everywhere(cases, sizeof cases / sizeof *cases, WIRE_POINTS_CSV);
}

/* The rows have the order of the names, whatever that of the columns. */
static void test_csv_named(void **state)
{
    static const expectation cases[] = {
        {.text = "z, x ,\"y\"\n3,1,2\n6,4,5\n",
         .dimension = 3,
         .named = true,
         .rows = 2,
         .columns = 3,
         .cells = {1, 2, 3, 4, 5, 6}},
        {.text = "day, note ,x,y,by\n1,\"a, b\",2,3,\n,,4,5,me\n",
         .dimension = 2,
         .named = true,
         .ignored = ",by,note,,day",
         .rows = 2,
         .columns = 2,
         .cells = {2, 3, 4, 5}},
        {.text = "a,note,b\n1,what,3\n", .ignored = "note", .rows = 1, .columns = 2, .cells = {1, 3}},
        {.text = "x,y\n1,2\n", .dimension = 2, .named = true, .rows = 1, .columns = 2, .cells = {1, 2}},
        {.text = "1,2\n3,4\n", .dimension = 2, .named = true, .rows = 2, .columns = 2, .cells = {1, 2, 3, 4}},
    };
    (void)state;
    check_everywhere(cases, sizeof cases / sizeof *cases, WIRE_POINTS_CSV);
}

/* Too long comes before a quote that is further on, also when the cell has come whole; and in quotes. */
static void test_csv_long_cells(void **state)
{
    static const char *const ends[] = {"\"\n", "\n", ",1\n", ""};
    enum { ENDS = sizeof ends / sizeof *ends };
    char text[WIRE_CSV_CELL_MAX + 8];
    (void)state;
    for (size_t i = 0; i < 2 * ENDS; i++) {
        size_t quoted = i / ENDS;
        const expectation refused = {.text = text,
                                     .status = WIRE_INVALID,
                                     .pointer = "",
                                     .detail = "line 1, column 1: a cell may have at most 4096 bytes"};
        text[0] = '"';
        memset(text + quoted, 'x', WIRE_CSV_CELL_MAX + 1);
        strcpy(text + quoted + WIRE_CSV_CELL_MAX + 1, ends[i % ENDS]);
        check_everywhere(&refused, 1, WIRE_POINTS_CSV);
    }
}

static void test_json(void **state)
{
    (void)state;
#define MALFORMED(document, expected)                                                                        \
    {                                                                                                        \
        .text = document, .status = WIRE_MALFORMED, .pointer = "", .detail = "not valid JSON: " expected     \
    }
#define INVALID(document, at, what)                                                                          \
    {                                                                                                        \
        .text = document, .status = WIRE_INVALID, .pointer = at, .detail = what                              \
    }
    static const expectation cases[] = {
        {.text = "{\"points\":[[1,2],[3,4]]}", .rows = 2, .columns = 2, .cells = {1, 2, 3, 4}},
        {.text = " {\t\"points\" : [ [ 1 , -2.5e-3 ] ,\n[ 0.5 , 1E2 ] ] }\r\n",
         .dimension = 2,
         .rows = 2,
         .columns = 2,
         .cells = {1, -2.5e-3, 0.5, 100}},
        {.text = "{\"po\\u0069nts\":[[-0],[1e-999],[100000000000000000000]]}",
         .rows = 3,
         .columns = 1,
         .cells = {-0.0, 0, 1e20}},
        INVALID("[[1]]", "", "must be an object"),
        INVALID("3", "", "must be an object"),
        INVALID("{}", "/points", "is required"),
        INVALID("{\"points\":{}}", "/points", "must be a list"),
        INVALID("{\"points\":[]}", "/points", "must not be empty"),
        INVALID("{\"points\":[1]}", "/points/0", "must be a list"),
        INVALID("{\"points\":[[1],null]}", "/points/1", "must be a list"),
        INVALID("{\"points\":[[]]}", "/points/0", "must not be empty"),
        INVALID("{\"points\":[[1,2],[3]]}", "/points/1", "has 1 number, 2 expected"),
        INVALID("{\"points\":[[1,2],[3,4,5]]}", "/points/1", "has more than 2 numbers"),
        INVALID("{\"points\":[[1,2],[3,\"4\"]]}", "/points/1/1", "must be a number"),
        INVALID("{\"points\":[[1,true]]}", "/points/0/1", "must be a number"),
        INVALID("{\"points\":[[false ]]}", "/points/0/0", "must be a number"),
        INVALID("{\"points\":[[null]]}", "/points/0/0", "must be a number"),
        INVALID("{\"points\":[[[1]]]}", "/points/0/0", "must be a number"),
        INVALID("{\"points\":[[1]],\"a/b~\":1}", "/a~1b~0", "unknown field"),
        INVALID("{\"rows\":[[1]]}", "/rows", "unknown field"),
        MALFORMED("", "the rest of the document expected at byte 1"),
        MALFORMED("x", "an object expected at byte 1"),
        MALFORMED("{1", "a string expected at byte 2"),
        MALFORMED("{\"points\"1", "a colon expected at byte 10"),
        MALFORMED("{\"points\":}", "a list expected at byte 11"),
        MALFORMED("{\"points\":[[NaN]]}", "a finite number expected at byte 13"),
        MALFORMED("{\"points\":[[1,2,1e999]]}", "a finite number expected at byte 17"),
        MALFORMED("{\"points\":[[01]]}", "a finite number expected at byte 13"),
        MALFORMED("{\"points\":[[+1]]}", "a finite number expected at byte 13"),
        MALFORMED("{\"points\":[[1,]]}", "a number expected at byte 15"),
        MALFORMED("{\"points\":[[1 2]]}", "a comma or ] expected at byte 15"),
        MALFORMED("{\"points\":[[1],]}", "a list expected at byte 16"),
        MALFORMED("{\"points\":[[1]", "the rest of the document expected at byte 15"),
        MALFORMED("{\"points\":[[1]}", "a comma or ] expected at byte 15"),
        MALFORMED("{\"points\":[[1]]]", "a comma or } expected at byte 16"),
        MALFORMED("{\"points\":[[1]],}", "a string expected at byte 17"),
        MALFORMED("{\"points\":[[1]]}}", "the end of the document expected at byte 17"),
        MALFORMED("{\"points\":[[1]],\"points\":[[1]]}", "\"points\" occurs twice"),
        MALFORMED("{\"\\q\":1}", "a string expected at byte 2"),
    };
#undef MALFORMED
#undef INVALID
    check_everywhere(cases, sizeof cases / sizeof *cases, WIRE_POINTS_JSON);
}

/* A .npy file: version, header without padding, numbers. */
static size_t make_npy(char *out, int version, const char *header, const void *numbers, size_t n)
{
    size_t length = strlen(header), at = 8;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)version;
    out[7] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        out[at++] = (char)(length >> 8 * i);
    memcpy(out + at, header, length);
    memcpy(out + at + length, numbers, n);
    return at + length + n;
}

static void test_ndjson(void **state)
{
    (void)state;
#define REFUSED(lines, problem, text_of)                                                                     \
    {                                                                                                        \
        .text = lines, .status = problem, .pointer = "", .detail = text_of                                   \
    }
    static const expectation cases[] = {
        {.text = "{\"point\":[1,-2.5]}\n\n {\"point\" : [ 3e2 , 0 ]} \r\n",
         .rows = 2,
         .columns = 2,
         .cells = {1, -2.5, 300, 0}},
        {.text = "{\"point\":[7]}", .rows = 1, .columns = 1, .cells = {7}},
        REFUSED("", WIRE_INVALID, "there are no rows"),
        REFUSED("{\"point\":[1,2]}\n{\"point\":[1]}\n", WIRE_INVALID, "line 2, row 2: 1 number, 2 expected"),
        REFUSED("{\"point\":[1,\"a\"]}\n", WIRE_INVALID, "line 1, row 1, column 2: must be a number"),
        REFUSED("{\"point\":[]}\n", WIRE_INVALID, "line 1: \"point\" must be a list of 1 to 10000 numbers"),
        REFUSED("{}\n", WIRE_INVALID, "line 1: \"point\" must be a list of 1 to 10000 numbers"),
        REFUSED("\n[1,2]\n", WIRE_INVALID, "line 2: must be an object such as {\"point\": [0.5, 1]}"),
        REFUSED("{\"point\":[1],\"x\":2}\n", WIRE_INVALID, "line 1: unknown field \"x\""),
    };
#undef REFUSED
    check_everywhere(cases, sizeof cases / sizeof *cases, WIRE_POINTS_NDJSON);
}

static bool drop_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    (void)arg;
    (void)first;
    (void)n;
    (void)dimension;
    (void)rows;
    return true;
}

static void the_header_of_unnamed_features_is_known(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *names[2];
    } cases[] = {{" degrees ,\"minutes, all\"\n1,2\n", 2, {"degrees", "minutes, all"}},
                 {"1,2\n3,4\n", 0, {0}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_points_reader *reader;
        wire_errors errors = {0};
        const char *text = cases[i].text;
        size_t n;
        assert_int_equal(wire_points_reader_new(&reader, WIRE_POINTS_CSV, 2, 4, drop_rows, NULL), WIRE_OK);
        assert_int_equal(wire_points_reader_feed(reader, text, strlen(text), &errors), WIRE_OK);
        assert_int_equal(wire_points_reader_finish(reader, &errors), WIRE_OK);
        char *const *names = wire_points_reader_header(reader, &n);
        assert_int_equal(n, cases[i].n);
        for (size_t k = 0; k < n; k++)
            assert_string_equal(names[k], cases[i].names[k]);
        wire_points_reader_free(reader);
    }
}

static void test_npy(void **state)
{
    (void)state;
    static const double doubles[] = {1, -2.5, 0.1, 1e300};
    static const float floats[] = {1, -2.5f, 0.5f, 3};
    static const double not_finite[] = {1, 2, NAN, 3};
    static const int64_t wholes[] = {-3, 5};
    static const unsigned char shorts[] = {0xFF, 0xFE, 0x01, 0x02}, truths[] = {0, 1, 1, 0};
    static const uint16_t halves[] = {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x3555, 0x8000, 0x7C00, 0x7E00};
    static const unsigned char big[] = {0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 0xC0, 0x04, 0, 0, 0, 0, 0, 0};
#define HEADER(type, order, shape) "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }"
#define GOOD                       HEADER("<f8", "False", "(2, 2)") "\n"
#define BAD(problem, text)                                                                                   \
    {                                                                                                        \
        .status = problem, .pointer = "", .detail = text                                                     \
    }
#define UNCLEAR BAD(WIRE_MALFORMED, "not a .npy file: the header is not valid")
#define TYPE                                                                                                 \
    BAD(WIRE_INVALID,                                                                                        \
        "the array must have a type of real numbers, such as float64, float16, int32, uint8 or bool; "       \
        "convert it with astype")
#define SHAPE  BAD(WIRE_INVALID, "the array must have two dimensions, candidates and features")
#define EXCESS BAD(WIRE_INVALID, "there are more bytes than the shape in the header announces")
    const struct {
        int version;
        const char *header;
        const void *numbers;
        size_t n, dimension;
        expectation expected;
    } cases[] = {
        {1, GOOD, doubles, 32, 2, {.rows = 2, .columns = 2, .cells = {1, -2.5, 0.1, 1e300}}},
        {2, GOOD, doubles, 32, 0, {.rows = 2, .columns = 2, .cells = {1, -2.5, 0.1, 1e300}}},
        {3, GOOD, doubles, 32, 0, {.rows = 2, .columns = 2, .cells = {1, -2.5, 0.1, 1e300}}},
        {1,
         "{\"shape\":(4,1),\"fortran_order\":False,\"descr\":\"<f4\"}",
         floats,
         16,
         0,
         {.rows = 4, .columns = 1, .cells = {1, -2.5, 0.5, 3}}},
        {1, HEADER(">f8", "False", "(1, 2)"), big, 16, 0, {.rows = 1, .columns = 2, .cells = {1, -2.5}}},
        {1, GOOD, not_finite, 32, 0, BAD(WIRE_INVALID, "row 2, column 1: not a finite number")},
        {1, GOOD, doubles, 31, 0, BAD(WIRE_INVALID, "ends in row 2 of 2")},
        {1, HEADER("<f8", "False", "(1, 2)"), doubles, 17, 0, EXCESS},
        {1, HEADER("<f8", "False", "(1, 2)"), doubles, 24, 0, EXCESS},
        {1, GOOD, doubles, 32, 3, BAD(WIRE_INVALID, "the array has 2 columns, 3 expected")},
        {1, HEADER("<f8", "False", "(0, 2)"), doubles, 0, 0, BAD(WIRE_INVALID, "there are no rows")},
        {1, HEADER("<f8", "False", "(2, 0)"), doubles, 0, 0,
         BAD(WIRE_INVALID, "the array must have 1 to 10000 columns")},
        {1, HEADER("<i8", "False", "(1, 2)"), wholes, 16, 0, {.rows = 1, .columns = 2, .cells = {-3, 5}}},
        {1,
         HEADER("<u4", "False", "(1, 2)"),
         wholes,
         8,
         0,
         {.rows = 1, .columns = 2, .cells = {4294967293.0, 4294967295.0}}},
        {1, HEADER(">i2", "False", "(1, 2)"), shorts, 4, 0, {.rows = 1, .columns = 2, .cells = {-2, 258}}},
        {1,
         HEADER("|u1", "False", "(2, 2)"),
         shorts,
         4,
         0,
         {.rows = 2, .columns = 2, .cells = {255, 254, 1, 2}}},
        {1, HEADER("|i1", "False", "(1, 2)"), shorts, 2, 0, {.rows = 1, .columns = 2, .cells = {-1, -2}}},
        {1, HEADER("|b1", "False", "(1, 4)"), truths, 4, 0, {.rows = 1, .columns = 4, .cells = {0, 1, 1, 0}}},
        {1,
         HEADER("<f2", "False", "(3, 2)"),
         halves,
         12,
         0,
         {.rows = 3, .columns = 2, .cells = {1, -2, 65504, 0x1p-24, 0.333251953125, -0.0}}},
        {1, HEADER("<f2", "False", "(1, 2)"), halves + 6, 4, 0,
         BAD(WIRE_INVALID, "row 1, column 1: not a finite number")},
        {1,
         HEADER("<f8", "True", "(2, 2)"),
         doubles,
         32,
         2,
         {.rows = 2, .columns = 2, .cells = {1, 0.1, -2.5, 1e300}}},
        {1,
         HEADER("|u1", "True", "(1, 4)"),
         shorts,
         4,
         0,
         {.rows = 1, .columns = 4, .cells = {255, 254, 1, 2}}},
        {1, HEADER("<f8", "True", "(2, 2)"), doubles, 31, 0, BAD(WIRE_INVALID, "ends in column 2 of 2")},
        {1, HEADER("<f8", "True", "(1, 2)"), doubles, 17, 0, EXCESS},
        {1, HEADER("<f8", "True", "(1, 2)"), doubles, 24, 0, EXCESS},
        {1, HEADER("<f8", "True", "(0, 2)"), doubles, 0, 0, BAD(WIRE_INVALID, "there are no rows")},
        {1, HEADER("<f8", "True", "(2, 2)"), not_finite, 32, 0,
         BAD(WIRE_INVALID, "row 1, column 2: not a finite number")},
        {1, HEADER("<c16", "False", "(2, 1)"), doubles, 32, 0, TYPE},
        {1, HEADER("|f8", "False", "(2, 2)"), doubles, 32, 0, TYPE},
        {1, HEADER("", "False", "(2, 2)"), doubles, 32, 0, TYPE},
        {1, HEADER("<f8", "False", "(4,)"), doubles, 32, 0, SHAPE},
        {1, HEADER("<f8", "False", "(1, 2, 2)"), doubles, 32, 0, SHAPE},
        {1, HEADER("<f8", "False", "()"), doubles, 8, 0, SHAPE},
        {1, HEADER("<f8", "Maybe", "(2, 2)"), doubles, 32, 0, UNCLEAR},
        {1, HEADER("<f8", "False", "(-2, 2)"), doubles, 32, 0, UNCLEAR},
        {1, "{'descr': '<f8', 'shape': (2, 2)}", doubles, 32, 0, UNCLEAR},
        {1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", doubles, 16, 0, UNCLEAR},
        {1, GOOD "x", doubles, 32, 0, UNCLEAR},
        {4, GOOD, doubles, 32, 0,
         BAD(WIRE_MALFORMED, "not a .npy file: the format version must be 1, 2 or 3")},
        {1, "", doubles, 32, 0,
         BAD(WIRE_MALFORMED, "not a .npy file: the length of the header is not valid")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[512];
        expectation e = cases[i].expected;
        e.text = file;
        e.size = make_npy(file, cases[i].version, cases[i].header, cases[i].numbers, cases[i].n);
        e.dimension = cases[i].dimension;
        check_everywhere(&e, 1, WIRE_POINTS_NPY);
    }
    static const char ends[] = "not a .npy file: ends inside the header";
    const expectation others[] = {
        {.text = "1,2\n",
         .status = WIRE_MALFORMED,
         .pointer = "",
         .detail = "not a .npy file: the first bytes are not those of the format"},
        {.text = "\x93NUM", .status = WIRE_MALFORMED, .pointer = "", .detail = ends},
        {.text = "", .status = WIRE_MALFORMED, .pointer = "", .detail = ends},
    };
    check_everywhere(others, sizeof others / sizeof *others, WIRE_POINTS_NPY);
#undef HEADER
#undef GOOD
#undef BAD
#undef UNCLEAR
#undef TYPE
#undef SHAPE
#undef EXCESS
}

/* A byte NUL ends nothing. */
static void test_nul(void **state)
{
    (void)state;
    static const char csv[] = "1\n2\0003\n", json[] = "{\"points\":[[1]]\0}";
    sheet s = {0};
    wire_errors errors = {0};
    assert_int_equal(read_chunks(&s, &errors, WIRE_POINTS_CSV, 0, 8, csv, sizeof csv - 1, NULL, 0),
                     WIRE_INVALID);
    wire_errors_clear(&errors);
    assert_int_equal(read_chunks(&s, &errors, WIRE_POINTS_JSON, 0, 8, json, sizeof json - 1, NULL, 0),
                     WIRE_MALFORMED);
    wire_errors_clear(&errors);
}

static void test_sink_stops(void **state)
{
    (void)state;
    sheet s = {.stop_after = 2};
    wire_errors errors = {0};
    const char *text = "1\n2\n3\n4\n";
    assert_int_equal(read_chunks(&s, &errors, WIRE_POINTS_CSV, 0, 1, text, strlen(text), NULL, 0),
                     WIRE_INVALID);
    assert_int_equal(s.rows, 2);
    assert_int_equal(errors.n, 0);
}

/* What is longer than any number or name is refused, at whatever length the chunks cut it. */
static void test_too_long(void **state)
{
    (void)state;
    static char text[4000];
    for (int json = 0; json < 2; json++) {
        size_t n = (size_t)sprintf(text, "%s", json ? "{\"points\":[[" : "");
        memset(text + n, '1', 2000);
        strcpy(text + n + 2000, json ? "]]}" : "\n");
        for (size_t cut = 0; cut < strlen(text); cut += 97) {
            sheet s = {0};
            wire_errors errors = {0};
            wire_status status = read_chunks(&s, &errors, json ? WIRE_POINTS_JSON : WIRE_POINTS_CSV, 0, 8,
                                             text, strlen(text), &cut, 1);
            assert_true(status == WIRE_INVALID || (json && status == WIRE_MALFORMED));
            assert_int_equal(errors.n, 1);
            wire_errors_clear(&errors);
        }
    }
}

/* A row of 10000 numbers is read, one of 10001 is refused. */
static void test_too_wide(void **state)
{
    (void)state;
    enum { MOST = 10000 };
    static char text[2 * MOST + 100];
    static const char *const refused[] = {"line 1: at most 10000 columns are allowed",
                                          "may have at most 10000 numbers"};
    for (int json = 0; json < 2; json++) {
        for (size_t more = 0; more < 2; more++) {
            wire_points_reader *r;
            wire_errors errors = {0};
            bool seen = false;
            char *end = stpcpy(text, json ? "{\"points\":[[" : "");
            for (size_t i = 0; i < MOST + more; i++)
                end = stpcpy(end, i > 0 ? ",7" : "7");
            strcpy(end, json ? "]]}" : "\n");
            assert_int_equal(
                wire_points_reader_new(&r, json ? WIRE_POINTS_JSON : WIRE_POINTS_CSV, 0, 1, take_wide, &seen),
                WIRE_OK);
            wire_status status = wire_points_reader_feed(r, text, strlen(text), &errors);
            assert_int_equal(status, more ? WIRE_INVALID : WIRE_OK);
            assert_true(seen == !more);
            assert_int_equal(errors.n, more);
            if (more) {
                assert_string_equal(errors.items[0].pointer, json ? "/points/0" : "");
                assert_string_equal(errors.items[0].detail, refused[json]);
            } else {
                assert_int_equal(wire_points_reader_dimension(r), MOST);
            }
            wire_errors_clear(&errors);
            wire_points_reader_free(r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_named),
        cmocka_unit_test(test_csv_long_cells),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_ndjson),
        cmocka_unit_test(the_header_of_unnamed_features_is_known),
        cmocka_unit_test(test_npy),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_sink_stops),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_too_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
