/* The rules of a study's definition that end it (`stop_when`), judged when a batch begins, or `cost` at once. */
#ifndef SERVER_STUDY_STOP_WHEN_H
#define SERVER_STUDY_STOP_WHEN_H

#include "server/study/engine_lane.h"

/* The first rules that hold: one that ends the study, and one that only advises it. Borrowed from the source's
 * definition; NULL: none. */
typedef struct stop_verdict {
    const wire_stop_when *ends, *tells;
} stop_verdict;

/* Of the batch before. */
typedef struct stop_before {
    uint64_t results;   /* that its model had */
    const char *advice; /* as it is stored */
} stop_before;

/* Judges the engine's current batch, whose model has the results up to log position `through_seq`. Nothing holds if
 * `out` has what failed. On the engine lane.
 *   target      the recommended point's mean less two deviations is at least as good as the value; and the point was
 *               measured twice, or there are 50 results, or what the model expects of it without its own results is as
 *               good, less two deviations, too
 *   stagnation  without the points that only the last `results` results are of, the recommended point's mean would
 *               be worse by at most `gain` interquartile ranges of the points' values
 *   regret      with at least `probability` no point is better than the recommended one by more than epsilon. This is
 *               shown with 95 % confidence by functions that are drawn from the model. It needs 20 results, and three
 *               for each input. It is judged at 20 results and each time they have grown by a sixth; in between the
 *               last judgement stands */
stop_verdict stop_when_judge(study *s, const engine_source *source, int64_t through_seq,
                             const stop_before *before, engine_outcome *out);

/* Finishes the study, if it is active, when its results have cost what a rule `cost` allows. In a turn, after
 * results. */
void stop_when_spent(study *s);

/* Forgets which results were read, which is kept from batch to batch: some that the model includes were amended, or the
 * engine is dropped. */
void stop_when_forget(study *s);

/* Why the study has finished, as state_reason says it. */
void stop_when_reason(char *out, size_t size, const wire_stop_when *rule, bool minimize);

#endif
