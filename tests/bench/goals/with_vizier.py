"""Google's Vizier: GP-UCB-PE, the default of its service. Constraints are its safety metrics, and trials that break one are
infeasible to it, as in its own UnsafeAsInfeasibleDesigner. With one objective its arrays are padded to multiples of ten
trials, so that JAX need not compile anew for each trial; with several it has no padding of trials."""

import jax
from vizier import algorithms, pyvizier
from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit
from vizier._src.algorithms.designers.unsafe_as_infeasible_designer import UnsafeAsInfeasibleDesigner
from vizier.pyvizier.converters import padding

jax.config.update("jax_enable_x64", True)  # as its own service does


class Sampler:
    def __init__(self, name, problem, seed):
        self.problem, self.told = problem, 0
        self.names = [f"f{j}" for j in range(problem.objectives)] + [f"g{j}" for j in range(problem.constraints)]
        statement = pyvizier.ProblemStatement()
        for metric in self.names:
            bound = {"safety_threshold": 0.0} if metric.startswith("g") else {}
            statement.metric_information.append(
                pyvizier.MetricInformation(name=metric, goal=pyvizier.ObjectiveMetricGoal.MINIMIZE, **bound)
            )
        for i, (low, high) in enumerate(problem.bounds):
            root = statement.search_space.root
            add = root.add_int_param if i in problem.whole else root.add_float_param
            add(f"x{i}", low, high)
        trials = padding.PaddingType.MULTIPLES_OF_10 if problem.objectives == 1 else padding.PaddingType.NONE

        def designer(given, seed=None):
            return VizierGPUCBPEBandit(
                given, rng=jax.random.PRNGKey(seed), padding_schedule=padding.PaddingSchedule(num_trials=trials)
            )

        if problem.constraints:
            self.designer = UnsafeAsInfeasibleDesigner(statement, designer, seed=seed)
        else:
            self.designer = designer(statement, seed)

    def ask(self, count):
        suggestions = self.designer.suggest(count)
        self.trials = [s.to_trial(self.told + i + 1) for i, s in enumerate(suggestions)]
        values = [s.parameters.as_dict() for s in suggestions]
        return [[float(v[f"x{i}"]) for i in range(len(self.problem.bounds))] for v in values]

    def tell(self, points, values):
        for trial, each in zip(self.trials, values):
            trial.complete(pyvizier.Measurement(dict(zip(self.names, each))))
        self.told += len(values)
        self.designer.update(algorithms.CompletedTrials(self.trials), algorithms.ActiveTrials([]))
