/* The state of a reader of expressions, what its parts share, and the parts that read each other. */
#ifndef PROTO_EXPRESSIONS_PARSER_H
#define PROTO_EXPRESSIONS_PARSER_H

#include "proto/expressions/scan.h"
#include "proto/expressions/tree.h"

typedef enum value_type { NUMBER, TRUTH, WORDS, LITERAL } value_type;

/* A subtree that has been read. */
typedef struct operand {
    uint32_t at;
    value_type type;
    size_t from;                 /* its first byte */
    token literal;               /* LITERAL: a word, whose list is not known yet */
    const expression_name *name; /* WORDS */
} operand;

typedef struct parser {
    const char *text;
    const expression_name *names;
    size_t n_names;
    expression *e;
    token next;
    unsigned depth;
    bool failed, no_memory;
    expression_error *error;
    char *scratch; /* as long as the text */
} parser;

/* The first failure counts, at byte `at` of the text. After one, nothing more is read. */
void parser_fail(parser *p, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool parser_stopped(const parser *p);

/* Adds a node to the tree. 0 if there is no memory. */
uint32_t parser_add(parser *p, node made);

void parser_advance(parser *p);
bool parser_sees(const parser *p, const char *what); /* whether it is next */
bool parser_take(parser *p, const char *what);       /* passes it, if it is next */
void parser_expect(parser *p, const char *what);

void parser_need(parser *p, const operand *o, value_type type);
operand parser_join(parser *p, node_op op, const operand *a, const operand *b, value_type of,
                    value_type type);

/* One level deeper. False: too deep, or stopped. The caller comes back by p->depth--. */
bool parser_enter(parser *p);

operand parser_sum(parser *p);  /* parse_numbers.c */
operand parser_rule(parser *p); /* parse.c */

#endif
