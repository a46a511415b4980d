/* The engine of a study with several modelled metrics: several objectives, or bounds that must hold. It wraps
 * one engine per metric (the study's algorithm, with the learning of hyper-parameters), which share the arms.
 * Each of these engines sees the rewards of its metric, and hallucinates all picks. None of them chooses
 * picks, except before the first result. A pick maximizes the joint acquisition (core/selection/joint.h) of
 * their posteriors: among candidates with a heap of upper bounds (several_list.c), in an open space by search
 * (several_space.c).
 *
 * The first metric has the random numbers of a study with one metric; each of the others has its own. The
 * whole engine follows from the stored states of the metrics' engines (several_state.c) and the picks in
 * flight. († ours) */
#ifndef CORE_ENGINE_SEVERAL_ENGINE_H
#define CORE_ENGINE_SEVERAL_ENGINE_H

#include "core/algorithms/bbkb.h"
#include "core/algorithms/space_engine.h"
#include "core/base/bound_heap.h"
#include "core/search/maximize.h"
#include "core/selection/joint.h"
#include "core/selection/location_prior.h"

/* For picks among candidates; current while `ready`. */
typedef struct bandit_several_list {
    bool ready;
    bool once; /* no metric has noise, so arms with a result or in flight are not picked again */
    bandit_heap heap;
    bandit_heap_entry *entries; /* n_arms */
    uint64_t *stamp;            /* n_arms: picks in flight when the bound was updated, plus one; 0: never */
    /* n metrics x n_arms: as in bandit_gain_selector, but bounds that were too loose are replaced. `work`:
     * scratch for one metric. */
    double *variance, *work;
    size_t capacity_entries, capacity_stamp, capacity_variance, capacity_work;
} bandit_several_list;

/* For picks in an open space; current while `ready` and for the same fixed values. */
typedef struct bandit_several_space {
    bool ready;
    double *fixed; /* the fixed values that the grid was made for */
    bandit_maximizer maximizer;
    bandit_grid grids[BANDIT_MOST_METRICS];
    bandit_surface known[BANDIT_MOST_METRICS]; /* of bounded metrics: the surface without picks in flight */
    double *known_on_grid;                     /* n metrics x n_grid: variances of these surfaces */
    double widening; /* of the next pick: the factor by which deviations are multiplied */
    bool
        of_context; /* the joint acquisition is that of the fixed context; its arms are points of the grid and, after
                      * these, the picks in flight (several_context.c) */
    double *values, *coded, *leader, *steps, *shortfall, *slope;
    bandit_feasibility feasibility;
    bandit_location_prior prior; /* of the next pick */
    size_t capacity_known, capacity_values, capacity_shortfall;
} bandit_several_space;

typedef struct bandit_several_engine {
    bandit_engine base;
    size_t n;
    bandit_metric metrics[BANDIT_MOST_METRICS]; /* in the units of the rewards */
    bandit_engine *inner[BANDIT_MOST_METRICS];
    bandit_status
        failure; /* status of a call that failed half-way, so that the metrics' engines have different data */
    bandit_result *results;
    uint32_t *out; /* n_out: arms in flight, those of earlier batches first */
    size_t n_out, capacity_results, capacity_out;
    bandit_joint joint;
    size_t n_joined; /* of `out`, the picks that `joint` includes */
    bool has_joint;  /* `joint` belongs to the current batch */
    size_t
        stagnates; /* arms visited since the leader of the arms with results was, when the joint acquisition of this
                       * batch was started; with one objective in an open space */
    bandit_several_list list;
    bandit_several_space space;
    unsigned char *state;
    size_t n_state, capacity_state;
} bandit_several_engine;

/* ---- several_engine.c ---------------------------------------------------------------------------------- */

extern const bandit_algorithm_table bandit_several_table;

/* Whether the options require such an engine. */
bool bandit_several_applies(const bandit_options *options);

/* BANDIT_INVALID_OPTION unless the metrics are valid and the algorithm takes them. */
bandit_status bandit_several_check(const bandit_options *options, bandit_error *err);

/* The engine that has the posterior of metric j: the one inside an engine that refits. */
bandit_engine *bandit_several_leaf(const bandit_several_engine *engine, size_t j);

/* Whether every metric's engine has a model. */
bool bandit_several_has_model(const bandit_several_engine *engine);

/* Hallucinates one pick in all metrics' engines, and notes it as in flight. Errors: those of
 * bandit_engine_replay_picks; then the engine is broken. */
bandit_status bandit_several_take_out(bandit_several_engine *engine, const bandit_pick *pick,
                                      const bandit_executor *executor, bandit_error *err);

/* ---- several_goals.c ----------------------------------------------------------------------------------- */

/* The metrics' bounds and thresholds in the units of the models. */
void bandit_several_goals(const bandit_several_engine *engine, bandit_metric *goals);

/* ---- several_joint.c ----------------------------------------------------------------------------------- */

/* Sets engine->joint to the joint acquisition of the current batch with the picks in flight. */
bandit_status bandit_several_join(bandit_several_engine *engine, bandit_error *err);

/* For bandit_several_join_context. The first sets engine->joint as above, but without picks in flight. The second adds
 * the next pick in flight, as an arm with the given number. */
bandit_status bandit_several_start_joint(bandit_several_engine *engine, bandit_error *err);
bandit_status bandit_several_join_next(bandit_several_engine *engine, uint32_t number, bandit_error *err);

