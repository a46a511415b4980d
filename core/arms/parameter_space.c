#include "core/arms/parameter_space.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- layout -------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double *bandit_sorted_values(const double *values, size_t n)
{
    double *copy = bandit_alloc(n, sizeof *copy);
    if (!copy)
        return NULL;
    if (n > 0)
        memcpy(copy, values, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, compare_doubles);
    return copy;
}

static bool same_condition(const bandit_parameter *a, const bandit_parameter *b)
{
    if (a->parent != b->parent || a->parent_range != b->parent_range)
        return false;
    if (a->parent_range)
        return a->parent_min == b->parent_min && a->parent_max == b->parent_max;
    return a->n_parent_values == b->n_parent_values &&
           memcmp(a->parent_values, b->parent_values, a->n_parent_values * sizeof(double)) == 0;
}

/* Copies the arrays that the parameters borrow, and sorts parent_values. */
static bool copy_parameters(bandit_space *s, const bandit_parameter *parameters)
{
    for (size_t i = 0; i < s->n; i++) {
        bandit_parameter *p = &s->parameters[i];
        *p = parameters[i];
        p->numbers = p->parent_values = p->features = NULL;
        if (p->type == BANDIT_PARAMETER_DISCRETE) {
            s->places[i].sorted = bandit_sorted_values(parameters[i].numbers, p->n_values);
            if (!s->places[i].sorted)
                return false;
            p->numbers = s->places[i].sorted;
        }
        if (p->parent != BANDIT_NO_PARENT && !p->parent_range) {
            s->places[i].condition = bandit_sorted_values(parameters[i].parent_values, p->n_parent_values);
            if (!s->places[i].condition)
                return false;
            p->parent_values = s->places[i].condition;
        }
    }
    return true;
}

/* Computes the features of words. The parameters of the space then point to the scaled properties. */
static bandit_status place_words(bandit_space *s, const bandit_parameter *parameters, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; i < s->n && status == BANDIT_OK; i++) {
        bandit_words *words = &s->places[i].words;
        if (parameters[i].type != BANDIT_PARAMETER_CATEGORICAL)
            continue;
        status = bandit_words_init(words, &parameters[i], err);
        s->parameters[i].features = words->rows;
        s->parameters[i].scaling = BANDIT_SCALING_NONE;
    }
    return status;
}

static void order_parameters(bandit_space *s)
{
    size_t n = 0;
    /* by depth; always active parameters have depth 0 */
    for (size_t depth = 0; n < s->n; depth++) {
        for (size_t i = 0; i < s->n; i++) {
            size_t own = 0;
            for (size_t a = s->parameters[i].parent; a != BANDIT_NO_PARENT; a = s->parameters[a].parent)
                own++;
            if (own == depth)
                s->order[n++] = i;
        }
    }
}

static void place_parameter(bandit_space *s, size_t i)
{
    const bandit_parameter *p = &s->parameters[i];
    bandit_place *place = &s->places[i];
    place->first = s->dimension;
    place->n = p->type == BANDIT_PARAMETER_CATEGORICAL ? place->words.width : 1;
    s->dimension += place->n;
    if (p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER) {
        place->low = p->log ? log(p->min) : p->min;
        place->width = (p->log ? log(p->max) : p->max) - place->low;
    }
}

/* Parameters with the same condition share one activity feature. */
static void place_activity(bandit_space *s, size_t i)
{
    s->places[i].activity = SIZE_MAX;
    if (s->parameters[i].parent == BANDIT_NO_PARENT)
        return;
    for (size_t k = 0; k < i; k++) {
        if (same_condition(&s->parameters[k], &s->parameters[i])) {
            s->places[i].activity = s->places[k].activity;
            return;
        }
    }
    s->places[i].activity = s->dimension++;
}

/* ---- size ---------------------------------------------------------------------------------------------- */

static size_t capped_product(size_t a, size_t b)
{
    return a > 0 && b > SIZE_MAX / a ? SIZE_MAX : a * b;
}

