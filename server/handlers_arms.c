/* Candidates one by one: added to a study, retired from it, looked at. */
#include "proto/changes.h"
#include "server/app.h"
#include "server/handlers.h"
#include "server/page.h"
#include "server/study.h"

#include <stdlib.h>

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
        registry_post(request->app->registry, request, study_add_candidates);
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
        registry_post(request->app->registry, request, study_retire_candidates);
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

static void look(http_request *request, int64_t first, size_t n, bool alone)
{
    candidate_range *range = malloc(sizeof *range);
    if (!range) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *range = (candidate_range){.first = first, .n = n, .alone = alone};
    request->context = range;
    request->context_free = free_range;
    registry_post(request->app->registry, request, study_list_candidates);
}

void handle_candidate_list(http_request *request)
{
    page p;
    if (page_read(&p, request, true, -1))
        look(request, p.after + 1, p.limit, false);
}

void handle_candidate_get(http_request *request)
{
    look(request, request->number, 1, true);
}
