"""A study's export, and the study that it makes: GET …/export and POST /v1/studies with application/x-ndjson."""

import http.client
import socket
import threading
import time

import databases
from server import Server, run_to_end
from support import cases, definition, grid, measure, refusal, work
from database_commands import altered, fill, next_choices, without_times
from test_logs import parse_text

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


def test_picks_that_were_planned_ahead_are_taken(server):
    """Of a batch in a space that may go on: the name of why it stopped is one of the server's own."""
    client = server.client()
    space = {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]}
    body = definition(feedback="async", id="ahead", algorithm={"ratio_bound": 1e9})
    client.create({**body, "domain": space})
    batch = 0
    while batch < 2:
        trials = client.ask("ahead", 16, worker="w", wait_seconds=30)["trials"]
        client.tell("ahead", [{"trial": trial["id"], "value": trial["id"]} for trial in trials])
        batch = trials[-1]["batch"]
    rules = [batch["stop_rule"] for batch in client.items("/v1/studies/ahead/batches")]
    assert "planned_ahead" in rules, rules
    text = exported(client, "ahead").body
    assert client.delete("/v1/studies/ahead").status == 204
    assert post(client, text).status == 201
    assert [batch["stop_rule"] for batch in client.items("/v1/studies/ahead/batches")] == rules


def left_over(path):
    return databases.count(path, "SELECT count(*) FROM studies WHERE deleted <> 0")


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


def test_an_export_of_a_study_that_is_deleted_meanwhile_ends_before_its_end(server):
    """Another study of the name is not its end, and the operator isn't told of any damage."""
    client = server.client(timeout=60)
    client.create({**definition(id="gone"), "domain": {"type": "candidates", "dimension": 20}})
    rows = "".join(",".join(str(i * 20 + j) for j in range(20)) + "\n" for i in range(60_000))
    assert client.put("/v1/studies/gone/candidates", rows, content_type="text/csv").status == 200
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("GET", "/v1/studies/gone/export")
    answer = connection.getresponse()
    begun = answer.read(1000)
    assert client.delete("/v1/studies/gone").status == 204
    client.create(definition(id="gone", points=grid(3)))
    try:
        rest = answer.read()
    except http.client.IncompleteRead as cut:
        rest = cut.partial
    connection.close()
    assert (begun + rest).startswith(b"{") and len(rest) < len(rows), len(rest)
    events = map(parse_text, server.says("export_failed").split("\n")[:-1])
    failed = [event for event in events if event["event"] == "export_failed" and event["study"] == "gone"]
    assert [(event["level"], event["reason"]) for event in failed] == [("info", "not found")], failed


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


def test_an_import_with_a_key_is_done_once(server):
    """Also when it is long, and finds the study there while it is still coming."""
    client = server.client()
    for n in (0, 40):
        source = client.create(definition(points=grid(4)))["id"]
        rows = [{"candidate": i % 16, "value": i / 2000} for i in range(2000)]
        for _ in range(n):
            assert client.post(f"/v1/studies/{source}/observations", {"observations": rows}).status == 200
        body = exported(client, source).body
        client.delete(f"/v1/studies/{source}")
        key = {"Idempotency-Key": f"import-{n}"}
        first = post(client, body, headers=key)
        again = post(client, body, headers=key)
        assert first.status == again.status == 201 and first.body == again.body, (first, again)
        refusal(post(client, body + b"\n", headers=key), 409)
        problem = refusal(post(client, body, headers={"Idempotency-Key": f"another-{n}"}), 409)
        assert problem["detail"] == f"there is already a study '{source}'", problem


def test_an_import_of_many_pieces_with_a_key_is_repeated_where_there_is_no_room_for_another():
    with Server("--max-studies", "1") as server:
        client = server.client()
        client.create(definition(id="long", points=grid(6)))
        while client.study("long")["trials_completed"] < 160:
            trials = client.ask("long", 16, wait_seconds=30)["trials"]
            client.tell("long", [{**measure(trial), "metadata": {"note": "n" * 4000}} for trial in trials])
        body = exported(client, "long").body
        assert len(body) > 2 * 256 * 1024, "its name is known before it has all come"
        client.delete("/v1/studies/long")
        key = {"Idempotency-Key": "import-2"}
        first, again = post(client, body, headers=key), post(client, body, headers=key)
        assert first.status == again.status == 201 and first.body == again.body, (first.status, again)
        refusal(post(client, body), 422)


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
    assert len(rows) == 1 + 30 + held and rows[0].startswith("trial,candidate,x0,x1,value,state"), rows[0]
    target = client.create(definition())["id"]
    answer = client.post(f"/v1/studies/{target}/observations", answer.body, content_type="text/csv")
    assert (answer.status, answer.json) == (200, {"accepted": 30, "first": 1, "last": 30}), answer


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
