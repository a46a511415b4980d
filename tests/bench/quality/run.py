#!/usr/bin/env python3
"""`make bench-quality`: how good are the points that are found, and how much does an ask cost?

Every run is a task, a sampler, a protocol and a seed (README.md in this folder). Its trials are kept as CSV under build/quality/raw,
and runs that are there are not repeated: what was interrupted goes on where it stopped, and pieces may be run one by one. The tables are
of whatever is there; `--table` prints them alone. Runs of banditd are kept by the program's checksum: another build has its own."""

import argparse
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KEPT = ROOT / "build" / "quality"
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
ONE_THREAD["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
QUICK_SECONDS, ALL_SECONDS = 600, 12 * 3600
# What the short form is judged by: a few tasks of each kind, of the choosing side, as many seeds as ten minutes allow.
QUICK = {
    "finite": ("hpobench-vehicle", "hpob-5891-3891", "hpob-5971-10093", "lcbench-adult", "crossedbarrel", "abalone-max"),
    "coco": ("bbob-f8-d5-i1", "bbob-f15-d5-i1", "bbob-f21-d5-i1", "bbob-f1-d10-i1", "bbob-f10-d5-i1", "mixint-f8-d5-i1"),
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banditd", default=ROOT / "build" / "release" / "banditd", type=pathlib.Path)
    parser.add_argument("--ours", action="append", default=[], metavar="NAME[=JSON]", help="a variant of banditd: one of "
                        "samplers.VARIANTS, or a new one with its options, as NAME={\"definition\": {\"aim\": \"best\"}}; may be repeated")  # fmt: skip
    parser.add_argument("--samplers", help="rivals, separated by commas; `none`; all by default")
    parser.add_argument("--side", choices=["choosing", "published", "both"], default="published")
    parser.add_argument("--parts", help="finite, coco, sixteen, textbook; all by default")
    parser.add_argument("--tasks", help="these alone, separated by commas")
    parser.add_argument("--protocols", help="these alone, separated by commas")
    parser.add_argument("--conditions", help="these alone, separated by commas")
    parser.add_argument("--seeds", type=int, help="so many of each, instead of the sampler's number")
    parser.add_argument("--trials", type=int, help="at most so many of a run; such runs are kept apart, under raw-TRIALS")
    parser.add_argument("--seconds", type=float, help="no run begins after so many")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2), help="runs at a time")
    parser.add_argument("--quick", action="store_true", help="ten minutes of banditd and uniform on a few tasks for choosing")
    parser.add_argument("--table", action="store_true", help="only the tables of what is there")
    parser.add_argument("--no-table", action="store_true", help="only the runs")
    parser.add_argument("--full", action="store_true", help="the tables of spaces with a line for each task")
    parser.add_argument("--list", action="store_true", help="only how many runs there are to do, of each sampler")
    parser.add_argument("--job", type=int, default=-1, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    chosen = options()
    sys.path.insert(0, str(HERE))
    import environments

    python = environments.python_of("tasks", KEPT / "envs")
    if pathlib.Path(sys.prefix).resolve() != (KEPT / "envs" / "tasks").resolve():
        os.execve(python, [str(python), *sys.argv], {**os.environ, **ONE_THREAD})
    Bench(chosen).main()


class Bench:
    """Made once the interpreter is that of the environment `tasks`."""

    def __init__(self, chosen):
        import plan
        import raw
        import tasks

        self.chosen, self.plan = chosen, plan
        self.store = raw.Store(KEPT / (f"raw-{chosen.trials}" if chosen.trials else "raw"))
        self.load = functools.partial(tasks.load, kept=KEPT)
        self.sides = (0,) if chosen.quick else {"choosing": (0,), "published": (1,), "both": (0, 1)}[chosen.side]
        self.samplers = self.choose_samplers()

    def choose_samplers(self):
        import samplers

        chosen = self.chosen
        rivals = list(samplers.RIVALS)
        if chosen.samplers or chosen.quick:
            wanted = (chosen.samplers or "uniform").split(",")
            rivals = [r for r in rivals if r.name in wanted]
        ours = chosen.ours or ([] if chosen.samplers and chosen.samplers != "none" else ["default"])
        found = [samplers.ours(*self.variant(samplers, word)) for word in ours] + rivals
        return [dataclasses.replace(s, trials=min(s.trials, chosen.trials or s.trials)) for s in found]

    def variant(self, samplers, word):
        """-> (label that names the program, options)"""
        name, _, text = word.partition("=")
        options = json.loads(text) if text else samplers.VARIANTS[name]
        return f"banditd-{name}@{self.checksum()[:8]}", options

    @functools.cache
    def checksum(self):
        return hashlib.sha256(self.chosen.banditd.read_bytes()).hexdigest()

    # ---- the plan ----

    def names(self):
        """Of the tasks that were asked for; None: all."""
        if self.chosen.tasks:
            return self.chosen.tasks.split(",")
        return [name for names in QUICK.values() for name in names] if self.chosen.quick else None

    def runs(self):
        chosen = self.chosen
        parts = chosen.parts.split(",") if chosen.parts else list(QUICK) if chosen.quick else self.plan.PARTS
        found = self.plan.runs(self.samplers, self.sides, parts, self.load, chosen.seeds)
        names = self.names()
        protocols = chosen.protocols.split(",") if chosen.protocols else ["sequential", "plates24"] if chosen.quick else None
        conditions = chosen.conditions.split(",") if chosen.conditions else None
        found = [r for r in found if (not names or r.task in names) and (not protocols or r.protocol in protocols)]
        found = [r for r in found if not conditions or r.condition in conditions]
        if chosen.quick:  # seed by seed rather than sampler by sampler
            found.sort(key=lambda run: run.seed)
        return found

    # ---- runs ----

    def main(self):
        chosen = self.chosen
        KEPT.mkdir(parents=True, exist_ok=True)
        if chosen.job >= 0:
            return self.work()
        if chosen.list:
            return self.list()
        if not chosen.table:
            self.prepare()
            command = [sys.executable, __file__, *sys.argv[1:], "--jobs", str(chosen.jobs)]
            jobs = [subprocess.Popen([*command, "--job", str(n)]) for n in range(chosen.jobs)]
            if any([job.wait() for job in jobs]):
                sys.exit("a job failed")
        if not chosen.no_table:
            import report

            report.everything(self.store, self.sides, self.load, chosen.full, self.names())

    def prepare(self):
        """What jobs must not do at the same time."""
        import environments

        runs = [run for run in self.runs() if not self.store.has(run)]
        for sampler in {run.sampler.name: run.sampler for run in runs}.values():
            self.store.about(sampler, self.facts(sampler, environments.python_of(sampler.environment, KEPT / "envs")))
        if any(run.task == "product" for run in runs):
            self.load("product").value({"order": "ijk", "bi": 8, "bj": 8, "bk": 8, "packed": False})

    def facts(self, sampler, python):
        facts = {"options": json.dumps(sampler.options), "machine": platform.machine(), "processor": processor()}
        if sampler.program == "banditd":
            return {**facts, "program": self.checksum(), "version": words([self.chosen.banditd, "version"])}
        code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
        version = words([python, "-c", code, sampler.package]) if sampler.package else "–"
        return {**facts, "package": sampler.package or "–", "version": version, "python": platform.python_version()}

    def list(self):
        counts = {}
        for run in self.runs():
            count = counts.setdefault(run.sampler.name, [0, 0])
            count[self.store.has(run)] += 1
        for name, (missing, there) in counts.items():
            print(f"{name}: {there} runs are there, {missing} to do")

    def work(self):
        import environments
        import simulate

        chosen, begun = self.chosen, time.monotonic()
        limit = chosen.seconds or (QUICK_SECONDS if chosen.quick else ALL_SECONDS)
        runs, process, of = self.runs(), None, None
        # Drawn, not counted: every second run may be that of the slowest sampler.
        mine = [run for run in runs if random.Random(str(run[:3]) + run.sampler.name + str(run.seed)).randrange(chosen.jobs) == chosen.job]
        for place, run in enumerate(mine, 1):
            if self.store.has(run):
                continue
            if time.monotonic() - begun > limit:
                break
            if process is None or of != run.sampler.name:
                if process:
                    process.stop()
                python = environments.python_of(run.sampler.environment, KEPT / "envs")
                process = simulate.Process(python, HERE / "samplers" / f"{run.sampler.program}.py",
                                           {**ONE_THREAD, "BENCH_BANDITD": str(chosen.banditd)})  # fmt: skip
                of = run.sampler.name
            start = time.monotonic()
            rows, why = self.attempt(process, run)
            if rows or process.why or process.process.poll() is None:  # not if the program could not begin
                self.store.write(run, rows, why)
            if process.process.poll() is not None or (why and rows):
                process.stop()
                process = None
            print(f"[{place}/{len(mine)}] {run.sampler.name} {run.task} {run.condition} {run.protocol} {run.seed}: "
                  f"{len(rows)} trials, {time.monotonic() - start:.1f} s{', ' + why if why else ''}; "
                  f"{(time.monotonic() - begun) / 60:.0f} min", flush=True)  # fmt: skip
        if process:
            process.stop()

    def attempt(self, process, run):
        import simulate
        from tasks import tables

        task = self.load(run.task)
        batch, workers = simulate.shape(run.protocol)
        trials = simulate.trials_of(task, run.protocol, run.sampler.trials)
        listed = task.features is not None
        spec = {
            "name": task.name, "parameters": task.parameters, "candidates": task.candidates, "trials": trials,
            "features": str(tables.features_path(task.name, KEPT / "tables")) if listed else None,
            "dimension": task.features.shape[1] if listed else None, "batch": batch, "in_flight": workers,
        }  # fmt: skip
        one = simulate.Run(process, task, run.condition, run.protocol, run.seed, trials)
        try:
            return one.make(spec, run.sampler.options)
        except (simulate.CannotDo, simulate.Failed) as reason:
            return [], str(reason)


def words(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


if __name__ == "__main__":
    main()
