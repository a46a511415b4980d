"""Server-sent events: complete, in order, resumable from any of them and after a crash; slow listeners are dropped."""

import http.client
import json
import pathlib
import selectors
import socket
import tempfile

from server import Server
from support import cases, definition, grid, measure, refusal, work
from test_series import uniform
from test_tokens import Guarded, reloaded

TIMEOUT = 60


class Stream:
    """One listener. Events come as (id, type, data); comments as (None, "comment", text)."""

    def __init__(self, server, study, last_id=None, token=None):
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=TIMEOUT)
        headers = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        self._connection.request("GET", f"/v1/studies/{study}/events", headers=headers)
        self.response = self._connection.getresponse()
        assert self.response.status == 200, (self.response.status, self.response.read())
        assert self.response.headers["Content-Type"] == "text/event-stream"
        assert self.response.headers["X-Accel-Buffering"] == "no"
        assert self._block()["retry"].isdigit()

    def _block(self):
        """Fields of the next block; {} at the end of the stream."""
        fields = {}
        while (line := self.response.readline().decode()) and line != "\n":
            name, _, value = line.rstrip("\n").partition(":")
            assert name not in fields or name == "", line
            fields[name or "comment"] = value[1:] if value.startswith(" ") else value
        if "id" in fields:
            self.last_id = int(fields["id"])
        return fields

    def read(self):
        """The next event; None at the end."""
        fields = self._block()
        if "data" in fields:
            return fields.get("id") and int(fields["id"]), fields["event"], json.loads(fields["data"])
        return (None, "comment", fields["comment"]) if fields else None

    def until(self, last):
        """Events up to the first for which last(event) holds; comments left out."""
        events = []
        while not events or not last(events[-1]):
            event = self.read()
            assert event, f"the stream ended after {events[-3:]}"
            if event[1] != "comment":
                events.append(event)
        return events

    def rest(self):
        events = []
        while event := self.read():
            events.append(event)
        return events

    def close(self):
        self.response.close()
        self._connection.close()


def paused(event):
    return event[1] == "state" and event[2]["state"] == "paused"


def lived(client, study, trials=40):
    """A study with a past: batches, results, failures, a renewed lease, a released trial, a change of state."""
    work(client, study, trials)
    asked = client.ask(study, 4, worker="w1")["trials"]
    client.post(f"/v1/studies/{study}/trials/{asked[0]['id']}/heartbeat", {"lease_seconds": 1000})
    results = [{"trial": asked[0]["id"], "state": "failed", "reason": "a line\nand \u2028 another"}]
    if len(asked) > 1:
        results.append({"trial": asked[1]["id"], "state": "released"})
    client.tell(study, results)
    pause(client, study)


def pause(client, study, state="paused"):
    assert client.request("PATCH", f"/v1/studies/{study}", {"state": state}).status == 200


def test_what_happens_is_seen(server):
    client = server.client()
    study = client.create(definition())["id"]
    stream = Stream(server, study)
    first = stream.last_id
    lived(client, study)
    events = stream.until(paused)
    stream.close()
    assert [event[0] for event in events] == list(range(first + 1, first + 1 + len(events)))
    assert {event[1] for event in events} == {"trial", "batch", "state"}

    trials = {}
    for _, kind, data in events:
        if kind == "batch":
            for trial in range(data["first_trial"], data["first_trial"] + data["trials"]):
                trials[trial] = {"state": "queued"}
        elif kind == "trial":
            trials[data["id"]].update(data)
    for trial in client.items(f"/v1/studies/{study}/trials"):
        seen = trials.pop(trial["id"])
        for field in ("state", "value", "told_at"):
            assert seen.get(field) == trial.get(field), (field, seen, trial)
        if trial["state"] == "pending":
            assert all(seen[field] == trial[field] for field in ("worker", "attempt", "lease_expires_at")), (seen, trial)
    assert not trials, trials
    batches = {batch["batch"]: batch for batch in client.items(f"/v1/studies/{study}/batches")}
    planned = [data for _, kind, data in events if kind == "batch" and "started_at" in data]
    assert [data["batch"] for data in planned] == sorted(batches)
    for data in planned:
        row = batches[data["batch"]]
        assert all(row[field] == data[field] for field in ("stop_rule", "dictionary_size", "beta", "started_at")), data
    bests = [data["id"] for _, kind, data in events if kind == "trial" and data.get("best")]
    assert bests[-1] == client.study(study)["best"]["trial"]


