/* Genes of a space's points against their description, written out again: shares of values, what is held
 * fixed and what that leaves to ancestors, points taken apart, random genes and mutations. */
#include "core/arms/genome.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 11, SEED = 5 };
enum {
    WORD,
    REAL,
    WHOLE,
    SCALED,
    LISTED,
    SWITCH,
    REAL_OF_WORD,
    WHOLE_OF_WORD,
    WORD_OF_SWITCH,
    OF_WHOLE,
    OF_SCALED
};

static const double numbers[] = {5.0, -1.0, 2.5}, sorted[] = {-1.0, 2.5, 5.0}, on[] = {1.0},
                    words[] = {1.0, 2.0, 3.0}, word[] = {0.0, 2.0}, wholes[] = {2.0, 5.0, 9.0},
                    scaled[] = {3.0, 700.0};

static const bandit_parameter parameters[N] = {
    [WORD] = {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 4, .parent = BANDIT_NO_PARENT},
    [REAL] = {.type = BANDIT_PARAMETER_DOUBLE, .min = -2.0, .max = 6.0, .parent = BANDIT_NO_PARENT},
    [WHOLE] = {.type = BANDIT_PARAMETER_INTEGER, .min = 1.0, .max = 9.0, .parent = BANDIT_NO_PARENT},
    [SCALED] =
        {.type = BANDIT_PARAMETER_INTEGER, .min = 2.0, .max = 900.0, .log = true, .parent = BANDIT_NO_PARENT},
    [LISTED] = {.type = BANDIT_PARAMETER_DISCRETE,
                .numbers = numbers,
                .n_values = 3,
                .parent = BANDIT_NO_PARENT},
    [SWITCH] = {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
    [REAL_OF_WORD] = {.type = BANDIT_PARAMETER_DOUBLE,
                      .min = 1e-3,
                      .max = 10.0,
                      .log = true,
                      .parent = WORD,
                      .parent_values = words,
                      .n_parent_values = 3},
    [WHOLE_OF_WORD] = {.type = BANDIT_PARAMETER_INTEGER,
                       .min = -3.0,
                       .max = 3.0,
                       .parent = WORD,
                       .parent_values = word,
                       .n_parent_values = 2},
    [WORD_OF_SWITCH] = {.type = BANDIT_PARAMETER_CATEGORICAL,
                        .n_values = 2,
                        .parent = SWITCH,
                        .parent_values = on,
                        .n_parent_values = 1},
    [OF_WHOLE] = {.type = BANDIT_PARAMETER_DOUBLE,
                  .max = 1.0,
                  .parent = WHOLE,
                  .parent_values = wholes,
                  .n_parent_values = 3},
    [OF_SCALED] = {
        .type = BANDIT_PARAMETER_BOOLEAN, .parent = SCALED, .parent_values = scaled, .n_parent_values = 2}};

static bool is_number(size_t i)
{
    return parameters[i].type == BANDIT_PARAMETER_DOUBLE || parameters[i].type == BANDIT_PARAMETER_INTEGER;
}

static double gene_of(size_t i, double value)
{
    const bandit_parameter *p = &parameters[i];
    if (is_number(i))
        return p->log ? log(value / p->min) / log(p->max / p->min) : (value - p->min) / (p->max - p->min);
    if (i != LISTED)
        return value;
    size_t rank = 0;
    while (sorted[rank] != value)
        rank++;
    return (double)rank;
}

static double number_of(size_t i, double gene)
{
    const bandit_parameter *p = &parameters[i];
    double value = p->log ? p->min * pow(p->max / p->min, gene) : p->min + gene * (p->max - p->min);
    return p->type == BANDIT_PARAMETER_INTEGER ? rint(value) : value;
}

/* All values of a parameter that is not double, ascending. */
static size_t values_of(size_t i, double *values)
{
    const bandit_parameter *p = &parameters[i];
    if (i == LISTED)
        memcpy(values, sorted, sizeof sorted);
    if (i == LISTED)
        return 3;
    bool whole = p->type == BANDIT_PARAMETER_INTEGER;
    size_t n = whole ? (size_t)(p->max - p->min) + 1 : p->type == BANDIT_PARAMETER_BOOLEAN ? 2 : p->n_values;
    for (size_t k = 0; k < n; k++)
        values[k] = (whole ? p->min : 0.0) + (double)k;
    return n;
}

static bool has(const double *values, size_t n, double value)
{
    for (size_t k = 0; k < n; k++) {
        if (values[k] == value)
            return true;
    }
    return false;
}

/* What is held fixed, and what else a parameter may be: the values with which all fixed children are active,
 * ascending. */
typedef struct held {
    double fixed[N];
    size_t n[N]; /* 0: anything */
    double values[N][4];
} held;

static const held nothing = {.fixed = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}};

