/* What an expression names, and its linear form. */
#include "proto/expressions/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_leaf(const node *n)
{
    return n->op == NODE_NUMBER || n->op == NODE_WORD || n->op == NODE_NAME || n->op == NODE_SWITCH ||
           n->op == NODE_IS_SET;
}

static bool has_two(const node *n)
{
    return !is_leaf(n) && n->op != NODE_NEGATE && n->op != NODE_NOT &&
           !(n->op >= NODE_ABS && n->op <= NODE_LOG);
}

bool tree_has_real(const expression *e, uint32_t at, const expression_name *names)
{
    const node *n = &e->nodes[at];
    if (is_leaf(n))
        return n->op == NODE_NAME && names[n->a].kind == EXPRESSION_REAL;
    return tree_has_real(e, n->a, names) || (has_two(n) && tree_has_real(e, n->b, names));
}

static void mark_names(const expression *e, uint32_t at, bool *named)
{
    const node *n = &e->nodes[at];
    if (n->op == NODE_NAME || n->op == NODE_SWITCH || n->op == NODE_IS_SET)
        named[n->a] = true;
    if (is_leaf(n))
        return;
    mark_names(e, n->a, named);
    if (has_two(n))
        mark_names(e, n->b, named);
}

/* Adds `factor` times the subtree to a form. Returns false if the subtree is not linear. The form has an entry
 * per name, and its constant last. */
static bool add_linear(const expression *e, uint32_t at, double factor, const expression_name *names,
                       double *form)
{
    const node *n = &e->nodes[at];
    double constant[1] = {0.0};
    switch ((int)n->op) {
    case NODE_NUMBER:
        form[e->n_names] += factor * n->number;
        return true;
    case NODE_NAME:
        form[n->a] += factor;
        return !names[n->a].log &&
               (names[n->a].kind == EXPRESSION_REAL || names[n->a].kind == EXPRESSION_WHOLE);
    case NODE_ADD:
    case NODE_SUBTRACT:
        return add_linear(e, n->a, factor, names, form) &&
               add_linear(e, n->b, n->op == NODE_ADD ? factor : -factor, names, form);
    case NODE_NEGATE:
        return add_linear(e, n->a, -factor, names, form);
    case NODE_MULTIPLY:
        if (e->nodes[n->b].op == NODE_NUMBER)
            return add_linear(e, n->a, factor * e->nodes[n->b].number, names, form);
        constant[0] = e->nodes[n->a].number;
        return e->nodes[n->a].op == NODE_NUMBER && add_linear(e, n->b, factor * constant[0], names, form);
    case NODE_DIVIDE:
        constant[0] = e->nodes[n->b].number;
        return e->nodes[n->b].op == NODE_NUMBER && constant[0] != 0.0 &&
               add_linear(e, n->a, factor / constant[0], names, form);
    default:
        return false;
    }
}

/* Sets the linear form of a part, if it has one. `form` has n_names + 1 entries. */
static bool take_linear(const expression *e, expression_part *part, const expression_name *names,
                        double *form)
{
    const node *n = &e->nodes[part->root];
    bool some = false;
    if (n->op != NODE_AT_MOST && n->op != NODE_BELOW && n->op != NODE_EQUAL)
        return true;
    memset(form, 0, (e->n_names + 1) * sizeof *form);
    if (!add_linear(e, n->a, 1.0, names, form) || !add_linear(e, n->b, -1.0, names, form))
        return true;
    for (size_t i = 0; i < part->n; i++)
        some |= form[part->parameters[i]] != 0.0;
    if (!some || !isfinite(form[e->n_names]))
        return true;
    part->coefficients = malloc(part->n * sizeof *part->coefficients);
    if (!part->coefficients)
        return false;
    for (size_t i = 0; i < part->n; i++)
        part->coefficients[i] = form[part->parameters[i]];
    part->bound = 0.0 - form[e->n_names];
    part->equality = n->op == NODE_EQUAL;
    return true;
}

bool tree_describe(const expression *e, expression_part *part, const expression_name *names)
{
    bool *named = calloc(e->n_names + 1, sizeof *named);
    double *form = malloc((e->n_names + 1) * sizeof *form);
    part->parameters = malloc((e->n_names + 1) * sizeof *part->parameters);
    bool ok = named && form && part->parameters;
    if (ok) {
        mark_names(e, part->root, named);
        for (size_t i = 0; i < e->n_names; i++) {
            if (named[i])
                part->parameters[part->n++] = i;
        }
        ok = take_linear(e, part, names, form);
    }
    free(named);
    free(form);
    return ok;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

size_t expression_parts(const expression *e)
{
    return e->n_parts;
}

const size_t *expression_parameters(const expression *e, size_t k, size_t *n)
{
    *n = e->parts[k].n;
    return e->parts[k].parameters;
}

bool expression_counts(const expression *e, size_t parameter)
{
    return e->counted[parameter];
}

bool expression_is_linear(const expression *e, size_t k, expression_linear *out)
{
    const expression_part *part = &e->parts[k];
    *out = (expression_linear){part->coefficients, part->bound, part->equality};
    return part->coefficients != NULL;
}

void expression_free(expression *e)
{
    if (!e)
        return;
    for (size_t k = 0; k < e->n_parts; k++) {
        free(e->parts[k].parameters);
        free(e->parts[k].coefficients);
    }
    free(e->parts);
    free(e->nodes);
    free(e->counted);
    free(e);
}
