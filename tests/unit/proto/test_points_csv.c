/* The reader of CSV uploads: whatever the chunks, the same rows or the same refusal. */
#include "proto/csv.h"
#include "proto/points.h"
#include "tests/support/point_sheets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_named),
        cmocka_unit_test(test_csv_long_cells),
        cmocka_unit_test(the_header_of_unnamed_features_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
