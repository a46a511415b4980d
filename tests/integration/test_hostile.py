"""Clients that mean harm, or are broken: each gets one exact answer, and nobody else notices."""

import json
import math
import resource
import selectors
import socket
import time

from raw_requests import BODY, HEAD, answer_to, connect, is_well, problem_in, received
from server import Server
from support import Skip, cases, definition, grid, noisy, refusal


# ---- too large -----------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large(server):
    """With Expect nothing of it is asked for; without, it is read and dropped, so that the answer arrives."""
    size = 5 * 2**20
    announced = BODY + b"Content-Length: %d\r\n" % size
    answer = answer_to(server, announced + b"Expect: 100-continue\r\n\r\n")
    assert "4194304" in problem_in(answer, 413)["detail"] and b"100 Continue" not in answer
    with connect(server) as connection:
        connection.sendall(announced + b"\r\n")
        connection.sendall(b" " * size)
        connection.shutdown(socket.SHUT_WR)
        assert "4194304" in problem_in(received(connection), 413)["detail"]
    assert is_well(server)


def test_expect_is_answered_when_a_body_is_wanted(server):
    with connect(server) as connection:
        body = json.dumps(definition()).encode()
        connection.sendall(BODY + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(body))
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 Continue\r\n")
        connection.sendall(body)
        assert connection.recv(65536).startswith(b"HTTP/1.1 201 ")


# ---- slow ----------------------------------------------------------------------------------------------------


def trickle(connection, data, seconds):
    """Sends a byte now and then until that fails or the server has answered. -> what the server says"""
    end = time.monotonic() + seconds
    connection.settimeout(0.2)
    for byte in data:
        try:
            connection.sendall(bytes([byte]))
            if piece := connection.recv(65536):
                connection.settimeout(10)
                return piece + received(connection)
            return b""
        except socket.timeout:
            pass
        except OSError:
            return b""
        assert time.monotonic() < end, "it goes on for ever"
    raise AssertionError("all of it was taken")


def test_requests_that_come_slowly():
    """Each byte keeps the connection from being silent; the whole has its time all the same."""
    with Server("--request-seconds", "2") as server:
        with connect(server) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n")
            late = problem_in(trickle(connection, b"X-Slow: " + b"a" * 1000, 30), 408)
            assert "--request-seconds" in late["detail"], late
        with connect(server) as connection:
            connection.sendall(BODY + b"Content-Length: 1000\r\n\r\n")
            problem_in(trickle(connection, b" " * 1000, 30), 408)
        with connect(server) as connection:
            assert trickle(connection, b"GET /" + b"a" * 1000, 30) == b"", "without a request there is no answer"
        assert is_well(server)


def test_an_upload_that_comes_slowly_is_given_time_for_its_size():
    with Server("--request-seconds", "1") as server:
        client = server.client()
        client.create({**definition(id="slow"), "domain": {"type": "candidates", "dimension": 1}})
        rows = b"".join(b"%d\n" % i for i in range(150000))  # 938 890 bytes: 14 s
        with connect(server) as connection:
            head = b"PUT /v1/studies/slow/candidates HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(rows))
            step = len(rows) // 12 + 1
            for first in range(0, len(rows), step):
                connection.sendall(rows[first : first + step])
                time.sleep(0.25)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 "), "3 s were allowed although 1 is not enough"


def test_connections_that_are_silent():
    with Server("--request-seconds", "1", "--idle-seconds", "1") as server:
        with connect(server) as never, connect(server) as between:
            between.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answers = received(between)
            assert answers.count(b"HTTP/1.1 200 ") == 1, answers
            assert received(never) == b""
        study = server.client().create(definition())["id"]
        client = server.client()
        client.ask(study)
        asked = client.ask(study, wait_seconds=4)  # longer than all of these times
        assert asked["trials"] == [], asked


