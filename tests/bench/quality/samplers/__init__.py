"""The samplers that are compared, each a program of its own (protocol.py) in an environment of its own
(../environments): what it is called, how, and what it is run on."""

from dataclasses import dataclass, field

EVERYWHERE = ("sequential", "workers8", "plates24", "plates96", "batches10", "scale100")


@dataclass(frozen=True)
class Sampler:
    name: str
    program: str  # in this folder, without .py
    environment: str
    options: dict = field(default_factory=dict)
    package: str = ""  # whose version the tables name
    fast: bool = True  # under 20 ms a trial: run on every task, otherwise on the subset of tasks/split.py
    seeds: int = 10
    trials: int = 10000  # at most so many of a run
    protocols: tuple = EVERYWHERE
    conditions: tuple = ("clean", "own", "tenth", "noise")


def textbook(name, **options):
    return Sampler(name, "textbook", "tasks", options, "scipy", fast=False, seeds=20, protocols=("sequential", "plates24"))


# In the order of what a trial costs, the cheapest first.
RIVALS = [
    Sampler("uniform", "uniform", "tasks"),
    Sampler("optuna-tpe", "optuna_tpe", "optuna", {}, "optuna"),
    textbook("textbook-fold", warp="fold"),
    textbook("textbook-yj", warp="yj"),
    textbook("textbook-fold-climb", warp="fold", climb=True),
    Sampler("optuna-gp", "optuna_gp", "optuna", {}, "optuna", False, 3,
            protocols=("sequential", "workers8", "plates24", "batches10", "scale100")),
    Sampler("smac", "smac_rf", "smac", {}, "smac", False, 3, protocols=("sequential", "workers8", "plates24")),
    Sampler("botorch", "botorch_lognei", "botorch", {}, "botorch", False, 3, protocols=("sequential", "plates24")),
    # A trial takes seconds: half of the trials, or a quarter, and one at a time.
    Sampler("hebo", "hebo_mace", "hebo", {}, "HEBO", False, 3, 100, ("sequential",)),
    Sampler("vizier", "vizier_gp_ucb_pe", "vizier", {}, "google-vizier", False, 3, 50, ("sequential",), ("clean", "noise", "tenth")),
]  # fmt: skip

# What banditd is tried with: members of the study's definition. "form": grids are given as lists.
VARIANTS = {
    "default": {},
    "best": {"definition": {"aim": "best"}},
    "regret": {"definition": {"aim": "regret"}},
    **{name: {"definition": {"algorithm": {"name": name}}} for name in (
        "bbkb", "bkb", "gp_ucb", "igp_ucb", "gp_bucb", "gp_ts", "async_ts", "gp_ei", "gp_pi", "s_gp_ts",
    )},
}  # fmt: skip


def ours(label, options):
    """A variant of banditd; the label names the program as well (run.py)."""
    return Sampler(label, "banditd", "tasks", options, "banditd")
