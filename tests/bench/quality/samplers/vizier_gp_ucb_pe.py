"""Google's Vizier: GP-UCB-PE, the default of its service. Trials under way are its active trials. Its arrays are padded to
multiples of ten trials, so that JAX need not compile anew for each trial."""

import jax
from protocol import Sampler, is_number, need_parameters, serve
from vizier import algorithms, pyvizier
from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit
from vizier.pyvizier.converters import padding

jax.config.update("jax_enable_x64", True)  # as its own service does


class Vizier(Sampler):
    def __init__(self, task, seed, options):
        super().__init__()
        self.parameters = need_parameters(task)
        problem = pyvizier.ProblemStatement()
        problem.metric_information.append(
            pyvizier.MetricInformation(name="value", goal=pyvizier.ObjectiveMetricGoal.MINIMIZE)
        )
        for p in self.parameters:
            add(problem.search_space.root, p)
        schedule = padding.PaddingSchedule(num_trials=padding.PaddingType.MULTIPLES_OF_10)
        self.designer = VizierGPUCBPEBandit(problem, rng=jax.random.PRNGKey(seed), padding_schedule=schedule)
        self.under_way = {}

    def choose(self, count):
        # It is to see its own suggestions as active trials before the next is asked for.
        self.designer.update(algorithms.CompletedTrials([]), algorithms.ActiveTrials(list(self.under_way.values())))
        points = []
        for suggestion in self.designer.suggest(count):
            number = len(self.points) + len(points)
            self.under_way[number] = suggestion.to_trial(number + 1)
            values = suggestion.parameters.as_dict()
            points.append({p["name"]: plain(p, values[p["name"]]) for p in self.parameters})
        return points

    def learn(self, results):
        done = []
        for handle, _, value in results:
            trial = self.under_way.pop(handle)
            if is_number(value):
                trial.complete(pyvizier.Measurement({"value": value}))
            else:
                trial.complete(pyvizier.Measurement(), infeasibility_reason="failed")
            done.append(trial)
        active = algorithms.ActiveTrials(list(self.under_way.values()))
        self.designer.update(algorithms.CompletedTrials(done), active)


def add(root, p):
    name = p["name"]
    scale = pyvizier.ScaleType.LOG if p.get("scale") == "log" else pyvizier.ScaleType.LINEAR
    if p["type"] == "boolean":
        root.add_categorical_param(name, ["False", "True"])
    elif p["type"] == "categorical":
        root.add_categorical_param(name, p["values"])
    elif p["type"] == "discrete":
        root.add_discrete_param(name, p["values"])
    elif p["type"] == "integer":
        root.add_int_param(name, p["min"], p["max"], scale_type=scale)
    else:
        root.add_float_param(name, p["min"], p["max"], scale_type=scale)


def plain(parameter, value):
    if parameter["type"] == "boolean":
        return value == "True"
    kinds = {"categorical": str, "integer": int}
    return kinds.get(parameter["type"], float)(value)


if __name__ == "__main__":
    serve(Vizier)
