/* Reads sums and what they are made of: products, powers, functions, names, numbers. */
#include "proto/expressions/parser.h"

#include <string.h>

/* ---- primaries ----------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    node_op op;
    bool many;
} functions[] = {{"min", NODE_MIN, true},    {"max", NODE_MAX, true},  {"abs", NODE_ABS, false},
                 {"sqrt", NODE_SQRT, false}, {"exp", NODE_EXP, false}, {"log", NODE_LOG, false}};

/* The parameter that the next token names; n_names if there is none. */
static size_t find_name(parser *p, const token *t)
{
    scan_content(p->text, t, p->scratch);
    size_t i = 0;
    while (i < p->n_names && strcmp(p->names[i].name, p->scratch) != 0)
        i++;
    return i;
}

static void fail_unknown(parser *p, const token *t)
{
    parser_fail(p, t->at, "'%.100s' is not a parameter of this space", p->scratch);
}

static operand parse_name(parser *p)
{
    token t = p->next;
    size_t i = find_name(p, &t);
    operand o = {.from = t.at};
    if (i == p->n_names) {
        fail_unknown(p, &t);
        return o;
    }
    parser_advance(p);
    bool truth = p->names[i].kind == EXPRESSION_SWITCH;
    o.at = parser_add(p, (node){.op = truth ? NODE_SWITCH : NODE_NAME, .a = (uint32_t)i});
    o.type = truth ? TRUTH : p->names[i].kind == EXPRESSION_WORDS ? WORDS : NUMBER;
    o.name = &p->names[i];
    return o;
}

/* count(a, b, …): the sum of what is set. */
static operand parse_count(parser *p, size_t from)
{
    operand sum = {.type = NUMBER, .from = from};
    bool first = true;
    do {
        token t = p->next;
        bool is_name = t.kind == TOKEN_NAME || t.kind == TOKEN_QUOTED_NAME;
        size_t i = is_name ? find_name(p, &t) : p->n_names;
        if (!is_name)
            parser_fail(p, t.at, "count takes names of parameters");
        else if (i == p->n_names)
            fail_unknown(p, &t);
        else if (p->names[i].kind == EXPRESSION_WORDS)
            parser_fail(p, t.at, "'%.100s' has words, which count cannot count", p->scratch);
        if (parser_stopped(p))
            return sum;
        parser_advance(p);
        p->e->counted[i] = true;
        uint32_t set = parser_add(p, (node){.op = NODE_IS_SET, .a = (uint32_t)i});
        sum.at = first ? set : parser_add(p, (node){.op = NODE_ADD, .a = sum.at, .b = set});
        first = false;
    } while (parser_take(p, ","));
    parser_expect(p, ")");
    return sum;
}

static operand parse_function(parser *p)
{
    token t = p->next;
    size_t f = 0, n = sizeof functions / sizeof *functions;
    bool counts = parser_sees(p, "count");
    while (f < n && !parser_sees(p, functions[f].name))
        f++;
    if (f == n && !counts) {
        parser_fail(p, t.at, "'%.*s' is not a function: there are min, max, abs, sqrt, exp, log and count",
                    t.size > 40 ? 40 : (int)t.size, p->text + t.at);
        return (operand){.from = t.at};
    }
    parser_advance(p);
    parser_expect(p, "(");
    if (counts)
        return parse_count(p, t.at);
    operand all = parser_sum(p);
    parser_need(p, &all, NUMBER);
    all.from = t.at;
    if (!functions[f].many)
        all.at = parser_add(p, (node){.op = functions[f].op, .a = all.at});
    while (functions[f].many && parser_take(p, ",")) {
        operand one = parser_sum(p);
        all = parser_join(p, functions[f].op, &all, &one, NUMBER, NUMBER);
    }
    parser_expect(p, ")");
    return all;
}

static operand parse_primary(parser *p)
{
    token t = p->next;
    operand o = {.from = t.at, .type = NUMBER};
    if (parser_stopped(p))
        return o;
    if (t.kind == TOKEN_NUMBER) {
        parser_advance(p);
        o.at = parser_add(p, (node){.op = NODE_NUMBER, .number = t.number});
        return o;
    }
    if (t.kind == TOKEN_WORD) {
        parser_advance(p);
        return (operand){.from = t.at, .type = LITERAL, .literal = t};
    }
    if (parser_take(p, "(")) {
        o = parser_rule(p);
        parser_expect(p, ")");
        o.from = t.at;
        return o;
    }
    static const char *const reserved[] = {"and", "or", "not", "if", "then"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (parser_sees(p, reserved[i])) {
            parser_fail(
                p, t.at,
                "a value is expected here, not '%s'; a parameter with this name is written in back quotes",
                reserved[i]);
            return o;
        }
    }
    if (t.kind == TOKEN_NAME && p->text[scan_token(p->text, t.at + t.size).at] == '(')
        return parse_function(p);
    if (t.kind == TOKEN_NAME || t.kind == TOKEN_QUOTED_NAME)
        return parse_name(p);
    if (t.kind == TOKEN_END)
        parser_fail(p, t.at, "a value is missing at the end");
    else
        parser_fail(p, t.at, "a value is expected here, not '%.*s'", (int)t.size, p->text + t.at);
    return o;
}

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

static operand parse_sign(parser *p)
{
    size_t from = p->next.at;
    operand o = {.from = from, .type = NUMBER};
    if (parser_enter(p)) {
        if (parser_take(p, "-")) {
            o = parse_sign(p);
            parser_need(p, &o, NUMBER);
            o = (operand){
                .at = parser_add(p, (node){.op = NODE_NEGATE, .a = o.at}), .type = NUMBER, .from = from};
        } else {
            o = parse_primary(p);
            if (parser_take(p, "^")) {
                operand power = parse_sign(p);
                o = parser_join(p, NODE_POWER, &o, &power, NUMBER, NUMBER);
            }
        }
    }
    p->depth--;
    return o;
}

static operand parse_product(parser *p)
{
    operand a = parse_sign(p);
    while (!parser_stopped(p) && (parser_sees(p, "*") || parser_sees(p, "/"))) {
        node_op op = parser_sees(p, "*") ? NODE_MULTIPLY : NODE_DIVIDE;
        parser_advance(p);
        operand b = parse_sign(p);
        a = parser_join(p, op, &a, &b, NUMBER, NUMBER);
    }
    return a;
}

operand parser_sum(parser *p)
{
    operand a = parse_product(p);
    while (!parser_stopped(p) && (parser_sees(p, "+") || parser_sees(p, "-"))) {
        node_op op = parser_sees(p, "+") ? NODE_ADD : NODE_SUBTRACT;
        parser_advance(p);
        operand b = parse_product(p);
        a = parser_join(p, op, &a, &b, NUMBER, NUMBER);
    }
    return a;
}
