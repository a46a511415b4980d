"""Six problems whose parameters must keep constraints, all minimized.

A rule is an expression of the server (docs/spaces.md) and a function of the columns that is at most 0 where it holds. The
functions use only arithmetic and powers, so that they serve NumPy and PyTorch. Nothing is measured with noise.

Welded beam, pressure vessel and speed reducer are the engineering problems as in Coello Coello (2000) and Mezura-Montes
and Coello Coello (2005); `best` is their best known value. The other three functions are ours."""

import math

ROOT2 = 2**0.5


class Problem:
    def __init__(self, name, parameters, rules, value, best=None, mixture=False):
        self.name, self.parameters, self.value, self.best = name, parameters, value, best
        self.rules = [rule for rule, _ in rules]
        self.slacks = [slack for _, slack in rules]
        self.mixture = mixture  # all parameters are from 0 to 1 and sum to 1; not in `slacks`

    def names(self):
        return [parameter["name"] for parameter in self.parameters]

    def constraints(self):
        return ([" + ".join(self.names()) + " = 1"] if self.mixture else []) + self.rules

    def keeps(self, x, tolerance=1e-6):
        """Whether a point, as a list, keeps all rules within rounding."""
        fits = not self.mixture or abs(math.fsum(x) - 1) <= 1e-12
        return fits and all(slack(x) <= tolerance for slack in self.slacks)


def number(name, low, high, **more):
    return {"name": name, "type": "double", "min": low, "max": high, **more}


# ---- welded beam: cost; height and length of the weld, height and breadth of the beam ----


def _shear2(x):
    """The square of the shear stress in the weld."""
    h, length, t = x[0], x[1], x[2]
    arm = ((h + t) / 2) ** 2
    direct = 6000 / (ROOT2 * h * length)
    moment, inertia = 6000 * (14 + length / 2), 2 * ROOT2 * h * length * (length**2 / 12 + arm)
    return direct**2 + direct * moment * length / inertia + moment**2 * (length**2 / 4 + arm) / inertia**2


_SHEAR = (
    "sqrt((6000 / (1.4142135623730951*h*l))^2"
    " + 6000 / (1.4142135623730951*h*l) * 6000*(14 + l/2) * l / (2.8284271247461903*h*l*(l^2/12 + ((h + t)/2)^2))"
    " + (6000*(14 + l/2))^2 * (l^2/4 + ((h + t)/2)^2) / (2.8284271247461903*h*l*(l^2/12 + ((h + t)/2)^2))^2) <= 13600"
)
BEAM = Problem(
    "welded beam",
    [number("h", 0.125, 2), number("l", 0.1, 10), number("t", 0.1, 10), number("b", 0.1, 2)],
    [
        (_SHEAR, lambda x: _shear2(x) ** 0.5 / 13600 - 1),
        ("504000 / (b*t^2) <= 30000", lambda x: 504000 / (x[3] * x[2] ** 2) / 30000 - 1),
        ("2.1952 / (t^3*b) <= 0.25", lambda x: 2.1952 / (x[2] ** 3 * x[3]) / 0.25 - 1),
        ("102372.449*(1 - 0.0282346*t)*t*b^3 >= 6000", lambda x: 1 - 102372.449 * (1 - 0.0282346 * x[2]) * x[2] * x[3] ** 3 / 6000),
        ("h <= b", lambda x: x[0] - x[3]),
        ("0.10471*h^2 + 0.04811*t*b*(14 + l) <= 5", lambda x: (0.10471 * x[0] ** 2 + 0.04811 * x[2] * x[3] * (14 + x[1])) / 5 - 1),
    ],
    lambda x: 1.10471 * x[0] ** 2 * x[1] + 0.04811 * x[2] * x[3] * (14 + x[1]),
    best=1.724852,
)

# ---- pressure vessel: cost; thickness of shell and head in sixteenths of an inch, radius, length ----

VESSEL = Problem(
    "pressure vessel",
    [number("shell", 0.0625, 6.1875, step=0.0625), number("head", 0.0625, 6.1875, step=0.0625), number("r", 10, 200), number("l", 10, 200)],
    [
        ("shell >= 0.0193*r", lambda x: 0.0193 * x[2] - x[0]),
        ("head >= 0.00954*r", lambda x: 0.00954 * x[2] - x[1]),
        (
            "3.141592653589793*r^2*l + 4.1887902047863905*r^3 >= 1296000",
            lambda x: 1 - (math.pi * x[2] ** 2 * x[3] + 4 / 3 * math.pi * x[2] ** 3) / 1296000,
        ),
    ],
    lambda x: 0.6224 * x[0] * x[2] * x[3] + 1.7781 * x[1] * x[2] ** 2 + 3.1661 * x[0] ** 2 * x[3] + 19.84 * x[0] ** 2 * x[2],
    best=6059.714,
)

# ---- speed reducer: weight; face width, module, teeth, two lengths, two diameters ----

