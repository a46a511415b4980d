/* The requests to a study. Each function is a study_request.run: it is called in a turn, with the study
 * loaded, and replies at once or later. The comments give the type of `context`. */
#ifndef SERVER_STUDY_REQUESTS_H
#define SERVER_STUDY_REQUESTS_H

#include "proto/changes.h"
#include "server/study/request.h"

/* How candidates are listed: by number, or by a prediction or the pulls in descending order. */
typedef enum candidate_order {
    ORDER_NUMBER,
    ORDER_MEAN,
    ORDER_UCB,
    ORDER_STD,
    ORDER_PULLS,
    ORDER_FEASIBLE,
    CANDIDATE_ORDERS
} candidate_order;

/* Which candidates are listed. */
typedef struct candidate_range {
    int64_t first; /* a number; for orders other than ORDER_NUMBER, a rank */
    size_t n;
    bool filtered;      /* by the next two members */
    wire_integer pulls; /* only candidates with this many pulls; not given: all */
    enum { RETIRED_ANY, RETIRED_YES, RETIRED_NO } which;
    bool more;  /* there are more after the listed ones */
    bool alone; /* a single candidate, by its number, not a list */
    bool one;   /* a list of one candidate, found by its key */
    candidate_order order;
    const char *metric;  /* by whose prediction; borrowed from the request. NULL: by the first objective's */
    size_t metric_index; /* of the modelled metrics; set in the turn */
    bool *
        retired; /* from `first` on, or for other orders and with filters of all; set in the turn, freed by the caller */
} candidate_range;

/* Uploaded candidates. */
typedef struct candidate_upload {
    struct upload *upload; /* where all of them are staged */
    size_t dimension;
    char *const *
        names; /* n_names features, from the header of a file; borrowed. 0: none, or the definition names them */
    size_t n_names;
    const struct wire_keys *keys; /* borrowed; NULL: none were given */
    int64_t study;                /* the number of the study that they were read for */
} candidate_upload;

/* A trial that a user proposes. */
typedef struct proposal {
    wire_proposal *wanted;
    double *point;     /* for a space: its parameters, coded in the study's turn; freed by the caller */
    bool takes_broken; /* if the point breaks a constraint, the trial is infeasible at once */
    /* The broken constraint, borrowed from the study's definition; NULL: the point keeps all constraints. */
    const char *broken;
} proposal;

/* A question about the inputs of the model. The client owns the texts; NULL: not given. */
typedef struct input_query {
    const char *metric;
    const char *parameter, *with; /* for effects */
    int64_t points;
    double epsilon; /* for the outlook; NaN: not given */
} input_query;

/* A change of a study's definition or state. */
typedef struct study_change {
    wire_study_patch *patch;
    const char *if_match; /* entity tags, one of which must be the study's; NULL: any */
} study_change;

/* ---- actor.c -------------------------------------------------------------------------------------------------- */

void study_delete(study *s, study_request *request); /* study_change, of which only if_match counts */

/* ---- ask.c ---------------------------------------------------------------------------------------------------- */

void study_ask(study *s, study_request *request); /* wire_ask */

/* ---- tell.c --------------------------------------------------------------------------------------------------- */

void study_tell(study *s, study_request *request); /* wire_tell */

/* ---- amend.c -------------------------------------------------------------------------------------------------- */

/* In this and the next two functions, request->number is the trial. */
void study_amend(study *s, study_request *request); /* wire_amendment */

/* ---- heartbeat.c ---------------------------------------------------------------------------------------------- */

void study_heartbeat(study *s, study_request *request); /* wire_heartbeat */

/* ---- measure.c ------------------------------------------------------------------------------------------------ */

void study_measure(study *s, study_request *request); /* wire_measurement */

/* ---- propose.c ------------------------------------------------------------------------------------------------ */

void study_propose(study *s, study_request *request); /* proposal */

/* ---- patch.c -------------------------------------------------------------------------------------------------- */

void study_patch(study *s, study_request *request); /* study_change */

/* ---- amend_observation.c -------------------------------------------------------------------------------------- */

void study_amend_observation(study *s, study_request *request); /* wire_amendment; number: the result */

/* ---- observations.c ------------------------------------------------------------------------------------------- */

void study_observe(study *s, study_request *request); /* import, of observations.h */

/* ---- candidates.c --------------------------------------------------------------------------------------------- */

void study_set_candidates(study *s, study_request *request);     /* starts with a candidate_upload */
void study_add_candidates(study *s, study_request *request);     /* wire_points */
void study_retire_candidates(study *s, study_request *request);  /* wire_retire */
void study_restore_candidates(study *s, study_request *request); /* wire_retire */
void study_set_keys(study *s, study_request *request);           /* wire_keys: of all candidates */

/* ---- candidate_list.c ----------------------------------------------------------------------------------------- */

void study_list_candidates(study *s, study_request *request); /* candidate_range */

/* ---- best.c --------------------------------------------------------------------------------------------------- */

void study_best(study *s, study_request *request);

/* ---- queries.c ------------------------------------------------------------------------------------------------ */

void study_predict(study *s, study_request *request); /* wire_predict */
void study_model(study *s,
                 study_request *request); /* context: the name of a modelled metric; NULL: the first */

/* ---- insight.c ------------------------------------------------------------------------------------------------ */

void study_importance(study *s, study_request *request); /* input_query */
void study_effects(study *s, study_request *request);    /* input_query */

/* ---- outlook.c ------------------------------------------------------------------------------------------------ */

void study_outlook(study *s, study_request *request); /* input_query */

/* ---- diagnostics.c -------------------------------------------------------------------------------------------- */

void study_diagnostics(study *s, study_request *request); /* input_query */

#endif
