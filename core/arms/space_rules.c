/* Rules of a space: whether a point keeps them, the values that equations determine, and all points that keep
 * them. */
#include "core/arms/parameter_space.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bandit_space_allows(const bandit_space *s, const double *coded)
{
    if (!s->rules)
        return true;
    for (size_t i = 0; i < s->n; i++) {
        if (!isnan(coded[i]) && !bandit_parameter_has_value(&s->parameters[i], coded[i]))
            return false;
    }
    for (size_t k = 0; k < s->rules->n; k++) {
        if (s->rules->slack(s->rules, k, coded) > -0.999 * s->rules->tolerance)
            return false;
    }
    return true;
}

/* ---- equations ----------------------------------------------------------------------------------------- */

static bool is_equation(const bandit_rule *rule)
{
    return rule->coefficients && rule->equality;
}

static size_t count_equations(const bandit_space *s)
{
    size_t n = 0;
    for (size_t k = 0; s->rules && k < s->rules->n; k++)
        n += is_equation(&s->rules->list[k]);
    return n;
}

size_t bandit_space_equations_size(const bandit_space *s)
{
    return count_equations(s) * (s->n + 1);
}

static bool is_active_rule(const bandit_rule *rule, const double *coded)
{
    bool active = true;
    for (size_t j = 0; j < rule->n; j++)
        active &= !isnan(coded[rule->parameters[j]]);
    return active;
}

/* How well an equation can be solved for parameter i; 0: it cannot. Reals come first, then reals with few
 * digits, then whole numbers. */
static double weight_of(const bandit_space *s, const double *fixed, const double *coded, size_t i)
{
    const bandit_parameter *p = &s->parameters[i];
    bool number = p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER;
    if (!number || p->log || s->places[i].has_children || !isnan(fixed[i]) || isnan(coded[i]) ||
        (s->rules->counted[i] && coded[i] == 0.0))
        return 0.0;
    double width = p->max - p->min;
    return p->type == BANDIT_PARAMETER_INTEGER ? width : p->rounded ? 1e3 * width : 1e6 * width;
}

static double residual_of(const bandit_rule *rule, const double *coded)
{
    double sum = 0.0;
    for (size_t j = 0; j < rule->n; j++)
        sum += rule->coefficients[j] * coded[rule->parameters[j]];
    return rule->bound - sum;
}

/* Sets one number so that the equation holds: of those that then keep their range, the one with the largest
 * weight; if none does, the first. */
static void solve_one(const bandit_space *s, const bandit_rule *rule, const double *fixed, double *coded)
{
    double best = 0.0, fallback = (double)NAN;
    size_t first = SIZE_MAX, chosen = SIZE_MAX;
    for (size_t j = 0; j < rule->n; j++) {
        size_t i = rule->parameters[j];
        double weight = fabs(rule->coefficients[j]) * weight_of(s, fixed, coded, i), before = coded[i];
        if (!(weight > 0.0))
            continue;
        coded[i] = 0.0;
        double value = residual_of(rule, coded) / rule->coefficients[j] + 0.0;
        if (s->parameters[i].type == BANDIT_PARAMETER_INTEGER)
            value = bandit_space_decode_number(s, i, (value - s->places[i].low) / s->places[i].width);
        coded[i] = before;
        bool kept = bandit_parameter_has_value(&s->parameters[i], value);
        bool better = chosen == SIZE_MAX || weight > best;
        if (kept && better) {
            chosen = i;
            best = weight;
            fallback = value;
        } else if (chosen == SIZE_MAX && first == SIZE_MAX) {
            first = i;
            fallback = value;
        }
    }
    if (chosen == SIZE_MAX)
        chosen = first;
    if (chosen == SIZE_MAX)
        return;
    coded[chosen] = fallback;
    if (s->parameters[chosen].type != BANDIT_PARAMETER_DOUBLE)
        return;
    /* round off the rounding errors of the sum if that does not break the equation */
    double dust = residual_of(rule, coded), size = fabs(rule->bound);
    coded[chosen] = lattice_round_to(fallback, floor(log10(s->places[chosen].width)) - 12.0);
    for (size_t j = 0; j < rule->n; j++)
        size += fabs(rule->coefficients[j] * coded[rule->parameters[j]]);
    if (!(fabs(residual_of(rule, coded)) <= fmax(fabs(dust), 4e-16 * size)))
        coded[chosen] = fallback;
}

/* Gauss–Jordan elimination of q equations: rows of n coefficients and the right-hand side. */
static void eliminate(const bandit_space *s, const double *fixed, const double *coded, size_t q, double *rows,
                      size_t *pivots)
{
    size_t width = s->n + 1;
    for (size_t k = 0; k < q; k++) {
        double *row = rows + k * width, best = 0.0;
        pivots[k] = SIZE_MAX;
        for (size_t i = 0; i < s->n; i++) {
            double weight = fabs(row[i]) * weight_of(s, fixed, coded, i);
            if (weight > best * (1.0 + 1e-9) && fabs(row[i]) > 1e-12) {
                best = weight;
                pivots[k] = i;
            }
        }
        for (size_t other = 0; pivots[k] != SIZE_MAX && other < q; other++) {
            double factor = rows[other * width + pivots[k]] / row[pivots[k]];
            for (size_t i = 0; other != k && factor != 0.0 && i < width; i++)
                rows[other * width + i] = i == pivots[k] ? 0.0 : rows[other * width + i] - factor * row[i];
        }
    }
}

