#!/usr/bin/env python3
"""Holds bbkb_reference.py against a trace recorded by an implementation of other hands.

The trace is $BANDITD_DATA/reference/trace_small.json. Given its dictionaries and its first log-sum and width, the
reference must come to the same arms, means, variances and widths."""

import json
import math
import os
import sys

import numpy as np

from bbkb_reference import Options, Posterior, Study, kernel_matrix

RELATIVE = 1e-8


class Replay(Study):
    """A study whose dictionaries, first log-sum and first width are prescribed."""

    def start(self, case):
        for arm in case["init"]:
            self.counts[arm] += 1
            self.sums[arm] += case["y"][arm]
        self.dictionary = case["init_state"]["dict"]
        self.log_sum = case["init_state"]["logdet"]
        self.first_alpha = case["batches"][0]["beta"]
        self.posterior = Posterior(self.gram, self.o.lam, self.dictionary, self.counts, self.sums)

    def resample(self, pulled, var_fb):
        return self.prescribed

    def alpha(self):
        return self.first_alpha if self.batch == 0 else super().alpha()


def worst(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return float((np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-12)).max())


def replay(case, x, y):
    options = Options(
        kernel={"type": "gaussian", "lengthscales": [case["s"]]},
        lam=case["lam"],
        noise_std=math.sqrt(case["noise_variance"]),
        norm_bound=case["F"],
        delta=case["delta"],
        ratio_bound=case["C"],
        horizon=len(case["arms"]),
    )
    study = Replay(kernel_matrix(options.kernel, x, x), options)
    study.start(dict(case, y=y))
    errors = {"mean": 0.0, "variance": 0.0, "width": 0.0}
    results = None
    probes = case["probe_arms"]
    for theirs in case["batches"]:
        study.prescribed = theirs.get("dict", study.dictionary)
        if results is not None:
            study.begin_batch(results)
        ours = study.choose()
        assert ours.picks == theirs["arms"], (theirs["t0"], ours.picks, theirs["arms"])
        for name, value, reference in (
            ("mean", ours.mean[probes], theirs["probe_means"]),
            ("mean", ours.mean.sum(), theirs["sum_means"]),
            ("variance", ours.var[probes], theirs["probe_variances"]),
            ("variance", ours.var.sum(), theirs["sum_variances"]),
            ("width", ours.alpha, theirs["beta"]),
        ):
            errors[name] = max(errors[name], worst(value, reference))
        results = [(arm, y[arm], var) for arm, var in zip(ours.picks, ours.variances)]
    assert max(errors.values()) < RELATIVE, errors
    return errors


def main():
    if "BANDITD_DATA" not in os.environ:
        print("skipped: set BANDITD_DATA to a folder that holds reference/trace_small.json")
        return
    with open(os.path.join(os.environ["BANDITD_DATA"], "reference", "trace_small.json")) as f:
        trace = json.load(f)
    x, y = np.array(trace["X"]), trace["y"]
    cases = [case for case in trace["cases"] if case["algo"] == "Batch_BKB"]
    for case in cases:
        errors = replay(case, x, y)
        worst_of = ", ".join(f"{name} {value:.0e}" for name, value in errors.items())
        arms = f"{case['dict_rule']}, lambda {case['lam']:g}: {len(case['arms'])} arms equal"
        print(f"{arms}; largest relative error: {worst_of}")


if __name__ == "__main__":
    sys.exit(main())
