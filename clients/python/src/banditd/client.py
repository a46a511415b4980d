"""The blocking client."""

from __future__ import annotations

import http.client
import os
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Callable, Optional, Union

from . import _calls, _forms
from ._calls import Asked, Call, Candidates, Event, Trial, Value
from ._errors import Unreachable
from ._forms import Words

DEFAULT_URL = "http://127.0.0.1:8080"


class Address:
    """The server's address, from a URL: http://HOST:PORT, https://HOST:PORT or unix:/path."""

    def __init__(self, url: Optional[str]):
        self.url = url or os.environ.get("BANDITD_URL") or DEFAULT_URL
        self.socket = self.url[5:] if self.url.startswith("unix:") else None
        parts = urllib.parse.urlsplit("http://localhost" if self.socket else self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the URL must be http://HOST:PORT, https://HOST:PORT or unix:/path, not {self.url!r}")
        self.tls = parts.scheme == "https"
        self.host: str = parts.hostname
        self.port = parts.port or (443 if self.tls else 80)
        self.prefix = parts.path.rstrip("/")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """A server. Several threads may share a client; each thread has its own connection.

    retry_seconds: how long to repeat a call while the server does not answer; None: without limit."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, retry_seconds: Optional[float] = 60):
        self._address = Address(url)
        self._given_token = token
        self._retry_seconds = retry_seconds
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()

    @property
    def url(self) -> str:
        return self._address.url

    def create_study(self, definition: Mapping[str, Any], words: Optional[Mapping[str, Words]] = None) -> Study:
        """Creates a study from its definition (see the server's documentation). `words` maps the name of a categorical
        parameter to the features of its words, {"C": [0.1, 16], …}, or to the bytes of a CSV file. The parameter then
        has no values in the definition, and may have up to 100 000 words."""
        call = _forms.create_study(definition, words) if words else _calls.create_study(definition)
        return Study(self, self._run(call)["id"])

    def study(self, study: str) -> Study:
        """An existing study. If it does not exist, the first call on it raises NotFound."""
        return Study(self, study)

    def studies(self) -> Iterator[dict[str, Any]]:
        """All studies with their state and counters. Studies that are damaged in the server's database are left out;
        the warning DamagedStudies names them."""
        token = None
        while True:
            page = self._run(_calls.list_studies(token))
            yield from _calls.listed_studies(page)
            token = page.get("next_page_token")
            if not token:
                return

    def import_study(self, lines: bytes, study: Optional[str] = None) -> Study:
        """Recreates a study from the output of `Study.export`, under another id if `study` is given."""
        return Study(self, self._run(_calls.import_study(lines, study))["id"])

    def whoami(self) -> dict[str, Any]:
        """What this client may do: "role", "study", "expires_at" and "name"."""
        caller: dict[str, Any] = self._run(_calls.Call("GET", "/v1/whoami"))
        return caller

    def version(self) -> dict[str, Any]:
        """The version of the server."""
        version: dict[str, Any] = self._run(_calls.Call("GET", "/v1/version"))
        return version

    def algorithms(self) -> list[dict[str, Any]]:
        """The algorithms of the server with their options."""
        algorithms: list[dict[str, Any]] = self._run(_calls.Call("GET", "/v1/algorithms"))["algorithms"]
        return algorithms

    def tokens(self) -> Iterator[dict[str, Any]]:
        """The tokens, without their text (admin)."""
        return self._pages("/v1/tokens", {})

    def create_token(
        self,
        role: str,
        *,
        study: Optional[str] = None,
        description: Optional[str] = None,
        lifetime_seconds: Optional[int] = None,
    ) -> dict[str, Any]:
        """Creates a token (admin). Its text, "token", is shown only now."""
        made: dict[str, Any] = self._run(_calls.create_token(role, study, description, lifetime_seconds))
        return made

    def revoke_token(self, token: str) -> None:
        """Ends a token, by its id (admin)."""
        self._run(_calls.revoke_token(token))

    def notify(self) -> list[dict[str, Any]]:
        """Whom the server notifies of events of its studies, and whether delivery succeeds (admin)."""
        receivers: list[dict[str, Any]] = (self._run(_calls.Call("GET", "/v1/notify")))["notify"]
        return receivers

    def set_notify(self, receivers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Sets whom the server notifies (admin). Each receiver has "url", and perhaps "events" and "secret". A new
        receiver's secret is in the answer, and is shown only now."""
        set_now: list[dict[str, Any]] = (self._run(_calls.set_notify(receivers)))["notify"]
        return set_now

    def _pages(self, path: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        token = None
        while True:
            page = self._run(_calls.page(path, {**query, "page_token": token}))
            yield from page["items"]
            token = page.get("next_page_token")
            if not token:
                return

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    # ---- transport ----

    def _token(self) -> Optional[str]:
        return self._given_token or os.environ.get("BANDITD_TOKEN") or None

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        address = self._address
        if address.socket:
            return _UnixConnection(address.socket, seconds)
        kind = http.client.HTTPSConnection if address.tls else http.client.HTTPConnection
        return kind(address.host, address.port, timeout=seconds)

    def _send(self, call: Call) -> tuple[int, bytes, Optional[str]]:
        """Returns status, body and Retry-After."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect(call.seconds)
        connection.timeout = call.seconds
        if connection.sock is not None:
            connection.sock.settimeout(call.seconds)
        try:
            path = self._address.prefix + call.path
            connection.request(call.method, path, call.body, call.headers(self._token()))
            response = connection.getresponse()
            return response.status, response.read(), response.getheader("Retry-After")
        except BaseException:
            self.close()  # the rest of this exchange must not be read as the next response
            raise

    def _run(self, call: Call, retry_seconds: Union[float, None, str] = "as the client") -> Any:
        limit = self._retry_seconds if isinstance(retry_seconds, str) else retry_seconds
        begun, pauses = time.monotonic(), _calls.Pauses()
        while True:
            failure: Optional[Exception] = None
            status, body, retry_after = 0, b"", None
            try:
                status, body, retry_after = self._send(call)
            except (OSError, http.client.HTTPException) as error:
                failure = error
            if failure is None and not _calls.is_transient(status):
                return call.result(status, body)
            pause = pauses.next(retry_after)
            if limit is not None and time.monotonic() + pause > begun + limit:
                if failure is None:
                    return call.result(status, body)
                raise Unreachable(f"no answer from {self.url}: {failure}") from failure
            time.sleep(pause)


class Study:
    """A study on a server."""

    def __init__(self, client: Client, study: str):
        self.id = study
        self._client = client
        self._names: Optional[list[str]] = None
        self._names_known = False

    def __repr__(self) -> str:
        return f"Study({self.id!r} at {self._client.url})"

    def _feature_names(self) -> Optional[list[str]]:
        if not self._names_known:
            self._names = _calls.feature_names(self.info())
            self._names_known = True
        return self._names

    # ---- trials ----

    def ask(
        self,
        count: int = 1,
        *,
        worker: Optional[str] = None,
        wait_seconds: float = 0,
        lease_seconds: Optional[float] = None,
        fresh: bool = False,
        fixed: Optional[Mapping[str, Any]] = None,
    ) -> list[Trial]:
        """Trials to evaluate: `count` or fewer (see `ask_with_reason`).

        A worker that asks again first gets the trials that it holds, unless `fresh` is true. fixed: values of
        parameters that the trials must have, in a space."""
        return self.ask_with_reason(
            count, worker=worker, wait_seconds=wait_seconds, lease_seconds=lease_seconds, fresh=fresh, fixed=fixed
        ).trials

    def ask_with_reason(
        self,
        count: int = 1,
        *,
        worker: Optional[str] = None,
        wait_seconds: float = 0,
        lease_seconds: Optional[float] = None,
        fresh: bool = False,
        fixed: Optional[Mapping[str, Any]] = None,
    ) -> Asked:
        """The trials, and the reason if there are fewer than `count`: "awaiting_feedback", "computing", "paused",
        "finished", "horizon_reached" or "exhausted"; otherwise None."""
        names = self._feature_names()
        call = _calls.ask(self.id, names, count, worker, wait_seconds, lease_seconds, fresh, fixed)
        asked: Asked = self._client._run(call)
        return asked

    def tell(
        self,
        trial: Union[Trial, int],
        value: Value,
        *,
        repeats: Optional[int] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        std_error: Optional[Value] = None,
        cost: Optional[float] = None,
    ) -> dict[str, int]:
        """Reports the value of a trial, or one value per metric by name. Returns the number of "accepted",
        "duplicates" and "late" results.

        repeats: the number of evaluations that the value is the mean of. metadata: any data, stored with the trial.
        std_error: the standard error of the value, or one per metric by name. The model weighs the value by it.
        cost: what the evaluation has cost, in any unit; the study adds the costs up."""
        return self.tell_results([_calls.measured(trial, value, repeats, metadata, std_error, cost)])

    def fail(
        self, trial: Union[Trial, int], reason: str = "", *, retry: bool = False, cost: Optional[float] = None
    ) -> dict[str, int]:
        """Reports that a trial failed. With `retry` it is handed out again while attempts are left."""
        return self.tell_results([_calls.ended(trial, "failed", reason, retry, cost)])

    def infeasible(
        self, trial: Union[Trial, int], reason: str = "", *, cost: Optional[float] = None
    ) -> dict[str, int]:
        """Reports that the point cannot be evaluated. The model then avoids it."""
        return self.tell_results([_calls.ended(trial, "infeasible", reason, cost=cost)])

    def release(self, trial: Union[Trial, int]) -> dict[str, int]:
        """Returns a trial that was not evaluated to the queue."""
        return self.tell_results([_calls.ended(trial, "released")])

    def stop(
        self,
        trial: Union[Trial, int],
        value: Optional[Value] = None,
        reason: str = "",
        *,
        cost: Optional[float] = None,
    ) -> dict[str, int]:
        """Reports that a trial was ended early, because `measure` returned True. It counts as an observation only if
        it has a value."""
        result = _calls.ended(trial, "stopped", reason, cost=cost)
        return self.tell_results([result if value is None else {**result, **_calls.measured(trial, value)}])

    def measure(self, trial: Union[Trial, int], step: int, value: float) -> bool:
        """Reports an intermediate value. Returns whether the trial should stop."""
        stop: bool = self._client._run(_calls.measure(self.id, trial, step, value))
        return stop

    def amend(
        self,
        trial: Union[Trial, int],
        value: Optional[Value] = None,
        *,
        state: Optional[str] = None,
        reason: str = "",
        std_error: Optional[Value] = None,
    ) -> Trial:
        """Corrects a reported result: to another value, or to the state "failed" or "infeasible". Returns the trial."""
        call = _calls.amend(self.id, trial, self._feature_names(), value, state, reason, std_error)
        amended: Trial = self._client._run(call)
        return amended

    def propose(
        self,
        candidate: Union[int, str, None] = None,
        *,
        parameters: Optional[Mapping[str, Any]] = None,
        broken: Optional[str] = None,
    ) -> Trial:
        """Queues a trial of your own: a candidate's number or key, or in a space its parameters. Returns the trial.
        broken="infeasible": at a point that breaks a constraint, the trial has this state at once."""
        proposed: Trial = self._client._run(
            _calls.propose(self.id, self._feature_names(), candidate, parameters, broken)
        )
        return proposed

    def tell_results(self, results: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        """Reports many results at once, in the form of the HTTP API: all or nothing."""
        told: dict[str, int] = self._client._run(_calls.tell(self.id, results))
        return told

    def heartbeat(self, trial: Union[Trial, int], lease_seconds: Optional[float] = None) -> None:
        """Renews the lease of a trial."""
        self._client._run(_calls.heartbeat(self.id, trial, lease_seconds))

    def observe(self, observations: Sequence[Mapping[str, Any]], *, broken: Optional[str] = None) -> dict[str, Any]:
        """Imports results that were measured outside this study, each with "candidate", "key", "point" or "parameters", and
        "value". They join the model at the next batch. broken="infeasible": results at points that break a constraint
        are kept without a value; otherwise they are an error. Returns how many were "accepted" and, for
        `amend_observation`, the numbers of the "first" and the "last" one."""
        accepted: dict[str, Any] = self._client._run(_calls.observe(self.id, observations, broken))
        return accepted

    def trial(self, number: int) -> Trial:
        """The current state of a trial."""
        trial: Trial = self._client._run(_calls.trial(self.id, number, self._feature_names()))
        return trial

    def trials(
        self,
        *,
        state: Optional[str] = None,
        worker: Optional[str] = None,
        sort: Optional[str] = None,
        order: Optional[str] = None,
        at_least: Optional[Mapping[str, Any]] = None,
        at_most: Optional[Mapping[str, Any]] = None,
    ) -> Iterator[Trial]:
        """All trials, or those in a state, of a worker, or in ranges: at_least={"yield": 80}, at_most={"rate": 0.1}, by
        the names of metrics and parameters. sort is "id", "value", "told_at", "metric:NAME" or "parameter:NAME", and
        order "asc" or "desc"."""
        query = _calls.trial_filters(state, worker, sort, order, at_least, at_most)
        while True:
            page, token = self._client._run(_calls.list_trials(self.id, self._feature_names(), query))
            yield from page
            if not token:
                return
            query["page_token"] = token

    # ---- the study ----

    def info(self) -> dict[str, Any]:
        """The definition with every value, the state and the counters."""
        info: dict[str, Any] = self._client._run(_calls.get(self.id))
        return info

    def best(self) -> dict[str, Any]:
        """The best reported value, "observed", and the tried point with the best posterior mean, "recommended". With
        several objectives each has a list "pareto", and the answer also has the "hypervolume" and its "reference"."""
        best: dict[str, Any] = self._client._run(_calls.get(self.id, "/best"))
        return best

    def predict(self, *, candidates: Any = None, points: Any = None, parameters: Any = None) -> list[dict[str, Any]]:
        """The "mean", "std" and "ucb" at candidates by number or key, at points, or at parameters by name. Give one of
        them. With several objectives or bounds these are in "values" by metric, together with
        "feasible_probability"."""
        predicted: list[dict[str, Any]] = self._client._run(_calls.predict(self.id, candidates, points, parameters))
        return predicted

    def model(self, metric: Optional[str] = None) -> dict[str, Any]:
        """The current model; with several modelled metrics, that of one metric."""
        model: dict[str, Any] = self._client._run(_calls.read(self.id, "/model", metric=metric))
        return model

    def upload(self, points: Any, *, keys: Optional[Sequence[Optional[str]]] = None) -> int:
        """Uploads the candidates: rows of numbers, for example a two-dimensional NumPy array. `keys`: your own
        name for each, or None. Returns their number."""
        count: int = self._client._run(_calls.upload(self.id, points, keys=keys))
        return count

    def change(self, **changes: Any) -> dict[str, Any]:
        """Changes the study: display_name, labels, metadata, horizon, lease_seconds, max_attempts, state …"""
        changed: dict[str, Any] = self._client._run(_calls.patch(self.id, changes))
        return changed

    def pause(self) -> None:
        """Stops handing out trials."""
        self.change(state="paused")

    def resume(self) -> None:
        self.change(state="active")

    def finish(self) -> None:
        """Ends the study. Its workers stop."""
        self.change(state="finished")

    def delete(self) -> None:
        """Deletes the study and all its data."""
        self._client._run(_calls.delete(self.id))

    # ---- candidates ----

    def candidates(
        self,
        *,
        sort: Optional[str] = None,
        retired: Optional[bool] = None,
        pulls: Optional[int] = None,
        key: Optional[str] = None,
    ) -> Iterator[dict[str, Any]]:
        """The candidates and what the model knows of them: "candidate", "point", "pulls", "mean", "posterior" …

        sort: "candidate", "mean", "ucb", "std", "pulls" or "feasible_probability", with the best or largest first;
        "mean.NAME" and so on: by this metric. retired, pulls: only such candidates. key: only the candidate that has
        it."""
        query = {"sort": sort, "retired": retired, "pulls": pulls, "key": key}
        return self._client._pages(_calls.study_path(self.id, "/candidates"), query)

    def candidate(self, number: int) -> dict[str, Any]:
        """A candidate and what the model knows of it."""
        known: dict[str, Any] = self._client._run(_calls.get(self.id, f"/candidates/{number}"))
        return known

    def add(self, points: Any, *, keys: Optional[Sequence[Optional[str]]] = None) -> list[int]:
        """Adds candidates to a running study: rows of numbers, and your own names for them. Returns their
        numbers."""
        call = _calls.upload(self.id, points, "POST", "/candidates", "candidates", keys)
        added: list[int] = self._client._run(call)
        return added

    def retire(self, candidates: Candidates) -> dict[str, int]:
        """Stops handing out these candidates. Returns the number of "retired" ones and "cancelled" trials."""
        call = _calls.send(_calls.study_path(self.id, "/candidates/retire"), _calls.named(candidates))
        retired: dict[str, int] = self._client._run(call)
        return retired

    def restore(self, candidates: Candidates) -> dict[str, int]:
        """Hands out these retired candidates again."""
        call = _calls.send(_calls.study_path(self.id, "/candidates/restore"), _calls.named(candidates))
        restored: dict[str, int] = self._client._run(call)
        return restored

    def set_keys(self, keys: Sequence[Optional[str]]) -> int:
        """Gives all candidates keys, your own names for them; None for a candidate without one. They replace all
        earlier keys. Returns how many candidates have one."""
        keyed: int = self._client._run(_calls.set_keys(self.id, keys))
        return keyed

    def upload_kernel(self, matrix: Any) -> int:
        """Uploads the kernel matrix of a precomputed domain. Returns the number of candidates."""
        count: int = self._client._run(_calls.upload(self.id, matrix, "PUT", "/kernel"))
        return count

    # ---- imported results ----

    def observations(self) -> Iterator[dict[str, Any]]:
        """The imported results, each with its number, "observation"."""
        return self._client._pages(_calls.study_path(self.id, "/observations"), {})

    def observation(self, number: int) -> dict[str, Any]:
        """An imported result with its amendments."""
        found: dict[str, Any] = self._client._run(_calls.get(self.id, f"/observations/{number}"))
        return found

    def amend_observation(
        self, number: int, value: Optional[float] = None, *, state: Optional[str] = None, reason: str = ""
    ) -> dict[str, Any]:
        """Corrects an imported result, or takes it back with the state "failed"."""
        call = _calls.amend_observation(self.id, number, value, state, reason)
        amended: dict[str, Any] = self._client._run(call)
        return amended

    # ---- reading ----

    def batches(self) -> Iterator[dict[str, Any]]:
        """The planned batches, the initial pick first."""
        return self._client._pages(_calls.study_path(self.id, "/batches"), {})

    def measurements(self, trials: Optional[str] = None, *, points: Optional[int] = None) -> Iterator[dict[str, Any]]:
        """The learning curves of all trials that have one, or of some trials, such as "1-500"; at most `points` values
        of each."""
        query = {"trials": trials, "points": points}
        return self._client._pages(_calls.study_path(self.id, "/measurements"), query)

    def series(self, points: int = 1000, *, metric: Optional[str] = None) -> list[dict[str, Any]]:
        """The values in order, each with the best one so far; at most `points` of them, for plotting. With several
        objectives, these are the hypervolume so far, or the values of one metric."""
        items: list[dict[str, Any]] = self._client._run(_calls.read(self.id, "/series", points=points, metric=metric))["items"]
        return items

    def importance(self, metric: Optional[str] = None) -> dict[str, Any]:
        """How much of the variation each parameter explains."""
        found: dict[str, Any] = self._client._run(_calls.read(self.id, "/importance", metric=metric))
        return found

    def effects(
        self, parameter: str, *, other: Optional[str] = None, points: Optional[int] = None, metric: Optional[str] = None
    ) -> dict[str, Any]:
        """The predicted effect of a parameter, or of two together."""
        query = {"parameter": parameter, "with": other, "points": points, "metric": metric}
        found: dict[str, Any] = self._client._run(_calls.read(self.id, "/effects", **query))
        return found

    def diagnostics(self, metric: Optional[str] = None) -> dict[str, Any]:
        """How well the model predicts results that it has not seen."""
        found: dict[str, Any] = self._client._run(_calls.read(self.id, "/diagnostics", metric=metric))
        return found

    def outlook(self, *, metric: Optional[str] = None, epsilon: Optional[float] = None) -> dict[str, Any]:
        """What is left to gain: the probability that some point is better than the recommended one by more than
        epsilon, and how much further trials are expected to gain."""
        query = {"metric": metric, "epsilon": epsilon}
        found: dict[str, Any] = self._client._run(_calls.read(self.id, "/outlook", **query))
        return found

    def why(self, trial: Union[Trial, int]) -> dict[str, Any]:
        """Why a trial was chosen: a sentence, and what the model knew at that moment."""
        number = trial.id if isinstance(trial, Trial) else trial
        found: dict[str, Any] = self._client._run(_calls.read(self.id, f"/trials/{number}/why"))
        return found

    def fork(self, name: str, at_trial: Optional[int] = None, **changes: Any) -> Study:
        """The study as it was when `at_trial` was reported, under another id. `changes`: other members of the
        definition, such as seed, aim or algorithm."""
        return Study(self._client, self._client._run(_calls.fork(self.id, name, at_trial, changes))["id"])

    def export(self, format: str = "ndjson") -> bytes:
        """The whole study ("ndjson", for `Client.import_study`), or a table of its trials ("csv")."""
        exported: bytes = self._client._run(_calls.export(self.id, format))
        return exported

    def trials_dataframe(self, **filters: Any) -> Any:
        """The trials as a pandas.DataFrame with one row per trial; the filters are those of `trials`. Requires
        pandas."""
        return _calls.pandas().DataFrame(_calls.rows(self.trials(**filters)))

    def events(self, after: Optional[int] = None) -> Iterator[Event]:
        """The study's events as they happen, without end, also through restarts of the server. `after`: the id of an
        event, to begin with the events after it; 0: from the beginning of the study."""
        from ._events import events

        return events(self._client, self.id, after)

    # ---- the loop ----

    def optimize(
        self,
        function: Callable[[Trial], Value],
        *,
        workers: int = 1,
        name: Optional[str] = None,
        lease_seconds: float = 60,
        retry: bool = False,
        max_failures: int = 20,
    ) -> int:
        """Asks for trials, calls the function and reports its value, in `workers` threads, until the study is
        finished. Returns the number of completed trials.

        name: the workers are called NAME-1, NAME-2, … (default: the host's name and the process id). If a process
        that was stopped starts again with the same name, it gets its unfinished trials again. Two running processes
        must not share a name.
        An exception in the function is reported as a failure (with `retry`, the trial is handed out again), and
        Infeasible as an infeasible point. After max_failures in a row the exception is raised. While the function
        runs, heartbeats renew the trial's lease."""
        from ._optimize import optimize

        return optimize(self, function, workers, name, lease_seconds, retry, max_failures)
