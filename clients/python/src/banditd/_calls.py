"""The calls of the API, without transport: how to write requests and read responses."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import math
import random
import sys
import urllib.parse
import uuid
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, Optional, Union

from ._errors import DamagedStudies, refusal

Candidates = Union[Sequence[int], Sequence[str]]  # by number, or by key
Value = Union[float, Mapping[str, float]]  # the objective's value, or one value per metric by name

ANSWER_SECONDS = 60.0  # time limit for a response, without the wait_seconds of an ask
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 15.0  # seconds between attempts


@dataclasses.dataclass(frozen=True)
class Trial:
    """A trial to evaluate."""

    id: int
    attempt: int
    candidate: Optional[int]  # its number, from 0; None in a space
    point: Optional[list[float]]  # its features; None in a space
    parameters: dict[str, Any]  # by name: the parameters of a space, or features that have names
    worker: Optional[str]
    state: str
    raw: dict[str, Any] = dataclasses.field(repr=False)  # as the server sent it

    @property
    def key(self) -> Optional[str]:
        """The candidate's key, your own name for it; None if it has none."""
        return self.raw.get("key")

    @property
    def value(self) -> Optional[float]:
        """The objective's value, as reported or amended; None while there is none."""
        return self.raw.get("value")

    @property
    def values(self) -> dict[str, float]:
        """The values of all metrics by name; empty unless several were reported."""
        return dict(self.raw.get("values") or {})

    @property
    def feasible(self) -> Optional[bool]:
        """Whether the result keeps all bounds of the study; None without bounds or without a result."""
        return self.raw.get("feasible")

    @property
    def reason(self) -> Optional[str]:
        """The reason that was reported with a state such as "failed"."""
        return self.raw.get("reason")

    @property
    def metadata(self) -> dict[str, Any]:
        """What was stored with the result."""
        return dict(self.raw.get("metadata") or {})

    @property
    def repeats(self) -> int:
        """The number of evaluations that the value is the mean of."""
        return int(self.raw.get("repeats", 1))

    @property
    def std_errors(self) -> dict[str, float]:
        """The standard errors by metric that were reported with the values. The first objective's own is also
        `std_error`."""
        return dict(self.raw.get("std_errors") or {})

    @property
    def std_error(self) -> Optional[float]:
        """The standard error of the objective's value; None if none was reported."""
        return self.raw.get("std_error")

    @property
    def cost(self) -> Optional[float]:
        """The cost that was reported with the results of its attempts; None if none was."""
        return self.raw.get("cost")

    @property
    def batch(self) -> Optional[int]:
        """The batch that planned the trial; None for a proposed one."""
        return self.raw.get("batch")

    @property
    def issued_at(self) -> Optional[str]:
        return self.raw.get("issued_at")

    @property
    def lease_expires_at(self) -> Optional[str]:
        return self.raw.get("lease_expires_at")

    @property
    def told_at(self) -> Optional[str]:
        return self.raw.get("told_at")


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of a study: its type, such as "trial", "batch" or "state", and its data."""

    type: str
    data: dict[str, Any]
    id: Optional[int]  # its position in the study's log; None: it has none


@dataclasses.dataclass
class Call:
    """One request, repeated until the server answers it."""

    method: str
    path: str
    body: Optional[bytes] = None
    content_type: str = "application/json"
    seconds: float = ANSWER_SECONDS
    parse: Callable[[Any], Any] = lambda answer: answer
    accept_bytes: bool = False  # the response is not JSON

    def __post_init__(self) -> None:
        self.key = str(uuid.uuid4())

    def headers(self, token: Optional[str]) -> dict[str, str]:
        headers = {"User-Agent": "banditd-python/0.1.0"}
        if self.body is not None:
            headers["Content-Type"] = self.content_type
        if self.method == "POST":
            headers["Idempotency-Key"] = self.key
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def result(self, status: int, body: bytes) -> Any:
        """The content of the response. Raises Refused."""
        if not 200 <= status < 300:
            raise refusal(status, body)
        if self.accept_bytes:
            return body
        return self.parse(json.loads(body) if body else None)


def is_transient(status: int) -> bool:
    return status == 429 or status >= 500


class Pauses:
    """The pauses between attempts: growing, randomized, and at least the server's Retry-After."""

    def __init__(self) -> None:
        self._pause = FIRST_PAUSE

    def next(self, retry_after: Optional[str] = None) -> float:
        pause = self._pause * random.uniform(0.5, 1)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        if retry_after and retry_after.isdigit():
            pause = max(pause, min(float(retry_after), LONGEST_PAUSE))
        return pause


def study_path(study: str, rest: str = "") -> str:
    return "/v1/studies/" + urllib.parse.quote(study, safe="") + rest


