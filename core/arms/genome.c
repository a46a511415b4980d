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

/* Restricts a double or integer parameter without a list of choices to the range of a condition. */
static void restrict_range(bandit_choices *c, const bandit_parameter *number, double min, double max)
{
    if (!c->limited) {
        c->min = number->min;
        c->max = number->max;
    }
    c->limited = true;
    if (number->type == BANDIT_PARAMETER_INTEGER) {
        double step = number->step > 0.0 ? number->step : 1.0;
        double first = fmax(0.0, lattice_place(number->min, step, min));
        double last =
            fmin(lattice_place(number->min, step, number->max), lattice_place(number->min, step, max));
        first += lattice_value(number->min, step, first) < min ? 1.0 : 0.0;
        last -= lattice_value(number->min, step, last) > max ? 1.0 : 0.0;
        min = lattice_value(number->min, step, first);
        max = lattice_value(number->min, step, last);
    }
    c->min = fmax(c->min, min);
    c->max = fmin(c->max, max);
}

/* Lists the values of a parameter that is no double. Returns false when out of memory. */
static bool list_values(const bandit_genome *g, size_t i, bandit_choices *c)
{
    c->n = (size_t)bandit_space_values(&g->space->parameters[i]);
    c->values = bandit_alloc(c->n, sizeof *c->values);
    for (size_t k = 0; c->values && k < c->n; k++)
        c->values[k] = bandit_space_value(g->space, i, k);
    return c->values != NULL;
}

/* Restricts the choices of the parent to those with which parameter i is active. Returns false when out of
 * memory. */
static bool restrict_parent(bandit_genome *g, size_t i)
{
    const bandit_parameter *p = &g->space->parameters[i], *parent = &g->space->parameters[p->parent];
    bandit_choices *c = &g->choices[p->parent];
    if (p->parent_range && is_number(parent) && !c->values) {
        restrict_range(c, parent, p->parent_min, p->parent_max);
        return true;
    }
    if (p->parent_range && !c->values && !list_values(g, p->parent, c))
        return false;
    if (!c->values) {
        c->values = bandit_alloc(p->n_parent_values, sizeof *c->values);
        if (!c->values)
            return false;
        memcpy(c->values, p->parent_values, p->n_parent_values * sizeof *c->values);
        c->n = p->n_parent_values;
    }
    size_t kept = 0;
    for (size_t k = 0; k < c->n; k++) {
        bool within = !c->limited || (c->values[k] >= c->min && c->values[k] <= c->max);
        if (within && bandit_condition_holds(p, c->values[k]))
            c->values[kept++] = c->values[k];
    }
    c->n = kept;
    c->limited = false;
    return true;
}

/* Whether a parameter may have this value together with the fixed values. */
static bool is_allowed(const bandit_choices *c, double value)
{
    if (c->limited)
        return value >= c->min && value <= c->max;
    return !c->values || bandit_is_one_of(value, c->values, c->n);
}

