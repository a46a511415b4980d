"""Optuna's samplers, asked and told; constraints as its `constraints_func`."""

import warnings

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
SAMPLERS = {
    "optuna-tpe": optuna.samplers.TPESampler,
    "optuna-nsga2": optuna.samplers.NSGAIISampler,
    "optuna-gp": optuna.samplers.GPSampler,
}


class Sampler:
    def __init__(self, name, problem, seed):
        given = {"constraints_func": lambda trial: trial.user_attrs["constraints"]} if problem.constraints else {}
        if name == "optuna-nsga2":
            given["population_size"] = 20
        sampler = SAMPLERS[name](seed=seed, **given)
        self.problem, self.trials = problem, []
        self.study = optuna.create_study(directions=["minimize"] * problem.objectives, sampler=sampler)

    def ask(self, count):
        self.trials = [self.study.ask() for _ in range(count)]
        return [self.point(trial) for trial in self.trials]

    def point(self, trial):
        return [
            float(trial.suggest_int(f"x{i}", low, high)) if i in self.problem.whole else trial.suggest_float(f"x{i}", low, high)
            for i, (low, high) in enumerate(self.problem.bounds)
        ]

    def tell(self, points, values):
        k = self.problem.objectives
        for trial, each in zip(self.trials, values):
            trial.set_user_attr("constraints", each[k:])
            self.study.tell(trial, each[:k])
