/* Notes the news of a study's turn for the receivers of notifications (/v1/notify). news.c defines what is declared
 * here. */
#ifndef SERVER_STUDY_NEWS_H
#define SERVER_STUDY_NEWS_H

#include "server/study/study.h"

/* Call it before the study gets this state. */
void study_tell_state(study *s, study_state state, const char *reason);

void study_tell_better(study *s, int64_t id, double value);    /* the result is the best one now */
void study_tell_result(study *s, const trial *t, bool better); /* the trial has been closed */
void study_tell_failure(study *s);                    /* an attempt has failed, and there will be another */
void study_tell_expiry(study *s);                     /* a lease has expired */
void study_tell_advice(study *s, const char *advice); /* of the batch that has been planned; "": none */

/* Call it at the end of the turn. */
void study_tell_abandoned(study *s);

#endif