def plain(numbers: Any) -> Any:
    """Converts NumPy arrays and other sequences to lists, and NumPy numbers to Python numbers."""
    if hasattr(numbers, "tolist"):
        return numbers.tolist()
    if isinstance(numbers, Mapping):
        return {name: plain(value) for name, value in numbers.items()}
    if isinstance(numbers, Iterable) and not isinstance(numbers, (str, bytes)):
        return [plain(number) for number in numbers]
    return numbers


def _json(body: Any) -> bytes:
    return json.dumps(plain(body), allow_nan=False).encode()


def _post(path: str, body: Any, **more: Any) -> Call:
    return Call("POST", path, _json(body), **more)


# ---- studies ----


def create_study(definition: Mapping[str, Any]) -> Call:
    return _post("/v1/studies", definition)


def list_studies(page_token: Optional[str]) -> Call:
    query = {"limit": "1000", **({"page_token": page_token} if page_token else {})}
    return Call("GET", "/v1/studies?" + urllib.parse.urlencode(query))


def listed_studies(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The studies on one page of the list. Warns the caller of `studies` about damaged studies."""
    damaged = page.get("damaged")
    if damaged:
        names = ", ".join(map(repr, damaged))
        text = f"these studies are damaged in the server's database and left out: {names} (see `banditd check`)"
        warnings.warn(text, DamagedStudies, stacklevel=3)
    studies: list[dict[str, Any]] = page["items"]
    return studies


def get(study: str, rest: str = "") -> Call:
    return Call("GET", study_path(study, rest))


def patch(study: str, changes: Mapping[str, Any]) -> Call:
    return Call("PATCH", study_path(study), _json(changes))


def delete(study: str) -> Call:
    return Call("DELETE", study_path(study))


def _npy(points: Any) -> Optional[bytes]:
    """A NumPy array in NumPy's file format; None for other values."""
    numpy = sys.modules.get("numpy")  # imported already if the caller has an array
    if numpy is None or not isinstance(points, numpy.ndarray):
        return None
    kind = "<f4" if points.dtype == numpy.float32 else "<f8"
    file = io.BytesIO()
    numpy.save(file, numpy.ascontiguousarray(points, dtype=kind), allow_pickle=False)
    return file.getvalue()


def upload(
    study: str,
    points: Any,
    method: str = "PUT",
    rest: str = "/candidates",
    member: str = "count",
    keys: Optional[Sequence[Optional[str]]] = None,
) -> Call:
    npy = _npy(points) if keys is None else None
    given = {"points": points} if keys is None else {"points": points, "keys": list(keys)}
    return Call(
        method,
        study_path(study, rest),
        _json(given) if npy is None else npy,
        content_type="application/json" if npy is None else "application/octet-stream",
        seconds=3600,
        parse=lambda answer: answer[member],
    )


def set_keys(study: str, keys: Sequence[Optional[str]]) -> Call:
    body = _json({"keys": list(keys)})
    return Call("PUT", study_path(study, "/candidates/keys"), body, seconds=3600, parse=lambda answer: answer["keys"])


def named(candidates: Candidates) -> dict[str, Any]:
    """Candidates by number, or by key."""
    by_key = len(candidates) > 0 and all(isinstance(candidate, str) for candidate in candidates)
    return {"keys" if by_key else "candidates": list(candidates)}


# ---- trials ----


def feature_names(study: Mapping[str, Any]) -> Optional[list[str]]:
    names: Optional[list[str]] = study["domain"].get("names")
    return names


def read_trial(raw: dict[str, Any], names: Optional[Sequence[str]]) -> Trial:
    point = raw.get("point")
    parameters = raw.get("parameters")
    if parameters is None:
        parameters = dict(zip(names, point)) if names and point else {}
    return Trial(
        id=raw["id"],
        attempt=raw["attempt"],
        candidate=raw.get("candidate"),
        point=point,
        parameters=parameters,
        worker=raw.get("worker"),
        state=raw["state"],
        raw=raw,
    )


@dataclasses.dataclass(frozen=True)
class Asked:
    """The response to an ask. `reason`: why there are fewer trials than requested, or None."""

    trials: list[Trial]
    reason: Optional[str]


def ask(
    study: str,
    names: Optional[Sequence[str]],
    count: int,
    worker: Optional[str],
    wait_seconds: float,
    lease_seconds: Optional[float],
    fresh: bool,
    fixed: Optional[Mapping[str, Any]],
) -> Call:
    body: dict[str, Any] = {"count": count, "wait_seconds": wait_seconds}
    if worker is not None:
        body["worker"] = worker
    if lease_seconds is not None:
        body["lease_seconds"] = lease_seconds
    if fresh:
        body["fresh"] = True
    if fixed is not None:
        body["fixed"] = dict(fixed)
    return _post(
        study_path(study, "/ask"),
        body,
        seconds=ANSWER_SECONDS + wait_seconds,
        parse=lambda answer: Asked([read_trial(raw, names) for raw in answer["trials"]], answer["reason"]),
    )


def _finite(value: Any) -> float:
    """A number to report. float() would also take booleans and text, which the server refuses."""
    if isinstance(plain(value), (bool, str, bytes, bytearray)):
        raise TypeError(f"{value!r} is not a number: its type is {type(value).__name__}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def _addressed(trial: Union[Trial, int]) -> dict[str, Any]:
    if isinstance(trial, int):
        return {"trial": trial}
    queued = trial.attempt == 0  # no worker has had it; the server says so if a result comes all the same
    return {"trial": trial.id} if queued else {"trial": trial.id, "attempt": trial.attempt}


def _std_error(std_error: Value) -> dict[str, Any]:
    if isinstance(std_error, Mapping):
        return {"std_errors": {name: _finite(number) for name, number in std_error.items()}}
    return {"std_error": _finite(std_error)}


def measured(
    trial: Union[Trial, int],
    value: Value,
    repeats: Optional[int] = None,
    metadata: Optional[Mapping[str, Any]] = None,
    std_error: Optional[Value] = None,
    cost: Optional[float] = None,
) -> dict[str, Any]:
    """A result with a value."""
    result = _addressed(trial)
    if isinstance(value, Mapping):
        result["values"] = {name: _finite(number) for name, number in value.items()}
    else:
        result["value"] = _finite(value)
    if repeats is not None:
        result["repeats"] = repeats
    if metadata is not None:
        result["metadata"] = dict(metadata)
    if std_error is not None:
        result.update(_std_error(std_error))
    if cost is not None:
        result["cost"] = _finite(cost)
    return result


def ended(
    trial: Union[Trial, int], state: str, reason: str = "", retry: bool = False, cost: Optional[float] = None
) -> dict[str, Any]:
    """A result without a value."""
    result = {**_addressed(trial), "state": state}
    if reason:
        result["reason"] = reason[:1000]
    if retry:
        result["retry"] = True
    if cost is not None:
        result["cost"] = _finite(cost)
    return result


def tell(study: str, results: Sequence[Mapping[str, Any]]) -> Call:
    return _post(study_path(study, "/tell"), {"results": list(results)})


def heartbeat(study: str, trial: Union[Trial, int], lease_seconds: Optional[float]) -> Call:
    number = trial if isinstance(trial, int) else trial.id
    body: dict[str, Any] = {} if lease_seconds is None else {"lease_seconds": lease_seconds}
    if not isinstance(trial, int):
        body["attempt"] = trial.attempt  # do not renew the lease of another worker's attempt
    return _post(study_path(study, f"/trials/{number}/heartbeat"), body)


def measure(study: str, trial: Union[Trial, int], step: int, value: float) -> Call:
    number = trial if isinstance(trial, int) else trial.id
    body: dict[str, Any] = {"step": step, "value": _finite(value)}
    if not isinstance(trial, int):
        body["attempt"] = trial.attempt
    return _post(
        study_path(study, f"/trials/{number}/measurements"), body, parse=lambda answer: bool(answer["should_stop"])
    )


def amend(
    study: str,
    trial: Union[Trial, int],
    names: Optional[Sequence[str]],
    value: Optional[Value],
    state: Optional[str],
    reason: str,
    std_error: Optional[Value] = None,
) -> Call:
    number = trial if isinstance(trial, int) else trial.id
    body: dict[str, Any] = {}
    if isinstance(value, Mapping):
        body["values"] = {name: _finite(each) for name, each in value.items()}
    elif value is not None:
        body["value"] = _finite(value)
    if std_error is not None:
        body.update(_std_error(std_error))
    if state is not None:
        body["state"] = state
    if reason:
        body["reason"] = reason[:1000]
    return _post(study_path(study, f"/trials/{number}/amend"), body, parse=lambda raw: read_trial(raw, names))


def _broken(state: Optional[str]) -> str:
    """The query that says what to do with points that break a constraint."""
    return "" if state is None else "?" + urllib.parse.urlencode({"broken": state})


def propose(
    study: str,
    names: Optional[Sequence[str]],
    candidate: Union[int, str, None],
    parameters: Optional[Mapping[str, Any]],
    broken: Optional[str] = None,
) -> Call:
    given = {"key" if isinstance(candidate, str) else "candidate": candidate, "parameters": parameters}
    body = {name: value for name, value in given.items() if value is not None}
    return _post(study_path(study, "/trials" + _broken(broken)), body, parse=lambda raw: read_trial(raw, names))


def trial(study: str, number: int, names: Optional[Sequence[str]]) -> Call:
    return Call("GET", study_path(study, f"/trials/{number}"), parse=lambda raw: read_trial(raw, names))


def observe(study: str, observations: Sequence[Mapping[str, Any]], broken: Optional[str] = None) -> Call:
    return _post(study_path(study, "/observations" + _broken(broken)), {"observations": list(observations)})


def trial_filters(
    state: Optional[str],
    worker: Optional[str],
    sort: Optional[str],
    order: Optional[str],
    at_least: Optional[Mapping[str, Any]],
    at_most: Optional[Mapping[str, Any]],
) -> dict[str, str]:
    """The filters and the order of `trials`, as a query."""
    given = {"state": state, "worker": worker, "sort": sort, "order": order}
    query = {name: value for name, value in given.items() if value is not None}
    for bound, limits in (("min", at_least), ("max", at_most)):
        for name, limit in (limits or {}).items():
            query[f"{bound}:{name}"] = str(limit).lower() if isinstance(limit, bool) else str(limit)
    return query


def list_trials(study: str, names: Optional[Sequence[str]], query: Mapping[str, str]) -> Call:
    return Call(
        "GET",
        study_path(study, "/trials?") + urllib.parse.urlencode({"limit": "1000", **query}),
        parse=lambda page: ([read_trial(raw, names) for raw in page["items"]], page.get("next_page_token")),
    )


def predict(study: str, candidates: Any, points: Any, parameters: Any) -> Call:
    given = {"points": points, "parameters": parameters, **({} if candidates is None else named(candidates))}
    body = {name: value for name, value in given.items() if value is not None}
    return _post(study_path(study, "/predict"), body, parse=lambda answer: answer["predictions"])


# ---- pages, and answers that are returned unchanged ----


def query_of(path: str, query: Mapping[str, Any]) -> str:
    """The path with the members of the query that are not None."""
    words = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items() if value is not None}
    return path + ("?" + urllib.parse.urlencode(words) if words else "")


def page(path: str, query: Mapping[str, Any]) -> Call:
    return Call("GET", query_of(path, {"limit": 1000, **query}))


def read(study: str, rest: str, **query: Any) -> Call:
    return Call("GET", query_of(study_path(study, rest), query))


def send(path: str, body: Any, **more: Any) -> Call:
    return _post(path, body, **more)


def fork(study: str, name: str, at_trial: Optional[int], changes: Mapping[str, Any]) -> Call:
    point = {} if at_trial is None else {"at_trial": at_trial}
    return _post(study_path(study, "/fork"), {**changes, **point, "id": name})


def export(study: str, format: str) -> Call:
    return Call("GET", query_of(study_path(study, "/export"), {"format": format}), seconds=3600, accept_bytes=True)


def import_study(lines: bytes, study: Optional[str]) -> Call:
    path = query_of("/v1/studies", {"id": study})
    return Call("POST", path, lines, content_type="application/x-ndjson", seconds=3600)


def amend_observation(study: str, number: int, value: Optional[float], state: Optional[str], reason: str) -> Call:
    body: dict[str, Any] = {} if value is None else {"value": _finite(value)}
    if state is not None:
        body["state"] = state
    if reason:
        body["reason"] = reason[:1000]
    return _post(study_path(study, f"/observations/{number}/amend"), body)


def create_token(role: str, study: Optional[str], description: Optional[str], lifetime_seconds: Optional[int]) -> Call:
    given = {"role": role, "study": study, "description": description, "lifetime_seconds": lifetime_seconds}
    return _post("/v1/tokens", {name: value for name, value in given.items() if value is not None})


def revoke_token(token: str) -> Call:
    return Call("DELETE", "/v1/tokens/" + urllib.parse.quote(token, safe=""))


def set_notify(receivers: Iterable[Mapping[str, Any]]) -> Call:
    return Call("PUT", "/v1/notify", _json({"notify": [dict(receiver) for receiver in receivers]}))


def pandas() -> Any:
    """The package pandas, which only the tables need."""
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as missing:
        raise ImportError("trials_dataframe needs pandas: pip install pandas") from missing


def rows(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """One flat row per trial, for a table: parameters, values of metrics and features by their names."""
    table = []
    for each in trials:
        row: dict[str, Any] = {"trial": each.id, "state": each.state, "value": each.value}
        for prefix, members in (("params_", each.parameters), ("values_", each.values), ("metadata_", each.metadata)):
            row.update({prefix + name: value for name, value in members.items()})
        if each.point is not None and not each.parameters:
            row.update({f"params_x{i}": value for i, value in enumerate(each.point)})
        for name in ("candidate", "batch", "attempt", "worker", "reason", "repeats", "std_error", "issued_at", "told_at", "cost"):
            row[name] = getattr(each, name)
        table.append(row)
    return table
