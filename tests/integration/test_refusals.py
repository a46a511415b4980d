"""Every refusal of the contract that belongs to these calls, and that nothing is left half done."""

import gzip
import json

from server import Server
from support import cases, definition, refusal

JSON = "application/json"


def test_malformed_ask_and_tell(server):
    client = server.client()
    study = client.create(definition())["id"]
    for call in ("ask", "tell", "predict"):
        for body in (b"{", b'{"a": NaN}', b'{"a": 1, "a": 1}'):
            refusal(client.post(f"/v1/studies/{study}/{call}", body, content_type=JSON), 400)


ASKS = {
    "count_zero": ({"count": 0}, "/count"),
    "count_too_large": ({"count": 1001}, "/count"),
    "count_a_string": ({"count": "1"}, "/count"),
    "count_a_boolean": ({"count": True}, "/count"),
    "worker_a_number": ({"worker": 5}, "/worker"),
    "worker_empty": ({"worker": ""}, "/worker"),
    "wait_negative": ({"wait_seconds": -1}, "/wait_seconds"),
    "wait_too_long": ({"wait_seconds": 301}, "/wait_seconds"),
    "lease_zero": ({"lease_seconds": 0}, "/lease_seconds"),
    "fresh_a_number": ({"fresh": 1}, "/fresh"),
    "unknown_field": ({"cuont": 1}, "/cuont"),
    "not_an_object": ([], ""),
}


@cases(ASKS)
def test_ask(server, case):
    body, pointer = case
    client = server.client()
    study = client.create(definition())["id"]
    refusal(client.post(f"/v1/studies/{study}/ask", body), 422, pointer)
    view = client.study(study)
    assert view["trials_pending"] == view["trials_queued"] == 0, view


TELLS = {
    "results_missing": ({}, "/results"),
    "results_empty": ({"results": []}, "/results"),
    "results_no_list": ({"results": {"trial": 1, "value": 1}}, "/results"),
    "results_too_many": ({"results": [{"trial": 1, "value": 1}] * 1001}, "/results"),
    "unknown_field": ({"results": [{"trial": 1, "value": 1}], "colour": 1}, "/colour"),
    "unknown_field_of_a_result": ({"results": [{"trial": 1, "value": 1, "colour": 1}]}, "/results/0/colour"),
    "result_no_object": ({"results": [1]}, "/results/0"),
    "trial_missing": ({"results": [{"value": 1}]}, "/results/0/trial"),
    "trial_zero": ({"results": [{"trial": 0, "value": 1}]}, "/results/0/trial"),
    "trial_a_string": ({"results": [{"trial": "1", "value": 1}]}, "/results/0/trial"),
    "trial_unknown": ({"results": [{"trial": 2, "value": 1}]}, "/results/0/trial"),
    "value_missing": ({"results": [{"trial": 1}]}, "/results/0/value"),
    "value_a_string": ({"results": [{"trial": 1, "value": "0.5"}]}, "/results/0/value"),
    "value_a_boolean": ({"results": [{"trial": 1, "value": True}]}, "/results/0/value"),
    "value_null": ({"results": [{"trial": 1, "value": None}]}, "/results/0/value"),
    "value_of_a_failure": ({"results": [{"trial": 1, "state": "failed", "value": 1}]}, "/results/0/value"),
    "value_and_values": (
        {"results": [{"trial": 1, "value": 1, "values": {"value": 1}}]},
        "/results/0/values",
    ),
    "values_without_the_objective": ({"results": [{"trial": 1, "values": {"cost": 1}}]}, "/results/0/values/value"),
    "values_undeclared": (
        {"results": [{"trial": 1, "values": {"value": 1, "cost": 1}}]},
        "/results/0/values/cost",
    ),
    "state_unknown": ({"results": [{"trial": 1, "state": "done"}]}, "/results/0/state"),
    "state_completed": ({"results": [{"trial": 1, "state": "completed"}]}, "/results/0/state"),
    "retry_of_a_value": ({"results": [{"trial": 1, "value": 1, "retry": True}]}, "/results/0/retry"),
    "reason_too_long": (
        {"results": [{"trial": 1, "state": "failed", "reason": "x" * 1001}]},
        "/results/0/reason",
    ),
    "metadata_too_large": (
        {"results": [{"trial": 1, "value": 1, "metadata": {"a": "x" * 5000}}]},
        "/results/0/metadata",
    ),
    "attempt_zero": ({"results": [{"trial": 1, "value": 1, "attempt": 0}]}, "/results/0/attempt"),
    "attempt_not_made": ({"results": [{"trial": 1, "value": 1, "attempt": 2}]}, "/results/0/attempt"),
    "repeats_zero": ({"results": [{"trial": 1, "value": 1, "repeats": 0}]}, "/results/0/repeats"),
}


