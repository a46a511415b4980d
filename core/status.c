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

bandit_status bandit_fail(bandit_error *err, bandit_status status, const char *field, const char *format, ...)
{
    if (err) {
        va_list args;
        err->status = status;
        snprintf(err->field, sizeof err->field, "%s", field ? field : "");
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}
