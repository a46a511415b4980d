"""What holds for every call: methods, tags, compression, origins, content types, filters, pages."""

import contextlib
import gzip
import hashlib
import pathlib
import re
import sqlite3

from client import exchange
from databases import sqlite_only
from server import Server
from support import cases, definition, refusal, work
from test_spaces import space
from test_tokens import calls, fill

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORIGIN = "https://lab.example.org"


def test_head_and_options_of_every_path(server):
    client = server.client()
    client.post("/v1/studies", definition(id="here"))
    work(client, "here", 1)
    methods = {}
    for method, path, _ in calls():
        methods.setdefault(path, set()).add(method)
    assert len(methods) > 15
    for path, taken in methods.items():
        filled = fill(path, "here")
        answer = client.request("OPTIONS", filled)
        assert answer.status == 204 and answer.body == b"", (path, answer)
        allowed = {name.strip() for name in answer.headers["Allow"].split(",")}
        assert allowed == taken | {"OPTIONS"} | ({"HEAD"} if "GET" in taken else set()), (path, allowed)
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - allowed:
            answer = client.request(method, filled, {} if method in ("POST", "PUT", "PATCH") else None)
            assert answer.status == 405, (method, path, answer)
            assert answer.headers["Allow"], answer.headers
        if "GET" in taken and not path.endswith(("/events", "/metrics")):
            # Twice where the study was just planning its next batch.
            head, get = client.request("HEAD", filled), client.get(filled)
            if head.headers["ETag"] != get.headers["ETag"]:
                head, get = client.request("HEAD", filled), client.get(filled)
            assert (head.status, head.body) == (get.status, b""), (path, head)
            for name in ("Content-Type", "ETag"):
                assert head.headers[name] == get.headers[name], (path, name)


@cases({"1.0": "1.0", "1.1": "1.1"})
def test_head_of_a_stream_says_no_length(server, case):
    client = server.client()
    study = client.create(definition())["id"]
    for path, has_length in (("/export", False), ("/events", False), ("", True)):
        request = f"HEAD /v1/studies/{study}{path} HTTP/{case}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        head, end, rest = exchange(server.host, server.port, request.encode()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n") and end and rest == b"", (path, head, rest)
        lengths = re.findall(rb"(?i)^content-length: *(\d+)\r?$", head, re.MULTILINE)
        assert bool(lengths) == has_length and b"0" not in lengths, (path, head)
        assert b"chunked" not in head, (path, head)


def test_every_answer_has_the_requests_id(server):
    client = server.client()
    for path in ("/healthz", "/v1/studies", "/nowhere", "/v1/studies/nobody"):
        answer = client.request("GET", path, headers={"X-Request-Id": "mine-1"})
        assert answer.headers["X-Request-Id"] == "mine-1"
        assert re.fullmatch(r"[0-9a-f]{16}", client.get(path).headers["X-Request-Id"])
        for unusable in ("x" * 72, "a b", "caf\u00e9"):
            answer = client.request("GET", path, headers={"X-Request-Id": unusable.encode("latin-1")})
            assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["X-Request-Id"]), unusable


# ---- tags ----------------------------------------------------------------------------------------------------


def test_what_has_not_changed_is_not_sent_again(server):
    client = server.client()
    study = client.create(definition())["id"]
    work(client, study, 20)
    for path in (f"/v1/studies/{study}", f"/v1/studies/{study}/trials", f"/v1/studies/{study}/batches", "/v1/algorithms", "/openapi.yaml"):
        first = client.get(path)
        again = client.request("GET", path, headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status, again.body) == (304, b"") and again.headers["ETag"] == first.headers["ETag"], (path, again)
        other = client.request("GET", path, headers={"If-None-Match": '"other"'})
        assert other.status == 200 and other.body == first.body, path
    before = client.get(f"/v1/studies/{study}/trials").headers["ETag"]
    work(client, study, 1)
    after = client.request("GET", f"/v1/studies/{study}/trials", headers={"If-None-Match": before})
    assert after.status == 200 and after.headers["ETag"] != before


def test_a_study_is_changed_if_it_is_as_it_was_read(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}"
    read = client.get(path).headers["ETag"]
    first = client.request("PATCH", path, {"display_name": "first"}, headers={"If-Match": read})
    assert first.status == 200, first
    late = client.request("PATCH", path, {"display_name": "late"}, headers={"If-Match": read})
    refusal(late, 412)
    assert client.study(study)["display_name"] == "first"
    read = client.get(path).headers["ETag"]
    client.ask(study)
    refusal(client.request("PATCH", path, {"display_name": "late"}, headers={"If-Match": read}), 412)
    for wanted in ("*", client.get(path).headers["ETag"], f'"x", {client.get(path).headers["ETag"]}'):
        tag = client.get(path).headers["ETag"]
        wanted = wanted if wanted == "*" else wanted.replace(re.findall(r'"[^"]*"', wanted)[-1], tag)
        assert client.request("PATCH", path, {"lease_seconds": 9}, headers={"If-Match": wanted}).status == 200, wanted
    assert client.request("PATCH", path, {"display_name": "without"}).status == 200


