/* Answers of `best` and `model` that a study keeps while somebody looks at it: they are then given from memory while a
 * batch is being planned, and do not wait for the engine. They tell of the last batch, as the engine would. After each
 * batch those that were asked for in the last minutes are made again, before the next batch can begin. */
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
    int64_t batches, best_trial, imported; /* of the study when it was made */
    double best_value;
    int64_t asked_at; /* ms of the steady clock: the last request; 0: never */
} remembered;

/* Each is called in a turn. */

/* True: the request was answered from memory. */
bool remembered_answer(study *s, study_request *request, remembered_kind kind);

/* Takes over question->kept, if it is still true. */
void remembered_keep(study *s, struct question *question);

void remembered_refresh(study *s); /* a batch was planned */
void remembered_forget(study *s);

#endif
