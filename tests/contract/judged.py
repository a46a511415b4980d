"""Requests of the integration tests, judged by prism on their way to the server and back.

prism stands between a test's client and its server as a validating proxy, one for all of them: it forwards to a
relay in this process, which knows by a header which request it is and sends that, byte for byte, to the server
that was meant; the test sees the server's answer, byte for byte. What prism would change on the way does not
matter.

 - prism finds the answer, or a request that it let pass, at odds with openapi.yaml: the test fails.
 - what prism cannot judge goes directly: a stream of events (it has no end), HEAD and OPTIONS (they are not in the
   document), the files of the dashboard (which it names in words), bodies and exports that are not JSON (there
   is no schema to judge them by, and prism does not survive them all), bodies of more than 10 MB, and those that
   are not JSON although they say so (prism never answers them).
 - prism refuses a request (many tests send wrong ones on purpose): it is sent directly, and the server has to
   refuse it as well, or else openapi.yaml is stricter than the server, and the test fails.
"""

import http.client
import http.server
import itertools
import json
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

TEST_ID = "X-Test-Id"
LARGEST = 10_000_000  # that prism takes
PROBLEMS = "https://stoplight.io/prism/errors#"


class Violation(AssertionError):
    pass


class Request:
    def __init__(self, send):
        self.send = send  # () -> the server's Answer
        self.answer = None


class Judge:
    def __init__(self, prism, contract, log):
        """log: where prism writes; the copy of the contract that it reads is put beside it."""
        self._requests = {}
        self._ids = itertools.count()
        self.judged = self.refused = 0
        relay = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        relay.daemon_threads = True
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        self.port = _free_port()
        # prism starts anew, in the middle of requests, when the file that it reads is touched.
        copy = shutil.copy(contract, pathlib.Path(log).with_suffix(".yaml"))
        command = [prism, "proxy", copy, f"http://127.0.0.1:{relay.server_port}", "--errors", "--port", str(self.port)]
        with open(log, "w") as out:
            self._process = subprocess.Popen([*command, "--verboseLevel", "error"], stdout=out, stderr=subprocess.STDOUT)
        _until_listening(self.port, self._process)

    def close(self):
        self._process.terminate()
        self._process.wait()

    def pass_through(self, method, path, body, headers, send, timeout):
        """send: () -> Answer, the request itself. -> that answer, unless there is a violation"""
        if not _can_be_judged(method, path, body, headers):
            return send()
        number = str(next(self._ids))
        self._requests[number] = request = Request(send)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, {**headers, "Authorization": "Bearer any", TEST_ID: number})
            response = connection.getresponse()
            said = response.read()
        finally:
            connection.close()
            del self._requests[number]
        self.judged += 1
        problem = _problem(said) if response.status >= 400 else None
        if request.answer is None:
            self.refused += 1
            answer = send()
            if answer.status < 400:
                raise Violation(f"{method} {path}: the server accepts what openapi.yaml does not: {said[:3000]!r}")
            return answer
        if problem:
            raise Violation(f"{method} {path}: {problem}; answered: {request.answer!r}")
        return request.answer

    def _handler(judge):
        class Relay(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or a body waits 40 ms for the acknowledgement of its headers

            def _relay(self):
                if length := int(self.headers.get("Content-Length") or 0):
                    self.rfile.read(length)
                elif "chunked" in self.headers.get("Transfer-Encoding", ""):
                    _skip_chunks(self.rfile)
                request = judge._requests[self.headers[TEST_ID]]
                request.answer = answer = request.send()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    if name.lower() not in ("connection", "content-length", "transfer-encoding", "content-encoding", "date"):
                        self.send_header(name, value)
                body = answer.plain
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _relay

            def log_message(self, *unused):
                pass

        return Relay


def _can_be_judged(method, path, body, headers):
    bare = path.split("?")[0]
    if method not in ("GET", "POST", "PUT", "PATCH", "DELETE") or bare.endswith(("/events", "/export")):
        return False
    if re.fullmatch(r"/(?!v1/)([\w-]+/)*[\w.-]+\.(?!yaml)\w+", bare) or len(body or b"") > LARGEST:
        return False
    if body is None:
        return True
    if "/json" not in headers.get("Content-Type", "/json"):
        return False
    try:
        json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant):
    raise ValueError(constant)


def _problem(said):
    """What prism has to say against an answer; None when these are not prism's words."""
    try:
        problem = json.loads(said)
    except ValueError:
        return None
    if not isinstance(problem, dict) or not str(problem.get("type", "")).startswith(PROBLEMS):
        return None
    return json.dumps(problem.get("validation", problem))[:3000]


def _skip_chunks(stream):
    while size := int(stream.readline().split(b";")[0].strip() or b"0", 16):
        stream.read(size + 2)
    stream.readline()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _until_listening(port, process):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    raise RuntimeError("prism does not start: see build/contract/prism.log")
