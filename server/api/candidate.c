/* Adding, retiring, listing and showing candidates. candidates.c has the uploads. */
#include "proto/changes.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/http/paging.h"

#include <stdlib.h>
#include <string.h>

static void free_points(void *points)
{
    wire_points_free(points);
}

static void free_retire(void *retire)
{
    wire_retire_free(retire);
}

void handle_candidates_add(http_request *request)
{
    wire_points *points;
    wire_errors errors = {0};
    wire_status status = wire_decode_points(&points, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = points;
        request->context_free = free_points;
        call_study(request, study_add_candidates);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

void handle_candidates_retire(http_request *request)
{
    wire_retire *retire;
    wire_errors errors = {0};
    wire_status status = wire_decode_retire(&retire, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = retire;
        request->context_free = free_retire;
        call_study(request, study_retire_candidates);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

static void free_range(void *range)
{
    free(((candidate_range *)range)->retired);
    free(range);
}

static void look(http_request *request, int64_t first, size_t n, candidate_order order, bool alone)
{
    candidate_range *range = malloc(sizeof *range);
    if (!range) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *range = (candidate_range){.first = first, .n = n, .order = order, .alone = alone};
    request->context = range;
    request->context_free = free_range;
    call_study(request, study_list_candidates);
}

/* False: answered. */
static bool read_order(candidate_order *out, http_request *request)
{
    static const char *const names[] = {[ORDER_NUMBER] = "candidate",
                                        [ORDER_MEAN] = "mean",
                                        [ORDER_UCB] = "ucb",
                                        [ORDER_STD] = "std",
                                        [ORDER_PULLS] = "pulls"};
    const char *name = request->query[HTTP_QUERY_SORT];
    *out = ORDER_NUMBER;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!name || strcmp(name, names[i]) == 0) {
            *out = (candidate_order)i;
            return true;
        }
    http_answer_problem(request, 422, NULL,
                        "query parameter 'sort' must be 'candidate', 'mean', 'ucb', 'std' or 'pulls'");
    return false;
}

void handle_candidate_list(http_request *request)
{
    page p;
    candidate_order order;
    if (page_read(&p, request, true, -1) && read_order(&order, request))
        look(request, p.after + 1, p.limit, order, false);
}

void handle_candidate_get(http_request *request)
{
    look(request, request->number, 1, ORDER_NUMBER, true);
}