/* ---- several_list.c ------------------------------------------------------------------------------------ */

void bandit_several_list_clear(bandit_several_list *list);
size_t bandit_several_list_memory(const bandit_several_list *list);

/* As bandit_algorithm_table.select, once there is a model. */
bandit_status bandit_several_select_list(bandit_several_engine *engine, const bandit_select_limits *limits,
                                         const bandit_executor *executor, bandit_pick *picks,
                                         bandit_selection *out, bandit_error *err);

/* As bandit_algorithm_table.explain, in the units of the models, once there are any. */
bandit_status bandit_several_explain_list(bandit_several_engine *engine, uint32_t arm,
                                          const bandit_select_limits *limits, bandit_reason *out,
                                          bandit_error *err);

/* ---- several_front.c ----------------------------------------------------------------------------------- */

/* What selects among candidates by the posterior of metric j. */
bandit_gain_selector *bandit_several_selector(const bandit_several_engine *engine, size_t j);

/* The deviation, in the units of the model, that belongs to a variance in the paper's scale; > 0. */
double bandit_several_known(const bandit_gain_selector *selector, double variance);

/* Evaluates the arm in all posteriors, without picks in flight: mean[j] and known[j] as in bandit_outlook. */
void bandit_several_look_list(bandit_several_engine *engine, uint32_t arm, double *mean, double *known);

/* Evaluates *n arms, as above; mean and known have a row of engine->n entries for each. If the goals, as for
 * bandit_joint_start, have thresholds, arms that cannot be on the front are left out: some other arm keeps
 * the bounds and is better in every objective; or the arm breaks a bound that some other arm keeps. Sets *n
 * to the number of remaining arms, which keep their order. If an arm certainly keeps the bounds, the entries of metrics
 * that are no objectives are estimates by which it keeps them. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_several_look_front(bandit_several_engine *engine, const bandit_metric *goals,
                                        uint32_t *arms, size_t *n, double *mean, double *known,
                                        bandit_error *err);

/* ---- several_space.c ----------------------------------------------------------------------------------- */

void bandit_several_space_clear(bandit_several_space *space);
size_t bandit_several_space_memory(const bandit_several_space *space);

/* As bandit_algorithm_table.select, once there is a model. */
bandit_status bandit_several_select_space(bandit_several_engine *engine, const bandit_select_limits *limits,
                                          const bandit_executor *executor, bandit_pick *picks,
                                          bandit_selection *out, bandit_error *err);

/* Whether no metric's noise gives a reason to evaluate a point twice, as bandit_space_is_silent. */
bool bandit_several_is_silent(const bandit_several_engine *engine);

/* As bandit_several_explain_list. */
bandit_status bandit_several_explain_space(bandit_several_engine *engine, uint32_t arm,
                                           const bandit_select_limits *limits, bandit_reason *out,
                                           bandit_error *err);

/* Makes the grid for these values, unless it exists. Needs the surfaces in space.known. Errors: BANDIT_NO_MEMORY,
 * BANDIT_MEMORY_LIMIT and those of bandit_maximizer_start. */
bandit_status bandit_several_make_grid(bandit_several_engine *engine, const double *fixed, bandit_error *err);

/* Evaluates n arms in all posteriors, as above; mean and known have a row of engine->n entries for each. The
 * first call in a batch starts the surfaces in space.known. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_several_look_space(bandit_several_engine *engine, const uint32_t *arms, size_t n,
                                        double *mean, double *known, bandit_error *err);

/* ---- several_flat.c ------------------------------------------------------------------------------------ */

/* Whether the results so far do not lead the next pick: without bounds, if each objective had equal values; while no arm
 * keeps the bounds, if a metric with bounds had. Not in the first revision. Since revision 4 also every fourth pick, if
 * one objective had. Call it after bandit_several_join. */
bool bandit_several_is_flat(const bandit_several_engine *engine);

/* ---- several_context.c --------------------------------------------------------------------------------- */

/* Whether picks with these fixed values compare with what can be reached in their context. */
bool bandit_several_in_context(const bandit_several_engine *engine, const double *fixed);

/* Sets engine->joint to the joint acquisition in the context, with the picks in flight that have the fixed values. Makes
 * the grid. */
bandit_status bandit_several_join_context(bandit_several_engine *engine, const double *fixed,
                                          bandit_error *err);

/* Sets the coded point of an arm of engine->joint (bandit_joint_front_arm), also if the joint acquisition is that of a
 * context. False: the grid has no points. */
bool bandit_several_front_point(const bandit_several_engine *engine, uint32_t arm, double *coded);

/* ---- reasons.c ----------------------------------------------------------------------------------------- */

/* Entry of bandit_several_table. */
bandit_status bandit_several_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                     const bandit_executor *executor, bandit_reason *out, bandit_error *err);

/* ---- several_state.c ----------------------------------------------------------------------------------- */

/* Writes engine->state. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_several_write_state(bandit_several_engine *engine, bandit_error *err);

/* Sets checkpoints[j] to that of metric j; it borrows from the checkpoint and from *memory, which the caller
 * frees. Errors: BANDIT_INVALID_STATE, BANDIT_NO_MEMORY. */
bandit_status bandit_several_read_state(const bandit_several_engine *engine,
                                        const bandit_checkpoint *checkpoint, bandit_checkpoint *checkpoints,
                                        void **memory, bandit_error *err);

#endif
