/* PATCH of a study: changes its definition and its state. */
#include "server/study/patch.h"

#include "proto/changes.h"
#include "proto/entity_tag.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/study_view.h"
#include "server/study/amend.h"
#include "server/study/engine_lane.h"
#include "server/study/known_front.h"
#include "server/study/requests.h"
#include "server/study/turn_end.h"

#include <stdlib.h>
#include <string.h>

static void clear_text(char **text, bool clear)
{
    if (!clear)
        return;
    free(*text);
    *text = NULL;
}

static void take_text(char **field, char **given)
{
    if (!*given)
        return;
    free(*field);
    *field = *given;
    *given = NULL;
}

/* Changes the value of an existing bound. Bounds cannot be added or removed, because they determine which metrics are
 * modelled, and how. */
static void patch_bound(wire_number *bound, const wire_number *given, const char *pointer,
                        wire_errors *errors)
{
    if (!given->given)
        return;
    if (!bound->given)
        wire_errors_add(errors, pointer, "the metric has no such bound, and none can be added");
    else
        *bound = *given;
}

/* The bounds of a changed metric must be in order. Other checks name the metric by its place in the definition; this one names it
 * by its place in the patch. */
static void check_order(const wire_metric *metric, const wire_metric_patch *change, size_t i,
                        wire_errors *errors)
{
    bool both = metric->at_least.given && metric->at_most.given;
    if (!both || metric->at_least.value < metric->at_most.value)
        return;
    if (change->at_most.given)
        wire_errors_add(errors, log_format("/metrics/%zu/at_most", i), "must be greater than \"at_least\"");
    else if (change->at_least.given)
        wire_errors_add(errors, log_format("/metrics/%zu/at_least", i), "must be less than \"at_most\"");
}

/* Changes thresholds and bounds. */
static void patch_metrics(wire_study *definition, const wire_study_patch *patch, wire_errors *errors)
{
    bool several = wire_count_objectives(definition) > 1;
    for (size_t i = 0; i < patch->n_metrics; i++) {
        const wire_metric_patch *change = &patch->metrics[i];
        size_t place = wire_metric_named(definition, change->name);
        if (place == definition->n_metrics) {
            wire_errors_add(errors, log_format("/metrics/%zu/name", i), "the study has no metric '%s'",
                            change->name);
            continue;
        }
        wire_metric *metric = &definition->metrics[place];
        if (change->threshold.given && (!several || metric->recorded || metric->constraint))
            wire_errors_add(errors, log_format("/metrics/%zu/threshold", i),
                            "applies to several objectives only");
        else if (change->threshold.given)
            metric->threshold = change->threshold;
        patch_bound(&metric->at_least, &change->at_least, log_format("/metrics/%zu/at_least", i), errors);
        patch_bound(&metric->at_most, &change->at_most, log_format("/metrics/%zu/at_most", i), errors);
    }
    for (size_t i = 0; errors->n == 0 && i < patch->n_metrics; i++)
        check_order(&definition->metrics[wire_metric_named(definition, patch->metrics[i].name)],
                    &patch->metrics[i], i, errors);
}

/* Checks the goals together, as at creation. */
static wire_status check_goals(const wire_study *definition, wire_errors *errors)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_study *again = NULL;
    char *text;
    size_t size;
    wire_encode_definition(&w, definition);
    if (!wire_writer_finish(&w, &text, &size))
        return WIRE_NO_MEMORY;
    wire_status status = study_config_decode(&again, text, size, errors);
    wire_study_free(again);
    free(text);
    return status;
}

