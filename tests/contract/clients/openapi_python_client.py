"""A client that openapi-python-client makes creates, asks, tells, lists and reads. Arguments: its folder, URL."""

import sys

sys.path.insert(0, sys.argv[1])
from banditd_client import Client, models  # noqa: E402
from banditd_client.api.reading import get_best, get_model, predict  # noqa: E402
from banditd_client.api.studies import create_study, get_study, list_studies  # noqa: E402
from banditd_client.api.trials import ask, get_trial, list_trials, tell  # noqa: E402

client = Client(base_url=sys.argv[2])
rate = models.DoubleParameter(name="rate", type_=models.DoubleParameterType.DOUBLE, min_=1e-5, max_=1.0, scale=models.ParameterScale.LOG)
kind = models.CategoricalParameter(name="kind", type_=models.CategoricalParameterType.CATEGORICAL, values=["a", "b"])
definition = models.StudyDefinition(
    id="python-client",
    metric=models.Metric(name="loss", goal=models.MetricGoal.MINIMIZE),
    domain=models.SpaceDomain(type_=models.SpaceDomainType.SPACE, parameters=[rate, kind]),
    algorithm=models.AlgorithmDefinition(name=models.AlgorithmDefinitionName.BBKB, noise_std=0.1),
    seed=2**53 - 1,
)
study = create_study.sync(client=client, body=definition)
assert isinstance(study, models.Study) and study.algorithm.noise_std == 0.1 and study.seed == 2**53 - 1, study
assert isinstance(study.domain.parameters[0], models.DoubleParameter), study.domain
asked = ask.sync(study.id, client=client, body=models.Ask(count=3))
results = [models.Result(trial=trial.id, value=float(trial.id)) for trial in asked.trials]
assert tell.sync(study.id, client=client, body=models.Tell(results=results)).accepted == 3
assert [trial.value for trial in list_trials.sync(study.id, client=client, state=models.TrialState.COMPLETED).items] == [1.0, 2.0, 3.0]
assert [each.id for each in list_studies.sync(client=client).items if each.id == study.id]
assert get_best.sync(study.id, client=client).observed.trial == 1
assert get_trial.sync(study.id, 1, client=client).attempts[0].outcome == "completed"
assert get_study.sync(study.id, client=client).trials_completed == 3
assert isinstance(get_model.sync(study.id, client=client), models.Model)
assert ask.sync(study.id, client=client, body=models.Ask(count=8)).trials  # the next batch has the results in its model
point = models.Parameters.from_dict({"rate": 0.1, "kind": "b"})
assert len(predict.sync(study.id, client=client, body=models.Predict(parameters=[point])).predictions) == 1
