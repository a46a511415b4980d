/* A layer between SQLite and the file system that fails on demand: the disk is full, breaks, or its syncs do.
 */
#ifndef TESTS_SUPPORT_STORE_FAULTS_H
#define TESTS_SUPPORT_STORE_FAULTS_H

typedef enum store_fault {
    STORE_FAULT_NONE,
    STORE_FAULT_FULL,  /* writes: no space left */
    STORE_FAULT_SHORT, /* writes: half of the bytes, then no space left */
    STORE_FAULT_IO,    /* writes, truncations, syncs: input or output error */
    STORE_FAULT_SYNC   /* syncs only */
} store_fault;

/* Makes the layer the default for databases opened from now on in this process. */
void store_faults_install(void);

/* From the nth call that the fault concerns on (1: the next one), calls fail: one, or all until the next
 * store_faults_set. */
void store_faults_set(store_fault fault, int nth, int once);

/* Calls that have failed since store_faults_set. */
int store_faults_failed(void);

#endif
