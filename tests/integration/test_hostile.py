"""Clients that mean harm, or are broken: each gets one exact answer, and nobody else notices."""

import functools
import json
import math
import re
import resource
import selectors
import socket
import subprocess
import time

import server as servers
from server import Server
from support import Skip, cases, definition, grid, noisy, refusal

HEAD = b"Host: localhost\r\nContent-Type: application/json\r\n"


def connect(server, timeout=20):
    return socket.create_connection((server.host, server.port), timeout=timeout)


def received(connection):
    """All that comes until the server closes."""
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


def answer_to(server, request, timeout=60):
    """What a connection of its own gets to hear after these bytes, until it is closed or silent for a second."""
    with connect(server, timeout) as connection:
        connection.sendall(request)
        connection.settimeout(1)
        data = b""
        try:
            while piece := connection.recv(65536):
                data += piece
        except (socket.timeout, ConnectionResetError):
            pass
        return data


@functools.cache
def library_answers_itself():
    """Whether libmicrohttpd is bound to its own symbols, so that the server cannot answer in its place (server/http/library_errors.c)."""
    linked = subprocess.run(["ldd", servers.BINARY], capture_output=True, text=True, check=True).stdout
    library = re.search(r"libmicrohttpd\.so\S* => (\S+)", linked)[1]
    relocations = subprocess.run(["readelf", "--relocs", "--wide", library], capture_output=True, text=True, check=True).stdout
    return "MHD_queue_response" not in relocations


def is_refused(answer, status, detail):
    """Checks for the one answer that there is, after which the connection is closed: a problem with this detail, or
    where the library answers itself a page of its own."""
    assert len(re.findall(rb"HTTP/1\.1 \d", answer)) == 1 and b"\r\nConnection: close\r\n" in answer, answer
    if library_answers_itself() and b"\r\n\r\n<html>" in answer:
        assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    else:
        assert detail in problem_in(answer, status)["detail"], answer