/* The definition with the changes: a copy, because engine jobs may be reading the current one. */
static wire_status changed_definition(char **text, study_config **config, const study *s,
                                      wire_study_patch *patch, wire_errors *errors)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_study *definition = NULL;
    size_t size;
    *config = NULL;
    wire_encode_definition(&w, s->config->wire);
    if (!wire_writer_finish(&w, text, &size))
        return WIRE_NO_MEMORY;
    wire_status status = study_config_decode(&definition, *text, size, errors);
    free(*text);
    *text = NULL;
    if (status != WIRE_OK)
        return status;
    take_text(&definition->display_name, &patch->display_name);
    take_text(&definition->labels, &patch->labels);
    take_text(&definition->metadata, &patch->metadata);
    clear_text(&definition->display_name, patch->no_display_name);
    clear_text(&definition->labels, patch->no_labels);
    clear_text(&definition->metadata, patch->no_metadata);
    if (patch->horizon.given || patch->no_horizon)
        definition->horizon = patch->horizon;
    bool given_rules = patch->new_stop_when;
    if (given_rules) {
        free(definition->stop_when);
        definition->stop_when = patch->stop_when;
        definition->n_stop_when = patch->n_stop_when;
        patch->stop_when = NULL;
    }
    if (patch->lease_seconds.given)
        definition->lease_seconds = patch->lease_seconds;
    if (patch->max_attempts.given)
        definition->max_attempts = patch->max_attempts;
    if (patch->min_in_flight.given)
        definition->min_in_flight = patch->min_in_flight;
    if (given_rules && wire_stops_by_model(definition) && wire_has_several(definition))
        wire_errors_add(errors, "/stop_when",
                        "with several objectives or bounds, only the rule \"cost\" is available");
    patch_metrics(definition, patch, errors);
    status = errors->n > 0 ? WIRE_INVALID : patch->n_metrics > 0 ? check_goals(definition, errors) : WIRE_OK;
    if (status != WIRE_OK) {
        wire_study_free(definition);
        return status;
    }
    wire_encode_definition(&w, definition);
    if (!wire_writer_finish(&w, text, &size)) {
        wire_study_free(definition);
        return WIRE_NO_MEMORY;
    }
    return study_config_new(config, definition, errors);
}

/* Has the study ended because its horizon was reached, and does the patch leave the horizon as it is? */
static bool is_used_up(const study *s, const wire_study_patch *patch)
{
    bool changed = patch->no_horizon || (patch->horizon.given && patch->horizon.value > s->trials);
    return s->state == STUDY_FINISHED && !changed && s->trials >= study_horizon(s);
}

/* Finds the problems that depend on the study. True: there are none. */
static bool check_patch(const study *s, const wire_study_patch *patch, study_state *state,
                        wire_errors *errors, bool *conflict)
{
    *state = s->state;
    *conflict = false;
    bool reached = s->state == STUDY_FINISHED && s->trials >= study_horizon(s) && !*s->state_reason;
    if (patch->state)
        study_state_parse(state, patch->state);
    else if (reached && !is_used_up(s, patch))
        *state = STUDY_ACTIVE; /* the larger horizon continues it */
    if (patch->state && s->state == STUDY_AWAITING_CANDIDATES) {
        wire_errors_add(errors, "/state", "the study has no candidates yet");
        *conflict = true;
    }
    bool pauses = patch->state && strcmp(patch->state, "paused") == 0;
    if (pauses && s->state == STUDY_FINISHED && !is_used_up(s, patch)) {
        wire_errors_add(errors, "/state", "the study is finished: set it to active to continue it");
        *conflict = true;
    }
    if (patch->state && strcmp(patch->state, "finished") != 0 && is_used_up(s, patch)) {
        wire_errors_add(errors, "/state",
                        "the study is finished: its horizon of %lld trials is reached; give a larger "
                        "horizon, or null for none, to continue",
                        (long long)study_horizon(s));
        *conflict = true;
    }
    if (patch->horizon.given && patch->horizon.value < s->trials)
        wire_errors_add(errors, "/horizon", "%lld trials have been planned already", (long long)s->trials);
    if (patch->min_in_flight.given && !s->config->asynchronous)
        wire_errors_add(errors, "/min_in_flight", "applies to asynchronous feedback only");
    return errors->n == 0;
}

static void replace_config(study *s, study_config *config)
{
    config->next = s->config;
    s->config = config;
    remembered_forget(s);
}

static bool gives_bounds(const wire_study_patch *patch)
{
    bool some = false;
    for (size_t i = 0; i < patch->n_metrics; i++)
        some |= patch->metrics[i].at_least.given || patch->metrics[i].at_most.given;
    return some;
}

/* Finds the best trial by the new bounds, and its candidate (0: there is none). */
static store_status find_best(study *s, int64_t *candidate)
{
    store_status status = study_find_best(s);
    *candidate = 0;
    s->knows_best_imported = false;
    if (status == STORE_OK && s->best_trial > 0) {
        const trial *best = study_recall_trial(s, s->best_trial, &status);
        *candidate = best ? best->candidate : 0;
    }
    return status;
}

bool study_has_other_names(const study *s, char *const *names, size_t n)
{
    const wire_study *wire = s->config->wire;
    bool same = wire->n_feature_names == n;
    for (size_t i = 0; same && i < n; i++)
        same = strcmp(wire->feature_names[i], names[i]) == 0;
    return n > 0 && !same;
}

