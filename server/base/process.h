/* What the operating system reports about this process. */
#ifndef SERVER_BASE_PROCESS_H
#define SERVER_BASE_PROCESS_H

typedef struct process_statistics {
    double cpu_seconds; /* user and system */
    double resident_bytes;
    double machine_bytes; /* memory of the machine, or the limit of our control group if it is lower */
    double open_files, max_files;
    double started_at; /* seconds since 1970 */
} process_statistics;

/* Values that cannot be read are 0. */
void process_read_statistics(process_statistics *out);

#endif
