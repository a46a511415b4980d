#!/usr/bin/env python3
"""A server under load for a long time: tests/soak.py BANDITD MINUTES

Workers ask and tell in several studies, pause, and vanish in the middle of requests; studies are created, filled
and deleted all the while. Prints TAP, each figure with its bound: the slope of memory over the second half, the
largest write-ahead log, and the latencies of asks and tells in the first and in the last third.

Open files at full load say little from one moment to the next: sockets of clients that vanished stay until the
server has seen it, and the store opens a connection for every read that finds the others busy, of which it keeps four.
So the load stops eight times, each time until nobody is connected any more, and then every file is looked at by
its kind: as many sockets as before the first request, as many others (pipes, event counters, logs), and of the
database no more than then and what the kept readers have. A single descriptor that is lost in the whole run
shows. Beside that, the line through the number of files at full load must not rise."""

import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import tap  # noqa: E402

WORKERS, STUDIES, TRIALS_A_STUDY = 6, 4, 400
MEMORY_SLOPE = 1.0  # MiB a minute
FILES_RISE = 4.0  # of the line through the second half, end against begin
QUIET_MOMENTS, QUIET_SECONDS = 8, 60  # how often, and how long the server may take to see that all have gone
KEPT_READERS = 2 * 4  # files: of the database and of its log, by each that server/store/sqlite/sqlite.h keeps
LOG_LARGEST = 96.0  # MiB
LATENCY_GROWTH, LATENCY_FLOOR = 3.0, 0.05  # the last third's 99th percentile against the first's; seconds

_stop = threading.Event()
_go_on = threading.Event()  # cleared while all is to be quiet
_latencies = {"ask": [], "tell": []}  # (when, seconds)
_refusals = {}
_lock = threading.Lock()
_broken = []
_at_rest = []  # the threads that are


class Worker:
    def __init__(self, port, number):
        self.port, self.random, self.connection = port, random.Random(number), None

    def call(self, method, path, body=None):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        with _lock:
            if answer.status >= 400:
                _refusals[answer.status] = _refusals.get(answer.status, 0) + 1
            if answer.status >= 500:
                _broken.append(f"{method} {path}: {answer.status} {text[:200]!r}")
        return answer.status, json.loads(text) if text else None

    def rest(self):
        """While all is to be quiet: without a connection."""
        if _go_on.is_set():
            return
        if self.connection:
            self.connection.close()
            self.connection = None
        _at_rest.append(self)
        _go_on.wait()
        _at_rest.remove(self)

    def timed(self, what, *call):
        begun = time.monotonic()
        result = self.call(*call)
        with _lock:
            _latencies[what].append((begun, time.monotonic() - begun))
        return result

    def vanish(self, study):
        """Sends a part of a request, or one whose answer nobody reads."""
        body = json.dumps({"worker": "gone", "wait_seconds": 5}).encode()
        head = f"POST /v1/studies/{study}/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        text = head.encode() + b"Content-Type: application/json\r\n\r\n" + body
        with socket.create_connection(("127.0.0.1", self.port)) as gone:
            gone.sendall(text[: self.random.randrange(1, len(text) + 1)])

    def work(self, study):
        status, asked = self.timed("ask", "POST", f"/v1/studies/{study}/ask", {"worker": "w", "count": 2})
        if status != 200:
            time.sleep(0.02)
            return
        results = [{"trial": trial["id"], "value": self.random.random()} for trial in asked["trials"]]
        if results and self.random.random() < 0.97:
            self.timed("tell", "POST", f"/v1/studies/{study}/tell", {"results": results})

    def run(self):
        while not _stop.is_set():
            self.rest()
            study = f"soak-{self.random.randrange(STUDIES)}"
            try:
                chance = self.random.random()
                if chance < 0.02:
                    self.vanish(study)
                elif chance < 0.03:
                    time.sleep(self.random.random())
                elif chance < 0.05:
                    self.call("GET", f"/v1/studies/{study}/trials?limit=50")
                else:
                    self.work(study)
            except (OSError, http.client.HTTPException) as problem:
                self.connection = None
                if not _stop.is_set():
                    with _lock:
                        _broken.append(f"a connection broke: {problem!r}")
            except Exception as problem:  # a thread that ends unseen would be less load
                with _lock:
                    _broken.append(repr(problem))
                return


def definition(name, number):
    points = [[x / 15, y / 15] for x in range(16) for y in range(16)]
    kernel = {"type": "gaussian", "lengthscale": 0.3}
    return {
        "id": name,
        "metric": {"name": "value", "goal": "maximize"},
        "domain": {"type": "candidates", "scaling": "none", "points": points},
        "algorithm": [
            {"name": "bbkb", "kernel": kernel, "lambda": 1, "noise_std": 0.1},
            {"name": "gp_bucb", "kernel": kernel, "lambda": 0.01, "noise_std": 0.1},
            {"name": "async_ts", "kernel": kernel, "lambda": 0.01, "noise_std": 0.1},
            {"name": "uniform"},
        ][number % 4],
        "feedback": "async",
        "lease_seconds": 5,
        "seed": number,
    }


