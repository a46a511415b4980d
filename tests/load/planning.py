#!/usr/bin/env python3
"""How much do long plans slow down the planning of light studies: part of `make bench-fair`.

Two clients ask and tell on 20 light studies of 50 candidates, each of whose asks has a batch planned; first alone, then
beside each of the loads below. They are alone for as long right before each load, so that what else the machine does
weighs on both. The table has the times of asks and of tells in ms, and what the load's studies had planned.

With --against OTHER, an older program: the time that one heavy study takes alone, by both programs in turns.

usage: tests/load/planning.py BANDITD [--seconds N] [--against OTHER] [CASE...]"""

import argparse
import array
import contextlib
import math
import os
import pathlib
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent)]

import server as servers  # noqa: E402

LIGHT, CLIENTS, HEAVY, ARMS, DIMENSION = 20, 2, 4, 1_000_000, 8
GAUSSIAN = {"kernel": {"type": "gaussian", "lengthscale": 0.3}, "noise_std": 0.1}


def light(name):
    points = [[(i * 37 % 50) / 50, i / 50] for i in range(50)]
    return {
        "id": name,
        "metric": {"name": "y", "goal": "maximize"},
        "domain": {"type": "candidates", "scaling": "none", "points": points},
        "algorithm": {"name": "bkb", "lambda": 1, **GAUSSIAN},
        "feedback": "batch",
    }


def measure(server, seconds):
    """-> the seconds of each ask, and of each tell, sorted"""
    asks, tells, end = [], [], time.monotonic() + seconds

    def work(number):
        client = server.client(timeout=600)
        while time.monotonic() < end:
            study = f"light{number % LIGHT}"
            number += CLIENTS
            start = time.monotonic()
            trials = client.ask(study, wait_seconds=60)["trials"]
            asks.append(time.monotonic() - start)
            start = time.monotonic()
            client.tell(study, [{"trial": t["id"], "value": math.sin(t["id"])} for t in trials])
            tells.append(time.monotonic() - start)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(CLIENTS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(asks), sorted(tells)


# ---- heavy studies -------------------------------------------------------------------------------------------


def large(client, name):
    """A million candidates in a box."""
    definition = light(name)
    definition["domain"] = {"type": "candidates", "scaling": "none", "dimension": DIMENSION}
    definition["algorithm"] = {"name": "bbkb", **GAUSSIAN}
    client.create(definition)
    columns = [math.sqrt(2 + 3 * j) for j in range(DIMENSION)]
    rows = array.array("d", ((i * c) % 1.0 for i in range(ARMS) for c in columns))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({ARMS}, {DIMENSION}), }}".ljust(117) + "\n"
    body = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + rows.tobytes()
    answer = client.put(f"/v1/studies/{name}/candidates", body, content_type="application/octet-stream")
    assert answer.status == 200, answer
    return 200


def space(client, name):
    """A space of 8 doubles with 300 results."""
    parameters = [{"name": f"x{i}", "type": "double", "min": 0, "max": 1} for i in range(DIMENSION)]
    definition = {"id": name, "metric": {"name": "y", "goal": "maximize"}, "domain": {"type": "space", "parameters": parameters}}
    client.create(definition)
    results = []
    for i in range(300):
        point = {p["name"]: (i * math.sqrt(2 + 3 * j)) % 1.0 for j, p in enumerate(parameters)}
        results.append({"parameters": point, "value": -sum((x - 0.4) ** 2 for x in point.values())})
    answer = client.post(f"/v1/studies/{name}/observations", {"observations": results})
    assert answer.status in (200, 201), answer
    return 1000


def uncertainty(client, name):
    """15 000 candidates of which the most uncertain ones are measured first."""
    points = [[(i * math.sqrt(2 + 3 * j)) % 1.0 for j in range(DIMENSION)] for i in range(15000)]
    definition = light(name)
    definition["domain"] = {"type": "candidates", "scaling": "none", "points": points}
    definition["algorithm"] = {"name": "bbkb", "init": {"type": "uncertainty", "parallelism": 4}, **GAUSSIAN}
    client.create(definition)
    return 200


