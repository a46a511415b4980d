#include "server/store/arena.h"
#include "server/store/memory/memory.h"

#include <stdlib.h>
#include <string.h>

static memory_setting *find(memory_store *s, const char *name)
{
    memory_setting *entry = s->settings;
    while (entry && (!entry->setting || strcmp(entry->setting->name, name) != 0))
        entry = entry->next;
    return entry;
}

store_status memory_setting_put(store *base, const store_setting *setting, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_setting *entry = find(s, setting->name);
    store_setting *copy;
    if (store_setting_copy(&copy, setting))
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        if (!entry) {
            free(copy);
            return store_fail(err, STORE_NO_MEMORY, "out of memory");
        }
        entry->next = s->settings;
        s->settings = entry;
    }
    s->set = entry;
    s->replaced = entry->setting;
    entry->setting = copy;
    return STORE_OK;
}

void memory_undo_setting(memory_store *s)
{
    if (s->set) {
        free(s->set->setting);
        s->set->setting = s->replaced;
    }
    s->set = NULL;
    s->replaced = NULL;
}

void memory_release_setting(memory_store *s)
{
    free(s->replaced);
    s->set = NULL;
    s->replaced = NULL;
}

void memory_free_settings(memory_store *s)
{
    while (s->settings) {
        memory_setting *next = s->settings->next;
        free(s->settings->setting);
        free(s->settings);
        s->settings = next;
    }
}

store_status memory_read_setting(store *base, const char *name, store_setting_row *row, void *arg,
                                 store_error *err)
{
    memory_store *s = memory_of(base);
    pthread_rwlock_rdlock(&s->lock);
    const memory_setting *entry = find(s, name);
    if (entry)
        row(arg, entry->setting->value);
    pthread_rwlock_unlock(&s->lock);
    return entry ? STORE_OK : store_fail(err, STORE_NOT_FOUND, "there is no setting '%s'", name);
}
