/* Measures for the benchmark how the time of a batch divides into stages. The engine has no clock. Built with
 * -DBANDIT_PROFILE it calls a function that the measuring program defines; otherwise the calls compile to
 * nothing.
 *
 *   bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_KERNEL);
 *   ... kernel entries ...
 *   bandit_stage_switch(outer);
 *
 * Not for stages so short that reading a clock (about 30 ns) would distort them. */
#ifndef CORE_BASE_STAGE_CLOCK_H
#define CORE_BASE_STAGE_CLOCK_H

typedef enum bandit_stage {
    BANDIT_STAGE_OTHER,
    BANDIT_STAGE_KERNEL,    /* kernel entries k(x, x') of all arms with the dictionary */
    BANDIT_STAGE_PRODUCT,   /* triangular products with these entries, and their norms */
    BANDIT_STAGE_FACTOR,    /* dictionary and V: factors, inverses, embedding of the pulled arms */
    BANDIT_STAGE_SELECTION, /* picks */
    BANDIT_STAGES
} bandit_stage;

#ifdef BANDIT_PROFILE
/* Adds the time since the last call to the calling thread's stage, and starts stage `next`. Returns the stage
 * that ended. */
bandit_stage bandit_stage_switch(bandit_stage next);
#else
static inline bandit_stage bandit_stage_switch(bandit_stage next)
{
    (void)next;
    return BANDIT_STAGE_OTHER;
}
#endif

#endif
