"""A study's export, and the study that it makes: GET …/export and POST /v1/studies with application/x-ndjson."""

import contextlib
import hashlib
import http.client
import json
import math
import socket
import sqlite3
import struct
import threading
import time

from server import Server, run_to_end
from support import cases, definition, grid, refusal, work
from test_database import altered, fill, next_choices, without_times

NDJSON = "application/x-ndjson"


def exported(client, study, fmt="ndjson"):
    answer = client.get(f"/v1/studies/{study}/export?format={fmt}")
    assert answer.status == 200, answer
    return answer


def post(client, text, **options):
    return client.post("/v1/studies", text, content_type=NDJSON, **options)


def test_an_export_makes_the_same_study_elsewhere():
    with Server() as server, Server() as other:
        a, b = server.client(), other.client()
        for name in fill(a):
            answer = exported(a, name)
            assert answer.headers["Content-Type"] == NDJSON
            status, out, _ = run_to_end("export", name, "--db", str(server.db))
            assert (status, out) == (0, answer.body.decode()), "the program writes what the server answers"
            made = post(b, answer.body)
            assert made.status == 201 and made.headers["Location"] == f"/v1/studies/{name}", made
            assert without_times(made.json) == without_times(a.study(name)), made
            assert a.items(f"/v1/studies/{name}/trials") == b.items(f"/v1/studies/{name}/trials")
            choices = next_choices(a, name)
            assert choices and choices == next_choices(b, name), name
            refusal(post(b, answer.body), 409)
        other.stop()
        status, out, err = run_to_end("check", "--quiet", "--db", str(other.db))
        assert (status, out, err) == (0, "", "")


