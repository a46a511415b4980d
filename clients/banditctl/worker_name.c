#include "clients/banditctl/worker_name.h"
#include "clients/banditctl/allocate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 10000 };

/* FNV-1a. It keeps names of different servers and studies apart. A collision is harmless: two names then
 * share their numbers. */
static uint64_t digest(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
    return hash;
}

/* The folder of this user's workers; created if it does not exist. */
static char *base_folder(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat about;
    char *folder = runtime && *runtime ? format_text("%s/banditctl", runtime)
                                       : format_text("/tmp/banditctl-%ju", (uintmax_t)getuid());
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        fprintf(stderr, "banditctl: cannot create %s: %s\n", folder, strerror(errno));
    } else if (lstat(folder, &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != getuid() ||
               (about.st_mode & 022)) {
        fprintf(stderr, "banditctl: %s must be a folder that only its owner, this user, can write to\n",
                folder);
    } else {
        return folder;
    }
    free(folder);
    return NULL;
}

bool worker_name_take(worker_name *out, const char *url, const char *study, const char *name)
{
    uint64_t hash = digest(digest(digest(UINT64_C(0xcbf29ce484222325), url), study), name);
    char *base = base_folder();
    *out = (worker_name){.lock = -1};
    for (int n = 1; base && n <= NAMES_MAX; n++) {
        char *folder = format_text("%s/%016" PRIx64 "-%d", base, hash, n);
        char *path = format_text("%s/lock", folder);
        int lock = mkdir(folder, 0700) == 0 || errno == EEXIST
                       ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                       : -1;
        free(path);
        if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
            *out = (worker_name){.name = format_text("%s-%d", name, n), .folder = folder, .lock = lock};
            break;
        }
        int error = errno;
        if (lock >= 0)
            close(lock);
        if (error != EWOULDBLOCK) {
            fprintf(stderr, "banditctl: cannot lock %s: %s\n", folder, strerror(error));
            free(folder);
            break;
        }
        free(folder);
    }
    free(base);
    return out->name != NULL;
}

void worker_name_release(worker_name *worker)
{
    if (worker->lock >= 0 && worker->name)
        close(worker->lock);
    free(worker->name);
    free(worker->folder);
    *worker = (worker_name){.lock = -1};
}
