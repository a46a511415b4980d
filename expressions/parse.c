/* Reads expressions: a descent through the grammar in expression.h, with types. */
#include "expressions/scan.h"
#include "expressions/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

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

static operand parse_rule(parser *p);
static operand parse_sum(parser *p);

/* ---- errors and nodes ---------------------------------------------------------------------------------- */

static size_t column_of(const char *text, size_t at)
{
    size_t column = 1;
    for (size_t i = 0; i < at; i++)
        column += ((unsigned char)text[i] & 0xc0) != 0x80;
    return column;
}

static void fail_at(parser *p, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void fail_at(parser *p, size_t at, const char *format, ...)
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

static bool stopped(const parser *p)
{
    return p->failed || p->no_memory;
}

static uint32_t add_node(parser *p, node made)
{
    expression *e = p->e;
    if (e->n_nodes == e->capacity) {
        size_t capacity = e->capacity ? 2 * e->capacity : 32;
        node *grown = realloc(e->nodes, capacity * sizeof *grown);
        if (!grown) {
            p->no_memory = true;
            return 0;
        }
        e->nodes = grown;
        e->capacity = capacity;
    }
    e->nodes[e->n_nodes] = made;
    return (uint32_t)e->n_nodes++;
}

static void advance(parser *p)
{
    p->next = scan_token(p->text, p->next.at + p->next.size);
    if (p->next.problem)
        fail_at(p, p->next.at, "'%.*s' %s", p->next.size > 40 ? 40 : (int)p->next.size, p->text + p->next.at,
                p->next.problem);
}

static bool is_next(const parser *p, const char *what)
{
    return scan_is(p->text, &p->next, what);
}

static bool take(parser *p, const char *what)
{
    if (stopped(p) || !is_next(p, what))
        return false;
    advance(p);
    return true;
}

static void expect(parser *p, const char *what)
{
    if (stopped(p) || take(p, what))
        return;
    if (p->next.kind == TOKEN_END)
        fail_at(p, p->next.at, "'%s' is missing at the end", what);
    else
        fail_at(p, p->next.at, "'%s' is expected here", what);
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

static void need(parser *p, const operand *o, value_type type)
{
    if (o->type != type)
        fail_at(p, o->from, "%s is expected here, not %s", describe(type), describe(o->type));
}

static operand join(parser *p, node_op op, const operand *a, const operand *b, value_type of, value_type type)
{
    need(p, a, of);
    need(p, b, of);
    return (operand){
        .at = add_node(p, (node){.op = op, .a = a->at, .b = b->at}), .type = type, .from = a->from};
}

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
    fail_at(p, t->at, "'%.100s' is not a parameter of this space", p->scratch);
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
    advance(p);
    bool truth = p->names[i].kind == EXPRESSION_SWITCH;
    o.at = add_node(p, (node){.op = truth ? NODE_SWITCH : NODE_NAME, .a = (uint32_t)i});
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
            fail_at(p, t.at, "count takes names of parameters");
        else if (i == p->n_names)
            fail_unknown(p, &t);
        else if (p->names[i].kind == EXPRESSION_WORDS)
            fail_at(p, t.at, "'%.100s' has words, which count cannot count", p->scratch);
        if (stopped(p))
            return sum;
        advance(p);
        p->e->counted[i] = true;
        uint32_t set = add_node(p, (node){.op = NODE_IS_SET, .a = (uint32_t)i});
        sum.at = first ? set : add_node(p, (node){.op = NODE_ADD, .a = sum.at, .b = set});
        first = false;
    } while (take(p, ","));
    expect(p, ")");
    return sum;
}

static operand parse_function(parser *p)
{
    token t = p->next;
    size_t f = 0, n = sizeof functions / sizeof *functions;
    bool counts = is_next(p, "count");
    while (f < n && !is_next(p, functions[f].name))
        f++;
    if (f == n && !counts) {
        fail_at(p, t.at, "'%.*s' is not a function: there are min, max, abs, sqrt, exp, log and count",
                t.size > 40 ? 40 : (int)t.size, p->text + t.at);
        return (operand){.from = t.at};
    }
    advance(p);
    expect(p, "(");
    if (counts)
        return parse_count(p, t.at);
    operand all = parse_sum(p);
    need(p, &all, NUMBER);
    all.from = t.at;
    if (!functions[f].many)
        all.at = add_node(p, (node){.op = functions[f].op, .a = all.at});
    while (functions[f].many && take(p, ",")) {
        operand one = parse_sum(p);
        all = join(p, functions[f].op, &all, &one, NUMBER, NUMBER);
    }
    expect(p, ")");
    return all;
}

