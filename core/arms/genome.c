#include "core/arms/genome.h"

#include "core/base/allocate.h"
#include "core/base/sobol.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is fixed ------------------------------------------------------------------------------------- */

static bool is_number(const bandit_parameter *p)
{
    return p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER;
}

/* Restricts the choices of the parent to those with which parameter i is active. Returns false when out of
 * memory. */
static bool restrict_parent(bandit_genome *g, size_t i)
{
    const bandit_parameter *p = &g->space->parameters[i];
    bandit_choices *c = &g->choices[p->parent];
    if (!c->values) {
        c->values = bandit_alloc(p->n_parent_values, sizeof *c->values);
        if (!c->values)
            return false;
        memcpy(c->values, p->parent_values, p->n_parent_values * sizeof *c->values);
        c->n = p->n_parent_values;
        return true;
    }
    size_t kept = 0;
    for (size_t k = 0; k < c->n; k++) {
        if (bandit_condition_holds(p, c->values[k]))
            c->values[kept++] = c->values[k];
    }
    c->n = kept;
    return true;
}

static bandit_status take_fixed(bandit_genome *g, bandit_error *err)
{
    const bandit_space *s = g->space;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t a = i; !isnan(g->fixed[i]) && s->parameters[a].parent != BANDIT_NO_PARENT;
             a = s->parameters[a].parent) {
            if (!restrict_parent(g, a))
                return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        const bandit_choices *c = &g->choices[i];
        if (c->values &&
            (c->n == 0 || (!isnan(g->fixed[i]) && !bandit_is_one_of(g->fixed[i], c->values, c->n))))
            return bandit_fail(
                err, BANDIT_INVALID_OPTION, "fixed",
                "no point of the space has these values: parameter %zu conflicts with a condition", i);
    }
    return BANDIT_OK;
}

bandit_status bandit_genome_init(bandit_genome *g, const bandit_space *space, const double *fixed,
                                 uint64_t seed, bandit_error *err)
{
    *g = (bandit_genome){.space = space, .seed = seed};
    g->fixed = bandit_alloc(space->n, sizeof *g->fixed);
    g->choices = bandit_alloc_zeroed(space->n, sizeof *g->choices);
    if (!g->fixed || !g->choices)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < space->n; i++) {
        g->fixed[i] = fixed ? fixed[i] : (double)NAN;
        if (!isnan(g->fixed[i]) && !bandit_space_is_value(space, i, g->fixed[i]))
            return bandit_fail(err, BANDIT_INVALID_OPTION, "fixed", "parameter %zu does not have this value",
                               i);
    }
    return take_fixed(g, err);
}

void bandit_genome_clear(bandit_genome *g)
{
    for (size_t i = 0; g->choices && i < g->space->n; i++)
        free(g->choices[i].values);
    free(g->choices);
    free(g->fixed);
    free(g->permutations);
    *g = (bandit_genome){0};
}

size_t bandit_genome_memory(const bandit_genome *g)
{
    return g->capacity_permutations * sizeof *g->permutations +
           (g->space ? g->space->n * (sizeof *g->fixed + sizeof *g->choices) : 0);
}

/* ---- genes --------------------------------------------------------------------------------------------- */

static double gene_of_value(const bandit_genome *g, size_t i, double value)
{
    return is_number(&g->space->parameters[i]) ? bandit_space_encode_number(g->space, i, value)
                                               : (double)bandit_space_rank(g->space, i, value);
}

double bandit_genome_value(const bandit_genome *g, size_t i, double gene)
{
    return is_number(&g->space->parameters[i]) ? bandit_space_decode_number(g->space, i, gene)
                                               : bandit_space_value(g->space, i, (uint64_t)gene);
}

uint64_t bandit_genome_values(const bandit_genome *g, size_t i)
{
    return g->choices[i].values ? g->choices[i].n : bandit_space_values(&g->space->parameters[i]);
}

double bandit_genome_value_gene(const bandit_genome *g, size_t i, uint64_t k)
{
    return gene_of_value(g, i,
                         g->choices[i].values ? g->choices[i].values[k] : bandit_space_value(g->space, i, k));
}

