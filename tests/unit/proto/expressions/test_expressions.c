/* Rules over parameters: what they mean at points, how they are taken apart, and what is no rule. */
#include "proto/expressions/expression.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { A, B, C, N, M, RATE, SOLVENT, OTHER, LEVEL, GATE, ODD, NAMES };

static char *words[] = {"water", "oil \"x\"", "salt"}, *levels[] = {"low", "mid", "high"};

static const expression_name names[NAMES] = {
    [A] = {.name = "a", .kind = EXPRESSION_REAL},
    [B] = {.name = "b", .kind = EXPRESSION_REAL},
    [C] = {.name = "c", .kind = EXPRESSION_REAL},
    [N] = {.name = "n", .kind = EXPRESSION_WHOLE},
    [M] = {.name = "m", .kind = EXPRESSION_WHOLE},
    [RATE] = {.name = "größe", .kind = EXPRESSION_REAL, .log = true},
    [SOLVENT] = {.name = "solvent", .kind = EXPRESSION_WORDS, .words = words, .n_words = 3},
    [OTHER] = {.name = "other", .kind = EXPRESSION_WORDS, .words = words, .n_words = 3},
    [LEVEL] = {.name = "level", .kind = EXPRESSION_WORDS, .words = levels, .n_words = 3, .ordered = true},
    [GATE] = {.name = "gate", .kind = EXPRESSION_SWITCH},
    [ODD] = {.name = "if then", .kind = EXPRESSION_WHOLE},
};

static expression *parse(const char *text)
{
    expression *e;
    expression_error error = {0};
    if (expression_parse(&e, text, names, NAMES, &error) != EXPRESSION_OK)
        fail_msg("%s: column %zu: %s", text, error.column, error.text);
    return e;
}

static bool holds(const char *text, const double *point)
{
    expression *e = parse(text);
    bool all = true;
    for (size_t k = 0; k < expression_parts(e); k++)
        all &= expression_slack(e, k, point) <= 0.0;
    expression_free(e);
    return all;
}

static void meanings(void **state)
{
    (void)state;
    double point[NAMES] = {[A] = 0.25,    [B] = 0.5,   [C] = 0.25,  [N] = 3,    [M] = 4,  [RATE] = 100,
                           [SOLVENT] = 1, [OTHER] = 2, [LEVEL] = 1, [GATE] = 1, [ODD] = 0};
    const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"a + b + c = 1", true},
        {"a + b + c = 1.000001", false},
        {"a+b+c<=1 and n != m", true},
        {"a + b < 0.75", false},
        {"a + b <= 0.75", true},
        {"a + b > 0.75 or n * m = 12", true},
        {"0.2 <= a < b <= 1", true},
        {"0.2 <= a < b <= 0.4", false},
        {"n ^ 2 - m / 2 = 7", true},
        {"-n ^ 2 = -9", true},
        {"2 ^ -1 * 4 = n - 1", true},
        {"2 ^ 3 ^ 2 = 512 * (n - 2)", true},
        {"sqrt(m) = 2 and abs(-m) = 4 and log(exp(n)) = 3", true},
        {"min(n, m, 7) = 3 and max(n, m) = 4", true},
        {"count(a, n, `if then`, gate) = 3", true},
        {"solvent = \"oil \\\"x\\\"\"", true},
        {"\"water\" != solvent", true},
        {"solvent = other", false},
        {"level >= \"mid\"", true},
        {"level < \"mid\"", false},
        {"gate", true},
        {"not gate", false},
        {"if gate then n = 3", true},
        {"if gate then n = 4", false},
        {"if not gate then n = 4", true},
        {"if gate then if n = 3 then m = 5", false},
        {"not (n = 3 and m = 5)", true},
        {"not n = 3", false},
        {"(n = 2 or m = 4) and (gate)", true},
        {"größe <= 1e2", true},
        {"log(a - b) <= 0", false},
        {"n / (m - 4) <= 1", false},
        {"n / (m - 4) >= 1", true},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        if (holds(cases[i].text, point) != cases[i].holds)
            fail_msg("%s: expected %d", cases[i].text, cases[i].holds);
    }
}

static void inactive_parameters(void **state)
{
    (void)state;
    double point[NAMES] = {[A] = NAN, [B] = 0.5, [C] = 0.0, [GATE] = NAN, [SOLVENT] = NAN, [LEVEL] = 0};
    assert_true(holds("a + b <= 0.1", point) && holds("a = b", point) && holds("solvent = \"salt\"", point));
    assert_false(holds("not a + b <= 0.1", point)); /* the comparison holds */
    assert_true(holds("count(a, b, c) = 1", point));
    assert_true(holds("if gate then b <= 0.1", point) && holds("not gate", point));
}

/* A sum of many numbers fulfils its equation within rounding, of whatever size they are. */
static void rounding_is_forgiven(void **state)
{
    (void)state;
    double point[NAMES] = {[A] = 0.1, [B] = 0.2, [C] = -0.3};
    assert_true(holds("a + b + c = 0", point));
    for (int i = 0; i < 3; i++)
        point[i] *= 1e12;
    assert_true(holds("a + b + c <= 0", point));
    point[C] += 1e4;
    assert_false(holds("a + b + c <= 0", point));
}

