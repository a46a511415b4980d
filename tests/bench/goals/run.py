#!/usr/bin/env python3
"""`make bench-goals`: several objectives, and outcomes that must hold: run.py BANDITD [--samplers banditd,optuna-tpe,…]
[--seeds N] [--trials N] [--batch N] [--problems WORD,…] [--seconds N] [--results FILE] [--table] [--record]

Each run is a line of the file of results, and a run that is in it is not repeated, so an interrupted benchmark continues.
Runs of banditd are kept by the program's checksum: another build has its own. The slow rivals take days, so their runs
are collected in docs/records/goals-rivals.jsonl: --record adds the new ones, and they are not repeated either. A new
version of a rival has runs of its own. The rivals' environments are those of ../quality/environments, made when they are
first used.

Prints the quartiles over the seeds of the share of the largest hypervolume (of the hypervolume itself where that is
unknown), or of how far the best feasible value is from the best known one, and the CPU time per trial, banditd's being that
of its server. Then, on how many problems each sampler is best or tied."""

import argparse
import functools
import hashlib
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "clients" / "python" / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "integration")]
from tasks import PROBLEMS, Table  # noqa: E402

SHOWN = (25, 50, 100, 200)
ENVIRONMENTS = {"optuna-tpe": "optuna", "optuna-nsga2": "optuna", "optuna-gp": "optuna", "botorch": "botorch", "vizier": "vizier"}
SAMPLERS = ("banditd", "uniform", *ENVIRONMENTS)
SLOW = ("optuna-gp", "botorch", "vizier")
RECORD = ROOT / "docs" / "records" / "goals-rivals.jsonl"
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


# ---- samplers ----


class Ours:
    """A study with everything by default, thresholds given unless it is told how to infer the reference point."""

    client = server = reference = None  # set once there is a server

    def __init__(self, name, problem, seed):
        self.problem = problem
        metrics = [{"name": f"f{j}", "goal": "minimize"} for j in range(problem.objectives)]
        for metric, worst in zip(metrics, problem.reference or ()):
            if not self.reference:
                metric["threshold"] = worst
        metrics += [{"name": f"g{j}", "role": "constraint", "at_most": 0} for j in range(problem.constraints)]
        self.names = [metric["name"] for metric in metrics]
        parameters = [
            {"name": f"x{i}", "type": "integer" if i in problem.whole else "double", "min": low, "max": high}
            for i, (low, high) in enumerate(problem.bounds)
        ]
        domain = {"type": "candidates", "points": problem.points()} if problem.listed else {"type": "space", "parameters": parameters}
        rule = {"algorithm": {"name": "log_ei", "reference": self.reference}} if self.reference else {}
        self.study = self.client.create_study({"metrics": metrics, "domain": domain, "seed": seed, **rule})

    def ask(self, count):
        self.trials = []
        while len(self.trials) < count:
            self.trials += self.study.ask(count - len(self.trials), wait_seconds=60)
        return [list(map(float, trial.point or trial.parameters.values())) for trial in self.trials]

    def cpu(self):
        user, system = open(f"/proc/{self.server}/stat").read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def tell(self, points, values):
        self.study.tell_results([{"trial": t.id, "values": dict(zip(self.names, v))} for t, v in zip(self.trials, values)])


class Uniform:
    def __init__(self, name, problem, seed):
        self.problem, self.random = problem, random.Random(seed)
        self.list = problem.points() if problem.listed else None

    def ask(self, count):
        if self.list:
            return self.random.sample(self.list, count)
        return [self.problem.at([self.random.random() for _ in self.problem.bounds]) for _ in range(count)]

    def tell(self, points, values):
        pass


def sampler_of(name, problem, seed):
    if name in ENVIRONMENTS:
        module = __import__(f"with_{ENVIRONMENTS[name]}")
        return module.Sampler(name, problem, seed)
    return (Uniform if name == "uniform" else Ours)(name, problem, seed)


# ---- runs ----


def play(name, problem, seed, trials, batch):
    sampler, values = sampler_of(name, problem, seed), []
    cpu = getattr(sampler, "cpu", time.process_time)
    began = cpu()
    while len(values) < trials:
        points = sampler.ask(min(batch, trials - len(values)))
        values += [problem.measure(x) for x in points]
        sampler.tell(points, values[-len(points) :])
    return {"values": values, "ms": round(1000 * (cpu() - began) / trials, 3)}


