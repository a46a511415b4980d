/* The rules of a study's definition that end the study (`stop_when`). They are judged when a batch begins; the rule
 * `cost` is judged after each result. */
#ifndef SERVER_STUDY_STOP_WHEN_H
#define SERVER_STUDY_STOP_WHEN_H

#include "server/study/engine_lane.h"

/* The first rules that hold: one that ends the study, and one that only advises it. Borrowed from the source's
 * definition; NULL: none. */
typedef struct stop_verdict {
    const wire_stop_when *ends, *tells;
} stop_verdict;

/* Of the previous batch. */
typedef struct stop_before {
    uint64_t results;   /* how many results its model had */
    const char *advice; /* in the stored form */
} stop_before;

/* Judges the engine's current batch, whose model has the results up to log position `through_seq`. If `out` has a
 * failure, no rule holds. Call it on the engine lane. A rule holds under these conditions:
 *   target      The recommended point's mean, less two deviations, is at least as good as the value. In addition, the
 *               point was measured twice, or there are 50 results, or the model without the point's own results also
 *               predicts for it a mean that is as good, less two deviations.
 *   stagnation  Without the points whose results are all among the last `results` results, the recommended point's mean
 *               would be worse by at most `gain` interquartile ranges of the points' values.
 *   regret      With at least `probability`, no point is better than the recommended one by more than epsilon.
 *               Functions that are drawn from the model show this with 95 % confidence. The rule needs 20 results, and
 *               three for each input. It is judged at 20 results and each time their number has grown by a sixth; in
 *               between, the last judgement is valid. */
stop_verdict stop_when_judge(study *s, const engine_source *source, int64_t through_seq,
                             const stop_before *before, engine_outcome *out);

/* Finishes the study, if it is active, when the cost of its results has reached the limit of a rule `cost`. Call it in
 * a turn, after results. */
void stop_when_spent(study *s);

/* Forgets the list of results, which is otherwise kept from batch to batch. Call it when results that the model
 * includes were amended, or when the engine is dropped. */
void stop_when_forget(study *s);

/* The text of state_reason that says why the study has finished. */
void stop_when_reason(char *out, size_t size, const wire_stop_when *rule, bool minimize);

#endif
