#include "proto/expressions/parser.h"

#include "proto/arrays.h"

#include <stdarg.h>
#include <stdio.h>

enum { DEEPEST = 64 };

static size_t column_of(const char *text, size_t at)
{
    size_t column = 1;
    for (size_t i = 0; i < at; i++)
        column += ((unsigned char)text[i] & 0xc0) != 0x80;
    return column;
}

void parser_fail(parser *p, size_t at, const char *format, ...)
{
    va_list arguments;
    if (p->failed || p->no_memory)
        return;
    p->failed = true;
    p->error->column = column_of(p->text, at);
    va_start(arguments, format);
    vsnprintf(p->error->text, sizeof p->error->text, format, arguments);
    va_end(arguments);
}

bool parser_stopped(const parser *p)
{
    return p->failed || p->no_memory;
}

uint32_t parser_add(parser *p, node made)
{
    expression *e = p->e;
    if (!wire_grow(&e->nodes, &e->capacity, e->n_nodes + 1, 32, sizeof *e->nodes)) {
        p->no_memory = true;
        return 0;
    }
    e->nodes[e->n_nodes] = made;
    return (uint32_t)e->n_nodes++;
}

void parser_advance(parser *p)
{
    p->next = scan_token(p->text, p->next.at + p->next.size);
    if (p->next.problem)
        parser_fail(p, p->next.at, "'%.*s' %s", p->next.size > 40 ? 40 : (int)p->next.size,
                    p->text + p->next.at, p->next.problem);
}

bool parser_sees(const parser *p, const char *what)
{
    return scan_is(p->text, &p->next, what);
}

bool parser_take(parser *p, const char *what)
{
    if (parser_stopped(p) || !parser_sees(p, what))
        return false;
    parser_advance(p);
    return true;
}

void parser_expect(parser *p, const char *what)
{
    if (parser_stopped(p) || parser_take(p, what))
        return;
    if (p->next.kind == TOKEN_END)
        parser_fail(p, p->next.at, "'%s' is missing at the end", what);
    else
        parser_fail(p, p->next.at, "'%s' is expected here", what);
}

static const char *describe(value_type type)
{
    switch (type) {
    case NUMBER:
        return "a number";
    case TRUTH:
        return "a comparison or truth value";
    case WORDS:
    case LITERAL:
        break;
    }
    return "a word";
}

void parser_need(parser *p, const operand *o, value_type type)
{
    if (o->type != type)
        parser_fail(p, o->from, "%s is expected here, not %s", describe(type), describe(o->type));
}

operand parser_join(parser *p, node_op op, const operand *a, const operand *b, value_type of, value_type type)
{
    parser_need(p, a, of);
    parser_need(p, b, of);
    return (operand){
        .at = parser_add(p, (node){.op = op, .a = a->at, .b = b->at}), .type = type, .from = a->from};
}

bool parser_enter(parser *p)
{
    if (++p->depth > DEEPEST)
        parser_fail(p, p->next.at, "is nested too deeply here");
    return !parser_stopped(p);
}
