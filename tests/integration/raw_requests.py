"""Requests as bytes on connections of their own, and the problems in their answers."""

import ctypes
import functools
import json
import re
import socket
import subprocess

import server as servers

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
def library():
    """The path of the libmicrohttpd that the server loads."""
    linked = subprocess.run(["ldd", servers.BINARY], capture_output=True, text=True, check=True).stdout
    return re.search(r"libmicrohttpd\.so\S* => (\S+)", linked)[1]


def library_version():
    """The library's version, such as "0.9.75"."""
    version = ctypes.CDLL(library()).MHD_get_version
    version.restype = ctypes.c_char_p
    return version().decode()


@functools.cache
def library_answers_itself():
    """Whether libmicrohttpd is bound to its own symbols, so that the server cannot answer in its place (server/http/library_errors.c)."""
    command = ["readelf", "--relocs", "--wide", library()]
    return "MHD_queue_response" not in subprocess.run(command, capture_output=True, text=True, check=True).stdout


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


BODY = b"POST /v1/studies HTTP/1.1\r\n" + HEAD
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
