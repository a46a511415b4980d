#!/usr/bin/env python3
"""Writes the golden cases in cases/: all, or those named. tests/golden/check says whether they would change.

A case is a small bandit problem and everything that the reference says about a run on it. Floats are written with
twelve digits. Before a batch the first `told` of the pulls that are out have their rewards, and then the `own`
pulls, which the engine did not choose. Rewards are not random at run time: pull number s of the study, of arm i, earns
rewards[i] + noise[s mod len(noise)].

A run that hangs on a margin below bbkb_reference.SAFE_MARGIN is discarded, and the next seed taken."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from bbkb_reference import NearTie, Options, Study, kernel_matrix, scale_features

FOLDER = Path(__file__).parent / "cases"
PROBES = 5


def gaussian(*lengthscales):
    return {"type": "gaussian", "lengthscales": list(lengthscales)}


def matern(nu, *lengthscales):
    return {"type": "matern", "nu": nu, "lengthscales": list(lengthscales)}


# name: (arms, dimension, scaling, pulls, options, special)
CASES = {
    "gaussian_practical": (90, 3, "none", 150, dict(kernel=gaussian(0.5), lam=0.01), {}),
    "gaussian_small_lambda": (60, 2, "none", 250, dict(kernel=gaussian(0.35), lam=1e-4, noise_std=0.01), {}),
    "gaussian_lambda_1_horizon": (
        80, 4, "standardize", 300,
        dict(kernel=gaussian(2.5), lam=1.0, ratio_bound=5.0, horizon=300, delta=1 / 300),
        {"constant_feature": 2},
    ),
    "matern12_theory": (
        60, 2, "unit", 200,
        dict(kernel=matern(0.5, 0.4, 0.9), lam=1.0, confidence="theory", q_bar=3.0, noise_std=0.2),
        {},
    ),
    "matern32_theory_q_bar": (
        50, 2, "none", 300,
        dict(kernel=matern(1.5, 0.6), lam=1.0, confidence="theory", q_bar_theory=True, ratio_bound=1.5),
        {},
    ),
    "matern52_fixed": (
        70, 3, "none", 200,
        dict(kernel=matern(2.5, 0.7, 0.5, 1.5), lam=0.3, ratio_bound=2.5, confidence="fixed", beta=0.4, q_bar=1.5),
        {},
    ),
    "linear_zero_arm": (
        40, 4, "none", 300,
        dict(kernel={"type": "linear"}, lam=0.5, ratio_bound=3.0),
        {"zero_arm": 7},
    ),
    "duplicates": (60, 2, "none", 250, dict(kernel=gaussian(0.4), lam=0.01), {"copies": 3}),
    "long_batches": (
        24, 2, "none", 2000,
        dict(kernel=gaussian(0.6), lam=1.0, ratio_bound=8.0, noise_std=0.3),
        {},
    ),
    "long_batches_max_batch": (
        24, 2, "none", 3000,
        dict(kernel=matern(2.5, 0.8), lam=4.0, ratio_bound=8.0, max_batch=230, confidence="fixed", beta=0.5),
        {},
    ),
    "ratio_bound_1": (40, 2, "none", 60, dict(kernel=gaussian(0.5), lam=0.1, ratio_bound=1.0), {}),
    "uncertainty_start": (
        50, 2, "none", 250,
        dict(kernel=matern(1.5, 0.8), lam=0.05, init="uncertainty", parallelism=1.5),
        {},
    ),
    "global_local": (60, 2, "none", 250, dict(kernel=gaussian(0.3), lam=0.1, batch_rule="global_local"), {}),
    "persistent": (60, 2, "none", 300, dict(kernel=gaussian(0.4), lam=0.05, resample="persistent"), {}),
    "per_pull": (60, 2, "none", 200, dict(kernel=gaussian(0.4), lam=0.05, resample="per_pull"), {}),
    "precomputed": (40, 0, "none", 180, dict(kernel={"type": "precomputed"}, lam=0.1), {}),
    "asynchronous": (
        60, 2, "none", 300,
        dict(kernel=gaussian(0.4), lam=0.05, ratio_bound=3.0),
        {"told": 0.5},
    ),
    "own_pulls_theory": (
        60, 2, "none", 200,
        dict(kernel=matern(1.5, 0.5), lam=1.0, confidence="theory", q_bar=3.0, noise_std=0.2),
        {"own": [3, 3, 41, 41, 41, 58]},
    ),
    "history": (
        90, 2, "none", 420,
        dict(kernel=gaussian(0.7), lam=0.5, q_bar=1.5),
        {"history": [i % 60 for i in range(240)]},
    ),
    "bkb_practical": (50, 2, "none", 90, dict(algorithm="bkb", kernel=gaussian(0.5), lam=0.05), {}),
    "bkb_theory": (
        50, 2, "none", 70,
        dict(algorithm="bkb", kernel=matern(2.5, 0.6), lam=1.0, confidence="theory", noise_std=0.1),
        {},
    ),
}


def problem(name, seed):
    """Features (or a kernel matrix), mean rewards and noise with three digits, from the case's own stream."""
    n, dimension, scaling, _, _, special = CASES[name]
    rng = np.random.Generator(np.random.PCG64([seed, *name.encode()]))
    case = {"scaling": scaling}
    points = np.round(rng.uniform(-1, 1, (n, dimension or 3)), 3)
    if "copies" in special:
        points = np.tile(points[: n // special["copies"]], (special["copies"], 1))
    if "constant_feature" in special:
        points[:, special["constant_feature"]] = 7.25
    if "zero_arm" in special:
        points[special["zero_arm"]] = 0
    signal = np.sin(2.5 * points[:, 0]) + np.cos(3 * points[:, 1] + 1) - 0.2 * (points**2).sum(axis=1)
    case["rewards"] = np.round(0.5 + 0.25 * signal, 3).tolist()
    case["noise"] = np.round(rng.normal(0, 0.1, 37), 3).tolist()
    if dimension:
        case["features"] = points.tolist()
    else:
        # Integer weights: the matrix is positive semi-definite to the last bit whatever the machine.
        weights = rng.integers(-8, 9, (n, 6))
        case["gram"] = ((weights @ weights.T) / 128 + 0.25 * np.eye(n)).tolist()
    return case


def kernel_of(case, options):
    if "gram" in case:
        return np.array(case["gram"])
    x = scale_features(np.array(case["features"]), case["scaling"])
    return kernel_matrix(options.kernel, x, x)


def run(name, seed):
    _, _, _, pulls, settings, special = CASES[name]
    case = problem(name, seed)
    options = Options(**settings, seed=seed)
    study = Study(kernel_of(case, options), options)
    rewards, noise = case["rewards"], case["noise"]
    n, told = len(rewards), 0

    case["initial"] = [] if "history" in special else study.initial_picks()
    case["probes"] = sorted({i * (n - 1) // (PROBES - 1) for i in range(PROBES)})
    case["batches"] = []
    out = [(arm, 0.0) for arm in case["initial"]]  # arms whose rewards are out, and their variances
    while told < pulls:
        count = max(min(1, len(out)), round(special.get("told", 1.0) * len(out)))
        own = special.get("own", []) if len(case["batches"]) % 4 == 2 else []
        own = special["history"] if told == 0 and "history" in special else own
        joining, out = out[:count] + [(arm, None) for arm in own], out[count:]
        results = [
            (arm, rewards[arm] + noise[(told + i) % len(noise)], variance)
            for i, (arm, variance) in enumerate(joining)
        ]
        told += len(results)
        study.begin_batch(results, [arm for arm, _ in out])
        batch = study.choose()
        out += zip(batch.picks, batch.variances)
        shown = list(range(n)) if told + len(out) >= pulls else case["probes"]
        case["batches"].append(
            {
                "told": count,
                "own": own,
                "dictionary": batch.dictionary,
                "alpha": batch.alpha,
                "log_sum": batch.log_sum,
                "effective_dimension": batch.effective_dimension,
                "information_gain": batch.information_gain,
                "means": batch.mean[shown].tolist(),
                "variances": batch.var[shown].tolist(),
                "sum_means": batch.mean.sum(),
                "sum_variances": batch.var.sum(),
                "picks": batch.picks,
                "ratio": batch.ratio,
                "stop": batch.stop,
            }
        )
        if told + len(out) >= pulls:
            break
    case["options"] = asdict(options)
    return {"name": name, **case}, study.margins


def make(name):
    for seed in range(1, 200):
        try:
            return run(name, seed + (seed << 40))  # both halves of the key
        except NearTie:
            continue
    raise SystemExit(f"{name}: no seed without a near-tie")


def shorten(value):
    if isinstance(value, dict):
        return {k: shorten(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shorten(v) for v in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def encode(case):
    """One line a batch, so that a change shows where it begins."""
    lines = []
    for key, value in case.items():
        if key == "batches":
            inner = ",\n".join(json.dumps(b, separators=(",", ":")) for b in value)
            lines.append(f'"batches":[\n{inner}\n]')
        else:
            lines.append(f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="cases (default: all)")
    names = parser.parse_args().names
    FOLDER.mkdir(exist_ok=True)
    for name in names or CASES:
        case, margins = make(name)
        (FOLDER / f"{name}.json").write_text(encode(shorten(case)))
        sizes = [len(b["picks"]) for b in case["batches"]]
        members = max(len(b["dictionary"]) for b in case["batches"])
        print(f"{name}: {len(sizes)} batches up to {max(sizes)}, dictionary up to {members}, {margins}")
    for stray in [] if names else set(FOLDER.glob("*.json")) - {FOLDER / f"{name}.json" for name in CASES}:
        stray.unlink()


if __name__ == "__main__":
    main()
