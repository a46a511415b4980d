#!/usr/bin/env python3
"""`make bench-engine`: runs the engine and the yardstick over the benchmark's cells and prints one table.

Every run's result is kept in build/bench/ under what was run (program and arguments); a run whose program and
arguments have not changed is not repeated, so an interrupted benchmark goes on where it stopped. Programs that
meet their cap of CPU seconds say how far they came, and ratios are taken at equal steps."""

import argparse
import hashlib
import importlib.util
import itertools
import json
import math
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "bench"
YARDSTICK = ROOT / "tests" / "bench" / "yardstick.py"
HAS_YARDSTICK = all(importlib.util.find_spec(name) for name in ("numpy", "scipy"))
CAP_ENGINE, CAP_YARDSTICK, CAP_ASKS = 60, 300, 20  # CPU seconds
BANDWIDTH = {"abalone": 17.5, "cadata": 12.5}
# Lengthscale and history (one reward each of that many arms) that give a dictionary of about 300 arms.
SYNTHETIC = {8: (6.0, 2000), 20: (18.0, 2000)}
SYNTHETIC_BATCHES = 6


def data_cell(data, lam, ratio_bound, steps, rule="global", bandwidth=None):
    path = pathlib.Path(os.environ.get("BANDITD_DATA", "")) / f"{data}.csv"
    bandwidth = bandwidth or BANDWIDTH[data]
    title = f"{data.capitalize()} λ={lam:g} C̃={ratio_bound:g}"
    title += "" if rule == "global" else " global–local"
    title += "" if bandwidth == BANDWIDTH[data] else f" bw {bandwidth:g}"
    arguments = ["--data", path, "--bandwidth", bandwidth, "--lambda", lam, "--ratio-bound", ratio_bound]
    arguments += ["--steps", steps, "--rule", rule]
    return {"title": title, "steps": steps, "arguments": arguments, "data": path}


def synthetic_cell(arms, dimension):
    bandwidth, history = SYNTHETIC[dimension]
    arguments = ["--arms", arms, "--dimension", dimension, "--bandwidth", bandwidth, "--lambda", 0.01]
    arguments += ["--ratio-bound", 2, "--steps", 100000, "--history", history, "--batches", SYNTHETIC_BATCHES]
    return {"title": f"A=10^{round(math.log10(arms))} d={dimension}", "steps": None, "arguments": arguments}


def cells(full):
    default = [
        data_cell("cadata", 0.01, 1.1, 2000),
        data_cell("cadata", 0.01, 2, 10000),
        data_cell("cadata", 0.01, 2, 100000),
        data_cell("cadata", 0.01, 5, 10000),
        data_cell("cadata", 1, 2, 10000),
        data_cell("abalone", 0.01, 2, 10000),
    ]
    default += [synthetic_cell(arms, d) for arms in (10**5, 10**6) for d in (8, 20)]
    if not full:
        return default
    every = itertools.product(
        *(("abalone", "cadata"), (None, 3), ("global", "global_local")),
        *((1, 0.01, 1e-4), (1.1, 2, 5), (2000, 10**4, 10**5)),
    )
    rest = (data_cell(data, lam, c, steps, rule, bw) for data, bw, rule, lam, c, steps in every)
    known = {cell["title"] + str(cell["steps"]) for cell in default}
    return default + [cell for cell in rest if cell["title"] + str(cell["steps"]) not in known]


def execute(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def run(program, arguments, cap):
    """The program's JSON, from build/bench/ if this very program has run with these arguments. Of a run that takes
    less than a second the fastest of five."""
    command = [str(part) for part in [*program, *arguments, "--cap", cap]]
    content = hashlib.sha256(pathlib.Path(program[-1]).read_bytes()).hexdigest()
    name = hashlib.sha256(json.dumps([content, command[len(program) :]]).encode()).hexdigest()[:24]
    kept = KEPT / f"{pathlib.Path(program[-1]).stem}-{name}.json"
    if not kept.exists():
        result = execute(command)
        if result["cpu_seconds"] < 1:
            result = min([result, *(execute(command) for _ in range(4))], key=lambda r: r["cpu_seconds"])
        KEPT.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".part")
        unfinished.write_text(json.dumps({"command": command, **result}))
        unfinished.rename(kept)
    return json.loads(kept.read_text())


def cpu_at(result, steps):
    """CPU seconds when `steps` pulls had been told, between the recorded points in proportion."""
    before = (0, 0.0)
    for told, cpu in result["curve"]:
        if told >= steps:
            return before[1] + (cpu - before[1]) * (steps - before[0]) / (told - before[0])
        before = (told, cpu)
    raise ValueError(f"{steps} steps were not reached")


def agreement(ours, theirs):
    """How many picks the two have in common from the start."""
    common = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(ours["picks"], theirs["picks"]))
    return sum(1 for _ in common)


def split(stages):
    """Per cent of the engine's time in each stage."""
    total = sum(stages.values())
    return " / ".join(f"{100 * stages[name] / total:.0f}" for name in ("kernel", "product", "factor", "selection"))


def reached(result, wanted):
    return f"{wanted:,} (stopped at {result['steps']:,})" if result["capped"] else f"{wanted:,}"


