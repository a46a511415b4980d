"""What the papers report, as rows of runs. `rows(full)` is the list; `full` asks for the papers' sizes."""

import dataclasses
import json
import pathlib
from typing import Any, Callable

import problems

PAPER_CADATA = json.loads((pathlib.Path(__file__).parent / "paper_cadata.json").read_text())


@dataclasses.dataclass
class Series:
    """One curve or one cell of a table: the same settings, several trials."""

    label: str
    problem: tuple[str, Callable[[int], list]]  # a function of problems.py, its arguments for a trial
    algorithm: Callable[[dict], dict]  # given what is known of the function
    steps: int
    trials: int
    noise: Callable[[dict], dict]
    scaling: str = "none"
    in_flight: int = 0
    history: Any = None
    cap: float = 600  # CPU seconds of a run
    predict: bool = False
    paper: dict = dataclasses.field(default_factory=dict)  # what the paper has for it
    paper_size: str = ""


@dataclasses.dataclass
class Row:
    name: str
    source: str  # of the paper
    title: str
    settings: str
    measure: str  # "ratio", "regret", "gap", "batches", "uncertainty", "cost"
    series: list[Series]
    notes: str = ""


def gaussian(std):
    return lambda known: {"type": "gaussian", "std": std}


def known_noise(known):
    return {"type": "gaussian", "std": known["noise_std"]}


def uniform_noise(width):
    return lambda known: {"type": "uniform", "width": width}


# ---- [BBKB] --------------------------------------------------------------------------------------------------

BANDWIDTHS = {  # [BBKB] table 1 and section 5
    "abalone": {"bbkb": 17.5, "bkb": 17.5, "gp_ucb": 5, "igp_ucb": 5, "gp_bucb": 12.5, "async_ts": 10},
    "cadata": {"bbkb": 12.5, "bkb": 12.5, "gp_ucb": 12.5, "igp_ucb": 12.5, "gp_bucb": 12.5, "async_ts": 10},
}


def regression_algorithm(name, bandwidth, std, steps, **more):
    """F = 1, δ = 1/T, q̄ = 2, C̃ = 2, λ the noise variance."""
    algorithm = {"name": name, "kernel": {"type": "gaussian", "lengthscale": bandwidth}}
    algorithm |= {"lambda": std**2, "noise_std": std, "norm_bound": 1, "delta": 1 / steps}
    if name in ("bbkb", "bkb"):
        algorithm["q_bar"] = 2
    if name in ("bbkb", "gp_bucb"):
        algorithm["ratio_bound"] = 2
    if name == "async_ts":
        algorithm["scale"] = 10
    return lambda known: algorithm | more


def regression_series(data, label, name, steps, trials, std=0.1, bandwidth=None, paper=None, **more):
    in_flight = more.pop("in_flight", 30 if name == "async_ts" else 0)
    bandwidth = bandwidth or BANDWIDTHS[data].get(name, 10)
    algorithm = regression_algorithm(name, bandwidth, std, 10000, **more) if name != "uniform" else uniform
    return Series(
        *(label, ("regression", lambda trial: [data]), algorithm, steps, trials, gaussian(std)),
        scaling="standardize",
        in_flight=in_flight,
        paper=paper or {},
        paper_size="T = 10000, 10 runs",
    )


def uniform(known):
    return {"name": "uniform"}


def paper_curve(data, label):
    if data != "cadata":
        return {}
    curves = PAPER_CADATA["curves"]
    return {"ratio": curves.get(f"ratio {label}", {}), "seconds": curves.get(f"time_s {label}", {})}


WIDTHS = (
    "The exact algorithms have less regret here than in the paper, except for GP-UCB, which has more. The reason is their "
    "confidence widths. [CG17] derives B + R√(2(γ + 1 + ln 1/δ)) for λ = 1 + 2/T. With λ = ξ² = 0.01, as here, the same "
    "argument gives R/√λ in place of R, which means ten times more exploration. The rows marked “R/√λ” have this width, and "
    "are nearer to the paper's figures. BBKB's and BKB's widths are stated for any λ. GP-UCB has the width "
    "√(2B² + 300 γ ln³(t/δ)) of its own paper here, and at this size it explores all the time; the [BBKB] figures presumably "
    "have a narrower width. BBKB's own regret is below the paper's by a third to a half. It depends on settings that the "
    "paper leaves open: the noise (the paper's text and curves differ), λ, and the scaling of the features. The settings "
    "here come nearest to the paper."
)