static operand parse_primary(parser *p)
{
    token t = p->next;
    operand o = {.from = t.at, .type = NUMBER};
    if (stopped(p))
        return o;
    if (t.kind == TOKEN_NUMBER) {
        advance(p);
        o.at = add_node(p, (node){.op = NODE_NUMBER, .number = t.number});
        return o;
    }
    if (t.kind == TOKEN_WORD) {
        advance(p);
        return (operand){.from = t.at, .type = LITERAL, .literal = t};
    }
    if (take(p, "(")) {
        o = parse_rule(p);
        expect(p, ")");
        o.from = t.at;
        return o;
    }
    static const char *const reserved[] = {"and", "or", "not", "if", "then"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (is_next(p, reserved[i])) {
            fail_at(
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
        fail_at(p, t.at, "a value is missing at the end");
    else
        fail_at(p, t.at, "a value is expected here, not '%.*s'", (int)t.size, p->text + t.at);
    return o;
}

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

static bool enter(parser *p)
{
    if (++p->depth > DEEPEST)
        fail_at(p, p->next.at, "is nested too deeply here");
    return !stopped(p);
}

static operand parse_sign(parser *p)
{
    size_t from = p->next.at;
    operand o = {.from = from, .type = NUMBER};
    if (enter(p)) {
        if (take(p, "-")) {
            o = parse_sign(p);
            need(p, &o, NUMBER);
            o = (operand){
                .at = add_node(p, (node){.op = NODE_NEGATE, .a = o.at}), .type = NUMBER, .from = from};
        } else {
            o = parse_primary(p);
            if (take(p, "^")) {
                operand power = parse_sign(p);
                o = join(p, NODE_POWER, &o, &power, NUMBER, NUMBER);
            }
        }
    }
    p->depth--;
    return o;
}

static operand parse_product(parser *p)
{
    operand a = parse_sign(p);
    while (!stopped(p) && (is_next(p, "*") || is_next(p, "/"))) {
        node_op op = is_next(p, "*") ? NODE_MULTIPLY : NODE_DIVIDE;
        advance(p);
        operand b = parse_sign(p);
        a = join(p, op, &a, &b, NUMBER, NUMBER);
    }
    return a;
}

static operand parse_sum(parser *p)
{
    operand a = parse_product(p);
    while (!stopped(p) && (is_next(p, "+") || is_next(p, "-"))) {
        node_op op = is_next(p, "+") ? NODE_ADD : NODE_SUBTRACT;
        advance(p);
        operand b = parse_product(p);
        a = join(p, op, &a, &b, NUMBER, NUMBER);
    }
    return a;
}

/* ---- comparisons --------------------------------------------------------------------------------------- */

/* Makes a word a number: its place in the list of the other side. */
static void find_word(parser *p, operand *word, const operand *other)
{
    scan_content(p->text, &word->literal, p->scratch);
    for (size_t i = 0; i < other->name->n_words; i++) {
        if (strcmp(other->name->words[i], p->scratch) != 0)
            continue;
        word->at = add_node(p, (node){.op = NODE_WORD, .number = (double)i});
        return;
    }
    fail_at(p, word->from, "\"%.60s\" is not a value of '%.60s'", p->scratch, other->name->name);
}

static bool same_words(const expression_name *a, const expression_name *b)
{
    bool same = a->n_words == b->n_words;
    for (size_t i = 0; same && i < a->n_words; i++)
        same = strcmp(a->words[i], b->words[i]) == 0;
    return same;
}

static void match_words(parser *p, operand *a, operand *b, bool order)
{
    const operand *named = a->type == WORDS ? a : b;
    if (named->type != WORDS)
        fail_at(p, a->from, "one side of this comparison must be a parameter");
    else if (a->type == LITERAL)
        find_word(p, a, named);
    else if (b->type == LITERAL)
        find_word(p, b, named);
    else if (!same_words(a->name, b->name))
        fail_at(p, a->from, "two parameters are compared that do not have the same words");
    if (order && named->type == WORDS && !(named->name->ordered))
        fail_at(p, a->from, "the words of '%.60s' have no order: use = or !=", named->name->name);
}

static operand compare(parser *p, const char *sign, operand a, operand b)
{
    bool above = sign[0] == '>', order = sign[0] == '<' || above;
    bool a_word = a.type == WORDS || a.type == LITERAL, b_word = b.type == WORDS || b.type == LITERAL;
    if (a_word && b_word) {
        match_words(p, &a, &b, order);
    } else {
        need(p, a_word ? &b : &a, a_word ? WORDS : NUMBER);
        need(p, &b, NUMBER);
    }
    node_op op = !order ? (sign[0] == '=' ? NODE_EQUAL : NODE_DIFFERENT)
                        : (sign[1] == '=' ? NODE_AT_MOST : NODE_BELOW);
    node made = {.op = op, .a = above ? b.at : a.at, .b = above ? a.at : b.at};
    return (operand){.at = add_node(p, made), .type = TRUTH, .from = a.from};
}

static operand parse_comparison(parser *p)
{
    static const char *const signs[] = {"<=", ">=", "<", ">", "=", "!="};
    operand a = parse_sum(p), all = a;
    for (bool first = true; !stopped(p); first = false) {
        size_t s = 0;
        while (s < sizeof signs / sizeof *signs && !is_next(p, signs[s]))
            s++;
        if (is_next(p, "=="))
            fail_at(p, p->next.at, "equality is written =");
        if (s == sizeof signs / sizeof *signs)
            break;
        advance(p);
        operand b = parse_sum(p), one = compare(p, signs[s], a, b);
        all = first ? one : join(p, NODE_AND, &all, &one, TRUTH, TRUTH);
        a = b;
    }
    return all;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static operand parse_denial(parser *p)
{
    size_t from = p->next.at;
    operand o = {.from = from, .type = TRUTH};
    if (enter(p)) {
        if (take(p, "not")) {
            o = parse_denial(p);
            need(p, &o, TRUTH);
            o = (operand){.at = add_node(p, (node){.op = NODE_NOT, .a = o.at}), .type = TRUTH, .from = from};
        } else {
            o = parse_comparison(p);
        }
    }
    p->depth--;
    return o;
}

static operand parse_both(parser *p)
{
    operand a = parse_denial(p);
    while (take(p, "and")) {
        operand b = parse_denial(p);
        a = join(p, NODE_AND, &a, &b, TRUTH, TRUTH);
    }
    return a;
}

static operand parse_choice(parser *p)
{
    operand a = parse_both(p);
    while (take(p, "or")) {
        operand b = parse_both(p);
        a = join(p, NODE_OR, &a, &b, TRUTH, TRUTH);
    }
    return a;
}

static operand parse_rule(parser *p)
{
    operand o = {.from = p->next.at, .type = TRUTH};
    if (enter(p)) {
        if (take(p, "if")) {
            operand a = parse_rule(p);
            expect(p, "then");
            operand b = parse_rule(p);
            o = join(p, NODE_IMPLIES, &a, &b, TRUTH, TRUTH);
        } else {
            o = parse_choice(p);
        }
    }
    p->depth--;
    return o;
}

/* ---- parts --------------------------------------------------------------------------------------------- */

/* Whether the subtree, if it must be true (or false), asks for an equation between real numbers. */
static bool asks_equation(const parser *p, uint32_t at, bool truth)
{
    const node *n = &p->e->nodes[at];
    switch ((int)n->op) {
    case NODE_EQUAL:
    case NODE_DIFFERENT:
        return (n->op == NODE_EQUAL) == truth &&
               (tree_has_real(p->e, n->a, p->names) || tree_has_real(p->e, n->b, p->names));
    case NODE_NOT:
        return asks_equation(p, n->a, !truth);
    case NODE_AND:
    case NODE_OR:
        return asks_equation(p, n->a, truth) || asks_equation(p, n->b, truth);
    case NODE_IMPLIES:
        return asks_equation(p, n->a, !truth) || asks_equation(p, n->b, truth);
    default:
        return false;
    }
}

static void add_part(parser *p, uint32_t root)
{
    expression *e = p->e;
    expression_part *part = &e->parts[e->n_parts];
    *part = (expression_part){.root = root};
    e->n_parts++;
    if (!tree_describe(e, part, p->names))
        p->no_memory = true;
    else if (part->n == 0)
        fail_at(p, 0, "names no parameter");
    else if (!part->equality && asks_equation(p, root, true))
        fail_at(p, 0,
                "an equation between parameters of type double must be linear, over linear scales, and must "
                "not depend on a condition");
}

/* Takes apart what is joined by `and`. */
static void split(parser *p, uint32_t root)
{
    const node *n = &p->e->nodes[root];
    if (stopped(p))
        return;
    if (n->op == NODE_AND) {
        split(p, n->a);
        split(p, n->b);
    } else {
        add_part(p, root);
    }
}

static size_t count_parts(const expression *e, uint32_t root)
{
    const node *n = &e->nodes[root];
    return n->op == NODE_AND ? count_parts(e, n->a) + count_parts(e, n->b) : 1;
}

static void parse(parser *p)
{
    advance(p);
    operand whole = parse_rule(p);
    if (!stopped(p) && p->next.kind != TOKEN_END)
        fail_at(p, p->next.at, "'%.*s' is not expected here", p->next.size > 40 ? 40 : (int)p->next.size,
                p->text + p->next.at);
    need(p, &whole, TRUTH);
    if (stopped(p))
        return;
    p->e->parts = calloc(count_parts(p->e, whole.at), sizeof *p->e->parts);
    if (p->e->parts)
        split(p, whole.at);
    else
        p->no_memory = true;
}

expression_status expression_parse(expression **out, const char *text, const expression_name *names, size_t n,
                                   expression_error *error)
{
    parser p = {.text = text, .names = names, .n_names = n, .error = error};
    *out = NULL;
    p.e = calloc(1, sizeof *p.e);
    p.scratch = malloc(strlen(text) + 1);
    if (p.e) {
        p.e->n_names = n;
        p.e->counted = calloc(n + 1, sizeof *p.e->counted);
    }
    if (p.e && p.e->counted && p.scratch)
        parse(&p);
    else
        p.no_memory = true;
    free(p.scratch);
    if (!stopped(&p)) {
        *out = p.e;
        return EXPRESSION_OK;
    }
    expression_free(p.e);
    return p.no_memory ? EXPRESSION_NO_MEMORY : EXPRESSION_INVALID;
}
