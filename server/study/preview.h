/* The model that the next batch would begin with. While no trial is being measured, only an ask would take the results
 * since the last batch into the model. So that an answer knows them all the same, it is given by a copy of the engine
 * that has taken them in. The engine itself does not change, so no question changes a pick.
 *
 * preview.c defines what is declared here. */
#ifndef SERVER_STUDY_PREVIEW_H
#define SERVER_STUDY_PREVIEW_H

#include "server/study/study.h"

struct plan;

/* Gathers the results for a preview, in a turn. plan_free frees *out; it is NULL if the answer needs no preview: no
 * value waits for the next batch, or a trial is being measured, or a batch is being planned. False: out of memory. */
bool preview_gather(struct plan **out, const study *s);

/* On the engine lane, with the engine loaded: puts the copy in the place of the study's engine. Returns the study's
 * engine, for preview_end; or NULL if the copy cannot be made, for example because both together would need more than
 * --study-memory, and then nothing has changed. */
bandit_engine *preview_begin(study *s, struct plan *p);
void preview_end(study *s, bandit_engine *own);

#endif
