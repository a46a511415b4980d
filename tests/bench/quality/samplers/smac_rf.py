"""SMAC 3 of its second major version: HyperparameterOptimizationFacade, its default for spaces of any kind (a random forest and
log expected improvement), asked and told. Its first points are its own choice: a quarter of the trials at most."""

import pathlib
import tempfile

from ConfigSpace import (
    Categorical, ConfigurationSpace, EqualsCondition, Float, InCondition, Integer, OrdinalHyperparameter,
)  # fmt: skip
from protocol import Sampler, is_number, need_parameters, serve
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory import StatusType, TrialValue


class Smac(Sampler):
    def __init__(self, task, seed, options):
        super().__init__()
        self.parameters = need_parameters(task, conditions=True)
        self.folder = tempfile.TemporaryDirectory(prefix="smac-")
        scenario = Scenario(
            self.space(seed), deterministic=True, n_trials=task["trials"], seed=seed, n_workers=1,
            output_directory=pathlib.Path(self.folder.name),
        )  # fmt: skip
        self.smac = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False
        )
        self.infos = {}

    def space(self, seed):
        space, made = ConfigurationSpace(seed=seed), {}
        for p in self.parameters:
            name, log = p["name"], p.get("scale") == "log"
            if p["type"] == "boolean":
                made[name] = Categorical(name, [False, True])
            elif p["type"] == "categorical":
                made[name] = Categorical(name, p["values"])
            elif p["type"] == "discrete":
                made[name] = OrdinalHyperparameter(name, p["values"])
            else:
                made[name] = (Integer if p["type"] == "integer" else Float)(name, (p["min"], p["max"]), log=log)
        space.add(*made.values())
        for p in self.parameters:
            when = p.get("active_when")
            if when:
                child, parent, values = made[p["name"]], made[when["parameter"]], when["in"]
                space.add(InCondition(child, parent, values) if len(values) > 1 else EqualsCondition(child, parent, values[0]))
        return space

    def choose(self, count):
        points = []
        for _ in range(count):
            info = self.smac.ask()
            self.infos[len(self.infos)] = info
            point = dict(info.config)
            points.append({p["name"]: plain(p, point[p["name"]]) for p in self.parameters if p["name"] in point})
        return points

    def learn(self, results):
        for handle, _, value in results:
            done = is_number(value)
            state = StatusType.SUCCESS if done else StatusType.CRASHED
            self.smac.tell(self.infos[handle], TrialValue(cost=value if done else float("inf"), status=state), save=False)

    def close(self):
        self.folder.cleanup()


def plain(parameter, value):
    kinds = {"boolean": bool, "categorical": str, "integer": int}
    return kinds.get(parameter["type"], float)(value)


if __name__ == "__main__":
    serve(Smac)