static size_t capped_sum(size_t a, size_t b)
{
    return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

/* Whether `value`, the k-th in the condition of child c, was already counted for an earlier child of
 * parameter i, or earlier in this condition. */
static bool is_counted(const bandit_space *s, size_t i, size_t c, size_t k)
{
    const double *values = s->parameters[c].parent_values;
    assert(values);                                     /* because c has a parent */
    bool counted = k > 0 && values[k] == values[k - 1]; /* the values are ascending */
    for (size_t e = 0; e < c && !counted; e++)
        counted = s->parameters[e].parent == i && bandit_condition_holds(&s->parameters[e], values[k]);
    return counted;
}

/* The product of the subtrees that this value of parameter i makes active. */
static size_t points_below(const bandit_space *s, size_t i, double value)
{
    size_t below = 1;
    for (size_t child = 0; child < s->n; child++) {
        if (s->parameters[child].parent == i && bandit_condition_holds(&s->parameters[child], value))
            below = capped_product(below, s->places[child].subtree);
    }
    return below;
}

/* As subtree_size, for conditions on a range: adds up the values one by one. */
static size_t count_each_value(const bandit_space *s, size_t i)
{
    const uint64_t most = (uint64_t)1 << 20;
    uint64_t n = bandit_space_values(&s->parameters[i]);
    size_t total = 0;
    if (n > most)
        return SIZE_MAX;
    for (uint64_t k = 0; k < n; k++)
        total = capped_sum(total, points_below(s, i, bandit_space_value(s, i, k)));
    return total;
}

/* The number of points in the subtree of parameter i, given those of its children: the sum over the values of
 * i of the product of the subtrees that each value makes active. Values without a condition are counted
 * together. */
static size_t subtree_size(const bandit_space *s, size_t i)
{
    if (s->parameters[i].type == BANDIT_PARAMETER_DOUBLE)
        return SIZE_MAX;
    for (size_t c = 0; c < s->n; c++) {
        if (s->parameters[c].parent == i && s->parameters[c].parent_range)
            return count_each_value(s, i);
    }
    uint64_t rest = bandit_space_values(&s->parameters[i]);
    size_t total = 0;
    for (size_t c = 0; c < s->n; c++) {
        for (size_t k = 0; s->parameters[c].parent == i && k < s->parameters[c].n_parent_values; k++) {
            if (is_counted(s, i, c, k))
                continue;
            total = capped_sum(total, points_below(s, i, s->parameters[c].parent_values[k]));
            rest--;
        }
    }
    return capped_sum(total, rest < SIZE_MAX ? (size_t)rest : SIZE_MAX);
}

static void count_points(bandit_space *s)
{
    s->size = 1;
    for (size_t at = s->n; at-- > 0;) {
        size_t i = s->order[at];
        s->places[i].subtree = subtree_size(s, i);
        if (s->parameters[i].parent == BANDIT_NO_PARENT)
            s->size = capped_product(s->size, s->places[i].subtree);
    }
}

/* ---- life ---------------------------------------------------------------------------------------------- */

bandit_status bandit_space_new(bandit_space **out, const bandit_parameter *parameters, size_t n,
                               bandit_error *err)
{
    *out = NULL;
    bandit_status status = bandit_space_check(parameters, n, err);
    if (status != BANDIT_OK)
        return status;
    bandit_space *s = calloc(1, sizeof *s);
    if (s) {
        s->n = n;
        s->parameters = bandit_alloc_zeroed(n, sizeof *s->parameters);
        s->places = bandit_alloc_zeroed(n, sizeof *s->places);
        s->order = bandit_alloc(n, sizeof *s->order);
    }
    if (!s || !s->parameters || !s->places || !s->order || !copy_parameters(s, parameters))
        goto no_memory;
    if ((status = place_words(s, parameters, err)) != BANDIT_OK) {
        bandit_space_free(s);
        return status;
    }
    order_parameters(s);
    for (size_t i = 0; i < n; i++)
        place_parameter(s, i);
    for (size_t i = 0; i < n; i++) {
        place_activity(s, i);
        if (s->parameters[i].parent != BANDIT_NO_PARENT)
            s->places[s->parameters[i].parent].has_children = true;
    }
    s->owner = bandit_alloc(s->dimension, sizeof *s->owner);
    if (!s->owner)
        goto no_memory;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < s->places[i].n; j++)
            s->owner[s->places[i].first + j] = i;
        if (s->places[i].activity != SIZE_MAX)
            s->owner[s->places[i].activity] = s->parameters[i].parent;
    }
    count_points(s);
    *out = s;
    return BANDIT_OK;
no_memory:
    bandit_space_free(s);
    return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

void bandit_space_free(bandit_space *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->places && i < s->n; i++) {
        free(s->places[i].sorted);
        free(s->places[i].condition);
        bandit_words_clear(&s->places[i].words);
    }
    free(s->parameters);
    free(s->places);
    free(s->order);
    free(s->owner);
    if (s->rules)
        s->rules->release(s->rules);
    free(s->coded);
    free(s->table);
    free(s);
}

size_t bandit_space_memory(const bandit_space *s)
{
    size_t words = 0;
    for (size_t i = 0; i < s->n; i++)
        words += bandit_words_memory(&s->places[i].words, &s->parameters[i]);
    return words + sizeof *s + s->n * (sizeof *s->parameters + sizeof *s->places + sizeof *s->order) +
           s->dimension * sizeof *s->owner + s->capacity_coded * sizeof *s->coded +
           s->n_table * sizeof *s->table;
}

bool bandit_space_is_numeric(const bandit_space *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const bandit_parameter *p = &s->parameters[i];
        bool number = p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER;
        if (!number || p->parent != BANDIT_NO_PARENT)
            return false;
    }
    return true;
}