static held hold(const size_t *which, const double *values, size_t n)
{
    held h = nothing;
    for (size_t k = 0; k < n; k++)
        h.fixed[which[k]] = values[k];
    for (size_t i = 0; i < N; i++) {
        size_t parent = parameters[i].parent, kept = 0;
        if (isnan(h.fixed[i]) || parent == BANDIT_NO_PARENT)
            continue;
        for (size_t k = 0; k < parameters[i].n_parent_values; k++) {
            double value = parameters[i].parent_values[k];
            if (h.n[parent] == 0)
                h.values[parent][kept++] = value;
        }
        for (size_t k = 0; k < h.n[parent]; k++) {
            double value = h.values[parent][k];
            if (has(parameters[i].parent_values, parameters[i].n_parent_values, value))
                h.values[parent][kept++] = value;
        }
        h.n[parent] = kept;
    }
    return h;
}

static size_t choices_of(const held *h, size_t i, double *values)
{
    if (h->n[i] == 0)
        return values_of(i, values);
    memcpy(values, h->values[i], h->n[i] * sizeof *values);
    return h->n[i];
}

/* The gene at share t of the values. */
static double gene_at(const held *h, size_t i, double t)
{
    double values[1000];
    const bandit_parameter *p = &parameters[i];
    if (!isnan(h->fixed[i]))
        return gene_of(i, h->fixed[i]);
    if (p->type == BANDIT_PARAMETER_DOUBLE)
        return t;
    if (p->log && h->n[i] == 0)
        return gene_of(i, number_of(i, t));
    size_t n = choices_of(h, i, values);
    return gene_of(i, values[(size_t)(t * (double)n)]);
}

static void open_genome(bandit_genome *g, bandit_space **s, const held *h)
{
    assert_int_equal(bandit_space_new(s, parameters, N, NULL), BANDIT_OK);
    *g = (bandit_genome){0};
    assert_int_equal(bandit_genome_init(g, *s, h->fixed, SEED, NULL), BANDIT_OK);
}

static void close_genome(bandit_genome *g, bandit_space *s)
{
    bandit_genome_clear(g);
    bandit_space_free(s);
}

/* Nothing; a child; two children of one parent; a child of a whole number, and one of a log scale; with the
 * parent; a parent alone. */
enum { HELD = 8 };

static held example(size_t k)
{
    static const size_t which[HELD][3] = {{0},
                                          {REAL_OF_WORD},
                                          {REAL_OF_WORD, WHOLE_OF_WORD},
                                          {OF_WHOLE, OF_SCALED},
                                          {WORD_OF_SWITCH, SWITCH, REAL},
                                          {WORD, LISTED},
                                          {WHOLE_OF_WORD},
                                          {WHOLE, SCALED, OF_WHOLE}};
    static const double values[HELD][3] = {{0},        {0.5}, {2.0, -3.0},      {0.25, 1.0}, {1.0, 1.0, 3.5},
                                           {1.0, 2.5}, {2.0}, {5.0, 40.0, 0.75}};
    static const size_t n[HELD] = {0, 1, 2, 2, 3, 2, 1, 3};
    return hold(which[k], values[k], n[k]);
}

