"""The papers' tasks as files for run_study: arms or a kernel matrix, and expected rewards.

A problem is named by a function of this module and its arguments; the same name is the same problem on every
machine. What is random in it comes from NumPy's generator, seeded with the trial."""

import json
import math
import os
import pathlib

import numpy as np

DATA = os.environ.get("BANDITD_DATA")


class NotAtHand(Exception):
    """The data that a task needs are not there."""


def rescale(values, low=0.0, high=1.0):
    values = np.asarray(values, float)
    return low + (high - low) * (values - values.min()) / (values.max() - values.min())


def table(name, **options):
    if not DATA:
        raise NotAtHand("BANDITD_DATA is not set")
    path = pathlib.Path(DATA) / name
    if not path.exists():
        raise NotAtHand(f"{name} is not in BANDITD_DATA")
    return np.loadtxt(path, delimiter=",", **options)


def with_points(points, means):
    return {"points": np.asarray(points, float).tolist(), "means": np.asarray(means, float).tolist()}


# ---- kernels ----------------------------------------------------------------------------------------------


def distances(a, b):
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T
    return np.sqrt(np.maximum(squares, 0))


def kernel_matrix(kernel, a, b):
    r = distances(a, b) / kernel["lengthscale"]
    if kernel["type"] == "gaussian":
        return np.exp(-(r**2) / 2)
    if kernel["nu"] == 1.5:
        return (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r)
    assert kernel["nu"] == 2.5
    return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r)


SQUARED_EXPONENTIAL = {"type": "gaussian", "lengthscale": 0.2}
MATERN_5_2 = {"type": "matern", "nu": 2.5, "lengthscale": 0.2}
MATERN_3_2 = {"type": "matern", "nu": 1.5, "lengthscale": 0.2}


# ---- [BBKB]: regression data and architectures ------------------------------------------------------------


def regression(name):
    """Standardized features (the engine's doing), target on [0, 1]."""
    rows = table(f"{name}.csv", skiprows=1)
    return with_points(rows[:, :-1], rescale(rows[:, -1])), {}


def at_most_unit(rows):
    return rows / np.linalg.norm(rows, axis=1).max()


def nas_bench_101():
    """Adjacency and operations, each half scaled to norm at most 1, without the two edges that all have."""
    rows = table("nb101_6v_2ops_subset.csv", skiprows=1)
    adjacency, operations = rows[:, 1:14], rows[:, 15:19]
    return with_points(np.hstack([at_most_unit(adjacency), at_most_unit(operations)]), rescale(rows[:, -1])), {}


def nas_bench_201():
    rows = table("nb201_cifar10val.csv", skiprows=1)
    return with_points(at_most_unit(rows[:, :-1]), rescale(rows[:, -1])), {}


# ---- [CG17] ------------------------------------------------------------------------------------------------


def with_norm(points, f, kernel):
    """R² = λ = 1 % of the range; B the norm of the interpolant that K(K + λI)⁻¹ makes of f."""
    noise_variance = 0.01 * (f.max() - f.min())
    gram = kernel_matrix(kernel, points, points)
    weights = np.linalg.solve(gram + noise_variance * np.eye(len(f)), f)
    norm = math.sqrt(weights @ gram @ weights)
    return with_points(points, f), {"lambda": noise_variance, "noise_std": math.sqrt(noise_variance), "norm_bound": norm}


def draw_of(gram, generator):
    values, vectors = np.linalg.eigh(gram)
    return vectors @ (np.sqrt(np.maximum(values, 0)) * generator.standard_normal(len(values)))


def rkhs(kernel, trial):
    """f = K(K + λI)⁻¹ y, y ~ N(0, K), λ the noise variance: 1 % of f's range."""
    generator = np.random.default_rng([1, trial])
    points = generator.random((100, 1))
    gram = kernel_matrix(kernel, points, points)
    y = draw_of(gram, generator)
    noise_variance = 0.01 * (y.max() - y.min())
    weights = np.linalg.solve(gram + noise_variance * np.eye(100), y)
    f = gram @ weights
    noise_variance = 0.01 * (f.max() - f.min())
    return with_points(points, f), {
        "lambda": noise_variance,
        "noise_std": math.sqrt(noise_variance),
        "norm_bound": math.sqrt(weights @ f),
    }


def gp_draw(kernel, trial):
    generator = np.random.default_rng([2, trial])
    points = generator.random((100, 1))
    return with_norm(points, draw_of(kernel_matrix(kernel, points, points), generator), kernel)


