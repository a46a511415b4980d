#!/usr/bin/env python3
"""A server under load for a long time: tests/soak.py BANDITD MINUTES

Workers ask and tell in several studies, pause, and vanish in the middle of requests; studies are created, filled
and deleted all the while. Every second the server's memory, open files and write-ahead log are looked at. Printed at
the end, with the bound of each: the slope of memory over the second half, files at the end against those at the
start, the largest log, and the latencies of asks and tells in the first and in the last third. The exit
status says whether all of them hold."""

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

WORKERS, STUDIES, TRIALS_A_STUDY = 6, 4, 400
MEMORY_SLOPE = 1.0  # MiB a minute
FILES_MORE = 8
LOG_LARGEST = 64.0  # MiB
LATENCY_GROWTH, LATENCY_FLOOR = 3.0, 0.05  # the last third's 99th percentile against the first's; seconds

_stop = threading.Event()
_latencies = {"ask": [], "tell": []}  # (when, seconds)
_refusals = {}
_lock = threading.Lock()
_broken = []


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


def look(process, db):
    """-> (MiB resident, open files, MiB of the write-ahead log)"""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    wal = pathlib.Path(str(db) + "-wal")
    size = wal.stat().st_size if wal.exists() else 0
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024, len(os.listdir(f"/proc/{process.pid}/fd")), size / 2**20


def slope(points):
    """Of the least-squares line, in units a minute; points are (seconds, value)."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    return 60 * sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))] if values else float("nan")


def judge(looks, begun, ended):
    """Prints each figure beside its bound. -> do all hold?"""
    second_half = [(when, memory) for when, memory, _, _ in looks if when > (begun + ended) / 2]
    files = [look[2] for look in looks]
    settled = files[min(len(files) - 1, 10)]
    rows = [
        ("memory, MiB a minute", slope(second_half), MEMORY_SLOPE),
        ("files at the end beyond those at the start", files[-1] - settled, FILES_MORE),
        ("largest write-ahead log, MiB", max(look[3] for look in looks), LOG_LARGEST),
    ]
    third = (ended - begun) / 3
    for what, taken in _latencies.items():
        first = percentile([seconds for when, seconds in taken if when < begun + third], 0.99)
        last = percentile([seconds for when, seconds in taken if when > ended - third], 0.99)
        median = percentile([seconds for _, seconds in taken], 0.5)
        print(f"{what}: {len(taken)} in all, median {1e3 * median:.1f} ms, 99 % {1e3 * first:.1f} -> {1e3 * last:.1f} ms")
        rows.append((f"{what}: 99 %, s", last, max(LATENCY_FLOOR, LATENCY_GROWTH * first)))
    rows.append(("answers of 500 and more, connections that broke", len(_broken), 0))
    for name, value, bound in rows:
        print(f"{'ok    ' if value <= bound else 'NOT OK'}  {name}: {value:.3f} (bound {bound:.3f})")
    print(f"memory from {looks[0][1]:.1f} to {looks[-1][1]:.1f} MiB; refusals by status: {_refusals}")
    print("\n".join(_broken[:10]))
    return all(value <= bound for _, value, bound in rows)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    minutes = float(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "soak.db"
        command = [sys.argv[1], "serve", "--listen", "127.0.0.1:0", "--db", db, "--log-level", "error"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        threads = [threading.Thread(target=renew_studies, args=(port,))]
        threads += [threading.Thread(target=Worker(port, number).run) for number in range(WORKERS)]
        for thread in threads:
            thread.start()
        begun, looks = time.monotonic(), []
        while time.monotonic() < begun + 60 * minutes and process.poll() is None:
            looks.append((time.monotonic(), *look(process, db)))
            time.sleep(1)
        ended = time.monotonic()
        _stop.set()
        for thread in threads:
            thread.join()
        process.send_signal(signal.SIGTERM)
        held = judge(looks, begun, ended)
        sys.exit(0 if process.wait(60) == 0 and held else 1)


if __name__ == "__main__":
    main()
