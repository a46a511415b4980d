/* A call that is not to fail: otherwise the test does, and says why. */
#ifndef TESTS_SUPPORT_MUST_H
#define TESTS_SUPPORT_MUST_H

#include "bandit/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void must(bandit_status status, const bandit_error *err)
{
    if (status != BANDIT_OK)
        fail_msg("%s: %s %s", bandit_status_text(status), err->field, err->message);
}

#endif
