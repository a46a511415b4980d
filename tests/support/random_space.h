/* Random spaces, with nested conditions and every type of parameter, and random points of them. */
#ifndef TESTS_SUPPORT_RANDOM_SPACE_H
#define TESTS_SUPPORT_RANDOM_SPACE_H

#include "bandit/space.h"

#include <stdint.h>

enum { RANDOM_SPACE_MOST = 12, RANDOM_SPACE_VALUES = 5 };

typedef struct random_space {
    uint64_t state; /* of dense_uniform */
    size_t n;
    bandit_parameter parameters[RANDOM_SPACE_MOST];
    double numbers[RANDOM_SPACE_MOST][RANDOM_SPACE_VALUES];
    double conditions[RANDOM_SPACE_MOST][RANDOM_SPACE_VALUES];
} random_space;

/* n parameters; small: no doubles, and integers of a few values. */
void random_space_init(random_space *space, uint64_t seed, size_t n, bool small);

/* Makes every parameter double or integer, and always active. */
void random_space_make_numeric(random_space *space);

/* Uniform on 0 … n−1. */
size_t random_space_below(random_space *space, size_t n);

/* A point: every active parameter takes a random value of its own. */
void random_space_point(random_space *space, double *coded);

/* Is parameter i active? By the definition, from the point alone. */
bool random_space_is_active(const random_space *space, const double *coded, size_t i);

#endif
