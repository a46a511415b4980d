"""Problems with several objectives, and with outcomes that must keep bounds. All objectives are minimized.

A problem measures a point, a list of numbers within `bounds`, as its objectives, then its constraints, which hold where
they are at most 0. `reference`: the worst values of interest, given to every sampler that takes them. `best`: the largest
hypervolume or the smallest feasible value, from the literature or a closed form; None: unknown.

Branin-Currin, ZDT1, DTLZ2 and vehicle safety are scaled as in BoTorch's test functions; the four-bar truss is RE2-4-1 and
the vehicle RE3-5-4 of Tanabe and Ishibuchi (2020). Gardner's two are of Gardner et al. (2014). Welded beam and speed reducer
are those of ../constrained, here with their rules as outcomes. The two tables are settings of a neural network, of which one is
sought that is good on two data sets (LCBench, Zimmer et al. 2021)."""

import json
import math
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "constrained"))
from problems import BEAM, REDUCER  # noqa: E402

ROOT2 = 2**0.5


class Problem:
    def __init__(self, name, bounds, measure, objectives=1, constraints=0, reference=None, best=None, listed=0, whole=()):
        self.name, self.bounds, self.measure = name, bounds, measure
        self.objectives, self.constraints = objectives, constraints
        self.reference, self.best = reference, best
        self.listed = listed  # so many points of a Halton sequence are all there is; 0: a space
        self.whole = whole  # coordinates that are whole numbers

    def points(self):
        """Of a list."""
        return [self.at([_halton(i, p) for p in (2, 3, 5, 7, 11)[: len(self.bounds)]]) for i in range(1, self.listed + 1)]

    def at(self, unit):
        x = [low + u * (high - low) for u, (low, high) in zip(unit, self.bounds)]
        return [float(round(v)) if i in self.whole else v for i, v in enumerate(x)]


class Table(Problem):
    """The settings of LCBench as a list, and their errors on two data sets. `load` comes before all else."""

    def __init__(self, first, second):
        super().__init__(f"LCBench: {first}, {second}", [], self._look_up, 2, listed=2000)
        self.data_sets = [first, second]

    def load(self, path):
        rows = json.loads(path.read_text())
        width = len(rows[0]) - 2
        columns = list(zip(*rows))
        self.bounds = [(min(c), max(c)) for c in columns[:width]]
        self.reference = [statistics.median(c) for c in columns[width:]]  # half of the settings are of no interest
        self._points = [row[:width] for row in rows]
        self._errors = [row[width:] for row in rows]

    def points(self):
        return self._points

    def _look_up(self, x):
        """x may have been scaled and scaled back."""
        away = [sum(((a - b) / (high - low)) ** 2 for a, b, (low, high) in zip(x, p, self.bounds)) for p in self._points]
        nearest = min(range(len(away)), key=away.__getitem__)
        assert away[nearest] < 1e-12, x
        return self._errors[nearest]


def _halton(i, base):
    share, value = 1.0, 0.0
    while i > 0:
        share /= base
        value += share * (i % base)
        i //= base
    return value


def _branin_currin(x):
    a, b = 15 * x[0] - 5, 15 * x[1]
    t = b - 5.1 / (4 * math.pi**2) * a * a + 5 / math.pi * a - 6
    share = 1 - math.exp(-0.5 / x[1]) if x[1] > 0 else 1
    top = ((2300 * x[0] + 1900) * x[0] + 2092) * x[0] + 60
    return [t * t + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10, share * top / (((100 * x[0] + 500) * x[0] + 4) * x[0] + 20)]


def _zdt1(x):
    g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
    return [x[0], g * (1 - (x[0] / g) ** 0.5)]


def _dtlz2(k):
    def measure(x):
        g = 1 + sum((v - 0.5) ** 2 for v in x[k - 1 :])
        values = []
        for j in range(k):
            value = g * math.prod(math.cos(v * math.pi / 2) for v in x[: k - 1 - j])
            values.append(value * math.sin(x[k - 1 - j] * math.pi / 2) if j else value)
        return values

    return measure


