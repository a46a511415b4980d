"""A client of the tests' own: one kept-alive connection, answers as they are."""

import gzip
import http.client
import json
import socket

JUDGE = None  # set by tests/contract: every request passes through it


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # case-insensitive
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def plain(self):
        """The body as it was before it was compressed."""
        packed = self.headers.get("Content-Encoding") == "gzip" and self.body
        return gzip.decompress(self.body) if packed else self.body

    def __repr__(self):
        return f"{self.status} {self.body[:2000]!r}"


class Client:
    def __init__(self, host, port, timeout=60, token=None, judged=True):
        """judged: False for requests whose time is compared; with the contract's proxy it would be the proxy's."""
        self.token = token
        self._timeout = timeout
        self._judge = JUDGE if judged else None
        self._connection = http.client.HTTPConnection(host, port, timeout=timeout)

    def close(self):
        self._connection.close()

    def request(self, method, path, body=None, content_type=None, headers=None):
        """body: bytes or str as they are, None for none, a dict or list as JSON; a generator goes in chunks."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            content_type = content_type or "application/json"
        if isinstance(body, str):
            body = body.encode()
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if content_type:
            headers["Content-Type"] = content_type

        def send():
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            if response.headers.get_content_type() == "text/event-stream":  # it has no end
                self._connection.close()
                return Answer(response.status, response.headers, b"")
            return Answer(response.status, response.headers, response.read())

        if self._judge and (body is None or isinstance(body, bytes)):
            return self._judge.pass_through(method, path, body, headers, send, self._connection.timeout)
        return send()

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body=None, **options):
        return self.request("POST", path, body, **options)

    def put(self, path, body, **options):
        return self.request("PUT", path, body, **options)

    def delete(self, path):
        return self.request("DELETE", path)

    # ---- the calls, when they must succeed ----

    def create(self, definition):
        answer = self.post("/v1/studies", definition)
        assert answer.status == 201, answer
        return answer.json

    def study(self, study):
        return self._read(f"/v1/studies/{study}")

    def ask(self, study, count=1, **fields):
        self._allow(self._timeout + fields.get("wait_seconds", 0))
        answer = self.post(f"/v1/studies/{study}/ask", {"count": count, **fields})
        self._allow(self._timeout)
        assert answer.status == 200, answer
        return answer.json

    def _allow(self, seconds):
        """Sets how long an answer may take: the server may hold an ask for its wait_seconds."""
        self._connection.timeout = seconds
        if self._connection.sock:
            self._connection.sock.settimeout(seconds)

    def tell(self, study, results):
        answer = self.post(f"/v1/studies/{study}/tell", {"results": results})
        assert answer.status == 200, answer
        return answer.json

    def predict(self, study, **what):
        answer = self.post(f"/v1/studies/{study}/predict", what)
        assert answer.status == 200, answer
        return answer.json["predictions"]

    def read(self, study, what):
        return self._read(f"/v1/studies/{study}/{what}")

    def items(self, path, limit=1000):
        """All items of a list, over its pages."""
        found, token = [], None
        while True:
            query = f"limit={limit}" + (f"&page_token={token}" if token else "")
            page = self._read(path + ("&" if "?" in path else "?") + query)
            found += page["items"]
            token = page.get("next_page_token")
            if not token:
                return found

    def _read(self, path):
        answer = self.get(path)
        assert answer.status == 200, answer
        return answer.json


def exchange(host, port, request, timeout=10):
    """Sends bytes as they are on a connection of their own. -> what comes back until the answer is complete,
    the server closes, or nothing has come for `timeout` seconds"""
    received = b""
    with socket.create_connection((host, port), timeout=timeout) as connection:
        connection.sendall(request)
        try:
            while not complete(received) and (piece := connection.recv(65536)):
                received += piece
        except socket.timeout:
            pass
    return received


def complete(response):
    """Whether a response with a Content-Length is there in full."""
    head, _, body = response.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(head) + 4 <= len(response) and len(body) >= int(value)
    return False
