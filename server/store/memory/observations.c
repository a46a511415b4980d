/* Imported results in the memory backend. */
#include "server/store/memory/memory.h"

#include <stdlib.h>
#include <string.h>

store_status memory_observation_insert(store *base, int64_t number, const store_imported *observation,
                                       store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_imported *imported = memory_with_room(study->imported, study->n_imported, sizeof *imported);
    if (!imported)
        return memory_exhausted(err);
    study->imported = imported;
    store_imported *row = &imported[study->n_imported++];
    *row = *observation;
    row->reason = strdup(observation->reason);
    row->recorded = strdup(observation->recorded);
    return row->reason && row->recorded ? STORE_OK : memory_exhausted(err);
}

store_status memory_observation_amend(store *base, int64_t number, int64_t seq, const store_event *event,
                                      bool *had_value, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_imported *row = &study->imported[event->u.reobserved.observation - 1];
    bool has_value = event->u.reobserved.has_value;
    const store_amendment kept = {.observation = row->observation,
                                  .seq = seq,
                                  .amended_at = event->time,
                                  .reason = event->u.reobserved.reason,
                                  .was = row->state,
                                  .had_value = row->has_value,
                                  .value = row->value,
                                  .repeats = row->repeats,
                                  .recorded = row->recorded,
                                  .was_reason = row->reason};
    *had_value = row->has_value;
    if (!memory_keep_amendment(study, &kept))
        return memory_exhausted(err);
    row->state = event->u.reobserved.state;
    row->has_value = has_value;
    row->value = has_value ? event->u.reobserved.value : 0.0;
    bool set = memory_set_text(&row->reason, has_value ? "" : event->u.reobserved.reason) &&
               memory_set_text(&row->recorded, event->u.reobserved.recorded);
    return set ? STORE_OK : memory_exhausted(err);
}

void memory_clear_imported(memory_study *study)
{
    for (size_t i = 0; i < study->n_imported; i++) {
        free((char *)study->imported[i].reason);
        free((char *)study->imported[i].recorded);
    }
    free(study->imported);
    study->imported = NULL;
    study->n_imported = 0;
}

store_status memory_read_observations(store *base, int64_t number, int64_t after_seq, int64_t through_seq,
                                      store_observation_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; i < study->n_imported; i++)
        if (study->imported[i].told_seq > after_seq && study->imported[i].told_seq <= through_seq)
            row(arg, &study->imported[i]);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_observation_page(store *base, int64_t number, int64_t after, size_t limit,
                                          store_observation_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    size_t first = after < 0 ? 0 : (size_t)after;
    for (size_t i = first; i < study->n_imported && i - first < limit; i++)
        row(arg, &study->imported[i]);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_observation_amendments(store *base, int64_t number, int64_t observation,
                                                store_amendment_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; i < study->n_amendments; i++)
        if (study->amendments[i].observation == observation)
            row(arg, &study->amendments[i]);
    return memory_unlock(base, STORE_OK);
}
