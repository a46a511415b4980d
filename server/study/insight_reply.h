/* Replies about a study's model that are kept until the next batch. insight.c defines what is declared here. */
#ifndef SERVER_STUDY_INSIGHT_REPLY_H
#define SERVER_STUDY_INSIGHT_REPLY_H

#include "server/study/queries.h"

/* Replies with the text, and keeps it under this key for the next request of this batch. */
void insight_reply(study *s, study_request *request, int64_t batch, const char *key, wire_writer *w);

/* Replies with what was kept. False: nothing was. */
bool insight_reply_again(study *s, study_request *request, int64_t batch, const char *key);

/* Refuses, for a reason of the engine. */
void insight_refuse(study_request *request, const bandit_error *error);

/* Whether the query names a modelled metric, or none. False: the request is answered. Call in a turn. */
bool insight_is_modelled(const study *s, study_request *request, const char *metric);
/* The same of the first objective. */
bool insight_is_objective(const study *s, study_request *request, const char *metric);

/* The number of the metric that the query names, among the modelled ones; the first objective's if it names none. */
size_t insight_metric_of(const question *q);

#endif
