/* The front of the results of a study with several objectives: of those that keep all bounds, the ones that no other
 * dominates. New results are compared with it. It is found in all results when it is first needed, and again after one of
 * its results was amended or a bound was changed. If it has more than 2000 points, it is not kept, and the functions say
 * false. Call them in the study's turn. known_front.c defines what is declared here. */
#ifndef SERVER_STUDY_KNOWN_FRONT_H
#define SERVER_STUDY_KNOWN_FRONT_H

#include "server/study/study.h"

/* Takes in a result. Is it on the front now, and none of the others equal to it? False with one objective. If the results
 * cannot be read, the turn fails. Call it before the result is kept in memory, where the front may be looked for. */
bool study_enters_front(study *s, double value, const char *recorded);

/* Before a result is amended, or after it: its old value, or its new one, if it has one. Is it on the front, then? False
 * with one objective. The second call needs the answer of the first. If the results cannot be read, the turn fails. */
bool study_front_before(study *s, bool has_value, double value, const char *recorded);
bool study_front_after(study *s, bool was_on_front, bool has_value, double value, const char *recorded);

/* The front must be found again. */
void study_forget_front(study *s);

void known_front_clear(known_front *front);

#endif
