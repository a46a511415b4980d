/* An expression as a tree, in an array. */
#ifndef PROTO_EXPRESSIONS_TREE_H
#define PROTO_EXPRESSIONS_TREE_H

#include "proto/expressions/expression.h"

#include <stdint.h>

typedef enum node_op {
    NODE_NUMBER, /* number */
    NODE_NAME,   /* the parameter `name`, as a number */
    NODE_WORD,   /* number: the place of a word in a list */
    NODE_SWITCH, /* the parameter `name`, as a truth value */
    NODE_IS_SET, /* 1 if the parameter `name` is active and not 0, otherwise 0 */
    NODE_ADD,
    NODE_SUBTRACT,
    NODE_MULTIPLY,
    NODE_DIVIDE,
    NODE_POWER,
    NODE_NEGATE,
    NODE_MIN,
    NODE_MAX,
    NODE_ABS,
    NODE_SQRT,
    NODE_EXP,
    NODE_LOG,
    NODE_AT_MOST,
    NODE_BELOW,
    NODE_EQUAL,
    NODE_DIFFERENT,
    NODE_AND,
    NODE_OR,
    NODE_NOT,
    NODE_IMPLIES
} node_op;

typedef struct node {
    node_op op;
    uint32_t a, b; /* children; a name: the number of the parameter, in a */
    double number;
} node;

typedef struct expression_part {
    uint32_t root;
    size_t *parameters; /* n, ascending */
    size_t n;
    double *coefficients; /* n; NULL: not linear */
    double bound;
    bool equality;
} expression_part;

struct expression {
    node *nodes;
    size_t n_nodes, capacity;
    expression_part *parts;
    size_t n_parts;
    size_t n_names;
    bool *counted; /* n_names */
};

/* Whether the subtree names a real parameter, outside of `count`. */
bool tree_has_real(const expression *e, uint32_t at, const expression_name *names);

/* Sets part->parameters, and the linear form if there is one. Returns false when out of memory. */
bool tree_describe(const expression *e, expression_part *part, const expression_name *names);

#endif