REDUCER = Problem(
    "speed reducer",
    [
        number("b", 2.6, 3.6),
        number("m", 0.7, 0.8),
        {"name": "z", "type": "integer", "min": 17, "max": 28},
        number("l1", 7.3, 8.3),
        number("l2", 7.3, 8.3),
        number("d1", 2.9, 3.9),
        number("d2", 5, 5.5),
    ],
    [
        ("27 / (b*m^2*z) <= 1", lambda x: 27 / (x[0] * x[1] ** 2 * x[2]) - 1),
        ("397.5 / (b*m^2*z^2) <= 1", lambda x: 397.5 / (x[0] * x[1] ** 2 * x[2] ** 2) - 1),
        ("1.93*l1^3 / (m*z*d1^4) <= 1", lambda x: 1.93 * x[3] ** 3 / (x[1] * x[2] * x[5] ** 4) - 1),
        ("1.93*l2^3 / (m*z*d2^4) <= 1", lambda x: 1.93 * x[4] ** 3 / (x[1] * x[2] * x[6] ** 4) - 1),
        (
            "sqrt((745*l1/(m*z))^2 + 16900000) / (110*d1^3) <= 1",
            lambda x: ((745 * x[3] / (x[1] * x[2])) ** 2 + 16.9e6) ** 0.5 / (110 * x[5] ** 3) - 1,
        ),
        (
            "sqrt((745*l2/(m*z))^2 + 157500000) / (85*d2^3) <= 1",
            lambda x: ((745 * x[4] / (x[1] * x[2])) ** 2 + 157.5e6) ** 0.5 / (85 * x[6] ** 3) - 1,
        ),
        ("m*z <= 40", lambda x: x[1] * x[2] / 40 - 1),
        ("5*m <= b", lambda x: 5 * x[1] - x[0]),
        ("b <= 12*m", lambda x: x[0] - 12 * x[1]),
        ("1.5*d1 + 1.9 <= l1", lambda x: 1.5 * x[5] + 1.9 - x[3]),
        ("1.1*d2 + 1.9 <= l2", lambda x: 1.1 * x[6] + 1.9 - x[4]),
    ],
    lambda x: 0.7854 * x[0] * x[1] ** 2 * (3.3333 * x[2] ** 2 + 14.9334 * x[2] - 43.0934)
    - 1.508 * x[0] * (x[5] ** 2 + x[6] ** 2)
    + 7.4777 * (x[5] ** 3 + x[6] ** 3)
    + 0.7854 * (x[3] * x[5] ** 2 + x[4] * x[6] ** 2),
    best=2994.471,
)

# ---- a mixture of five in descending order: a Scheffé polynomial ----

_LINEAR = (3.0, 2.0, 5.0, 4.0, 1.0)
_PAIRS = {(0, 1): -9.0, (0, 2): 4.0, (1, 2): -12.0, (0, 3): -6.0, (2, 4): -18.0, (1, 3): 7.0, (3, 4): -5.0}


def _mixture(x):
    return sum(c * x[i] for i, c in enumerate(_LINEAR)) + sum(c * x[i] * x[j] for (i, j), c in _PAIRS.items())


MIXTURE = Problem(
    "mixture of five",
    [number(name, 0, 1) for name in "abcde"],
    [(f"{p} >= {q}", lambda x, i=i: x[i + 1] - x[i]) for i, (p, q) in enumerate(zip("abcd", "bcde"))],
    _mixture,
    mixture=True,
)

# ---- a tuning space of matrix multiplication, with the rules of tiles; an invented time ----

_GEMM = {
    "mwg": (16, 32, 64, 128),
    "nwg": (16, 32, 64, 128),
    "kwg": (16, 32),
    "mdimc": (8, 16, 32),
    "ndimc": (8, 16, 32),
    "vwm": (1, 2, 4, 8),
    "vwn": (1, 2, 4, 8),
    "strm": (0, 1),
    "strn": (0, 1),
    "unroll": (2, 4, 8, 16),
}


def _gemm_time(x):
    mwg, nwg, kwg, mdimc, ndimc, vwm, vwn, strm, strn, unroll = (math.log2(v) if v > 1 else v for v in x)
    work = mwg + nwg - mdimc - ndimc  # elements of a thread
    threads = mdimc + ndimc
    return (
        10
        + (work - 4.5) ** 2
        + 1.5 * (threads - 7.5) ** 2
        + 0.8 * (vwm - 2) ** 2 * (1 + strm)
        + 0.6 * (vwn - 1) ** 2 * (2 - strn)
        + 0.7 * (mwg - nwg) ** 2
        + abs(unroll - kwg + 2)
        + (0.5 if strm != strn else 0)
    )


GEMM = Problem(
    "GEMM tuning",
    [{"name": name, "type": "discrete", "values": list(values)} for name, values in _GEMM.items()],
    [
        ("mwg >= mdimc*vwm", lambda x: x[3] * x[5] - x[0]),
        ("nwg >= ndimc*vwn", lambda x: x[4] * x[6] - x[1]),
        ("mdimc*ndimc <= 512", lambda x: x[3] * x[4] - 512),
        ("mdimc*ndimc >= kwg", lambda x: x[2] - x[3] * x[4]),
        ("unroll <= kwg", lambda x: x[9] - x[2]),
        ("4*kwg*(mwg + nwg) <= 24576", lambda x: 4 * x[2] * (x[0] + x[1]) - 24576),
    ],
    _gemm_time,
)

# ---- Ackley's function on a simplex of ten, its minimum inside ----

_CENTRE = [(1 + i % 5) / 30 for i in range(10)]


def _ackley(x):
    z = [10 * (x[i] - c) for i, c in enumerate(_CENTRE)]
    mean = sum(v**2 for v in z) / 10
    waves = sum(math.cos(2 * math.pi * float(v)) for v in z) / 10
    return -20 * math.exp(-0.2 * float(mean) ** 0.5) - math.exp(waves) + 20 + math.e


ACKLEY = Problem("Ackley-10 on a simplex", [number(f"x{i}", 0, 1) for i in range(10)], [], _ackley, best=0.0, mixture=True)

PROBLEMS = [BEAM, VESSEL, REDUCER, MIXTURE, GEMM, ACKLEY]
