"""What is said of runs: quartiles, Wilcoxon's rank sum test over seeds, normalized gaps."""

import numpy as np
from scipy.stats import mannwhitneyu

LEVEL = 0.05


def best_after(rows, budget):
    """The smallest true value of the first so many told trials; None if there were fewer, or all failed."""
    if len(rows) < budget:
        return None
    values = [float(row["value"]) for row in rows[:budget] if row["told"] not in ("", "infeasible")]
    return min(values) if values else None


def quartiles(values):
    return tuple(float(q) for q in np.percentile(values, [25, 50, 75]))


def above(mine, theirs):
    """The chance, were there no difference, of values as much above theirs as mine are (one-sided)."""
    if min(mine) == max(mine) == min(theirs) == max(theirs):
        return 1.0
    return float(mannwhitneyu(mine, theirs, alternative="greater").pvalue)


def verdict(values):
    """{sampler: [value of a seed]} -> {sampler: (median, whether lowest or tied, whether last)}.
    Tied: not significantly above the sampler of the lowest median (and of those the lowest mean). Last: significantly above every other."""
    lowest = min(values, key=lambda name: (np.median(values[name]), np.mean(values[name])))
    found = {}
    for name, mine in values.items():
        tied = name == lowest or above(mine, values[lowest]) >= LEVEL
        last = len(values) > 1 and all(above(mine, other) < LEVEL for n, other in values.items() if n != name)
        found[name] = (float(np.median(mine)), tied, last)
    return found


def gap(task, value):
    """0 is the best candidate, 1 the one in the middle."""
    return (value - task.optimum) / max(task.median - task.optimum, 1e-300)


def rank(task, value):
    """How many candidates are better."""
    return int((task.values < value).sum())