def rosenbrock(trial):
    points = np.random.default_rng([3, trial]).random((200, 2))
    x, y = points.T
    return with_norm(points, 10 - 100 * (y - x**2) ** 2 - (1 - x) ** 2, SQUARED_EXPONENTIAL)


def hartmann_3(trial):
    a = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    p = np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) / 10000
    points = np.random.default_rng([4, trial]).random((300, 3))
    inner = (a[None] * (points[:, None, :] - p[None]) ** 2).sum(2)
    return with_norm(points, np.exp(-inner) @ np.array([1, 1.2, 3, 3.2]), SQUARED_EXPONENTIAL)


def sensors(trial):
    """The covariance of the sensors over the first three days is the kernel; the functions are half hours of the
    two days after, 25 of them, spread. Rewards are readings less the average of all training readings."""
    readings = table("intel_Temperature.csv")
    train, test = readings[:, :144], readings[:, 144:]
    kernel = np.cov(train)
    noise_variance = 0.05 * np.diag(kernel).mean()
    problem = {"kernel": kernel.tolist(), "means": (test[:, trial * 95 // 24] - train.mean()).tolist()}
    return problem, {"lambda": noise_variance, "noise_std": math.sqrt(noise_variance)}


# ---- [JBG20] -----------------------------------------------------------------------------------------------


def grid(d):
    axis = np.linspace(0, 1, 30)
    return np.stack(np.meshgrid(*[axis] * d, indexing="ij"), -1).reshape(-1, d)


def matern_sum(d, trial):
    """f = Σ a_j k(x̂_j, ·), 30 d centres, a uniform on [−1, 1]; B its exact norm."""
    generator = np.random.default_rng([5, d, trial])
    centres, weights = generator.random((30 * d, d)), generator.uniform(-1, 1, 30 * d)
    norm = math.sqrt(weights @ kernel_matrix(MATERN_3_2, centres, centres) @ weights)
    points = grid(d)
    return with_points(points, kernel_matrix(MATERN_3_2, points, centres) @ weights), {"norm_bound": norm}


def surface(name):
    """Four common functions of two variables, upside down, scaled to [−1, 1] over the grid."""
    points = grid(2)
    u, v = points.T
    if name == "branin":
        x, y = 15 * u - 5, 15 * v
        f = (y - 5.1 * x**2 / (4 * np.pi**2) + 5 * x / np.pi - 6) ** 2
        f += 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10
    elif name == "six-hump camel":
        x, y = 6 * u - 3, 4 * v - 2
        f = (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2
    elif name == "ackley":
        x, y = 10 * u - 5, 10 * v - 5
        f = -20 * np.exp(-0.2 * np.sqrt((x**2 + y**2) / 2))
        f -= np.exp((np.cos(2 * np.pi * x) + np.cos(2 * np.pi * y)) / 2)
    else:
        assert name == "rosenbrock"
        x, y = 4.096 * u - 2.048, 4.096 * v - 2.048
        f = 100 * (y - x**2) ** 2 + (1 - x) ** 2
    return with_points(points, rescale(-f, -1, 1)), {"norm_bound": 1.0}


# ---- [BKB] figure 1, [VPA21] table 1 -----------------------------------------------------------------------


def line(trial):
    """A draw of a squared exponential process with lengthscale 0.08 at 400 points of [0, 1]."""
    points = np.linspace(0, 1, 400)[:, None]
    gram = kernel_matrix({"type": "gaussian", "lengthscale": 0.08}, points, points)
    return with_points(points, draw_of(gram, np.random.default_rng([6, trial]))), {}


def smooth(n):
    """n arms in [0, 1]³ with a smooth reward."""
    points = np.random.default_rng([7, n]).random((n, 3))
    return with_points(points, np.sin(5 * points).mean(1)), {}


# ---- files ---------------------------------------------------------------------------------------------------


def write(folder, name, arguments):
    """The problem's file, made if it is not there yet, and what is known of it beside the points: `size`,
    `dimension` (0 for a kernel matrix), and what the function's maker says."""
    made = json.dumps([name, arguments])
    stem = "".join(c if c.isalnum() else "-" for c in made).strip("-")
    path, beside = folder / f"{stem}.json", folder / f"{stem}.known"
    if not beside.exists():
        problem, known = globals()[name](*arguments)
        known["size"] = len(problem["means"])
        known["dimension"] = len(problem["points"][0]) if "points" in problem else 0
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(problem))
        beside.write_text(json.dumps(known))
    return path, json.loads(beside.read_text())
