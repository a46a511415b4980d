/* Words with properties: searches the list for a better word at the current numbers of a climb. */
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/search/maximize_search.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW = 16,      /* lists of up to this many values: single moves try all anyway (maximize_climb.c) */
    SHORT = 1024,  /* lists of up to this many words are always tried as a whole */
    NEAREST = 256, /* of longer lists: this many of the nearest words, … */
    OTHERS = 256   /* … and this many others */
};

/* The best gene of one parameter so far. */
typedef struct words_search {
    bandit_search *search;
    size_t parameter;
    double gene, value;
    bool found;
} words_search;

/* Evaluates the trials, and keeps the best. */
static void take_trials(words_search *w)
{
    bandit_search *s = w->search;
    size_t n = s->space->n;
    bandit_search_evaluate_moves(s);
    for (size_t t = 0; t < s->n_trials; t++) {
        if (!(s->trial_values[t] > w->value))
            continue;
        w->value = s->trial_values[t];
        w->gene = s->trial_genes[t * n + w->parameter];
        w->found = true;
    }
    s->n_trials = 0;
}

static void try_gene(words_search *w, double gene)
{
    if (w->search->n_trials == BANDIT_MAXIMIZE_TRIALS)
        take_trials(w);
    bandit_search_add_trial(w->search, w->parameter, gene);
}

/* Tries words near the current one, and others at random. */
static bool try_some(words_search *w, uint64_t values, int round)
{
    bandit_search *s = w->search;
    const bandit_genome *g = &s->max->genome;
    size_t i = w->parameter, n_words = s->space->parameters[i].n_values;
    double *distances = bandit_alloc(n_words, sizeof *distances);
    uint32_t *nearest = bandit_alloc(NEAREST, sizeof *nearest);
    bool ok = distances && nearest;
    if (ok) {
        size_t word = (size_t)bandit_genome_value(g, i, s->genes[i]);
        size_t n =
            bandit_words_nearest(&s->space->places[i].words, n_words, word, NEAREST, distances, nearest);
        for (size_t k = 0; k < n; k++) {
            const bandit_choices *c = &g->choices[i];
            if (!c->values || bandit_is_one_of(nearest[k], c->values, c->n))
                try_gene(w, nearest[k]);
        }
        for (uint64_t k = 0; k < OTHERS; k++) {
            uint64_t index =
                s->pick << 40 | (uint64_t)3 << 38 | (uint64_t)i << 16 | (uint64_t)round << 8 | (k & 0xff);
            uint64_t which =
                bandit_random_below(g->seed, s->max->batch, BANDIT_PURPOSE_PERTURB, index, values);
            try_gene(w, bandit_genome_value_gene(g, i, which));
        }
    }
    free(distances);
    free(nearest);
    return ok;
}

/* Tries other words of parameter i. */
static bool try_parameter(bandit_search *s, size_t i, bool all, int round, double *value, bool *moved)
{
    const bandit_genome *g = &s->max->genome;
    uint64_t values = bandit_genome_values(g, i);
    words_search w = {.search = s, .parameter = i, .value = *value};
    bool ok = true;
    if (values <= FEW)
        return true;
    s->n_trials = 0;
    if (all || values <= SHORT) {
        for (uint64_t k = 0; k < values; k++)
            try_gene(&w, bandit_genome_value_gene(g, i, k));
    } else {
        ok = try_some(&w, values, round);
    }
    take_trials(&w);
    if (w.found) {
        s->genes[i] = w.gene;
        *value = w.value;
        *moved = true;
    }
    return ok;
}

bool bandit_search_try_words(bandit_search *s, bool all, int round, double *value, bool *moved)
{
    bool ok = true;
    for (size_t i = 0; i < s->space->n && ok && !bandit_pause(); i++) {
        if (!s->space->places[i].words.rows || !isnan(s->max->genome.fixed[i]))
            continue;
        bandit_maximizer_express(s->max, s->genes, s->coded, s->features); /* the trials overwrote these */
        ok = isnan(s->coded[i]) || try_parameter(s, i, all, round, value, moved);
    }
    return ok;
}
