#include "server/study/probe.h"

#include "server/study/engine_lane.h"
#include "server/study/load.h"

#include <stdio.h>

/* Translates the engine's refusal into a status of the store. */
static store_status said(const engine_outcome *outcome, store_error *err)
{
    switch (outcome->error.status) {
    case BANDIT_OK:
    case BANDIT_MEMORY_LIMIT:
        return outcome->stored;
    case BANDIT_NO_MEMORY:
        return STORE_NO_MEMORY;
    case BANDIT_CANCELLED:
        return STORE_ABORTED;
    case BANDIT_INVALID_OPTION:
    case BANDIT_INVALID_ARMS:
    case BANDIT_INVALID_STATE:
    case BANDIT_UNSUPPORTED:
    case BANDIT_NUMERICAL:
        break;
    }
    snprintf(err->message, sizeof err->message, "%s", outcome->error.message);
    return STORE_CORRUPT;
}

static store_status try_engine(study *s, store_error *err)
{
    engine_source source = engine_source_of(s);
    engine_outcome outcome = {0};
    bool stored = s->batches > 0 || s->config->precomputed; /* the stored state may be damaged */
    if (!stored || s->state == STUDY_AWAITING_CANDIDATES || s->state == STUDY_ERROR)
        return STORE_OK;
    engine_ensure(s, &source, &outcome);
    study_drop_engine(s);
    return said(&outcome, err);
}

store_status study_try(const app *a, const char *id, int64_t number, store_error *err)
{
    app apart = {.config = a->config, .store = a->store, .pool = a->pool, .computing = a->computing};
    study *s = study_new(&apart, id);
    if (!s)
        return STORE_NO_MEMORY;
    s->staged = number;
    store_status status = study_load(s, err);
    if (!status) {
        status = try_engine(s, err);
        study_unload(s);
    }
    if (status == STORE_CORRUPT && !*err->message)
        snprintf(err->message, sizeof err->message, "its log contradicts itself");
    study_free(s);
    return status;
}