def test_a_study_is_deleted_if_it_is_as_it_was_read(server):
    client = server.client()
    path = f"/v1/studies/{client.create(definition(repeats='auto'))['id']}"
    read = client.get(path).headers["ETag"]
    assert client.request("PATCH", path, {"display_name": "new"}, headers={"If-Match": read}).status == 200
    refusal(client.request("DELETE", path, headers={"If-Match": read}), 412)
    assert client.get(path).json["display_name"] == "new"
    read = client.get(path).headers["ETag"]
    assert client.request("DELETE", path, headers={"If-Match": f'"x", {read}'}).status == 204
    assert client.get(path).status == 404
    path = f"/v1/studies/{client.create(definition())['id']}"
    assert client.request("DELETE", path, headers={"If-Match": "*"}).status == 204


def test_a_repeated_request_has_the_same_query(server):
    client = server.client()
    client.create(definition(id="a"))
    lines = client.get("/v1/studies/a/export").body

    def bring(query):
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "k"}
        return client.request("POST", f"/v1/studies{query}", lines, headers=headers)

    first = bring("?id=b")
    assert first.status == 201 and first.json["id"] == "b", first
    again = bring("?id=b")
    assert (again.status, again.body) == (201, first.body)
    for query in ("?id=c", "?id=d", ""):
        refusal(bring(query), 409)
    assert client.get("/v1/studies/c").status == 404
    numbers = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]
    mixture = {"type": "space", "parameters": numbers, "constraints": ["x + y <= 1"]}
    client.create({**space(id="s"), "domain": mixture})
    text = b"x,y,foo,value\n.5,.2,1,2\n"

    def results(query, key):
        headers = {"Content-Type": "text/csv", "Idempotency-Key": key}
        return client.request("POST", f"/v1/studies/s/observations{query}", text, headers=headers)

    both = "?ignore=foo&broken=infeasible", "?broken=infeasible&ignore=foo"
    answers = [results(query, "r") for query in both]
    assert [answer.status for answer in answers] == [200, 200], answers
    refusal(results("?ignore=foo", "r"), 409)
    text = b"x,y,value\n.5,.2,2\n"
    assert results("", "without").status == 200
    refusal(results("?broken=infeasible", "without"), 409)
    assert len(client.items("/v1/studies/s/observations")) == 2


def test_an_answer_of_an_earlier_version_is_repeated():
    """Earlier versions hashed the body alone, and their answers have no flag 2 in the second number of the head."""
    sqlite_only("it edits the database")
    with Server() as server:
        client = server.client()
        client.create(definition(id="a"))
        lines = client.get("/v1/studies/a/export").body
        options = {"content_type": "application/x-ndjson", "headers": {"Idempotency-Key": "k"}}
        first = client.post("/v1/studies?id=b", lines, **options)
        assert first.status == 201, first
        server.kill()
        with contextlib.closing(sqlite3.connect(server.db)) as database, database:
            ((stored,),) = database.execute("SELECT response FROM answers").fetchall()
            assert stored[4] == 3, stored[:8]
            old = hashlib.blake2b(lines, digest_size=32).digest(), stored[:4] + b"\1" + stored[5:]
            database.execute("UPDATE answers SET body_hash = ?, response = ?", old)
        server.start()
        again = server.client().post("/v1/studies?id=b", lines, **options)
        assert (again.status, again.body) == (201, first.body), again


