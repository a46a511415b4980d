/* Corrections of imported results. */
#include "server/study/amend.h"

#include "proto/changes.h"
#include "proto/trials.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/observation_view.h"
#include "server/data/result_values.h"
#include "server/data/study_space.h"
#include "server/study/imported_best.h"
#include "server/study/known_front.h"
#include "server/study/remembered.h"
#include "server/study/requests.h"

#include <stdlib.h>
#include <string.h>

/* Frees a result from `recall`, which is a copy. */
static void forget(const store_imported *row)
{
    free((char *)(uintptr_t)row->recorded);
}

static void keep_row(void *arg, const store_imported *row)
{
    store_imported *kept = arg;
    *kept = *row;
    kept->recorded = strdup(row->recorded);
    kept->reason = "";
}

/* Reads the result after its last amendment, which may not be on disk yet. */
static store_status recall(const study *s, int64_t number, store_imported *out)
{
    store_error error = {0};
    const store_imported *known = pending_results_find_observation(s->results, number);
    *out = (store_imported){0};
    if (known) {
        keep_row(out, known);
        return out->recorded ? STORE_OK : STORE_NO_MEMORY;
    }
    store_status status =
        store_read_observation_page(s->app->store, s->number, number - 1, 1, keep_row, out, &error);
    if (status == STORE_OK && out->observation == number && !out->recorded)
        return STORE_NO_MEMORY;
    return status == STORE_OK && out->observation != number ? STORE_NOT_FOUND : status;
}

static told_result result_of(const store_imported *row)
{
    return (told_result){.state = row->state,
                         .has_value = row->has_value,
                         .value = row->value,
                         .repeats = row->repeats,
                         .recorded = row->recorded};
}

/* Applies the amendment; the caller records it. */
static store_status amend(study *s, const store_imported *was, const store_imported *now)
{
    bool joins;
    told_result before = result_of(was), after = result_of(now);
    amendment a = {.told_seq = was->told_seq, .change = {.arm = was->candidate}};
    bool was_on_front = study_front_before(s, was->has_value, was->value, was->recorded);
    if (!study_fill_change(s, &a.change, &before, &after))
        return STORE_NO_MEMORY;
    if (!pending_results_amend_observation(s->results, now, commit_number(s->commit), &joins) ||
        (joins && !pending_results_add_amendment(s->results, &a)))
        return STORE_NO_MEMORY;
    study_note_imported(s, now);
    study_front_after(s, was_on_front, now->has_value, now->value, now->recorded);
    return STORE_OK;
}

/* Reads the result; *recorded is the text of all values other than the first objective's. */
static bool read_value(const study *s, wire_result *result, const store_imported *was, char **recorded,
                       store_status *status, wire_errors *errors)
{
    char *read = NULL;
    *recorded = NULL;
    if (result->outcome == WIRE_INFEASIBLE)
        wire_errors_add(errors, "/state", "must be \"failed\": it withdraws the imported value");
    if (result->repeats.given)
        wire_errors_add(errors, "/repeats", "cannot be amended in an imported result");
    bool fine = result_values_read(s->config, result, "", &read, errors) && errors->n == 0;
    if (fine)
        *recorded = result_values_amended(s->config, result, was->recorded, read);
    fine = fine && *recorded;
    *status = fine || errors->n > 0 ? STORE_OK : STORE_NO_MEMORY;
    free(read);
    return fine;
}

static void record(study *s, const store_imported *now, const char *reason, int64_t time)
{
    store_event event = {.type = EVENT_OBSERVATION_AMENDED, .time = time};
    event.u.reobserved.observation = now->observation;
    event.u.reobserved.state = now->state;
    event.u.reobserved.has_value = now->has_value;
    event.u.reobserved.value = now->value;
    event.u.reobserved.recorded = now->recorded;
    event.u.reobserved.reason = reason ? reason : "";
    commit_record(s->commit, &event);
    log_event(LOG_INFO, "observation_amended", "study", s->id, "observation",
              log_format("%lld", (long long)now->observation), NULL);
}

static void answer(const study *s, study_request *request, const store_imported *now)
{
    const wire_study *definition = s->config->wire;
    trial_context of = {
        .definition = definition, .listed = s->reference_candidates, .width = candidate_width(definition)};
    int64_t candidate = now->candidate;
    store_error error = {0};
    store_status status = STORE_OK;
    double *point = malloc((of.width ? of.width : 1) * sizeof *point);
    if (!point)
        status = STORE_NO_MEMORY;
    else if (of.width > 0)
        status =
            candidate_rows_at(point, s->app->store, s->number, definition, of.width, &candidate, 1, &error);
    candidate_key key;
    if (status == STORE_OK)
        status = candidate_keys_at(&key, s->app->store, s->number, s->has_keys, &candidate, 1, &error);
    if (status == STORE_OK) {
        wire_imported shown = observation_view(now, &of, point, key.text);
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_imported(&w, &shown);
        reply_json(request, &w);
    } else {
        reply_store_problem(request, status);
    }
    free(point);
}

void study_amend_observation(study *s, study_request *request)
{
    wire_result *result = &((wire_amendment *)request->context)->result;
    wire_errors errors = {0};
    store_imported was;
    store_status status = request->number >= 1 && request->number <= s->imported
                              ? recall(s, request->number, &was)
                              : STORE_NOT_FOUND;
    if (status == STORE_NOT_FOUND) {
        reply_problem(request, REPLY_NOT_FOUND, NULL, "there is no observation %lld",
                      (long long)request->number);
        return;
    }
    if (status == STORE_OK && result->has_value && was.candidate >= study_candidates(s)) {
        reply_problem(request, REPLY_CONFLICT, NULL, "%s", study_breaks_constraint);
        forget(&was);
        return;
    }
    char *recorded = NULL;
    bool fine = status == STORE_OK && read_value(s, result, &was, &recorded, &status, &errors);
    store_imported now = was;
    now.recorded = recorded;
    now.has_value = result->has_value;
    now.state = result->has_value ? TRIAL_COMPLETED : TRIAL_FAILED;
    now.value = result->has_value ? result->value : 0.0;
    now.reason = !result->has_value && result->reason ? result->reason : "";
    if (fine)
        status = amend(s, &was, &now);
    if (fine && status != STORE_OK)
        commit_fail(s->commit, status); /* the memory is ahead of the log, so the study is loaded again */
    if (status != STORE_OK) {
        reply_store_problem(request, status);
    } else if (!fine) {
        reply_undecodable(request, WIRE_INVALID, &errors);
    } else {
        record(s, &now, result->reason, clock_now());
        remembered_forget(s);
        commit_hold(s->commit, request);
        answer(s, request, &now);
    }
    free(recorded);
    forget(&was);
    wire_errors_clear(&errors);
}
