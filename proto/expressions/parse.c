/* Reads expressions: a descent through the grammar in expression.h, with types. */
#include "proto/expressions/parser.h"

#include <stdlib.h>
#include <string.h>

/* ---- comparisons --------------------------------------------------------------------------------------- */

/* Makes a word a number: its place in the list of the other side. */
static void find_word(parser *p, operand *word, const operand *other)
{
    scan_content(p->text, &word->literal, p->scratch);
    for (size_t i = 0; i < other->name->n_words; i++) {
        if (strcmp(other->name->words[i], p->scratch) != 0)
            continue;
        word->at = parser_add(p, (node){.op = NODE_WORD, .number = (double)i});
        return;
    }
    parser_fail(p, word->from, "\"%.60s\" is not a value of '%.60s'", p->scratch, other->name->name);
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
        parser_fail(p, a->from, "one side of this comparison must be a parameter");
    else if (a->type == LITERAL)
        find_word(p, a, named);
    else if (b->type == LITERAL)
        find_word(p, b, named);
    else if (!same_words(a->name, b->name))
        parser_fail(p, a->from, "the two compared parameters do not have the same words");
    if (order && named->type == WORDS && !(named->name->ordered))
        parser_fail(p, a->from, "the words of '%.60s' have no order: use = or !=", named->name->name);
}

static operand compare(parser *p, const char *sign, operand a, operand b)
{
    bool above = sign[0] == '>', order = sign[0] == '<' || above;
    bool a_word = a.type == WORDS || a.type == LITERAL, b_word = b.type == WORDS || b.type == LITERAL;
    if (a_word && b_word) {
        match_words(p, &a, &b, order);
    } else {
        parser_need(p, a_word ? &b : &a, a_word ? WORDS : NUMBER);
        parser_need(p, &b, NUMBER);
    }
    node_op op = !order ? (sign[0] == '=' ? NODE_EQUAL : NODE_DIFFERENT)
                        : (sign[1] == '=' ? NODE_AT_MOST : NODE_BELOW);
    node made = {.op = op, .a = above ? b.at : a.at, .b = above ? a.at : b.at};
    return (operand){.at = parser_add(p, made), .type = TRUTH, .from = a.from};
}

static operand parse_comparison(parser *p)
{
    static const char *const signs[] = {"<=", ">=", "<", ">", "=", "!="};
    operand a = parser_sum(p), all = a;
    for (bool first = true; !parser_stopped(p); first = false) {
        size_t s = 0;
        while (s < sizeof signs / sizeof *signs && !parser_sees(p, signs[s]))
            s++;
        if (parser_sees(p, "=="))
            parser_fail(p, p->next.at, "equality is written =");
        if (s == sizeof signs / sizeof *signs)
            break;
        parser_advance(p);
        operand b = parser_sum(p), one = compare(p, signs[s], a, b);
        all = first ? one : parser_join(p, NODE_AND, &all, &one, TRUTH, TRUTH);
        a = b;
    }
    return all;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static operand parse_denial(parser *p)
{
    size_t from = p->next.at;
    operand o = {.from = from, .type = TRUTH};
    if (parser_enter(p)) {
        if (parser_take(p, "not")) {
            o = parse_denial(p);
            parser_need(p, &o, TRUTH);
            o = (operand){
                .at = parser_add(p, (node){.op = NODE_NOT, .a = o.at}), .type = TRUTH, .from = from};
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
    while (parser_take(p, "and")) {
        operand b = parse_denial(p);
        a = parser_join(p, NODE_AND, &a, &b, TRUTH, TRUTH);
    }
    return a;
}

static operand parse_choice(parser *p)
{
    operand a = parse_both(p);
    while (parser_take(p, "or")) {
        operand b = parse_both(p);
        a = parser_join(p, NODE_OR, &a, &b, TRUTH, TRUTH);
    }
    return a;
}

operand parser_rule(parser *p)
{
    operand o = {.from = p->next.at, .type = TRUTH};
    if (parser_enter(p)) {
        if (parser_take(p, "if")) {
            operand a = parser_rule(p);
            parser_expect(p, "then");
            operand b = parser_rule(p);
            o = parser_join(p, NODE_IMPLIES, &a, &b, TRUTH, TRUTH);
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
        parser_fail(p, 0, "does not name a parameter");
    else if (!part->equality && asks_equation(p, root, true))
        parser_fail(
            p, 0,
            "an equation between parameters of type double must be linear, over linear scales, and must "
            "not depend on a condition");
}

/* Takes apart what is joined by `and`. */
static void split(parser *p, uint32_t root)
{
    const node *n = &p->e->nodes[root];
    if (parser_stopped(p))
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
    parser_advance(p);
    operand whole = parser_rule(p);
    if (!parser_stopped(p) && p->next.kind != TOKEN_END)
        parser_fail(p, p->next.at, "'%.*s' is not expected here", p->next.size > 40 ? 40 : (int)p->next.size,
                    p->text + p->next.at);
    parser_need(p, &whole, TRUTH);
    if (parser_stopped(p))
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
    if (!parser_stopped(&p)) {
        *out = p.e;
        return EXPRESSION_OK;
    }
    expression_free(p.e);
    return p.no_memory ? EXPRESSION_NO_MEMORY : EXPRESSION_INVALID;
}