def problem_in(answer, status):
    """The problem in the one answer that there is, which says that the connection closes."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"\r\nContent-Type: application/problem+json" in head and b"\r\nX-Request-Id: " in head, answer
    assert b"\r\nContent-Length: %d\r\n" % len(body) in head + b"\r\n", answer
    problem = json.loads(body)
    assert problem["status"] == status, problem
    return problem


def is_well(server):
    answer = server.client().get("/healthz")
    assert answer.status == 200, answer
    return True


# ---- framing -------------------------------------------------------------------------------------------------

BODY = b"POST /v1/studies HTTP/1.1\r\n" + HEAD
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CHUNKS = BODY + b"Transfer-Encoding: chunked\r\n\r\n"
FRAMING = {
    "two_lengths": (BODY + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", "more than one Content-Length"),
    "equal_lengths": (BODY + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "more than one Content-Length"),
    "list_of_lengths": (BODY + b"Content-Length: 2, 2\r\n\r\n{}", "the Content-Length is not a number"),
    "length_and_chunks": (
        BODY + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "both Content-Length and Transfer-Encoding",
    ),
    "unknown_encoding": (BODY + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
    "two_encodings": (BODY + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "more than one"),
    "negative_length": (BODY + b"Content-Length: -2\r\n\r\n{}", "the Content-Length is not a number"),
    "hexadecimal_length": (BODY + b"Content-Length: 0x2\r\n\r\n{}", "the Content-Length is not a number"),
    "plus_length": (BODY + b"Content-Length: +2\r\n\r\n{}", "the Content-Length is not a number"),
    "empty_length": (BODY + b"Content-Length:\r\n\r\n{}", "the Content-Length is not a number"),
    "a_length_goes_on": (BODY + b"Content-Length: 1\r\n 0\r\n\r\n{}", "on another line"),
    "an_encoding_goes_on": (BODY + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "on another line"),
    "space_before_the_colon": (BODY + b"Content-Length : 2\r\n\r\n{}", "a header name is malformed"),
    "nul_in_a_value": (BODY + b"Content-Length: 2\0\r\nX-A: b\r\n\r\n{}", "has a NUL"),
    "nul_in_the_last_value": (GET + b"X-A: 2\0: 57\r\n\r\n", "has a NUL"),
    "nul_at_the_end_of_the_last_value": (BODY + b"Content-Length: 2\0\r\n\r\n{}", "has a NUL"),
    "nuls_after_the_last_value": (GET + b"X-A: 2\0\0\0\r\n\r\n", "has a NUL"),
    "nul_for_a_line": (GET + b"\0\r\n\r\n", "has a NUL"),
    "nul_for_the_only_line": (b"GET /healthz HTTP/1.0\r\n\0\r\n\r\n", "has a NUL"),
    "nul_in_the_method": (b"GET\0x /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "the request method is malformed"),
    "return_before_the_method": (b"\r" + GET + b"\r\n", "the request method is malformed"),
    "bare_line_feed": (GET + b"X-A: a\nX-B: b\r\n\r\n", "does not end in CR LF"),
    "bare_line_feed_at_the_end": (GET + b"X-A: a\n\r\n", "does not end in CR LF"),
    "return_in_a_value": (GET + b"X-A: a\rContent-Length: 57\r\n\r\n", "the end of a line"),
    "no_name": (GET + b": x\r\n\r\n", "empty of a name"),
    "no_name_in_between": (GET + b": x\r\nX-A: b\r\n\r\n", "empty of a name"),
    "nul_in_the_target": (b"GET /v1/version\0/../x HTTP/1.1\r\nHost: localhost\r\n\r\n", "NUL"),
    "chunks_in_an_old_version": (
        CHUNKS.replace(b"HTTP/1.1", b"HTTP/1.0") + b"2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.0 has no Transfer-Encoding",
    ),
    "two_codings": (GET + b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n\r\n", "more than one Content-Encoding"),
    "two_types": (BODY + b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", "more than one Content-Type"),
    "two_tokens": (GET + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", "more than one Authorization"),
    "two_origins": (GET + b"Origin: http://localhost\r\norigin: http://a.example\r\n\r\n", "more than one Origin"),
    "no_colon": (GET + b"nothing\r\n\r\n", "a line of the request head is malformed"),
    "no_colon_later": (GET + b"X-A: b\r\nnothing\r\n\r\n", "a line of the request head is malformed"),
    "no_version": (b"GET /healthz\r\n\r\n", "a line of the request head is malformed"),
    "no_host": (b"GET /healthz HTTP/1.1\r\n\r\n", "one Host"),
    "two_hosts": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "one Host"),
    "bad_percent": (b"GET /v1/studies/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "percent sign"),
    "half_percent": (b"GET /v1/studies?limit=1%2 HTTP/1.1\r\nHost: localhost\r\n\r\n", "percent sign"),
    "nul": (b"GET /v1/studies/a%00b HTTP/1.1\r\nHost: localhost\r\n\r\n", "NUL"),
    "nul_in_the_query": (b"GET /v1/studies?page_token=%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", "NUL"),
    "another_host": (b"GET http://example.org/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "does not match the Host header"),
    "space": (b"GET /v1/a b HTTP/1.1\r\nHost: localhost\r\n\r\n", "space"),
    "chunk_that_is_no_number": (CHUNKS + b"zz\r\n{}\r\n0\r\n\r\n", "chunks"),
    "negative_chunk": (CHUNKS + b"-2\r\n{}\r\n0\r\n\r\n", "chunks"),
    "chunk_that_goes_on": (CHUNKS + b"2\r\n{}zz\r\n0\r\n\r\n", "chunks"),
    "trailer_without_a_colon": (CHUNKS + b"2\r\n{}\r\n0\r\nnothing\r\n\r\n", "the lines after them"),
}


@cases(FRAMING)
def test_framing(server, case):
    """400, and the connection is closed: what follows cannot be told from the body."""
    request, detail = case
    answer = answer_to(server, request + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    is_refused(answer, 400, detail)
    assert is_well(server)


def test_nothing_is_read_after_chunks(server):
    """Lines of chunks that end in a bare line feed are taken, whatever a proxy reads there; nothing follows them."""
    for chunks in (b"2\r\n{}\r\n0\r\n\r\n", b"2;\n{}\r\n0\r\n\r\n", b"2\n{}\r\n0\r\n\r\n"):
        answer = answer_to(server, CHUNKS + chunks + GET + b"\r\n")
        assert answer.count(b"HTTP/1.1 ") == 1 and b"\r\nConnection: close\r\n" in answer, answer


def test_long_heads_that_come_in_pieces_are_taken(server):
    """With spaces around values, and grown buffers: nothing of it is taken for a malformed line."""
    lines = [b"X-%d: %s%s\r\n" % (i, b" " * (i % 3), b"v" * (i % 40) + b" " * (i % 4)) for i in range(300)]
    for count in (1, 20, 100, 300):
        head = GET + b"".join(lines[:count]) + b"Connection: close\r\n\r\n"
        with connect(server) as connection:
            for at in range(0, len(head), 997):
                connection.sendall(head[at : at + 997])
            answer = received(connection)
        assert answer.startswith(b"HTTP/1.1 200 "), (count, len(head), answer)


OTHERS = {
    "length_that_no_integer_holds": (BODY + b"Content-Length: 99999999999999999999999\r\n\r\n{}", 413, "--max-body"),
    "chunk_that_no_integer_holds": (CHUNKS + b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n", 413, "--max-body"),
    "target": (b"GET /v1/studies/" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, "32 KiB"),
    "header": (GET + b"X-Filler: " + b"a" * 100000 + b"\r\n\r\n", 431, "32 KiB"),
    "headers": (GET + b"".join(b"X-%d: filler\r\n" % i for i in range(10000)) + b"\r\n", 431, "32 KiB"),
    "cookie": (GET + b"Cookie: a=" + b"b" * 20000 + b"\r\n\r\n", 431, "32 KiB"),
    "another_version": (b"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, "1.1"),
    "an_old_version": (b"GET /healthz HTTP/0.9\r\nHost: localhost\r\n\r\n", 505, "1.1"),
}


@cases(OTHERS)
def test_heads_that_no_request_is_made_of(server, case):
    """One problem, which says the limit where there is one, and the connection is closed."""
    request, status, detail = case
    answer = answer_to(server, request)
    is_refused(answer, status, detail)
    assert is_well(server)


def test_a_refusal_comes_after_the_answers_before_it_and_under_the_clients_name(server):
    answer = answer_to(server, GET + b"\r\n" + GET + b"X-Request-Id: mine\r\nContent-Length: x\r\n\r\n")
    first, second, third = answer.partition(b"HTTP/1.1 400 ")
    assert first.startswith(b"HTTP/1.1 200 ") and first.endswith(b'{"status":"ok"}\n'), answer
    assert library_answers_itself() or b"\r\nX-Request-Id: mine\r\n" in third, answer
    is_refused(second + third, 400, "")


def test_what_is_not_http_is_closed_without_an_answer(server):
    for sent in (b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n"):
        assert answer_to(server, sent) == b"", sent
    assert is_well(server)


def test_targets_that_are_whole_addresses_or_the_whole_server(server):
    for target, host in (("http://localhost:80", "localhost:80"), ("HTTP://LOCALHOST", "localhost")):
        for path, status in (("/healthz", b"200"), ("/v1/studies?limit=1", b"200"), ("/nothing", b"404")):
            answer = answer_to(server, f"GET {target}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            assert answer.split()[1] == status, (target, path, answer)
    answer = answer_to(server, b"GET http://localhost HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.split()[1] == b"200" and b"text/html" in answer, answer
    answer = answer_to(server, b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.split()[1] == b"204" and b"\r\nAllow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n" in answer, answer
    for target in ("/v1%2fstudies", "/v1/studies/a%2Fbest", "/%2F"):
        answer = answer_to(server, f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert "encoded slash" in problem_in(answer, 404)["detail"], answer
    posted = b"POST /v1/studies/a%2fb/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
    answer = answer_to(server, posted + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"404", b"200"], answer
    answer = answer_to(server, b"GET /v1/studies?label=a:%2F HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.split()[1] == b"200", answer
    problem_in(answer_to(server, b"GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), 404)


def test_a_type_of_content_may_go_on_after_a_tab(server):
    head = b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n"
    problem_in(answer_to(server, head + b"Content-Type: application/json\t;charset=utf-8\r\n\r\n{}"), 422)


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