static void shares_of_values(void **state)
{
    (void)state;
    for (size_t k = 0; k < HELD; k++) {
        held h = example(k);
        bandit_genome g;
        bandit_space *s;
        open_genome(&g, &s, &h);
        for (size_t i = 0; i < N; i++) {
            double values[1000];
            for (size_t step = 0; step <= 1009; step++) {
                double t = step == 1009 ? 1.0 - 0x1p-53 : (double)step / 1009.0;
                assert_true(fabs(bandit_genome_gene(&g, i, t) - gene_at(&h, i, t)) < 1e-12);
            }
            if (parameters[i].type == BANDIT_PARAMETER_DOUBLE)
                continue;
            size_t n = choices_of(&h, i, values);
            assert_int_equal(bandit_genome_values(&g, i), n);
            for (size_t v = 0; v < n; v++) {
                double gene = bandit_genome_value_gene(&g, i, v);
                assert_true(fabs(gene - gene_of(i, values[v])) < 1e-12);
                assert_true(bandit_genome_value(&g, i, gene) == values[v]);
            }
        }
        close_genome(&g, s);
    }
}

static void random_genes_and_their_points(void **state)
{
    (void)state;
    for (size_t k = 0; k < HELD; k++) {
        held h = example(k);
        bandit_genome g;
        bandit_space *s;
        open_genome(&g, &s, &h);
        for (uint64_t index = 0; index < 50; index++) {
            double genes[N], point[N], taken[N];
            bandit_genome_random(&g, 7, BANDIT_PURPOSE_UNIFORM, index, genes);
            for (size_t i = 0; i < N; i++) {
                double t = bandit_random_uniform(SEED, 7, BANDIT_PURPOSE_UNIFORM, index * N + i);
                assert_true(fabs(genes[i] - gene_at(&h, i, t)) < 1e-12);
                taken[i] = 17.0;
            }
            bandit_genome_coded(&g, genes, point);
            for (size_t i = 0; i < N; i++) { /* parents have lower numbers */
                const bandit_parameter *p = &parameters[i];
                bool active = p->parent == BANDIT_NO_PARENT ||
                              has(p->parent_values, p->n_parent_values, point[p->parent]);
                assert_true(active == !isnan(point[i]));
                if (active && !isnan(h.fixed[i]))
                    assert_true(point[i] == h.fixed[i]);
                else if (active)
                    assert_true(fabs(gene_of(i, point[i]) - genes[i]) < 1e-12);
                assert_true(active || isnan(h.fixed[i]));
            }
            bandit_genome_take(&g, point, taken);
            for (size_t i = 0; i < N; i++) {
                bool open = !isnan(point[i]) && isnan(h.fixed[i]);
                assert_true(fabs(taken[i] - (open ? genes[i] : 17.0)) < 1e-12);
            }
        }
        close_genome(&g, s);
    }
}

