#!/usr/bin/env python3
"""How much do neighbours slow light studies down: `make bench-fair`.

Two clients ask and tell on light studies (`uniform`, one trial at a time), first alone, then beside each of the loads
below. They are alone for as long right before each load, so that what else the machine does weighs on both. The loads are
programs of their own, with an address of their own. The table has the time of an ask and a tell together, in ms, and its ratio to the quiet figure before it. The last row is nginx: two requests for a
small file, beside as many connections as `probes` has that ask for it without a pause.

usage: tests/load/fair.py BANDITD [--seconds N] [CASE...]"""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent)]

import server as servers  # noqa: E402

LIGHT, CLIENTS = 20, 2
LOAD = "127.0.0.2"  # where the loads come from


def uniform(name, **fields):
    return {
        "id": name,
        "metric": {"name": "y", "goal": "maximize"},
        "domain": {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]},
        "algorithm": {"name": "uniform"},
        **fields,
    }


def post(path, body):
    body = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


# ---- the light studies ---------------------------------------------------------------------------------------


def ask_and_tell(client, number):
    study = f"light{number % LIGHT}"
    trials = client.ask(study)["trials"]
    if trials:
        client.tell(study, [{"trial": trials[0]["id"], "value": 1.0}])


def measure(connect, use, seconds):
    """-> the seconds that each use(connect(), number) took, sorted"""
    times, end = [], time.monotonic() + seconds

    def work(number):
        client = connect()
        while time.monotonic() < end:
            start = time.monotonic()
            use(client, number)
            times.append(time.monotonic() - start)
            number += CLIENTS

    workers = [threading.Thread(target=work, args=(i,)) for i in range(CLIENTS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(times)


# ---- the loads -----------------------------------------------------------------------------------------------


class Answer:
    """Counts the bytes of an answer, and keeps none: what the program does itself is not what is measured."""

    def __init__(self, head):
        end = head.index(b"\r\n\r\n") + 4
        lengths = [line for line in head[:end].split(b"\r\n") if line.lower().startswith(b"content-length:")]
        self.is_refused = head.startswith(b"HTTP/1.1 429")
        self.left = end + int(lengths[0].split(b":")[1]) if lengths else end


def hammer(host, port, requests, connections):
    """Keeps one request outstanding on each connection, for ever."""
    os.nice(19)
    selector, buffer = selectors.DefaultSelector(), bytearray(1 << 20)
    for number in range(connections):
        connection = socket.create_connection((host, port), source_address=(LOAD, 0))
        connection.sendall(requests[number % len(requests)])
        selector.register(connection, selectors.EVENT_READ, [number, None])
    while True:
        for key, _ in selector.select():
            number, answer = key.data
            n = key.fileobj.recv_into(buffer)
            if n and not answer:  # its head comes in one piece
                answer = key.data[1] = Answer(bytes(buffer[: min(n, 4096)]))
            if n:
                answer.left -= n
            if n and answer.left > 0:
                continue
            if not n or answer.is_refused:
                time.sleep(0.001)  # a client that is refused does not hurry
            key.data[1] = None
            if n:
                key.fileobj.sendall(requests[number % len(requests)])
            else:
                selector.unregister(key.fileobj)


def with_results(client, name, trials):
    client.create(uniform(name))
    for _ in range(trials // 1000):
        asked = client.ask(name, 1000)["trials"]
        client.tell(name, [{"trial": trial["id"], "value": trial["parameters"]["x"]} for trial in asked])
    return name


PROBES = 3800


def probes(client):
    return [get("/readyz")], PROBES


def series(client):
    return [get(f"/v1/studies/{with_results(client, 'series', 50000)}/series")], 32


def filtered(client):
    return [get(f"/v1/studies/{with_results(client, 'filtered', 50000)}/trials?worker=nobody")], 32


def predictions(client):
    study = with_results(client, "predicted", 1000)
    points = [{"x": i / 10000} for i in range(10000)]
    return [post(f"/v1/studies/{study}/predict", {"parameters": points})], 100


def pages(client):
    wide = [[(i * 31 + j) % 97 / 97 for j in range(10000)] for i in range(100)]
    domain = {"type": "candidates", "scaling": "none", "dimension": 10000}
    client.create(uniform("wide", domain=domain, feedback="async", min_in_flight=100))
    body = json.dumps({"points": wide}).encode()
    answer = client.put("/v1/studies/wide/candidates", body, content_type="application/json")
    assert answer.status == 200, answer
    asked = 0
    while asked < 100:
        asked += len(client.ask("wide", 100, fresh=True)["trials"])
    return [get("/v1/studies/wide/trials?limit=1000"), get("/v1/studies/wide/candidates?limit=1000")], 16


def waiting(client):
    """Asks of workers that hold a trial each, on two studies, and wait for another one."""
    domain = {"type": "candidates", "points": [[0], [1], [2], [3]]}
    names = [f"w{i}" for i in range(500)]
    for study in ("waiting1", "waiting2"):
        client.create(uniform(study, domain=domain, feedback="async", horizon=500))
        for name in names:
            client.ask(study, worker=name, fresh=True, lease_seconds=3600)
    asks = [{"worker": name, "fresh": True, "wait_seconds": 300} for name in names]
    return [post(f"/v1/studies/{study}/ask", ask) for ask in asks for study in ("waiting1", "waiting2")], 3800


def overviews(client):
    """Metrics and lists of nearly 10 000 studies, the default's most; they look at every one."""
    for i in range(9900):
        client.create(uniform(f"one-of-many-{i}"))
    return [get("/metrics"), get("/v1/studies?label=a:b&limit=1"), get("/v1/studies?limit=1000")], 6


LEASE_SECONDS = 30


def leases(client):
    """Two times 50 000 leases that end while it is measured."""
    for name in ("leases1", "leases2"):
        client.create(uniform(name))
        for _ in range(50):
            client.ask(name, 1000, lease_seconds=LEASE_SECONDS)
    return [get("/healthz")], 1


CASES = [probes, series, filtered, predictions, pages, waiting, leases, overviews]


def show(name, quiet, beside):
    (q50, q99), (p50, p99) = ([1e3 * times[int(len(times) * q)] for q in (0.5, 0.99)] for times in (quiet, beside))
    print(f"{name:12s} {q50:8.1f} {q99:8.1f}   {p50:8.1f} {p99:8.1f} {1e3 * beside[-1]:8.1f}   {p50 / q50:6.1f} {p99 / q99:6.1f}", flush=True)


def compare(name, measured, host, port, requests, connections):
    """A row: measured() alone, and beside the load."""
    quiet = measured()
    load = multiprocessing.Process(target=hammer, args=(host, port, requests, connections), daemon=True)
    load.start()
    try:
        time.sleep(2)
        show(name, quiet, measured())
    finally:
        load.terminate()
        load.join()


# ---- nginx ---------------------------------------------------------------------------------------------------

NGINX = """
daemon off;
worker_processes 2;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 4096; }}
http {{ access_log off; keepalive_requests 1000000000; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""


def nginx(seconds):
    if not shutil.which("nginx"):
        print("nginx        skipped: it is not installed (Debian's nginx-light)")
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # its workers are another user
        (folder / "file").write_text("ready\n")
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "errors")])

        def fetch_twice(client, _):
            for _ in range(2):
                client.request("GET", "/file")
                assert client.getresponse().read() == b"ready\n"

        def measured():
            return measure(lambda: http.client.HTTPConnection("127.0.0.1", port), fetch_twice, seconds)

        try:
            time.sleep(1)
            compare("nginx", measured, "127.0.0.1", port, [get("/file")], PROBES)
        finally:
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("banditd")
    names = [case.__name__ for case in CASES] + ["nginx"]
    parser.add_argument("cases", nargs="*", metavar="CASE", help=" ".join(names))
    parser.add_argument("--seconds", type=float, default=15)
    options = parser.parse_intermixed_args()
    wanted = options.cases or names
    global LEASE_SECONDS
    LEASE_SECONDS = options.seconds + 5  # they end while it is measured beside them
    servers.BINARY = options.banditd
    with servers.Server("--threads", "2") as server:
        client = server.client()

        def measured(seconds=options.seconds):
            return measure(server.client, ask_and_tell, seconds)

        for i in range(LIGHT):
            client.create(uniform(f"light{i}"))
        measured(2)
        print(f"{'':12s} {'alone':>17s}   {'beside it':>26s}   {'ratio':>13s}")
        print(f"{'':12s} {'p50':>8s} {'p99':>8s}   {'p50':>8s} {'p99':>8s} {'max':>8s}   {'p50':>6s} {'p99':>6s}")
        for case in CASES:
            if case.__name__ in wanted:
                requests, connections = case(client)
                time.sleep(1)
                compare(case.__name__, measured, server.host, server.port, requests, connections)
    if "nginx" in wanted:
        nginx(options.seconds)


if __name__ == "__main__":
    main()