def renew_studies(port):
    """Keeps the studies there: each is deleted when it has had its trials, and created anew."""
    manager = Worker(port, 10**6)
    while not _stop.is_set():
        manager.rest()
        for number in range(STUDIES):
            name = f"soak-{number}"
            status, study = manager.call("GET", f"/v1/studies/{name}")
            if status == 200 and study["trials_completed"] < TRIALS_A_STUDY:
                continue
            if status == 200:
                manager.call("DELETE", f"/v1/studies/{name}")
            status, said = manager.call("POST", "/v1/studies", definition(name, number))
            if status != 201:
                _broken.append(f"no study: {said}")
        _stop.wait(0.5)


def files(process, db):
    """-> how many of each kind it has open"""
    kinds = {"sockets": 0, "database": 0, "others": 0}
    folder = f"/proc/{process.pid}/fd"
    for number in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{number}")
        except FileNotFoundError:
            continue  # closed in between
        kinds["sockets" if target.startswith("socket:") else "database" if target.startswith(str(db)) else "others"] += 1
    return kinds


def look(process, db):
    """-> (MiB resident, open files, MiB of the write-ahead log)"""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    wal = pathlib.Path(str(db) + "-wal")
    size = wal.stat().st_size if wal.exists() else 0
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024, sum(files(process, db).values()), size / 2**20


def quiet_moment(process, db, fresh, threads):
    """Stops the load until the server has seen all clients go. -> the files it then has, beyond those of the fresh one"""
    _go_on.clear()
    last_moment = time.monotonic() + QUIET_SECONDS
    while True:
        still = len(_at_rest) == sum(thread.is_alive() for thread in threads)
        more = {kind: n - fresh[kind] for kind, n in files(process, db).items()}
        if still and (more["sockets"] <= 0 and more["others"] <= 0 and more["database"] <= KEPT_READERS):
            break
        if time.monotonic() > last_moment or process.poll() is not None:
            break
        time.sleep(0.2)
    _go_on.set()
    return more


def slope(points):
    """Of the least-squares line, in units a minute; points are (seconds, value)."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    return 60 * sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))] if values else float("nan")


def judge(emitter, looks, quiet, begun, ended):
    """Each figure and its bound."""
    second_half = [look for look in looks if look[0] > (begun + ended) / 2]
    minutes = (ended - begun) / 2 / 60
    rise = slope([(when, count) for when, _, count, _ in second_half]) * minutes
    rows = [
        ("memory, MiB a minute", slope([(when, memory) for when, memory, _, _ in second_half]), MEMORY_SLOPE),
        ("sockets at rest beyond a fresh server's", max(more["sockets"] for more in quiet), 0),
        ("other files at rest beyond a fresh server's", max(more["others"] for more in quiet), 0),
        ("files of the database at rest beyond a fresh server's", max(more["database"] for more in quiet), KEPT_READERS),
        ("rise of open files at full load over the second half", rise, FILES_RISE),
        ("largest write-ahead log, MiB", max(look[3] for look in looks), LOG_LARGEST),
    ]
    third = (ended - begun) / 3
    print(f"# memory from {looks[0][1]:.1f} to {looks[-1][1]:.1f} MiB; refusals by status: {_refusals}")
    counts = [count for _, _, count, _ in looks]
    print(f"# files at full load from {min(counts)} to {max(counts)}; at rest beyond a fresh server's: {quiet}")
    for what, taken in _latencies.items():
        first = percentile([seconds for when, seconds in taken if when < begun + third], 0.99)
        last = percentile([seconds for when, seconds in taken if when > ended - third], 0.99)
        median = percentile([seconds for _, seconds in taken], 0.5)
        print(f"# {what}: {len(taken)} in all, median {1e3 * median:.1f} ms, 99 % {1e3 * first:.1f} -> {1e3 * last:.1f} ms")
        rows.append((f"{what}: 99 %, s", last, max(LATENCY_FLOOR, LATENCY_GROWTH * first)))
    for name, value, bound in rows:
        emitter.check(value <= bound, f"{name}: {value:.3f} (bound {bound:.3f})")
    emitter.check(not _broken, "no answer of 500 or more, and no connection broke", _broken[:10])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    seconds = 60 * float(sys.argv[2])
    emitter = tap.Emitter()
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "soak.db"
        command = [sys.argv[1], "serve", "--listen", "127.0.0.1:0", "--db", db, "--log-level", "error"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        fresh = files(process, db)
        threads = [threading.Thread(target=renew_studies, args=(port,))]
        threads += [threading.Thread(target=Worker(port, number).run) for number in range(WORKERS)]
        threading.excepthook = lambda failed: _broken.append(repr(failed.exc_value))
        _go_on.set()
        for thread in threads:
            thread.start()
        begun, looks, quiet = time.monotonic(), [], []
        while len(quiet) < QUIET_MOMENTS and process.poll() is None:
            looks.append((time.monotonic(), *look(process, db)))
            if time.monotonic() > begun + (len(quiet) + 1) * seconds / QUIET_MOMENTS:
                quiet.append(quiet_moment(process, db, fresh, threads))
            time.sleep(1)
        ended = time.monotonic()
        _stop.set()
        for thread in threads:
            thread.join()
        process.send_signal(signal.SIGTERM)
        emitter.check(process.wait(60) == 0 and len(quiet) == QUIET_MOMENTS, "the server lives to the end, and stops cleanly")
        if len(quiet) == QUIET_MOMENTS:
            judge(emitter, looks, quiet, begun, ended)
    emitter.finish()


if __name__ == "__main__":
    main()
