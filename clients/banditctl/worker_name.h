/* Names of workers that stay the same through restarts. */
#ifndef CLIENTS_BANDITCTL_WORKER_NAME_H
#define CLIENTS_BANDITCTL_WORKER_NAME_H

#include <stdbool.h>

/* A worker's name NAME-n and a folder of its own, both held until it is released or the process ends, however
 * it ends. n is the smallest number that no other process of this user on this machine holds for the same
 * server, study and NAME: a restarted process gets the names of its predecessor. */
typedef struct worker_name {
    char *name;
    char *folder;
    int lock; /* file descriptor */
} worker_name;

/* False: said why on standard error. */
bool worker_name_take(worker_name *out, const char *url, const char *study, const char *name);
void worker_name_release(worker_name *worker);

#endif
