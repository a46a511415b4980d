"""How programs under test run: strict sanitizers, one BLAS thread, and what counts as a report."""

import os
import re

# detect_stack_use_after_return stays off: GCC aligns the frames it then makes for 32 bytes, and stores vectors of
# 64 bytes to them (GCC bug 110027).
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=0:"
    "check_initialization_order=1:strict_init_order=1:detect_invalid_pointer_pairs=2:exitcode=86",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=86",
    "TSAN_OPTIONS": "second_deadlock_stack=1:history_size=4:exitcode=66",
    "OPENBLAS_NUM_THREADS": "1",
}

_REPORT = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error: |Assertion .* failed")


def environment():
    return {**os.environ, **_OPTIONS}


def report(stderr):
    """The first lines of a sanitizer's report or of a failed assertion in what a program wrote; [] without."""
    match = _REPORT.search(stderr)
    if not match:
        return []
    start = stderr.rfind("\n", 0, match.start()) + 1
    return stderr[start:].splitlines()[:40]
