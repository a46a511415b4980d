/* Studies that are made up: what there is to choose from, what it is worth, what is told when. All of it
 * follows from settings, from numbers of bandit/rng.h, and from sums and products. */
#ifndef TESTS_SUPPORT_SCRIPTED_STUDY_H
#define TESTS_SUPPORT_SCRIPTED_STUDY_H

#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/recording.h"

enum { SCRIPT_WIDTH = 120 /* features of a list, parameters of a space, at most */ };

typedef enum script_set {
    SCRIPT_LIST,      /* `arms` points of `features` numbers, in [0, 1] */
    SCRIPT_MATRIX,    /* the same, by the matrix of 1 / (1 + r^2), r their distance in lengthscales of 1/2 */
    SCRIPT_BOX,       /* a space of `features` doubles and integers, some on a log scale */
    SCRIPT_MIXED,     /* a space of every type of parameter, with conditions */
    SCRIPT_FEW,       /* a space of 54 points, which grows */
    SCRIPT_ENUMERATED /* the same, enumerated */
} script_set;

typedef struct script {
    script_set set;
    size_t arms, features;
    uint64_t
        twins; /* every so manyth point of a list or matrix stands where the one two before stands; 0: none */
    bandit_scaling scaling;
    bandit_options options; /* of the engine; kernel.lengthscales is set by script_options */
    double lengthscales[SCRIPT_WIDTH];
    size_t n_lengthscales;

    size_t rounds;   /* batches */
    size_t picks;    /* of one call of select, at most */
    bool twice;      /* select is called a second time in every batch */
    uint64_t beyond; /* in every so manyth batch the second call, for two picks, goes beyond the bound; 0: in
                        none */
    double told;     /* share of what is out that is told before a batch begins */
    double noise;    /* of rewards, about a standard deviation */
    double failed;   /* share of what is told that has no reward */
    double
        barrier; /* no reward either where the sum of the first two features of a space is more; 0: nowhere */
    double repeated;  /* share that stands for 2 to 4 pulls */
    double stray;     /* share that is 30 more, or less */
    size_t imports;   /* results before the first batch, */
    size_t later;     /* and before the fourth one, that the engine did not choose */
    double own;       /* share of the batches with a trial that somebody proposes */
    double amended;   /* share of the batches before which three results are corrected */
    double retired;   /* share of the batches after which an arm that was picked is withheld */
    size_t withheld;  /* arms of a set that does not grow, evenly spread, that are never picked */
    size_t appended;  /* points that join a list in the middle */
    uint64_t fixed;   /* in every so manyth batch the first parameter of a space is held; 0: in none */
    double offset;    /* of the rewards */
    double magnitude; /* of the rewards */
    double relative;  /* how near a real is to the recorded one */
    bool stored;      /* in the middle the state is recorded, and what restarts goes on from it */
    size_t looks;     /* predictions are made in every so manyth batch */
    uint64_t script_seed;
} script;

/* Reads the recording's settings; what is not set is as in scripted_study.c. */
void script_read(script *s, recording *r);

/* The options; they point into the script. */
bandit_options script_options(const script *s);

/* The set, the caller's. */
bandit_arms *script_arms(const script *s);

/* Entries of point i of a list (any i), or a point of a space, coded. */
void script_row(const script *s, size_t i, double *row);
void script_point(const script *s, size_t i, double *coded);

/* Is the set a space, and one that grows? */
bool script_is_space(const script *s);
bool script_is_open(const script *s);

/* What the purposes of numbers are; a number is uniform on [0, 1). */
typedef enum script_number {
    SCRIPT_FEATURES,
    SCRIPT_NOISE,
    SCRIPT_TOLD,
    SCRIPT_FAILED,
    SCRIPT_REPEATED,
    SCRIPT_STRAY,
    SCRIPT_IMPORTED,
    SCRIPT_OWN,
    SCRIPT_AMENDED,
    SCRIPT_RETIRED
} script_number;
double script_uniform(const script *s, script_number what, uint64_t i, uint64_t j);

/* Is the arm's point behind the barrier? */
bool script_is_barred(const script *s, const bandit_arms *arms, uint32_t arm);

/* Reward number t, of an arm. */
double script_reward(const script *s, const bandit_arms *arms, uint32_t arm, uint64_t t);

#endif