def test_a_study_that_has_not_changed_is_not_made_again(server):
    """Its tag is known before its body: both the plain tag and the compressed one answer with 304, until it changes."""
    client = server.client()
    words = [f"word {k}" for k in range(300)]  # so many that the answer is worth compressing
    study = client.create(space([{"name": "word", "type": "categorical", "values": words}]))["id"]
    path = f"/v1/studies/{study}"
    packing = {"Accept-Encoding": "gzip"}
    plain, packed = (client.request("GET", path, headers=headers) for headers in ({}, packing))
    tags = plain.headers["ETag"], packed.headers["ETag"]
    assert tags[1] == tags[0][:-1] + '-gz"'
    for method in ("GET", "HEAD"):
        for sent, headers, expected in (
            (tags[0], {}, tags[0]),
            (tags[1], packing, tags[1]),
            (f'"x", W/{tags[1]}', packing, tags[1]),
            ("*", {}, tags[0]),
        ):
            again = client.request(method, path, headers={"If-None-Match": sent, **headers})
            assert (again.status, again.body, again.headers["ETag"]) == (304, b"", expected), again
            assert "Content-Encoding" not in again.headers
    unpacked = client.request("GET", path, headers={"If-None-Match": tags[1]})
    assert unpacked.status == 200 and unpacked.body == plain.body, "a client that takes no gzip has not got this"
    client.ask(study)
    for sent, headers in ((tags[0], {}), (tags[1], packing)):
        assert client.request("GET", path, headers={"If-None-Match": sent, **headers}).status == 200
    gone = client.request("GET", "/v1/studies/nobody", headers={"If-None-Match": "*"})
    assert gone.status == 404 and "ETag" not in gone.headers


def test_another_study_of_the_same_id_has_another_tag(server):
    client = server.client()
    client.create(definition(id="twice"))
    tag = client.get("/v1/studies/twice").headers["ETag"]
    client.delete("/v1/studies/twice")
    client.create(definition(id="twice"))
    assert client.get("/v1/studies/twice").headers["ETag"] != tag


# ---- compression ---------------------------------------------------------------------------------------------


