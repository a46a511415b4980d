"""The asynchronous client. It has the same calls as Client and Study."""

from __future__ import annotations

import asyncio
import http.client
import io
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Optional, Union, cast

from . import _calls, _events, _forms
from ._calls import Asked, Call, Candidates, Event, Trial, Value
from ._errors import Unreachable, refusal
from ._forms import Words
from .client import Address


class _Received:
    """Received bytes that http.client can read like a socket."""

    def __init__(self, data: bytes):
        self._data = data

    def makefile(self, *unused: object) -> io.BytesIO:
        return io.BytesIO(self._data)


class AsyncClient:
    """A server. Each call opens its own connection. retry_seconds: see Client."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, retry_seconds: Optional[float] = 60):
        self._address = Address(url)
        self._token = token or os.environ.get("BANDITD_TOKEN") or None
        self._retry_seconds = retry_seconds

    @property
    def url(self) -> str:
        return self._address.url

    async def create_study(
        self, definition: Mapping[str, Any], words: Optional[Mapping[str, Words]] = None
    ) -> AsyncStudy:
        call = _forms.create_study(definition, words) if words else _calls.create_study(definition)
        return AsyncStudy(self, (await self._run(call))["id"])

    def study(self, study: str) -> AsyncStudy:
        return AsyncStudy(self, study)

    async def studies(self) -> AsyncIterator[dict[str, Any]]:
        token = None
        while True:
            page = await self._run(_calls.list_studies(token))
            for study in _calls.listed_studies(page):
                yield study
            token = page.get("next_page_token")
            if not token:
                return

    # ---- transport ----

    async def import_study(self, lines: bytes, study: Optional[str] = None) -> AsyncStudy:
        """Recreates a study from the output of `Study.export`, under another id if `study` is given."""
        return AsyncStudy(self, (await self._run(_calls.import_study(lines, study)))["id"])

    async def whoami(self) -> dict[str, Any]:
        """What this client may do: "role", "study", "expires_at" and "name"."""
        caller: dict[str, Any] = await self._run(_calls.Call("GET", "/v1/whoami"))
        return caller

    async def version(self) -> dict[str, Any]:
        """The version of the server."""
        return cast("dict[str, Any]", await self._run(_calls.Call("GET", "/v1/version")))

    async def algorithms(self) -> list[dict[str, Any]]:
        """The algorithms of the server with their options."""
        algorithms: list[dict[str, Any]] = (await self._run(_calls.Call("GET", "/v1/algorithms")))["algorithms"]
        return algorithms

    def tokens(self) -> AsyncIterator[dict[str, Any]]:
        """The tokens, without their text (admin)."""
        return self._pages("/v1/tokens", {})

    async def create_token(
        self,
        role: str,
        *,
        study: Optional[str] = None,
        description: Optional[str] = None,
        lifetime_seconds: Optional[int] = None,
    ) -> dict[str, Any]:
        """Creates a token (admin). Its text, "token", is shown only now."""
        made: dict[str, Any] = await self._run(_calls.create_token(role, study, description, lifetime_seconds))
        return made

    async def revoke_token(self, token: str) -> None:
        """Ends a token, by its id (admin)."""
        await self._run(_calls.revoke_token(token))

    async def notify(self) -> list[dict[str, Any]]:
        """Whom the server notifies of events of its studies, and whether delivery succeeds (admin)."""
        receivers: list[dict[str, Any]] = (await self._run(_calls.Call("GET", "/v1/notify")))["notify"]
        return receivers

    async def set_notify(self, receivers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Sets whom the server notifies (admin). Each receiver has "url", and perhaps "events" and "secret". A new
        receiver's secret is in the answer, and is shown only now."""
        set_now: list[dict[str, Any]] = (await self._run(_calls.set_notify(receivers)))["notify"]
        return set_now

    async def _pages(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        token = None
        while True:
            page = await self._run(_calls.page(path, {**query, "page_token": token}))
            for item in page["items"]:
                yield item
            token = page.get("next_page_token")
            if not token:
                return

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = self._address
        if address.socket:
            return await asyncio.open_unix_connection(address.socket)
        return await asyncio.open_connection(address.host, address.port, ssl=address.tls or None)

    async def _write(self, writer: asyncio.StreamWriter, call: Call, more: Mapping[str, str], version: str) -> None:
        address = self._address
        host = f"[{address.host}]" if ":" in address.host else address.host
        headers = {
            "Host": f"{host}:{address.port}" if not address.socket else "localhost",
            "Connection": "close",
            "Content-Length": str(len(call.body or b"")),
            **call.headers(self._token),
            **more,
        }
        head = f"{call.method} {address.prefix}{call.path} HTTP/{version}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        writer.write(head.encode("latin-1") + (call.body or b""))
        await writer.drain()

    async def _exchange(self, call: Call) -> tuple[int, bytes, Optional[str]]:
        reader, writer = await self._open()
        try:
            await self._write(writer, call, {}, "1.1")
            received = await reader.read()
        finally:
            writer.close()
        response = http.client.HTTPResponse(cast(Any, _Received(received)), method=call.method)
        response.begin()
        return response.status, response.read(), response.getheader("Retry-After")

    async def _run(self, call: Call) -> Any:
        begun, pauses = time.monotonic(), _calls.Pauses()
        while True:
            failure: Optional[Exception] = None
            status, body, retry_after = 0, b"", None
            try:
                status, body, retry_after = await asyncio.wait_for(self._exchange(call), call.seconds)
            except (OSError, asyncio.TimeoutError, http.client.HTTPException) as error:
                failure = error
            if failure is None and not _calls.is_transient(status):
                return call.result(status, body)
            pause = pauses.next(retry_after)
            if self._retry_seconds is not None and time.monotonic() + pause > begun + self._retry_seconds:
                if failure is None:
                    return call.result(status, body)
                raise Unreachable(f"no answer from {self.url}: {failure}") from failure
            await asyncio.sleep(pause)


class AsyncStudy:
    """A study on a server. The calls are those of Study."""

    def __init__(self, client: AsyncClient, study: str):
        self.id = study
        self._client = client
        self._names: Optional[list[str]] = None
        self._names_known = False

    def __repr__(self) -> str:
        return f"AsyncStudy({self.id!r} at {self._client.url})"

    async def _feature_names(self) -> Optional[list[str]]:
        if not self._names_known:
            self._names = _calls.feature_names(await self.info())
            self._names_known = True
        return self._names

    async def ask(
        self,
        count: int = 1,
        *,
        worker: Optional[str] = None,
        wait_seconds: float = 0,
        lease_seconds: Optional[float] = None,
        fresh: bool = False,
        fixed: Optional[Mapping[str, Any]] = None,
    ) -> list[Trial]:
        asked = await self.ask_with_reason(
            count, worker=worker, wait_seconds=wait_seconds, lease_seconds=lease_seconds, fresh=fresh, fixed=fixed
        )
        return asked.trials

    async def ask_with_reason(
        self,
        count: int = 1,
        *,
        worker: Optional[str] = None,
        wait_seconds: float = 0,
        lease_seconds: Optional[float] = None,
        fresh: bool = False,
        fixed: Optional[Mapping[str, Any]] = None,
    ) -> Asked:
        names = await self._feature_names()
        call = _calls.ask(self.id, names, count, worker, wait_seconds, lease_seconds, fresh, fixed)
        return cast(Asked, await self._client._run(call))

    async def tell(
        self,
        trial: Union[Trial, int],
        value: Value,
        *,
        repeats: Optional[int] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        std_error: Optional[Value] = None,
        cost: Optional[float] = None,
    ) -> dict[str, int]:
        return await self.tell_results([_calls.measured(trial, value, repeats, metadata, std_error, cost)])

    async def fail(
        self, trial: Union[Trial, int], reason: str = "", *, retry: bool = False, cost: Optional[float] = None
    ) -> dict[str, int]:
        return await self.tell_results([_calls.ended(trial, "failed", reason, retry, cost)])

    async def infeasible(
        self, trial: Union[Trial, int], reason: str = "", *, cost: Optional[float] = None
    ) -> dict[str, int]:
        return await self.tell_results([_calls.ended(trial, "infeasible", reason, cost=cost)])

    async def release(self, trial: Union[Trial, int]) -> dict[str, int]:
        return await self.tell_results([_calls.ended(trial, "released")])

    async def stop(
        self,
        trial: Union[Trial, int],
        value: Optional[Value] = None,
        reason: str = "",
        *,
        cost: Optional[float] = None,
    ) -> dict[str, int]:
        result = _calls.ended(trial, "stopped", reason, cost=cost)
        return await self.tell_results([result if value is None else {**result, **_calls.measured(trial, value)}])

    async def measure(self, trial: Union[Trial, int], step: int, value: float) -> bool:
        return cast(bool, await self._client._run(_calls.measure(self.id, trial, step, value)))

    async def amend(
        self,
        trial: Union[Trial, int],
        value: Optional[Value] = None,
        *,
        state: Optional[str] = None,
        reason: str = "",
        std_error: Optional[Value] = None,
    ) -> Trial:
        call = _calls.amend(self.id, trial, await self._feature_names(), value, state, reason, std_error)
        return cast(Trial, await self._client._run(call))

    async def propose(
        self,
        candidate: Union[int, str, None] = None,
        *,
        parameters: Optional[Mapping[str, Any]] = None,
        broken: Optional[str] = None,
    ) -> Trial:
        call = _calls.propose(self.id, await self._feature_names(), candidate, parameters, broken)
        return cast(Trial, await self._client._run(call))

    async def tell_results(self, results: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        return cast("dict[str, int]", await self._client._run(_calls.tell(self.id, results)))

    async def heartbeat(self, trial: Union[Trial, int], lease_seconds: Optional[float] = None) -> None:
        await self._client._run(_calls.heartbeat(self.id, trial, lease_seconds))

    async def observe(self, observations: Sequence[Mapping[str, Any]], *, broken: Optional[str] = None) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._client._run(_calls.observe(self.id, observations, broken)))

    async def trial(self, number: int) -> Trial:
        return cast(Trial, await self._client._run(_calls.trial(self.id, number, await self._feature_names())))

    async def trials(
        self,
        *,
        state: Optional[str] = None,
        worker: Optional[str] = None,
        sort: Optional[str] = None,
        order: Optional[str] = None,
        at_least: Optional[Mapping[str, Any]] = None,
        at_most: Optional[Mapping[str, Any]] = None,
    ) -> AsyncIterator[Trial]:
        query = _calls.trial_filters(state, worker, sort, order, at_least, at_most)
        names = await self._feature_names()
        while True:
            page, token = await self._client._run(_calls.list_trials(self.id, names, query))
            for trial in page:
                yield trial
            if not token:
                return
            query["page_token"] = token

    async def info(self) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._client._run(_calls.get(self.id)))

    async def best(self) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._client._run(_calls.get(self.id, "/best")))

    async def predict(
        self, *, candidates: Any = None, points: Any = None, parameters: Any = None
    ) -> list[dict[str, Any]]:
        call = _calls.predict(self.id, candidates, points, parameters)
        return cast("list[dict[str, Any]]", await self._client._run(call))

    async def model(self, metric: Optional[str] = None) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._client._run(_calls.read(self.id, "/model", metric=metric)))

    async def upload(self, points: Any, *, keys: Optional[Sequence[Optional[str]]] = None) -> int:
        return cast(int, await self._client._run(_calls.upload(self.id, points, keys=keys)))

    async def change(self, **changes: Any) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._client._run(_calls.patch(self.id, changes)))

    async def pause(self) -> None:
        await self.change(state="paused")

    async def resume(self) -> None:
        await self.change(state="active")

    async def finish(self) -> None:
        await self.change(state="finished")

    async def delete(self) -> None:
        await self._client._run(_calls.delete(self.id))

    # ---- candidates ----

    def candidates(
        self,
        *,
        sort: Optional[str] = None,
        retired: Optional[bool] = None,
        pulls: Optional[int] = None,
        key: Optional[str] = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """The candidates and what the model knows of them: "candidate", "point", "pulls", "mean", "posterior" …

        sort: "candidate", "mean", "ucb", "std" or "pulls", with the best or largest first. retired, pulls: only such
        candidates. key: only the candidate that has it."""
        query = {"sort": sort, "retired": retired, "pulls": pulls, "key": key}
        return self._client._pages(_calls.study_path(self.id, "/candidates"), query)

    async def candidate(self, number: int) -> dict[str, Any]:
        """A candidate and what the model knows of it."""
        known: dict[str, Any] = await self._client._run(_calls.get(self.id, f"/candidates/{number}"))
        return known

    async def add(self, points: Any, *, keys: Optional[Sequence[Optional[str]]] = None) -> list[int]:
        """Adds candidates to a running study: rows of numbers, and your own names for them. Returns their
        numbers."""
        call = _calls.upload(self.id, points, "POST", "/candidates", "candidates", keys)
        added: list[int] = await self._client._run(call)
        return added

    async def retire(self, candidates: Candidates) -> dict[str, int]:
        """Stops handing out these candidates. Returns the number of "retired" ones and "cancelled" trials."""
        call = _calls.send(_calls.study_path(self.id, "/candidates/retire"), _calls.named(candidates))
        retired: dict[str, int] = await self._client._run(call)
        return retired

    async def restore(self, candidates: Candidates) -> dict[str, int]:
        """Hands out these retired candidates again."""
        call = _calls.send(_calls.study_path(self.id, "/candidates/restore"), _calls.named(candidates))
        restored: dict[str, int] = await self._client._run(call)
        return restored

    async def set_keys(self, keys: Sequence[Optional[str]]) -> int:
        """Gives all candidates keys, your own names for them; None for a candidate without one. They replace all
        earlier keys. Returns how many candidates have one."""
        keyed: int = await self._client._run(_calls.set_keys(self.id, keys))
        return keyed

    async def upload_kernel(self, matrix: Any) -> int:
        """Uploads the kernel matrix of a precomputed domain. Returns the number of candidates."""
        count: int = await self._client._run(_calls.upload(self.id, matrix, "PUT", "/kernel"))
        return count

    # ---- imported results ----

    def observations(self) -> AsyncIterator[dict[str, Any]]:
        """The imported results, each with its number, "observation"."""
        return self._client._pages(_calls.study_path(self.id, "/observations"), {})

    async def observation(self, number: int) -> dict[str, Any]:
        """An imported result with its amendments."""
        found: dict[str, Any] = await self._client._run(_calls.get(self.id, f"/observations/{number}"))
        return found

    async def amend_observation(
        self, number: int, value: Optional[float] = None, *, state: Optional[str] = None, reason: str = ""
    ) -> dict[str, Any]:
        """Corrects an imported result, or takes it back with the state "failed"."""
        call = _calls.amend_observation(self.id, number, value, state, reason)
        amended: dict[str, Any] = await self._client._run(call)
        return amended

    # ---- reading ----

    def batches(self) -> AsyncIterator[dict[str, Any]]:
        """The planned batches, the initial pick first."""
        return self._client._pages(_calls.study_path(self.id, "/batches"), {})

    def measurements(self, trials: Optional[str] = None, *, points: Optional[int] = None) -> AsyncIterator[dict[str, Any]]:
        """The learning curves of all trials that have one, or of some trials, such as "1-500"; at most `points` values
        of each."""
        query = {"trials": trials, "points": points}
        return self._client._pages(_calls.study_path(self.id, "/measurements"), query)

    async def series(self, points: int = 1000, *, metric: Optional[str] = None) -> list[dict[str, Any]]:
        """The values in order, each with the best one so far; at most `points` of them, for plotting. With several
        objectives, these are the hypervolume so far, or the values of one metric."""
        call = _calls.read(self.id, "/series", points=points, metric=metric)
        items: list[dict[str, Any]] = (await self._client._run(call))["items"]
        return items

    async def importance(self, metric: Optional[str] = None) -> dict[str, Any]:
        """How much of the variation each parameter explains."""
        found: dict[str, Any] = await self._client._run(_calls.read(self.id, "/importance", metric=metric))
        return found

    async def effects(
        self, parameter: str, *, other: Optional[str] = None, points: Optional[int] = None, metric: Optional[str] = None
    ) -> dict[str, Any]:
        """The predicted effect of a parameter, or of two together."""
        query = {"parameter": parameter, "with": other, "points": points, "metric": metric}
        found: dict[str, Any] = await self._client._run(_calls.read(self.id, "/effects", **query))
        return found

    async def diagnostics(self, metric: Optional[str] = None) -> dict[str, Any]:
        """How well the model predicts results that it has not seen."""
        found: dict[str, Any] = await self._client._run(_calls.read(self.id, "/diagnostics", metric=metric))
        return found

    async def outlook(self, *, metric: Optional[str] = None, epsilon: Optional[float] = None) -> dict[str, Any]:
        """What is left to gain: the probability that some point is better than the recommended one by more than
        epsilon, and how much further trials are expected to gain."""
        query = {"metric": metric, "epsilon": epsilon}
        found: dict[str, Any] = await self._client._run(_calls.read(self.id, "/outlook", **query))
        return found

    async def why(self, trial: Union[Trial, int]) -> dict[str, Any]:
        """Why a trial was chosen: a sentence, and what the model knew at that moment."""
        number = trial.id if isinstance(trial, Trial) else trial
        found: dict[str, Any] = await self._client._run(_calls.read(self.id, f"/trials/{number}/why"))
        return found

    async def fork(self, name: str, at_trial: Optional[int] = None, **changes: Any) -> AsyncStudy:
        """The study as it was when `at_trial` was reported, under another id. `changes`: other members of the
        definition, such as seed, aim or algorithm."""
        return AsyncStudy(self._client, (await self._client._run(_calls.fork(self.id, name, at_trial, changes)))["id"])

    async def events(self, after: Optional[int] = None) -> AsyncIterator[Event]:
        """The study's events as they happen, without end, also through restarts of the server. `after`: the id of an
        event, to begin with the events after it; 0: from the beginning of the study."""
        pauses = _calls.Pauses()
        while True:
            try:
                async for event in self._stream(after):
                    pauses = _calls.Pauses()
                    after = after if event.id is None else event.id
                    if event.type == "start":
                        continue
                    yield event
                    if _events.is_last(event):
                        return
            except (OSError, asyncio.TimeoutError, http.client.HTTPException):
                pass  # connect again, with the events since the last one
            await asyncio.sleep(pauses.next())

    async def _stream(self, after: Optional[int]) -> AsyncIterator[Event]:
        """The events until the connection ends."""
        client, parser = self._client, _events.Parser()
        call = Call("GET", _calls.study_path(self.id, "/events"))
        reader, writer = await client._open()
        try:
            # In HTTP/1.0 a stream is not cut into chunks.
            await client._write(writer, call, {} if after is None else {"Last-Event-ID": str(after)}, "1.0")
            line = await asyncio.wait_for(reader.readline(), _events.SILENCE)
            status = int(line.split()[1]) if line.startswith(b"HTTP/") else 0
            while line.strip():
                line = await asyncio.wait_for(reader.readline(), _events.SILENCE)
            if status != 200:
                body = await asyncio.wait_for(reader.read(), _events.SILENCE)
                if status and not _calls.is_transient(status):
                    raise refusal(status, body)
                return
            while line := await asyncio.wait_for(reader.readline(), _events.SILENCE):
                event = parser.take(line)
                if event:
                    yield event
        finally:
            writer.close()

    async def export(self, format: str = "ndjson") -> bytes:
        """The whole study ("ndjson", for `Client.import_study`), or a table of its trials ("csv")."""
        exported: bytes = await self._client._run(_calls.export(self.id, format))
        return exported

    async def trials_dataframe(self, **filters: Any) -> Any:
        """The trials as a pandas.DataFrame with one row per trial; the filters are those of `trials`. Requires
        pandas."""
        return _calls.pandas().DataFrame(_calls.rows([trial async for trial in self.trials(**filters)]))
