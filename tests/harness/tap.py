"""The Test Anything Protocol, as far as the suites use it: "ok - name", "not ok - name", "# SKIP reason",
and lines of "# " that explain the result above them."""

import re
import sys
import threading

_RESULT = re.compile(r"^(ok|not ok)\b\s*(\d+)?\s*(?:-\s*)?(.*)$")
_SKIP = re.compile(r"^(.*?)\s*#\s*SKIP\b\s*(.*)$", re.IGNORECASE)


class Result:
    def __init__(self, outcome, name, reason=""):
        self.outcome = outcome  # "passed", "failed" or "skipped"
        self.name = name
        self.reason = reason  # of a skip
        self.details = []  # of a failure: lines


def parse_result(line):
    """The result that a line states, or None."""
    match = _RESULT.match(line)
    if not match:
        return None
    skip = _SKIP.match(match.group(3))
    if skip:
        return Result("skipped", skip.group(1), skip.group(2))
    return Result("passed" if match.group(1) == "ok" else "failed", match.group(3))


def parse(text):
    """All results in a suite's output; comment lines belong to the result above them."""
    results = []
    for line in text.splitlines():
        result = parse_result(line)
        if result:
            results.append(result)
        elif line.startswith("#") and results:
            results[-1].details.append(line[1:].strip())
    return results


_emitting = threading.Lock()


def emit(outcome, name, reason="", details=()):
    """Prints one result, whole, also when several threads print."""
    lines = [("not ok - " if outcome == "failed" else "ok - ") + name]
    if outcome == "skipped":
        lines[0] += " # SKIP " + reason
    lines += [("# " + line).rstrip() for line in details]
    with _emitting:
        print("\n".join(lines), flush=True)


class Emitter:
    """Emits results and remembers whether any failed."""

    def __init__(self):
        self.failed = 0

    def check(self, passed, name, details=()):
        self.failed += not passed
        emit("passed" if passed else "failed", name, details=() if passed else details)

    def skip(self, name, reason):
        emit("skipped", name, reason)

    def finish(self):
        sys.exit(1 if self.failed else 0)
