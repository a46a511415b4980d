#!/usr/bin/env python3
"""BBKB as one writes it in NumPy and SciPy: the yardstick that the engine's speed is held against.

It follows the equations of Calandriello et al., ICML 2020 (arXiv 2002.09954) the ordinary way. At every batch all
arms are embedded through the pseudo-inverse square root of the dictionary's kernel matrix (eq. 1), and all means
and variances are computed from the embedding (eq. 2, 3). Inside a batch it is as lazy as the authors' program: the
arm with the largest stale UCB is brought up to date until it stays on top; the inverse of V is updated by
Sherman and Morrison's formula, one pick at a time. Batches of the global-local rule keep two sums an arm.

One thread. Prints one JSON object. Random numbers and rewards are those of bench_engine.c, so that both programs
walk the same path unless rounding parts them."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import math
import resource
import sys
import time

import numpy as np
from scipy.spatial.distance import cdist

PURPOSE_INITIAL_ARM, PURPOSE_RESAMPLE = 1, 2
LOW = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def philox(seed, batch, purpose, index):
    """Philox4x32-10, 64 bits for each entry of index (uint64)."""
    who = (batch << 8) | purpose
    c0, c1 = index & LOW, index >> SHIFT
    c2, c3 = np.full_like(index, who & 0xFFFFFFFF), np.full_like(index, who >> 32)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (p1 >> SHIFT) ^ c1 ^ np.uint64(k0), p1 & LOW
        c2, c3 = (p0 >> SHIFT) ^ c3 ^ np.uint64(k1), p0 & LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0 | c1 << SHIFT


def splitmix(counter):
    """SplitMix64 of a counter (uint64): the stream that bench_engine.c draws its noise and features from."""
    z = (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniforms(first, n):
    """Entries first ... first+n-1 of the stream, on (0, 1)."""
    bits = splitmix(np.arange(first, first + n, dtype=np.uint64))
    return ((bits >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


def normals(n):
    u = uniforms(0, 2 * n)
    return np.sqrt(-2 * np.log(u[::2])) * np.cos(2 * math.pi * u[1::2])


def load(path):
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    x, y = rows[:, :-1], rows[:, -1]
    return (x - x.mean(axis=0)) / x.std(axis=0), (y - y.min()) / (y.max() - y.min())


class Yardstick:
    def __init__(self, x, a):
        self.x, self.a = x, a
        self.counts, self.sums = np.zeros(len(x)), np.zeros(len(x))

    def embed(self, dictionary):
        """Eq. 1-3 for all arms. Leaves z (A x m'), the inverse of V, means and variances."""
        a = self.a
        k = np.exp(-0.5 / a.bandwidth**2 * cdist(self.x, self.x[dictionary], "sqeuclidean"))
        eigenvalues, vectors = np.linalg.eigh(k[dictionary])
        keep = eigenvalues > eigenvalues[-1] * max(len(dictionary) * 2e-16, min(1e-10, 1e-8 * a.lam))
        self.z = k @ (vectors[:, keep] / np.sqrt(eigenvalues[keep]))
        pulled = np.flatnonzero(self.counts)
        z_p = self.z[pulled]
        v = (z_p.T * self.counts[pulled]) @ z_p + a.lam * np.eye(z_p.shape[1])
        self.v_inv = np.linalg.inv(v)
        self.mean = self.z @ (self.v_inv @ (z_p.T @ self.sums[pulled]))
        self.rest = np.maximum(0.0, 1.0 - np.einsum("ij,ij->i", self.z, self.z)) / a.lam
        self.z_v = self.z @ self.v_inv
        self.var = self.rest + np.einsum("ij,ij->i", self.z_v, self.z)
        return v

    def log_sum(self, v):
        pulled = np.flatnonzero(self.counts)
        return np.linalg.slogdet(v / self.a.lam)[1] + (self.counts[pulled] * self.rest[pulled]).sum()

    def choose(self, alpha, room):
        """One batch, Alg. 1 l. 6-13."""
        a = self.a
        inverse = self.v_inv.copy()
        ucb = self.mean + alpha * np.sqrt(self.var)
        fresh = np.zeros(len(ucb), dtype=np.int64)  # number of picks that ucb[i] knows of
        dtc, exact = np.zeros(len(ucb)), np.zeros(len(ucb))
        picks, ratio, beyond = [], 1.0, False
        while len(picks) < room:
            while True:
                top = int(np.argmax(ucb))
                if fresh[top] == len(picks):
                    break
                z = self.z[top]
                ucb[top] = self.mean[top] + alpha * math.sqrt(self.rest[top] + max(0.0, z @ inverse @ z))
                fresh[top] = len(picks)
            z = self.z[top]
            step = inverse @ z
            inverse -= np.outer(step, step) / (1 + z @ step)
            picks.append(top)
            ratio += self.var[top]
            if a.rule == "global_local":
                in_v = self.z_v @ z
                k = np.exp(-0.5 / a.bandwidth**2 * ((self.x - self.x[top]) ** 2).sum(axis=1))
                dtc += in_v**2
                exact += ((k - self.z @ z) / a.lam + in_v) ** 2
            if ratio > a.ratio_bound:
                if a.rule == "global" or 1 + (np.maximum(dtc, exact) / self.var).max() > a.ratio_bound:
                    break
        return picks

    def resample(self, batch):
        pulled = np.flatnonzero(self.counts)
        p = np.minimum(1.0, self.a.q_bar * self.var[pulled])
        bits = philox(self.a.seed, batch, PURPOSE_RESAMPLE, pulled.astype(np.uint64))
        u = (bits >> np.uint64(11)).astype(float) * 2.0**-53
        n = self.counts[pulled]
        kept = pulled[u < (np.minimum(1.0, n * p) if self.a.inclusion == "sum" else 1 - (1 - p) ** n)]
        return kept if len(kept) else pulled[[np.argmax(self.var[pulled])]]


def run(a):
    x, y = load(a.data)
    noise = a.noise_std * normals(a.steps)
    started = time.process_time()
    program = Yardstick(x, a)
    # The engine draws again below 2^64 mod A: for a seed of ours that has not happened.
    picks = [int(philox(a.seed, 0, PURPOSE_INITIAL_ARM, np.zeros(1, dtype=np.uint64))[0]) % len(x)]
    told, batch, dictionary_sum, log_sum, capped = 0, 0, 0, None, False
    path, curve = [], []
    while True:
        for arm in picks:
            program.counts[arm] += 1
            program.sums[arm] += y[arm] + noise[told]
            told += 1
            path.append(arm)
            if log_sum is not None:
                log_sum += math.log1p(program.var[arm])
        curve.append((told, time.process_time() - started))
        capped = curve[-1][1] > a.cap
        if told == a.steps or capped:
            break
        batch += 1
        dictionary = np.flatnonzero(program.counts) if log_sum is None else program.resample(batch)
        v = program.embed(dictionary)
        if log_sum is None:
            log_sum = program.log_sum(v)
        alpha = math.sqrt(a.lam) + a.noise_std * math.sqrt(a.ratio_bound * log_sum + math.log(a.steps))
        picks = program.choose(alpha, min(a.max_batch, a.steps - told))
        dictionary_sum += len(dictionary)
    regret = (y.max() - y[path]).mean() / (y.max() - y.mean())
    thin = curve[:: max(1, len(curve) // 400)] + curve[-1:]
    return {
        "cpu_seconds": curve[-1][1],
        "steps": told,
        "capped": capped,
        "batches": batch,
        "dictionary_mean": dictionary_sum / batch,
        "regret_ratio": regret,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "curve": thin,
        "picks": path,
    }


def main():
    parser = argparse.ArgumentParser(description="BBKB in plain NumPy, for comparison.")
    parser.add_argument("--data", required=True, help="CSV, header line, target last")
    parser.add_argument("--bandwidth", type=float, required=True)
    parser.add_argument("--lambda", dest="lam", type=float, required=True)
    parser.add_argument("--ratio-bound", type=float, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--rule", choices=("global", "global_local"), default="global")
    parser.add_argument(
        "--inclusion",
        choices=("pulls", "sum"),
        default="sum",
        help="an arm of n pulls stays with probability 1-(1-p)^n or min(1, n p); p = min(1, q sigma^2)",
    )
    parser.add_argument("--noise-std", type=float, default=0.1)
    parser.add_argument("--q-bar", type=float, default=2.0)
    parser.add_argument("--max-batch", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cap", type=float, default=math.inf, help="CPU seconds")
    json.dump(run(parser.parse_args()), sys.stdout)


if __name__ == "__main__":
    main()
