/* Shared by the jobs of the engine lane. engine_lane.c defines what is declared here. */
#ifndef SERVER_STUDY_ENGINE_LANE_H
#define SERVER_STUDY_ENGINE_LANE_H

#include "server/study/study.h"

/* The part of the study's state that a job needs, copied when the job is made. */
typedef struct engine_source {
    int64_t number;
    size_t candidates, dimension, reference_candidates; /* candidates: study_candidates */
    size_t broken; /* how many points after the candidates break constraints of an enumerated space */
    const study_config *config;
    uint64_t writes;     /* number of the last write of this state; loading from the store waits for it */
    int64_t batches;     /* planned so far; if there are any, an engine state is stored */
    int64_t trials;      /* numbered so far; a loaded engine does not take in later ones */
    int64_t through_seq; /* the model includes results up to this position of the log */
    bool unfinished;     /* the current batch is planned in parts and has more */
    bool has_keys;       /* some candidates have keys */
    size_t memory_limit; /* bytes that the engine may hold beyond its arms; 0: no limit */
} engine_source;

/* How an engine job ended. */
typedef struct engine_outcome {
    store_status stored; /* STORE_OK, or the store's failure */
    bandit_error error;  /* status BANDIT_OK, or why the engine refused */
} engine_outcome;

/* The message for figures that are infinite or NaN: sums, bounds or predictions have overflowed. */
extern const char engine_beyond_doubles[];

engine_source engine_source_of(const study *s);
bool engine_fine(const engine_outcome *outcome);
/* The same, and a checkpoint: the outcome may become BANDIT_CANCELLED. */
bool engine_goes_on(engine_outcome *outcome);

/* Call it at the end of every job. If the job has run out of memory or was given up, this counts as a failure that is
 * tried again, not as an error of the study. */
void engine_settle(engine_outcome *out);

/* Waits until the store has all writes of `from`. False: one of them failed. */
bool engine_wait_for_store(study *s, const engine_source *from);

/* Loads the arms from the store, unless they are loaded. */
void engine_ensure_arms(study *s, const engine_source *from, engine_outcome *out);

/* Loads the engine, with all stored picks, unless it is loaded. */
void engine_ensure(study *s, const engine_source *from, engine_outcome *out);

/* Makes the engine from what is stored. The arms must be loaded, and there must be no engine. */
void engine_build(study *s, const engine_source *from, engine_outcome *out);

/* Restores the engine from this state, with the stored picks since then. The arms must be loaded, and there must be no
 * engine. */
void engine_restore(study *s, const engine_source *from, const store_engine_state *stored,
                    engine_outcome *out);

/* Packs the state that is stored with a batch: the engine's bytes, and with asynchronous feedback the trials
 * in flight when the batch began. first_trial: the first trial of the batch. The caller frees *out. False:
 * out of memory. */
bool engine_state_pack(unsigned char **out, size_t *size, int64_t first_trial, const bandit_pick *pending,
                       size_t n_pending, const unsigned char *state, size_t n_state);

/* Frees the engine and its arms, which are loaded again when needed. Call on the engine lane, or while no job
 * uses the engine. */
void study_drop_engine(study *s);

/* Frees the copy of the engine that answers between batches (preview.h). Call on the engine lane, or while no job uses
 * the engine. */
void study_drop_preview(study *s);

/* Updates the engine's share of the memory count. Call on the engine lane. */
void study_count_memory(study *s);

/* study_renew_engine: candidates or options have changed, so the engine must be loaded again.
 * study_start_renewal posts the job that drops it. Call both in a turn. */
void study_renew_engine(study *s);
void study_start_renewal(study *s);

#endif
