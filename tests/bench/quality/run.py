#!/usr/bin/env python3
"""`make bench-quality`: how good are the points that are found, and how long does an ask take?

Every run is 200 trials of one task by one sampler with one seed, one at a time or in batches of ten. banditd runs as
its users run it: a server, asked and told over HTTP, with the defaults. What a run has found is kept as CSV under
build/quality/raw; runs that are there are not repeated, so an interrupted benchmark goes on where it stopped. The
table is made from whatever is there: `--table` prints it alone.

A run has at most four minutes, all of it three hours. Seconds are those between asking and having the trials, and of
telling; evaluating the task does not count."""

import argparse
import csv
import http.client
import importlib.util
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KEPT = ROOT / "build" / "quality"
sys.path.insert(0, str(HERE))
import tasks as task_list  # noqa: E402

TRIALS = 200
# At scale: one task, ten thousand trials in batches; the peers have ten minutes, and the rest is extrapolated.
SCALE_TASK, SCALE_TRIALS, SCALE_BATCH, SCALE_SECONDS = "hartmann6-noise", 10000, 100, 600
RUN_SECONDS, ALL_SECONDS = 240, 3 * 3600
SEEDS = {"banditd": 20, "uniform": 20, "optuna-tpe": 20, "optuna-gp": 5, "skopt-gp": 5}
MODES = {"sequential": 1, "batches": 10}
# What happens to the values that are told, for the comparison with clean ones; banditd only.
FAULTS = {"": None, "stray": "2 % of the values times 1000", "failed": "10 % of the trials fail",
          "infeasible": "10 % of the trials are infeasible"}  # fmt: skip
# Every function without noise.
FAULTY_TASKS = (
    "branin", "hartmann3", "hartmann6", "ackley5", "rosenbrock4", "levy6", "griewank5", "styblinski5", "michalewicz5",
)  # fmt: skip


class CannotDo(Exception):
    pass


# ---- samplers: ask(count) -> [(handle, parameters)], tell([(handle, value, or None for failed)]) ---------

INFEASIBLE = object()  # instead of a value; banditd only