def left_over(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM studies WHERE deleted <> 0").fetchone()[0]


def test_nothing_is_there_before_all_of_it_is(server):
    client = server.client()
    client.create(definition(id="whole", points=grid(6)))
    work(client, "whole", 20, 4)
    body = exported(client, "whole").body
    assert client.delete("/v1/studies/whole").status == 204
    host, port = server.host, server.port
    connection = http.client.HTTPConnection(host, port, timeout=60)
    connection.putrequest("POST", "/v1/studies")
    connection.putheader("Content-Type", NDJSON)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    connection.send(body[: len(body) // 2])
    assert client.get("/v1/studies/whole").status == 404
    assert "whole" not in [s["id"] for s in client.items("/v1/studies")]
    connection.send(body[len(body) // 2 :])
    assert connection.getresponse().status == 201
    connection.close()
    assert client.study("whole")["trials_completed"] == 20


@cases(
    {
        "cut off": (lambda lines: lines[:-1], 422),
        "no JSON": (lambda lines: [*lines[:5], "{"], 400),
        "no study": (lambda lines: ['{"a": 1}'], 422),
        "a trial that is not there": (
            lambda lines: altered(lines, "trial_issued", lambda p: p.__setitem__("trial", 999)),
            422,
        ),
        "a result of no candidate": (
            lambda lines: altered(lines, "batch_planned", lambda p: p["picks"][0].__setitem__(0, 400)),
            422,
        ),
    }
)
def test_what_is_no_whole_study_is_refused_and_leaves_nothing(server, case):
    change, status = case
    client = server.client()
    source = client.create(definition(points=grid(6)))["id"]
    work(client, source, 12, 3)
    lines = exported(client, source).body.decode().splitlines()
    client.delete(f"/v1/studies/{source}")
    refusal(post(client, "\n".join(change(lines))), status)
    assert client.get(f"/v1/studies/{source}").status == 404
    end = time.monotonic() + 30
    while left_over(server.db):
        assert time.monotonic() < end, "what was staged stays"
        time.sleep(0.05)
    assert post(client, "\n".join(lines)).status == 201, "its name is free"


def eventful(client):
    """An export whose log has an entry of nearly every type."""
    study = client.create(definition(points=grid(6), feedback="async", id="eventful", lease_seconds=1))["id"]
    path = f"/v1/studies/{study}"
    for _ in range(6):
        trials = client.ask(study, 2, worker="w", fresh=True, wait_seconds=30)["trials"]
        client.tell(study, [{"trial": t["id"], "value": t["id"] / 10, "metadata": {"a": 1}} for t in trials])
    calls = [
        (f"{path}/trials/2/amend", {"value": 0.7}),
        (f"{path}/observations", {"observations": [{"candidate": 5, "value": 0.3}]}),
        (f"{path}/candidates", {"points": [[0.5, 0.45], [0.1, 0.15]]}),
        (f"{path}/candidates/retire", {"candidates": [7]}),
        (f"{path}/trials", {"candidate": 3}),
    ]
    for where, body in calls:
        answer = client.post(where, body)
        assert answer.status == 200, answer
    (first,) = client.ask(study, worker="w", fresh=True, wait_seconds=30)["trials"]
    assert client.post(f"{path}/trials/{first['id']}/measurements", {"step": 1, "value": 2}).status == 200
    time.sleep(1.1)  # its lease
    (again,) = client.ask(study, worker="x", wait_seconds=30, lease_seconds=60)["trials"]
    assert (again["id"], again["attempt"]) == (first["id"], 2), (first, again)
    client.tell(study, [{"trial": again["id"], "attempt": 2, "value": 3}])
    assert client.tell(study, [{"trial": again["id"], "attempt": 1, "value": 2}])["late"] == 1
    client.request("PATCH", path, {"horizon": 500})
    lines = exported(client, study).body.decode().splitlines()
    assert client.delete(path).status == 204
    return lines


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(payload):
        for step in path:
            payload = payload[step]
        payload[last] = value

    return change


def without(member):
    """The definition without what was filled in when the study was made."""

    def change(payload):
        definition = json.loads(payload["definition"])
        del definition[member]
        payload["definition"] = json.dumps(definition)

    return change


EVENTFUL = []
ALTERED = {
    # (type of the entry, what is changed of its first one, words of the refusal)
    "another id": ("study_created", put("id", "other"), "the definition has another id"),
    "a definition without an algorithm": ("study_created", without("algorithm"), "not one of this program's"),
    "a definition without a lease": ("study_created", without("lease_seconds"), "not one of this program's"),
    "a definition without an id": ("study_created", without("id"), "not one of this program's"),
    "a definition that is none": ("study_changed", put("definition", "[]"), "not one of this program's"),
    "other candidates": ("candidates_set", put("digest", "00"), "not those that the log speaks of"),
    "no candidates": ("candidates_set", put("count", 0), "there are too many of them, or none"),
    "candidates of another dimension": ("candidates_set", put("dimension", 3), "not as the definition says"),
    "added out of order": ("candidates_added", put("first", 40), "not the next ones"),
    "added of another dimension": ("candidates_added", lambda p: p.update(dimension=1, rows=[[1]]), "another dimension"),
    "added without a value": ("candidates_added", put("rows", 0, 0, None), "not finite"),
    "more memory than there is": ("candidates_added", put("dimension", 2**40), "candidates_added event in the log: rows"),
    "retired that is not there": ("candidates_retired", put("candidates", [38]), "no such candidate"),
    "a batch out of order": ("batch_planned", put("batch", 1), "the batch is not the next one"),
    "planned from the future": ("batch_planned", put("through_seq", 3), "through_seq is not before it"),
    "a batch without a ratio": ("batch_planned", put("ratio", None), "a figure of the batch is not finite"),
    "a batch without a width": ("batch_planned", put("beta", None), "a figure of the batch is not finite"),
    "a member that is no candidate": ("batch_planned", put("dictionary", [36]), "dictionary"),
    "sums out of order": ("batch_planned", put("sums", [[1, 1, 0.5], [0, 1, 0.5]]), "sums"),
    "a sum that is none": ("batch_planned", put("sums", [[1, 1, None]]), "sums"),
    "trials out of order": ("batch_planned", put("first_trial", 2), "the trials are not the next ones"),
    "a pick that is no candidate": ("batch_planned", put("picks", [[36, 0.5]]), "a pick is not one of the candidates"),
    "an attempt below all": ("trial_issued", put("attempt", -(2**31)), "trial_issued event in the log: attempt"),
    "an attempt above all": ("trial_issued", put("attempt", 2**31 - 1), "trial_issued event in the log: attempt"),
    "a result of no trial": ("trial_told", put("trial", 900), "there is no such trial"),
    "a result that is none": ("trial_told", put("state", "pending"), "its state is not one of results"),
    "a value too large": ("trial_told", put("value", 1e101), "its value is out of range"),
    "too many pulls": ("trial_told", put("repeats", 10**7), "its repeats are out of range"),
    "metadata that are none": ("trial_told", put("metadata", "[1]"), "no JSON object"),
    "a late value too large": ("late_result_told", put("value", -1e101), "its value is out of range"),
    "a late result of no trial": ("late_result_told", put("trial", 0), "there is no such trial"),
    "an amended value too large": ("trial_amended", put("value", 1e101), "its value is out of range"),
    "an amended one of no trial": ("trial_amended", put("trial", 900), "there is no such trial"),
    "a best trial that is none": ("trial_amended", put("best_trial", 900), "the best trial is none of the study's"),
    "a best candidate that is none": ("trial_amended", put("best_candidate", 36), "the best trial is none of the study's"),
    "a measurement too large": ("trial_measured", put("value", 1e101), "its value is out of range"),
    "a reward of no candidate": ("observations_added", put("observations", 0, 0, 36), "not one of the candidates'"),
    "a reward too large": ("observations_added", put("observations", 0, 2, 1e101), "out of range"),
    "a reward of no pull": ("observations_added", put("observations", 0, 1, 0), "out of range"),
}


@cases(ALTERED)
def test_an_entry_that_cannot_be_is_refused(server, case):
    kind, change, words = case
    client = server.client()
    if not EVENTFUL:
        EVENTFUL.extend(eventful(client))
    problem = refusal(post(client, "\n".join(altered(EVENTFUL, kind, change))), 422)
    assert any(words in error["detail"] for error in problem["errors"]), problem
    assert client.get("/v1/studies/eventful").status == 404


SPACE = [
    {"name": "rate", "type": "double", "min": 0.1, "max": 1, "scale": "log"},
    {"name": "kind", "type": "categorical", "values": ["a", "b"]},
    {"name": "slope", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "kind", "in": ["b"]}},
]


def explored(client, parameters):
    """An export of a study in this space, with an ask that held a parameter."""
    body = definition(feedback="async", id="explored")
    study = client.create({**body, "domain": {"type": "space", "parameters": parameters}, "algorithm": {"noise_std": 0.1}})
    for fixed in ({"kind": "b"}, {}):
        (trial,) = client.ask("explored", worker="w", fixed=fixed, wait_seconds=30)["trials"]
        client.tell("explored", [{"trial": trial["id"], "value": 0.5}])
    client.request("PATCH", "/v1/studies/explored", {"labels": {"a": "b"}})
    lines = exported(client, "explored").body.decode().splitlines()
    assert client.delete(f"/v1/studies/{study['id']}").status == 204
    return lines


def rewritten(payload):
    """The definition as a later one of the study, with another range."""
    payload["definition"] = payload["definition"].replace('"max":1', '"max":2')


@cases(
    {
        "a word that is none": ("batch_planned", put("points", 0, 1, 2), "a point is none of the space"),
        "a word without end": ("batch_planned", put("points", 0, 1, 1e300), "a point is none of the space"),
        "a value outside": ("batch_planned", put("points", 0, 0, 2), "a point is none of the space"),
        "no value": ("batch_planned", put("points", 0, 0, None), "a point is none of the space"),
        "a point too wide": ("batch_planned", lambda p: p.update(parameters=1, points=[[1]]), "another dimension"),
        "too much held": ("batch_planned", lambda p: p.update(held=[1, 1, 1, 1], held_picks=1), "what it held"),
        "held for too many": ("batch_planned", lambda p: p.update(held=[None] * 3, held_picks=99), "what it held"),
        "another space": ("study_changed", rewritten, "the definition changes what stays"),
    }
)
def test_a_point_that_cannot_be_is_refused(server, case):
    kind, change, words = case
    client = server.client()
    problem = refusal(post(client, "\n".join(altered(explored(client, SPACE), kind, change))), 422)
    assert any(words in error["detail"] for error in problem["errors"]), problem
    assert client.get("/v1/studies/explored").status == 404


@cases({"as they are": 1.0, "a word that is none": 2.0, "a word without end": 1e300, "no value": math.nan})
def test_listed_points_that_cannot_be_are_refused(server, case):
    """Of a small space, whose points are kept as candidates: with a digest that is right."""
    client = server.client()
    lines = explored(client, [SPACE[1], {"name": "on", "type": "boolean"}])
    rows = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [case, 1.0]]
    entry = json.loads(lines[1])
    assert entry["rows"][:3] == rows[:3] and len(entry["rows"]) == 4, entry
    entry["rows"] = [[None if math.isnan(value) else value for value in row] for row in rows]
    digest = hashlib.blake2b(struct.pack("8d", *sum(rows, [])), digest_size=32).hexdigest()
    lines = [lines[0], json.dumps(entry), *lines[2:]]
    answer = post(client, "\n".join(altered(lines, "candidates_set", put("digest", digest))))
    if case == 1.0:
        assert answer.status == 201 and client.delete("/v1/studies/explored").status == 204, answer
    else:
        assert "not as the definition says" in refusal(answer, 422)["errors"][0]["detail"], answer


def test_what_the_log_says_is_taken(server):
    client = server.client()
    if not EVENTFUL:
        EVENTFUL.extend(eventful(client))
    made = post(client, "\n".join(EVENTFUL))
    assert made.status == 201, made
    # A number of the store's own is another.
    again = altered(exported(client, "eventful").body.decode().splitlines(), "candidates_set", put("content", 0))
    assert again[1:] == altered(EVENTFUL, "candidates_set", put("content", 0))[1:]
    assert client.delete("/v1/studies/eventful").status == 204


def test_an_import_with_a_key_is_done_once(server):
    client = server.client()
    source = client.create(definition(points=grid(4)))["id"]
    body = exported(client, source).body
    client.delete(f"/v1/studies/{source}")
    key = {"Idempotency-Key": "import-1"}
    first = post(client, body, headers=key)
    again = post(client, body, headers=key)
    assert first.status == again.status == 201 and first.body == again.body, (first, again)
    refusal(post(client, body + b"\n", headers=key), 409)


def test_two_imports_of_one_study_make_one():
    with Server() as server:
        client = server.client()
        client.create(definition(id="one", points=grid(6)))
        work(client, "one", 30, 3)
        body = exported(client, "one").body
        client.delete("/v1/studies/one")
        found = []
        threads = [threading.Thread(target=lambda: found.append(post(server.client(), body).status)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [201] + 5 * [409], found
        assert client.study("one")["trials_completed"] == 30


def test_the_table_goes_into_observations(server):
    client = server.client()
    source = client.create(definition())["id"]
    work(client, source, 30, 3)
    held = len(client.ask(source, 4)["trials"])
    answer = exported(client, source, "csv")
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = answer.body.decode().splitlines()
    assert len(rows) == 1 + 30 + held and rows[0].startswith("trial,candidate,value,state"), rows[0]
    target = client.create(definition())["id"]
    answer = client.post(f"/v1/studies/{target}/observations", answer.body, content_type="text/csv")
    assert (answer.status, answer.json) == (200, {"accepted": 30}), answer


def test_refusals(server):
    client = server.client()
    refusal(client.get("/v1/studies/nobody/export"), 404)
    study = client.create(definition(points=grid(3)))["id"]
    refusal(client.get(f"/v1/studies/{study}/export?format=xml"), 422)
    assert client.get(f"/v1/studies/{study}/export").headers["Content-Type"] == NDJSON
    head = client.request("HEAD", f"/v1/studies/{study}/export")
    assert (head.status, head.body) == (200, b"")


def test_an_import_is_bounded_by_max_upload():
    with Server("--max-upload", "4KiB") as server:
        client = server.client()
        study = client.create(definition(points=grid(20)))["id"]
        body = exported(client, study).body
        assert len(body) > 4096
        refusal(post(client, body), 413)


def test_a_client_that_does_not_read_holds_up_no_stop():
    with Server() as server:
        client = server.client()
        body = definition(id="large")
        body["domain"] = {"type": "candidates", "dimension": 100}
        client.create(body)
        rows = (",".join(["0.123456789"] * 100) + "\n") * 20000
        assert client.put("/v1/studies/large/candidates", rows, content_type="text/csv").status == 200
        with socket.create_connection((server.host, server.port)) as stalled:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled.sendall(b"GET /v1/studies/large/export HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert stalled.recv(15) == b"HTTP/1.1 200 OK"
            server.stop()  # within its time, or it is an error
            text = b""
            while piece := stalled.recv(1 << 20):
                text += piece
        assert b'{"end":' not in text, "it takes what it got for the whole"
