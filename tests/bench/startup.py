#!/usr/bin/env python3
"""How long a server takes from its start to its first answers, with a study of many results:
tests/bench/startup.py BANDITD [RESULTS]

Works a study off (BBKB on 1600 candidates, a tenth of the results imported, some trials failed and some pending),
stops the server and starts it again: after a clean stop, and after kill -9. Prints the seconds to the ready line, to the
study's first read, and to its first ask, which loads the engine, and then the server's memory. Under
tests/store/with_postgres the study is in PostgreSQL."""

import os
import pathlib
import random
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "integration")]
import databases  # noqa: E402
import server as servers  # noqa: E402
from server import Server  # noqa: E402
from support import definition, grid, target  # noqa: E402

SIDE = 40


def fill(client, results):
    points = grid(SIDE)
    rng = random.Random(1)
    body = definition(id="study", points=points, horizon=2 * results, lease_seconds=86400)
    body["algorithm"]["ratio_bound"] = 16
    client.create(body)
    done = 0
    while done < results:
        if done % 10 == 0 and done < results // 10:
            rows = [{"candidate": i % SIDE**2, "value": target(points[i % SIDE**2])} for i in range(10000)]
            answer = client.post("/v1/studies/study/observations", {"observations": rows})
            assert answer.status == 200, answer
            done += len(rows)
            continue
        trials = client.ask("study", 1000, wait_seconds=60)["trials"]
        told = [
            {"trial": t["id"], "state": "failed"}
            if t["candidate"] % 100 == 0 and t["id"] % 5 == 0
            else {"trial": t["id"], "value": target(t["point"]) + rng.gauss(0, 0.1)}
            for t in trials
        ]
        client.tell("study", told)
        done += len(told)
    client.ask("study", 50, worker="w", wait_seconds=60)


def memory(server, field):
    """MB: VmRSS is what the server has now, VmHWM the most that it has had."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(rf"{field}:\s*(\d+) kB", status)[1]) / 1024


def measured(server):
    begun = time.monotonic()
    server.start()
    ready = time.monotonic() - begun
    client = server.client(timeout=300)
    study = client.study("study")
    read = time.monotonic() - begun
    client.ask("study", 1, worker="w")
    asked = time.monotonic() - begun
    held = memory(server, "VmRSS")
    client.read("study", "model")
    shown = time.monotonic() - begun
    line = f"{ready:7.2f} {read:12.2f} {asked:11.2f} {shown:13.2f} {held:9.0f} {memory(server, 'VmHWM'):6.0f}"
    return study, line


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    servers.BINARY = str(pathlib.Path(sys.argv[1]).resolve())
    results = int(sys.argv[2]) if len(sys.argv) == 3 else 1000000
    with Server() as server:
        begun = time.monotonic()
        fill(server.client(timeout=300), results)
        filled = time.monotonic() - begun
        lines = []
        server.stop()
        study, line = measured(server)
        lines.append(("after a clean stop", line))
        server.kill()
        lines.append(("after kill -9", measured(server)[1]))
        server.stop()
        size = databases.size(server.db)
        kind = "PostgreSQL" if databases.URI else "SQLite"
        print(
            f"{kind}: {study['observations']} results, {study['batch']} batches, {size / 2**20:.0f} MiB, "
            f"made in {filled:.0f} s; load {os.getloadavg()[0]:.0f}"
        )
        print(f"{'seconds from start to':24} ready   study read   first ask   model shown   MB then   most")
        for name, line in lines:
            print(f"{name:24}{line}")


main()
