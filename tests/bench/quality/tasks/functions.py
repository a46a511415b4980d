"""Sixteen spaces: twelve textbook functions, three of them with noise as well, two made up learners, two measurements."""

import ctypes
import functools
import itertools
import json
import lzma
import math
import pathlib
import random
import subprocess

from tasks.task import Task


def box(d, low, high):
    return [{"name": f"x{i}", "type": "double", "min": low, "max": high} for i in range(d)]


def of_list(function):
    """Of the numbers x0, x1, …"""
    return lambda parameters: function([parameters[f"x{i}"] for i in range(len(parameters))])


# ---- functions -------------------------------------------------------------------------------------------


def branin(x):
    e = x[1] - 5.1 * x[0] ** 2 / (4 * math.pi**2) + 5 * x[0] / math.pi - 6
    return e * e + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10


H3_A = [[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]]
H3_P = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
H6_A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
H6_P = [
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
]


def hartmann(a, p, x):
    total = 0.0
    for weight, row, centre in zip((1, 1.2, 3, 3.2), a, p):
        total -= weight * math.exp(-sum(k * (v - c / 1e4) ** 2 for k, v, c in zip(row, x, centre)))
    return total


def ackley(x):
    squares = sum(v * v for v in x) / len(x)
    waves = sum(math.cos(2 * math.pi * v) for v in x) / len(x)
    return -20 * math.exp(-0.2 * math.sqrt(squares)) - math.exp(waves) + 20 + math.e


def rosenbrock(x):
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def levy(x):
    w = [1 + (v - 1) / 4 for v in x]
    inner = sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
    return math.sin(math.pi * w[0]) ** 2 + inner + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)


def griewank(x):
    product = math.prod(math.cos(v / math.sqrt(i + 1)) for i, v in enumerate(x))
    return sum(v * v for v in x) / 4000 - product + 1


def styblinski(x):
    return sum(v**4 - 16 * v * v + 5 * v for v in x) / 2


def michalewicz(x):
    return -sum(math.sin(v) * math.sin((i + 1) * v * v / math.pi) ** 20 for i, v in enumerate(x))


# ---- spaces that are no boxes ----------------------------------------------------------------------------

MIXED = [
    {"name": "family", "type": "categorical", "values": ["tree", "linear", "kernel", "net"]},
    {"name": "loss", "type": "categorical", "values": ["square", "absolute", "huber"]},
    {"name": "depth", "type": "integer", "min": 1, "max": 12},
    {"name": "units", "type": "integer", "min": 4, "max": 512, "scale": "log"},
    {"name": "rate", "type": "double", "min": 1e-5, "max": 1, "scale": "log"},
    {"name": "decay", "type": "double", "min": 1e-8, "max": 1e-1, "scale": "log"},
    {"name": "dropout", "type": "double", "min": 0, "max": 0.9},
]


def mixed(p):
    """A learner's error: every family has a best rate, depth and size of its own, and they interact."""
    family = MIXED[0]["values"].index(p["family"])
    loss = MIXED[1]["values"].index(p["loss"])
    rate, decay, units = math.log10(p["rate"]), math.log10(p["decay"]), math.log2(p["units"])
    error = (0.20, 0.34, 0.24, 0.12)[family] + (0.0, 0.05, 0.02)[(loss + family) % 3]
    error += 0.05 * (rate - (-2.0, -1.0, -3.0, -2.5)[family] + 0.1 * (p["depth"] - 6)) ** 2
    error += 0.004 * (p["depth"] - (8, 2, 5, 6)[family]) ** 2
    error += 0.01 * (units - (5, 4, 8, 7)[family]) ** 2 * (0.5 + p["dropout"])
    error += 0.3 * (p["dropout"] - (0.0, 0.1, 0.2, 0.35)[family]) ** 2 + 0.006 * (decay + 5 - 0.5 * family) ** 2
    return error


