"""A task as an Optuna study that is asked and told."""

import optuna
from protocol import Sampler, active, is_number, need_parameters

optuna.logging.set_verbosity(optuna.logging.ERROR)


class OptunaSampler(Sampler):
    """A subclass names the sampler: make(seed, conditional)."""

    conditions = True

    def __init__(self, task, seed, options):
        super().__init__()
        self.parameters = need_parameters(task, conditions=self.conditions)
        conditional = any("active_when" in p for p in self.parameters)
        self.study = optuna.create_study(direction="minimize", sampler=self.make(seed, conditional))
        self.trials = {}

    def choose(self, count):
        asked = [self.study.ask() for _ in range(count)]
        self.trials.update(enumerate(asked, len(self.trials)))
        return [self.point(trial) for trial in asked]

    def point(self, trial):
        point = {}
        for p in self.parameters:
            if not active(p, point):
                continue
            name, log = p["name"], p.get("scale") == "log"
            if p["type"] == "boolean":
                point[name] = trial.suggest_categorical(name, [False, True])
            elif p["type"] in ("categorical", "discrete"):
                point[name] = trial.suggest_categorical(name, p["values"])
            elif p["type"] == "integer":
                point[name] = trial.suggest_int(name, p["min"], p["max"], log=log)
            else:
                point[name] = trial.suggest_float(name, p["min"], p["max"], log=log)
        return point

    def learn(self, results):
        for handle, _, value in results:
            if is_number(value):
                self.study.tell(self.trials[handle], value)
            else:
                self.study.tell(self.trials[handle], state=optuna.trial.TrialState.FAIL)
