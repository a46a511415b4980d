/* A point of a space in the form that a search changes: one gene for every parameter, active or not.
 *
 * The gene of a double or integer parameter is its feature, in [0, 1]. The gene of any other parameter is the
 * number of its value (bandit_space_value). An inactive parameter keeps its gene, so that it has a value if a
 * change makes it active. A genome also stores which parameters are fixed. Their genes are set and never
 * changed, and their ancestors only take values with which the fixed parameters are active. */
#ifndef CORE_ARMS_GENOME_H
#define CORE_ARMS_GENOME_H

#include "bandit/rng.h"
#include "core/arms/parameter_space.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct bandit_choices {
    double *values; /* n allowed values, coded; NULL: all values, or a range of them. Owned */
    size_t n;
    bool limited;    /* double, integer, without a list: values from min to max, genes from low to high */
    double min, max; /* values of the parameter, unless the range is empty */
    double low, high;
} bandit_choices;

typedef struct bandit_genome {
    const bandit_space *space; /* borrowed */
    double *fixed;             /* n: coded values; NaN if not fixed */
    bandit_choices *choices;   /* n entries */
    uint64_t seed, stream;
    uint16_t *permutations; /* of the latest bandit_genome_sequence */
    size_t capacity_permutations;
    double *equations; /* scratch, for the equations among the rules; NULL: there are none */
} bandit_genome;

/* Initializes a genome. `fixed` (coded, NaN for parameters that are not fixed) may be NULL; *genome is {0}.
 * Clear it even after an error. Errors: BANDIT_NO_MEMORY; BANDIT_INVALID_OPTION, field "fixed", if no point
 * of the space has these values. */
bandit_status bandit_genome_init(bandit_genome *genome, const bandit_space *space, const double *fixed,
                                 uint64_t seed, bandit_error *err);
void bandit_genome_clear(bandit_genome *genome);
size_t bandit_genome_memory(const bandit_genome *genome);

/* The gene of parameter i at position t in [0, 1) of its values. */
double bandit_genome_gene(const bandit_genome *genome, size_t i, double t);

/* The number of values that parameter i, which must not be a double, may take under the fixed parameters, and
 * the gene of the k-th of them. */
uint64_t bandit_genome_values(const bandit_genome *genome, size_t i);
double bandit_genome_value_gene(const bandit_genome *genome, size_t i, uint64_t k);

/* The value of parameter i for a gene. */
double bandit_genome_value(const bandit_genome *genome, size_t i, double gene);

/* The point that the genes describe; NaN for inactive parameters. The equations among the space's rules are
 * solved for some of the numbers, whose genes are ignored. If such a number then is outside its range, the
 * result is not a point of the space. */
void bandit_genome_coded(const bandit_genome *genome, const double *genes, double *coded);

/* The same for a point that will be evaluated: doubles are rounded, so that converting the point to genes and
 * back does not change it. */
void bandit_genome_point(const bandit_genome *genome, const double *genes, double *coded);

/* Sets the genes of a point. A parameter that is fixed or inactive, or has a value that is not allowed, keeps
 * its gene. */
void bandit_genome_take(const bandit_genome *genome, const double *coded, double *genes);

/* Prepares a randomized Halton sequence: for parameter i, the digits of the index in the base of the i-th
 * prime, with each digit permuted at random (Owen 2017). `stream` distinguishes sequences. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_genome_sequence(bandit_genome *genome, uint64_t stream, bandit_error *err);
/* A point of Sobol's sequence with scrambled digits: each digit is flipped at random, depending on the digits
 * before it (Owen 1995). Of the first 2^k points, each parameter has one in each of 2^k equal parts. Meant
 * for a few points; `stream` distinguishes sequences. index < 2^32. Beyond 64 parameters, the dimensions of
 * the sequence repeat. */
void bandit_genome_net(const bandit_genome *genome, uint64_t stream, uint32_t index, double *genes);

/* The genes of point `index` of the sequence prepared last. */
void bandit_genome_sweep(const bandit_genome *genome, uint64_t index, double *genes);

/* Draws every gene uniformly, with the random numbers from index * n on. */
void bandit_genome_random(const bandit_genome *genome, uint64_t batch, bandit_purpose purpose, uint64_t index,
                          double *genes);

/* Changes one gene of an active parameter that is not fixed. A number takes a normal step of a fifth of its
 * range, reflected at the ends, and an integer moves by at least one; any other parameter takes any other
 * value. `coded` is the point. Uses the random numbers first … first + 15. Returns false if no parameter can
 * change. */
bool bandit_genome_mutate(const bandit_genome *genome, uint64_t batch, bandit_purpose purpose, uint64_t first,
                          const double *coded, double *genes);

#endif
