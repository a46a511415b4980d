/* The sequence that a space is swept with: even over every parameter, and in which bases it counts. */
#include "core/arms/genome.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Every stretch of the sequence is spread over every parameter: of any 64 points, each sixteenth of a linear
 * parameter has at least one, and of 1024 about 64. */
static void sweeps_are_even(void **state)
{
    bandit_parameter parameters[20];
    bandit_space *s;
    bandit_error err = {0};
    bandit_genome genome;
    (void)state;
    for (size_t i = 0; i < 20; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&s, parameters, 20, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_init(&genome, s, NULL, 77, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_sequence(&genome, 5, &err), BANDIT_OK);
    size_t counts[20][16] = {{0}};
    for (uint64_t index = 0; index < 1024; index++) {
        double genes[20];
        bandit_genome_sweep(&genome, index, genes);
        for (size_t i = 0; i < 20; i++) {
            assert_true(genes[i] >= 0.0 && genes[i] < 1.0);
            counts[i][(size_t)(16.0 * genes[i])]++;
        }
    }
    for (size_t i = 0; i < 20; i++) {
        for (size_t k = 0; k < 16; k++)
            assert_in_range(counts[i][k], 48, 80); /* independent points: ±8 is one standard deviation */
    }
    bandit_genome_clear(&genome);
    bandit_space_free(s);
}

/* Parameter i counts in the i-th prime, the 169th begins again at 2: of b^k points in a row from a multiple
 * of it on, each interval of b^-k has one, down to where 2^24 points are told apart; below that, and between
 * two parameters of one base, it is chance. */
static void sweeps_count_in_primes(void **state)
{
    enum { PRIMES = 168, MANY = 2 * PRIMES + 2, LARGEST = 997 };
    static bandit_parameter parameters[MANY];
    static double first[LARGEST][MANY];
    size_t primes[PRIMES], found = 0;
    bandit_space *s;
    bandit_error err = {0};
    bandit_genome genome;
    (void)state;
    for (size_t x = 2; x <= LARGEST; x++) {
        size_t divisors = 0;
        for (size_t k = 1; k <= x; k++)
            divisors += x % k == 0;
        if (divisors == 2)
            primes[found++] = x;
    }
    assert_int_equal(found, PRIMES);
    for (size_t i = 0; i < MANY; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&s, parameters, MANY, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_init(&genome, s, NULL, 77, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_sequence(&genome, 5, &err), BANDIT_OK);
    for (uint64_t index = 0; index < LARGEST; index++)
        bandit_genome_sweep(&genome, index, first[index]);
    for (size_t i = 0; i < MANY; i++) {
        size_t b = primes[i % PRIMES], whole = b;
        while (whole * b <= LARGEST)
            whole *= b;
        bool taken[LARGEST] = {false};
        for (size_t index = 0; index < whole; index++) {
            size_t interval = (size_t)((double)whole * first[index][i]);
            assert_true(interval < whole && !taken[interval]);
            taken[interval] = true;
        }
        while (whole < (size_t)1 << 24)
            whole *= b;
        /* the last digit alone changes, then none */
        double genes[MANY], last[2][2];
        for (uint64_t k = 0; k < 2; k++) {
            for (uint64_t times = 0; times < 2; times++) {
                bandit_genome_sweep(&genome, k * whole / b + times * whole, genes);
                last[k][times] = genes[i] * (double)whole;
            }
            assert_true(floor(last[k][0]) == floor(last[k][1]) && last[k][0] != last[k][1]);
        }
        assert_true(floor(last[0][0]) != floor(last[1][0]));
        assert_true(floor(last[0][0] / (double)b) == floor(last[1][0] / (double)b));
        size_t equal = 0;
        for (size_t index = 0; i >= PRIMES && index < LARGEST; index++)
            equal += fabs(first[index][i] - first[index][i - PRIMES]) < 0.01;
        assert_true(equal < LARGEST / 2);
    }
    bandit_genome_clear(&genome);
    bandit_space_free(s);
}

/* Of the first eight scrambled points each parameter has one in each eighth, whatever the seed, and of two seeds
 * not the same ones. */
static void nets_are_even(void **state)
{
    enum { MANY = 70 };
    static bandit_parameter parameters[MANY];
    bandit_space *s;
    bandit_error err = {0};
    size_t differ = 0;
    double before[MANY] = {0.0};
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&s, parameters, MANY, &err), BANDIT_OK);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        bandit_genome genome;
        bool taken[MANY][8] = {{false}};
        assert_int_equal(bandit_genome_init(&genome, s, NULL, seed, &err), BANDIT_OK);
        for (uint32_t index = 0; index < 8; index++) {
            double genes[MANY];
            bandit_genome_net(&genome, 3, index, genes);
            for (size_t i = 0; i < MANY; i++) {
                assert_true(genes[i] >= 0.0 && genes[i] < 1.0);
                assert_false(taken[i][(size_t)(8.0 * genes[i])]);
                taken[i][(size_t)(8.0 * genes[i])] = true;
                if (index == 0)
                    differ += fabs(genes[i] - before[i]) > 1e-3;
                before[i] = index == 0 ? genes[i] : before[i];
            }
        }
        bandit_genome_clear(&genome);
    }
    assert_true(differ > 5 * MANY * 9 / 10);
    bandit_space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_are_even),
        cmocka_unit_test(sweeps_count_in_primes),
        cmocka_unit_test(nets_are_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