/* Completes the choices of parameter i. Returns whether there are any, with its fixed value among them. */
static bool finish_choices(const bandit_genome *g, size_t i)
{
    bandit_choices *c = &g->choices[i];
    c->low = 0.0;
    c->high = 1.0;
    if ((c->values && c->n == 0) || (c->limited && !(c->min <= c->max)) ||
        (!isnan(g->fixed[i]) && !is_allowed(c, g->fixed[i])))
        return false;
    if (c->limited) {
        c->low = bandit_space_encode_number(g->space, i, c->min);
        c->high = bandit_space_encode_number(g->space, i, c->max);
    }
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
        if (!finish_choices(g, i))
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
    size_t equations = bandit_space_equations_size(space);
    if (equations > 0) {
        g->equations = bandit_alloc(equations, sizeof *g->equations);
        if (!g->equations)
            return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
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
    free(g->equations);
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
    const bandit_choices *c = &g->choices[i];
    if (c->limited)
        return bandit_space_rank(g->space, i, c->max) - bandit_space_rank(g->space, i, c->min) + 1;
    return c->values ? c->n : bandit_space_values(&g->space->parameters[i]);
}

double bandit_genome_value_gene(const bandit_genome *g, size_t i, uint64_t k)
{
    const bandit_choices *c = &g->choices[i];
    uint64_t first = c->limited ? bandit_space_rank(g->space, i, c->min) : 0;
    return gene_of_value(g, i, c->values ? c->values[k] : bandit_space_value(g->space, i, first + k));
}

double bandit_genome_gene(const bandit_genome *g, size_t i, double t)
{
    const bandit_parameter *p = &g->space->parameters[i];
    if (!isnan(g->fixed[i]))
        return gene_of_value(g, i, g->fixed[i]);
    const bandit_choices *c = &g->choices[i];
    if (c->limited && (p->log || p->type == BANDIT_PARAMETER_DOUBLE))
        t = c->low + t * (c->high - c->low);
    if (p->type == BANDIT_PARAMETER_DOUBLE)
        return t;
    /* For a logarithmic integer, t is uniform in the logarithm and the value is rounded. Otherwise each value
     * gets the same share of [0, 1). */
    if (p->type == BANDIT_PARAMETER_INTEGER && !c->values && p->log)
        return bandit_space_encode_number(g->space, i, bandit_space_decode_number(g->space, i, t));
    uint64_t n = bandit_genome_values(g, i), k = (uint64_t)(t * (double)n);
    return bandit_genome_value_gene(g, i, k < n ? k : n - 1);
}

/* A value is rounded before conditions on it are evaluated. */
static void set_point(const bandit_genome *g, const double *genes, bool rounded, double *coded)
{
    const bandit_space *s = g->space;
    for (size_t at = 0; at < s->n; at++) {
        size_t i = s->order[at];
        const bandit_choices *c = &g->choices[i];
        bool active = bandit_space_is_active(s, coded, i), is_fixed = !isnan(g->fixed[i]);
        coded[i] = !active ? (double)NAN : is_fixed ? g->fixed[i] : bandit_genome_value(g, i, genes[i]);
        if (active && !is_fixed && rounded && s->parameters[i].type == BANDIT_PARAMETER_DOUBLE)
            coded[i] = bandit_space_round_number(s, i, coded[i]);
        if (active && !is_fixed && c->limited)
            coded[i] = fmin(c->max, fmax(c->min, coded[i]));
    }
    if (g->equations)
        bandit_space_solve(s, g->fixed, coded, g->equations);
}

void bandit_genome_coded(const bandit_genome *g, const double *genes, double *coded)
{
    set_point(g, genes, false, coded);
}

void bandit_genome_point(const bandit_genome *g, const double *genes, double *coded)
{
    set_point(g, genes, true, coded);
}

void bandit_genome_take(const bandit_genome *g, const double *coded, double *genes)
{
    for (size_t i = 0; i < g->space->n; i++) {
        if (isnan(g->fixed[i]) && !isnan(coded[i]) && is_allowed(&g->choices[i], coded[i]))
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
    const bandit_choices *c = &g->choices[i];
    moved = fmin(c->high, fmax(c->low, moved > 1.0 ? 2.0 - moved : moved));
    if (g->space->parameters[i].type == BANDIT_PARAMETER_DOUBLE)
        return moved;
    double before = bandit_genome_value(g, i, gene), after = bandit_space_decode_number(g->space, i, moved);
    const bandit_parameter *p = &g->space->parameters[i];
    if (after == before) {
        double min = c->limited ? c->min : p->min, max = c->limited ? c->max : p->max;
        bool up = normal > 0.0 ? before < max : before <= min;
        uint64_t k = bandit_space_rank(g->space, i, before);
        after = bandit_space_value(g->space, i, up ? k + 1 : k - 1);
    }
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
