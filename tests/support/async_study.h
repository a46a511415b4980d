/* Drives an engine as workers would, with rewards that come late and out of order, and checks at every batch
 * that an engine restored from the checkpoint is its equal to the bit. */
#ifndef TESTS_SUPPORT_ASYNC_STUDY_H
#define TESTS_SUPPORT_ASYNC_STUDY_H

#include "bandit/engine.h"
#include "tests/support/random_problem.h"

/* Runs parts in reverse order and claims `workers` of them. */
bandit_executor async_study_reversed(size_t workers);

/* Called at the start of every batch, before picks are selected; may be NULL. */
typedef void async_study_look(void *context, const bandit_engine *engine);

/* Runs `rounds` batches of problem->options. In each, a random part of what is out is told, up to five picks
 * are made in two calls of select, some beyond the bound, with some arms withheld; the second call is
 * repeated on an engine restored from the batch's checkpoint, under another executor, after the first call's
 * picks are replayed; picks, predictions and description must be the same bits. Aborts the test on any
 * difference. */
void async_study_check(const random_problem *problem, size_t rounds, async_study_look *look, void *context);

#endif
