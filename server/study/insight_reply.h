/* Replies about a study's model. They are kept until the next batch. insight.c defines what is declared here. */
#ifndef SERVER_STUDY_INSIGHT_REPLY_H
#define SERVER_STUDY_INSIGHT_REPLY_H

#include "server/study/queries.h"

/* Replies with the text, and keeps it under this key for the next request of this batch. */
void insight_reply(study *s, study_request *request, int64_t batch, const char *key, wire_writer *w);

/* Replies with the kept text. False: none is kept. */
bool insight_reply_again(study *s, study_request *request, int64_t batch, const char *key);

/* Refuses, for a reason of the engine. */
void insight_refuse(study_request *request, const bandit_error *error);

/* Does the query name a modelled metric, or no metric? False: the request has been answered. Call it in a turn. */
bool insight_is_modelled(const study *s, study_request *request, const char *metric);
/* The same for the first objective. */
bool insight_is_objective(const study *s, study_request *request, const char *metric);

/* The number, among the modelled metrics, of the one that the query names; if it names none, of the first objective. */
size_t insight_metric_of(const question *q);

#endif
