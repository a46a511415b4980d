#!/usr/bin/env python3
"""On how many problems is each sampler best or tied? run.py pipes its runs to this in the environment `tasks`.

Best or tied: it has the best median over the seeds, or is not significantly worse than the sampler that has (rank sum test,
one-sided, 5 %, as in ../quality/stats.py). Of a sampler with fewer than three seeds nothing is said."""

import collections
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "quality"))
import stats  # noqa: E402

LEAST_SEEDS = 3
FARTHEST = 1e300  # stands for no feasible value


def by_cell(runs):
    """{(problem, trials): {sampler: [how bad each seed is]}}"""
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in runs:
        for trials, reached in run["reached"].items():
            worse = min(-reached if run["larger_is_better"] else reached, FARTHEST)
            cells[run["problem"], int(trials)][run["sampler"]].append(worse)
    for cell, values in cells.items():
        yield cell, {name: v for name, v in values.items() if len(v) >= LEAST_SEEDS}


def main():
    good, ran, behind = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for (problem, trials), values in by_cell(json.load(sys.stdin)):
        for name, (_, tied, _) in (stats.verdict(values) if len(values) > 1 else {}).items():
            ran[name, trials] += 1
            good[name, trials] += tied
            if not tied:
                behind[name, trials].append(problem)
    for name, trials in sorted(ran):
        rest = "; ".join(behind[name, trials])
        print(f"- {name}, best or tied after {trials}: {good[name, trials]} of {ran[name, trials]}" + (f" (not {rest})" if rest else ""))


if __name__ == "__main__":
    main()