def regression_rows(full):
    rows = []
    exact_steps, exact_trials = (10000, 10) if full else (2000, 3)
    for data in ("cadata", "abalone"):
        size = "A = 20640" if data == "cadata" else "A = 4177"
        series = [
            regression_series(data, "BBKB, global", "bbkb", 10000, 10, paper=paper_curve(data, "Global-BBKB")),
            regression_series(
                *(data, "BBKB, global–local", "bbkb", 10000, 10),
                batch_rule="global_local",
                paper=paper_curve(data, "GlobalLocal-BBKB"),
            ),
            regression_series(data, "BKB", "bkb", exact_steps, exact_trials, paper=paper_curve(data, "BKB")),
            regression_series(data, "GP-UCB", "gp_ucb", exact_steps, exact_trials, paper=paper_curve(data, "GPUCB")),
            regression_series(data, "IGP-UCB", "igp_ucb", exact_steps, exact_trials),
            regression_series(
                data, "GP-BUCB", "gp_bucb", exact_steps, exact_trials, paper=paper_curve(data, "Batch-GPUCB")
            ),
            regression_series(
                data, "async-TS", "async_ts", exact_steps, exact_trials, paper=paper_curve(data, "async-TS")
            ),
            *(
                regression_series(data, f"{label}, R/√λ", name, exact_steps, exact_trials, noise_std=1.0)
                for label, name in (("IGP-UCB", "igp_ucb"), ("GP-BUCB", "gp_bucb"), ("async-TS", "async_ts"))
            ),
            regression_series(data, "uniform", "uniform", 10000, 10),
        ]
        rows.append(
            Row(
                f"bbkb-{data}",
                "[BBKB] figures 1 and 2",
                f"{data.capitalize()}, {size}, d = 8",
                "features standardized, target scaled to [0, 1], Gaussian noise with ξ² = λ = 0.01, F = 1, δ = 10⁻⁴, q̄ = 2, "
                "C̃ = 2, the practical width for BBKB and BKB, bandwidths of the paper's table 1; async-TS in batches "
                "of 30, with its width divided by 10",
                "ratio",
                series,
                WIDTHS,
            )
        )
    for data in ("cadata", "abalone"):
        rows.append(
            Row(
                f"bbkb-{data}-small-noise",
                "[BBKB] figures 1 and 2, with the noise of the paper's text",
                f"{data.capitalize()}, noise of standard deviation 0.01",
                "as above with ξ = 0.01 and λ = ξ² = 10⁻⁴",
                "ratio",
                [
                    regression_series(data, "BBKB, global", "bbkb", 10000, 10 if full else 3, std=0.01),
                    regression_series(data, "uniform", "uniform", 10000, 10 if full else 3, std=0.01),
                ],
            )
        )
    for data, figure in (("abalone", 5), ("cadata", 6)):
        series = []
        for bandwidth in (5, 7.5, 10, 12.5, 15, 17.5):
            for label, name in (
                *(("BBKB", "bbkb"), ("BKB", "bkb"), ("GP-UCB", "gp_ucb"), ("IGP-UCB", "igp_ucb")),
                *(("GP-BUCB", "gp_bucb"), ("async-TS", "async_ts")),
            ):
                steps = 10000 if full or name == "bbkb" else 500
                trials = 10 if full else 3 if name == "bbkb" else 1
                series.append(
                    regression_series(data, f"{label}, {bandwidth:g}", name, steps, trials, bandwidth=bandwidth)
                )
        rows.append(
            Row(
                *(f"bandwidths-{data}", f"[BBKB] figure {figure}", f"{data.capitalize()}, all bandwidths"),
                "as above, with one bandwidth for all algorithms",
                *("bandwidths", series),
            )
        )
    return rows


ARCHITECTURES = (
    "Of the 12416 accuracies in the paper's subset of NAS-Bench-101, only 608 were available, with one evaluation each "
    "instead of three. They are one task, and the complete table of NAS-Bench-201 is another. The noise is Gaussian, and a "
    "batch ends at 4096 picks."
)


def architecture_rows(full):
    rows = []
    trials = 10 if full else 5
    for problem, title, known_before, noise in (
        ("nas_bench_201", "NAS-Bench-201, 15625 architectures, d = 30", 2000, 0.01),
        ("nas_bench_101", "NAS-Bench-101, 608 architectures with four inner nodes, d = 17", 100, 0.01),
    ):
        for history in (known_before, 0):
            bandwidth = 125 if history else 100
            steps = 10000 if problem == "nas_bench_201" else 2000
            series = [
                Series(
                    *(label, (problem, lambda trial: []), algorithm, steps, trials, gaussian(noise)),
                    history=history or None,
                    paper_size="T = 10000, A = 12416, 10 runs",
                )
                for label, algorithm in (
                    ("BBKB, global", architecture_algorithm(bandwidth, "global")),
                    ("BBKB, global–local", architecture_algorithm(bandwidth, "global_local")),
                    ("regularized evolution", lambda known: {"name": "regularized_evolution"}),
                    ("uniform", uniform),
                )
            ]
            rows.append(
                Row(
                    f"{problem.replace('_', '-')}-{history}",
                    "[BBKB] figures 3 and 4" if history else "[BBKB] figures 4 and 7",
                    f"{title}, {history} known at the start",
                    f"accuracy scaled to [0, 1], noise {noise}, λ = ξ² = 10⁻⁴, Gaussian kernel of bandwidth {bandwidth} on "
                    "features of norm at most 1, F = 1, q̄ = 2, C̃ = 2",
                    "batches",
                    series,
                    ARCHITECTURES,
                )
            )
    return rows


