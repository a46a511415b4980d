/* The engine lane: what its jobs share. engine_lane.c defines what is declared here. */
#ifndef SERVER_STUDY_ENGINE_LANE_H
#define SERVER_STUDY_ENGINE_LANE_H

#include "server/study/study.h"

/* What a job needs to know of the study; copied when the job is made. */
typedef struct engine_source {
    int64_t number;
    size_t candidates, dimension, reference_candidates;
    const study_config *config;
    uint64_t writes; /* number of the last write that made it so: loading from the store waits for it */
    int64_t batches; /* planned so far; above 0 there is a stored engine state */
    int64_t trials;  /* numbered so far; an engine that is loaded hears of no later ones */
} engine_source;

/* How an engine job ended. */
typedef struct engine_outcome {
    store_status stored; /* STORE_OK, or the store failed */
    bandit_error error;  /* status BANDIT_OK, or the engine refused */
} engine_outcome;

/* The message for figures that are infinite or NaN: sums, bounds or predictions have overflowed. */
extern const char engine_beyond_doubles[];

engine_source engine_source_of(const study *s);
bool engine_fine(const engine_outcome *outcome);

/* Every job ends with this: when memory has run out, that is a failure to be tried again, not an error of the study. */
void engine_settle(engine_outcome *out);

/* Waits until the store has all writes of `from`. False: one of them has failed. */
bool engine_wait_for_store(study *s, const engine_source *from);

/* Loads the arms, as they are stored, unless they are loaded. */
void engine_ensure_arms(study *s, const engine_source *from, engine_outcome *out);

/* Loads the engine, as it was after the last stored pick, unless it is loaded. */
void engine_ensure(study *s, const engine_source *from, engine_outcome *out);

/* The state that is stored with a batch: the engine's own bytes, and with asynchronous feedback the trials in
 * flight when the batch began. first_trial: the batch's first. *out is the caller's to free; false: out of memory.
 */
bool engine_state_pack(unsigned char **out, size_t *size, int64_t first_trial, const bandit_pick *pending,
                       size_t n_pending, const unsigned char *state, size_t n_state);

/* Frees the engine and its arms; they are loaded again when needed. On the engine lane, or while no job is at it. */
void study_drop_engine(study *s);

/* On the engine lane: counts the memory that it has now. */
void study_count_memory(study *s);

/* The turn: candidates or options have changed, so the engine must be loaded again. study_start_renewal posts the
 * job that drops it. */
void study_renew_engine(study *s);
void study_start_renewal(study *s);

#endif
