#include "tests/support/study_fixture.h"

#include "server/data/definition.h"
#include "server/study/create.h"
#include "server/study/observations.h"
#include "server/study/registry.h"
#include "server/study/requests.h"
#include "tests/support/refusals.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

struct study_call {
    study_request base;
    void (*free_context)(void *context);
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool answered, gone;
    study_answer answer;
};

/* ---- the client ---------------------------------------------------------------------------------------- */

static study_call *call_of(const study_request *request)
{
    return (study_call *)(uintptr_t)request;
}

static void finish(study_call *call)
{
    call->answered = true;
    pthread_cond_signal(&call->changed);
}

static void take_errors(study_answer *a, const wire_errors *errors)
{
    a->n_errors = errors ? errors->n : 0;
    for (size_t i = 0; i < a->n_errors && i < sizeof a->pointers / sizeof *a->pointers; i++)
        snprintf(a->pointers[i], sizeof a->pointers[i], "%s", errors->items[i].pointer);
}

static void take_reply(study_request *request, const study_reply *reply)
{
    study_call *call = call_of(request);
    study_answer *a = &call->answer;
    pthread_mutex_lock(&call->lock);
    study_answer_clear(a);
    *a = (study_answer){.kind = reply->kind,
                        .failure = reply->failure,
                        .unstored = reply->unstored,
                        .retry_after = reply->retry_after};
    if (reply->body)
        a->body = json_loadb(reply->body, reply->size, JSON_REJECT_DUPLICATES, NULL);
    free(reply->body);
    if (reply->detail)
        snprintf(a->detail, sizeof a->detail, "%s", reply->detail);
    take_errors(a, reply->errors);
    if (!request->held)
        finish(call);
    pthread_mutex_unlock(&call->lock);
}

static void release(study_request *request)
{
    study_call *call = call_of(request);
    pthread_mutex_lock(&call->lock);
    finish(call);
    pthread_mutex_unlock(&call->lock);
}

static bool is_gone(const study_request *request)
{
    study_call *call = call_of(request);
    pthread_mutex_lock(&call->lock);
    bool gone = call->gone;
    pthread_mutex_unlock(&call->lock);
    return gone;
}

static store_status keep(const study_request *request, int64_t number, store_write *write)
{
    (void)request;
    (void)number;
    (void)write;
    return STORE_OK;
}

static bool repeat(study_request *request, int64_t number)
{
    (void)request;
    (void)number;
    return false;
}

static study_call *call_new(const char *id, int64_t number, void *context, void (*free_context)(void *))
{
    static const study_client client = {
        .reply = take_reply, .release = release, .is_gone = is_gone, .keep = keep, .repeat = repeat};
    study_call *call = calloc(1, sizeof *call);
    assert_non_null(call);
    call->base = (study_request){
        .client = &client, .study = id, .number = number, .context = context, .caller = "", .operation = ""};
    call->free_context = free_context;
    pthread_mutex_init(&call->lock, NULL);
    pthread_cond_init(&call->changed, NULL);
    return call;
}

bool study_call_is_answered(study_call *call)
{
    pthread_mutex_lock(&call->lock);
    bool answered = call->answered;
    pthread_mutex_unlock(&call->lock);
    return answered;
}

void study_call_hang_up(study_call *call)
{
    pthread_mutex_lock(&call->lock);
    call->gone = true;
    pthread_mutex_unlock(&call->lock);
}

study_answer study_call_wait(study_call *call)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 120;
    int late = 0;
    pthread_mutex_lock(&call->lock);
    while (!call->answered && !late)
        late = pthread_cond_timedwait(&call->changed, &call->lock, &until);
    study_answer answer = call->answer;
    pthread_mutex_unlock(&call->lock);
    if (late)
        fail_msg("a request of study '%s' is not answered", call->base.study);
    if (call->free_context)
        call->free_context(call->base.context);
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    free(call);
    return answer;
}

/* ---- the server ---------------------------------------------------------------------------------------- */

static study_fixture *new_fixture(size_t evict_seconds)
{
    study_fixture *f = malloc(sizeof *f);
    assert_non_null(f);
    *f = (study_fixture){.config = {.max_studies = 8,
                                    .max_values = 1000,
                                    .max_results = 1000,
                                    .max_waiting = 4,
                                    .evict_seconds = evict_seconds,
                                    .study_memory = (size_t)1 << 30}};
    f->app.config = &f->config;
    assert_int_equal(store_open_memory(&f->app.store, NULL), STORE_OK);
    f->holder = "somebody";
    assert_non_null(f->app.places = budget_new());
    assert_non_null(f->app.pool = pool_new(2));
    assert_non_null(f->app.computing = computing_new(2, f->app.pool));
    assert_non_null(f->app.registry = registry_new(&f->app));
    return f;
}

study_fixture *study_fixture_new(void)
{
    return new_fixture(3600);
}

void study_fixture_free(study_fixture *f)
{
    atomic_store(&f->app.stopping, true);
    registry_stop_waiting(f->app.registry);
    registry_stop(f->app.registry);
    pool_free(f->app.pool);
    store_close(f->app.store);
    registry_free(f->app.registry);
    computing_free(f->app.computing); /* after the studies, whose accounts it keeps */
    assert_int_equal(budget_used(f->app.places), 0);
    budget_free(f->app.places);
    free(f);
}

int study_fixture_setup(void **state)
{
    *state = study_fixture_new();
    return 0;
}

int study_fixture_setup_evicting(void **state)
{
    *state = new_fixture(0);
    return 0;
}

