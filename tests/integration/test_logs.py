"""The log: one line an event, as text or as JSON, with ids to find a request by and without secrets."""

import fcntl
import json
import os
import re
import sqlite3

from databases import sqlite_only
from server import Server
from support import cases, definition, measure, refusal, work

LEVELS = ("error", "warn", "info", "debug")
PAIR = r'[a-z_]+=(?:[^\s"=\\]+|"(?:[^"\\\x00-\x1f]|\\["\\]|\\u00[0-9a-f]{2})*")'
LINE = re.compile(rf"^(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z) ({'|'.join(LEVELS)}) ([a-z_]+)((?: {PAIR})*)$")


def parse_text(line):
    match = LINE.match(line)
    assert match and not CONTROLS.search(line), line
    fields = {"time": match[1], "level": match[2], "event": match[3]}
    for pair in re.findall(PAIR, match[4]):
        key, value = pair.split("=", 1)
        fields[key] = json.loads(value) if value.startswith('"') else value
    return fields


def parse_json(line):
    fields = json.loads(line)
    assert list(fields)[:3] == ["time", "level", "event"] and all(isinstance(value, str) for value in fields.values()), line
    return fields


FORMATS = {"text": ("text", parse_text), "json": ("json", parse_json)}
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
HOSTILE = ['/"quoted"=/\\', "/%0Aerror%20forged%20line", "/%7F%01%22", "/%C3%A4/%C2%9B31m", "/key=value"]


@cases(FORMATS)
def test_every_line_is_an_event(case):
    form, parse = case
    with Server("--log-format", form, "--log-level", "debug") as server:
        client = server.client()
        study = client.create(definition())["id"]
        trials = client.ask(study)["trials"]
        client.tell(study, [measure(trial) for trial in trials])
        answers = [client.get("/v1/studies/nobody"), client.request("GET", "/healthz", headers={"X-Request-Id": 'my"id=\\'})]
        for target in HOSTILE:
            request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            assert server.exchange(request.encode()).startswith(b"HTTP/1.1 40"), target
        events = [parse(line) for line in server.stop().split("\n")[:-1]]
    assert {event["level"] for event in events} <= set(LEVELS)
    assert {"started", "study_created", "batch_planned", "stopping", "stopped"} <= {event["event"] for event in events}
    requests = {event["id"]: event for event in events if event["event"] == "request"}
    assert answers[1].headers["X-Request-Id"] == 'my"id=\\'
    for answer, path in zip(answers, ("/v1/studies/nobody", "/healthz")):
        logged = requests[answer.headers["X-Request-Id"]]
        assert (logged["method"], logged["path"], logged["status"]) == ("GET", path, str(answer.status)), logged
        assert float(logged["ms"]) >= 0
    assert not any("detail" in event for event in requests.values()), "it may quote what was sent"
    assert len(requests) == 3 + len(answers) + len(HOSTILE)
    created = [event["study"] for event in events if event["event"] == "study_created"]
    assert created == [study]


@cases({level: level for level in LEVELS})
def test_levels(case):
    with Server("--log-level", case) as server:
        client = server.client()
        client.create(definition())
        refusal(client.get("/v1/studies/nobody"), 404)
        events = [parse_text(line) for line in server.stop().split("\n")[:-1]]
    seen = {event["level"] for event in events}
    allowed = LEVELS[: LEVELS.index(case) + 1]
    assert seen <= set(allowed), seen
    assert ("info" in seen) == ("info" in allowed) and ("debug" in seen) == ("debug" in allowed), seen


def slow_ones(server):
    return [event for event in map(parse_text, server.log().split("\n")[:-1]) if event["event"] == "slow_request"]


def test_a_slow_request_is_a_warning():
    with Server("--slow-request-ms", "1") as server:
        client = server.client()
        answer = client.post("/v1/studies", definition(points=[[i / 1000, j / 50] for i in range(1000) for j in range(50)]))
        assert answer.status == 201
        server.stop()  # a line is written after its answer
        logged = {event["id"]: event for event in slow_ones(server)}[answer.headers["X-Request-Id"]]
        assert logged["level"] == "warn" and logged["path"] == "/v1/studies" and logged["status"] == "201"
        assert float(logged["ms"]) > 1


