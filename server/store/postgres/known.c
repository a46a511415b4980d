/* What the writer has read or written of studies and trials. It is forgotten when a write is taken back, and when there
 * is much of it. */
#include "server/store/postgres/postgres.h"

#include <stdlib.h>
#include <string.h>

enum { STUDIES = 1 << 12, TRIALS = 1 << 16 }; /* slots: a newer one takes the place of an older one */

typedef struct known_trial {
    int64_t study, trial; /* study 0: none */
    trial_record record;
} known_trial;

struct pg_known {
    study_record studies[STUDIES]; /* study 0: none */
    known_trial trials[TRIALS];
};

struct pg_known *pg_known_new(void)
{
    return calloc(1, sizeof(struct pg_known));
}

void pg_known_free(struct pg_known *known)
{
    free(known);
}

void pg_known_forget(struct pg_known *known)
{
    memset(known, 0, sizeof *known);
}

static study_record *study_slot(struct pg_known *known, int64_t study)
{
    return &known->studies[(uint64_t)study % STUDIES];
}

/* Trials of one study lie side by side; studies begin at places far apart (Fibonacci hashing). */
static known_trial *trial_slot(struct pg_known *known, int64_t study, int64_t trial)
{
    uint64_t place = (uint64_t)study * 0x9e3779b97f4a7c15u >> 48;
    return &known->trials[(place + (uint64_t)trial) % TRIALS];
}

bool pg_known_study(struct pg_known *known, int64_t study, study_record *out)
{
    const study_record *slot = study_slot(known, study);
    if (study == 0 || slot->study != study)
        return false;
    *out = *slot;
    return true;
}

void pg_know_study(struct pg_known *known, const study_record *record)
{
    *study_slot(known, record->study) = *record;
}

bool pg_known_trial(struct pg_known *known, int64_t study, int64_t trial, trial_record *out)
{
    const known_trial *slot = trial_slot(known, study, trial);
    if (study == 0 || slot->study != study || slot->trial != trial)
        return false;
    *out = slot->record;
    return true;
}

void pg_know_trial(struct pg_known *known, int64_t study, int64_t trial, const trial_record *record)
{
    *trial_slot(known, study, trial) = (known_trial){.study = study, .trial = trial, .record = *record};
}
