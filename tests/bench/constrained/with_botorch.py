"""BoTorch on the same problems: a Gaussian process with its defaults, log expected improvement, and optimize_acqf with the
rules as constraints, from the best of some allowed points. Steps and integers are rounded; a rounded point that breaks a
rule is replaced by the best of the allowed points. Lists are ranked as a whole."""

import warnings

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.exceptions import BotorchWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from chance import some_allowed
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.warnings import NumericalWarning

FIRST, POOL, STARTS = 10, 1000, 4
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
for kind in (BotorchWarning, NumericalWarning, RuntimeWarning, UserWarning):
    warnings.simplefilter("ignore", kind)


class Sampler:
    def __init__(self, problem, seed):
        torch.manual_seed(seed)
        self.problem, self.rng = problem, np.random.default_rng(seed)
        self.first = some_allowed(problem, self.rng, FIRST)
        self.discrete = all("values" in parameter for parameter in problem.parameters)
        values = [parameter.get("values") or [parameter["min"], parameter["max"]] for parameter in problem.parameters]
        self.low = np.array([min(v) for v in values], float)
        self.width = np.array([max(v) for v in values], float) - self.low
        self.points, self.told = [], []

    def _unit(self, points):
        return torch.tensor((np.array(points) - self.low) / self.width)

    def _rounded(self, unit):
        x = self.low + np.clip(np.array(unit), 0, 1) * self.width
        for i, parameter in enumerate(self.problem.parameters):
            step = parameter.get("step") or (1 if parameter["type"] == "integer" else 0)
            if step:
                x[i] = parameter["min"] + round((x[i] - parameter["min"]) / step) * step
        if self.problem.mixture:
            x[-1] = 1 - sum(x[:-1])
        return tuple(map(float, x))

    def ask(self):
        if len(self.points) < len(self.first):
            return self.first[len(self.points)]
        x, y = self._unit(self.points), -torch.tensor(self.told)[:, None]
        model = SingleTaskGP(x, y, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        gain = LogExpectedImprovement(model, best_f=y.max())
        pool = some_allowed(self.problem, self.rng, POOL)
        with torch.no_grad():
            order = torch.argsort(gain(self._unit(pool)[:, None, :]), descending=True)
        best = pool[int(order[0])]
        if self.discrete:
            tried = set(self.points)
            return next((pool[int(i)] for i in order if pool[int(i)] not in tried), best)
        found = self._rounded(self._climb(gain, self._unit([pool[int(i)] for i in order[:STARTS]])))
        return found if self.problem.keeps(found, 1e-9) and all(0 <= v for v in found) else best

    def _climb(self, gain, starts):
        n = len(self.low)
        low, width = torch.tensor(self.low), torch.tensor(self.width)
        rules = [
            (lambda u, slack=slack: -slack([low[i] + u[..., i] * width[i] for i in range(n)]), True)
            for slack in self.problem.slacks
        ]
        mixture = [(torch.arange(n), torch.ones(n), 1.0)] if self.problem.mixture else None
        try:
            found, _ = optimize_acqf(
                gain,
                bounds=torch.tensor([[0.0] * n, [1.0] * n]),
                q=1,
                num_restarts=STARTS,
                batch_initial_conditions=starts[:, None, :],
                equality_constraints=mixture,
                nonlinear_inequality_constraints=rules or None,
                options={"batch_limit": 1, "maxiter": 60},
            )
            return found[0]
        except Exception as error:  # the solver gives up: the best allowed point is taken
            print(f"  optimize_acqf: {type(error).__name__}: {str(error)[:100]}", flush=True)
            return starts[0]

    def tell(self, x, value):
        self.points.append(x)
        self.told.append(value)
