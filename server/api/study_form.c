/* POST /v1/studies with a form: a definition, and files with the words of its parameters. */
#include "proto/study_form.h"
#include "bandit/engine.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/http/idempotency.h"
#include "server/http/limits.h"

#include <stdlib.h>

static void form_free(void *context)
{
    wire_study_form_free(context);
}

static void answer_reading(http_request *request, wire_status status, const wire_errors *errors)
{
    if (request->context && wire_study_form_is_too_large(request->context))
        limit_values_passed(request);
    else
        http_answer_undecodable(request, status, errors);
}

/* False: the request has been answered. */
static bool open_form(http_request *request)
{
    wire_errors errors = {0};
    wire_study_form *form;
    const char *type = http_header_value(request, "Content-Type");
    wire_status status = wire_study_form_new(&form, type, request->app->config->max_body,
                                             request->app->config->max_values, &errors);
    if (status == WIRE_OK) {
        request->context = form;
        request->context_free = form_free;
    } else {
        answer_reading(request, status, &errors);
    }
    wire_errors_clear(&errors);
    return status == WIRE_OK;
}

void handle_study_form_piece(http_request *request, const char *bytes, size_t n)
{
    if (!request->context && !open_form(request))
        return;
    wire_errors errors = {0};
    wire_status status = wire_study_form_feed(request->context, bytes, n, &errors);
    if (status == WIRE_OK)
        http_upload_continue(request);
    else
        answer_reading(request, status, &errors);
    wire_errors_clear(&errors);
}

void handle_study_form(http_request *request)
{
    wire_errors errors = {0};
    wire_study *wanted = NULL;
    if (idempotency_repeat(request, 0) || !limit_studies(request) ||
        (!request->context && !open_form(request)))
        return;
    wire_status status = wire_study_form_finish(request->context, &wanted, bandit_algorithm_names(), &errors);
    if (status == WIRE_OK)
        status = wire_refuse_frozen(wanted, &errors);
    if (status == WIRE_OK) {
        call_create(request, wanted, INT64_MAX);
    } else {
        answer_reading(request, status, &errors);
        wire_study_free(wanted);
    }
    wire_errors_clear(&errors);
}
