/* Whether a point keeps a rule, and by how much it breaks it. */
#include "proto/expressions/tree.h"

#include <float.h>
#include <math.h>

/* A value, and the sum of the sizes of what it was added up from. */
typedef struct quantity {
    double value, size;
    bool inactive; /* it names a parameter that is not active */
} quantity;

static quantity number_at(const expression *e, uint32_t at, const double *coded);

static quantity of_value(double value, bool inactive)
{
    return (quantity){value, fabs(value), inactive};
}

static quantity join(const expression *e, const node *n, const double *coded)
{
    quantity a = number_at(e, n->a, coded), b = number_at(e, n->b, coded);
    bool inactive = a.inactive || b.inactive;
    switch ((int)n->op) {
    case NODE_ADD:
        return (quantity){a.value + b.value, a.size + b.size, inactive};
    case NODE_SUBTRACT:
        return (quantity){a.value - b.value, a.size + b.size, inactive};
    case NODE_MULTIPLY:
        return (quantity){a.value * b.value, a.size * b.size, inactive};
    case NODE_DIVIDE:
        return (quantity){a.value / b.value, a.size / fabs(b.value), inactive};
    case NODE_POWER:
        return of_value(pow(a.value, b.value), inactive);
    case NODE_MIN:
        return (quantity){fmin(a.value, b.value), fmax(a.size, b.size), inactive};
    default: /* NODE_MAX */
        return (quantity){fmax(a.value, b.value), fmax(a.size, b.size), inactive};
    }
}

static quantity number_at(const expression *e, uint32_t at, const double *coded)
{
    const node *n = &e->nodes[at];
    quantity a;
    switch ((int)n->op) {
    case NODE_NUMBER:
    case NODE_WORD:
        return of_value(n->number, false);
    case NODE_NAME:
        return of_value(coded[n->a], isnan(coded[n->a]));
    case NODE_IS_SET:
        return of_value(!isnan(coded[n->a]) && coded[n->a] != 0.0 ? 1.0 : 0.0, false);
    case NODE_NEGATE:
        a = number_at(e, n->a, coded);
        a.value = -a.value;
        return a;
    case NODE_ABS:
        a = number_at(e, n->a, coded);
        a.value = fabs(a.value);
        return a;
    case NODE_SQRT:
        a = number_at(e, n->a, coded);
        return of_value(sqrt(a.value), a.inactive);
    case NODE_EXP:
        a = number_at(e, n->a, coded);
        return of_value(exp(a.value), a.inactive);
    case NODE_LOG:
        a = number_at(e, n->a, coded);
        return of_value(log(a.value), a.inactive);
    default:
        return join(e, n, coded);
    }
}

/* How much a <= b or, if `strict`, a < b is broken. */
static double excess(quantity a, quantity b, bool strict)
{
    double size = a.size + b.size, difference = a.value - b.value;
    if (isnan(difference)) /* such as a logarithm of a negative number, or ∞ − ∞ */
        return a.value <= b.value && !strict ? -1.0 : 1.0;
    if (!isfinite(difference))
        return difference < 0.0 ? -1.0 : 1.0;
    double share = size > 0.0 ? difference / size : 0.0;
    if (!isfinite(share))
        share = difference > 0.0 ? 1.0 : difference < 0.0 ? -1.0 : 0.0;
    if (!strict)
        return share - EXPRESSION_TOLERANCE;
    return share == 0.0 ? (difference < 0.0 ? -DBL_MIN : DBL_MIN) : share;
}

/* The slack of a = b or, if `differ`, of a != b. */
static double distance(quantity a, quantity b, bool differ)
{
    if (differ)
        return a.value == b.value ? 1.0 : -1.0;
    return fmax(excess(a, b, false), excess(b, a, false));
}

static double compare(const expression *e, const node *n, bool wanted, const double *coded)
{
    quantity a = number_at(e, n->a, coded), b = number_at(e, n->b, coded);
    if (a.inactive || b.inactive)
        return wanted ? -1.0 : 1.0;
    switch ((int)n->op) {
    case NODE_AT_MOST:
        return wanted ? excess(a, b, false) : excess(b, a, true);
    case NODE_BELOW:
        return wanted ? excess(a, b, true) : excess(b, a, false);
    case NODE_EQUAL:
        return distance(a, b, !wanted);
    default: /* NODE_DIFFERENT */
        return distance(a, b, wanted);
    }
}

/* The slack of a subtree being true or, if not `wanted`, false. */
static double slack_at(const expression *e, uint32_t at, bool wanted, const double *coded)
{
    const node *n = &e->nodes[at];
    double a, b;
    switch ((int)n->op) {
    case NODE_SWITCH:
        return (coded[n->a] == 1.0) == wanted ? -1.0 : 1.0;
    case NODE_NOT:
        return slack_at(e, n->a, !wanted, coded);
    case NODE_AND:
    case NODE_OR:
    case NODE_IMPLIES:
        a = slack_at(e, n->a, n->op == NODE_IMPLIES ? !wanted : wanted, coded);
        b = slack_at(e, n->b, wanted, coded);
        return (n->op == NODE_AND) == wanted ? fmax(a, b) : fmin(a, b);
    default:
        return compare(e, n, wanted, coded);
    }
}

double expression_slack(const expression *e, size_t k, const double *coded)
{
    return slack_at(e, e->parts[k].root, true, coded);
}
