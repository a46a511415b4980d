#include "server/data/frozen_sources.h"

#include "bandit/engine.h"
#include "proto/recorded_values.h"
#include "server/data/history_transfer.h"
#include "server/data/space_rules.h"
#include "server/data/study_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct freezing {
    study_config *config;
    const wire_study *points;
    const char *pointer;
    wire_source *source;
    const history_transfer *history;
    bandit_arms *arms;
    bandit_result *results;
    size_t n_results;
    bandit_frozen frozen;
} freezing;

/* ---- the arms ------------------------------------------------------------------------------------------ */

static bandit_status space_arms(freezing *f, bandit_error *err)
{
    const wire_study *definition = f->config->wire;
    bandit_status status = space_arms_new(&f->arms, definition, f->config->parameters, err);
    if (status == BANDIT_OK && f->points->points)
        return bandit_arms_enumerate(f->arms, err);
    return status == BANDIT_OK ? bandit_arms_append(f->arms, f->history->points, f->history->n_points, err)
                               : status;
}

/* Lists the candidates of the new study, whose statistics scale the features, and after them those of the other
 * study. */
static bandit_status list_arms(freezing *f, bandit_error *err)
{
    size_t n = f->points->n_points, more = f->history->n_points;
    bandit_status status = bandit_arms_new(&f->arms, n + more, (size_t)f->points->dimension.value, err);
    if (status == BANDIT_OK)
        status = bandit_arms_set_rows(f->arms, 0, n, f->points->points, err);
    if (status == BANDIT_OK && more > 0)
        status = bandit_arms_set_rows(f->arms, n, more, f->history->points, err);
    return status == BANDIT_OK ? bandit_arms_finish(f->arms, f->config->scaling, n, err) : status;
}

/* ---- the results --------------------------------------------------------------------------------------- */

/* A point of the other study. */
typedef struct told_arm {
    uint32_t arm;
    double best; /* reward */
    bool kept;
} told_arm;

static int compare_arms(const void *a, const void *b)
{
    const told_arm *x = a, *y = b;
    return (x->arm > y->arm) - (x->arm < y->arm);
}

static int compare_rewards(const void *a, const void *b)
{
    const told_arm *x = a, *y = b;
    return x->best != y->best ? (x->best < y->best) - (x->best > y->best) : compare_arms(a, b);
}

/* Chooses the arms with results, ascending. If there are too many, half of the room goes to the best ones, and the
 * other half to arms at even steps of rank among the others. */
static size_t choose_arms(told_arm *arms, size_t n)
{
    size_t distinct = 0, room = BANDIT_SOURCE_POINTS, best = room / 2, kept = 0;
    qsort(arms, n, sizeof *arms, compare_arms);
    for (size_t i = 0; i < n; i++) {
        if (distinct == 0 || arms[distinct - 1].arm != arms[i].arm)
            arms[distinct++] = arms[i];
        else if (arms[i].best > arms[distinct - 1].best)
            arms[distinct - 1].best = arms[i].best;
    }
    if (distinct <= room)
        return distinct;
    qsort(arms, distinct, sizeof *arms, compare_rewards);
    for (size_t i = 0; i < room; i++) {
        size_t rank = i < best ? i : best + (i - best) * (distinct - best) / (room - best);
        arms[kept++] = arms[rank];
    }
    qsort(arms, kept, sizeof *arms, compare_arms);
    return kept;
}

static bool take_results(freezing *f)
{
    const history_transfer *h = f->history;
    double sign = h->reversed ? -f->config->signs[0] : f->config->signs[0];
    told_arm *arms = malloc(h->n * sizeof *arms);
    f->results = malloc(h->n * sizeof *f->results);
    if (!arms || !f->results) {
        free(arms);
        return false;
    }
    for (size_t i = 0; i < h->n; i++)
        arms[i] = (told_arm){.arm = h->list[i].candidate, .best = sign * h->list[i].value};
    size_t n = choose_arms(arms, h->n);
    for (size_t i = 0; i < h->n; i++) {
        const store_observation *o = &h->list[i];
        told_arm key = {.arm = o->candidate};
        double error = 0.0;
        if (!bsearch(&key, arms, n, sizeof *arms, compare_arms))
            continue;
        wire_read_std_errors(o->recorded, f->config->modelled, 1, &error);
        f->results[f->n_results++] = (bandit_result){
            .arm = o->candidate, .repeats = (uint32_t)o->repeats, .reward = sign * o->value, .error = error};
    }
    free(arms);
    return true;
}

/* ---- the function -------------------------------------------------------------------------------------- */

static bandit_status learn(freezing *f, size_t memory, bandit_error *err)
{
    bandit_options options = f->config->options;
    bandit_engine *engine = NULL;
    options.sources = NULL;
    options.n_sources = 0;
    bandit_status status = bandit_engine_new(&engine, f->arms, &options, memory, err);
    if (status == BANDIT_OK)
        status = bandit_engine_begin_batch(engine, f->results, f->n_results, NULL, 0, &bandit_executor_serial,
                                           err);
    if (status == BANDIT_OK)
        status = bandit_engine_freeze(engine, &f->frozen, err);
    bandit_engine_free(engine);
    return status;
}

