#include "server/api/fork_changed.h"

#include "server/api/calls.h"
#include "server/app.h"
#include "server/data/definition.h"

#include <stdlib.h>
#include <string.h>

/* Adjusts the pointers of errors: a fork gives the constraints next to the domain, not in it. */
static void point_at_fork(wire_errors *errors)
{
    static const char domain[] = "/domain";
    for (size_t i = 0; i < errors->n; i++) {
        char *pointer = errors->items[i].pointer;
        if (strncmp(pointer, domain, sizeof domain - 1) == 0)
            memmove(pointer, pointer + sizeof domain - 1, strlen(pointer + sizeof domain - 1) + 1);
    }
}

void fork_changed(http_request *request, const wire_fork *wanted, const char *definition, int64_t through_seq)
{
    char *text = NULL;
    size_t size;
    wire_study *changed = NULL;
    wire_errors errors = {0};
    wire_status status = wire_change_definition(&text, &size, definition, wanted, request->study);
    if (status == WIRE_OK)
        status = study_config_decode(&changed, text, size, &errors);
    if (status == WIRE_OK) {
        call_create(request, changed, through_seq);
        changed = NULL;
    } else {
        point_at_fork(&errors);
        http_answer_undecodable(request, status, &errors);
    }
    wire_study_free(changed);
    wire_errors_clear(&errors);
    free(text);
}
