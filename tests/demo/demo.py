#!/usr/bin/env python3
"""Tunes a matrix product on this machine: demo.py BANDITD [--trials N]

Starts a server on a free port and three worker processes. A candidate is a way to block the product in matmul.c: loop
order, block sizes, packed or not. A worker asks for a candidate, runs it, and reports its speed, or that it is
infeasible (packed blocks may not fit into the scratch buffer). Cleans up at the end."""

import argparse
import itertools
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
STUDY = "matrix-product"
ORDERS = ("ijk", "ikj", "jik", "jki", "kij", "kji")
SIZES = (4, 8, 16, 32, 64, 128, 256)
WORKERS = 3
DEFAULT = ("ijk", 512, 512, 512, 0)  # three plain loops

CANDIDATES = list(itertools.product(ORDERS, SIZES, SIZES, SIZES, (0, 1)))


def features(candidate):
    """Loop order (one-hot), logarithms of block sizes, packed or not."""
    order, *blocks, packed = candidate
    return [float(order == o) for o in ORDERS] + [math.log2(size) for size in blocks] + [float(packed)]


def describe(candidate):
    order, bi, bj, bk, packed = candidate
    if candidate == DEFAULT:
        return "three plain loops, ijk"
    return f"{order}, blocks {bi} x {bj} x {bk}" + (", packed" if packed else "")


def call(url, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def run_product(program, candidate):
    """-> (GFLOP/s, None) or (None, the reason for the failure)"""
    command = [program, *map(str, candidate)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return float(done.stdout), None


def work(url, name, program, default_speed):
    """One worker, in its own process."""
    while True:
        asked = call(url, "POST", f"/v1/studies/{STUDY}/ask", {"worker": name, "wait_seconds": 30})
        for trial in asked["trials"]:
            speed, why = run_product(program, CANDIDATES[trial["candidate"]])
            result = {"trial": trial["id"]}
            if why:
                result.update(state="infeasible", reason=why)
            else:
                result["value"] = math.log10(speed / default_speed)
            call(url, "POST", f"/v1/studies/{STUDY}/tell", {"results": [result]})
        if asked["reason"] in ("finished", "horizon_reached"):
            return


def definition(trials):
    return {
        "id": STUDY,
        "display_name": "Matrix product",
        "metric": {"name": "log10_speedup", "goal": "maximize"},
        "domain": {
            "type": "candidates",
            "points": [features(candidate) for candidate in CANDIDATES],
            "names": [*ORDERS, "log2_bi", "log2_bj", "log2_bk", "packed"],
        },
        "algorithm": {
            "name": "bbkb",
            "kernel": {"type": "matern", "nu": 2.5, "lengthscale": 4},
            "lambda": 0.1,
            "noise_std": 0.1,
            "norm_bound": 0.3,
        },
        "horizon": trials,
    }


def stop(process, seconds=20):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout:
        process.stdout.close()


def show(trial, default_speed, best):
    """Prints a finished trial. -> the best speed so far"""
    where = f"  trial {trial['id']:3}  {trial['worker']}  {describe(CANDIDATES[trial['candidate']]):38}"
    if trial["state"] == "infeasible":
        print(f"{where}  infeasible: {trial['reason']}", flush=True)
        return best
    speed = default_speed * 10 ** trial["value"]
    print(f"{where} {speed:7.2f} GFLOP/s" + ("  best so far" if speed > best else ""), flush=True)
    return max(best, speed)


def follow(url, trials, default_speed, workers):
    """Shows each trial when its result is reported, until all have results."""
    shown, best = set(), 0.0
    while len(shown) < trials:
        if any(worker.poll() not in (None, 0) for worker in workers):
            raise SystemExit("a worker has failed")
        listed = call(url, "GET", f"/v1/studies/{STUDY}/trials?limit=1000")["items"]
        for trial in sorted(listed, key=lambda trial: trial.get("told_at", "")):
            if trial["state"] in ("completed", "infeasible") and trial["id"] not in shown:
                shown.add(trial["id"])
                best = show(trial, default_speed, best)
        time.sleep(0.2)


def summarize(url, program, seconds):
    study = call(url, "GET", f"/v1/studies/{STUDY}")
    best = CANDIDATES[study["best"]["candidate"]]
    # Measure both again, one after the other: the best of many noisy values is too optimistic.
    default_again, best_again = (
        sorted(run_product(program, candidate)[0] for _ in range(5))[2] for candidate in (DEFAULT, best)
    )
    print(
        f"\n{study['trials_completed']} completed and {study['trials_infeasible']} infeasible trials of "
        f"{len(CANDIDATES)} candidates in {seconds:.0f} s, {study['batch']} batches"
        f"\n  default     {describe(DEFAULT):38} {default_again:7.2f} GFLOP/s"
        f"\n  best found  {describe(best):38} {best_again:7.2f} GFLOP/s, {best_again / default_again:.1f} times as fast"
    )


def demonstrate(banditd, trials, folder, processes):
    program = str(folder / "matmul")
    compiler = os.environ.get("CC", "gcc")
    command = [compiler, "-O3", "-march=native", str(HERE / "matmul.c"), "-o", program, "-lm"]
    subprocess.run(command, check=True)
    default_speed = sorted(run_product(program, DEFAULT)[0] for _ in range(3))[1]
    print(f"{describe(DEFAULT)}: {default_speed:.2f} GFLOP/s on this machine")

    # Each process gets its own session, so that Ctrl-C reaches only this one, which then stops the others in order.
    server = subprocess.Popen(
        [banditd, "serve", "--listen", "127.0.0.1:0", "--db", folder / "demo.db", "--log-level", "warn"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    processes.append(server)
    url = server.stdout.readline().split()[-1:]
    if not url:
        raise SystemExit("banditd did not start")
    (url,) = url
    print(f"{WORKERS} workers ask {url} for {trials} trials of {len(CANDIDATES)} candidates")

    call(url, "POST", "/v1/studies", definition(trials))
    begun = time.monotonic()
    workers = []
    for i in range(WORKERS):
        command = [sys.executable, __file__, "--work", url, f"w{i + 1}", program, repr(default_speed)]
        workers.append(subprocess.Popen(command, start_new_session=True))
        processes.insert(0, workers[-1])  # stopped before the server
    follow(url, trials, default_speed, workers)
    for worker in workers:
        worker.wait(60)
    summarize(url, program, time.monotonic() - begun)


def main():
    if sys.argv[1:2] == ["--work"]:
        url, name, program, default_speed = sys.argv[2:]
        return work(url, name, program, float(default_speed))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("banditd")
    parser.add_argument("--trials", type=int, default=100)
    options = parser.parse_args()
    # Stop all processes, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    processes = []
    with tempfile.TemporaryDirectory(prefix="banditd-demo-") as folder:
        try:
            demonstrate(options.banditd, options.trials, pathlib.Path(folder), processes)
        finally:
            for process in processes:
                stop(process)
    return 0


try:
    sys.exit(main())
except KeyboardInterrupt:
    print("\nstopped", file=sys.stderr)
    sys.exit(130)