CONDITIONAL = [
    {"name": "optimizer", "type": "categorical", "values": ["sgd", "adam", "lbfgs"]},
    {"name": "rate", "type": "double", "min": 1e-6, "max": 1, "scale": "log",
     "active_when": {"parameter": "optimizer", "in": ["sgd", "adam"]}},
    {"name": "momentum", "type": "double", "min": 0, "max": 0.99, "active_when": {"parameter": "optimizer", "in": ["sgd"]}},
    {"name": "nesterov", "type": "boolean", "active_when": {"parameter": "optimizer", "in": ["sgd"]}},
    {"name": "beta", "type": "double", "min": 0.5, "max": 0.999, "active_when": {"parameter": "optimizer", "in": ["adam"]}},
    {"name": "memory", "type": "integer", "min": 1, "max": 50, "active_when": {"parameter": "optimizer", "in": ["lbfgs"]}},
    {"name": "penalty", "type": "double", "min": 1e-6, "max": 1, "scale": "log"},
]  # fmt: skip


def conditional(p):
    """Three optimizers with parameters of their own, one penalty for all."""
    error = 0.02 * (math.log10(p["penalty"]) + 3.3) ** 2
    if p["optimizer"] == "sgd":
        error += 0.10 + 0.06 * (math.log10(p["rate"]) + 1.2 + 2 * p["momentum"]) ** 2 + 0.4 * (p["momentum"] - 0.85) ** 2
        return error - (0.02 if p["nesterov"] else 0.0)
    if p["optimizer"] == "adam":
        return error + 0.11 + 0.08 * (math.log10(p["rate"]) + 2.7) ** 2 + 0.8 * (p["beta"] - 0.9) ** 2
    return error + 0.16 + 0.0001 * (p["memory"] - 17) ** 2


# ---- two that are real -----------------------------------------------------------------------------------

COMPRESSION = [
    {"name": "mode", "type": "categorical", "values": ["fast", "normal"]},
    {"name": "finder", "type": "categorical", "values": ["hc3", "hc4", "bt2", "bt3", "bt4"]},
    {"name": "dictionary", "type": "integer", "min": 4096, "max": 1048576, "scale": "log"},
    {"name": "nice", "type": "integer", "min": 8, "max": 273, "scale": "log"},
    {"name": "depth", "type": "integer", "min": 1, "max": 200, "scale": "log"},
    {"name": "lc", "type": "integer", "min": 0, "max": 4},
    {"name": "lp", "type": "integer", "min": 0, "max": 4},
    {"name": "pb", "type": "integer", "min": 0, "max": 4},
    {"name": "delta", "type": "boolean"},
    {"name": "distance", "type": "integer", "min": 1, "max": 16, "active_when": {"parameter": "delta", "in": [True]}},
]


@functools.cache
def generated_file():
    """60 kB of what data are like: records of six bytes that drift, and text of a small vocabulary."""
    draw = random.Random(7)
    records, state = bytearray(), [0, 0, 0]
    for _ in range(6000):
        state = [(v + draw.randrange(-3, 4)) % 65536 for v in state]
        records += b"".join(v.to_bytes(2, "little") for v in state)
    words = ["".join(draw.choice("etaoinshrdlu") for _ in range(draw.randrange(2, 9))) for _ in range(300)]
    text = " ".join(words[min(int(draw.expovariate(0.02)), 299)] for _ in range(4000))
    return bytes(records) + text.encode()


@functools.cache
def compressed(mode, finder, dictionary, nice, depth, lc, lp, pb, distance):
    filters = [{"id": lzma.FILTER_DELTA, "dist": distance}] if distance else []
    filters.append({
        "id": lzma.FILTER_LZMA2,
        "mode": {"fast": lzma.MODE_FAST, "normal": lzma.MODE_NORMAL}[mode],
        "mf": getattr(lzma, f"MF_{finder.upper()}"),
        "dict_size": dictionary, "nice_len": nice, "depth": depth, "lc": lc, "lp": min(lp, 4 - lc), "pb": pb,
    })  # fmt: skip
    return len(lzma.compress(generated_file(), lzma.FORMAT_RAW, filters=filters)) / len(generated_file())


def compression(p):
    """Share of the size that is left of a generated file."""
    names = ("mode", "finder", "dictionary", "nice", "depth", "lc", "lp", "pb")
    return compressed(*(p[name] for name in names), p["distance"] if p["delta"] else 0)