/* What may not be what it is keeps its gene. */
static void what_is_not_allowed_is_not_taken(void **state)
{
    held h = example(1); /* a word but the first */
    const double point[N] = {0.0, 1.0, 3.0, 30.0, 2.5, 0.0, NAN, 2.0, NAN, NAN, NAN};
    double genes[N];
    bandit_genome g;
    bandit_space *s;
    (void)state;
    open_genome(&g, &s, &h);
    for (size_t i = 0; i < N; i++)
        genes[i] = 17.0;
    bandit_genome_take(&g, point, genes);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(genes[i] - (i == WORD || isnan(point[i]) ? 17.0 : gene_of(i, point[i]))) < 1e-12);
    close_genome(&g, s);
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        size_t which[2];
        double values[2];
        bool taken;
    } cases[] = {
        {{REAL, REAL}, {6.5, 6.5}, false},
        {{WORD, WORD}, {4.0, 4.0}, false},
        {{WORD, REAL_OF_WORD}, {0.0, 0.5}, false},
        {{WORD, REAL_OF_WORD}, {3.0, 0.5}, true},
        {{WORD, REAL_OF_WORD}, {1.0, 0.5}, true},
        {{WORD, WHOLE_OF_WORD}, {1.0, 0.0}, false},
        {{WORD, WHOLE_OF_WORD}, {0.0, 0.0}, true},
        {{SWITCH, WORD_OF_SWITCH}, {0.0, 1.0}, false},
        {{REAL_OF_WORD, WHOLE_OF_WORD}, {1, 1}, true},
        {{WHOLE, OF_WHOLE}, {3.0, 0.5}, false},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        held h = hold(cases[k].which, cases[k].values, 2);
        bandit_genome g = {0};
        bandit_space *s;
        bandit_error err = {0};
        assert_int_equal(bandit_space_new(&s, parameters, N, NULL), BANDIT_OK);
        assert_int_equal(bandit_genome_init(&g, s, h.fixed, SEED, &err),
                         cases[k].taken ? BANDIT_OK : BANDIT_INVALID_OPTION);
        assert_string_equal(err.field, cases[k].taken ? "" : "fixed");
        close_genome(&g, s);
    }
}

/* By the header, from the numbers that are drawn: the distance to the nearest even number is what reflection
 * at 0 and at 1 leaves. */
static bool mutated(const held *h, uint64_t first, const double *point, double *genes)
{
    double values[1000];
    size_t open[N], n = 0;
    for (size_t i = 0; i < N; i++) {
        bool alone = parameters[i].type != BANDIT_PARAMETER_DOUBLE && choices_of(h, i, values) == 1;
        if (isnan(h->fixed[i]) && !isnan(point[i]) && !alone)
            open[n++] = i;
    }
    if (n == 0)
        return false;
    size_t i = open[bandit_random_below(SEED, 3, BANDIT_PURPOSE_UNIFORM, first, n)];
    if (is_number(i) && h->n[i] == 0) {
        double z = bandit_random_normal(SEED, 3, BANDIT_PURPOSE_UNIFORM, first + 1),
               moved = genes[i] + 0.2 * z;
        moved = fabs(moved - 2.0 * rint(moved / 2.0));
        if (parameters[i].type == BANDIT_PARAMETER_DOUBLE) {
            genes[i] = moved;
            return true;
        }
        double before = number_of(i, genes[i]), after = number_of(i, moved), step = z > 0.0 ? 1.0 : -1.0;
        if (after == before)
            after = before + step;
        if (after < parameters[i].min || after > parameters[i].max)
            after = before - step;
        genes[i] = gene_of(i, after);
        return true;
    }
    size_t n_values = choices_of(h, i, values);
    size_t k = bandit_random_below(SEED, 3, BANDIT_PURPOSE_UNIFORM, first + 1, n_values - 1);
    genes[i] = gene_of(i, values[k] == point[i] ? values[n_values - 1] : values[k]);
    return true;
}

static void mutations_as_written_out(void **state)
{
    size_t changed[N] = {0};
    (void)state;
    for (size_t k = 0; k < HELD; k++) {
        held h = example(k);
        bandit_genome g;
        bandit_space *s;
        open_genome(&g, &s, &h);
        for (uint64_t index = 0; index < 600; index++) {
            double genes[N], before[N], expected[N], point[N];
            bandit_genome_random(&g, 7, BANDIT_PURPOSE_UNIFORM, index, genes);
            for (size_t i = 0; i < N && index % 3 == 0; i++) { /* at the ends, where steps turn */
                if (is_number(i) && h.n[i] == 0 && isnan(h.fixed[i]))
                    genes[i] = (double)(index / 3 % 2);
            }
            if (index % 5 == 0 && h.n[SCALED] == 0 && isnan(h.fixed[SCALED])) /* seldom met by chance */
                genes[SCALED] = gene_of(SCALED, 700.0);
            bandit_genome_coded(&g, genes, point);
            memcpy(before, genes, sizeof genes);
            memcpy(expected, genes, sizeof genes);
            bool any = mutated(&h, 1000 + 16 * index, point, expected);
            assert_int_equal(
                bandit_genome_mutate(&g, 3, BANDIT_PURPOSE_UNIFORM, 1000 + 16 * index, point, genes), any);
            for (size_t i = 0; i < N; i++) {
                assert_true(fabs(genes[i] - expected[i]) < 1e-12);
                changed[i] += genes[i] != before[i];
            }
        }
        close_genome(&g, s);
    }
    for (size_t i = 0; i < N; i++)
        assert_true(changed[i] > 50);
}