def architecture_algorithm(bandwidth, rule):
    algorithm = {"name": "bbkb", "kernel": {"type": "gaussian", "lengthscale": bandwidth}, "batch_rule": rule}
    algorithm |= {"lambda": 1e-4, "noise_std": 0.01, "norm_bound": 1, "delta": 1e-4, "q_bar": 2, "ratio_bound": 2}
    return lambda known: algorithm


# ---- [CG17] --------------------------------------------------------------------------------------------------


def kernelized(label, problem, kernel, steps, trials, paper_size, gamma="bound"):
    names = {"GP-UCB": "gp_ucb", "IGP-UCB": "igp_ucb", "GP-TS": "gp_ts", "GP-EI": "gp_ei", "GP-PI": "gp_pi"}

    def algorithm(known):
        chosen = {"name": names[label], "kernel": kernel, "lambda": known["lambda"], "noise_std": known["noise_std"]}
        if label in ("GP-UCB", "IGP-UCB", "GP-TS"):
            chosen |= {"delta": 0.1, "norm_bound": known.get("norm_bound", 1), "gamma": gamma}
        return chosen

    return Series(label, problem, algorithm, steps, trials, known_noise, paper_size=paper_size)


def kernelized_rows(full):
    rows = []
    labels = ("GP-UCB", "IGP-UCB", "GP-TS", "GP-EI", "GP-PI")
    se, matern = problems.SQUARED_EXPONENTIAL, problems.MATERN_5_2
    settings = "δ = 0.1, R² = λ = 1 % of the range, B the function's norm, γ from the bounds, ℓ = 0.2"
    size = "T = 30000, 25 trials"
    for name, source, title, problem, kernel, trials in (
        ("rkhs-se", "figure 1 (a)", "functions of the RKHS, squared exponential", "rkhs", se, 25),
        ("rkhs-matern", "figure 1 (b)", "functions of the RKHS, Matérn 5/2", "rkhs", matern, 25),
        ("gp-se", "figure 2 (a)", "draws of the process, squared exponential", "gp_draw", se, 25 if full else 10),
        ("gp-matern", "figure 2 (b)", "draws of the process, Matérn 5/2", "gp_draw", matern, 25 if full else 10),
    ):
        rows.append(
            Row(
                *(name, f"[CG17] {source}", f"100 points: {title}", settings, "regret"),
                [
                    kernelized(label, (problem, lambda t, k=kernel: [k, t]), kernel, 30000, trials, size)
                    for label in labels
                ],
            )
        )
    for name, part, title in (("rosenbrock", "a", "Rosenbrock, 200 points"), ("hartmann_3", "b", "Hartmann-3, 300 points")):
        trials = 25 if full else 10
        rows.append(
            Row(
                *(name.replace("_", "-"), f"[CG17] figure 3 ({part})", title, settings, "regret"),
                [
                    kernelized(label, (name, lambda t: [t]), se, 30000 if full else 10000, trials, size)
                    for label in labels
                ],
            )
        )
    rows.append(
        Row(
            *("sensors", "[CG17] figure 4 (a)", "Temperatures of 50 sensors"),
            "the kernel is the empirical covariance of three days, and each function is a half hour of the next two days; "
            "R² = λ = 5 % of the kernel's mean variance, γ = 1, B = 1",
            "regret",
            [
                kernelized(label, ("sensors", lambda t: [t]), {"type": "precomputed"}, 1000, 25, "54 sensors", 1)
                for label in labels
            ],
        )
    )
    return rows


# ---- [JBG20] -------------------------------------------------------------------------------------------------