def row(cell, arguments):
    ours = run([arguments.engine], cell["arguments"], CAP_ENGINE)
    profile = run([arguments.profile], cell["arguments"], CAP_ENGINE)
    columns = [
        cell["title"],
        reached(ours, cell["steps"]) if cell["steps"] else f"{ours['batches']} batches",
        f"{ours['batches']}",
        f"{ours['dictionary_mean']:.0f}",
        f"{ours['regret_ratio']:.3f}" if cell["steps"] else "",
        f"{ours['cpu_seconds']:.3g}",
        f"{1e3 * ours['cpu_seconds'] / ours['batches']:.3g}",
        split(profile["stages"]),
        f"{ours['peak_mb']:.0f}",
        f"{ours['cpu_seconds'] / ours['model_seconds']:.2f}",
    ]
    if "data" in cell and not HAS_YARDSTICK:
        columns += ["needs NumPy and SciPy: tests/bench/requirements.txt", "", ""]
    elif "data" in cell:
        theirs = run([sys.executable, YARDSTICK], cell["arguments"], CAP_YARDSTICK)
        steps = min(ours["steps"], theirs["steps"])
        ratio = cpu_at(theirs, steps) / cpu_at(ours, steps)
        at = f" at step {steps:,}" if ours["capped"] or theirs["capped"] else ""
        same = f"{agreement(ours, theirs):,} of {steps:,}"
        columns += [f"{theirs['cpu_seconds']:.3g}", f"{ratio:.3g}{at}", same]
    else:
        two = run([arguments.engine], [*cell["arguments"], "--threads", 2], 2 * CAP_ENGINE)
        same = agreement(ours, two)
        if same != len(ours["picks"]):
            raise SystemExit(f"{cell['title']}: two threads choose otherwise from pick {same} on")
        serial = two["cpu_seconds"] - two["parallel_seconds"]
        limit = two["cpu_seconds"] / (serial + two["parallel_seconds"] / 2)
        clock = ours["wall_seconds"] / two["wall_seconds"]
        columns += ["", "", f"two threads: {clock:.2f} by the clock, {limit:.2f} by the serial part"]
    return ours, columns


HEAD = (
    *("problem", "T", "batches", "m", "regret ratio", "CPU s", "ms a batch"),
    *("kernel / product / factor / selection, %", "peak MB", "of the model"),
    *("NumPy s", "ratio", "same picks"),
)


def one_at_a_time(engine):
    """Algorithms whose batches are one pick: what an ask costs, from its results to its pick. -> lines of a table"""
    head = ("algorithm, d = 3", "N", "steps", "CPU ms an ask", "of the last 100", "regret ratio", "peak MB")
    lines = ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    print("\n".join(lines), flush=True)
    for algorithm, arms in itertools.product(("s_gp_ts", "pi_gp_ucb"), (10**4, 10**5, 10**6)):
        arguments = ["--arms", arms, "--dimension", 3, "--bandwidth", 1, "--lambda", 0.01, "--ratio-bound", 2]
        ours = run([engine], [*arguments, "--steps", 10000, "--algorithm", algorithm], CAP_ASKS)
        last = ours["curve"][-101:]
        columns = (
            *(algorithm, f"{arms:,}", reached(ours, 10000), f"{1e3 * ours['cpu_seconds'] / ours['steps']:.3g}"),
            f"{1e3 * (last[-1][1] - last[0][1]) / (last[-1][0] - last[0][0]):.3g}",
            *(f"{ours['regret_ratio']:.3f}", f"{ours['peak_mb']:.0f}"),
        )
        lines.append("| " + " | ".join(columns) + " |")
        print(lines[-1], flush=True)
    return lines


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description="The engine's benchmark.")
    parser.add_argument("--engine", type=pathlib.Path, required=True)
    parser.add_argument("--profile", type=pathlib.Path, required=True, help="built with -DBANDIT_PROFILE")
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    print("\n".join(lines), flush=True)
    rates = []
    for cell in cells(arguments.full):
        if "data" in cell and not cell["data"].is_file():
            columns = [cell["title"], "skipped: set BANDITD_DATA to a folder with abalone.csv and cadata.csv"]
        else:
            ours, columns = row(cell, arguments)
            rates.append(ours)
        lines.append("| " + " | ".join(columns) + " |")
        print(lines[-1], flush=True)
    if rates:
        gflops = sorted(r["dgemm_gflops"] for r in rates)
        entries = {d: sorted(r["kernel_entry_ns"] for r in rates if r["dimension"] == d) for d in (8, 20)}
        machine = [
            f"CPU: {cpu_model()}; OpenBLAS core type {rates[0]['blas_core']}, one thread; "
            f"the engine's code path: {rates[0]['code_path']}; load average at the end {os.getloadavg()[1]:.1f} on "
            f"{os.cpu_count()} cores",
            f"dgemm: {gflops[0]:.1f} to {gflops[-1]:.1f} GFLOP/s, median {gflops[len(gflops) // 2]:.1f}",
        ]
        machine += [
            f"kernel entry at d = {d}: {e[0]:.2f} to {e[-1]:.2f} ns, median {e[len(e) // 2]:.2f}"
            for d, e in entries.items()
            if e
        ]
        lines += ["", *(f"- {line}" for line in machine)]
        print("\n".join(lines[-len(machine) - 1 :]))
    lines += one_at_a_time(arguments.engine)
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "engine.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