def volume(points, reference):
    """The hypervolume of points to be minimized, by slices of the last objective."""
    points = [p for p in points if all(v < r for v, r in zip(p, reference))]
    if not points:
        return 0.0
    if len(reference) == 1:
        return reference[0] - min(p[0] for p in points)
    points.sort(key=lambda p: p[-1])
    front, total = [], 0.0
    for i, p in enumerate(points):
        if not any(all(a <= b for a, b in zip(q, p[:-1])) for q in front):
            front = [q for q in front if not all(a <= b for a, b in zip(p[:-1], q))] + [p[:-1]]
        end = points[i + 1][-1] if i + 1 < len(points) else reference[-1]
        if end > p[-1]:
            total += (end - p[-1]) * volume(front, reference[:-1])
    return total


def reached(problem, values):
    """What the trials so far are worth: of several objectives larger is better, of one smaller."""
    k = problem.objectives
    feasible = [v[:k] for v in values if all(c <= 0 for c in v[k:])]
    if k == 1:
        return min((v[0] for v in feasible), default=math.inf) - problem.best
    return volume(feasible, problem.reference) / best_volume(problem)


@functools.cache
def best_volume(problem):
    """Of a list, that of all its points; 1 where it is unknown."""
    if problem.listed:
        return volume([problem.measure(x) for x in problem.points()], problem.reference)
    return problem.best or 1


def key_of(run):
    return tuple(run[name] for name in ("sampler", "version", "problem", "seed", "batch", "trials"))


class Results:
    """The runs in a file, one a line; several processes may append to it."""

    def __init__(self, path):
        self.path = path

    def read(self):
        return [json.loads(line) for line in open(self.path)] if self.path.exists() else []

    def add(self, run):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as file:
            file.write(json.dumps(run) + "\n")


def all_runs(given):
    """By their keys: those in the file of results, and those in the record."""
    return {key_of(run): run for run in Results(RECORD).read() + Results(given.results).read()}


def record(given):
    """Adds the slow rivals' new runs to the record, without the single values."""
    recorded = Results(RECORD)
    known = {key_of(run) for run in recorded.read()}
    for run in Results(given.results).read():
        if run["sampler"] in SLOW and key_of(run) not in known:
            recorded.add({name: value for name, value in run.items() if name != "values"})


def problems_of(given):
    words = [word for word in given.problems.split(",") if word]
    wanted = [problem for problem in PROBLEMS if not words or any(word in problem.name for word in words)]
    return [problem for problem in wanted if problem.objectives > 1 or not given.reference]


def can_do(name, problem):
    return not problem.listed or name not in ENVIRONMENTS or name == "botorch"


def label_of(name, given):
    rule = f"-{given.reference}" if given.reference else ""
    return f"{name}{rule}@{hashlib.sha256(given.banditd.read_bytes()).hexdigest()[:8]}" if name == "banditd" else name


def version_of(name):
    import importlib.metadata

    package = {"vizier": "google-vizier"}.get(name, ENVIRONMENTS.get(name))
    return importlib.metadata.version(package) if package else ""


