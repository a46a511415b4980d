"""No study, token or reader stops the others: what each caller may use up, and that the others are served."""

import json
import pathlib
import re
import select
import socket
import statistics
import subprocess
import tempfile
import threading
import time

import server as servers
from client import exchange
from server import Server, run_to_end
from support import definition, eventually, grid, refusal
from test_metrics import Metrics
from test_tokens import calls


def uniform(**fields):
    return {
        "metric": {"name": "value", "goal": "maximize"},
        "domain": {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]},
        "algorithm": {"name": "uniform"},
        "seed": 3,
        **fields,
    }


def send(server, request, source="127.0.0.1"):
    """A connection that has sent this and reads nothing yet."""
    connection = socket.create_connection((server.host, server.port), timeout=60, source_address=(source, 0))
    connection.sendall(request)
    return connection


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def status(connection):
    """The status of the answer that arrives."""
    return int(connection.recv(1 << 16).split(b" ", 2)[1])


def told(client, trials):
    study = client.create(uniform())["id"]
    for _ in range(trials // 500):
        asked = client.ask(study, 500)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": trial["parameters"]["x"]} for trial in asked])
    return study


def test_reads_do_not_queue_before_asks():
    """Dozens of readers of one address keep the reading threads busy; an ask and a tell take less than one read."""
    with Server("--threads", "2") as server:
        client = server.client(judged=False)
        long, light = told(client, 20000), client.create(uniform())["id"]
        path = f"/v1/studies/{long}/trials?worker=nobody"
        over, reads = threading.Event(), []

        def read():
            reader = server.client(judged=False)
            while not over.is_set():
                start = time.monotonic()
                answer = reader.get(path).status
                assert answer in (200, 429)
                if answer == 200:
                    reads.append(time.monotonic() - start)

        readers = [threading.Thread(target=read) for _ in range(24)]
        for reader in readers:
            reader.start()
        times = []
        try:
            eventually(lambda: reads, "a read is answered")
            for _ in range(60):
                start = time.monotonic()
                trial = client.ask(light)["trials"][0]
                client.tell(light, [{"trial": trial["id"], "value": 1}])
                times.append(time.monotonic() - start)
        finally:
            over.set()
            for reader in readers:
                reader.join()
        assert statistics.median(times) < statistics.median(reads), (times, reads)


def test_viewers_of_a_series_have_it_read_once():
    """While the study does not change; each change shows at once, as it does after a restart."""
    with Server("--log-level", "debug") as server:
        study = told(server.client(), 500)
        path = f"/v1/studies/{study}/series"

        def answers(query=""):
            return {server.client().get(path + query).body for _ in range(6)}

        seen = list(answers())
        for value in (2.5, 3.5):
            answer = server.client().post(f"/v1/studies/{study}/trials/1/amend", {"value": value})
            assert answer.status == 200, answer
            seen += answers()
        assert len(set(seen)) == len(seen) == 3, len(seen)
        assert answers("?metric=value") == {seen[-1]}
        assert len(answers("?points=10")) == 1
        assert server.stop().count("series_read") == 5
        server.start()
        assert answers() == {seen[-1]}


def test_one_caller_has_few_long_requests_in_progress():
    with Server("--max-reads", "3") as server:
        client = server.client()
        study = told(client, 2000)
        client.ask(study)
        path = f"/v1/studies/{study}/export"  # streams, and nobody reads it
        for _ in range(40):
            client.tell(study, [{"trial": t["id"], "value": 0, "metadata": {"note": "x" * 3000}} for t in client.ask(study, 500, fresh=True)["trials"]])
        held = [send(server, get(path)) for _ in range(3)]
        for connection in held:
            connection.recv(1, socket.MSG_PEEK)  # its answer has begun
        answer = client.get(f"/v1/studies/{study}/series")
        problem = refusal(answer, 429)
        assert "--max-reads" in problem["detail"] and int(answer.headers["Retry-After"]) >= 1, problem
        assert client.ask(study)["trials"], "asks are not counted"
        other = send(server, get(f"/v1/studies/{study}/series"), source="127.0.0.2")
        assert status(other) == 200, "another caller has reads of its own"
        for connection in [*held, other]:
            connection.close()
        eventually(lambda: client.get(f"/v1/studies/{study}/series").status == 200, "what has ended is given back")


SHORT = {  # the serving threads answer these, or nobody's time is needed for them
    *(("GET", path) for path in ("/healthz", "/readyz", "/v1/version", "/openapi.yaml", "/", "/{file}")),
    *(("GET", f"/v1/studies/{{study}}{path}") for path in ("", "/trials/{number}", "/observations/{number}", "/events")),
    *((method, "/v1/studies/{study}") for method in ("PATCH", "DELETE")),
    *(("POST", f"/v1/studies/{{study}}{path}") for path in ("/ask", "/tell", "/trials", "/observations/{number}/amend")),
    *(("POST", f"/v1/studies/{{study}}/trials/{{number}}/{what}") for what in ("amend", "measurements", "heartbeat")),
    ("POST", "/v1/tokens"),
    ("PUT", "/v1/notify"),
    ("DELETE", "/v1/tokens/{token}"),
}


def test_every_long_request_is_counted():
    """All calls but the short ones are refused while an answer that their caller does not read is in progress."""
    with Server("--max-reads", "1") as server:
        client = server.client()
        study = told(client, 20000)
        held = send(server, get(f"/v1/studies/{study}/export"))
        assert status(held) == 200
        long = [(method, path) for method, path, _ in calls() if (method, path) not in SHORT]
        assert len(long) > 20, long
        for method, path in long:
            target = path.format(study=study, number=1)
            answer = client.request(method, target, None if method == "GET" else {})
            assert "--max-reads" in refusal(answer, 429)["detail"], (method, path)
        assert client.ask(study)["trials"] and client.get(f"/v1/studies/{study}/trials/1").status == 200
        held.close()
        eventually(lambda: client.get(f"/v1/studies/{study}/trials/1/why").status == 200, "what has ended is given back")


def test_callers_take_turns_to_ask_why():
    """One caller asks why of dozens of trials at once; another's question waits for few of them."""
    with Server("--threads", "2") as server:
        client = server.client()
        study = told(client, 20000)
        why = get(f"/v1/studies/{study}/trials/20000/why")
        many = [send(server, why) for _ in range(40)]
        eventually(lambda: select.select(many, [], [], 0)[0], "the first has its answer")
        other = send(server, why, source="127.0.0.2")
        assert status(other) == 200
        waiting = len(many) - len(select.select(many, [], [], 0)[0])
        assert waiting > 20, f"{waiting} of the first caller's 40 wait"
        for connection in [*many, other]:
            connection.close()


def test_probes_share_a_write():
    """Whoever asks, and however often: a probe writes at most once a second."""
    with Server() as server:
        client = server.client()
        assert client.get("/readyz").status == 200
        commits = "banditd_commit_seconds_count"
        start, before = time.monotonic(), Metrics(client).get(commits)
        for _ in range(20):
            probes = [send(server, get("/readyz")) for _ in range(50)]
            assert {status(probe) for probe in probes} == {200}
            for probe in probes:
                probe.close()
        assert Metrics(client).get(commits) - before <= time.monotonic() - start + 1


def test_bodies_that_do_not_end_fill_a_share_of_memory():
    with Server("--max-buffered", "8MiB") as server:
        client = server.client()
        study = client.create(uniform())["id"]
        body = b"[" + b" " * (1 << 20)
        head = f"POST /v1/studies/{study}/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head = f"{head}Content-Length: {len(body) + 1}\r\n\r\n".encode()
        held = []

        def too_many():  # one after another: bodies that grow together may all be refused, and then none is held
            held.append(send(server, head + body))
            answer = exchange(server.host, server.port, head + body + b"]")
            return answer if b" 429 " in answer.split(b"\r\n", 1)[0] else None

        full = eventually(too_many, "the bodies before it have come")
        assert b"--max-buffered" in full, full[:200]

        def other_is_served():  # once the refused body is given back: it may leave the other just too little
            with send(server, head + body + b"]", source="127.0.0.2") as other:
                return other.recv(1 << 16).split()[1] in (b"400", b"422")

        eventually(other_is_served, "another caller has its own share")
        for connection in held:
            connection.close()


def status_bytes(server, name):
    """A line of the server's /proc/PID/status, which is in kB."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(text.split(f"{name}:")[1].split()[0])


def test_bodies_that_unfold_are_counted_as_trees():
    """4 MB of empty arrays are 200 MB once they are decoded: more than a caller's share."""
    with Server("--max-buffered", "64MiB", "--max-body", "8MiB") as server:
        client = server.client()
        study = client.create(uniform())["id"]
        before = status_bytes(server, "VmHWM")
        body = "[" + "[]," * 1300000 + "[]]"
        problem = refusal(client.post(f"/v1/studies/{study}/predict", body, content_type="application/json"), 429)
        assert "--max-buffered" in problem["detail"], problem
        assert status_bytes(server, "VmHWM") < before + (100 << 20)
        points = [{"x": 0.5}] * 8000
        answer = client.post(f"/v1/studies/{study}/predict", {"parameters": points})
        assert answer.status == 409, "a large body that fits is decoded: uniform has no model"


def test_listing_a_space_takes_no_more_memory_than_its_points():
    """A parameter of 10 000 values has as many features for each of them: 800 MB, which creating it does not need."""
    values = [f"v{i}" for i in range(10000)]
    body = uniform(domain={"type": "space", "parameters": [{"name": "c", "type": "categorical", "values": values}]})
    with Server() as server:
        client = server.client()
        before = status_bytes(server, "VmHWM")
        assert client.create(body)["candidates"] == 10000
        assert status_bytes(server, "VmHWM") < before + (256 << 20)


def test_engines_that_were_used_least_leave_memory():
    """Beyond --total-memory, long before --evict-seconds; and the next ask continues."""
    with Server("--total-memory", "1MiB") as server:
        client = server.client()
        studies = [client.create(definition(grid(60), id=f"s{i}"))["id"] for i in range(4)]
        first = [client.ask(study)["trials"] for study in studies]
        held = "banditd_engine_memory_bytes"
        eventually(lambda: Metrics(client).samples[held, frozenset()] < 1 << 20, "unused engines leave memory")
        for study, trials in zip(studies, first):
            client.tell(study, [{"trial": trial["id"], "value": 1.0} for trial in trials])
            assert client.ask(study, wait_seconds=60)["trials"]


def test_trials_that_were_used_least_leave_memory():
    """Without any engine: 64 trials take 20 to 28 KiB, so two studies have more than all may have."""
    held, loaded = "banditd_trial_memory_bytes", "banditd_loaded_studies"
    with Server("--total-memory", "36KiB", "--log-level", "debug") as server:
        client = server.client()
        for study in ("idle", "used"):
            client.create(uniform(id=study, domain={"type": "candidates", "points": grid(3)}))
            for i in range(64):
                assert client.post(f"/v1/studies/{study}/trials", {"candidate": i % 9}).status == 200

        def evicted():
            assert client.get("/v1/studies/used/best").status == 200
            return re.findall(r"study_evicted study=(\w+)", server.log())

        eventually(evicted, "the trials that were used least leave memory")
        assert evicted() == ["idle"]
        after = Metrics(client)
        assert 0 < after.get(held) < 36 << 10 and after.get(loaded) == 1, after.get(held)
        assert after.get("banditd_engine_memory_bytes") == 0
        assert [trial["candidate"] for trial in client.ask("idle", 64)["trials"]] == [i % 9 for i in range(64)]


def filled(client, study):
    """Asks for trials until the study gives no more. -> all of them"""
    trials, answer = [], {}
    while len(trials) < 20000 and not answer.get("reason"):
        answer = client.ask(study, 500, fresh=True, wait_seconds=1)
        trials += answer["trials"]
    assert answer["reason"] == "awaiting_feedback", (len(trials), answer["reason"])
    return trials


def test_open_trials_of_a_study_are_bounded_by_memory():
    """Its worker gets no more until it reports some, and its queue is as full as the option allows."""
    with Server("--study-memory", "1MiB") as server:
        client = server.client()
        study = client.create(uniform())["id"]
        trials = filled(client, study)
        assert 1000 < len(trials) < 4000, len(trials)
        assert Metrics(client).get("banditd_trial_memory_bytes") < 1.5 * (1 << 20)
        problem = refusal(client.post(f"/v1/studies/{study}/trials", {"parameters": {"x": 0.5}}), 429)
        assert "--study-memory" in problem["detail"], problem
        client.tell(study, [{"trial": trial["id"], "value": 1} for trial in trials[:600]])
        assert client.ask(study, 500, fresh=True, wait_seconds=60)["trials"]


def test_a_study_takes_half_of_the_memory_for_trials():
    """And the next one half of what it leaves."""
    with Server("--total-memory", "2MiB") as server:
        client = server.client()
        studies = [client.create(uniform(id=f"s{i}"))["id"] for i in range(3)]
        held = [filled(client, study) for study in studies[:2]]
        assert 1000 < len(held[0]) < 4000 and len(held[1]) < len(held[0]), [len(trials) for trials in held]
        assert client.ask(studies[2], 10)["trials"], "a study of few trials is not held up"
        client.delete(f"/v1/studies/{studies[0]}")
        memory = "banditd_trial_memory_bytes"
        eventually(lambda: Metrics(client).samples[memory, frozenset()] < 1 << 20, "they leave memory")
        assert client.ask(studies[1], 500, fresh=True, wait_seconds=60)["trials"], "there is room again"


def test_a_caller_takes_half_of_the_places_to_wait():
    with Server("--max-waiting", "8") as server:
        client = server.client()
        study = client.create(definition())["id"]
        assert client.ask(study)["trials"]
        body = b'{"wait_seconds":20}'  # some end without a trial: the next batch may have fewer than five
        head = f"POST /v1/studies/{study}/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        waiting = [send(server, request) for _ in range(4)]
        eventually(lambda: Metrics(client).get("banditd_waiting_asks") == 4, "four asks wait")
        problem = refusal(client.post(f"/v1/studies/{study}/ask", {"wait_seconds": 60}), 429)
        assert "--max-waiting" in problem["detail"], problem
        assert client.ask(study)["reason"], "an ask that does not wait needs no place"
        other = send(server, request, source="127.0.0.2")
        eventually(lambda: Metrics(client).get("banditd_waiting_asks") == 5, "five asks wait")
        client.tell(study, [{"trial": 1, "value": 1}])
        assert [status(connection) for connection in [*waiting, other]] == [200] * 5
        for connection in [*waiting, other]:
            connection.close()


def test_pages_of_wide_rows_end_early():
    """A page ends by its size as well as by its rows, and all rows come, each once."""
    wide = [[round((i * 31 + j) % 97 / 97, 3) for j in range(2000)] for i in range(120)]
    with Server() as server:
        client = server.client()
        body = definition(wide, feedback="async", min_in_flight=120)
        study = client.create({**body, "algorithm": {"name": "uniform"}})["id"]
        asked = 0
        while asked < 120:
            trials = client.ask(study, 120 - asked, fresh=True)["trials"]
            assert 0 < len(trials) <= 26, "an ask of wide trials is answered in parts"
            asked += len(trials)
        for what, key in (("trials", "id"), ("candidates", "candidate")):
            path, seen, pages = f"/v1/studies/{study}/{what}?limit=1000", [], 0
            token = None
            while pages == 0 or token:
                answer = client.get(path + (f"&page_token={token}" if token else ""))
                assert answer.status == 200 and len(answer.body) < 3 << 20, len(answer.body)
                seen += [item[key] for item in answer.json["items"]]
                token, pages = answer.json.get("next_page_token"), pages + 1
            assert seen == sorted(set(seen)) and len(seen) == 120 and pages > 3, (what, pages, len(seen))


def test_stops_soon_whatever_is_waited_for_or_unread():
    """SIGTERM with asks that wait, streams, answers that nobody reads, and bodies and heads that do not end."""
    with Server() as server:
        client = server.client()
        study = told(client, 1000)
        held = client.create(definition())["id"]
        client.ask(held)
        for _ in range(20):
            trials = client.ask(study, 200, fresh=True)["trials"]
            client.tell(study, [{"trial": t["id"], "value": 0, "metadata": {"note": "x" * 3000}} for t in trials])
        post = f"POST /v1/studies/{held}/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        body = b'{"wait_seconds":300}'
        open_ = []
        for _ in range(40):
            open_.append(send(server, f"{post}Content-Length: {len(body)}\r\n\r\n".encode() + body))
            open_.append(send(server, get(f"/v1/studies/{study}/events")))
            open_.append(send(server, get(f"/v1/studies/{study}/export")))
            open_.append(send(server, get(f"/v1/studies/{study}/trials?limit=1000")))
            open_.append(send(server, f"{post}Content-Length: 100\r\n\r\n".encode() + b"{"))
            open_.append(send(server, post.encode()))
        time.sleep(1)
        server.stop()
        assert server.stopped_after < 5, server.stopped_after
        for connection in open_:
            connection.close()


def test_pages_of_other_origins_do_not_write_through_a_proxy():
    """On a unix socket, without tokens: a proxy brings what a browser sends."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "b.sock")
        process = subprocess.Popen(
            [servers.BINARY, "serve", "--listen", f"unix:{path}", "--db", pathlib.Path(folder, "b.db")],
            stdout=subprocess.PIPE,
        )
        try:
            assert process.stdout.readline()

            def post(**headers):
                body = json.dumps(uniform())
                lines = ["POST /v1/studies HTTP/1.1", "Host: lab.example", "Content-Type: application/json"]
                lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(str(path))
                    connection.sendall("\r\n".join([*lines, f"Content-Length: {len(body)}", "", body]).encode())
                    return status(connection)

            assert post() == 201, "no browser"
            assert post(Origin="https://lab.example") == 201, "its own page"
            assert post(Origin="https://lab.example:8443", Sec_Fetch_Site="same-origin") == 201, "the proxy changed the host"
            assert post(Origin="https://evil.example") == 403
            assert post(Origin="https://evil.example", Sec_Fetch_Site="cross-site") == 403
            assert post(Sec_Fetch_Site="cross-site") == 403
        finally:
            process.terminate()
            process.wait()


def test_the_owner_gets_in_when_all_connections_are_taken():
    with Server("--max-connections", "20", "--max-connections-per-address", "20") as server:
        start = time.monotonic()
        held = [send(server, b"") for _ in range(20)]
        late = [send(server, b"") for _ in range(30)]
        assert b"--max-connections" in late[0].recv(1 << 16)
        done, out, err = run_to_end("token", "list", "--db", str(server.db))
        assert done == 0, (out, err)
        refused = server.says("connection_refused").count("connection_refused")
        assert 1 <= refused <= time.monotonic() - start + 2, "one line a second"
        for connection in [*held, *late]:
            connection.close()


def test_the_versions_of_the_libraries_are_looked_at():
    with Server("--log-level", "debug") as server:
        for name in ("libmicrohttpd", "SQLite", "GnuTLS", "OpenBLAS"):
            server.says(f"library name={name} version=")
        assert "library_old" not in server.log()


def test_each_bound_of_security_md_has_its_tests():
    """The last column of its table: `program`: test, test."""
    root = pathlib.Path(__file__).resolve().parents[2]
    table = (root / "SECURITY.md").read_text().split("| resource | bound |")[1].split("\n\n")[0]
    rows = table.splitlines()[2:]
    assert len(rows) > 10, rows
    for row in rows:
        program, names = re.fullmatch(r"`(\w+)`: ([\w, ]+)", row.split("|")[-2].strip()).groups()
        (source,) = [path for path in root.glob(f"tests/*/**/{program}.*") if path.suffix in (".py", ".c")]
        for name in names.split(", "):
            assert re.search(rf"\b(test_)?{name}\(", source.read_text()), (program, name)
