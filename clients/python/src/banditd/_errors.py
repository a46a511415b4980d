"""What can go wrong with a call."""

from __future__ import annotations

import json
from typing import Any


class BanditdError(Exception):
    """Every error of this package."""


class Unreachable(BanditdError):
    """The server did not answer for as long as the call was tried."""


class Refused(BanditdError):
    """The server answered, and refused. `errors`: each problem, with "pointer" and "detail"."""

    def __init__(self, status: int, title: str, detail: str, errors: list[dict[str, Any]]):
        self.status = status
        self.detail = detail
        self.errors = errors
        lines = [f"{status} {title}" + (f": {detail}" if detail else "")]
        lines += [f"{error.get('pointer', '')}: {error.get('detail', '')}" for error in errors]
        super().__init__("\n  ".join(lines))


class Denied(Refused):
    """401 or 403: the token is missing or does not allow this."""


class NotFound(Refused):
    """404: there is no such study, trial or candidate."""


class Conflict(Refused):
    """409: the study or the trial is in a state that does not allow this."""


class Infeasible(BanditdError):
    """Raised by a function that is optimized: its point cannot be evaluated, and is to be avoided."""


class DamagedStudies(UserWarning):
    """A warning: a list lacks studies, since what the server's database holds of them is damaged."""


_KINDS = {401: Denied, 403: Denied, 404: NotFound, 409: Conflict}


def refusal(status: int, body: bytes) -> Refused:
    """The error that an answer means."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    kind = _KINDS.get(status, Refused)
    return kind(status, problem.get("title", ""), problem.get("detail", ""), problem.get("errors", []))
