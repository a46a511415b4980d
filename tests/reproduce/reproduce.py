#!/usr/bin/env python3
"""`make reproduce`: runs what the papers report and writes build/reproduce/report.html and report.md.

Every run is kept in build/reproduce/runs under what was run (the program and its settings), so that an
interrupted reproduction goes on where it stopped."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "reproduce"
PROGRAM = ROOT / "build" / "release" / "tests" / "reproduce" / "run_study"
REQUIREMENTS = pathlib.Path(__file__).parent / "requirements.txt"


def enter_environment():
    """Goes on in a Python that has what requirements.txt lists."""
    folder = WORK / "venv"
    if pathlib.Path(sys.prefix) == folder:
        return
    done = folder / "requirements.txt"
    if not done.exists() or done.read_text() != REQUIREMENTS.read_text():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--requirement", REQUIREMENTS], check=True)
        done.write_text(REQUIREMENTS.read_text())
    os.execv(folder / "bin" / "python", [str(folder / "bin" / "python"), *sys.argv])


def specification(series, trial):
    """What run_study is to do."""
    import problems

    path, known = problems.write(WORK / "problems", series.problem[0], series.problem[1](trial))
    if known["dimension"] == 0:
        domain = {"type": "precomputed", "size": known["size"]}
    else:
        domain = {"type": "candidates", "dimension": known["dimension"], "scaling": series.scaling}
    study = {"metric": {"name": "value", "goal": "maximize"}, "domain": domain, "seed": trial + 1}
    study["algorithm"] = series.algorithm(known)
    if series.steps > 0:
        study["horizon"] = series.steps
    spec = {"problem": str(path), "study": study, "steps": series.steps, "noise": series.noise(known)}
    spec |= {"seed": trial + 1, "cap": series.cap}
    if series.in_flight:
        spec["in_flight"] = series.in_flight
    if series.history is not None:
        spec["history"] = series.history
    if series.predict:
        spec["predict"] = True
    return spec


def kept_result(spec, program_digest):
    """The run's answer, from build/reproduce/runs if this very program has done it."""
    name = hashlib.sha256(json.dumps([program_digest, spec], sort_keys=True).encode()).hexdigest()[:24]
    path = WORK / "runs" / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    done = subprocess.run(
        [PROGRAM], input=json.dumps(spec), capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    )
    if done.returncode != 0:
        raise RuntimeError(f"{spec}\nexit status {done.returncode}: {done.stderr}")
    unfinished = path.with_suffix(".part")
    unfinished.write_text(done.stdout)
    unfinished.rename(path)
    return json.loads(done.stdout)


class Progress:
    def __init__(self, total):
        self.total, self.done, self.started, self.shown = total, 0, time.monotonic(), 0.0

    def step(self, what):
        self.done += 1
        now = time.monotonic()
        if sys.stderr.isatty():
            full = 30 * self.done // self.total
            bar = "█" * full + "·" * (30 - full)
            print(f"\r{bar} {self.done}/{self.total} {now - self.started:5.0f} s  {what[:40]:40}", end="", file=sys.stderr)
        elif now - self.shown > 10 or self.done == self.total:
            self.shown = now
            print(f"{self.done} of {self.total} runs, {now - self.started:.0f} s: {what}", file=sys.stderr, flush=True)


def run_all(rows, jobs):
    """{(row, series label): [answer per trial]}; None for series whose data are not there, with the reason."""
    import problems

    digest = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()
    (WORK / "runs").mkdir(parents=True, exist_ok=True)
    work, missing, answers = [], {}, {}
    for row in rows:
        for series in row.series:
            try:
                specs = [specification(series, trial) for trial in range(series.trials)]
            except problems.NotAtHand as reason:
                missing[row.name] = str(reason)
                continue
            answers[row.name, series.label] = [None] * series.trials
            work += [(row, series, trial, spec) for trial, spec in enumerate(specs)]
    progress = Progress(len(work))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(kept_result, item[3], digest): item for item in work}
        try:
            for future in concurrent.futures.as_completed(futures):
                row, series, trial, _ = futures[future]
                answers[row.name, series.label][trial] = future.result()
                progress.step(f"{row.name}: {series.label}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return answers, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the papers' sizes")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="rows whose name begins so")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at a time")
    parser.add_argument("--summary", metavar="FOLDER", help="also write reproduction.md and its plots there")
    arguments = parser.parse_args()
    enter_environment()
    import experiments
    import report
    import through_server

    rows = experiments.rows(arguments.full)
    if arguments.only:
        rows = [row for row in rows if row.name.startswith(tuple(arguments.only))]
    answers, missing = run_all(rows, arguments.jobs)
    served = None if arguments.only and "server" not in arguments.only else through_server.run(ROOT, WORK)
    report.write(WORK, rows, answers, missing, served, pathlib.Path(arguments.summary) if arguments.summary else None)
    print(f"\n{WORK / 'report.html'}")


if __name__ == "__main__":
    main()