void bandit_space_solve(const bandit_space *s, const double *fixed, double *coded, double *work)
{
    enum { MOST = 64, PASSES = 2 };
    size_t q = 0, width = s->n + 1, pivots[MOST];
    const bandit_rule *active[MOST];
    for (size_t k = 0; k < s->rules->n && q < MOST; k++) {
        const bandit_rule *rule = &s->rules->list[k];
        if (is_equation(rule) && is_active_rule(rule, coded))
            active[q++] = rule;
    }
    if (q == 1)
        solve_one(s, active[0], fixed, coded);
    for (int pass = 0; q > 1 && pass < PASSES; pass++) {
        memset(work, 0, q * width * sizeof *work);
        for (size_t k = 0; k < q; k++) {
            for (size_t j = 0; j < active[k]->n; j++)
                work[k * width + active[k]->parameters[j]] = active[k]->coefficients[j];
            work[k * width + s->n] = residual_of(active[k], coded);
        }
        eliminate(s, fixed, coded, q, work, pivots);
        for (size_t k = 0; k < q; k++) {
            if (pivots[k] != SIZE_MAX)
                coded[pivots[k]] += work[k * width + s->n] / work[k * width + pivots[k]];
        }
    }
    for (size_t k = 0; q > 1 && k < q; k++) {
        size_t i = pivots[k];
        const bandit_parameter *p = i == SIZE_MAX ? NULL : &s->parameters[i];
        if (p && p->type == BANDIT_PARAMETER_INTEGER)
            coded[i] = bandit_space_decode_number(s, i, (coded[i] - s->places[i].low) / s->places[i].width);
        else if (p && fmax(p->min - coded[i], coded[i] - p->max) < 1e-13 * s->places[i].width)
            coded[i] = fmin(p->max, fmax(p->min, coded[i])) + 0.0;
    }
}

/* ---- all points ---------------------------------------------------------------------------------------- */

typedef struct walk {
    const bandit_space *space;
    double *coded;
    uint64_t *ranks; /* n */
    size_t *last;    /* one per rule: the place in the order at which all its parameters have values */
} walk;

static void place_rules(walk *w)
{
    const bandit_space *s = w->space;
    for (size_t k = 0; s->rules && k < s->rules->n; k++) {
        const bandit_rule *rule = &s->rules->list[k];
        w->last[k] = 0;
        for (size_t at = 0; at < s->n; at++) {
            for (size_t j = 0; j < rule->n; j++)
                w->last[k] = rule->parameters[j] == s->order[at] ? at : w->last[k];
        }
    }
}

/* Whether the rules that are complete at this place hold. */
static bool keeps(const walk *w, size_t at)
{
    const bandit_rules *rules = w->space->rules;
    bool all = true;
    for (size_t k = 0; rules && all && k < rules->n; k++)
        all = w->last[k] != at || rules->slack(rules, k, w->coded) <= -0.999 * rules->tolerance;
    return all;
}

/* Sets the parameter at this place to its value number ranks[at]; false if there are no more. */
static bool set_value(walk *w, size_t at)
{
    const bandit_space *s = w->space;
    size_t i = s->order[at];
    bool active = bandit_space_is_active(s, w->coded, i);
    if (w->ranks[at] >= (active ? bandit_space_values(&s->parameters[i]) : 1))
        return false;
    w->coded[i] = active ? bandit_space_value(s, i, w->ranks[at]) : (double)NAN;
    return true;
}

static bool take_steps(walk *w, bandit_visit_point *visit, void *context)
{
    const uint64_t most = (uint64_t)1 << 24;
    size_t at = 0;
    for (uint64_t step = 0; step < most; step++) {
        if (step % 4096 == 0)
            bandit_pause();
        if (!set_value(w, at)) {
            if (at == 0)
                return true;
            w->ranks[at--] = 0;
            w->ranks[at]++;
        } else if (!keeps(w, at)) {
            w->ranks[at]++;
        } else if (at + 1 < w->space->n) {
            at++;
        } else if (!visit(context, w->coded)) {
            return false;
        } else {
            w->ranks[at]++;
        }
    }
    return false;
}

bandit_status bandit_space_walk(const bandit_space *s, bandit_visit_point *visit, void *context,
                                bool *complete, bandit_error *err)
{
    walk w = {.space = s,
              .coded = bandit_alloc(s->n, sizeof(double)),
              .ranks = bandit_alloc_zeroed(s->n, sizeof(uint64_t)),
              .last = bandit_alloc_zeroed(s->rules ? s->rules->n : 0, sizeof(size_t))};
    bool ready = w.coded && w.ranks && w.last;
    *complete = false;
    for (size_t i = 0; ready && i < s->n; i++)
        w.coded[i] = (double)NAN;
    if (ready) {
        place_rules(&w);
        *complete = take_steps(&w, visit, context);
    }
    free(w.coded);
    free(w.ranks);
    free(w.last);
    return ready ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}
