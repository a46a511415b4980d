/* Checks the entries of an imported log that have results, as strictly as requests. */
#include "server/replay/rebuild_internal.h"

#include "proto/json_parse.h"
#include "proto/recorded_values.h"

#include <math.h>
#include <string.h>

static bool is_measured(double value)
{
    return fabs(value) <= WIRE_MAX_VALUE; /* false for NaN */
}

static bool check_value(rebuild_problem *p, const char *member, double value)
{
    return is_measured(value) || rebuild_refuse(p, member, "must be a number from -1e100 to 1e100");
}

/* Parses "" or the text of a JSON object, which responses contain unchanged. NULL: *p says why not. */
static json_t *object_of(const char *member, const char *text, rebuild_problem *p)
{
    json_t *json = NULL;
    wire_errors errors = {0};
    wire_status status =
        wire_parse(&json, text && *text ? text : "{}", text && *text ? strlen(text) : 2, &errors);
    wire_errors_clear(&errors);
    if (json_is_object(json))
        return json;
    json_decref(json);
    if (status == WIRE_NO_MEMORY)
        rebuild_out_of_memory(p);
    else
        rebuild_refuse(p, member, "must be the text of a JSON object");
    return NULL;
}

/* Is it a metric whose value is stored in addition to that of the first objective? */
static bool is_recorded(const wire_study *wire, const char *name)
{
    for (size_t i = 0; i < wire->n_metrics; i++)
        if (&wire->metrics[i] != wire_objective(wire) && strcmp(wire->metrics[i].name, name) == 0)
            return true;
    return false;
}

/* Checks the reported standard errors, which are the last member of the text. */
static bool check_std_errors(const rebuild *r, const char *text, json_t *errors, rebuild_problem *p)
{
    char *values = wire_recorded_values(text), *own = wire_recorded_std_errors(text);
    char *joined = values && own ? wire_join_recorded(values, own) : NULL;
    bool good = joined ? wire_has_std_errors(text) && strcmp(joined, text) == 0 : rebuild_out_of_memory(p);
    free(values);
    free(own);
    free(joined);
    const char *name;
    json_t *value;
    json_object_foreach(errors, name, value)
    {
        size_t j = 0;
        while (j < r->config->n_modelled && strcmp(r->config->modelled[j]->name, name) != 0)
            j++;
        good = good && j < r->config->n_modelled && json_is_number(value) &&
               json_number_value(value) >= WIRE_MIN_STD_ERROR && json_number_value(value) <= WIRE_MAX_VALUE;
    }
    good = good && json_object_size(errors) > 0 && bandit_weighs_errors(&r->config->options);
    return good || p->no_memory || rebuild_refuse(p, "recorded", "the standard errors are not valid");
}

/* Checks the values other than that of the first objective. If the result has a value, all modelled metrics must have
 * one. */
static bool check_recorded(const rebuild *r, bool has_value, const char *text, rebuild_problem *p)
{
    json_t *object = object_of("recorded", text, p), *value;
    const char *name;
    if (!object)
        return false;
    bool good = true;
    json_object_foreach(object, name, value)
    {
        if (!*name) {
            good = good && check_std_errors(r, text, value, p);
            continue;
        }
        if (good && !is_recorded(r->config->wire, name))
            good = rebuild_refuse(p, "recorded", "'%.100s' is not a recorded metric of the study", name);
        if (good && (!json_is_number(value) || !is_measured(json_number_value(value))))
            good = rebuild_refuse(p, "recorded", "'%.100s' must be a number from -1e100 to 1e100", name);
    }
    for (size_t j = 1; good && has_value && j < r->config->n_modelled; j++)
        if (!json_object_get(object, r->config->modelled[j]->name))
            good = rebuild_refuse(p, "recorded", "'%.100s' is missing", r->config->modelled[j]->name);
    json_decref(object);
    return good;
}

static bool check_metadata(const char *text, rebuild_problem *p)
{
    json_t *object = object_of("metadata", text, p);
    if (!object)
        return false;
    json_decref(object);
    return !text || strlen(text) <= WIRE_MAX_RESULT_METADATA ||
           rebuild_refuse(p, "metadata", "must have at most %d bytes", WIRE_MAX_RESULT_METADATA);
}

/* Checks the state of a result, and its value if it has one. */
static bool check_result(trial_state state, bool has_value, double value, rebuild_problem *p)
{
    if (state == TRIAL_QUEUED || state == TRIAL_PENDING)
        return rebuild_refuse(p, "state", "must be completed, failed, infeasible or stopped");
    if (has_value ? state == TRIAL_FAILED || state == TRIAL_INFEASIBLE : state == TRIAL_COMPLETED)
        return rebuild_refuse(p, "value", has_value ? "must not be given with this state" : "is required");
    return !has_value || check_value(p, "value", value);
}

static bool check_repeats(int64_t repeats, rebuild_problem *p)
{
    return (repeats >= 0 && repeats <= WIRE_MAX_REPEATS) ||
           rebuild_refuse(p, "repeats", "must be from 1 to %d", WIRE_MAX_REPEATS);
}

bool rebuild_check_cost(double cost, rebuild_problem *p)
{
    return (cost >= 0.0 && cost <= WIRE_MAX_COST) ||
           rebuild_refuse(p, "cost", "must be from 0 to %g", WIRE_MAX_COST);
}

