"""Request heads and bodies whose end is in doubt: each gets one exact answer, and the connection is closed."""

import re

from raw_requests import BODY, GET, answer_to, connect, is_refused, is_well, library_answers_itself, library_version, problem_in, received
from support import cases

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
    "bare_line_feed": (GET + b"X-A: a\nX-B: b\r\n\r\n", "does not end in CR LF"),
    "bare_line_feed_at_the_end": (GET + b"X-A: a\n\r\n", "does not end in CR LF"),
    "return_in_a_value": (GET + b"X-A: a\rContent-Length: 57\r\n\r\n", "the end of a line"),
    "no_name": (GET + b": x\r\n\r\n", "has no name"),
    "no_name_in_between": (GET + b": x\r\nX-A: b\r\n\r\n", "has no name"),
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


REQUEST_LINES = {
    "nul_in_the_method": (b"GET\0x /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "the request method is malformed"),
    "return_before_the_method": (b"\r" + GET + b"\r\n", "the request method is malformed"),
    "nul_in_the_target": (b"GET /v1/version\0/../x HTTP/1.1\r\nHost: localhost\r\n\r\n", "NUL"),
}


@cases(REQUEST_LINES)
def test_request_lines_that_cannot_be_read(server, case):
    """As above. From version 1.0 on the library closes the connection without an answer."""
    request, detail = case
    answer = answer_to(server, request + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    if library_version().startswith("0."):
        is_refused(answer, 400, detail)
    else:
        assert answer == b"", answer
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
