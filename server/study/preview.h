/* The model that the next batch would begin with. While no trial is being measured, only an ask would take the results
 * since the last batch into the model. So that answers include them all the same, they are given by a copy of the engine
 * that has taken them in. The engine itself does not change, so no question changes a pick.
 *
 * preview.c defines what is declared here. */
#ifndef SERVER_STUDY_PREVIEW_H
#define SERVER_STUDY_PREVIEW_H

#include "server/study/queries.h"

/* Gathers the results for a preview, in a turn. plan_free frees *out; it is NULL if the answer needs no preview: no
 * value waits for the next batch, or a trial is being measured, or a batch is being planned, or the engine has refused the
 * results. False: out of memory. */
bool preview_gather(struct plan **out, const study *s);

/* On the engine lane, with the engine loaded: answers by a copy, which is kept until something happens in the study or the
 * next batch begins. If the copy cannot be made, for example because both engines together would need more than
 * --study-memory, the answer is that of the current batch. */
void preview_answer(study *s, question *q);

#endif