BLOCKS = [8, 16, 32, 64, 128, 256]
PRODUCT = [
    {"name": "order", "type": "categorical", "values": ["ijk", "ikj", "jik", "jki", "kij", "kji"]},
    {"name": "bi", "type": "discrete", "values": BLOCKS},
    {"name": "bj", "type": "discrete", "values": BLOCKS},
    {"name": "bk", "type": "discrete", "values": BLOCKS},
    {"name": "packed", "type": "boolean"},
]


class Product:
    """Seconds of a blocked matrix product, by measurement. Every point is measured once, before the first run,
    and kept: all samplers see the same machine, and a busy neighbour spoils no comparison."""

    def __init__(self, folder):
        self.folder, self.table = folder, None

    def measure(self):
        source = pathlib.Path(__file__).with_name("product.c")
        library = self.folder / "product.so"
        subprocess.run(["cc", "-O2", "-fPIC", "-shared", source, "-o", library], check=True)
        product = ctypes.CDLL(str(library)).seconds_of_product
        product.restype = ctypes.c_double
        rows = itertools.product(range(6), BLOCKS, BLOCKS, BLOCKS, (0, 1))
        return {",".join(map(str, row)): min(product(*row) for _ in range(3)) for row in rows}

    def __call__(self, p):
        kept = self.folder / "product.json"
        if self.table is None and not kept.exists():
            unfinished = kept.with_suffix(".new")
            unfinished.write_text(json.dumps(self.measure()))
            unfinished.rename(kept)
        if self.table is None:
            self.table = json.loads(kept.read_text())
        order = PRODUCT[0]["values"].index(p["order"])
        row = (order, int(p["bi"]), int(p["bj"]), int(p["bk"]), int(p["packed"]))
        return 1e3 * self.table[",".join(map(str, row))]


# ---- all of them -----------------------------------------------------------------------------------------


NAMES = (
    "branin", "hartmann3", "hartmann6", "ackley5", "rosenbrock4", "levy6", "griewank5", "styblinski5", "michalewicz5",
    "mixed", "conditional", "branin-noise", "hartmann6-noise", "ackley5-noise", "compression", "product",
)  # fmt: skip


@functools.cache
def all_tasks(folder):
    """folder: where what is measured once is kept."""
    hartmann3 = functools.partial(hartmann, H3_A, H3_P)
    hartmann6 = functools.partial(hartmann, H6_A, H6_P)
    plane = [{"name": "x0", "type": "double", "min": -5, "max": 10}, {"name": "x1", "type": "double", "min": 0, "max": 15}]
    pi = math.pi
    tasks = [
        Task("branin", plane, of_list(branin), 0.39788735772973816),
        Task("hartmann3", box(3, 0, 1), of_list(hartmann3), -3.8627797869493365),
        Task("hartmann6", box(6, 0, 1), of_list(hartmann6), -3.322368011415515),
        Task("ackley5", box(5, -32.768, 32.768), of_list(ackley), 0.0),
        Task("rosenbrock4", box(4, -5, 10), of_list(rosenbrock), 0.0),
        Task("levy6", box(6, -10, 10), of_list(levy), 0.0),
        Task("griewank5", box(5, -600, 600), of_list(griewank), 0.0),
        Task("styblinski5", box(5, -5, 5), of_list(styblinski), -39.16616570377142 * 5),
        Task("michalewicz5", box(5, 0, pi), of_list(michalewicz), -4.687658179088),
        Task("mixed", MIXED, mixed, None),
        Task("conditional", CONDITIONAL, conditional, None),
        # noise: 5 % of the range over the space
        Task("branin-noise", plane, of_list(branin), 0.39788735772973816, noise=15.4),
        Task("hartmann6-noise", box(6, 0, 1), of_list(hartmann6), -3.322368011415515, noise=0.166),
        Task("ackley5-noise", box(5, -32.768, 32.768), of_list(ackley), 0.0, noise=1.1),
        Task("compression", COMPRESSION, compression, None),
        Task("product", PRODUCT, Product(folder), None),
    ]
    return {task.name: task for task in tasks}
