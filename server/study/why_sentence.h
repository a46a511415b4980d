/* Makes one plain sentence that says why a trial was chosen. why_sentence.c defines what is declared here. */
#ifndef SERVER_STUDY_WHY_SENTENCE_H
#define SERVER_STUDY_WHY_SENTENCE_H

#include "bandit/reason.h"

#include <stdbool.h>
#include <stdint.h>

enum { WHY_SENTENCE = 160 };

typedef struct why_facts {
    bandit_reason_rule rule;
    double left; /* the share of the prior's variance that is left; NaN: unknown */
    double promise, ignorance;
    bool has_nearest;
    int64_t nearest; /* the trial of the nearest result; 0: an imported one */
    double distance; /* to it */
    int64_t leader;  /* the trial of the best result so far; 0: an imported one, or none leads */
    bool is_among_leaders, leaders_are_close;
} why_facts;

void why_sentence(char out[WHY_SENTENCE], const why_facts *facts);

#endif