def partitioned_rows(full):
    rows = []
    paper = {1: (0.11, "82 min", 0.09, "12 min"), 2: (0.71, "118 min", 0.52, "97 s"), 3: (0.97, "30 h", 0.77, "29 min")}
    for d, steps, trials in ((1, 10000, 3), (2, 10000, 3), (3, 2000, 2)):
        if full:
            steps, trials = 10000, 12
        igp, igp_time, pi, pi_time = paper[d]
        rows.append(
            Row(
                *(f"grid-{d}", "[JBG20] table 1" + (", figure 1" if d == 2 else ""), f"Sums of {30 * d} kernels on a grid of 30^{d}"),
                "Matérn 3/2, ℓ = 0.2, noise uniform on [−1, 1], L = 1, λ = 1, δ = 0.1, B the exact norm, γ exact",
                "ratio",
                [
                    partitioned(label, ("matern_sum", lambda t, d=d: [d, t]), steps, trials, 1.0, d, values)
                    for label, values in (
                        ("IGP-UCB", {"ratio": {"10000": igp}, "time": igp_time}),
                        ("π-GP-UCB", {"ratio": {"10000": pi}, "time": pi_time}),
                    )
                ],
            )
        )
    for name in ("branin", "six-hump camel", "ackley", "rosenbrock"):
        rows.append(
            Row(
                *(f"surface-{name.replace(' ', '-')}", "[JBG20] figure 2", f"{name.capitalize()} on a grid of 30²"),
                "outputs scaled to [−1, 1], noise uniform on [−0.1, 0.1], L = 0.1, B = 1, otherwise as above",
                "regret",
                [
                    partitioned(label, ("surface", lambda t, n=name: [n]), 10000 if full else 2000, 12 if full else 5, 0.1, 2, {})
                    for label in ("IGP-UCB", "π-GP-UCB")
                ],
            )
        )
    return rows


def partitioned(label, problem, steps, trials, width, d, paper):
    def algorithm(known):
        chosen = {"name": "igp_ucb" if label == "IGP-UCB" else "pi_gp_ucb", "kernel": problems.MATERN_3_2}
        chosen |= {"lambda": 1, "noise_std": width, "delta": 0.1, "norm_bound": known["norm_bound"]}
        if label != "IGP-UCB":
            q = d * (d + 1) / (d * (d + 2) + 2 * 1.5)
            chosen["initial_cells"] = max(1, round(steps ** (q / d)))  # the cover has about T^q cells
        return chosen

    return Series(label, problem, algorithm, steps, trials, uniform_noise(width), paper=paper, paper_size="T = 10000, 12 runs")


# ---- [BKB] figure 1, [VPA21] table 1 -------------------------------------------------------------------------


def starvation_rows(full):
    series = []
    for n in (6, 63, 215):
        arms = [round(k * 199 / (n - 1)) for k in range(n)]  # on [0, 0.5]
        for label, name, more in (("BKB", "bkb", {"q_bar": 2}), ("exact", "igp_ucb", {})):
            algorithm = {"name": name, "kernel": {"type": "gaussian", "lengthscale": 0.08}, "lambda": 0.01, "noise_std": 0.1}
            series.append(
                Series(
                    *(f"{label}, {n} rewards", ("line", lambda t: [t]), lambda known, a=algorithm | more: a),
                    *(0, 1, gaussian(0.1)),
                    history={"arms": arms},
                    predict=True,
                )
            )
    return [
        Row(
            *("starvation", "[BKB] figure 1", "Uncertainty where there are no rewards"),
            "a draw of a squared exponential process, ℓ = 0.08, rewards on [0, 0.5] only, λ = ξ² = 0.01, q̄ = 2",
            *("uncertainty", series),
        )
    ]


def cost_rows(full):
    sizes = [1000, 10000, 100000] + ([1000000] if full else [])
    series = [
        Series(
            *(f"S-GP-TS, N = {n}", ("smooth", lambda t, n=n: [n])),
            lambda known: {"name": "s_gp_ts", "kernel": {"type": "matern", "nu": 2.5, "lengthscale": 0.3}, "lambda": 0.01, "noise_std": 0.1},
            *(20, 3, gaussian(0.1)),
            in_flight=1,
            history=500,
        )
        for n in sizes
    ]
    series += [
        Series(
            *(f"exact joint sample, N = {n}", ("smooth", lambda t, n=n: [n])),
            lambda known: {"name": "gp_ts", "kernel": {"type": "matern", "nu": 2.5, "lengthscale": 0.3}, "lambda": 0.01, "noise_std": 0.1},
            *(20, 3, gaussian(0.1)),
            history=500,
        )
        for n in (500, 1000, 2000, 4000)
    ]
    return [
        Row(
            *("cost", "[VPA21] table 1", "What a sample costs"),
            "Matérn 5/2 with ℓ = 0.3 on [0, 1]³, 500 rewards known at the start, m = 200 inducing points, M = 1000 features; "
            "the first sample of the exact method includes the factorization of the prior's covariance",
            *("cost", series),
        )
    ]


def rows(full):
    return [
        *regression_rows(full),
        *architecture_rows(full),
        *kernelized_rows(full),
        *partitioned_rows(full),
        *starvation_rows(full),
        *cost_rows(full),
    ]