class Server:
    """One banditd for a process's runs."""

    def __init__(self, binary):
        self.folder = tempfile.TemporaryDirectory(prefix="banditd-quality-")
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--db", f"{self.folder.name}/q.db", "--threads", "1",
             "--log-level", "error"],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        line = self.process.stdout.readline().decode()
        host, port = re.fullmatch(r"banditd listening on http://(\S+):(\d+)\n", line).groups()
        self.connection = http.client.HTTPConnection(host, int(port), timeout=600)

    def call(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                {"Content-Type": "application/json"})  # fmt: skip
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise CannotDo(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class Banditd:
    server = None  # of this process
    algorithm = None

    def __init__(self, task, seed):
        study = {
            "metric": {"name": "value", "goal": "minimize"},
            "domain": {"type": "space", "parameters": task.parameters},
            "seed": seed,
        }
        if self.algorithm:
            study["algorithm"] = {"name": self.algorithm}
        self.path = "/v1/studies/" + Banditd.server.call("POST", "/v1/studies", study)["id"]

    def ask(self, count):
        trials = []
        while len(trials) < count:  # without results that are still out, there is always more
            body = {"count": count - len(trials), "wait_seconds": 60}
            trials += Banditd.server.call("POST", f"{self.path}/ask", body)["trials"]
        return [(trial["id"], trial["parameters"]) for trial in trials]

    def tell(self, results):
        Banditd.server.call("POST", f"{self.path}/tell", {"results": [
            {"trial": handle, **({"state": "failed"} if value is None else
                                 {"state": "infeasible"} if value is INFEASIBLE else {"value": value})}
            for handle, value in results
        ]})  # fmt: skip

    def close(self):
        Banditd.server.call("DELETE", self.path)


class Uniform:
    def __init__(self, task, seed):
        self.parameters, self.random = task.parameters, random.Random(seed)

    def ask(self, count):
        return [(None, draw_point(self.parameters, self.random)) for _ in range(count)]

    def tell(self, results):
        pass

    def close(self):
        pass


def draw_point(parameters, draw):
    point = {}
    for p in parameters:
        when = p.get("active_when")
        if when and (when["parameter"] not in point or point[when["parameter"]] not in when["in"]):
            continue
        if p["type"] == "boolean":
            point[p["name"]] = draw.random() < 0.5
        elif p["type"] in ("categorical", "discrete"):
            point[p["name"]] = draw.choice(p["values"])
        else:
            low, high = p["min"], p["max"]
            if p.get("scale") == "log":
                value = math.exp(draw.uniform(math.log(low), math.log(high)))
            else:
                value = draw.uniform(low, high)
            point[p["name"]] = round(value) if p["type"] == "integer" else value
    return point


class Optuna:
    def __init__(self, task, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna, self.task = optuna, task
        self.study = optuna.create_study(direction="minimize", sampler=self.sampler(optuna, seed))

    def ask(self, count):
        asked = [self.study.ask() for _ in range(count)]
        return [(trial, self.point(trial)) for trial in asked]

    def point(self, trial):
        point = {}
        for p in self.task.parameters:
            when = p.get("active_when")
            if when and (when["parameter"] not in point or point[when["parameter"]] not in when["in"]):
                continue
            name, log = p["name"], p.get("scale") == "log"
            if p["type"] == "boolean":
                point[name] = trial.suggest_categorical(name, [False, True])
            elif p["type"] in ("categorical", "discrete"):
                point[name] = trial.suggest_categorical(name, p["values"])
            elif p["type"] == "integer":
                point[name] = trial.suggest_int(name, p["min"], p["max"], log=log)
            else:
                point[name] = trial.suggest_float(name, p["min"], p["max"], log=log)
        return point

    def tell(self, results):
        for trial, value in results:
            if value is None:
                self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
            else:
                self.study.tell(trial, value)

    def close(self):
        pass


class OptunaTpe(Optuna):
    # constant_liar is what its documentation advises for several trials at a time.
    def sampler(self, optuna, seed):
        return optuna.samplers.TPESampler(seed=seed, constant_liar=True)


class OptunaGp(Optuna):
    def sampler(self, optuna, seed):
        import torch

        torch.set_num_threads(1)
        if any("active_when" in p for p in self.task.parameters):
            raise CannotDo("its GP sampler leaves conditional parameters to chance")
        return optuna.samplers.GPSampler(seed=seed)


class SkoptGp:
    def __init__(self, task, seed):
        import skopt

        if any("active_when" in p for p in task.parameters):
            raise CannotDo("it has no conditional parameters")
        self.names = [p["name"] for p in task.parameters]
        self.optimizer = skopt.Optimizer([self.dimension(skopt.space, p) for p in task.parameters], random_state=seed)

    def dimension(self, space, p):
        prior = "log-uniform" if p.get("scale") == "log" else "uniform"
        if p["type"] == "boolean":
            return space.Categorical([False, True])
        if p["type"] in ("categorical", "discrete"):
            return space.Categorical(p["values"])
        return (space.Integer if p["type"] == "integer" else space.Real)(p["min"], p["max"], prior=prior)

    def ask(self, count):
        points = self.optimizer.ask(n_points=count) if count > 1 else [self.optimizer.ask()]
        return [(point, {n: getattr(v, "item", lambda v=v: v)() for n, v in zip(self.names, point)}) for point in points]

    def tell(self, results):
        told = [(point, value) for point, value in results if value is not None]
        self.optimizer.tell([point for point, _ in told], [value for _, value in told])

    def close(self):
        pass


SAMPLERS = {"banditd": Banditd, "uniform": Uniform, "optuna-tpe": OptunaTpe, "optuna-gp": OptunaGp, "skopt-gp": SkoptGp}


# ---- runs ------------------------------------------------------------------------------------------------


def file_of(run):
    return KEPT / "raw" / ("_".join(map(str, run)) + ".csv")


LOST = {"failed": None, "infeasible": INFEASIBLE}


def attempt(run, task, trials, seconds):
    """Rows (trial, value without noise, seconds of its share of ask and tell)."""
    name, mode, sampler, seed, fault = run
    count, rows, draw = SCALE_BATCH if mode == "scale" else MODES[mode], [], random.Random(f"{name} {seed} {fault}")
    begun = time.monotonic()
    optimizer = SAMPLERS[sampler](task, seed)
    while len(rows) < trials and time.monotonic() - begun < seconds:
        start = time.perf_counter()
        asked = optimizer.ask(min(count, trials - len(rows)))
        spent = time.perf_counter() - start
        values, told = [], []
        for i, (handle, point) in enumerate(asked):
            values.append(task.value(point))
            value = task.told(point, f"{seed} {len(rows) + i}")
            if fault == "stray" and draw.random() < 0.02:
                value *= 1000
            if fault in LOST and draw.random() < 0.1:
                value = LOST[fault]
            told.append((handle, value))
        start = time.perf_counter()
        optimizer.tell(told)
        spent += time.perf_counter() - start
        rows += [(len(rows) + i + 1, value, spent / len(asked)) for i, value in enumerate(values)]
    optimizer.close()
    return rows


def write(run, rows):
    path = file_of(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    with unfinished.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(("trial", "value", "seconds"))
        writer.writerows(rows)
    unfinished.rename(path)


def all_runs(names, samplers, seeds):
    """Seed by seed, so that an interrupted benchmark has every task."""
    runs = []
    for seed in range(max(SEEDS[s] for s in samplers) if seeds is None else seeds):
        for mode in MODES:
            for name in names:
                runs += [(name, mode, s, seed, "") for s in samplers if seed < SEEDS[s]]
                if "banditd" in samplers and mode == "sequential" and name in FAULTY_TASKS:
                    runs += [(name, mode, "banditd", seed, fault) for fault in FAULTS if fault]
    return runs


def work(options, runs, tasks):
    begun, failed = time.monotonic(), set()
    for run in runs:
        name, mode, sampler, seed, fault = run
        if file_of(run).exists() or (name, sampler) in failed:
            continue
        # Drawn, not counted: every second run may be that of the slowest sampler.
        if random.Random(str(run)).randrange(options.jobs) != options.job or time.monotonic() - begun > options.seconds:
            continue
        if sampler == "banditd" and Banditd.server is None:
            Banditd.server = Server(options.banditd)
        start = time.monotonic()
        try:
            rows = attempt(run, tasks[name], TRIALS, RUN_SECONDS)
        except CannotDo as reason:
            print(f"{name}: {sampler} is left out: {reason}", flush=True)
            failed.add((name, sampler))
            continue
        write(run, rows)
        print(f"{' '.join(map(str, run))}: {len(rows)} trials, {time.monotonic() - start:.1f} s", flush=True)
    if Banditd.server:
        Banditd.server.stop()


# ---- at scale --------------------------------------------------------------------------------------------


def seconds_in_all(path):
    """-> (seconds that SCALE_TRIALS trials take, trials that were made). What is missing is extrapolated by the power
    of the number of trials that the second half of the run followed, 1 to 3; with fewer than ten batches there is no
    telling, and it is by the pace so far: at least that."""
    with path.open() as rows:
        spent = [float(row["seconds"]) for row in csv.DictReader(rows)]
    total, half = sum(spent), sum(spent[: len(spent) // 2])
    if len(spent) >= SCALE_TRIALS:
        return total, len(spent)
    power = math.log(total / half) / math.log(len(spent) / (len(spent) // 2))
    power = min(max(power, 1.0), 3.0) if len(spent) >= 10 * SCALE_BATCH else 1.0
    return total * (SCALE_TRIALS / len(spent)) ** power, len(spent)


def scale(options, tasks, samplers):
    for sampler in samplers:
        run = (SCALE_TASK, "scale", sampler, 0, "")
        if sampler == "uniform":
            continue
        if not file_of(run).exists() and not options.table:
            if sampler == "banditd":
                Banditd.server = Server(options.banditd)
            rows = attempt(run, tasks[SCALE_TASK], SCALE_TRIALS, ALL_SECONDS if sampler == "banditd" else SCALE_SECONDS)
            write(run, rows)
            if sampler == "banditd":
                Banditd.server.stop()
        if file_of(run).exists():
            seconds, made = seconds_in_all(file_of(run))
            how = "" if made >= SCALE_TRIALS else f", extrapolated from {made}"
            print(f"{sampler}: {seconds:.0f} s for {SCALE_TRIALS} trials of {SCALE_TASK} in batches of {SCALE_BATCH}{how}")


# ---- the table -------------------------------------------------------------------------------------------


def read_runs():
    """{(task, mode, sampler, fault): [(best value, seconds a trial, trials)]}"""
    found = {}
    for path in sorted((KEPT / "raw").glob("*.csv")):
        name, mode, sampler, _, fault = path.stem.split("_")
        with path.open() as rows:
            rows = [(float(row["value"]), float(row["seconds"])) for row in csv.DictReader(rows)]
        best, seconds = min(value for value, _ in rows), statistics.fmean(s for _, s in rows)
        if mode not in MODES:
            continue
        found.setdefault((name, mode, sampler, fault), []).append((best, seconds, len(rows)))
    return found


def quartiles(values):
    ordered = sorted(values)

    def at(q):
        place = q * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    return at(0.25), at(0.5), at(0.75)


def optimum_of(task, found):
    if task.optimum is not None:
        return task.optimum
    return min(best for key, runs in found.items() if key[0] == task.name for best, _, _ in runs)


def short(x):
    return f"{x:.1e}" if 0 < abs(x) < 1e-2 or abs(x) >= 1e4 else f"{x:.3g}"


def print_table(tasks):
    found = read_runs()
    samplers = [s for s in SAMPLERS if any(key[2] == s for key in found)]
    for mode in MODES:
        good = shown = 0
        print(f"\n{mode}: median simple regret [quartiles], ms a trial, after {TRIALS} trials (n seeds)\n")
        print("| task | " + " | ".join(samplers) + " |")
        print("|---" * (len(samplers) + 1) + "|")
        for name, task in tasks.items():
            cells, regrets = [], {}
            for sampler in samplers:
                runs = found.get((name, mode, sampler, ""), [])
                if not runs:
                    cells.append("–")
                    continue
                optimum = optimum_of(task, found)
                regrets[sampler] = low, middle, high = quartiles([max(best - optimum, 0.0) for best, _, _ in runs])
                reached = statistics.fmean(n for _, _, n in runs)
                cell = f"{short(middle)} [{short(low)}, {short(high)}], {1e3 * statistics.fmean(s for _, s, _ in runs):.1f} ms"
                cell += f" ({len(runs)})" + (f", {reached:.0f} trials" if reached < TRIALS else "")
                cells.append(cell)
            print(f"| {name} | " + " | ".join(cells) + " |")
            if "banditd" in regrets:
                lowest = min(regrets.values(), key=lambda three: three[1])
                shown += 1
                good += regrets["banditd"][1] <= lowest[2]
        print(f"\nbanditd is lowest, or within the quartiles of the lowest, on {good} of {shown}.")
    print("\nmedian simple regret of banditd where values are wrong, against clean ones")
    for name in FAULTY_TASKS:
        for fault, meaning in FAULTS.items():
            runs = found.get((name, "sequential", "banditd", fault), [])
            if runs:
                low, middle, high = quartiles([best - tasks[name].optimum for best, _, _ in runs])
                print(f"  {name}, {meaning or 'clean'}: {short(middle)} [{short(low)}, {short(high)}] ({len(runs)})")


# ---- peers are installed into an environment of their own ------------------------------------------------


def environment():
    """The Python that has the peers; those that cannot be installed are left out."""
    folder = KEPT / "venv"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "-r"]
        subprocess.run([*pip, HERE / "requirements.txt"], check=True)
        if subprocess.run([*pip, HERE / "requirements-gp.txt"]).returncode != 0:
            subprocess.run([*pip, HERE / "requirements-skopt.txt"])
        done.touch()
    return python


def peers_here():
    gp = "optuna-gp" if importlib.util.find_spec("torch") else "skopt-gp" if importlib.util.find_spec("skopt") else None
    return ["banditd", "uniform", "optuna-tpe"] + ([gp] if gp else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banditd", default=ROOT / "build" / "release" / "banditd")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2), help="runs at a time")
    parser.add_argument("--seconds", type=float, default=ALL_SECONDS)
    parser.add_argument("--seeds", type=int, help="at most so many of each")
    parser.add_argument("--samplers", help="separated by commas")
    parser.add_argument("--tasks", help="separated by commas")
    parser.add_argument("--scale", action="store_true", help="ten thousand trials instead")
    parser.add_argument("--table", action="store_true", help="only the table of what is there")
    parser.add_argument("--job", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    tasks = task_list.all_tasks(KEPT)
    if options.tasks:
        tasks = {name: tasks[name] for name in options.tasks.split(",")}
    if not options.table and options.job < 0:
        if "product" in tasks:
            tasks["product"].value({"order": "ijk", "bi": 8, "bj": 8, "bk": 8, "packed": False})
        python = environment()
        options.jobs = 1 if options.scale else options.jobs
        command = [python, __file__, *sys.argv[1:], "--jobs", str(options.jobs)]
        limits = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        jobs = [subprocess.Popen([*command, "--job", str(n)], env={**os.environ, **limits}) for n in range(options.jobs)]
        if any([job.wait() for job in jobs]):
            sys.exit("a job failed")
    if options.job >= 0:
        samplers = options.samplers.split(",") if options.samplers else peers_here()
        if options.scale:
            scale(options, tasks, samplers)
        else:
            work(options, all_runs(tasks, samplers, options.seeds), tasks)
    elif not options.scale:
        print_table(tasks)


if __name__ == "__main__":
    main()
