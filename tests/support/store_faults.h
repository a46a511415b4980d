/* A layer between SQLite and the file system that fails on demand: the disk is full, breaks, or its syncs do;
 * or the machine loses its power. */
#ifndef TESTS_SUPPORT_STORE_FAULTS_H
#define TESTS_SUPPORT_STORE_FAULTS_H

#include <stdbool.h>

typedef enum store_fault {
    STORE_FAULT_NONE,
    STORE_FAULT_FULL,  /* writes: no space left */
    STORE_FAULT_SHORT, /* writes: half of the bytes, then no space left */
    STORE_FAULT_IO,    /* writes, truncations, syncs: input or output error */
    STORE_FAULT_SYNC   /* syncs only */
} store_fault;

/* Makes the layer the default for databases opened from now on in this process. tracks: what is synced is
 * kept track of, for store_faults_cut_power; nothing is really synced then. */
void store_faults_install(bool tracks);

/* From the nth call that the fault concerns on (1: the next one), calls fail: one, or all until the next
 * store_faults_set. */
void store_faults_set(store_fault fault, int nth, int once);

/* Instead: the nth write, truncation or sync from here on is the last thing that happens. What has been
 * synced is on the disk then; of all that was written since, each piece is there, or is not, or (a write)
 * only some of its 512-byte sectors are, as `seed` decides. The process writes the files as the disk has them
 * to <file>.lost, leaves out those that are not there, and ends with STORE_POWER_LOST. SQLite's shared memory
 * is lost anyway. */
#define STORE_POWER_LOST 86
void store_faults_cut_power(int nth, unsigned seed);

/* In a later process: puts the disk's files in the place of the others. */
void store_faults_restore_power(const char *path);

/* Writes, truncations and syncs so far. */
int store_faults_calls(void);

/* Calls that have failed since store_faults_set. */
int store_faults_failed(void);

#endif
