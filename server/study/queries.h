/* Questions to a study's model, answered on its engine lane. queries.c defines what is declared here. */
#ifndef SERVER_STUDY_QUERIES_H
#define SERVER_STUDY_QUERIES_H

#include "server/study/engine_lane.h"
#include "server/study/remembered.h"

typedef struct question {
    engine_job job;
    study_job done;
    engine_source source;
    study_request *request;
    int64_t best_trial, best_candidate;
    double best_value;
    int64_t imported, forgotten; /* the study's values at the question's turn */
    bool values_wait;            /* there are values that no batch includes yet */
    bool has_begun;              /* the engine has begun a batch */
    struct plan *preview;        /* the results of the preview that answers (preview.h); NULL: none is due */
    engine_outcome outcome;
    remembered_kind kind;                         /* which remembered answer this becomes, if any */
    char *kept;                                   /* a copy of the answer, if it is kept; NULL: none */
    void (*answer)(study *s, struct question *q); /* runs on the engine lane; answers the request */
} question;

/* Calls `answer` on the engine lane, with the engine in the state of the study at this turn, or with a preview if one is
 * due. `answer` must answer the request; its reply is held until that state is on disk. Call it in the study's turn. */
void question_ask(study *s, study_request *request, void (*answer)(study *s, question *q));

/* The same for `best` or `model`, whose answers are remembered. */
void question_ask_kept(study *s, study_request *request, remembered_kind kind);

/* Fills in the question with the study's state at this turn. */
void question_fill(question *q, const study *s, study_request *request, remembered_kind kind);

/* Answers with the writer's text, and keeps a copy if the answer is to be remembered. */
void question_reply(question *q, wire_writer *w);

void question_answer_model(study *s, question *q);

/* The engine's prediction in the metric's units and with its sign. */
wire_prediction question_in_units(const question *q, const bandit_prediction *p);

/* Does the metric have relevant noise, that is a standard deviation of at least a hundredth of the prior's? */
bool question_has_noise(const bandit_description *d);

/* Can JSON show the prediction? Options at the ends of their ranges can lead to infinities and NaN. */
bool question_shows(const wire_prediction *p);

/* ---- best.c -------------------------------------------------------------------------------------------- */

void question_answer_best(study *s, question *q);

/* The point that `best` recommends, by the model; for studies with one objective and no bounds. Its candidate is the
 * number of its arm. *evaluated: the model could be evaluated. */
store_status question_recommend(study *s, const question *q, wire_recommended *out, bool *evaluated);

#endif
