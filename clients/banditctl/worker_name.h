/* Names of workers that stay the same after a restart. */
#ifndef CLIENTS_BANDITCTL_WORKER_NAME_H
#define CLIENTS_BANDITCTL_WORKER_NAME_H

#include <stdbool.h>

/* A worker's name NAME-n and its own folder. Both are held until they are released or the process ends, also
 * if it is killed. n is the smallest number that no other process of this user on this machine holds for the
 * same server, study and NAME. A restarted process therefore gets the names of its predecessor. */
typedef struct worker_name {
    char *name;
    char *folder;
    int lock; /* file descriptor */
} worker_name;

/* False: the error was printed on standard error. */
bool worker_name_take(worker_name *out, const char *url, const char *study, const char *name);
void worker_name_release(worker_name *worker);

#endif
