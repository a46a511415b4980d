"""Writes a table of LCBench (in bocode) as JSON: lcbench.py FILE DATASET...

A row for each of 2000 settings of a neural network, which are the same for all data sets: the seven settings, then the error
of validation on each data set, in percent. It runs in the environment `tasks` of ../quality/environments."""

import importlib.util
import json
import pathlib
import sys

import numpy as np

SETTINGS = 7


def main():
    file, *names = sys.argv[1:]
    package = pathlib.Path(importlib.util.find_spec("bocode").submodule_search_locations[0])
    with np.load(package / "opt_problems" / "hpo" / "data" / "lcbench_data.npz") as tables:
        of = [tables[name].astype(float) for name in names]
    assert all(np.array_equal(rows[:, :SETTINGS], of[0][:, :SETTINGS]) for rows in of)
    errors = [100.0 - rows[:, SETTINGS] for rows in of]
    pathlib.Path(file).write_text(json.dumps(np.column_stack([of[0][:, :SETTINGS], *errors]).tolist()))


main()