def run_all(given, names):
    results, began = Results(given.results), time.monotonic()
    for seed in range(given.seeds):
        for problem in problems_of(given):
            for name in names:
                run = {"sampler": label_of(name, given), "version": version_of(name), "problem": problem.name}
                run |= {"seed": seed, "batch": given.batch, "trials": given.trials}
                if not can_do(name, problem) or key_of(run) in all_runs(given):
                    continue
                if time.monotonic() - began > given.seconds:
                    return
                started = time.monotonic()
                run |= play(name, problem, seed, given.trials, given.batch)
                run["reached"] = {n: reached(problem, run["values"][:n]) for n in SHOWN if n <= given.trials}
                results.add(run)
                print(f"{run['sampler']} {problem.name} {seed}: {run['reached']}, {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)


def with_server(given):
    import server as servers

    import banditd

    servers.BINARY = str(given.banditd)
    Ours.reference = given.reference
    with servers.Server("--threads", "1") as running:
        Ours.server = running.process.pid
        Ours.client = banditd.Client(f"http://127.0.0.1:{running.port}")
        run_all(given, ["banditd"])


def python_of(environment):
    sys.path.append(str(HERE.parent / "quality"))
    import environments

    return environments.python_of(environment, ROOT / "build" / "quality" / "envs")


def load_tables(given):
    for table in problems_of(given):
        if not isinstance(table, Table):
            continue
        path = ROOT / "build" / "goals" / f"{'-'.join(table.data_sets)}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([python_of("tasks"), HERE / "lcbench.py", path, *table.data_sets], check=True)
        table.load(path)


def elsewhere(given, name):
    """Runs a rival with the interpreter that has it."""
    python = python_of(ENVIRONMENTS[name])
    command = [python, __file__, *sys.argv[1:], "--inside", name]
    if subprocess.run(command, env={**os.environ, **ONE_THREAD}).returncode:
        sys.exit(f"{name} failed")


# ---- the table ----


def figures(values):
    if len(values) == 1:
        return f"{values[0]:.3g}"
    finite = [min(value, sys.float_info.max) for value in values]  # no feasible point is infinitely far away
    quartiles = statistics.quantiles(finite, n=4, method="inclusive")
    low, middle, high = ("–" if q > 1e300 else f"{q:.3g}" for q in quartiles)
    return f"{low} **{middle}** {high}"


def shown_runs(given):
    """The first trials of a longer run count as well: no sampler knows when its run will end."""
    found = {}
    for run in sorted(all_runs(given).values(), key=lambda run: -run["trials"]):
        if run["batch"] == given.batch and run["trials"] >= given.trials:
            found[run["sampler"], run["version"], run["problem"], run["seed"]] = run
    return list(found.values())


def report(given):
    runs = shown_runs(given)
    shown = [n for n in SHOWN if n <= given.trials]
    print("| problem | sampler | seeds | " + " | ".join(map(str, shown)) + " | CPU ms per trial |\n|---" + "|---" * (len(shown) + 3) + "|")
    for problem in problems_of(given):
        for label, version in sorted({(run["sampler"], run["version"]) for run in runs}):
            own = [run for run in runs if (run["sampler"], run["version"], run["problem"]) == (label, version, problem.name)]
            if own:
                cells = [figures([run["reached"][str(n)] for run in own]) for n in shown]
                asked = statistics.median(run["ms"] for run in own)
                print(f"| {problem.name} | {f'{label} {version}'.strip()} | {len(own)} | " + " | ".join(cells) + f" | {asked:.1f} |")
    print(flush=True)
    several, build = {problem.name: problem.objectives > 1 for problem in problems_of(given)}, label_of("banditd", given)
    runs = [run for run in runs if run["sampler"] == build or not run["sampler"].startswith("banditd")]
    compared = [
        {"sampler": run["sampler"], "problem": run["problem"], "larger_is_better": several[run["problem"]],
         "reached": {n: run["reached"][str(n)] for n in shown}}
        for run in runs if run["problem"] in several
    ]  # fmt: skip
    subprocess.run([python_of("tasks"), HERE / "tied.py"], input=json.dumps(compared), text=True, check=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("banditd", type=lambda text: pathlib.Path(text).resolve())
    arguments.add_argument("--samplers", default=",".join(SAMPLERS))
    arguments.add_argument("--seeds", type=int, default=10)
    arguments.add_argument("--trials", type=int, default=100)
    arguments.add_argument("--batch", type=int, default=1, help="trials at a time")
    arguments.add_argument("--problems", default="")
    arguments.add_argument("--reference", help="banditd gets no thresholds, and infers the reference point by this rule")
    arguments.add_argument("--seconds", type=float, default=math.inf, help="no run of a sampler begins after so many")
    arguments.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "goals.jsonl")
    arguments.add_argument("--table", action="store_true", help="only the table of what is there")
    arguments.add_argument("--record", action="store_true", help="only add the slow rivals' runs to the record")
    arguments.add_argument("--inside", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.record:
        return record(given)
    load_tables(given)
    if given.inside:
        return run_all(given, [given.inside])
    names = [] if given.table else given.samplers.split(",")
    unknown = set(names) - set(SAMPLERS)
    if unknown:
        arguments.error(f"unknown samplers: {', '.join(sorted(unknown))}; there are {', '.join(SAMPLERS)}")
    for name in names:
        if name == "banditd":
            with_server(given)
        elif name in ENVIRONMENTS:
            elsewhere(given, name)
        else:
            run_all(given, [name])
    report(given)


if __name__ == "__main__":
    main()