def test_events_of_every_kind(server):
    client = server.client()
    body = definition(feedback="async")
    del body["domain"]["points"]
    study = client.create({**body, "domain": {"type": "candidates", "dimension": 2}})["id"]
    path = f"/v1/studies/{study}"
    stream = Stream(server, study, 0)
    assert client.put(f"{path}/candidates", {"points": grid(12)}).status == 200
    assert client.post(f"{path}/observations", {"observations": [{"candidate": 3, "value": 0.5}] * 2}).status == 200
    added = client.post(f"{path}/candidates", {"points": [[2, 2], [3, 3]]})
    assert added.status == 200, added
    assert client.post(f"{path}/candidates/retire", {"candidates": [0, 1, 2]}).status == 200
    own = client.post(f"{path}/trials", {"candidate": 7})
    assert own.status in (200, 201), own
    trial = client.ask(study, worker="w")["trials"][0]
    assert client.post(f"{path}/trials/{trial['id']}/measurements", {"step": 3, "value": 0.25}).status == 200
    client.tell(study, [{"trial": trial["id"], "value": 0.75}])
    amended = client.post(f"{path}/trials/{trial['id']}/amend", {"value": 0.5, "reason": "a slip"})
    assert amended.status == 200, amended
    pause(client, study)
    events = stream.until(paused)
    stream.close()

    def first(kind, **fields):
        for _, name, data in events:
            if name == kind and all(data.get(key) == value for key, value in fields.items()):
                return data
        raise AssertionError(f"no {kind} with {fields} among {events}")

    assert events[0][1:] == ("state", {"state": "awaiting_candidates", "time": events[0][2]["time"]})
    first("candidates", count=144)
    first("state", state="active")
    first("observations", count=2)
    first("candidates", count=146)
    first("retired", count=3)
    first("trial", id=own.json["id"], state="queued")
    first("measurement", id=trial["id"], attempt=1, step=3, value=0.25)
    first("trial", id=trial["id"], state="completed", value=0.75)
    first("trial", id=trial["id"], state="completed", value=0.5, amended=True, reason="a slip")


def test_more_trials_of_a_batch_are_an_event(server):
    """Of workers that come while one is out: the same batch gets more picks."""
    client = server.client()
    study = client.create(definition(feedback="async", algorithm={"lambda": 0.01}))["id"]
    stream = Stream(server, study)
    held = [client.ask(study, worker=f"w{i}", wait_seconds=30)["trials"][0] for i in range(3)]
    pause(client, study)
    planned = [data for _, kind, data in stream.until(paused) if kind == "batch"]
    stream.close()
    assert [(data["batch"], data["first_trial"], data["trials"]) for data in planned] == [(0, t["id"], 1) for t in held]
    assert ["started_at" in data for data in planned] == [True, False, False], planned
    (row,) = client.items(f"/v1/studies/{study}/batches")
    assert all(planned[-1][field] == row[field] for field in ("ratio", "stop_rule")) and row["size"] == 3, (planned, row)


def test_a_late_result_is_an_event(server):
    client = server.client()
    study = client.create(definition(lease_seconds=1))["id"]
    stream = Stream(server, study)
    trial = client.ask(study, worker="first")["trials"][0]
    again = client.ask(study, worker="second", wait_seconds=30)["trials"][0]
    assert again["id"] == trial["id"] and again["attempt"] == 2, again
    client.tell(study, [{"trial": trial["id"], "attempt": 2, "value": 0.5}])
    assert client.tell(study, [{"trial": trial["id"], "attempt": 1, "value": 0.75}])["late"] == 1
    events = stream.until(lambda event: event[1] == "late")
    assert {"id": trial["id"], "attempt": 1, "value": 0.75}.items() <= events[-1][2].items(), events[-1]
    expired = [data for _, kind, data in events if kind == "trial" and data["state"] == "queued"]
    assert [data["reason"] for data in expired] == ["expired"], expired
    stream.close()


def observe(client, study, *values):
    rows = [{"candidate": i, **(v if isinstance(v, dict) else {"value": v})} for i, v in enumerate(values)]
    answer = client.post(f"/v1/studies/{study}/observations", {"observations": rows})
    assert answer.status == 200, answer


