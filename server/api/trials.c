/* Ask, tell, and the other requests that change a trial. They are decoded here and given to the study. */
#include "proto/changes.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/api/named.h"
#include "server/app.h"
#include "server/http/limits.h"
#include "server/http/paging.h"

#include <stdlib.h>
#include <string.h>

static void free_ask(void *ask)
{
    wire_ask_free(ask);
}

static void free_tell(void *tell)
{
    wire_tell_free(tell);
}

void handle_ask(http_request *request)
{
    wire_ask *ask;
    wire_errors errors = {0};
    wire_status status =
        wire_decode_ask(&ask, request->body ? request->body : "", request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = ask;
        request->context_free = free_ask;
        call_study(request, study_ask);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

void handle_tell(http_request *request)
{
    wire_tell *tell;
    wire_errors errors = {0};
    wire_status status = wire_decode_tell(&tell, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = tell;
        request->context_free = free_tell;
        if (limit_results(request, tell->n))
            call_study(request, study_tell);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

void handle_heartbeat(http_request *request)
{
    wire_errors errors = {0};
    wire_heartbeat *heartbeat = malloc(sizeof *heartbeat);
    wire_status status = WIRE_NO_MEMORY;
    request->context = heartbeat;
    request->context_free = free;
    if (heartbeat)
        status = wire_decode_heartbeat(heartbeat, request->body, request->body_size, &errors);
    if (status == WIRE_OK)
        call_study(request, study_heartbeat);
    else
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
}

void handle_measurement(http_request *request)
{
    wire_errors errors = {0};
    wire_measurement *measurement = malloc(sizeof *measurement);
    wire_status status = WIRE_NO_MEMORY;
    request->context = measurement;
    request->context_free = free;
    if (measurement)
        status = wire_decode_measurement(measurement, request->body, request->body_size, &errors);
    if (status == WIRE_OK)
        call_study(request, study_measure);
    else
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
}

static void free_amendment(void *amendment)
{
    wire_amendment_free(amendment);
}

void handle_trial_amend(http_request *request)
{
    wire_amendment *amendment;
    wire_errors errors = {0};
    wire_status status = wire_decode_amendment(&amendment, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = amendment;
        request->context_free = free_amendment;
        call_study(request, study_amend);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

static void free_proposal(void *context)
{
    proposal *p = context;
    if (!p)
        return;
    wire_proposal_free(p->wanted);
    free(p->point);
    free(p);
}

void handle_trial_propose(http_request *request)
{
    wire_errors errors = {0};
    proposal *p = calloc(1, sizeof *p);
    wire_status status = WIRE_NO_MEMORY;
    request->context = p;
    request->context_free = free_proposal;
    if (p && !query_takes_broken(request, &p->takes_broken))
        return;
    if (p)
        status = wire_decode_proposal(&p->wanted, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        if (named_candidate(request, p->wanted->key, "/key", &p->wanted->candidate))
            call_study(request, study_propose);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}