static bool check_front(const rebuild *r, bool front, rebuild_problem *p)
{
    return !front || r->config->n_objectives > 1 ||
           rebuild_refuse(p, "front", "must not be given: the study has one objective");
}

bool rebuild_check_trial_told(rebuild *r, store_event *event, rebuild_problem *p)
{
    return rebuild_check_trial(r, p, event->u.told.trial) &&
           check_result(event->u.told.state, event->u.told.has_value, event->u.told.value, p) &&
           check_repeats(event->u.told.repeats, p) &&
           rebuild_check_text(p, "reason", event->u.told.reason, WIRE_MAX_REASON) &&
           check_recorded(r, event->u.told.has_value, event->u.told.recorded, p) &&
           check_metadata(event->u.told.metadata, p) && rebuild_check_cost(event->u.told.cost, p) &&
           check_front(r, event->u.told.front, p);
}

bool rebuild_check_late_result_told(rebuild *r, store_event *event, rebuild_problem *p)
{
    return rebuild_check_trial(r, p, event->u.late.trial) && check_value(p, "value", event->u.late.value) &&
           check_repeats(event->u.late.repeats, p) && check_recorded(r, true, event->u.late.recorded, p) &&
           check_metadata(event->u.late.metadata, p) && rebuild_check_cost(event->u.late.cost, p) &&
           check_front(r, event->u.late.front, p);
}

bool rebuild_check_trial_estimated(rebuild *r, store_event *event, rebuild_problem *p)
{
    if (!r->config->estimates_stopped)
        return rebuild_refuse(p, "trial", "the study's definition does not estimate stopped trials");
    if (!wire_has_std_errors(event->u.estimated.recorded))
        return rebuild_refuse(p, "recorded", "must have a standard error");
    return rebuild_check_trial(r, p, event->u.estimated.trial) &&
           check_value(p, "value", event->u.estimated.value) &&
           check_recorded(r, true, event->u.estimated.recorded, p);
}

bool rebuild_check_best(const rebuild *r, rebuild_problem *p, int64_t trial, int64_t candidate, double value)
{
    if (trial < 0 || trial > r->trials)
        return rebuild_refuse(p, "best_trial", "there is no trial %lld", (long long)trial);
    if (candidate < 0 || (candidate >= r->candidates && trial > 0))
        return rebuild_refuse(p, "best_candidate", "there is no candidate %lld", (long long)candidate);
    return check_value(p, "best_value", value);
}

bool rebuild_check_trial_amended(rebuild *r, store_event *event, rebuild_problem *p)
{
    return rebuild_check_best(r, p, event->u.amended.best_trial, event->u.amended.best_candidate,
                              event->u.amended.best_value) &&
           rebuild_check_trial(r, p, event->u.amended.trial) &&
           check_result(event->u.amended.state, event->u.amended.has_value, event->u.amended.value, p) &&
           check_repeats(event->u.amended.repeats, p) &&
           rebuild_check_text(p, "reason", event->u.amended.reason, WIRE_MAX_REASON) &&
           check_recorded(r, event->u.amended.has_value, event->u.amended.recorded, p) &&
           check_front(r, event->u.amended.front, p);
}

bool rebuild_check_trial_measured(rebuild *r, store_event *event, rebuild_problem *p)
{
    return rebuild_check_trial(r, p, event->u.measured.trial) &&
           (event->u.measured.step >= 0 || rebuild_refuse(p, "step", "must be at least 0")) &&
           check_value(p, "value", event->u.measured.value);
}

bool rebuild_check_observations_added(rebuild *r, store_event *event, rebuild_problem *p)
{
    for (size_t i = 0; i < event->u.observed.n; i++) {
        const store_observation *o = &event->u.observed.list[i];
        if (o->candidate >= r->candidates)
            return rebuild_refuse(p, "observations", "observation %zu refers to no candidate", i);
        if (o->repeats < 1 || o->repeats > WIRE_MAX_REPEATS)
            return rebuild_refuse(p, "observations", "the repeats of observation %zu must be from 1 to %d", i,
                                  WIRE_MAX_REPEATS);
        if (!is_measured(o->value))
            return rebuild_refuse(p, "observations",
                                  "the value of observation %zu must be from -1e100 to 1e100", i);
        if (!check_recorded(r, true, o->recorded, p) || !rebuild_check_cost(o->cost, p))
            return false;
    }
    r->imported += (int64_t)event->u.observed.n;
    return true;
}

bool rebuild_check_observation_amended(rebuild *r, store_event *event, rebuild_problem *p)
{
    int64_t number = event->u.reobserved.observation;
    trial_state state = event->u.reobserved.state;
    bool has_value = event->u.reobserved.has_value;
    if (number < 1 || number > r->imported)
        return rebuild_refuse(p, "observation", "there is no imported result %lld", (long long)number);
    bool fits = has_value ? state == TRIAL_COMPLETED : state == TRIAL_FAILED || state == TRIAL_INFEASIBLE;
    if (!fits)
        return rebuild_refuse(p, "state",
                              "must be completed with a value, and failed or infeasible without one");
    return (!has_value || check_value(p, "value", event->u.reobserved.value)) &&
           check_recorded(r, has_value, event->u.reobserved.recorded, p) &&
           rebuild_check_text(p, "reason", event->u.reobserved.reason, WIRE_MAX_REASON);
}