def test_large_answers_are_compressed_when_asked_for(server):
    client = server.client()
    study = client.create(definition())["id"]
    work(client, study, 40)
    path = f"/v1/studies/{study}/trials"
    plain = client.get(path)
    assert "Content-Encoding" not in plain.headers and "Accept-Encoding" in plain.headers["Vary"]
    for accepted in ("gzip", "deflate, gzip;q=0.5", "*", "GZIP", "br;q=1.0, *;q=0.1"):
        packed = client.request("GET", path, headers={"Accept-Encoding": accepted})
        assert packed.headers["Content-Encoding"] == "gzip", accepted
        assert len(packed.body) < len(plain.body) / 2 and gzip.decompress(packed.body) == plain.body
        assert packed.headers["ETag"] != plain.headers["ETag"]
        again = client.request("GET", path, headers={"Accept-Encoding": accepted, "If-None-Match": packed.headers["ETag"]})
        assert (again.status, again.body) == (304, b""), again
    for refused in ("", "gzip;q=0", "identity", "deflate", "*, gzip;q=0", "gzip;q=0.0"):
        answer = client.request("GET", path, headers={"Accept-Encoding": refused})
        assert "Content-Encoding" not in answer.headers and answer.body == plain.body, refused
    small = client.request("GET", "/v1/version", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in small.headers
    head = client.request("HEAD", path, headers={"Accept-Encoding": "gzip"})
    assert head.headers["Content-Encoding"] == "gzip" and head.body == b""


def test_predictions_are_compressed_and_a_kept_answer_is_not(server):
    client = server.client()
    study = client.create(definition())["id"]
    work(client, study, 10)
    body = {"points": [[i / 500, 0.5] for i in range(500)]}
    plain = client.post(f"/v1/studies/{study}/predict", body)
    packed = client.post(f"/v1/studies/{study}/predict", body, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.body) == plain.body
    key = {"Idempotency-Key": "k", "Accept-Encoding": "gzip"}
    asked = [client.post(f"/v1/studies/{study}/ask", {"count": 100}, headers=key) for _ in range(2)]
    assert asked[0].body == asked[1].body and "Content-Encoding" not in asked[1].headers


# ---- origins -------------------------------------------------------------------------------------------------


def test_other_origins_are_told_nothing_by_default(server):
    answer = server.client().request("GET", "/v1/studies", headers={"Origin": ORIGIN})
    assert not [name for name in answer.headers if name.startswith("Access-Control")], answer.headers
    answer = server.client().request("OPTIONS", "/v1/studies", headers={"Origin": ORIGIN, "Access-Control-Request-Method": "POST"})
    assert not [name for name in answer.headers if name.startswith("Access-Control")], answer.headers


def test_origins_that_are_allowed():
    with Server("--cors-origin", f"http://localhost:1234,{ORIGIN}") as server:
        client = server.client()
        answer = client.request("GET", "/v1/studies", headers={"Origin": ORIGIN})
        assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN and "Origin" in answer.headers["Vary"]
        assert "ETag" in answer.headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer.headers
        asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        preflight = client.request("OPTIONS", "/v1/studies", headers=asked)
        assert preflight.status == 204 and "POST" in preflight.headers["Access-Control-Allow-Methods"]
        assert "Content-Type" in preflight.headers["Access-Control-Allow-Headers"]
        assert client.post("/v1/studies", definition(), headers={"Origin": ORIGIN}).status == 201
        for other in ("https://evil.example", ORIGIN + ".evil.example", "https://lab.example", "null", ORIGIN + ":8443"):
            answer = client.request("GET", "/v1/studies", headers={"Origin": other})
            assert "Access-Control-Allow-Origin" not in answer.headers, other
            refusal(client.post("/v1/studies", definition(), headers={"Origin": other}), 403)
    with Server("--cors-origin", "*") as server:
        answer = server.client().request("GET", "/v1/studies", headers={"Origin": ORIGIN})
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


# ---- content types -------------------------------------------------------------------------------------------


def test_a_body_has_to_say_what_it_is(server):
    client = server.client()
    study = client.create(definition())["id"]
    for method, path in (
        ("POST", "/v1/studies"),
        ("PATCH", f"/v1/studies/{study}"),
        ("POST", f"/v1/studies/{study}/ask"),
        ("POST", f"/v1/studies/{study}/tell"),
        ("POST", f"/v1/studies/{study}/predict"),
    ):
        problem = refusal(client.request(method, path, "{}"), 415)
        assert "application/json" in problem["detail"], problem
    assert client.request("POST", f"/v1/studies/{study}/ask").status == 200, "no body, no type"


# ---- changing ------------------------------------------------------------------------------------------------


def test_null_clears_a_field(server):
    client = server.client()
    fields = {"display_name": "name", "labels": {"a": "b"}, "metadata": {"c": 1}, "horizon": 10}
    study = client.create(definition(**fields))["id"]
    path = f"/v1/studies/{study}"
    for name, value in fields.items():
        assert client.study(study)[name] == value
        answer = client.request("PATCH", path, {name: None})
        assert answer.status == 200 and not answer.json.get(name), (name, answer)
        assert not client.study(study).get(name)
    for name in ("lease_seconds", "max_attempts", "state"):
        refusal(client.request("PATCH", path, {name: None}), 422, "/" + name)


# ---- filters and pages -----------------------------------------------------------------------------------------


def test_studies_are_filtered_by_state_and_label():
    with Server() as server:
        client = server.client()
        for i in range(12):
            labels = {"team": "ab"[i % 2], "value": "a:b"}
            client.create(definition(id=f"s{i:02}", labels=labels))
            if i % 3 == 0:
                client.request("PATCH", f"/v1/studies/s{i:02}", {"state": "paused"})

        def listed(query, limit=1000):
            return [study["id"] for study in client.items("/v1/studies" + query, limit=limit)]

        everything = [f"s{i:02}" for i in range(12)]
        assert listed("") == everything
        assert listed("?state=paused") == everything[::3]
        assert listed("?label=team:b") == everything[1::2]
        for limit in (1, 2, 3, 100):
            assert listed("?label=team:a&state=paused", limit) == everything[::6], limit
            assert listed("", limit) == everything
        assert listed("?label=value:a:b") == everything
        assert listed("?label=team:c") == listed("?label=nothing:a") == listed("?state=error") == []
        for query in ("?state=lost", "?label=team", "?label=team:a&label=team:b"):
            refusal(client.get("/v1/studies" + query), 422)


def test_the_detail_has_the_first_error(server):
    client = server.client()
    wrong = {"metric": {"name": "y", "goal": "up"}, "domain": {"type": "space", "parameters": []}, "algoritm": {}}
    problem = refusal(client.request("POST", "/v1/studies", wrong), 422)
    first = problem["errors"][0]
    assert len(problem["errors"]) > 1
    others = len(problem["errors"]) - 1
    assert problem["detail"] == f"the request body is invalid: {first['pointer']}: {first['detail']} (and {others} more)"
    study = client.create(definition())["id"]
    problem = refusal(client.request("POST", f"/v1/studies/{study}/ask", {"count": 0}), 422)
    assert problem["detail"].startswith("the request body is invalid: /count: must be"), problem
    assert problem["detail"].endswith(problem["errors"][0]["detail"]), problem


def test_json_answers_end_with_a_newline(server):
    client = server.client()
    study = client.create(definition())["id"]
    for path in ("/healthz", "/readyz", "/v1/version", "/v1/studies", f"/v1/studies/{study}", "/v1/algorithms", "/nowhere"):
        body = client.get(path).body
        assert body.endswith(b"}\n") and not body.endswith(b"\n\n"), (path, body[-20:])
    headers = {"Idempotency-Key": "twice"}
    bodies = [client.request("POST", f"/v1/studies/{study}/ask", {}, headers=headers).body for _ in range(2)]
    assert bodies[0] == bodies[1] and bodies[0].endswith(b"}\n") and not bodies[0].endswith(b"\n\n"), bodies
