/* What an engine lets be seen, into a recording. */
#ifndef TESTS_SUPPORT_ENGINE_VIEW_H
#define TESTS_SUPPORT_ENGINE_VIEW_H

#include "bandit/engine.h"
#include "tests/support/recording.h"
#include "tests/support/scripted_study.h"

typedef struct engine_view {
    const script *script; /* all borrowed; the engine and its arms may be replaced by their equals */
    recording *seen;
    const bandit_engine *engine;
    const bandit_arms *arms;
    uint64_t fitted_on; /* rewards that hyper-parameters were learned from when they were last recorded */
} engine_view;

/* Of a batch that has begun: counts, sizes of what is stored, the dictionary, widths, and hyper-parameters
 * that are new. */
void engine_view_model(engine_view *v);

/* Means, variances and bounds: summed over all arms, of the first and the last one, and of points that are no
 * arms. */
void engine_view_posterior(engine_view *v);

/* What select chose; in a space that grows the points as well. */
void engine_view_picks(engine_view *v, const bandit_pick *picks, const bandit_selection *selection);

/* Of all arms that were pulled: how many they are, their pulls, the same weighted with their numbers; their
 * rewards, the same weighted with their places. */
void engine_view_sums(engine_view *v);

/* Bytes that the engine and its arms hold, which may differ by `relative`. */
void engine_view_memory(engine_view *v, double relative);

#endif
