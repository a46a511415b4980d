"""BoTorch: a SingleTaskGP with its default priors and qLogNoisyExpectedImprovement, as its tutorials write it.

A finite set is searched whole (optimize_acqf_discrete), without what was tried; a box of real parameters by its
multi-start ascent. Trials under way are pending points. It begins with Sobol points, or candidates by chance: twice
as many as there are parameters, between 4 and 20, or the first batch. The point with the largest posterior mean among the tried is recommended."""

import math

import numpy as np
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from protocol import CannotDo, Sampler, is_number, serve
from scipy.stats import qmc

torch.set_num_threads(1)
torch.set_default_dtype(torch.double)


class LogNei(Sampler):
    def __init__(self, task, seed, options):
        super().__init__()
        torch.manual_seed(seed)
        self.draw, self.seed = np.random.default_rng(seed), seed
        self.batch, self.in_flight = task["batch"], task["in_flight"]
        if task["features"]:
            self.list = torch.tensor(np.load(task["features"]))
            dimension = self.list.shape[1]
        else:
            self.list, self.parameters = None, task["parameters"]
            if any(p["type"] != "double" or "active_when" in p for p in self.parameters):
                raise CannotDo("its multi-start ascent is for real parameters")
            dimension = len(self.parameters)
            self.sobol = qmc.Sobol(dimension, seed=seed)
        self.dimension, self.first = dimension, max(min(20, max(4, 2 * dimension)), self.batch)
        self.rows, self.told = {}, {}  # handle -> unit row or candidate; handle -> value

    # -- points and their rows of numbers --

    def row(self, handle):
        return self.list[self.rows[handle]] if self.list is not None else self.rows[handle]

    def give(self, rows):
        self.rows.update(enumerate(rows, len(self.rows)))
        return [int(r) for r in rows] if self.list is not None else [self.point(r) for r in rows]

    def point(self, row):
        point = {}
        for p, u in zip(self.parameters, row.tolist()):
            low, high = p["min"], p["max"]
            log = p.get("scale") == "log"
            value = math.exp(math.log(low) + u * math.log(high / low)) if log else low + u * (high - low)
            point[p["name"]] = min(max(value, low), high)
        return point

    # -- the loop --

    def choose(self, count):
        if len(self.told) < 2 or len(self.rows) + count <= self.first:
            return self.give(self.begin(count))
        model, tried = self.fit()
        under_way = [self.row(h) for h in self.rows if h not in self.told]
        acquisition = qLogNoisyExpectedImprovement(
            model, X_baseline=tried, prune_baseline=True, sampler=SobolQMCNormalSampler(torch.Size([128]), seed=self.seed),
            X_pending=torch.stack(under_way) if under_way else None,
        )  # fmt: skip
        if self.list is None:
            bounds = torch.stack([torch.zeros(self.dimension), torch.ones(self.dimension)])
            rows, _ = optimize_acqf(acquisition, bounds, q=count, num_restarts=10, raw_samples=256, sequential=True,
                                    options={"batch_limit": 5, "maxiter": 100})  # fmt: skip
            return self.give(list(rows.detach()))
        taken = set(self.rows.values())
        free = torch.tensor([i for i in range(len(self.list)) if i not in taken])
        rows, _ = optimize_acqf_discrete(acquisition, q=count, choices=self.list[free], unique=True, max_batch_size=2048)
        return self.give([int(free[(self.list[free] == row).all(dim=1).nonzero()[0, 0]]) for row in rows])

    def begin(self, count):
        if self.list is None:
            return list(torch.tensor(self.sobol.random(count)))
        left = np.setdiff1d(np.arange(len(self.list)), list(self.rows.values()))
        return list(self.draw.permutation(left)[:count])

    def fit(self):
        handles = [h for h in self.rows if h in self.told]
        tried = torch.stack([self.row(h) for h in handles])
        values = -torch.tensor([[self.told[h]] for h in handles])
        model = SingleTaskGP(tried, values, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, tried

    def learn(self, results):
        self.told.update({handle: value for handle, _, value in results if is_number(value)})

    def recommend(self):
        model, tried = self.fit()
        with torch.no_grad():
            means = model.posterior(tried).mean.squeeze(-1)
        return self.points[[h for h in self.rows if h in self.told][int(means.argmax())]]


if __name__ == "__main__":
    serve(LogNei)