def test_waiting_by_wish_is_not_slow():
    with Server("--slow-request-ms", "2000") as server:
        client = server.client()
        study = client.create(definition())["id"]
        assert client.ask(study, worker="holds it")["trials"]
        answer = client.post(f"/v1/studies/{study}/ask", {"worker": "waits", "wait_seconds": 3})
        assert answer.status == 200 and answer.json["trials"] == [], answer
        assert answer.headers["X-Request-Id"] not in [event["id"] for event in slow_ones(server)]


def test_a_failed_request_is_a_warning_with_its_reason():
    sqlite_only("it locks SQLite's file")
    with Server() as server:
        client = server.client()
        client.create(definition(id="first"))
        other = sqlite3.connect(server.db)
        other.execute("BEGIN IMMEDIATE")
        answer = client.post("/v1/studies", definition(id="second"))
        other.rollback()
        other.close()
        problem = refusal(answer, 503)
        assert client.post("/v1/studies", definition(id="second")).status == 201
        metrics = client.get("/metrics").body.decode()
        assert "\nbanditd_failed_writes_total 1\n" in metrics
        events = [parse_text(line) for line in server.stop().split("\n")[:-1]]
    failed = [event for event in events if event["event"] == "request_failed"]
    assert len(failed) == 1 and failed[0]["level"] == "warn", failed
    assert failed[0]["id"] == answer.headers["X-Request-Id"] and failed[0]["detail"] == problem["detail"]


@cases(FORMATS)
def test_no_secrets(case):
    secret = "a-secret-of-the-administrator-0123456789"
    with Server("--log-format", case[0], "--log-level", "debug", "--slow-request-ms", "1") as server:
        path = server.db.parent / "admin"
        path.write_text(secret + "\n")
        server.stop()
        server.options = (*server.options, "--auth", "token", "--admin-token-file", str(path))
        server.start()
        client = server.client()

        def call(method, target, token, body=None):
            headers = {"Authorization": f"Bearer {token}"}
            return client.request(method, target, body, headers=headers, content_type=body and "application/json")

        made = call("POST", "/v1/tokens", secret, {"role": "editor", "description": "for the test"})
        assert made.status == 201, made
        token = made.json["token"]
        assert call("POST", "/v1/studies", token, definition(id="study", metadata={"note": "private-metadata"})).status == 201
        refusal(call("GET", "/v1/studies/study", token[:-1] + "!"), 401)
        refusal(call("POST", "/v1/studies", token, '{"private-body": }'), 400)
        log = server.stop()
    events = [case[1](line) for line in log.split("\n")[:-1]]
    for word in (secret, token, token.split("_", 2)[2], token[:-1] + "!", "private-metadata", "private-body"):
        assert word not in log, word
    by_token = [event for event in events if event.get("token") == made.json["id"]]
    assert by_token and {event["path"] for event in by_token} == {"/v1/studies"}, by_token


class Unread(Server):
    """A server whose log goes into a pipe that nobody reads."""

    def popen(self, command, **options):
        self.reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        process = super().popen(command, **{**options, "stderr": writing})
        os.close(writing)
        return process


def test_a_log_that_nobody_reads_stops_nothing():
    long = "x" * 4000  # is in the line of its request
    with Unread("--log-level", "debug") as server:
        client = server.client()
        study = client.create(definition())["id"]
        dropped = 0
        for _ in range(2000):
            client.get(f"/v1/studies/{long}")
            if dropped := int(re.search(r"^banditd_log_lines_dropped_total (\d+)$", client.get("/metrics").body.decode(), re.M)[1]):
                break
        assert dropped > 0, "the queue is not full"
        assert work(client, study, 5) and client.get("/readyz").status == 200
        with open(server.reading, "rb", closefd=False) as log:
            said = next(line for line in log if b" log_lines_dropped " in line)
        assert int(re.search(rb"lines=(\d+)", said)[1]) >= dropped, said
        for _ in range(2000):
            client.get(f"/v1/studies/{long}")
        server.stop()  # although the log is full once more
        os.close(server.reading)