CASES = {"large": large, "space": space, "uncertainty": uncertainty}


class Worker:
    """Asks and tells on one heavy study until it is told to end."""

    def __init__(self, server, study, count):
        self.picks, self._ends = 0, False
        self._client = server.client(timeout=900)
        self._thread = threading.Thread(target=self._work, args=(study, count), daemon=True)
        self._thread.start()

    def _work(self, study, count):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)  # its own work is not what is measured
        with contextlib.suppress(OSError, AssertionError):  # the server has ended
            while not self._ends:
                trials = self._client.ask(study, count, wait_seconds=300)["trials"]
                self.picks += len(trials)
                self._client.tell(study, [{"trial": t["id"], "value": math.cos(t["id"])} for t in trials])

    def end(self):
        self._ends = True


def at(times, q):
    return 1e3 * times[int(len(times) * q)]


def show(name, asks, tells):
    row = [at(times, q) for times in (asks, tells) for q in (0.5, 0.99)]
    print(f"{name:14s} {row[0]:8.1f} {row[1]:8.1f} {1e3 * asks[-1]:8.1f}   {row[2]:8.1f} {row[3]:8.1f} {len(asks):8d}", flush=True)


def longest_step(client):
    lines = client.get("/metrics").body.decode().splitlines()
    steps = [float(line.split()[1]) for line in lines if line.startswith("banditd_computing_step_seconds_max ")]
    return f"{1e3 * steps[0]:.0f} ms" if steps else "unknown"


def beside(name, seconds):
    with servers.Server("--threads", "2", "--log-level", "warn") as server:
        client = server.client(timeout=900)
        for i in range(LIGHT):
            client.create(light(f"light{i}"))
        counts = [CASES[name](client, f"heavy{i}") for i in range(HEAVY)]
        measure(server, 2)
        show(f"alone, {name}", *measure(server, seconds))
        workers = [Worker(server, f"heavy{i}", count) for i, count in enumerate(counts)]
        time.sleep(5)
        show(f"beside {name}", *measure(server, seconds))
        print(f"{'':14s} longest step without a checkpoint: {longest_step(client)}", flush=True)
        for worker in workers:
            worker.end()
        start = time.monotonic()
        server.stop()
        print(f"{'':14s} SIGTERM to exit: {time.monotonic() - start:.1f} s", flush=True)


def rate(binary, name):
    """-> the seconds that one heavy study takes alone, for the same picks"""
    servers.BINARY = binary
    with servers.Server("--threads", "2", "--log-level", "warn") as server:
        client = server.client(timeout=900)
        count = CASES[name](client, "heavy") if name == "large" else (space(client, "heavy"), 60)[1]
        start = time.monotonic()
        for _ in range(60 if name == "large" else 6):
            trials = client.ask("heavy", count, wait_seconds=300)["trials"]
            client.tell("heavy", [{"trial": t["id"], "value": math.cos(t["id"])} for t in trials])
        wall = time.monotonic() - start
        text = client.get("/metrics").body.decode()
        cpu = next(float(x.split()[1]) for x in text.splitlines() if x.startswith("process_cpu_seconds_total "))
        return wall, cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("banditd")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=" ".join(CASES))
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--against")
    options = parser.parse_intermixed_args()
    servers.BINARY = options.banditd
    names = options.cases or list(CASES)
    if options.against:
        for name in names:
            for turn in range(3):
                for what, binary in (("this", options.banditd), ("other", options.against)):
                    wall, cpu = rate(binary, name)
                    print(f"{name}, turn {turn}, {what:5s}: {wall:7.2f} s, {cpu:7.2f} s of processors", flush=True)
        return
    print(f"{'':14s} {'asks':>8s} {'p99':>8s} {'max':>8s}   {'tells':>8s} {'p99':>8s} {'number':>8s}")
    for name in names:
        beside(name, options.seconds)


if __name__ == "__main__":
    main()
