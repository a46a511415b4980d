#!/usr/bin/env python3
"""How often the rules of `stop_when` are wrong:
run.py BANDITD [--seeds N] [--trials N] [--problems NAME,...] [--only target|regret] [--results FILE]

Each run is one study by default settings, told one result after the other, under all rules at once. When a rule ends
it, the run notes the number of results and how far the recommended point's true value is from the optimum; then the
study goes on without that rule. Each run is a line of the file of results, and a run that is in it is not repeated.
Prints, for each problem and rule: the median number of results at the stop, in how many runs it did not stop, and in
how many it was wrong. A `stagnation` is wrong if the recommended point is then further from the optimum than the
problem's tolerance; a `target` if the recommended point's true value does not reach it. The target is the optimum
less the tolerance. `regret` ends no study, it only advises to, for the tolerance; it is wrong like `stagnation`. With
`--only` the study has no other rule than this one, and the run ends when it holds."""

import argparse
import functools
import json
import math
import pathlib
import random
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "clients" / "python" / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "integration")]
STAGNATIONS = (20, 50)  # results


H3_A = [[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]]
H3_P = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
H6_A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
H6_P = [
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
]


def branin(x):
    valley = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10


def hartmann(scales, centres, x):
    distances = (sum(a * (v - p / 1e4) ** 2 for a, p, v in zip(*row, x)) for row in zip(scales, centres))
    return -sum(weight * math.exp(-distance) for weight, distance in zip((1, 1.2, 3, 3.2), distances))


class Problem:
    """A function to minimize. tolerance: a share of its range over the space, which is `spread`."""

    def __init__(self, f, bounds, optimum, spread, tolerance, noise=0.0):
        self.f, self.bounds, self.optimum = f, bounds, optimum
        self.tolerance, self.noise = tolerance * spread, noise * spread


BRANIN = (branin, [(-5, 10), (0, 15)], 0.397887, 308)
HARTMANN_3 = (functools.partial(hartmann, H3_A, H3_P), [(0, 1)] * 3, -3.86278, 3.86)
HARTMANN_6 = (functools.partial(hartmann, H6_A, H6_P), [(0, 1)] * 6, -3.32237, 3.32)
PROBLEMS = {
    "branin": Problem(*BRANIN, 0.01),
    "branin-noisy": Problem(*BRANIN, 0.01, 0.01),
    "branin-noisier": Problem(*BRANIN, 0.01, 0.02),
    "hartmann-3": Problem(*HARTMANN_3, 0.01),
    "hartmann-6": Problem(*HARTMANN_6, 0.03),
}


def rules_of(problem, only=None):
    rules = {
        "target": {"rule": "target", "value": problem.optimum + problem.tolerance},
        **{f"stagnation {n}": {"rule": "stagnation", "results": n} for n in STAGNATIONS},
        "regret": {"rule": "regret", "epsilon": problem.tolerance, "then": "tell"},
    }
    return {only: rules[only]} if only else rules


def evaluate(problem, parameters):
    return problem.f([parameters[f"x{i}"] for i in range(len(problem.bounds))])


def stop_of(study, rules):
    """-> the name of the rule that has ended the study"""
    reason = study.info()["state_reason"]
    by = reason.split(":")[0]
    return next(name for name in rules if name == by or (name.split()[0] == by and f"last {name.split()[1]} " in reason))


def distance_of(study, problem):
    return evaluate(problem, study.best()["recommended"]["parameters"]) - problem.optimum


def run(client, problem, seed, trials, only=None):
    """-> {rule: [results, distance from the optimum]}"""
    draw, rules, stops = random.Random(seed), rules_of(problem, only), {}
    parameters = [
        {"name": f"x{i}", "type": "double", "min": low, "max": high} for i, (low, high) in enumerate(problem.bounds)
    ]
    study = client.create_study(
        {
            "metric": {"name": "value", "goal": "minimize"},
            "domain": {"type": "space", "parameters": parameters},
            "seed": seed,
            "stop_when": list(rules.values()),
        }
    )
    told = 0
    while told < trials and rules:
        asked, info = study.ask(wait_seconds=60), study.info()
        holds = stop_of(study, rules) if info["state"] == "finished" else info.get("advice", {}).get("rule")
        if holds:
            stops[holds] = [told, distance_of(study, problem)]
            del rules[holds]
            study.change(state="active", stop_when=list(rules.values()) or None)
        if asked:
            (trial,) = asked
            study.tell(trial, evaluate(problem, trial.parameters) + draw.gauss(0, 1) * problem.noise)
            told += 1
    study.delete()
    return stops


def report(lines, only):
    print("| problem | rule | runs | stops at | did not stop | wrong |\n|---|---|---|---|---|---|")
    for name, problem in PROBLEMS.items():
        runs = [line for line in lines if line["problem"] == name]
        for rule in rules_of(problem, only) if runs else ():
            stops = [line["stops"][rule] for line in runs if rule in line["stops"]]
            wrong = sum(distance > problem.tolerance for _, distance in stops)
            at = statistics.median(told for told, _ in stops) if stops else math.nan
            print(f"| {name} | {rule} | {len(runs)} | {at:g} | {len(runs) - len(stops)} | {wrong} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("banditd")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--only", choices=("target", "regret"))
    parser.add_argument("--results", default=ROOT / "build" / "stopping.jsonl")
    given = parser.parse_args()
    results = pathlib.Path(given.results)
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(line["problem"], line["seed"]) for line in lines}
    import server as servers

    import banditd

    servers.BINARY = str(pathlib.Path(given.banditd).resolve())
    wanted = given.problems.split(",")
    with servers.Server() as server, results.open("a") as out:
        client = banditd.Client(f"http://127.0.0.1:{server.port}")
        for seed in range(1, given.seeds + 1):
            for name in PROBLEMS:
                if name not in wanted or (name, seed) in done:
                    continue
                stops = run(client, PROBLEMS[name], seed, given.trials, given.only)
                line = {"problem": name, "seed": seed, "stops": stops}
                out.write(json.dumps(line) + "\n")
                out.flush()
                lines.append(line)
    report(lines, given.only)


if __name__ == "__main__":
    main()