/* WIRE_INVALID: the names are not valid, so nothing was changed. */
static wire_status rename_features(study *s, char *const *names, size_t n, char **definition)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_study named = *s->config->wire, *decoded = NULL;
    wire_errors errors = {0};
    study_config *config = NULL;
    char *text;
    size_t size;
    named.feature_names = (char **)(uintptr_t)names;
    named.n_feature_names = n;
    wire_encode_definition(&w, &named);
    if (!wire_writer_finish(&w, &text, &size))
        return WIRE_NO_MEMORY;
    wire_status status =
        study_config_decode(&decoded, text, size, &errors); /* refuses empty and repeated names */
    if (status == WIRE_OK)
        status = study_config_new(&config, decoded, &errors);
    wire_errors_clear(&errors);
    if (status == WIRE_OK) {
        replace_config(s, config);
        *definition = text;
    } else {
        free(text);
    }
    return status;
}

bool study_name_features(study *s, char *const *names, size_t n, char **definition)
{
    *definition = NULL;
    if (!study_has_other_names(s, names, n))
        return true;
    wire_status status = rename_features(s, names, n, definition);
    if (status == WIRE_INVALID && s->config->wire->n_feature_names > 0)
        status = rename_features(s, NULL, 0, definition); /* the columns are not those of the old names */
    return status != WIRE_NO_MEMORY;
}

void study_free_old_configs(study *s)
{
    if (s->engine_jobs_out > 0)
        return;
    for (study_config *old = s->config->next, *next; old; old = next) {
        next = old->next;
        study_config_free(old);
    }
    s->config->next = NULL;
}

/* The study in the state that this turn's write will store. */
typedef struct patched_view {
    const study *s;
    const char *definition;
    study_state state;
    bool finds_best;
    int64_t best_candidate;
    int64_t now;
    wire_writer w;
    store_status status;
} patched_view;

static void show_patched(void *arg, const store_study *row)
{
    patched_view *v = arg;
    store_study shown = *row;
    shown.definition = v->definition;
    shown.state = v->state;
    if (v->state != v->s->state)
        shown.state_reason = "";
    if (v->finds_best) {
        shown.best_trial = v->s->best_trial;
        shown.best_candidate = v->best_candidate;
        shown.best_value = v->s->best_value;
    }
    shown.updated_at = v->now;
    v->status = study_view_encode(&v->w, v->s->app->store, v->s->app->definitions, &shown);
}

bool study_is_as_read(const study *s, study_request *request, const char *if_match)
{
    char etag[40];
    study_etag(etag, s->number, commit_next_seq(s->commit) - 1);
    if (!if_match || wire_etag_matches(if_match, etag))
        return true;
    reply_problem(request, REPLY_OUTDATED, NULL, "the study has changed since you read it: read it again");
    return false;
}

void study_patch(study *s, study_request *request)
{
    const study_change *change = request->context;
    wire_study_patch *patch = change->patch;
    wire_errors errors = {0};
    store_error error = {0};
    study_state state;
    bool conflict;
    char *definition = NULL;
    study_config *config = NULL;
    patched_view view = {.s = s, .now = clock_now()};
    if (!study_is_as_read(s, request, change->if_match))
        goto out;
    if (!check_patch(s, patch, &state, &errors, &conflict)) {
        reply_problem(request, conflict ? REPLY_CONFLICT : REPLY_INVALID, &errors,
                      "the study was not changed");
        goto out;
    }
    bool renews = patch->horizon.given || patch->no_horizon || patch->n_metrics > 0;
    wire_status status = changed_definition(&definition, &config, s, patch, &errors);
    if (status != WIRE_OK) {
        reply_undecodable(request, status, &errors);
        goto out;
    }
    view.definition = definition;
    view.state = state;
    view.finds_best = gives_bounds(patch) && s->config->n_objectives == 1;
    replace_config(s, config);
    if (gives_bounds(patch))
        study_forget_front(s); /* other results may keep the bounds */
    store_status stored = view.finds_best ? find_best(s, &view.best_candidate) : STORE_OK;
    if (stored == STORE_OK)
        stored = store_read_study(s->app->store, s->id, show_patched, &view, &error);
    if (stored == STORE_OK)
        stored = view.status;
    if (stored != STORE_OK) {
        commit_fail(s->commit, stored); /* the memory is ahead of the log, so the study is loaded again */
        reply_store_problem(request, stored);
        goto out;
    }
    const char *reason = state == s->state ? s->state_reason : "";
    if (view.finds_best)
        study_set_bounds(s, state, reason, definition, view.best_candidate);
    else
        study_set_state(s, state, reason, definition);
    if (renews && s->batches > 0)
        study_renew_engine(s); /* picks depend on thresholds and bounds, and some algorithms on the horizon */
    commit_hold(s->commit, request);
    reply_json(request, &view.w);
out:
    wire_writer_clear(&view.w);
    wire_errors_clear(&errors);
    free(definition);
}
