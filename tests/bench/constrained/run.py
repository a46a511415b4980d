#!/usr/bin/env python3
"""How well constraints of a space are kept, and what is found within them: run.py BANDITD [--seeds N] [--trials N]
[--samplers banditd,rejection,botorch] [--problems WORD,...] [--results FILE]

Each run is a line of the file of results, and a run that is in it is not repeated. `botorch` needs an interpreter that has
it (tests/bench/quality/environments makes one) and may be run separately, into the same file. Prints the median of the best
allowed value after 25, 50 and 100 trials with the range over the seeds, the median time of an ask, and how many
of the suggested points break a rule. The points of rejection always keep the rules, so its time is what matters. For
banditd, which is another process, this is the time that passes, and the processor's time of the server for a trial (in all, so
also for tells and for what is planned ahead) is in brackets; for the others it is the time of the processor."""

import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "clients" / "python" / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "integration"), str(pathlib.Path(__file__).parent)]
from problems import PROBLEMS  # noqa: E402

SHOWN = (25, 50, 100)


class Ours:
    """A study with everything by default."""

    client = server = None  # set once there is a server

    def __init__(self, problem, seed):
        domain = {"type": "space", "parameters": problem.parameters, "constraints": problem.constraints()}
        self.names = problem.names()
        self.study = self.client.create_study({"metric": {"name": "value", "goal": "minimize"}, "domain": domain, "seed": seed})

    def ask(self):
        (self.trial,) = self.study.ask(wait_seconds=60)
        return tuple(float(self.trial.parameters[name]) for name in self.names)

    def tell(self, x, value):
        self.study.tell(self.trial, value)


    def server_seconds(self):
        """The processor's time that the server has used."""
        fields = pathlib.Path(f"/proc/{self.server.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Rejection:
    def __init__(self, problem, seed):
        import chance
        import numpy

        self.points = chance.allowed_points(problem, numpy.random.default_rng(seed))

    def ask(self):
        return next(self.points)

    def tell(self, x, value):
        pass


def sampler_of(name, problem, seed):
    if name == "botorch":
        from with_botorch import Sampler

        return Sampler(problem, seed)
    return {"banditd": Ours, "rejection": Rejection}[name](problem, seed)


def play(name, problem, seed, trials):
    sampler, values, asks, broken = sampler_of(name, problem, seed), [], [], 0
    before = sampler.server_seconds() if name == "banditd" else 0
    clock = time.perf_counter if name == "banditd" else time.process_time
    for _ in range(trials):
        began = clock()
        x = sampler.ask()
        asks.append(1000 * (clock() - began))
        if x is None:
            break
        keeps, value = problem.keeps(x), problem.value(x)
        broken += not keeps
        values.append(value if keeps else None)
        sampler.tell(x, value)
    run = {"sampler": name, "problem": problem.name, "seed": seed, "values": values, "broken": broken, "ask_ms": asks}
    if name == "banditd":
        run["server_ms"] = 1000 * (sampler.server_seconds() - before) / len(values)
    return run


def best_after(run, n):
    allowed = [value for value in run["values"][:n] if value is not None]
    return min(allowed) if allowed else float("nan")


def report(runs):
    trials = max(len(run["values"]) for run in runs)
    shown = [n for n in SHOWN if n <= trials]
    print("| problem (best known) | sampler | seeds | " + " | ".join(map(str, shown)) + " | ms per ask | broken |\n|---" + "|---" * (len(shown) + 4) + "|")
    for problem in PROBLEMS:
        best = "" if problem.best is None else f" ({problem.best:g})"
        for name in ("banditd", "botorch", "rejection"):
            own = [run for run in runs if run["sampler"] == name and run["problem"] == problem.name]
            if not own:
                continue
            cells = []
            for n in shown:
                reached = sorted(best_after(run, n) for run in own if len(run["values"]) >= n)
                spread = f" ({reached[0]:.6g} … {reached[-1]:.6g})" if len(reached) > 1 else ""
                cells.append(f"{statistics.median(reached):.6g}{spread}" if reached else "–")
            asked = statistics.median(ms for run in own for ms in run["ask_ms"])
            used = [run["server_ms"] for run in own if "server_ms" in run]
            cells += [f"{asked:.1f}" + (f" ({statistics.median(used):.1f})" if used else ""), str(sum(run["broken"] for run in own))]
            print(f"| {problem.name}{best} | {name} | {len(own)} | " + " | ".join(cells) + " |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("banditd")
    arguments.add_argument("--seeds", type=int, default=10)
    arguments.add_argument("--trials", type=int, default=100)
    arguments.add_argument("--samplers", default="banditd,rejection")
    arguments.add_argument("--problems", default="")
    arguments.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "constrained.jsonl")
    given = arguments.parse_args()
    runs = [json.loads(line) for line in open(given.results)] if given.results.exists() else []
    done = {(run["sampler"], run["problem"], run["seed"]) for run in runs}
    names, words = given.samplers.split(","), [word for word in given.problems.split(",") if word]
    problems = [problem for problem in PROBLEMS if not words or any(word in problem.name for word in words)]
    running = None
    if "banditd" in names:
        import server as servers

        import banditd

        servers.BINARY = str(pathlib.Path(given.banditd).resolve())
        running = servers.Server()
        running.start()
        Ours.server = running
        Ours.client = banditd.Client(f"http://127.0.0.1:{running.port}")
    if "botorch" in names:
        print(f"BoTorch {importlib.metadata.version('botorch')}")
    try:
        with open(given.results, "a") as file:
            for seed in range(given.seeds):
                for problem in problems:
                    for name in names:
                        if (name, problem.name, seed) in done:
                            continue
                        runs.append(play(name, problem, seed, given.trials))
                        file.write(json.dumps(runs[-1]) + "\n")
                        file.flush()
    finally:
        if running:
            running.stop()
    report(runs)


if __name__ == "__main__":
    main()