int study_fixture_teardown(void **state)
{
    study_fixture_free(*state);
    return 0;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

study_answer study_fixture_try_create(study_fixture *f, const char *definition)
{
    wire_study *wanted;
    wire_errors errors = {0};
    char *text = with_quotes(definition);
    assert_int_equal(study_config_decode(&wanted, text, strlen(text), &errors), WIRE_OK);
    study_call *call = call_new("", -1, NULL, NULL);
    study_create(&f->app, &call->base, wanted, INT64_MAX);
    study_answer a = study_call_wait(call);
    free(text);
    return a;
}

void study_fixture_create(study_fixture *f, const char *definition)
{
    study_answer a = study_fixture_try_create(f, definition);
    if (a.kind != REPLY_CREATED)
        fail_msg("the study is refused: %s %s", a.detail, a.n_errors ? a.pointers[0] : "");
    study_answer_clear(&a);
}

static void free_ask(void *ask)
{
    wire_ask_free(ask);
}

static void free_tell(void *tell)
{
    wire_tell_free(tell);
}

static void free_amendment(void *change)
{
    wire_amendment_free(change);
}

static study_call *post(study_fixture *f, study_call *call, void (*run)(study *s, study_request *request))
{
    call->base.run = run;
    call->base.holder = f->holder;
    registry_post(f->app.registry, &call->base);
    return call;
}

study_call *study_fixture_send_ask(study_fixture *f, const char *id, const char *body)
{
    wire_ask *ask;
    wire_errors errors = {0};
    char *text = with_quotes(body);
    assert_int_equal(wire_decode_ask(&ask, text, strlen(text), &errors), WIRE_OK);
    free(text);
    return post(f, call_new(id, -1, ask, free_ask), study_ask);
}

study_answer study_fixture_ask(study_fixture *f, const char *id, const char *body)
{
    return study_call_wait(study_fixture_send_ask(f, id, body));
}

study_answer study_fixture_tell(study_fixture *f, const char *id, const char *body)
{
    wire_tell *tell;
    wire_errors errors = {0};
    char *text = with_quotes(body);
    assert_int_equal(wire_decode_tell(&tell, text, strlen(text), &errors), WIRE_OK);
    free(text);
    return study_call_wait(post(f, call_new(id, -1, tell, free_tell), study_tell));
}

static study_answer call_amend(study_fixture *f, const char *id, int64_t number, const char *body,
                               void (*run)(study *s, study_request *request))
{
    wire_amendment *change;
    wire_errors errors = {0};
    char *text = with_quotes(body);
    assert_int_equal(wire_decode_amendment(&change, text, strlen(text), &errors), WIRE_OK);
    free(text);
    return study_call_wait(post(f, call_new(id, number, change, free_amendment), run));
}

study_answer study_fixture_amend(study_fixture *f, const char *id, int64_t number, const char *body)
{
    return call_amend(f, id, number, body, study_amend);
}

study_answer study_fixture_amend_observation(study_fixture *f, const char *id, int64_t number,
                                             const char *body)
{
    return call_amend(f, id, number, body, study_amend_observation);
}

static void free_import(void *in)
{
    free(((import *)in)->list);
    free(in);
}

static void take_place(void *arg, const store_study *row)
{
    import *in = arg;
    in->study = row->study;
    in->candidates = row->candidates;
    strncpy(in->digest, row->digest, sizeof in->digest - 1);
}

study_answer study_fixture_observe(study_fixture *f, const char *id, const store_observation *list, size_t n)
{
    import *in = calloc(1, sizeof *in);
    assert_non_null(in);
    in->list = malloc(n * sizeof *list);
    assert_non_null(in->list);
    memcpy(in->list, list, n * sizeof *list);
    in->n = n;
    assert_int_equal(store_read_study(f->app.store, id, take_place, in, NULL), STORE_OK);
    return study_call_wait(post(f, call_new(id, -1, in, free_import), study_observe));
}

study_answer study_fixture_best(study_fixture *f, const char *id)
{
    return study_call_wait(post(f, call_new(id, -1, NULL, NULL), study_best));
}

study_answer study_fixture_delete(study_fixture *f, const char *id)
{
    static study_change whatever_it_is;
    return study_call_wait(post(f, call_new(id, -1, &whatever_it_is, NULL), study_delete));
}

/* ---- answers ------------------------------------------------------------------------------------------- */

void study_answer_clear(study_answer *a)
{
    json_decref(a->body);
    a->body = NULL;
}

static json_t *find(const study_answer *a, const char *path)
{
    json_t *at = a->body;
    char text[96];
    char *rest = text;
    snprintf(text, sizeof text, "%s", path);
    for (char *name; at && (name = strsep(&rest, "/"));)
        at = json_is_array(at) ? json_array_get(at, strtoul(name, NULL, 10)) : json_object_get(at, name);
    return at;
}

int64_t study_answer_integer(const study_answer *a, const char *path)
{
    json_t *found = find(a, path);
    if (!json_is_integer(found))
        fail_msg("the answer has no whole number at %s", path);
    return json_integer_value(found);
}

double study_answer_number(const study_answer *a, const char *path)
{
    json_t *found = find(a, path);
    if (!json_is_number(found))
        fail_msg("the answer has no number at %s", path);
    return json_number_value(found);
}

const char *study_answer_text(const study_answer *a, const char *path)
{
    return json_string_value(find(a, path));
}

static void take_number(void *arg, const store_study *row)
{
    *(int64_t *)arg = row->study;
}

int64_t study_fixture_number(study_fixture *f, const char *id)
{
    int64_t number = 0;
    assert_int_equal(store_read_study(f->app.store, id, take_number, &number, NULL), STORE_OK);
    return number;
}
