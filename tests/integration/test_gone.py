"""Clients that go in the middle of something, and clients that only end their sending, and listen."""

import json
import math
import re
import socket
import struct
import time

from support import cases, definition, measure
from test_ask_tell import one_pending
from raw_requests import BODY, connect, is_well, received
from test_metrics import until
from test_spaces import space


def request(method, path, body=b"", kind="application/json"):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def test_connections_that_end_half_way(server):
    starts = (b"", b"GET", b"GET /healthz HTTP/1.1\r\nHost: lo", BODY + b"Content-Length: 100\r\n\r\n{", BODY)
    for start in starts:
        for reset in (False, True):
            connection = connect(server)
            connection.sendall(start)
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            else:
                connection.shutdown(socket.SHUT_WR)
                assert received(connection) == b"", start
                connection.close()
    assert is_well(server)


# ---- in the middle of an answer ----


def one_that_goes(server, client, study):
    """An ask that is held, and whose client closes the connection."""
    with connect(server) as connection:
        ask = b'{"worker": "gone", "wait_seconds": 300}'
        connection.sendall(request("POST", f"/v1/studies/{study}/ask", ask))
        until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 1)


def test_a_client_that_has_gone_is_noticed_by_itself(server):
    client = server.client()
    study, _ = one_pending(client)
    one_that_goes(server, client, study)
    gone = time.monotonic()
    until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 0)
    print(f"# noticed after {time.monotonic() - gone:.1f} s")


def test_nothing_is_handed_to_a_client_that_has_gone(server):
    client = server.client()
    study, trial = one_pending(client)
    one_that_goes(server, client, study)
    client.tell(study, [measure(trial)])
    until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 0)
    assert client.items(f"/v1/studies/{study}/trials?worker=gone") == []
    assert client.study(study)["trials_pending"] == 0


def test_nothing_is_chosen_for_a_client_that_has_gone(server):
    """Values that it holds are planned for it alone; it goes while they are."""
    client = server.client()
    study = client.create(space([{"name": name, "type": "double", "min": 0, "max": 1} for name in "xyz"]))["id"]
    for trial in client.ask(study, 20)["trials"]:
        client.tell(study, [{"trial": trial["id"], "value": math.sin(9 * trial["parameters"]["x"])}])
    with connect(server) as connection:
        ask = b'{"fixed": {"x": 0.5}, "count": 300, "worker": "gone"}'  # so many that planning takes a while
        connection.sendall(request("POST", f"/v1/studies/{study}/ask", ask))
        until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 1)
    until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 0)
    assert client.items(f"/v1/studies/{study}/trials?worker=gone") == []
    assert client.study(study)["trials_pending"] == 0


def test_a_listener_that_has_gone_is_noticed(server):
    client = server.client()
    study = client.create(definition())["id"]
    with connect(server) as connection:
        connection.sendall(request("GET", f"/v1/studies/{study}/events"))
        until(client, lambda metrics: metrics.get("banditd_event_streams") == 1)
    until(client, lambda metrics: metrics.get("banditd_event_streams") == 0)


# ---- only the sending has ended ----


def only_listen(server, method, path, body=b"", kind="application/json", times=1, then=lambda: None):
    """Sends a request, and with its last byte the end of sending. -> what the server says until it closes"""
    with connect(server) as connection:
        connection.sendall(request(method, path, body, kind) * times, socket.MSG_MORE)  # held until more follows, or the end
        connection.shutdown(socket.SHUT_WR)
        then()
        return received(connection)


@cases({"known": b"GET /healthz", "read": b"GET /v1/studies", "written": b"POST /v1/studies", "unknown": b"PUT /v1"})
def test_clients_that_only_listen_are_answered(server, case):
    """Each request that has come whole, on whichever of the HTTP threads, beside other connections."""
    method, path = case.decode().split()
    body = json.dumps(definition()).encode() if method == "POST" else b""
    server.client().get("/healthz")
    for times in (1, 1, 1, 3, 3, 3):
        answers = only_listen(server, method, path, body, times=times)
        assert len(re.findall(rb"HTTP/1\.1 (?:200|201|404) ", answers)) == times, answers


def test_uploads_of_clients_that_only_listen(server):
    """Of lengths at which the last bytes come with the end of a piece, or after it."""
    client = server.client()
    for size in (2**18 - 8, 2**18, 2**18 + 8, 2**18 + 2**13, 2**18 + 2**15, 2**19 + 2**12):
        study = client.create(definition(domain={"type": "candidates", "dimension": 1, "scaling": "none"}))["id"]
        answer = only_listen(server, "PUT", f"/v1/studies/{study}/candidates", b"0.12345\n" * (size // 8), "text/csv")
        assert answer.startswith(b"HTTP/1.1 200 "), (size, answer)


def test_clients_that_only_listen_do_not_wait(server):
    """They get what there is at once; else they count as gone, and not after a while only: those that come one after
    another would be held up by each."""
    client = server.client()
    study, finished = (client.create(definition(horizon=horizon))["id"] for horizon in (100, 1))
    for trial in client.ask(finished)["trials"]:
        client.tell(finished, [measure(trial)])
    client.ask(study, 1000)  # a batch's end is to be waited for
    end = time.monotonic() + 60
    for _ in range(20):
        ask = b'{"wait_seconds": 300}'
        assert b'"reason":"finished"' in only_listen(server, "POST", f"/v1/studies/{finished}/ask", ask)
        assert b'"reason":"awaiting_feedback"' in only_listen(server, "POST", f"/v1/studies/{study}/ask", ask)
        assert b"\nid: " in only_listen(server, "GET", f"/v1/studies/{study}/events")
        assert time.monotonic() < end
