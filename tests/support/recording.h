/* What a program saw, in a file, to be compared with what it sees now.
 *
 * A recording is a text file of two parts. Up to a line of three dashes there are settings, written by
 * people: a name and its words a line, # before remarks. What follows was written by a run: a name and its
 * values a line, in the order in which they were seen; its first line says by which version and code path. A
 * run either writes that part anew or is compared with it, line by line: words and counts are the same, reals
 * within a tolerance that the caller gives. The first difference fails the test, with the line's number. */
#ifndef TESTS_SUPPORT_RECORDING_H
#define TESTS_SUPPORT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct recording recording;

/* Never NULL. `path` is borrowed. writes: what is seen is written, not compared; `by` names what writes. */
recording *recording_open(const char *path, bool writes, const char *by);

/* The next setting: its name, and in *words what stands behind it; NULL after the last. Both are borrowed
 * until the next call. */
const char *recording_setting(recording *r, const char **words);

/* What is wrong with the line of settings that was read last. Does not return. */
void recording_refuse(const recording *r, const char *why);

/* ---- what is seen, a line each; to be called after the last setting ------------------------------------ */
void recording_words(recording *r, const char *name, const char *words);
void recording_counts(recording *r, const char *name, const uint64_t *values, size_t n);
void recording_count(recording *r, const char *name, uint64_t value);

/* Each value may differ from the recorded one by `relative` times the larger of that one's magnitude and
 * `size`. NaN is NaN. Eight digits are written. */
void recording_reals(recording *r, const char *name, const double *values, size_t n, double relative,
                     double size);

/* Bytes that are stored by one version and read by another. The recorded ones, the caller's: those that are
 * given when this run writes, else what an earlier run gave, whatever is given now. */
unsigned char *recording_stored(recording *r, const char *name, const unsigned char *bytes, size_t *n);

/* Nothing more is seen, and nothing more is recorded. Frees it; a file that was written is in its place then.
 */
void recording_close(recording *r);

#endif
