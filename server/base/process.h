/* What the operating system reports about this process. */
#ifndef SERVER_BASE_PROCESS_H
#define SERVER_BASE_PROCESS_H

#include <stddef.h>

typedef struct process_statistics {
    double cpu_seconds; /* user and system */
    double resident_bytes;
    double machine_bytes; /* memory of the machine, or the limit of our control group if it is lower */
    double open_files, max_files;
    double started_at; /* seconds since 1970 */
} process_statistics;

/* Values that cannot be read are 0. */
void process_read_statistics(process_statistics *out);

/* The number of processors that this process may use: those of its affinity, or the quota of our control group, rounded up,
 * if that is lower. At least 1. */
size_t process_processors(void);

#endif
