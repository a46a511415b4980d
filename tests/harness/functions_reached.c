/* Linked with what -finstrument-functions compiled: writes where each function is that is called, once, as an
 * offset in its library, to the end of the file that FUNCTIONS_REACHED names. For tests/mutation. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 1 << 14 };

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

static void write_down(void *function)
{
    const char *path = getenv("FUNCTIONS_REACHED");
    Dl_info place;
    char line[32];
    if (!path || !dladdr(function, &place))
        return;
    int length = snprintf(line, sizeof line, "%#tx\n", (char *)function - (char *)place.dli_fbase);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0 || write(file, line, (size_t)length) != length)
        abort();
    close(file);
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    static _Atomic(uintptr_t) seen[SLOTS];
    uintptr_t wanted = (uintptr_t)function;
    for (size_t i = wanted / 16 % SLOTS;; i = (i + 1) % SLOTS) {
        uintptr_t there = 0;
        if (atomic_load_explicit(&seen[i], memory_order_relaxed) == wanted)
            return;
        if (atomic_compare_exchange_strong(&seen[i], &there, wanted)) {
            write_down(function);
            return;
        }
        if (there == wanted)
            return;
    }
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)function;
    (void)call_site;
}
