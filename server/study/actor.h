/* A study at work: an actor that takes jobs in turn, and the study's engine, which has a lane of its own.
 *
 * Jobs (ask, tell, …) run one after the other in short turns on the pool; at most one thread is in a
 * study at any time. What a turn changes becomes one write to the store, and every answer it gives is held
 * until that write, and all before it, is on disk. If a write fails, its answers and those of all later turns
 * become 503, the study's memory is thrown away, and the next job loads it again from the store.
 *
 * Engine jobs (planning a batch, predictions) run one after the other as long tasks; they never touch the
 * actor's state, the actor never touches the engine, and they speak through jobs. */
#ifndef SERVER_STUDY_ACTOR_H
#define SERVER_STUDY_ACTOR_H

#include "proto/changes.h"
#include "server/app.h"
#include "server/http/http.h"

typedef struct study study;

/* A job of the actor; embedded in its owner's memory. */
typedef struct study_job {
    void (*run)(study *s, struct study_job *job);
    struct study_job *next;
} study_job;

/* How candidates are listed: by number, or by what the model knows of them, the best or the largest first. */
typedef enum candidate_order { ORDER_NUMBER, ORDER_MEAN, ORDER_UCB, ORDER_STD, ORDER_PULLS } candidate_order;

/* What GET …/candidates wants to see. */
typedef struct candidate_range {
    int64_t first; /* a number, or in another order a rank */
    size_t n;
    bool alone; /* one, by its number: not as a list */
    candidate_order order;
    bool *retired; /* of `first` on, or in another order of all; filled in the study's turn */
} candidate_range;

/* Candidates that have been uploaded. */
typedef struct candidate_upload {
    struct upload *upload; /* all of them are staged in it */
    size_t dimension;
    int64_t study; /* that they were read for */
} candidate_upload;

/* A user's own trial. */
typedef struct proposal {
    wire_proposal *wanted;
    double *point; /* of a space: its parameters, coded in the study's turn */
} proposal;

/* ---- what request handlers do in a study's turn -------------------------------------------------------- */

void study_ask(study *s, http_request *request);     /* context: wire_ask */
void study_tell(study *s, http_request *request);    /* context: wire_tell */
void study_observe(study *s, http_request *request); /* context: import, server/api/observations.c */
void study_delete(study *s, http_request *request);
void study_patch(study *s, http_request *request);             /* context: wire_study_patch */
void study_heartbeat(study *s, http_request *request);         /* context: wire_heartbeat */
void study_measure(study *s, http_request *request);           /* context: wire_measurement */
void study_amend(study *s, http_request *request);             /* context: wire_amendment */
void study_propose(study *s, http_request *request);           /* context: proposal */
void study_set_candidates(study *s, http_request *request);    /* context: begins with a candidate_upload */
void study_add_candidates(study *s, http_request *request);    /* context: wire_points */
void study_retire_candidates(study *s, http_request *request); /* context: wire_retire */
void study_list_candidates(study *s, http_request *request);   /* context: candidate_range */
void study_best(study *s, http_request *request);
void study_predict(study *s, http_request *request); /* context: wire_predict */
void study_model(study *s, http_request *request);

#endif
