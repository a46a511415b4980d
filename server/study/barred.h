/* Candidates that may not be handed out any more, because of results that the open batch does not include. barred.c defines
 * what is declared here. */
#ifndef SERVER_STUDY_BARRED_H
#define SERVER_STUDY_BARRED_H

#include "server/store/store.h"

#include <stddef.h>
#include <stdint.h>

struct study;
struct trial;

/* The results of a candidate: those that its record counts, and those that arrived later. */
typedef struct candidate_outcomes {
    uint32_t candidate;
    bool infeasible, evaluated;
    unsigned failures; /* in a row, up to the last one */
    int64_t succeeded; /* the last trial that did not fail; 0: none */
} candidate_outcomes;

/* Candidates whose queued picks may have become pointless. Begin with {0}, or with a list of your own if you add none. Once
 * study_suspects_gather has been called: in ascending order, each once. */
typedef struct suspects {
    candidate_outcomes *list; /* free it */
    size_t n, capacity;
    bool no_memory; /* the list is not complete */
} suspects;

/* Adds the candidate of a new result, unless a result in this state cannot make picks pointless. */
void study_suspects_add(const struct study *s, suspects *to, uint32_t candidate, trial_state state);

/* Looks up the results of all suspects, in one pass over the results. */
void study_suspects_gather(const struct study *s, suspects *all);

/* The results of the pick's candidate so far make the queued pick pointless: the candidate is infeasible; or its trials
 * failed max_arm_failures times in a row, and the pick was never handed out; or it has a result, and the study hands out no
 * candidate again. Returns the reason with which the pick is to be closed. NULL: it may be handed out, as users' own trials
 * always may, or the candidate is not among the suspects. */
const char *study_bar(const struct study *s, const suspects *all, const struct trial *pick);

/* Was the trial closed because its candidate had failed too often? Then it is not counted among the candidate's results:
 * it would end the row of failures. attempt: 0 if the trial was never handed out. */
bool study_is_barred_by_failures(trial_state state, int32_t attempt, const char *reason);

#endif