@cases(TELLS)
def test_tell(server, case):
    body, pointer = case
    client = server.client()
    study = client.create(definition())["id"]
    client.ask(study)
    refusal(client.post(f"/v1/studies/{study}/tell", body), 422, pointer)
    view = client.study(study)
    assert (view["trials_pending"], view["observations"]) == (1, 0), view


def test_one_bad_result_keeps_the_good_ones_out(server):
    client = server.client()
    study = client.create(definition())["id"]
    client.ask(study)
    results = [{"trial": 1, "value": 1}, {"trial": 1, "value": "1"}]
    refusal(client.post(f"/v1/studies/{study}/tell", {"results": results}), 422, "/results/1/value")
    assert client.study(study)["observations"] == 0


NOWHERE = {
    "root_of_the_api": ("GET", "/v1"),
    "unknown": ("GET", "/v1/nothing"),
    "unknown_below_a_study": ("GET", "/v1/studies/here/nothing"),
    "no_token": ("DELETE", "/v1/tokens/0123456789abcdef"),
    "trailing_slash": ("GET", "/v1/studies/"),
    "no_study": ("GET", "/v1/studies/nobody"),
    "no_study_to_ask": ("POST", "/v1/studies/nobody/ask"),
    "no_study_to_delete": ("DELETE", "/v1/studies/nobody"),
    "no_id_at_all": ("GET", "/v1/studies/..%2fhere"),
    "zero_byte": ("GET", "/v1/studies/here%00"),
    "no_trial": ("GET", "/v1/studies/here/trials/1"),
    "no_trial_number": ("GET", "/v1/studies/here/trials/x"),
}


@cases(NOWHERE)
def test_not_found(server, case):
    client = server.client()
    client.post("/v1/studies", definition(id="here"))  # 409 from the second time on
    method, path = case
    body = {} if method == "POST" else None
    answer = client.request(method, path, body)
    refusal(answer, 400 if path.endswith("%00") else 404)


METHODS = {
    "studies": ("DELETE", "/v1/studies", {"GET", "POST"}),
    "study": ("PUT", "/v1/studies/here", {"GET", "DELETE"}),
    "candidates": ("DELETE", "/v1/studies/here/candidates", {"PUT"}),
    "ask": ("GET", "/v1/studies/here/ask", {"POST"}),
    "tell": ("PUT", "/v1/studies/here/tell", {"POST"}),
    "best": ("POST", "/v1/studies/here/best", {"GET"}),
    "healthz": ("POST", "/healthz", {"GET"}),
    "made_up_method": ("BREW", "/healthz", {"GET"}),
}


@cases(METHODS)
def test_method_not_allowed(server, case):
    client = server.client()
    client.post("/v1/studies", definition(id="here"))
    method, path, allowed = case
    answer = client.request(method, path, {} if method in ("PUT", "POST") else None)
    refusal(answer, 405)
    named = {name.strip() for name in answer.headers["Allow"].split(",")}
    assert allowed <= named and method not in named, answer.headers["Allow"]


TYPES = ["text/plain", "application/x-www-form-urlencoded", "text/json"]


def test_content_types(server):
    client = server.client()
    study = client.create(definition())["id"]
    for content_type in TYPES:
        for path, body in (
            ("/v1/studies", definition(id="refused")),
            (f"/v1/studies/{study}/ask", {}),
            (f"/v1/studies/{study}/tell", {"results": []}),
            (f"/v1/studies/{study}/predict", {"candidates": [0]}),
        ):
            refusal(client.post(path, json.dumps(body), content_type=content_type), 415)
    refusal(client.get("/v1/studies/refused"), 404)
    answer = client.post(f"/v1/studies/{study}/ask", "{}", content_type="Application/JSON; charset=utf-8")
    assert answer.status == 200, answer


