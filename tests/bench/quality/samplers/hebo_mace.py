"""HEBO with its defaults: a warped Gaussian process and three acquisitions at a time. It is given batches; trials
under way it knows nothing of."""

import math

import numpy as np
import pandas
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO
from protocol import Sampler, is_number, need_one_at_a_time, need_parameters, serve

torch.set_num_threads(1)


class Hebo(Sampler):
    def __init__(self, task, seed, options):
        super().__init__()
        need_one_at_a_time(task)
        self.parameters = need_parameters(task)
        np.random.seed(seed)
        torch.manual_seed(seed)
        self.hebo = HEBO(DesignSpace().parse([kind(p) for p in self.parameters]), scramble_seed=seed)
        self.frame = None

    def choose(self, count):
        self.frame = self.hebo.suggest(n_suggestions=count)
        return [{p["name"]: plain(p, row[p["name"]]) for p in self.parameters} for _, row in self.frame.iterrows()]

    def learn(self, results):
        values = [value if is_number(value) else math.nan for _, _, value in results]
        self.hebo.observe(pandas.DataFrame(self.frame), np.array(values, dtype=float)[:, None])


def kind(p):
    name, log = p["name"], p.get("scale") == "log"
    if p["type"] == "boolean":
        return {"name": name, "type": "bool"}
    if p["type"] in ("categorical", "discrete"):
        return {"name": name, "type": "cat", "categories": p["values"]}
    whole = p["type"] == "integer"
    word = ("pow_int" if log else "int") if whole else ("pow" if log else "num")
    return {"name": name, "type": word, "lb": p["min"], "ub": p["max"]}


def plain(parameter, value):
    kinds = {"boolean": bool, "categorical": str, "integer": int}
    return kinds.get(parameter["type"], float)(value)


if __name__ == "__main__":
    serve(Hebo)