def tell_one(client, study, result):
    (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
    client.tell(study, [{"trial": trial["id"], **(result if isinstance(result, dict) else {"value": result})}])
    return trial["id"]


def bests(server, study):
    """-> the trials whose events say that their results are the best so far"""
    tag = server.client().get(f"/v1/studies/{study}").headers["ETag"]
    last = int(tag.strip('"').split("-")[1], 16)
    stream = Stream(server, study, 0)
    events = stream.until(lambda event: event[0] == last)
    stream.close()
    return [data["id"] for _, kind, data in events if kind in ("trial", "late") and data.get("best")]


@cases({"at_once": False, "after_a_kill": True})
def test_a_result_is_not_the_best_if_an_imported_one_is_better(case):
    def connect():
        if case:
            server.kill()
            server.start()
        return server.client()

    with Server() as server:
        client = server.client()
        study = client.create(definition(feedback="async"))["id"]
        tell_one(client, study, 1)
        observe(client, study, 10, 7)
        client = connect()
        tell_one(client, study, 5)
        tell_one(client, study, 8)
        assert bests(server, study) == [1]
        assert client.post(f"/v1/studies/{study}/trials/1/amend", {"value": 9}).status == 200
        assert bests(server, study) == [1]
        assert client.post(f"/v1/studies/{study}/observations/1/amend", {"state": "failed"}).status == 200
        client = connect()
        tell_one(client, study, 9.5)  # better than the other imported result, and than the trials
        assert bests(server, study) == [1, 4]
        assert client.post(f"/v1/studies/{study}/observations/2/amend", {"value": 20}).status == 200
        tell_one(client, study, 11)
        assert client.post(f"/v1/studies/{study}/observations/2/amend", {"value": 11.5}).status == 200
        client = connect()
        tell_one(client, study, 11.25)
        tell_one(client, study, 11.5)  # as good: the trial is shown
        assert client.study(study)["best"]["trial"] == 7
        assert bests(server, study) == [1, 4, 7]
        taken = client.create(definition(id="taken", history_from=study, feedback="async"))["id"]
        client = connect()
        tell_one(client, taken, 11.25)
        tell_one(client, taken, 12)
        assert bests(server, taken) == [2]


def test_a_late_result_is_not_the_best_if_an_imported_one_is_better(server):
    client = server.client()
    study = client.create(definition(lease_seconds=1, horizon=2))["id"]
    observe(client, study, 0.8)
    client.tell(study, [{"trial": client.ask(study)["trials"][0]["id"], "value": 0.25}])
    trial = client.ask(study, worker="first")["trials"][0]
    assert client.ask(study, worker="second", wait_seconds=30)["trials"][0]["attempt"] == 2
    client.tell(study, [{"trial": trial["id"], "attempt": 2, "value": 0.5}])
    assert client.tell(study, [{"trial": trial["id"], "attempt": 1, "value": 0.75}])["late"] == 1
    assert client.study(study)["best"]["observation"] == 1
    assert bests(server, study) == []


def test_imported_results_that_break_bounds_do_not_count(server):
    client = server.client()
    metrics = [{"name": "y", "goal": "minimize"}, {"name": "tox", "role": "constraint", "at_most": 1}]
    body = {"metrics": metrics, "domain": {"type": "candidates", "points": grid(4)}, "seed": 1}
    study = client.create(body)["id"]

    def values(y, tox):
        return {"values": {"y": y, "tox": tox}}

    observe(client, study, values(-10, 5), values(3, 0.5))
    told = [tell_one(client, study, values(*v)) for v in ((4, 0.5), (2, 3), (2, 1), (-5, 2))]
    assert bests(server, study) == [told[2]]
    assert client.study(study)["best"]["trial"] == told[2]


def test_a_stream_ends_with_its_token():
    with Guarded() as server:
        made = server.make(role="viewer", study="mine")
        stream, others = Stream(server, "mine", token=made["token"]), Stream(server, "mine", token=server.token)
        refusal(server.client(token=made["token"]).get("/v1/studies/theirs/events"), 403)
        server.client().delete(f"/v1/tokens/{made['id']}")
        assert all(event[1] == "comment" for event in stream.rest())
        pause(server.client(), "mine")
        assert paused(others.until(paused)[-1])
        stream.close()
        others.close()


def test_a_stream_ends_with_the_token_of_the_file():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "token"
        path.write_text("0123456789abcdefghijklmnopqrstuvwxyz")
        with Guarded("--admin-token-file", path) as server:
            old, others = Stream(server, "mine", token=path.read_text()), Stream(server, "mine", token=server.token)
            reloaded(server, "admin_token_loaded", 1)  # the same token
            pause(server.client(), "mine")
            assert paused(old.until(paused)[-1]) and paused(others.until(paused)[-1])
            path.write_text("zyxwvutsrqponmlkjihgfedcba9876543210")
            reloaded(server, "admin_token_loaded", 2)
            assert all(event[1] == "comment" for event in old.rest())
            server.client().request("PATCH", "/v1/studies/mine", {"state": "active"})
            assert others.until(lambda event: True)
            old.close()
            others.close()


def test_resumed_from_any_event(server):
    client = server.client()
    study = client.create(definition())["id"]
    lived(client, study)
    whole = Stream(server, study, 0)
    events = whole.until(paused)
    whole.close()
    assert events[0][:2] == (1, "state") and [event[0] for event in events] == list(range(1, len(events) + 1))
    listening = Stream(server, study)  # so that there is a feed with chunks
    pause(client, study, "active")
    listening.until(lambda event: event[1] == "state")
    pause(client, study)
    last = listening.until(paused)[-1][0]
    events = Stream(server, study, 0).until(lambda event: event[0] == last)
    for after in [*range(0, last - 1, 7), last - 2, last - 1]:
        stream = Stream(server, study, after)
        assert stream.until(lambda event: event[0] == last) == events[after:], after
        stream.close()
    listening.close()


def test_resumed_after_a_crash():
    with Server() as server:
        client = server.client()
        study = client.create(definition())["id"]
        stream = Stream(server, study, 0)
        lived(client, study)
        before = stream.until(paused)
        server.kill()
        stream.close()
        server.start()
        client = server.client()
        middle = before[len(before) // 2][0]
        stream = Stream(server, study, middle)
        assert stream.until(paused) == [event for event in before if event[0] > middle]
        pause(client, study, "active")
        client.tell(study, [measure(trial) for trial in client.ask(study, 4, worker="w1")["trials"]])
        after = stream.until(lambda event: event[1] == "trial" and event[2]["state"] == "completed")
        assert after[0][0] == before[-1][0] + 1
        stream.close()


def test_a_long_log_is_caught_up_with(server):
    client = server.client()
    study = client.create(uniform())["id"]
    for _ in range(5):
        trials = client.ask(study, 1000, fresh=True)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": trial["id"] / 7} for trial in trials])
    stream = Stream(server, study, 0)
    pause(client, study)
    events = stream.until(paused)
    stream.close()
    assert [event[0] for event in events] == list(range(1, len(events) + 1))
    told = {data["id"]: data["value"] for _, kind, data in events if kind == "trial" and data["state"] == "completed"}
    assert told == {trial: trial / 7 for trial in range(1, 5001)}


def test_a_deleted_study_ends_its_streams(server):
    client = server.client()
    client.create(definition(id="short-lived"))
    work(client, "short-lived", 3)
    stream, fresh = Stream(server, "short-lived", 0), Stream(server, "short-lived")
    stream.until(lambda event: event[1] == "trial" and event[2]["state"] == "completed")
    client.delete("/v1/studies/short-lived")
    assert stream.rest()[-1] == (None, "state", {"state": "deleted"})
    assert fresh.rest()[-1] == (None, "state", {"state": "deleted"})
    refusal(client.get("/v1/studies/short-lived/events"), 404)
    client.create(definition(id="short-lived"))
    again = Stream(server, "short-lived", stream.last_id)
    event = again.read()
    assert event[1] == "reset" and event[0] < stream.last_id, event
    pause(client, "short-lived")
    assert paused(again.read())
    again.close()


def test_silence_is_broken_by_comments(server):
    client = server.client()
    study = client.create(definition())["id"]
    stream = Stream(server, study)
    assert stream.read()[1] == "comment"
    pause(client, study)
    assert paused(stream.until(paused)[-1])
    stream.close()


def long_results(client, study, n):
    """Events of four kilobytes each."""
    trials = client.ask(study, n, fresh=True)["trials"]
    client.tell(study, [{"trial": trial["id"], "state": "stopped", "reason": "\U0001f600" * 1000} for trial in trials])


def test_a_slow_listener_is_dropped_and_may_come_back(server):
    client = server.client()
    study = client.create(uniform())["id"]
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect((server.host, server.port))
    slow.sendall(f"GET /v1/studies/{study}/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 0\r\n\r\n".encode())
    quick = Stream(server, study, 0)
    for _ in range(12):
        long_results(client, study, 250)
        quick.until(lambda event: event[1] == "trial" and event[2]["state"] == "stopped" and event[2]["id"] % 250 == 0)
    slow.settimeout(TIMEOUT)
    response = http.client.HTTPResponse(slow)
    response.begin()
    stream = Stream.__new__(Stream)
    stream.response, stream.last_id = response, None
    stream._block()
    events = [event for event in stream.rest() if event[1] != "comment"]
    assert events[-1][0] is None and events[-1][1] == "dropped", events[-1]
    slow.close()
    pause(client, study)
    again = Stream(server, study, stream.last_id)
    events = events[:-1] + again.until(paused)
    assert [event[0] for event in events] == list(range(1, len(events) + 1))
    again.close()
    quick.close()


def test_a_stream_outlives_the_limits_of_requests():
    with Server("--request-seconds", "1", "--idle-seconds", "1") as server:
        client = server.client()
        study = client.create(definition())["id"]
        stream = Stream(server, study)
        assert [stream.read()[1] for _ in range(2)] == ["comment"] * 2
        pause(server.client(), study)
        assert paused(stream.until(paused)[-1])
        stream.close()


def listen_raw(server, study, n, source="127.0.0.1"):
    """n sockets that have asked for events."""
    request = f"GET /v1/studies/{study}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    sockets = []
    for _ in range(n):
        connection = socket.create_connection((server.host, server.port), timeout=TIMEOUT, source_address=(source, 0))
        connection.sendall(request)
        sockets.append(connection)
    return sockets


def read_all(sockets, enough):
    """Reads from all until enough(bytes) holds for each. -> the bytes of each"""
    received = {connection: b"" for connection in sockets}
    with selectors.DefaultSelector() as selector:
        for connection in sockets:
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(TIMEOUT)
            assert ready, f"{len(selector.get_map())} of {len(sockets)} have not come so far"
            for key, _ in ready:
                piece = key.fileobj.recv(1 << 16)
                received[key.fileobj] += piece
                if not piece or enough(received[key.fileobj]):
                    selector.unregister(key.fileobj)
    return received


def test_five_hundred_listeners(server):
    client = server.client()
    study = client.create(definition(horizon=60))["id"]
    sockets = listen_raw(server, study, 500)
    read_all(sockets, lambda data: b"\nid: " in data)
    work(client, study, 60)
    for data in read_all(sockets, lambda data: b'"finished"' in data).values():
        for trial in range(1, 61):
            assert data.count(b'data: {"id":%d,"state":"completed"' % trial) == 1, trial
    for connection in sockets:
        connection.close()


def test_there_is_an_end_to_listeners():
    with Server("--request-seconds", "3600") as server:  # however long it takes to open them
        client = server.client()
        study = client.create(definition())["id"]
        sockets = listen_raw(server, study, 1000)  # half of them: the share of one caller
        for data in read_all(sockets, lambda data: b"\nid: " in data).values():
            assert data.startswith(b"HTTP/1.1 200 "), data
        answer = client.get(f"/v1/studies/{study}/events")
        refusal(answer, 429)
        assert int(answer.headers["Retry-After"]) > 0
        sockets += listen_raw(server, study, 1, source="127.0.0.2")
        assert read_all(sockets[-1:], lambda data: b"\nid: " in data)[sockets[-1]].startswith(b"HTTP/1.1 200 ")
        for connection in sockets:
            connection.close()


def test_streams_do_not_hold_up_the_end():
    with Server() as server:
        client = server.client()
        study, quiet = client.create(uniform())["id"], client.create(uniform())["id"]
        stream = Stream(server, quiet)
        stuck = listen_raw(server, study, 1)  # reads nothing
        for _ in range(8):
            long_results(client, study, 250)
        server.stop()
        assert all(event[1] == "comment" for event in stream.rest())
        stuck[0].close()
        stream.close()


@cases({"word": "now", "negative": "-1", "huge": "9007199254740992", "fraction": "1.0", "two": "1,2"})
def test_a_bad_id_is_refused(server, case):
    client = server.client()
    study = client.create(definition())["id"]
    answer = client.request("GET", f"/v1/studies/{study}/events", headers={"Last-Event-ID": case})
    assert "Last-Event-ID" in refusal(answer, 400)["detail"]


def test_other_answers(server):
    client = server.client()
    study = client.create(definition())["id"]
    refusal(client.get("/v1/studies/nobody/events"), 404)
    refusal(client.post(f"/v1/studies/{study}/events", {}), 405)
    refusal(client.get(f"/v1/studies/{study}/events?limit=1"), 422)
    head = client.request("HEAD", f"/v1/studies/{study}/events")
    assert head.status == 200 and head.headers["Content-Type"] == "text/event-stream" and head.body == b""
    assert client.study(study)["id"] == study
