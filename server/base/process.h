/* What the system knows of this process. */
#ifndef SERVER_BASE_PROCESS_H
#define SERVER_BASE_PROCESS_H

typedef struct process_statistics {
    double cpu_seconds; /* user and system */
    double resident_bytes;
    double machine_bytes; /* of memory, or what our control group may have of it */
    double open_files, max_files;
    double started_at; /* seconds since 1970 */
} process_statistics;

/* What cannot be read is 0. */
void process_read_statistics(process_statistics *out);

#endif
