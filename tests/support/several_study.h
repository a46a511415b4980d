/* Studies with several modelled metrics, by the engine alone. */
#ifndef TESTS_SUPPORT_SEVERAL_STUDY_H
#define TESTS_SUPPORT_SEVERAL_STUDY_H

#include "bandit/engine.h"
#include "bandit/reason.h"

enum { SEVERAL_MOST = 128, SEVERAL_ARMS = 400, SEVERAL_METRICS = 3, SEVERAL_SIDES = 6 };

typedef void several_measured(const double *x, double *y);

/* A study in the unit square, as a space or as a list of random points; or in a cube of up to SEVERAL_SIDES dimensions. */
typedef struct several {
    bandit_arms *arms;
    bandit_options options;
    bandit_engine *engine;
    bandit_metric metrics[SEVERAL_METRICS];
    several_measured *measure;
    double unit;    /* of the second metric */
    double (*x)[2]; /* of a list; NULL: a space */
    size_t n;       /* trials so far */
    bandit_pick picks[SEVERAL_MOST];
    double values[SEVERAL_MOST][SEVERAL_METRICS];
    bandit_result results[SEVERAL_MOST];
} several;

/* Branin and Currin, both to be minimized; the third metric is 0. The best hypervolume above (-18, -6) is 59.36. */
void several_branin_currin(const double *x, double *y);

/* An objective; NAN: it has no threshold. */
bandit_metric several_objective(double threshold);
bandit_metric several_at_least(double low);

/* The unit cube as an open space; at most SEVERAL_SIDES. */
bandit_arms *several_cube(size_t dimensions);

/* An engine by log_ei with n metrics; everything is learned. s is to be closed. */
void several_open(several *s, bool list, const bandit_metric *metrics, size_t n, several_measured *measure);
/* The same in the unit cube. */
void several_open_cube(several *s, size_t dimensions, uint64_t seed, const bandit_metric *metrics, size_t n,
                       several_measured *measure);
/* Gives a study without trials an engine with the rules of `revision`; with `single`, for its first metric alone. */
void several_revise(several *s, size_t revision, bool single);
void several_close(several *s);

/* Measures the trials from `from` on. */
void several_measure(several *s, size_t from);

/* Begins a batch with the results `from` to `to`. */
void several_begin(several *s, size_t from, size_t to, const bandit_pick *pending, size_t n_pending);

/* -> the number of picks */
size_t several_choose(bandit_engine *engine, size_t n, bandit_pick *picks);

/* Begins a batch with the last result and chooses its first pick, in a restored engine as well; both must choose the same.
 * -> the reason that the restored engine has for it */
bandit_reason several_explain_next(several *s, bandit_pick *pick);

/* Trials in batches of `batch`, each after the results of the one before. */
void several_run(several *s, size_t trials, size_t batch);

#endif
