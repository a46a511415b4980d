/* Where a batch's time goes, for the benchmark. The engine has no clock: built with -DBANDIT_PROFILE it calls
 * a function that the measuring program defines; otherwise nothing is left of it.
 *
 *   bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_KERNEL);
 *   ... kernel entries ...
 *   bandit_stage_switch(outer);
 *
 * Not for calls so short that reading a clock (about 30 ns) would count. */
#ifndef CORE_BASE_STAGE_CLOCK_H
#define CORE_BASE_STAGE_CLOCK_H

typedef enum bandit_stage {
    BANDIT_STAGE_OTHER,
    BANDIT_STAGE_KERNEL,    /* entries k(x, x') of all arms with the dictionary */
    BANDIT_STAGE_PRODUCT,   /* the triangular products with them, and their norms */
    BANDIT_STAGE_FACTOR,    /* dictionary and V: factors, inverses, the pulled arms' embedding */
    BANDIT_STAGE_SELECTION, /* picks */
    BANDIT_STAGES
} bandit_stage;

#ifdef BANDIT_PROFILE
/* Charges the time since the last call to the calling thread's stage, and starts `next`; returns the stage
 * left. */
bandit_stage bandit_stage_switch(bandit_stage next);
#else
static inline bandit_stage bandit_stage_switch(bandit_stage next)
{
    (void)next;
    return BANDIT_STAGE_OTHER;
}
#endif

#endif
