"""Rejection: points of the box until one keeps the rules. Of a mixture, all numbers but the last are drawn, and the last
one makes the sum 1."""

import itertools

import numpy as np

AT_ONCE, PATIENCE = 20000, 2000


def _columns(problem, rng, n):
    columns = []
    for parameter in problem.parameters:
        if "values" in parameter:
            columns.append(rng.choice(np.array(parameter["values"], float), n))
        elif parameter["type"] == "integer":
            columns.append(rng.integers(parameter["min"], parameter["max"] + 1, n).astype(float))
        else:
            step = parameter.get("step")
            draw = rng.random(n) * (parameter["max"] - parameter["min"])
            draw = np.floor(rng.random(n) * (round((parameter["max"] - parameter["min"]) / step) + 1)) * step if step else draw
            columns.append(parameter["min"] + draw)
    if problem.mixture:
        columns[-1] = 1 - sum(columns[:-1])
    return columns


def _of_mixture(problem, rng, n):
    """As evenly over the mixtures as what rejection leaves of `_columns`, without rejecting anything for the sum."""
    return list(rng.dirichlet(np.ones(len(problem.parameters)), n).T)


def allowed_points(problem, rng, draw=_columns):
    """An endless sequence of points that keep the rules; None after 4e7 attempts without one."""
    while True:
        for attempt in range(PATIENCE):
            columns = draw(problem, rng, AT_ONCE)
            keeps = columns[-1] >= 0 if problem.mixture else np.ones(AT_ONCE, bool)
            for slack in problem.slacks:
                keeps &= slack(columns) <= 0
            found = np.flatnonzero(keeps)
            if len(found):
                break
        else:
            yield None
            return
        yield from (tuple(float(column[i]) for column in columns) for i in found)


def some_allowed(problem, rng, n):
    points = allowed_points(problem, rng, _of_mixture if problem.mixture else _columns)
    return [point for point in itertools.islice(points, n) if point]
