/* What the model says of its inputs and of itself. */
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/http/paging.h"

#include <stdlib.h>

static void ask_inputs(http_request *request, void (*run)(study *s, study_request *call))
{
    int64_t points = 0;
    if (request->query[HTTP_QUERY_POINTS] &&
        !query_integer(request, HTTP_QUERY_POINTS, "points", 2, 100, &points))
        return;
    input_query *wanted = malloc(sizeof *wanted);
    if (!wanted) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *wanted = (input_query){.metric = request->query[HTTP_QUERY_METRIC],
                            .parameter = request->query[HTTP_QUERY_PARAMETER],
                            .with = request->query[HTTP_QUERY_WITH],
                            .points = points};
    request->context = wanted;
    request->context_free = free;
    call_study(request, run);
}

void handle_importance(http_request *request)
{
    ask_inputs(request, study_importance);
}

void handle_effects(http_request *request)
{
    ask_inputs(request, study_effects);
}

void handle_diagnostics(http_request *request)
{
    ask_inputs(request, study_diagnostics);
}
