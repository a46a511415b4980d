/* Answers to `best` and `model` that a study keeps while somebody looks at it. As long as nothing happens in the study,
 * such requests are answered from memory. So they are while a batch is being planned, and do not wait for the engine: the
 * answers describe the last batch, as the engine's would. After each batch the answers that were requested in the last
 * minutes are recomputed before the next batch can begin. With several metrics, all of this holds for `model` only, since
 * every result changes the fronts; but `best` is kept while nothing happens. */
#ifndef SERVER_STUDY_REMEMBERED_H
#define SERVER_STUDY_REMEMBERED_H

#include "server/study/request.h"

struct question;

typedef enum remembered_kind {
    REMEMBERED_NOTHING,
    REMEMBERED_BEST,
    REMEMBERED_MODEL,
    REMEMBERED_KINDS
} remembered_kind;

typedef struct remembered {
    char *text; /* NULL: none */
    size_t size;
    int64_t batches, best_trial, imported; /* the study's values when the answer was made */
    int64_t seq;                           /* the last event of its log then; 0: not known */
    double best_value;
    int64_t asked_at; /* ms of the steady clock: the last request; 0: never */
} remembered;

/* Call all of these in a turn. */

/* True: the request was answered from memory. */
bool remembered_answer(study *s, study_request *request, remembered_kind kind);

/* Takes question->kept, if this answer is still valid. */
void remembered_keep(study *s, struct question *question);

void remembered_refresh(study *s); /* call when a batch was planned */
void remembered_forget(study *s);

#endif
