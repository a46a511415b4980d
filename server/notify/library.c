#include "server/notify/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

curl_library lib;

const char *const curl_library_names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

/* Finds the functions. Returns the name of the first one that the library lacks; NULL: it has all of them. */
static const char *find_functions(void *library)
{
    struct {
        const char *name;
        void *function; /* the address of a member of lib */
    } const wanted[] = {
#define X(name) {#name, &lib.name},
        CURL_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = dlsym(library, wanted[i].name);
        if (!address)
            return wanted[i].name;
        memcpy(wanted[i].function, &address, sizeof address);
    }
    return NULL;
}

static bool load(const char *const *names, char *why, size_t size)
{
    void *library = NULL;
    for (size_t i = 0; names[i] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, size, "%s cannot be loaded, which notifications need (package libcurl4)", names[0]);
        return false;
    }
    const char *missing = find_functions(library);
    if (missing)
        snprintf(why, size, "libcurl has no %s: it is older than 7.85", missing);
    else if (lib.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        snprintf(why, size, "libcurl could not be initialized");
    else
        return true;
    dlclose(library);
    return false;
}

bool curl_library_load(const char *const *names, char *why, size_t size)
{
    pthread_mutex_lock(&loading);
    loaded = loaded || load(names, why, size);
    bool ready = loaded;
    pthread_mutex_unlock(&loading);
    return ready;
}
