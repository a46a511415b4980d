#include "server/http/limits.h"

#include "server/app.h"

bool limit_studies(http_request *request)
{
    size_t n, most = request->app->config->max_studies;
    store_error error = {0};
    store_status status = store_count_studies(request->app->store, &n, &error);
    if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else if (n >= most)
        limit_studies_passed(request);
    return status == STORE_OK && n < most;
}

void limit_studies_in_write(const http_request *request, store_write *write)
{
    store_write_limit_studies(write, request->app->config->max_studies);
}

void limit_studies_passed(http_request *request)
{
    http_answer_problem(request, 422, NULL, "there are already %zu studies, the maximum (--max-studies)",
                        request->app->config->max_studies);
}

bool limit_values_fit(const http_request *request, size_t rows, size_t columns)
{
    return columns == 0 || rows <= request->app->config->max_values / columns;
}

void limit_values_passed(http_request *request)
{
    http_answer_problem(request, 413, NULL,
                        "a study may have at most %zu values, rows times columns (--max-values)",
                        request->app->config->max_values);
}

bool limit_results(http_request *request, size_t n)
{
    size_t most = request->app->config->max_results;
    wire_errors errors = {0};
    if (n <= most)
        return true;
    wire_errors_add(&errors, "/results", "must have at most %zu results, not %zu (--max-results)", most, n);
    http_answer_undecodable(request, WIRE_INVALID, &errors);
    wire_errors_clear(&errors);
    return false;
}
