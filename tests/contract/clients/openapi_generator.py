"""A client that openapi-generator makes for Python creates, asks, tells, lists and reads. Arguments: its folder, URL."""

import sys

sys.path.insert(0, sys.argv[1])
import openapi_client as banditd  # noqa: E402

client = banditd.ApiClient(banditd.Configuration(host=sys.argv[2]))
studies, trials, reading = banditd.StudiesApi(client), banditd.TrialsApi(client), banditd.ReadingApi(client)
rate = banditd.DoubleParameter(name="rate", type="double", min=1e-5, max=1, scale="log")
kind = banditd.CategoricalParameter(name="kind", type="categorical", values=["a", "b"])
space = banditd.SpaceDomain(type="space", parameters=[banditd.Parameter(rate), banditd.Parameter(kind)])
kernel = banditd.KernelDefinition(type="gaussian", lengthscale=banditd.Lengthscale(0.5))
definition = banditd.StudyDefinition(
    id="generator-python",
    metric=banditd.Metric(name="loss", goal="minimize"),
    domain=banditd.DomainDefinition(space),
    algorithm=banditd.AlgorithmDefinition(name="bbkb", kernel=kernel, noise_std=banditd.NoiseStd(0.1)),
    seed=2**53 - 1,
)
study = studies.create_study(definition)
assert study.algorithm.actual_instance.kernel.actual_instance.lengthscale.actual_instance == 0.5, study
assert study.domain.actual_instance.parameters[0].actual_instance.scale == "log" and study.seed == 2**53 - 1
listed = banditd.StudyDefinition.from_dict(
    {"id": "generator-list", "metric": {"name": "loss", "goal": "minimize"}, "domain": {"type": "candidates", "points": [[0, 1], [2, 3]]}}
)
assert studies.create_study(listed).domain.actual_instance.dimension == 2
asked = trials.ask(study.id, ask=banditd.Ask(count=3))
results = [banditd.Result(trial=trial.id, value=float(trial.id)) for trial in asked.trials]
assert trials.tell(study.id, tell=banditd.Tell(results=results)).accepted == 3
assert [trial.value for trial in trials.list_trials(study.id, state="completed").items] == [1, 2, 3]
assert {"generator-python", "generator-list"} <= {each.id for each in studies.list_studies().items}
assert reading.get_best(study.id).observed.trial == 1 and studies.get_study(study.id).trials_completed == 3
assert trials.get_trial(study.id, 1).attempts[0].outcome == "completed"
assert reading.get_model(study.id).kernel.actual_instance.type == "gaussian"
assert trials.ask(study.id, ask=banditd.Ask(count=8)).trials  # the next batch has the results in its model
predicted = reading.predict(study.id, predict=banditd.Predict(parameters=[{"rate": 0.1, "kind": "b"}]))
assert len(predicted.predictions) == 1 and len(reading.list_candidates("generator-list").items) == 2
