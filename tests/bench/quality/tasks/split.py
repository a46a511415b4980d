"""Which tasks a rule and its constants may be chosen on, and which the published tables are of. No task is in both.

Finite sets are split by table: no table that a rule was chosen on is published, nor another one of the same
measurements (all of NAS-Bench-201 is on one side, and so are both directions of a table). Functions of COCO are split
by function: all dimensions and instances of a function are on one side. The sixteen older tasks are published; the
defaults of the model of the year before were chosen by looking at the first nine of them, which docs/quality.md says.

CHOOSING has the functions that the textbook optimizer was developed on (2, 8, 1, …) and as many tables as PUBLISHED.
Pools of HPO-B: of each search space with more than 600 settings the first data set whose best value fewer than ten
settings share. Tables with fewer than 200 candidates are left out: chance finds their best."""

from tasks import functions

HPOBENCH = ("car", "phoneme", "vehicle", "australian"), ("kc1", "segment", "blood_transfusion", "credit_g")
HPOLIB = ("naval_propulsion", "parkinsons_telemonitoring"), ("protein_structure", "slice_localization")
POOLS = (
    ("5859-125923", "5891-3891", "5965-10101", "5971-10093", "6767-145804", "7607-9946"),
    ("5527-10101", "5636-10101", "5970-14951", "6766-146064", "6794-145804", "7609-125923"),
)
CURVES = ("APSFailure", "adult", "christine"), ("Fashion_MNIST", "jannis", "volkert")
OTHERS = (
    ("nb101", "crossedbarrel", "photopce10", "suzuki", "abalone-max", "abalone-min"),
    ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet", "nb201list", "hoip", "hplc", "photowf3", "fullerenes",
     "cadata-max", "cadata-min"),
)  # fmt: skip
BBOB = (1, 2, 3, 6, 8, 10, 14, 15, 16, 17, 20, 21, 23), (4, 5, 7, 9, 11, 12, 13, 18, 19, 22, 24)
# With noise of a tenth of the spread as well: functions of many local optima, and one ridge.
NOISY = (8, 15, 21, 23), (4, 7, 22, 24)
DIMENSIONS, MIXED_DIMENSIONS, INSTANCES = (5, 10, 20), (5, 10), (1, 2)


def finite(side):
    """Of side 0 (choosing) or 1 (published)."""
    names = [f"hpobench-{n}" for n in HPOBENCH[side]] + [f"hpolib-{n}" for n in HPOLIB[side]]
    names += [f"hpob-{n}" for n in POOLS[side]] + [f"lcbench-{n}" for n in CURVES[side]]
    return names + list(OTHERS[side])


def coco(side):
    bbob = [f"bbob-f{f}-d{d}-i{i}" for d in DIMENSIONS for i in INSTANCES for f in BBOB[side]]
    return bbob + [f"mixint-f{f}-d{d}-i{i}" for d in MIXED_DIMENSIONS for i in INSTANCES for f in BBOB[side]]


def noisy(side):
    return [f"bbob-f{f}-d5-i{i}" for i in INSTANCES for f in NOISY[side]]


def sixteen(side):
    return list(functions.NAMES) if side == 1 else []


# What samplers that take more than 20 ms a trial are run on, with fewer seeds. Chosen by kind before any of them had
# run: a grid of numbers, one of words and numbers, one of words, two pools and a regression table; functions of
# every group of COCO, and of the sixteen those that are neither two-dimensional nor measured.
SLOW_FINITE = (
    ("hpobench-car", "hpolib-naval_propulsion", "hpob-5971-10093", "lcbench-adult", "crossedbarrel", "abalone-max"),
    ("hpobench-kc1", "hpolib-slice_localization", "nb201-imagenet", "hpob-6794-145804", "hplc", "cadata-min"),
)
SLOW_COCO = (
    ("bbob-f8-d5-i1", "bbob-f15-d5-i1", "bbob-f1-d10-i1", "mixint-f8-d5-i1"),
    ("bbob-f4-d5-i1", "bbob-f9-d5-i1", "bbob-f12-d10-i1", "bbob-f19-d5-i1", "bbob-f22-d10-i1", "mixint-f7-d5-i1",
     "mixint-f9-d10-i1"),
)  # fmt: skip
SLOW_NOISY = ("bbob-f15-d5-i1",), ("bbob-f4-d5-i1",)
SLOW_SIXTEEN = (), ("hartmann6", "ackley5", "hartmann6-noise", "mixed")

# The fifteen tasks of the textbook optimizer; the noisy one has the noise of the condition `tenth`.
TEXTBOOK = (
    "bbob-f8-d5-i1", "bbob-f10-d5-i1", "bbob-f1-d10-i1", "bbob-f8-d10-i2", "bbob-f14-d10-i1", "bbob-f15-d5-i1",
    "bbob-f17-d5-i2", "bbob-f23-d5-i1", "bbob-f20-d5-i1", "bbob-f21-d5-i2", "bbob-f3-d5-i1", "bbob-f2-d5-i1",
    "bbob-f6-d5-i1", "bbob-f16-d5-i1",
)  # fmt: skip
TEXTBOOK_NOISY = ("bbob-f8-d5-i2",)
