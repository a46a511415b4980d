"""Which runs there are. A run is named by its task, condition, protocol, sampler and seed."""

import collections

from simulate import trials_of
from tasks import split

Run = collections.namedtuple("Run", "task condition protocol sampler seed")

SIDES = {"choosing": 0, "published": 1}
LISTS = ("sequential", "workers8", "plates24", "plates96")
FAULTS = ("stray", "failed", "infeasible")
# Every function of the sixteen without noise.
FAULTY = ("branin", "hartmann3", "hartmann6", "ackley5", "rosenbrock4", "levy6", "griewank5", "styblinski5", "michalewicz5")
# With those that take long, the textbook's tasks are a part of its own, and of the choosing side.
PARTS = ("finite", "coco", "sixteen", "textbook", "scale")
SCALE = ("hartmann6-noise", "noise", "scale100")


def finite_conditions(name):
    measured = name.startswith(("hpobench-", "hpolib-")) or name in ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet")
    return ("clean", "own" if measured else "tenth")


def cells(part, side, fast):
    """(task, condition, protocol) of a part, for samplers that are fast or not."""
    found = []
    if part == "finite":
        names = split.finite(side) if fast else split.SLOW_FINITE[side]
        found = [(n, c, p) for p in LISTS for c in ("clean", "noisy") for n in names]
        found = [(n, finite_conditions(n)[c != "clean"], p) for n, c, p in found]
    elif part == "coco":
        found = [(n, "clean", "sequential") for n in (split.coco(side) if fast else split.SLOW_COCO[side])]
        found += [(n, "tenth", "sequential") for n in (split.noisy(side) if fast else split.SLOW_NOISY[side])]
    elif part == "sixteen":
        names = split.sixteen(side) if fast else split.SLOW_SIXTEEN[side]
        found = [(n, "noise" if n.endswith("-noise") else "clean", p) for p in ("sequential", "batches10") for n in names]
    elif part == "scale" and side == 1:
        found = [SCALE]
    elif part == "textbook" and side == 0:
        found = [(n, "clean", "sequential") for n in split.TEXTBOOK]
        found += [(n, "tenth", "sequential") for n in split.TEXTBOOK_NOISY]
    return found


def faults():
    return [(n, f, "sequential") for f in FAULTS for n in FAULTY]


def runs(samplers, sides, parts, load, seeds=None):
    """Sampler by sampler, the cheapest first, then seed by seed: what is interrupted has every task."""
    for sampler in samplers:
        wanted = [cell for side in sides for part in parts for cell in cells(part, side, sampler.fast)]
        if sampler.program == "banditd" and "sixteen" in parts and 1 in sides:
            wanted += faults()
        wanted = [cell for cell in dict.fromkeys(wanted) if cell[2] in sampler.protocols]
        wanted = [cell for cell in wanted if cell[1] in sampler.conditions or cell[1] in FAULTS]
        for seed in range(seeds or sampler.seeds):
            for task, condition, protocol in wanted:
                if (task, condition, protocol) == SCALE and seed > 0:
                    continue
                if trials_of(load(task), protocol, sampler.trials) > 0:
                    yield Run(task, condition, protocol, sampler, seed)

