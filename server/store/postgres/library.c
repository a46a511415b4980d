#include "server/store/postgres/library.h"

#include <dlfcn.h>
#include <string.h>

pq_library pq;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

static store_status load(store_error *err)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return store_fail(err, STORE_IO,
                          "libpq.so.5 cannot be loaded, which --database needs (package libpq5): %s",
                          dlerror());
    struct {
        const char *name;
        void *function; /* the address of a member of pq */
    } const wanted[] = {
#define X(name) {#name, &pq.name},
        PQ_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = dlsym(library, wanted[i].name);
        if (!address) {
            dlclose(library);
            return store_fail(err, STORE_IO, "libpq.so.5 has no %s: it is older than PostgreSQL 14's",
                              wanted[i].name);
        }
        memcpy(wanted[i].function, &address, sizeof address);
    }
    return STORE_OK;
}

store_status pq_load(store_error *err)
{
    pthread_mutex_lock(&loading);
    store_status status = loaded ? STORE_OK : load(err);
    loaded = status == STORE_OK;
    pthread_mutex_unlock(&loading);
    return status;
}