static void parts_and_linear_forms(void **state)
{
    (void)state;
    expression *e = parse("2 * (a - 3) + b / 4 >= n * 2 - 1 and a * b <= 1 and (gate and a + a + c = 1)");
    expression_linear form;
    size_t n;
    assert_int_equal(expression_parts(e), 4);
    assert_true(expression_is_linear(e, 0, &form) && !form.equality);
    const size_t *named = expression_parameters(e, 0, &n);
    assert_true(n == 3 && named[0] == A && named[1] == B && named[2] == N);
    /* n * 2 - 1 - 2 (a - 3) - b / 4 <= 0 */
    assert_true(form.coefficients[0] == -2.0 && form.coefficients[1] == -0.25 && form.coefficients[2] == 2.0);
    assert_true(form.bound == -5.0);
    assert_false(expression_is_linear(e, 1, &form));
    assert_false(expression_is_linear(e, 2, &form));
    assert_true(expression_is_linear(e, 3, &form) && form.equality && form.bound == 1.0);
    assert_true(form.coefficients[0] == 2.0 && form.coefficients[1] == 1.0);
    expression_free(e);
    e = parse("größe + a <= 1 and count(b, n) <= 1 and a - a <= 1");
    for (size_t k = 0; k < 3; k++)
        assert_false(expression_is_linear(e, k, &form));
    assert_true(expression_counts(e, B) && expression_counts(e, N) && !expression_counts(e, A));
    expression_free(e);
}

static void refusals(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t column;
        const char *why;
    } cases[] = {
        {"", 1, "a value is missing at the end"},
        {"a +", 4, "a value is missing at the end"},
        {"a + b", 1, "a comparison or truth value is expected here, not a number"},
        {"a <= x1", 6, "'x1' is not a parameter of this space"},
        {"größe <= größer", 10, "'größer' is not a parameter of this space"},
        {"a <= `x 1`", 6, "'x 1' is not a parameter of this space"},
        {"a == b", 3, "equality is written ="},
        {"a <= 1 b", 8, "'b' is not expected here"},
        {"(a <= 1", 8, "')' is missing at the end"},
        {"if gate a <= 1", 9, "'then' is expected here"},
        {"a <= 1 & b <= 1", 8, "'&' is not part of an expression"},
        {"a <= \"low\"", 6, "a number is expected here, not a word"},
        {"solvent = 1", 11, "a word is expected here, not a number"},
        {"solvent = \"lead\"", 11, "\"lead\" is not a value of 'solvent'"},
        {"solvent < \"water\"", 1, "the words of 'solvent' have no order: use = or !="},
        {"solvent = level", 1, "the two compared parameters do not have the same words"},
        {"\"water\" = \"water\"", 1, "one side of this comparison must be a parameter"},
        {"solvent = \"water", 11, "'\"water' has no closing quote"},
        {"gate <= 1", 1, "a number is expected here, not a comparison or truth value"},
        {"gate + 1 <= 1", 1, "a number is expected here, not a comparison or truth value"},
        {"not a", 5, "a comparison or truth value is expected here, not a number"},
        {"a <= and", 6,
         "a value is expected here, not 'and'; a parameter with this name is written in back quotes"},
        {"sin(a) <= 1", 1, "'sin' is not a function: there are min, max, abs, sqrt, exp, log and count"},
        {"count(a + b) <= 1", 9, "')' is expected here"},
        {"count(1) <= 1", 7, "count takes names of parameters"},
        {"count(solvent) <= 1", 7, "'solvent' has words, which count cannot count"},
        {"sqrt(a, b) <= 1", 7, "')' is expected here"},
        {"1 <= 2", 1, "does not name a parameter"},
        {"a <= 1e999", 6, "'1e999' is too large"},
        {"a * b = 1", 1, "an equation between parameters of type double must be linear"},
        {"größe = 1", 1, "an equation between parameters of type double must be linear"},
        {"if gate then a = 1", 1, "an equation between parameters of type double must be linear"},
        {"not a != b", 1, "an equation between parameters of type double must be linear"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        expression *e;
        expression_error error = {0};
        expression_status status = expression_parse(&e, cases[i].text, names, NAMES, &error);
        assert_null(e);
        if (status != EXPRESSION_INVALID || error.column != cases[i].column ||
            strncmp(error.text, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("%s: %zu: %s", cases[i].text, error.column, error.text);
    }
}

/* What is nested deeply is refused, not followed until the stack ends. */
static void depth_is_limited(void **state)
{
    (void)state;
    static const char *const openings[] = {"(", "-", "not ", "if gate then ", "2^", "abs("};
    for (size_t o = 0; o < LENGTH(openings); o++) {
        char text[60000] = "";
        for (size_t i = 0; i + 20 < sizeof text && i < 4000; i += 1)
            strcpy(text + i * strlen(openings[o]), openings[o]);
        strcat(text, "a");
        expression *e;
        expression_error error = {0};
        assert_int_equal(expression_parse(&e, text, names, NAMES, &error), EXPRESSION_INVALID);
        assert_string_equal(error.text, "is nested too deeply here");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meanings),
        cmocka_unit_test(inactive_parameters),
        cmocka_unit_test(rounding_is_forgiven),
        cmocka_unit_test(parts_and_linear_forms),
        cmocka_unit_test(refusals),
        cmocka_unit_test(depth_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
