"""BoTorch as its tutorials write it: a SingleTaskGP for each metric with its default priors, then
qLogNoisyExpectedHypervolumeImprovement with several objectives, and qLogNoisyExpectedImprovement with one, both with the
constraints as outcomes. It begins with a Sobol design of 2 (d + 1) points, or one batch if that is more. Whole numbers are
rounded. A list is searched whole."""

import warnings

import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
from botorch.acquisition.objective import GenericMCObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import SumMarginalLogLikelihood

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
warnings.simplefilter("ignore")


class Sampler:
    def __init__(self, name, problem, seed):
        torch.manual_seed(seed)
        self.problem, self.seed = problem, seed
        low, high = torch.tensor(problem.bounds, dtype=torch.float64).T
        self.low, self.width = low, high - low
        self.list = (torch.tensor(problem.points()) - low) / self.width if problem.listed else None
        self.first = 2 * (len(problem.bounds) + 1)
        self.sobol = torch.quasirandom.SobolEngine(len(problem.bounds), scramble=True, seed=seed)
        self.x, self.y = [], []

    def ask(self, count):
        if len(self.x) < self.first:
            unit = self.begin(count)
        else:
            unit = self.choose(count)
        return [self.problem.at(u.tolist()) if self.list is None else (self.low + self.width * u).tolist() for u in unit]

    def begin(self, count):
        if self.list is not None:
            return self.list[torch.randperm(len(self.list))[:count]]
        return self.sobol.draw(count, dtype=torch.float64)

    def choose(self, count):
        k, tried = self.problem.objectives, torch.stack(self.x)
        values = -torch.tensor(self.y, dtype=torch.float64)  # larger is better; constraints hold where they are >= 0
        model = ModelListGP(*(SingleTaskGP(tried, values[:, [j]], outcome_transform=Standardize(1)) for j in range(values.shape[1])))
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        holds = [lambda z, j=j: -z[..., j] for j in range(k, values.shape[1])] or None
        more = {"X_baseline": tried, "prune_baseline": True, "constraints": holds,
                "sampler": SobolQMCNormalSampler(torch.Size([128]), seed=self.seed)}  # fmt: skip
        if k > 1:
            gain = qLogNoisyExpectedHypervolumeImprovement(
                model, ref_point=[-r for r in self.problem.reference], objective=IdentityMCMultiOutputObjective(list(range(k))), **more
            )
        else:
            gain = qLogNoisyExpectedImprovement(model, objective=GenericMCObjective(lambda z, X=None: z[..., 0]), **more)
        if self.list is not None:
            return optimize_acqf_discrete(gain, count, self.list, unique=True, max_batch_size=2048)[0]
        box = torch.stack([torch.zeros(len(self.low)), torch.ones(len(self.low))])
        return optimize_acqf(gain, box, count, num_restarts=10, raw_samples=512, sequential=True, options={"batch_limit": 5, "maxiter": 200})[0]

    def tell(self, points, values):
        self.x += [(torch.tensor(p) - self.low) / self.width for p in points]
        self.y += values
