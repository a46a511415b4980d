/* Studies without HTTP: a real pool and registry over a store in memory. Requests are JSON text as HTTP bodies are;
 * answers are what the actor replies once it is true. In texts, ' stands for ". */
#ifndef TESTS_SUPPORT_STUDY_FIXTURE_H
#define TESTS_SUPPORT_STUDY_FIXTURE_H

#include "server/app.h"
#include "server/study/request.h"

#include <jansson.h>

typedef struct study_fixture {
    server_config config; /* small limits; may be changed while nothing runs */
    app app;
    const char *holder; /* whom the next requests are counted for */
} study_fixture;

study_fixture *study_fixture_new(void);
void study_fixture_free(study_fixture *f);

/* The same for cmocka_unit_test_setup_teardown: *state is the fixture. */
int study_fixture_setup(void **state);
int study_fixture_setup_evicting(void **state); /* idle studies without pending trials leave memory at once */
int study_fixture_teardown(void **state);

/* A study is created of this definition; its id is `id`. The test fails when that is refused. */
void study_fixture_create(study_fixture *f, const char *definition);

/* What the actor has replied. */
typedef struct study_answer {
    reply_kind kind;
    json_t *body;         /* NULL: none */
    char detail[512];     /* of a refusal; "" */
    char pointers[4][64]; /* of the first errors */
    size_t n_errors;
    store_status failure;
    bool unstored;
    int retry_after;
} study_answer;

void study_answer_clear(study_answer *a);

/* A request on its way. */
typedef struct study_call study_call;

/* Each sends a request of the study `id` and waits for the answer, which the caller clears. */
study_answer study_fixture_try_create(study_fixture *f, const char *definition);
study_answer study_fixture_ask(study_fixture *f, const char *id, const char *body);
study_answer study_fixture_tell(study_fixture *f, const char *id, const char *body);
study_answer study_fixture_amend(study_fixture *f, const char *id, int64_t trial, const char *body);
/* Imports n values of candidates. */
study_answer study_fixture_amend_observation(study_fixture *f, const char *id, int64_t number,
                                             const char *body);
study_answer study_fixture_observe(study_fixture *f, const char *id, const store_observation *list, size_t n);
study_answer study_fixture_best(study_fixture *f, const char *id);
study_answer study_fixture_delete(study_fixture *f, const char *id);

/* The same in two steps. */
study_call *study_fixture_send_ask(study_fixture *f, const char *id, const char *body);
bool study_call_is_answered(study_call *call);
void study_call_hang_up(study_call *call);      /* its client is gone */
study_answer study_call_wait(study_call *call); /* frees the call */

/* An integer of the answer's body, by a path such as "trials/0/id"; the test fails when there is none. */
int64_t study_answer_integer(const study_answer *a, const char *path);
double study_answer_number(const study_answer *a, const char *path);    /* the same for any number */
const char *study_answer_text(const study_answer *a, const char *path); /* borrowed; NULL: there is none */

/* The number of the study in the store. */
int64_t study_fixture_number(study_fixture *f, const char *id);

#endif
