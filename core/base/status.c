#include "bandit/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *bandit_status_text(bandit_status status)
{
    switch (status) {
#define X(name, text)                                                                                        \
    case name:                                                                                               \
        return text;
        BANDIT_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

void bandit_error_set(bandit_error *err, bandit_status status, const char *field, const char *format, ...)
{
    if (!err)
        return;
    err->status = status;
    snprintf(err->field, sizeof err->field, "%s", field ? field : "");
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
}
