/* The reader of .npy uploads: whatever the chunks, the same rows or the same refusal. */
#include "proto/points.h"
#include "tests/support/point_sheets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