double bandit_genome_gene(const bandit_genome *g, size_t i, double t)
{
    const bandit_parameter *p = &g->space->parameters[i];
    if (!isnan(g->fixed[i]))
        return gene_of_value(g, i, g->fixed[i]);
    if (p->type == BANDIT_PARAMETER_DOUBLE)
        return t;
    /* For a logarithmic integer, t is uniform in the logarithm and the value is rounded. Otherwise each value
     * gets the same share of [0, 1). */
    if (p->type == BANDIT_PARAMETER_INTEGER && !g->choices[i].values && p->log)
        return bandit_space_encode_number(g->space, i, bandit_space_decode_number(g->space, i, t));
    uint64_t n = bandit_genome_values(g, i), k = (uint64_t)(t * (double)n);
    return bandit_genome_value_gene(g, i, k < n ? k : n - 1);
}

void bandit_genome_coded(const bandit_genome *g, const double *genes, double *coded)
{
    const bandit_space *s = g->space;
    for (size_t at = 0; at < s->n; at++) {
        size_t i = s->order[at];
        coded[i] = bandit_space_is_active(s, coded, i) ? bandit_genome_value(g, i, genes[i]) : (double)NAN;
        if (!isnan(coded[i]) && !isnan(g->fixed[i]))
            coded[i] = g->fixed[i]; /* converting to a gene and back may have rounded it */
    }
}

void bandit_genome_point(const bandit_genome *g, const double *genes, double *coded)
{
    bandit_genome_coded(g, genes, coded);
    for (size_t i = 0; i < g->space->n; i++) {
        if (g->space->parameters[i].type == BANDIT_PARAMETER_DOUBLE && !isnan(coded[i]) && isnan(g->fixed[i]))
            coded[i] = bandit_space_round_number(g->space, i, coded[i]);
    }
}

void bandit_genome_take(const bandit_genome *g, const double *coded, double *genes)
{
    for (size_t i = 0; i < g->space->n; i++) {
        bool allowed =
            isnan(g->fixed[i]) && !isnan(coded[i]) &&
            (!g->choices[i].values || bandit_is_one_of(coded[i], g->choices[i].values, g->choices[i].n));
        if (allowed)
            genes[i] = gene_of_value(g, i, coded[i]);
    }
}

/* ---- sequences ----------------------------------------------------------------------------------------- */

enum { PRIMES = 168 }; /* below 1000; the primes repeat for further parameters, with other permutations */

static bool is_prime(uint32_t x)
{
    for (uint32_t k = 2; k * k <= x; k++) {
        if (x % k == 0)
            return false;
    }
    return true;
}

static uint32_t next_prime(uint32_t prime)
{
    do {
        prime++;
    } while (!is_prime(prime));
    return prime;
}

/* The number of digits that are permuted, enough to distinguish 2^24 points. Lower digits are random. */
static unsigned levels_of(uint32_t base)
{
    unsigned levels = 0;
    for (uint32_t reached = 1; reached < (uint32_t)1 << 24; reached *= base)
        levels++;
    return levels;
}

static void draw_permutation(const bandit_genome *g, uint64_t first, uint32_t base, uint16_t *out)
{
    for (uint32_t k = 0; k < base; k++) {
        uint32_t j =
            (uint32_t)bandit_random_below(g->seed, g->stream, BANDIT_PURPOSE_SWEEP, first + k, k + 1);
        out[k] = out[j];
        out[j] = (uint16_t)k;
    }
}