/* Digits of the index, each permuted as it is drawn, in the bases of [Owen 2017]; as many as tell 2^24 points
 * apart, and a uniform number for what is below. */
static void sequences_as_written_out(void **state)
{
    enum { SEQUENCE = 3, LARGEST = 31 };
    static const uint32_t primes[N] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, LARGEST};
    bandit_genome g;
    bandit_space *s;
    (void)state;
    open_genome(&g, &s, &nothing);
    assert_int_equal(bandit_genome_sequence(&g, SEQUENCE, NULL), BANDIT_OK);
    for (uint64_t index = 0; index < 1000000000; index = 7 * index + 1) {
        double genes[N];
        bandit_genome_sweep(&g, index, genes);
        for (uint64_t i = 0; i < N; i++) {
            uint64_t rest = index, told_apart = 1;
            double t = 0.0;
            for (uint64_t level = 0; told_apart < 1 << 24; level++, rest /= primes[i]) {
                uint64_t permuted[LARGEST] = {0};
                for (uint64_t k = 0; k < primes[i];
                     k++) { /* the k-th comes in at a place among those before */
                    uint64_t place = bandit_random_below(SEED, SEQUENCE, BANDIT_PURPOSE_SWEEP,
                                                         (i << 32) + (level << 16) + k, k + 1);
                    permuted[k] = permuted[place];
                    permuted[place] = k;
                }
                told_apart *= primes[i];
                t += (double)permuted[rest % primes[i]] / (double)told_apart;
            }
            uint64_t below = ((uint64_t)1 << 63) + (i << 32) + index;
            t += bandit_random_uniform(SEED, SEQUENCE, BANDIT_PURPOSE_SWEEP, below) / (double)told_apart;
            assert_true(fabs(genes[i] - gene_at(&nothing, i, t)) < 1e-12);
        }
    }
    close_genome(&g, s);
}

/* A sequence is a function of the seed and its number: it comes again after another one, which differs. */
static void sequences_come_again(void **state)
{
    enum { POINTS = 20 };
    static const uint64_t numbers_of[] = {0, 0, 1, 0, 0};
    double first[POINTS][N], again[POINTS][N];
    bandit_genome g;
    bandit_space *s;
    (void)state;
    open_genome(&g, &s, &nothing);
    for (size_t step = 0; step < 5; step++) {
        assert_int_equal(bandit_genome_sequence(&g, numbers_of[step], NULL), BANDIT_OK);
        for (uint64_t index = 0; index < POINTS; index++)
            bandit_genome_sweep(&g, index, step == 0 ? first[index] : again[index]);
        size_t different = 0;
        for (size_t k = 0; step > 0 && k < POINTS * N; k++)
            different += first[k / N][k % N] != again[k / N][k % N];
        assert_true((different == 0) == (numbers_of[step] == 0));
    }
    close_genome(&g, s);
    assert_int_equal(bandit_genome_memory(&g), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_values),
        cmocka_unit_test(random_genes_and_their_points),
        cmocka_unit_test(what_is_not_allowed_is_not_taken),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(mutations_as_written_out),
        cmocka_unit_test(sequences_come_again),
        cmocka_unit_test(sequences_as_written_out),
    };
    return cmocka_run_group_tests_name("genome", tests, NULL, NULL);
}