static void copy_point(const freezing *f, uint32_t arm, double *out)
{
    size_t width = f->source->width, n = f->points->n_points;
    if (f->config->wire->domain_type == WIRE_DOMAIN_SPACE)
        bandit_arms_coded(f->arms, arm, out);
    else
        memcpy(out, arm < n ? f->points->points + arm * width : f->history->points + (arm - n) * width,
               width * sizeof *out);
}

static bool keep(freezing *f)
{
    wire_source *source = f->source;
    const bandit_frozen *frozen = &f->frozen;
    source->width = candidate_width(f->config->wire);
    source->points = malloc(frozen->n * source->width * sizeof *source->points);
    source->weights = malloc(frozen->n * sizeof *source->weights);
    source->lengthscales = malloc(frozen->n_lengthscales * sizeof *source->lengthscales);
    if (!source->points || !source->weights || !source->lengthscales)
        return false;
    source->n = frozen->n;
    source->shift = frozen->shift;
    source->n_lengthscales = frozen->n_lengthscales;
    source->short_share = frozen->short_share;
    source->observations = 0;
    for (size_t i = 0; i < f->n_results; i++)
        source->observations += f->results[i].repeats;
    memcpy(source->weights, frozen->weights, frozen->n * sizeof *source->weights);
    memcpy(source->lengthscales, frozen->lengthscales, frozen->n_lengthscales * sizeof *source->lengthscales);
    for (size_t i = 0; i < frozen->n; i++)
        copy_point(f, frozen->arms[i], source->points + i * source->width);
    return true;
}

static wire_status freeze(freezing *f, size_t memory, wire_errors *errors)
{
    const wire_taken_over *shown = &f->history->shown;
    bandit_error error = {0};
    if (f->history->n == 0 && shown->n_examples > 0) {
        wire_errors_add(errors, f->pointer, "no result of '%s' fits this study: %s %s", f->source->study,
                        shown->examples[0].pointer, shown->examples[0].detail);
        return WIRE_INVALID;
    }
    if (f->history->n == 0) {
        wire_errors_add(errors, f->pointer, "'%s' has no results", f->source->study);
        return WIRE_INVALID;
    }
    bool space = f->config->wire->domain_type == WIRE_DOMAIN_SPACE;
    bandit_status status = space ? space_arms(f, &error) : list_arms(f, &error);
    if (status == BANDIT_OK && !take_results(f))
        return WIRE_NO_MEMORY;
    if (status == BANDIT_OK)
        status = learn(f, memory, &error);
    if (status == BANDIT_NO_MEMORY || (status == BANDIT_OK && !keep(f)))
        return WIRE_NO_MEMORY;
    if (status != BANDIT_OK)
        wire_errors_add(errors, f->pointer, "nothing can be learned from '%s': %s", f->source->study,
                        error.message);
    return status == BANDIT_OK ? WIRE_OK : WIRE_INVALID;
}

static wire_status freeze_source(store *s, size_t memory, study_config *config, wire_study *points, size_t i,
                                 wire_errors *errors, store_status *stored)
{
    char pointer[40];
    wire_source *source = &config->wire->learn_from[i];
    history_transfer *history = NULL;
    snprintf(pointer, sizeof pointer, "/learn_from/%zu", i);
    history_request asked = {
        .study = source->study, .pointer = pointer, .through_seq = INT64_MAX, .any_point = true};
    wire_status status = history_transfer_new(&history, s, config, &asked, points, errors, stored);
    if (status == WIRE_OK && *stored == STORE_OK) {
        freezing f = {
            .config = config, .points = points, .pointer = pointer, .source = source, .history = history};
        status = freeze(&f, memory, errors);
        bandit_arms_free(f.arms);
        bandit_frozen_clear(&f.frozen);
        free(f.results);
    }
    history_transfer_free(history);
    return status;
}

wire_status frozen_sources_make(store *s, size_t memory, study_config *config, wire_study *points,
                                wire_errors *errors, store_status *stored)
{
    const wire_study *definition = config->wire;
    wire_status status = WIRE_OK;
    if (definition->n_learn_from == 0)
        return WIRE_OK;
    if (definition->domain_type == WIRE_DOMAIN_CANDIDATES && !points->points &&
        !wire_sources_are_frozen(definition)) {
        wire_errors_add(errors, "/learn_from", "requires that the candidates are given with the study");
        return WIRE_INVALID;
    }
    for (size_t i = 0; i < definition->n_learn_from && status == WIRE_OK && *stored == STORE_OK; i++)
        if (definition->learn_from[i].n == 0)
            status = freeze_source(s, memory, config, points, i, errors, stored);
    return status == WIRE_OK && *stored == STORE_OK ? study_config_take_sources(config, errors) : status;
}
