/* The studies and trials that the writer has read or written. They are forgotten when a write is undone, and when there
 * are many. */
#include "server/store/postgres/postgres.h"

#include <stdlib.h>

/* Numbers of slots. A newer study or trial replaces an older one in its slot. Slots that are never used take no
 * physical memory. */
enum { STUDIES = 1 << 12, TRIALS = 1 << 18 };

typedef struct known_study {
    uint64_t era;
    study_record record;
} known_study;

typedef struct known_trial {
    uint64_t era;
    int64_t study, trial;
    trial_record record;
} known_trial;

struct pg_known {
    uint64_t era; /* entries of an earlier era are forgotten; the first era is 1 */
    known_study studies[STUDIES];
    known_trial trials[TRIALS];
};

struct pg_known *pg_known_new(void)
{
    struct pg_known *known = calloc(1, sizeof *known);
    if (known)
        known->era = 1;
    return known;
}

void pg_known_free(struct pg_known *known)
{
    free(known);
}

void pg_known_forget(struct pg_known *known)
{
    known->era++;
}

static known_study *study_slot(struct pg_known *known, int64_t study)
{
    return &known->studies[(uint64_t)study % STUDIES];
}

/* Blocks of trials, of the size that pg_trial_load reads, get places far apart (Fibonacci hashing). */
static known_trial *trial_slot(struct pg_known *known, int64_t study, int64_t trial)
{
    uint64_t block = (uint64_t)trial / pg_trials_at_once, at = (uint64_t)trial % pg_trials_at_once;
    uint64_t place = ((uint64_t)study * 0x9e3779b97f4a7c15u + block) * 0x9e3779b97f4a7c15u >> 32;
    return &known->trials[(place * pg_trials_at_once + at) % TRIALS];
}

bool pg_known_study(struct pg_known *known, int64_t study, study_record *out)
{
    const known_study *slot = study_slot(known, study);
    if (slot->era != known->era || slot->record.study != study)
        return false;
    *out = slot->record;
    return true;
}

void pg_know_study(struct pg_known *known, const study_record *record)
{
    *study_slot(known, record->study) = (known_study){.era = known->era, .record = *record};
}

bool pg_known_trial(struct pg_known *known, int64_t study, int64_t trial, trial_record *out)
{
    const known_trial *slot = trial_slot(known, study, trial);
    if (slot->era != known->era || slot->study != study || slot->trial != trial)
        return false;
    *out = slot->record;
    return true;
}

void pg_know_trial(struct pg_known *known, int64_t study, int64_t trial, const trial_record *record)
{
    *trial_slot(known, study, trial) =
        (known_trial){.era = known->era, .study = study, .trial = trial, .record = *record};
}
