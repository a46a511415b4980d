/* Points of a space as something to search over: a gene for every parameter, active or not.
 *
 * The gene of a double or integer parameter is its feature, in [0, 1]; of any other the number of its value
 * (bandit_space_value). What is not active keeps its gene, so that a change that makes it active finds a
 * value there. A genome knows what is held fixed: such genes are put in and never changed, and the ancestors
 * of a fixed parameter take only values with which it is active. */
#ifndef CORE_ARMS_GENOME_H
#define CORE_ARMS_GENOME_H

#include "bandit/rng.h"
#include "core/arms/parameter_space.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct bandit_choices {
    double *values; /* n, coded; NULL: not restricted. Owned */
    size_t n;
} bandit_choices;

typedef struct bandit_genome {
    const bandit_space *space; /* borrowed */
    double *fixed;             /* n: coded, NaN where open */
    bandit_choices *choices;   /* n */
    uint64_t seed, stream;
    uint16_t *permutations; /* of the sequence set up last */
    size_t capacity_permutations;
} bandit_genome;

/* `fixed` (coded, NaN where open) may be NULL. *genome is {0}. Errors: BANDIT_NO_MEMORY;
 * BANDIT_INVALID_OPTION, field "fixed", when no point of the space has these values. Clear in any case. */
bandit_status bandit_genome_init(bandit_genome *genome, const bandit_space *space, const double *fixed,
                                 uint64_t seed, bandit_error *err);
void bandit_genome_clear(bandit_genome *genome);
size_t bandit_genome_memory(const bandit_genome *genome);

/* The gene of parameter i at share t in [0, 1) of its values. */
double bandit_genome_gene(const bandit_genome *genome, size_t i, double t);

/* Number of values that parameter i, not double, may take here, and the gene of the k-th. */
uint64_t bandit_genome_values(const bandit_genome *genome, size_t i);
double bandit_genome_value_gene(const bandit_genome *genome, size_t i, uint64_t k);

/* The value that gene stands for. */
double bandit_genome_value(const bandit_genome *genome, size_t i, double gene);

/* The point: NaN for what is not active. */
void bandit_genome_coded(const bandit_genome *genome, const double *genes, double *coded);

/* The same for a point that is to be evaluated: doubles rounded, so that a point taken apart into genes comes
 * back as it was. */
void bandit_genome_point(const bandit_genome *genome, const double *genes, double *coded);

/* Genes of a point; what is not active in it, and what may not be what it is, keeps the gene it has. */
void bandit_genome_take(const bandit_genome *genome, const double *coded, double *genes);

/* Sets up a randomized Halton sequence: digits of the index in base the i-th prime, each permuted at random,
 * for parameter i (Owen 2017). `stream` tells sequences apart. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_genome_sequence(bandit_genome *genome, uint64_t stream, bandit_error *err);
/* A point of Sobol's sequence, its digits scrambled at random, those of each coordinate below the digits before
 * them (Owen 1995): of the first 2^k points each parameter has one in each of 2^k equal parts. For a few points;
 * `stream` tells sequences apart. index < 2^32; of more than 64 parameters the sequence begins again. */
void bandit_genome_net(const bandit_genome *genome, uint64_t stream, uint32_t index, double *genes);

/* Point `index` of the sequence set up last. */
void bandit_genome_sweep(const bandit_genome *genome, uint64_t index, double *genes);

/* Every gene uniform, by random numbers index * n …. */
void bandit_genome_random(const bandit_genome *genome, uint64_t batch, bandit_purpose purpose, uint64_t index,
                          double *genes);

/* Changes one gene of an active parameter that is not fixed to another value: numbers by a normal step of a
 * fifth of their range, reflected, integers by one at least; the others to any other. `coded` is the point.
 * Uses the random numbers first … first + 15. False when there is nothing to change. */
bool bandit_genome_mutate(const bandit_genome *genome, uint64_t batch, bandit_purpose purpose, uint64_t first,
                          const double *coded, double *genes);

#endif