def _vehicle(x):
    a, b, c, d, e = x
    return [
        1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e,
        6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d + 0.0861 * a * e + 0.3628 * b * d
        - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2,
        -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c - 0.0118 * b * d - 0.0204 * c * d
        - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2,
    ]  # fmt: skip


def _truss(x):
    volume = 200 * (2 * x[0] + ROOT2 * x[1] + x[2] ** 0.5 + x[3])
    return [volume, 0.01 * (2 / x[0] + 2 * ROOT2 / x[1] - 2 * ROOT2 / x[2] + 2 / x[3])]


def _gardner1(x):
    return [math.cos(2 * x[0]) * math.cos(x[1]) + math.sin(x[0]), math.cos(x[0]) * math.cos(x[1]) - math.sin(x[0]) * math.sin(x[1]) - 0.5]


def _gardner2(x):
    return [math.sin(x[0]) + x[1], math.sin(x[0]) * math.sin(x[1]) + 0.95]


_ALPHA = (1.0, 1.2, 3.0, 3.2)
_A = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
_P = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)


def _hartmann(x):
    total = sum(c * math.exp(-sum(a * (v - p) ** 2 for a, p, v in zip(_A[i], _P[i], x))) for i, c in enumerate(_ALPHA))
    return [-total, math.hypot(*x) - 1]


def _beam(x):
    return [BEAM.value(x), *(slack(x) for slack in BEAM.slacks)]


def _reducer(x):
    slacks = [slack(x) for slack in REDUCER.slacks]
    return [REDUCER.value(x), *slacks[:6], max(slacks[6:])]  # the last five are of the shape alone


def _spring(x):
    d, wide, coils = x
    return [
        (coils + 2) * wide * d**2,
        1 - wide**3 * coils / (71785 * d**4),
        (4 * wide**2 - d * wide) / (12566 * (wide * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
        1 - 140.45 * d / (wide**2 * coils),
        (wide + d) / 1.5 - 1,
    ]


def _box(problem):
    return [(p["min"], p["max"]) for p in problem.parameters]


UNIT = (0, 1)
VEHICLE = ([(1, 3)] * 5, _vehicle, 3, 0, (1864.72022, 11.81993945, 0.2903999384))
PROBLEMS = [
    Problem("Branin-Currin", [UNIT] * 2, _branin_currin, 2, 0, (18, 6), 59.36),
    Problem("ZDT1", [UNIT] * 6, _zdt1, 2, 0, (1.1, 1.1), 1.21 - 1 / 3),
    Problem("DTLZ2, 2 objectives", [UNIT] * 6, _dtlz2(2), 2, 0, (1.1, 1.1), 1.21 - math.pi / 4),
    Problem("DTLZ2, 3 objectives", [UNIT] * 6, _dtlz2(3), 3, 0, (1.1,) * 3, 1.331 - math.pi / 6),
    Problem("vehicle safety", *VEHICLE, 246.816),
    Problem("four-bar truss", [(1, 3), (ROOT2, 3), (ROOT2, 3), (1, 3)], _truss, 2, 0, (2800, 0.04)),
    Problem("list of 20 000 vehicles", *VEHICLE, listed=20000),
    Table("adult", "airlines"),
    Table("Amazon_employee_access", "higgs"),
    Problem("Gardner 1", [(0, 6)] * 2, _gardner1, 1, 1, best=-2.0),
    Problem("Gardner 2", [(0, 6)] * 2, _gardner2, 1, 1, best=0.253236),
    Problem("Hartmann-6, norm at most 1", [UNIT] * 6, _hartmann, 1, 1, best=-3.32237),
    Problem("welded beam", _box(BEAM), _beam, 1, 6, best=BEAM.best),
    Problem("speed reducer", _box(REDUCER), _reducer, 1, 7, best=REDUCER.best, whole=(2,)),
    Problem("tension spring", [(0.05, 2), (0.25, 1.3), (2, 15)], _spring, 1, 4, best=0.012665),
]
