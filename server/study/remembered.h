/* Answers to `best` and `model` that a study keeps while somebody looks at it. While a batch is being planned, such
 * requests are answered from memory and do not wait for the engine. The answers describe the last batch, as the
 * engine's would. After each batch the answers that were requested in the last minutes are recomputed before the next
 * batch can begin. */
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
