/* The keys of candidates: an array of texts by candidate. The store owns the texts. */
#include "server/store/memory/memory.h"

#include <stdlib.h>
#include <string.h>

void memory_clear_keys(memory_study *study)
{
    for (size_t i = 0; i < study->n_keys; i++)
        free(study->keys[i]);
    free(study->keys);
    study->keys = NULL;
    study->n_keys = 0;
}

store_status memory_keys_clear(store *base, int64_t number, store_error *err)
{
    (void)err;
    memory_clear_keys(memory_find(memory_of(base), number));
    return STORE_OK;
}

store_status memory_key_put(store *base, int64_t number, int64_t candidate, const char *key, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    char *copy = memory_copy(key, strlen(key) + 1);
    while (copy && study->n_keys <= (size_t)candidate) {
        char **keys = memory_with_room(study->keys, study->n_keys, sizeof *keys);
        if (!keys) {
            free(copy);
            return memory_exhausted(err);
        }
        study->keys = keys;
        study->keys[study->n_keys++] = NULL;
    }
    if (!copy)
        return memory_exhausted(err);
    free(study->keys[candidate]);
    study->keys[candidate] = copy;
    return STORE_OK;
}

bool memory_has_keys(const memory_study *study)
{
    for (size_t i = 0; i < study->n_keys; i++)
        if (study->keys[i])
            return true;
    return false;
}

/* False: the candidate has no key. */
static bool show(const memory_study *study, int64_t candidate, store_key_row *row, void *arg)
{
    if (candidate < 0 || (size_t)candidate >= study->n_keys || !study->keys[candidate])
        return false;
    const store_key key = {.candidate = candidate, .key = study->keys[candidate]};
    row(arg, &key);
    return true;
}

store_status memory_read_keys(store *base, int64_t number, int64_t first, size_t limit, store_key_row *row,
                              void *arg, store_error *err)
{
    store_status status;
    const memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t n = 0; n < limit && first < (int64_t)study->n_keys; first++)
        n += show(study, first, row, arg);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_keys_at(store *base, int64_t number, const int64_t *indices, size_t n,
                                 store_key_row *row, void *arg, store_error *err)
{
    store_status status;
    const memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; i < n; i++)
        show(study, indices[i], row, arg);
    return memory_unlock(base, STORE_OK);
}

store_status memory_find_key(store *base, int64_t number, const char *key, int64_t *candidate,
                             store_error *err)
{
    store_status status;
    *candidate = -1;
    const memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; *candidate < 0 && i < study->n_keys; i++)
        if (study->keys[i] && strcmp(study->keys[i], key) == 0)
            *candidate = (int64_t)i;
    return memory_unlock(base, STORE_OK);
}