def test_content_encodings(server):
    """What is compressed is not taken for what it is not, JSON or a table."""
    client = server.client()
    study = client.create({**definition(), "domain": {"type": "candidates", "dimension": 1}})["id"]
    packed = {"Content-Encoding": "gzip"}
    upload = f"/v1/studies/{study}/candidates"
    problem = refusal(client.put(upload, gzip.compress(b"1\n2\n"), content_type="text/csv", headers=packed), 415)
    assert "gzip" in problem["detail"], problem
    refusal(client.post("/v1/studies", gzip.compress(b"{}"), content_type=JSON, headers=packed), 415)
    for name in ("Identity", ""):
        plain = {"Content-Encoding": name}
        assert client.put(upload, "1\n2\n", content_type="text/csv", headers=plain).status == 200, name


def test_body_too_large(server):
    client = server.client()
    body = json.dumps({**definition(id="refused"), "metadata": {"text": "x" * (4 * 2**20)}})
    refusal(client.post("/v1/studies", body, content_type=JSON), 413)
    refusal(server.client().get("/v1/studies/refused"), 404)


def test_body_too_large_in_chunks(server):
    pieces = (b'{"id": "refused", "metadata": {"text": "' + b"x" * 65536 for _ in range(80))
    try:
        answer = server.client().post("/v1/studies", pieces, content_type=JSON)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before all of it was sent
    else:
        refusal(answer, 413)
    refusal(server.client().get("/v1/studies/refused"), 404)


def test_upload_too_large(server):
    with Server("--max-upload", "64KiB") as small:
        client = small.client()
        client.create({**definition(id="small"), "domain": {"type": "candidates", "dimension": 2}})
        rows = "0.25,0.5\n" * 10000
        refusal(client.put("/v1/studies/small/candidates", rows, content_type="text/csv"), 413)
        assert small.client().study("small")["candidates"] == 0


def status_line(answer):
    return answer.split(b"\r\n", 1)[0]


def test_length_required(server):
    request = b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n"
    assert b" 411 " in status_line(server.exchange(request))
    request = b"PUT /v1/studies/x/candidates HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n\r\n"
    assert b" 411 " in status_line(server.exchange(request))


FRAMING = {
    "no_host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two_lengths": b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "length_and_chunks": b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "negative_length": b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: -2\r\n\r\n{}",
    "no_http": b"hello\r\n\r\n",
}


@cases(FRAMING)
def test_framing(server, case):
    answer = server.exchange(case, timeout=3)
    assert answer == b"" or b" 400 " in status_line(answer), answer
    assert server.client().get("/healthz").status == 200


QUERIES = {
    "limit_zero": "limit=0",
    "limit_too_large": "limit=1001",
    "limit_a_word": "limit=many",
    "limit_negative": "limit=-1",
    "page_token_made_up": "page_token=%F0%9F%98%80",
    "unknown": "colour=blue",
}


@cases(QUERIES)
def test_query(server, case):
    client = server.client()
    client.post("/v1/studies", definition(id="here"))
    answer = client.get("/v1/studies/here/trials?" + case)
    assert answer.status in (400, 422), answer
    refusal(answer, answer.status)


def test_trial_state_in_the_query(server):
    client = server.client()
    client.post("/v1/studies", definition(id="here"))
    answer = client.get("/v1/studies/here/trials?state=done")
    assert answer.status in (400, 422), answer


def test_other_hosts_are_refused_without_authentication(server):
    for host, expected in (("localhost", b" 200 "), ("127.0.0.1:1", b" 200 "), ("example.org", b" 403 ")):
        request = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        answer = server.exchange(request, timeout=3)
        assert expected in status_line(answer), (host, answer)


def test_cross_origin_writes_are_refused(server):
    client = server.client()
    headers = {"Origin": "https://example.org"}
    refusal(client.post("/v1/studies", definition(id="refused"), headers=headers), 403)
    refusal(client.get("/v1/studies/refused"), 404)


def test_writes_that_a_browser_says_come_from_elsewhere_are_refused(server):
    """Also without an origin, as a form of another page sends them."""
    client = server.client()
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site}
        refusal(client.post("/v1/studies", definition(id="refused"), headers=headers), 403)
        refusal(client.get("/v1/studies/refused"), 404)
        assert client.request("GET", "/v1/studies", headers=headers).status == 200, site
    answer = client.post("/v1/studies", definition(), headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status == 201, answer


def test_a_wrong_state_is_answered_with_the_right_ones(server):
    client = server.client()
    study = client.create(definition())["id"]
    for path, right in (("/v1/studies", "'error'"), (f"/v1/studies/{study}/trials", "'stopped'")):
        problem = refusal(client.get(f"{path}?state=nope"), 422)
        assert right in problem["detail"] and "not 'nope'" in problem["detail"], problem
