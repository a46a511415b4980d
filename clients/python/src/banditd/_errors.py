"""The errors of a call."""

from __future__ import annotations

import json
from typing import Any


class BanditdError(Exception):
    """The base class of the errors of this package."""


class Unreachable(BanditdError):
    """The server did not answer within the client's retry_seconds."""


class Refused(BanditdError):
    """The server refused the call. `errors` lists each problem with "pointer" and "detail"."""

    def __init__(self, status: int, title: str, detail: str, errors: list[dict[str, Any]]):
        self.status = status
        self.detail = detail
        self.errors = errors
        lines = [f"{status} {title}" + (f": {detail}" if detail else "")]
        if len(errors) > 1:  # the detail has the first one
            lines += [f"{error.get('pointer', '')}: {error.get('detail', '')}" for error in errors]
        super().__init__("\n  ".join(lines))


class Denied(Refused):
    """401 or 403: the token is missing or does not allow the call."""


class NotFound(Refused):
    """404: the study, trial or candidate does not exist."""


class Conflict(Refused):
    """409: the state of the study or trial does not allow the call."""


class Infeasible(BanditdError):
    """Raise this in an optimized function if its point cannot be evaluated. The model then avoids the point."""


class DamagedStudies(UserWarning):
    """A warning: a list leaves out studies that are damaged in the server's database."""


_KINDS = {401: Denied, 403: Denied, 404: NotFound, 409: Conflict}


def refusal(status: int, body: bytes) -> Refused:
    """The error for a response."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    kind = _KINDS.get(status, Refused)
    return kind(status, problem.get("title", ""), problem.get("detail", ""), problem.get("errors", []))
