/* Checks the definitions of an imported log. */
#include "server/data/space_rules.h"
#include "server/replay/rebuild_internal.h"

#include <stdlib.h>
#include <string.h>

/* The caller frees it; NULL: out of memory. */
static char *definition_text(const wire_study *definition)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text;
    size_t size;
    wire_encode_definition(&w, definition);
    return wire_writer_finish(&w, &text, &size) ? text : NULL;
}

/* The definition without the fields that a patch can change, and without names that an upload can give. Of bounds, a
 * patch can change the values, but not which bounds exist. */
static char *fixed_text(const wire_study *definition, bool without_names)
{
    wire_study fixed = *definition;
    wire_metric metrics[WIRE_MAX_METRICS];
    for (size_t i = 0; i < definition->n_metrics; i++) {
        metrics[i] = definition->metrics[i];
        metrics[i].threshold = (wire_number){0};
        metrics[i].at_least.value = metrics[i].at_most.value = 0;
    }
    fixed.metrics = metrics;
    if (without_names) {
        fixed.feature_names = NULL;
        fixed.n_feature_names = 0;
    }
    fixed.id = fixed.display_name = fixed.labels = fixed.metadata = NULL;
    fixed.horizon = fixed.min_in_flight = fixed.max_attempts = (wire_integer){0};
    fixed.lease_seconds = (wire_number){0};
    fixed.stop_when = NULL;
    fixed.n_stop_when = 0;
    return definition_text(&fixed);
}

static bool check_unchanged(rebuild *r, const study_config *config, rebuild_problem *p)
{
    /* an upload may have given them names since then, or other names as long as it replaces candidates */
    bool unnamed = r->config->wire->n_feature_names == 0 || (!r->named && r->trials == 0);
    char *before = fixed_text(r->config->wire, unnamed), *after = fixed_text(config->wire, unnamed);
    bool same = before && after && strcmp(before, after) == 0;
    bool no_memory = !before || !after;
    free(before);
    free(after);
    if (no_memory)
        return rebuild_out_of_memory(p);
    return same || rebuild_refuse(p, "definition", "changes fields that cannot be changed in a study");
}

static void drop(char **text)
{
    free(*text);
    *text = NULL;
}

static bool has_encoding(const wire_study *definition)
{
    for (size_t i = 0; i < definition->n_parameters; i++)
        if (definition->parameters[i].encoding)
            return true;
    return false;
}

/* Completes the definition. A definition that is older than "aim", "repeats", the method of the first picks, the
 * encoding of words, "agreeing_repeats", "warp_unit", "source_trust", "in_flight", "reference", "revision" or "stopped"
 * stays without that member, and keeps its meaning. A definition without an aim means "regret". */
static wire_status complete(wire_study *definition, wire_errors *problems)
{
    bool has_aim = definition->aim != NULL, has_repeats = definition->repeats != NULL;
    bool has_method = definition->algorithm.init_method != NULL, encodes = has_encoding(definition);
    bool has_limit = definition->algorithm.agreeing_repeats.given;
    bool has_unit = definition->algorithm.warp_unit != NULL;
    bool has_choice = definition->algorithm.in_flight != NULL;
    bool has_trust = definition->algorithm.source_trust != NULL;
    bool has_reference = definition->algorithm.reference != NULL;
    bool has_revision = definition->algorithm.revision.given;
    bool learns_stopped = definition->stopping.stopped != NULL;
    wire_status status = study_config_complete(definition, problems);
    if (!has_aim && definition->aim && strcmp(definition->aim, "regret") == 0)
        drop(&definition->aim);
    if (!has_repeats)
        drop(&definition->repeats);
    if (!has_method)
        drop(&definition->algorithm.init_method);
    if (!has_unit)
        drop(&definition->algorithm.warp_unit);
    if (!has_trust)
        drop(&definition->algorithm.source_trust);
    if (!has_reference)
        drop(&definition->algorithm.reference);
    if (!learns_stopped)
        drop(&definition->stopping.stopped);
    if (!has_limit)
        definition->algorithm.agreeing_repeats = (wire_number){0};
    if (!has_revision)
        definition->algorithm.revision = (wire_integer){0};
    if (!has_choice)
        drop(&definition->algorithm.in_flight);
    for (size_t i = 0; !encodes && i < definition->n_parameters; i++)
        drop(&definition->parameters[i].encoding);
    return status;
}

/* Does the definition have all values, so that completing it changes nothing? WIRE_INVALID: it does not. */
static wire_status check_complete(wire_study *definition, wire_errors *problems)
{
    bool fits = definition->id && !definition->points && wire_sources_are_frozen(definition);
    char *before = definition_text(definition), *after = NULL;
    wire_status status = !before ? WIRE_NO_MEMORY : fits ? complete(definition, problems) : WIRE_INVALID;
    if (status == WIRE_OK && !(after = definition_text(definition)))
        status = WIRE_NO_MEMORY;
    if (status == WIRE_OK && strcmp(before, after) != 0)
        status = WIRE_INVALID;
    if (status == WIRE_INVALID && problems->n == 0)
        wire_errors_add(problems, "", "the definition is incomplete");
    free(before);
    free(after);
    return status;
}

static wire_status read_definition(study_config **out, const char *text, wire_errors *problems)
{
    wire_study *definition = NULL;
    wire_status status = study_config_decode(&definition, text, strlen(text), problems);
    if (status == WIRE_OK)
        status = check_complete(definition, problems);
    if (status == WIRE_OK)
        return study_config_new(out, definition, problems);
    wire_study_free(definition);
    return status;
}

bool rebuild_take_definition(rebuild *r, const char *text, rebuild_problem *p)
{
    study_config *config = NULL;
    wire_errors problems = {0};
    wire_status status = read_definition(&config, text, &problems);
    if (status == WIRE_NO_MEMORY || problems.no_memory)
        rebuild_out_of_memory(p);
    else if (!config)
        rebuild_refuse(p, "definition", "the definition is not valid for this version: %.60s %.120s",
                       problems.n ? problems.items[0].pointer : "",
                       problems.n ? problems.items[0].detail : "");
    wire_errors_clear(&problems);
    if (!config || (r->config && !check_unchanged(r, config, p))) {
        study_config_free(config);
        return false;
    }
    study_config_free(r->config);
    r->config = config;
    bandit_error error = {0};
    if (!config->parameters || r->space ||
        space_arms_new(&r->space, config->wire, config->parameters, &error) == BANDIT_OK)
        return true;
    return error.status == BANDIT_NO_MEMORY
               ? rebuild_out_of_memory(p)
               : rebuild_refuse(p, "definition", "the space cannot be created: %s", error.message);
}
