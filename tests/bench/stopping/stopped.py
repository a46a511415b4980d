#!/usr/bin/env python3
"""What stopped trials teach: stopped.py BANDITD [--seeds N] [--results FILE]

Each evaluation is a curve of 20 steps that rises to its value, with noise of 0.01; how fast it rises depends on the
point. A study has 800 steps in all. Either every trial is completed, or the median rule stops trials, and the model learns
nothing of them or an estimate (`"stopping": {"stopped": …}`). The value is that of the function, turned so that 1 is the
best and 0 is one range worse.

Each run is a line of the file of results, and a run that is in it is not repeated. Prints the quartiles over the seeds of
the distance between 1 and the best true value of a complete trial, and the medians of the numbers of trials."""

import argparse
import json
import math
import pathlib
import random
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "integration"), str(ROOT / "clients" / "python" / "src")]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run as functions  # noqa: E402

STEPS, TOTAL, NOISE = 20, 800, 0.01
RULES = {
    "all complete": {},
    "nothing": {"stopping": {"rule": "median", "stopped": "nothing"}},
    "estimate": {"stopping": {"rule": "median", "stopped": "estimate"}},
}
FUNCTIONS = {"Branin": functions.BRANIN, "Hartmann-3": functions.HARTMANN_3, "Hartmann-6": functions.HARTMANN_6}


class Curves:
    def __init__(self, name, seed):
        self.f, self.bounds, self.optimum, self.range = FUNCTIONS[name]
        self.random = random.Random(f"{name}{seed}")

    def value(self, u):
        point = [low + (high - low) * x for x, (low, high) in zip(u, self.bounds)]
        return 1 - (self.f(point) - self.optimum) / self.range

    def steps(self, u):
        """The measurements, one after the other."""
        slowness = 3 + 4 * (0.5 + 0.5 * math.sin(3 * sum(u) + 1))
        for step in range(1, STEPS + 1):
            reached = (1 - math.exp(-step / slowness)) / (1 - math.exp(-STEPS / slowness))
            yield step, self.value(u) * reached + self.random.gauss(0, NOISE)


def search(client, name, rule, seed):
    curves, steps, best, counts = Curves(name, seed), 0, -math.inf, {"complete": 0, "stopped": 0}
    parameters = [{"name": f"x{i}", "type": "double", "min": 0, "max": 1} for i in range(len(curves.bounds))]
    study = client.create_study(
        {
            "id": "stopped",
            "seed": seed,
            "metric": {"name": "score", "goal": "maximize"},
            "domain": {"type": "space", "parameters": parameters},
            **RULES[rule],
        }
    )
    while steps < TOTAL:
        (trial,) = study.ask(wait_seconds=60)
        u = list(trial.parameters.values())
        for step, measured in curves.steps(u):
            steps += 1
            if step == STEPS:
                study.tell(trial, measured)
                counts["complete"] += 1
                best = max(best, curves.value(u))
            elif steps == TOTAL or (rule != "all complete" and study.measure(trial, step, measured)):
                study.stop(trial)
                counts["stopped"] += 1
                break
    study.delete()
    return {"distance": 1 - best, **counts}


def report(lines):
    print("| function | stopped trials teach | runs | quartiles of the distance | complete, stopped trials |\n|---|---|---|---|---|")
    for name in FUNCTIONS:
        for rule in RULES:
            mine = [line for line in lines if (line["function"], line["rule"]) == (name, rule)]
            if len(mine) < 2:
                continue
            quartiles = ", ".join(f"{q:.2g}" for q in statistics.quantiles([line["distance"] for line in mine], n=4))
            numbers = ", ".join(f"{statistics.median(line[what] for line in mine):g}" for what in ("complete", "stopped"))
            print(f"| {name} | {rule} | {len(mine)} | {quartiles} | {numbers} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("banditd")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "stopped.jsonl")
    given = parser.parse_args()
    lines = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    done = {(line["function"], line["rule"], line["seed"]) for line in lines}
    import server as servers

    import banditd

    servers.BINARY = str(pathlib.Path(given.banditd).resolve())
    with servers.Server() as server, given.results.open("a") as out:
        client = banditd.Client(f"http://127.0.0.1:{server.port}")
        for seed in range(given.seeds):
            for name in FUNCTIONS:
                for rule in RULES:
                    if (name, rule, seed) in done:
                        continue
                    lines.append({"function": name, "rule": rule, "seed": seed, **search(client, name, rule, seed)})
                    out.write(json.dumps(lines[-1]) + "\n")
                    out.flush()
    report(lines)


if __name__ == "__main__":
    main()
