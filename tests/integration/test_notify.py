"""Notifications: who gets them, how they are signed, and what becomes of them when a receiver fails."""

import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import threading
import time

from server import Server
from support import definition, eventually, grid, refusal

PRIVATE = "--notify-private"


class Receiver:
    """A receiver on loopback. `statuses` are answered in turn, then 204; None: the connection is held until the end."""

    def __init__(self, *statuses, headers=None):
        self.got = []  # (headers, body)
        self.statuses = list(statuses)
        self.ended = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                if status is None:
                    receiver.ended.wait(60)
                    return
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def events(self):
        return [json.loads(body) for _, body in self.got]

    def names(self):
        return [event["event"] for event in self.events()]


def put(client, *receivers):
    answer = client.put("/v1/notify", {"notify": list(receivers)})
    assert answer.status == 200, answer
    return answer.json["notify"]


def shown(client):
    return client.get("/v1/notify").json["notify"]


def signed(headers, body, secret):
    """As docs/operations.md says."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    head = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode()
    right = "v1," + base64.b64encode(hmac.digest(key, head + body, hashlib.sha256)).decode()
    return hmac.compare_digest(headers["webhook-signature"], right)


def test_a_study_is_followed_to_its_end():
    with Receiver() as receiver, Server(PRIVATE) as server:
        client = server.client()
        [entry] = put(client, {"url": receiver.url})
        assert entry["events"] == ["finished", "better", "stuck", "failing"]
        client.create(definition(id="s", horizon=3))
        for value in (1, 3, 2):
            [trial] = client.ask("s", 1)["trials"]
            client.tell("s", [{"trial": trial["id"], "value": value}])
            eventually(lambda: shown(client)[0]["queued"] == 0)
        eventually(lambda: receiver.names() == ["better", "better", "finished"], receiver.names())
        first, second, last = receiver.events()
        assert (first["study"], first["trial"], first["value"]) == ("s", 1, 1)
        assert (second["trial"], second["value"]) == (2, 3)
        assert set(last) == {"id", "event", "study", "time"}
        for headers, body in receiver.got:
            assert headers["Content-Type"] == "application/json"
            assert headers["webhook-id"] == json.loads(body)["id"]
            assert abs(time.time() - int(headers["webhook-timestamp"])) < 600
            assert signed(headers, body, entry["secret"])
            assert not signed(headers, body + b" ", entry["secret"])
        metrics = client.get("/metrics").body.decode()
        assert "banditd_notifications_sent_total 3\n" in metrics and "banditd_notifications_queued 0\n" in metrics


def test_a_secret_is_shown_once_and_kept():
    with Receiver() as receiver, Server(PRIVATE) as server:
        client = server.client()
        [made] = put(client, {"url": receiver.url, "events": ["finished"]})
        [again] = put(client, {"url": receiver.url, "events": ["better"]})
        assert again == {"url": receiver.url, "events": ["better"]}
        assert set(shown(client)[0]) == {"url", "events", "queued", "sent", "failed", "dropped", "last_error"}
        server.stop()
        server.start()
        client = server.client()
        assert shown(client)[0]["events"] == ["better"]
        client.create(definition(id="s"))
        [trial] = client.ask("s", 1)["trials"]
        client.tell("s", [{"trial": trial["id"], "value": 1}])
        eventually(lambda: receiver.got)
        assert signed(*receiver.got[0], made["secret"])
        mine = "whsec_" + base64.b64encode(bytes(range(24))).decode()
        assert put(client, {"url": receiver.url, "secret": mine}) == [
            {"url": receiver.url, "events": ["finished", "better", "stuck", "failing"]}
        ]
        [trial] = client.ask("s", 1)["trials"]
        client.tell("s", [{"trial": trial["id"], "value": 2}])
        eventually(lambda: len(receiver.got) == 2)
        assert signed(*receiver.got[1], mine)
        assert put(client) == [] and shown(client) == []


def test_a_try_that_fails_is_repeated():
    with Receiver(500, 302, headers={"Location": "/other"}) as receiver, Server(PRIVATE) as server:
        client = server.client()
        put(client, {"url": receiver.url})
        client.create(definition(id="s"))
        [trial] = client.ask("s", 1)["trials"]
        client.tell("s", [{"trial": trial["id"], "value": 1}])
        eventually(lambda: len(receiver.got) == 2)
        eventually(lambda: shown(client)[0]["last_error"] == "the receiver answered 302; redirects are not followed")
        eventually(lambda: shown(client)[0]["sent"] == 1)
        assert shown(client)[0]["last_error"] is None and shown(client)[0]["queued"] == 0
        ids = {headers["webhook-id"] for headers, _ in receiver.got}
        assert len(receiver.got) == 3 and len(ids) == 1, receiver.got


def finish(client, numbers):
    for i in numbers:
        client.create(definition(id=f"s{i}"))
        assert client.request("PATCH", f"/v1/studies/s{i}", {"state": "finished"}).status == 200


def test_a_receiver_that_hangs_holds_up_nobody():
    with Receiver(*[None] * 9) as hanging, Receiver() as receiver, Server(PRIVATE) as server:
        client = server.client()
        put(client, {"url": hanging.url}, {"url": receiver.url, "events": ["finished"]})
        finish(client, range(102))
        eventually(lambda: shown(client)[1]["sent"] == 102)
        assert len(receiver.got) == 102
        said = [line for line in server.log().splitlines() if "notifications_dropped" in line]
        place = hanging.url.removesuffix("/hook")
        assert len(said) == 1 and f"receiver={place} " in said[0] and "hook" not in said[0], "a URL may be a secret"
        held, free = shown(client)
        assert (held["sent"], held["queued"], held["dropped"]) == (0, 101, 1), held
        assert (free["sent"], free["queued"], free["dropped"]) == (102, 0, 0), free
        assert "banditd_notifications_dropped_total 1\n" in client.get("/metrics").body.decode()
        hanging.ended.set()  # what it held fails, and is to be sent again
        eventually(lambda: shown(client)[0]["last_error"])
        finish(client, range(102, 122))
        eventually(lambda: shown(client)[0]["dropped"] == 21)
        held = shown(client)[0]
        assert (held["sent"], held["queued"], held["dropped"]) == (0, 101, 21), held
        put(client)  # ends the one that is repeated, too
        eventually(lambda: "banditd_notifications_queued 0\n" in client.get("/metrics").body.decode())


def test_a_result_worse_than_an_imported_one_is_no_news():
    with Receiver() as receiver, Server(PRIVATE) as server:
        client = server.client()
        put(client, {"url": receiver.url, "events": ["better"]})
        client.create({**definition(id="s", feedback="async"), "algorithm": {"name": "uniform"}})
        rows = {"observations": [{"candidate": 0, "value": 10}]}
        assert client.post("/v1/studies/s/observations", rows).status == 200
        server.kill()
        server.start()
        client = server.client()
        for value in (5, 7, 11):
            [trial] = client.ask("s", 1)["trials"]
            client.tell("s", [{"trial": trial["id"], "value": value}])
            eventually(lambda: shown(client)[0]["queued"] == 0)
        eventually(lambda: receiver.got)
        assert [event["value"] for event in receiver.events()] == [11], receiver.events()


def test_only_the_last_of_several_better_results_waits():
    with Receiver(None) as receiver, Server(PRIVATE) as server:
        client = server.client()
        put(client, {"url": receiver.url, "events": ["better"]})
        client.create({**definition(id="s", feedback="async"), "algorithm": {"name": "uniform"}})
        for i, trial in enumerate(client.ask("s", 5)["trials"]):
            client.tell("s", [{"trial": trial["id"], "value": i}])
            eventually(lambda: receiver.got)
        assert shown(client)[0]["queued"] == 2


def test_addresses_that_are_not_public_are_refused():
    with Receiver() as receiver, Server() as server:
        client = server.client()
        port = receiver.server.server_port
        hosts = ("127.0.0.1", "[::1]", "2130706433", "10.1", "169.254.169.254", "[::ffff:192.168.0.1]")
        wanted = [{"url": f"http://{host}:{port}/"} for host in hosts]
        answer = client.put("/v1/notify", {"notify": [{"url": "https://example.org/"}, *wanted]})
        assert answer.status == 422
        detail = "the address is not public; --notify-private allows it"
        assert answer.json["errors"] == [{"pointer": f"/notify/{i + 1}/url", "detail": detail} for i in range(len(hosts))]
        assert shown(client) == []  # what was wrong changed nothing


def test_urls_are_read_as_they_are_sent_to():
    """A host may be written with percent signs. A port that cannot be is refused, also with --notify-private."""
    private = "the address is not public; --notify-private allows it"
    malformed = "must be a URL with a host and, if it has a port, one from 1 to 65535"
    wrong = [f"http://example.org:{port}/" for port in ("99999", "0", "00", "65536", "x", "-1")]
    wrong += ["http://[::1/", "http://a%2fb.org/", "http://exam%00ple.org/"]
    hidden = [f"http://{host}/" for host in ("%31%32%37.0.0.1:80", "127.0.0.%31", "%5B::1%5D")]
    fine = [f"http://example.org{rest}" for rest in ("/?a=%31%32%37.0.0.1", ":1/", ":65535/", ":/")]
    for options, reason in ((), private), ((PRIVATE,), None):
        with Server(*options) as server:
            client = server.client()
            for url in [*wrong, *hidden, *fine]:
                answer = client.put("/v1/notify", {"notify": [{"url": url}]})
                if url in fine or (url in hidden[:2] and reason is None):
                    assert answer.status == 200, (url, answer)
                    continue
                assert answer.status == 422, (url, answer)
                details = {malformed, private} if url in hidden else {malformed}
                assert [error["pointer"] for error in answer.json["errors"]] == ["/notify/0/url"], answer
                assert answer.json["errors"][0]["detail"] in details, (url, answer)


def test_names_of_such_addresses_are_not_connected_to():
    with Receiver() as receiver, Server() as server:
        client = server.client()
        put(client, {"url": f"http://localhost:{receiver.server.server_port}/"})
        client.create(definition(id="s"))
        client.request("PATCH", "/v1/studies/s", {"state": "finished"})
        eventually(lambda: all(entry["last_error"] for entry in shown(client)))
        errors = {entry["last_error"] for entry in shown(client)}
        assert errors == {"the address is not public; --notify-private allows it"}, errors
        assert receiver.got == []


def test_failing_and_stuck():
    with Receiver() as receiver, Server(PRIVATE) as server:
        client = server.client()
        put(client, {"url": receiver.url, "events": ["failing", "stuck"]})
        client.create({**definition(id="s", feedback="async", max_attempts=9), "algorithm": {"name": "uniform"}})
        trials = client.ask("s", 7)["trials"]
        fail = [{"trial": trial["id"], "state": "failed", "reason": "no"} for trial in trials]
        client.tell("s", fail[:4])
        client.tell("s", [{"trial": trials[4]["id"], "value": 1}])
        client.tell("s", fail[5:])
        for _ in range(3):  # together with the last two, five in a row
            assert receiver.got == []
            [trial] = client.ask("s", 1)["trials"]
            client.tell("s", [{"trial": trial["id"], "state": "failed", "reason": "no"}])
        eventually(lambda: receiver.names() == ["failing"])
        assert receiver.events()[0]["failures"] == 5
        client.ask("s", 1, lease_seconds=1)
        eventually(lambda: receiver.names() == ["failing", "stuck"])
        assert receiver.events()[1]["reason"] == "the last lease has expired, and no worker has a trial"


def test_stuck_when_planning_finds_no_candidate():
    with Receiver() as receiver, Server(PRIVATE) as server:
        client = server.client()
        put(client, {"url": receiver.url, "events": ["stuck", "finished"]})
        client.create(definition(id="s", points=[[0, 0], [1, 1]]))
        assert client.post("/v1/studies/s/candidates/retire", {"candidates": [0, 1]}).status == 200
        for _ in range(2):
            refusal(client.post("/v1/studies/s/ask", {}), 409)
        client.request("PATCH", "/v1/studies/s", {"state": "finished"})
        eventually(lambda: receiver.names() == ["stuck", "finished"], receiver.names())
        event = receiver.events()[0]
        assert (event["study"], event["reason"]) == ("s", "no candidate is left that may be handed out"), event


def test_stuck_when_no_point_seems_to_keep_all_bounds():
    metrics = [{"name": "v", "goal": "minimize"}, {"name": "w", "goal": "minimize", "at_most": -5}]
    with Receiver() as receiver, Server(PRIVATE) as server:
        client = server.client()
        put(client, {"url": receiver.url, "events": ["stuck", "finished"]})
        domain = {"type": "candidates", "points": grid(8)}
        client.create({"id": "s", "metrics": metrics, "aim": "best", "feedback": "async", "seed": 3, "domain": domain})
        for step in range(9):
            trials = client.ask("s", 3, wait_seconds=30)["trials"]
            told = [{"trial": t["id"], "values": {"v": t["point"][0], "w": 1 + t["point"][1]}} for t in trials]
            client.tell("s", told)
            assert receiver.got == [] or step >= 6, "20 results are required"
        assert client.study("s")["advice"] == "no_feasible_point"
        client.request("PATCH", "/v1/studies/s", {"state": "finished"})
        eventually(lambda: receiver.names() == ["stuck", "finished"], receiver.names())
        assert receiver.events()[0]["reason"] == "no point seems to keep all bounds"


def test_what_is_refused():
    with Server() as server:
        client = server.client()
        good = "https://example.org/hook"

        def wrong(pointer, *receivers):
            refusal(client.put("/v1/notify", {"notify": list(receivers)}), 422, pointer)

        for url in ("ftp://a/", "https://", "https://u:p@a/", "https://a/#b", "https://a b/", "/hook", "https:///x", ""):
            wrong("/notify/0/url", {"url": url})
        wrong("/notify/0/url", {})
        wrong("/notify/1/url", {"url": good}, {"url": good})
        wrong("/notify/0/events", {"url": good, "events": []})
        wrong("/notify/0/events/1", {"url": good, "events": ["better", "better"]})
        wrong("/notify/0/events/0", {"url": good, "events": ["other"]})
        for secret in ("s", "whsec_", "whsec_AAAA", "whsec_" + "A" * 31, "whsec_" + "A" * 92, "whsec_" + "A" * 31 + "!"):
            wrong("/notify/0/secret", {"url": good, "secret": secret})
        wrong("/notify/0/other", {"url": good, "other": 1})
        wrong("/notify", *[{"url": f"{good}/{i}"} for i in range(17)])
        refusal(client.put("/v1/notify", {}), 422, "/notify")
        assert shown(client) == []


def test_only_administrators_may():
    with contextlib.ExitStack() as stack:
        from test_tokens import Guarded

        server = stack.enter_context(Guarded())
        editor = server.client(token=server.make(role="editor")["token"])
        assert editor.get("/v1/notify").status == 403
        assert editor.put("/v1/notify", {"notify": []}).status == 403
        assert server.client().get("/v1/notify").status == 200