bandit_status bandit_genome_sequence(bandit_genome *g, uint64_t stream, bandit_error *err)
{
    size_t n = g->space->n, entries = 0;
    if (g->permutations && g->stream == stream)
        return BANDIT_OK;
    uint32_t base = 2;
    for (size_t i = 0; i < n; i++, base = i % PRIMES ? next_prime(base) : 2)
        entries += (size_t)base * levels_of(base);
    if (!bandit_reserve((void **)&g->permutations, &g->capacity_permutations, entries, sizeof(uint16_t)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    g->stream = stream;
    uint16_t *out = g->permutations;
    base = 2;
    for (size_t i = 0; i < n; i++, base = i % PRIMES ? next_prime(base) : 2) {
        for (unsigned level = 0; level < levels_of(base); level++, out += base)
            draw_permutation(g, (uint64_t)i << 32 | level << 16, base, out);
    }
    return BANDIT_OK;
}

void bandit_genome_net(const bandit_genome *g, uint64_t stream, uint32_t index, double *genes)
{
    enum { DIGITS = 24 }; /* lower digits are random */
    for (size_t i = 0; i < g->space->n; i++) {
        uint32_t x = bandit_sobol(index, i % BANDIT_SOBOL_DIMENSIONS), before = 1, scrambled = 0;
        uint64_t of_parameter = (uint64_t)3 << 62 | (uint64_t)i << 33;
        for (unsigned k = 0; k < DIGITS; k++) {
            uint32_t digit = x >> (31 - k) & 1U;
            uint64_t flip = bandit_random_bits(g->seed, stream, BANDIT_PURPOSE_SWEEP, of_parameter | before);
            scrambled = scrambled << 1 | (digit ^ (uint32_t)(flip & 1U));
            before = before << 1 | digit;
        }
        double below = bandit_random_uniform(g->seed, stream, BANDIT_PURPOSE_SWEEP,
                                             of_parameter | (uint64_t)1 << 32 | index);
        genes[i] = bandit_genome_gene(g, i, fmin(ldexp((double)scrambled + below, -DIGITS), 1.0 - 0x1p-53));
    }
}

void bandit_genome_sweep(const bandit_genome *g, uint64_t index, double *genes)
{
    const uint16_t *permutation = g->permutations;
    uint32_t base = 2;
    for (size_t i = 0; i < g->space->n; i++, base = i % PRIMES ? next_prime(base) : 2) {
        double share = 1.0, sum = 0.0;
        uint64_t rest = index;
        for (unsigned level = 0; level < levels_of(base); level++, permutation += base, rest /= base) {
            share /= base;
            sum += share * permutation[rest % base];
        }
        uint64_t below = (uint64_t)1 << 63 | (uint64_t)i << 32 | (index & 0xffffffffu);
        sum += share * bandit_random_uniform(g->seed, g->stream, BANDIT_PURPOSE_SWEEP, below);
        genes[i] = bandit_genome_gene(g, i, fmin(sum, 1.0 - 0x1p-53));
    }
}

void bandit_genome_random(const bandit_genome *g, uint64_t batch, bandit_purpose purpose, uint64_t index,
                          double *genes)
{
    size_t n = g->space->n;
    for (size_t i = 0; i < n; i++)
        genes[i] = bandit_genome_gene(g, i, bandit_random_uniform(g->seed, batch, purpose, index * n + i));
}

/* ---- mutation ------------------------------------------------------------------------------------------ */

static bool may_change(const bandit_genome *g, const double *coded, size_t i)
{
    return isnan(g->fixed[i]) && !isnan(coded[i]) &&
           (g->space->parameters[i].type == BANDIT_PARAMETER_DOUBLE || bandit_genome_values(g, i) > 1);
}

static double stepped(const bandit_genome *g, size_t i, double gene, double normal)
{
    double moved = fabs(fmod(gene + 0.2 * normal, 2.0));
    moved = moved > 1.0 ? 2.0 - moved : moved;
    if (g->space->parameters[i].type == BANDIT_PARAMETER_DOUBLE)
        return moved;
    double before = bandit_genome_value(g, i, gene), after = bandit_space_decode_number(g->space, i, moved);
    const bandit_parameter *p = &g->space->parameters[i];
    if (after == before)
        after = normal > 0.0 ? (before < p->max ? before + 1.0 : before - 1.0)
                             : (before > p->min ? before - 1.0 : before + 1.0);
    return bandit_space_encode_number(g->space, i, after);
}

bool bandit_genome_mutate(const bandit_genome *g, uint64_t batch, bandit_purpose purpose, uint64_t first,
                          const double *coded, double *genes)
{
    size_t n = 0;
    for (size_t i = 0; i < g->space->n; i++)
        n += may_change(g, coded, i);
    if (n == 0)
        return false;
    uint64_t which = bandit_random_below(g->seed, batch, purpose, first, n);
    size_t i = 0;
    while (!may_change(g, coded, i) || which-- > 0)
        i++;
    if (is_number(&g->space->parameters[i]) && !g->choices[i].values) {
        genes[i] = stepped(g, i, genes[i], bandit_random_normal(g->seed, batch, purpose, first + 1));
        return true;
    }
    uint64_t values = bandit_genome_values(g, i);
    uint64_t k = bandit_random_below(g->seed, batch, purpose, first + 1, values - 1);
    if (bandit_genome_value(g, i, bandit_genome_value_gene(g, i, k)) == coded[i])
        k = values - 1;
    genes[i] = bandit_genome_value_gene(g, i, k);
    return true;
}
