"""What a task is. Every task is minimized: tables whose largest value is wanted are turned round when they are read.

A task has *parameters* (as the HTTP API wants them), a *list* of candidates (an array of features, one row each), or
both: then the list has every point of the parameters, and a sampler takes the form that it can use. A point is a
dictionary of parameters or, for a sampler that was given the list, the number of a candidate.

A *condition* says what is told of a point:
  clean       its value
  own         one of the repeated measurements that the table has of it
  tenth       its value and normal noise, a tenth of the spread of the values over the task
  noise       its value and normal noise of the deviation that the task names
  stray       its value, times 1000 with a chance of 2 %
  failed, infeasible   its value, or with a chance of a tenth that the trial failed, or is infeasible
What is told depends on the task, the seed, and the number of the trial only: all samplers meet the same noise."""

import functools
import random

import numpy as np

INFEASIBLE = "infeasible"
FAILED = None
FAULTS = {"stray": 0.02, "failed": 0.1, "infeasible": 0.1}


def spread(values):
    """The standard deviation of the values between the first and the last hundredth: a table of losses may hold a few
    that are a thousand times the rest."""
    low, high = np.percentile(values, [1, 99])
    return float(np.std(np.clip(values, low, high)))


class Task:
    """A function of named parameters.
    optimum: the best value there is, None where nobody knows it (then the best that any run found stands for it)
    noise: the standard deviation under the condition `noise`"""

    def __init__(self, name, parameters, function, optimum, noise=0.0):
        self.name, self.parameters, self.function, self.optimum, self.noise = name, parameters, function, optimum, noise
        self.features = None

    candidates = None  # how many there are

    def value(self, point):
        return self.function(point)

    def told(self, point, condition, seed, trial):
        value, draw = self.value(point), random.Random(f"{self.name} {condition} {seed} {trial}")
        if condition == "noise":
            return value + self.noise * draw.gauss(0, 1)
        if condition == "tenth":
            return value + 0.1 * self.spread * draw.gauss(0, 1)
        if condition in FAULTS and draw.random() < FAULTS[condition]:
            return {"stray": 1000 * value, "failed": FAILED, "infeasible": INFEASIBLE}[condition]
        return value

    @functools.cached_property
    def spread(self):
        """Of a space: over a thousand points drawn evenly."""
        draw = random.Random(self.name)
        return spread([self.function(draw_point(self.parameters, draw)) for _ in range(1000)])

    def key(self, point):
        """What two points have in common when they are the same."""
        return ",".join(f"{value:.12g}" if isinstance(value, float) else str(value) for _, value in sorted(point.items()))


class Table(Task):
    """A finite set.
    values    n, to be minimized: the truth
    features  n x d, what a candidate is known by
    repeated  n x r repeated measurements of each, NaN where there are fewer, or None
    levels    for each parameter its levels, if the candidates are all their combinations (the last varies fastest)"""

    def __init__(self, name, values, features, repeated=None, levels=None):
        parameters = None
        if levels is not None:
            parameters = [parameter_of(word, values_of) for word, values_of in levels.items()]
        super().__init__(name, parameters, None, float(np.min(values)))
        self.values, self.features, self.repeated, self.levels = values, features, repeated, levels
        self.candidates = len(values)
        self.median = float(np.median(values))

    @functools.cached_property
    def spread(self):
        return spread(self.values)

    def number(self, point):
        """Of the candidate at a point."""
        if not isinstance(point, dict):
            return int(point)
        number = 0
        for name, values in self.levels.items():
            place = values.index(point[name]) if isinstance(values[0], str) else int(point[name])
            number = number * len(values) + place
        return number

    def value(self, point):
        return float(self.values[self.number(point)])

    def told(self, point, condition, seed, trial):
        if condition == "own":
            draw = random.Random(f"{self.name} {condition} {seed} {trial}")
            row = self.repeated[self.number(point)]
            return float(draw.choice(row[~np.isnan(row)]))
        return super().told(point, condition, seed, trial)

    def key(self, point):
        return str(self.number(point))


def parameter_of(name, levels):
    """Words are a categorical parameter, numbers an integer one that counts their levels: steps of such grids are
    rarely even, and a number of the level is what every sampler understands."""
    if isinstance(levels[0], str):
        return {"name": name, "type": "categorical", "values": list(levels)}
    return {"name": name, "type": "integer", "min": 0, "max": len(levels) - 1}


def draw_point(parameters, draw):
    """A point by chance, evenly on each parameter's scale."""
    point = {}
    for p in parameters:
        if not is_active(p, point):
            continue
        if p["type"] == "boolean":
            point[p["name"]] = draw.random() < 0.5
        elif p["type"] in ("categorical", "discrete"):
            point[p["name"]] = draw.choice(p["values"])
        elif p["type"] == "integer" and p.get("scale") != "log":
            point[p["name"]] = draw.randint(p["min"], p["max"])
        else:
            point[p["name"]] = draw_number(p, draw)
    return point


def draw_number(p, draw):
    low, high = p["min"], p["max"]
    value = low * (high / low) ** draw.random() if p.get("scale") == "log" else draw.uniform(low, high)
    return round(value) if p["type"] == "integer" else min(max(value, low), high)


def is_active(parameter, point):
    """Whether a conditional parameter is there, given those before it."""
    when = parameter.get("active_when")
    return not when or (when["parameter"] in point and point[when["parameter"]] in when["in"])
