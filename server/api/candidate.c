/* Retires, restores, lists and shows candidates. candidates.c and candidates_add.c have the uploads. */
#include "proto/changes.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/api/named.h"
#include "server/app.h"
#include "server/http/paging.h"

#include <stdlib.h>
#include <string.h>

static void free_retire(void *retire)
{
    wire_retire_free(retire);
}

static void change_candidates(http_request *request, void (*run)(study *s, study_request *call))
{
    wire_retire *retire;
    wire_errors errors = {0};
    wire_status status = wire_decode_retire(&retire, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = retire;
        request->context_free = free_retire;
        if (named_candidates(request, retire->keys, retire->candidates))
            call_study(request, run);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

void handle_candidates_retire(http_request *request)
{
    change_candidates(request, study_retire_candidates);
}

void handle_candidates_restore(http_request *request)
{
    change_candidates(request, study_restore_candidates);
}

static void free_range(void *range)
{
    free(((candidate_range *)range)->retired);
    free(range);
}

static void look(http_request *request, const candidate_range *wanted)
{
    candidate_range *range = malloc(sizeof *range);
    if (!range) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *range = *wanted;
    request->context = range;
    request->context_free = free_range;
    call_study(request, study_list_candidates);
}

/* The order that `name` begins with; if more follows, that is the name of a metric after a dot. */
static bool take_order(candidate_range *range, const char *name)
{
    static const char *const names[CANDIDATE_ORDERS] = {
        [ORDER_NUMBER] = "candidate", [ORDER_MEAN] = "mean",   [ORDER_UCB] = "ucb",
        [ORDER_STD] = "std",          [ORDER_PULLS] = "pulls", [ORDER_FEASIBLE] = "feasible_probability"};
    for (candidate_order i = ORDER_NUMBER; i < CANDIDATE_ORDERS; i++) {
        size_t n = strlen(names[i]);
        bool predicts = i == ORDER_MEAN || i == ORDER_UCB || i == ORDER_STD;
        bool names_metric = predicts && strncmp(name, names[i], n) == 0 && name[n] == '.';
        if (!names_metric && strcmp(name, names[i]) != 0)
            continue;
        range->order = i;
        range->metric = names_metric ? name + n + 1 : NULL;
        return true;
    }
    return false;
}

/* False: the request has been answered. */
static bool read_order(candidate_range *range, http_request *request)
{
    const char *name = request->query[HTTP_QUERY_SORT];
    if (!name || take_order(range, name))
        return true;
    http_answer_problem(
        request, 422, NULL,
        "query parameter 'sort' must be 'candidate', 'pulls', 'feasible_probability', 'mean', 'ucb' or "
        "'std', or one of the last three with a dot and the name of a metric");
    return false;
}

/* False: the request has been answered. */
static bool read_filters(candidate_range *range, http_request *request)
{
    const char *retired = request->query[HTTP_QUERY_RETIRED];
    range->pulls.given = request->query[HTTP_QUERY_PULLS] != NULL;
    range->filtered = range->pulls.given || retired;
    if (retired && strcmp(retired, "true") != 0 && strcmp(retired, "false") != 0) {
        http_answer_problem(request, 422, NULL, "query parameter 'retired' must be 'true' or 'false'");
        return false;
    }
    if (retired)
        range->which = strcmp(retired, "true") == 0 ? RETIRED_YES : RETIRED_NO;
    return query_integer(request, HTTP_QUERY_PULLS, "pulls", 0, WIRE_MAX_INTEGER, &range->pulls.value);
}

/* The one candidate that has the key, or an empty list. */
static void list_named(http_request *request)
{
    int64_t candidate = -1;
    const char *key = request->query[HTTP_QUERY_KEY];
    if (request->query[HTTP_QUERY_SORT] || request->query[HTTP_QUERY_RETIRED] ||
        request->query[HTTP_QUERY_PULLS]) {
        http_answer_problem(request, 422, NULL,
                            "query parameter 'key' cannot be given together with sort, retired or pulls");
    } else if (named_if_any(request, key, &candidate)) {
        wire_writer w = WIRE_WRITER_INIT;
        if (candidate >= 0) {
            look(request, &(candidate_range){.first = candidate, .n = 1, .one = true});
            return;
        }
        wire_list_begin(&w);
        wire_list_end(&w, NULL);
        http_answer_json(request, 200, &w);
    }
}

void handle_candidate_list(http_request *request)
{
    page p;
    candidate_range range = {0};
    if (request->query[HTTP_QUERY_KEY]) {
        list_named(request);
        return;
    }
    if (!page_read(&p, request, true, -1) || !read_order(&range, request) || !read_filters(&range, request))
        return;
    range.first = p.after + 1;
    range.n = p.limit;
    look(request, &range);
}

void handle_candidate_get(http_request *request)
{
    look(request, &(candidate_range){.first = request->number, .n = 1, .alone = true});
}