def test_answers_that_nobody_reads():
    """They have their time too: the only place of this server becomes free."""
    with Server("--request-seconds", "1", "--max-connections", "1") as server:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((server.host, server.port))
            connection.sendall(b"GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
            _until_well(server)


# ---- many ----------------------------------------------------------------------------------------------------


def test_connections_beyond_the_limit():
    with Server("--max-connections", "5") as server:
        held = [connect(server) for _ in range(5)]
        for connection in held:  # so that they are counted
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        with connect(server) as one_more:
            problem = problem_in(received(one_more), 503)
            assert "--max-connections" in problem["detail"], problem
        held.pop().close()
        _until_well(server)
        for connection in held:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 "), "those that are served notice nothing"
            connection.close()


def _until_well(server):
    """A freed place is seen a moment later."""
    for _ in range(600):
        try:
            if server.client().get("/healthz").status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError("no place becomes free")


def test_connections_of_one_address_beyond_its_limit():
    with Server("--max-connections-per-address", "3") as server:
        held = [connect(server) for _ in range(3)]
        with connect(server) as one_more:
            problem = problem_in(received(one_more), 503)
            assert "--max-connections-per-address" in problem["detail"], problem
        with socket.socket() as other:
            other.bind(("127.0.0.2", 0))
            other.settimeout(60)
            other.connect((server.host, server.port))
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert other.recv(65536).startswith(b"HTTP/1.1 200 "), "another address has its own"
        for connection in held:
            connection.close()
        _until_well(server)


def _spoken_to(connections, n):
    """Those on which the server says something, once there are n of them."""
    found = set()
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        while len(found) < n:
            ready = selector.select(60)
            assert ready, f"{len(found)} of {n}"
            for key, _ in ready:
                selector.unregister(key.fileobj)
                found.add(key.fileobj)
    assert len(found) == n
    return found


def test_ten_thousand_connections():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit != resource.RLIM_INFINITY and limit < 11000:
        raise Skip(f"the limit of open files is {limit}")
    held = []
    try:
        limits = ["--max-connections", "9900", "--max-connections-per-address", "5000"]
        with Server(*limits, "--request-seconds", "3600") as server:  # however long it takes to open them
            for i in range(10000):
                connection = socket.socket()
                connection.bind((f"127.0.0.{i % 3 + 1}", 0))
                connection.settimeout(60)
                connection.connect((server.host, server.port))
                held.append(connection)
            refused = _spoken_to(held, 100)  # the last ones, unless the kernel has put some off
            for connection in refused:
                assert "--max-connections" in problem_in(received(connection), 503)["detail"]
            for connection in [connection for connection in held if connection not in refused][::500]:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert connection.recv(65536).startswith(b"HTTP/1.1 200 "), "every one of the others is served"
            for connection in held:
                connection.close()
            _until_well(server)
    finally:
        for connection in held:
            connection.close()


# ---- bodies --------------------------------------------------------------------------------------------------

BODIES = {
    "deep": (b"[" * 100000 + b"]" * 100000, 400, None),
    "deep_metadata": (b'{"metadata": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", 400, None),
    "huge_exponent": (b'{"horizon": 1e999}', 400, None),
    "many_digits": (b'{"horizon": ' + b"9" * 100000 + b"}", 400, None),
    "beyond_2_to_53": (b'{"horizon": 9007199254740993}', 422, "/horizon"),
    "nan": (b'{"horizon": NaN}', 400, None),
    "duplicate_key": (b'{"id": "a", "id": "b"}', 400, None),
    "duplicate_key_below": (b'{"metric": {"name": "a", "name": "b"}}', 400, None),
    "invalid_utf_8": (b'{"display_name": "\xff\xfe"}', 400, None),
    "overlong_utf_8": (b'{"display_name": "\xc0\xaf"}', 400, None),
    "lone_surrogate": (b'{"display_name": "\\ud800"}', 400, None),
    "nul_in_a_text": (b'{"display_name": "a\\u0000b"}', 400, None),
    "cut": (b'{"id": "a"', 400, None),
    "two_values": (b"{} {}", 400, None),
    "empty": (b"", 400, None),
    "blank": (b"   ", 400, None),
    "a_number": (b"1", 422, ""),
}


@cases(BODIES)
def test_bodies(server, case):
    body, status, pointer = case
    client = server.client()
    refusal(client.post("/v1/studies", body, content_type="application/json"), status, pointer)
    assert client.get("/healthz").status == 200, "the connection goes on"


# ---- pipelining ----------------------------------------------------------------------------------------------


def test_pipelined_requests_are_answered_in_order(server):
    client = server.client()
    study = client.create(definition())["id"]
    requests = []
    for i in range(20):
        requests.append(b"GET /v1/studies/%s HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r%d\r\n\r\n" % (study.encode(), i))
        body = b'{"count": 1}'
        head = b"POST /v1/studies/%s/ask HTTP/1.1\r\n" % study.encode() + HEAD
        requests.append(head + b"X-Request-Id: p%d\r\nContent-Length: %d\r\n\r\n" % (i, len(body)) + body)
    requests.append(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    with connect(server) as connection:
        connection.sendall(b"".join(requests))
        answers = received(connection)
    assert answers.count(b"HTTP/1.1 200 ") == 41, answers[:2000]
    named = [line.split(b": ")[1].strip() for line in answers.splitlines() if line.startswith(b"X-Request-Id: ")]
    assert named[:40] == [b"%s%d" % (kind, i) for i in range(20) for kind in (b"r", b"p")], named


# Options that are accepted and whose figures a double cannot hold.
BEYOND_DOUBLES = {
    "a product of many picks": ({"name": "gp_bucb", "lambda": 1e-9}, 1),
    "the width of the bounds": ({"name": "bbkb", "norm_bound": 1e300, "lambda": 1e-100, "noise_std": 1e150}, 1),
    "values in no proportion": ({"name": "gp_ucb", "lambda": 1e-12, "noise_std": 100, "norm_bound": 1e300}, 1e50),
    "candidates in no proportion": ({"name": "gp_ei", "kernel": {"type": "linear"}, "noise_std": 1e-100}, 1),
}


@cases(BEYOND_DOUBLES)
def test_figures_beyond_doubles_are_said_and_harm_nobody(server, case):
    algorithm, scale = case
    far = 1e49 if algorithm.get("kernel") else 1
    client = server.client()
    points = [[x * far for x in point] for point in grid(20)]
    algorithm = {"kernel": {"type": "gaussian", "lengthscale": 0.02}, **algorithm}
    study = client.create({**definition(points), "feedback": "async", "algorithm": algorithm})["id"]
    path = f"/v1/studies/{study}"
    for count in (1, 300, 300):
        answer = client.post(f"{path}/ask", {"count": count, "wait_seconds": 60})
        assert answer.status in (200, 409), answer
        for trial in answer.json.get("trials", [])[:1]:
            client.tell(study, [{"trial": trial["id"], "value": scale * noisy(grid(20)[trial["candidate"]], trial["id"])}])
    for batch in client.items(f"{path}/batches"):
        assert math.isfinite(batch["ratio"]) and math.isfinite(batch["beta"]), batch
    answers = [
        client.get(f"{path}/model"),
        client.post(f"{path}/predict", {"candidates": list(range(400))}),
        client.get(f"{path}/best"),
        client.get(f"{path}/candidates?limit=1000"),
        client.get(f"{path}/export"),
    ]
    for answer in answers[:2]:
        if answer.status != 200:
            assert "too large or too small" in refusal(answer, 409)["detail"], answer
    assert [answer.status for answer in answers[2:]] == [200] * 3, answers
    view = client.study(study)
    assert view["state"] == "active" or "too large or too small" in view["state_reason"], view


CHUNKED = {
    "good": (b"0.25,0.5\n", b"HTTP/1.1 200 ", b'"count":200000'),
    "refused": (b"0.25,bad\n", b"HTTP/1.1 422 ", b"column 2"),
}


@cases(CHUNKED)
def test_chunks_that_come_at_once_are_taken_one_after_another(server, case):
    row, status, said = case
    chunk = b"%x\r\n%s\r\n" % (2000 * len(row), 2000 * row)
    for attempt in range(8):
        study = f"chunks-{attempt}"
        server.client().create({**definition(id=study), "domain": {"type": "candidates", "dimension": 2}})
        head = f"PUT /v1/studies/{study}/candidates HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: text/csv\r\n"
        with connect(server) as connection:
            connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
            connection.sendall(100 * chunk + b"0\r\n\r\n")
            answer = received(connection)
        assert answer.startswith(status) and said in answer, answer[:600]
        server.client().delete(f"/v1/studies/{study}")
