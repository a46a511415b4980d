"""What a space on the server may say and Optuna's distributions do not: contexts, precision, order, conditions on numbers."""

import math
import pickle

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

import banditd
from banditd.optuna import BanditdSampler

pytestmark = pytest.mark.filterwarnings("error::banditd.optuna.SamplerWarning")
SPACE = {"time": FloatDistribution(0, 10), "weather": FloatDistribution(0, 40), "flour": CategoricalDistribution(["rye", "wheat"])}


def bake(trial):
    time, weather = trial.suggest_float("time", 0, 10), trial.suggest_float("weather", 0, 40)
    return (time - 2 - weather / 8) ** 2 + (trial.suggest_categorical("flour", ["rye", "wheat"]) == "rye")


def create(url, name, parameters, **domain):
    definition = {"id": name, "metric": {"name": "loss", "goal": "minimize"}, "seed": 1}
    return banditd.Client(url).create_study({**definition, "domain": {"type": "space", "parameters": parameters, **domain}})


def test_contexts_are_brought(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE, contexts=["weather", "flour"], study="oven", seed=2))
    for k in range(24):
        brought = {"weather": float(k * 13 % 41), "flour": ["rye", "wheat"][k % 2]}
        study.enqueue_trial(brought)
        study.optimize(bake, n_trials=1)
        assert {name: study.trials[-1].params[name] for name in brought} == brought
    late = sorted(trial.value - (trial.params["flour"] == "rye") for trial in study.trials[-8:])
    assert late[4] < 1, late  # each at a weather that is new; at random it is more than 5 in the middle
    server = banditd.Client(url).study("oven")
    assert (server.info()["trials_completed"], server.info()["observations"]) == (24, 24)
    assert {each["name"] for each in server.info()["domain"]["parameters"] if each.get("role") == "context"} == {"weather", "flour"}
    again = optuna.create_study(sampler=pickle.loads(pickle.dumps(BanditdSampler(url, study="oven"))))
    again.enqueue_trial({"weather": 20.0, "flour": "wheat", "time": 4.5})  # all of it: a result of one's own
    again.enqueue_trial({"weather": 20.0, "flour": "wheat"})
    again.optimize(bake, n_trials=2)
    assert (server.info()["trials_completed"], server.info()["observations"]) == (25, 26)


def test_a_context_that_is_not_brought_is_an_error(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE, contexts=["weather"], study="oven"))
    with pytest.raises(ValueError, match="trial 0 has no value of the context 'weather'"):
        study.optimize(bake, n_trials=1)
    other = optuna.create_study(sampler=BanditdSampler(url, space=SPACE, contexts=["flour"], study="oven"))
    with pytest.raises(ValueError, match="other contexts"):
        other.optimize(bake, n_trials=1)
    unknown = optuna.create_study(sampler=BanditdSampler(url, space=SPACE, contexts=["wind"], study="windy"))
    with pytest.raises(ValueError, match="'wind' is not among the parameters"):
        unknown.optimize(bake, n_trials=1)


def test_everything_that_a_space_may_say(url):
    create(
        url,
        "all",
        [
            {"name": "rate", "type": "double", "min": 0.001, "max": 1, "scale": "log", "precision": 2},
            {"name": "level", "type": "categorical", "values": ["low", "mid", "high"], "ordered": True},
            {"name": "gate", "type": "boolean"},
            {"name": "share", "type": "double", "min": 0, "max": 1, "step": 0.25},
            {"name": "boost", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "rate", "min": 0.05}},
            {"name": "solvent", "type": "categorical", "values": ["a", "b"], "features": [[0.5], [2.0]]},
        ],
        constraints=['if gate then level >= "mid"'],
    )

    def objective(trial):
        rate, level = trial.suggest_float("rate", 0.001, 1, log=True), trial.suggest_categorical("level", ["low", "mid", "high"])
        boost = trial.suggest_float("boost", 0, 1) if rate >= 0.05 else 0
        gate, share = trial.suggest_categorical("gate", [True, False]), trial.suggest_float("share", 0, 1, step=0.25)
        assert trial.number == 0 or float(f"{rate:.2g}") == rate  # the first is ours, and may have more digits
        assert (level != "low" or not gate) and share * 4 == int(share * 4)
        return abs(math.log10(rate) + 1) + len(level) + share + boost + (trial.suggest_categorical("solvent", ["a", "b"]) == "a")

    rules, rows = ['if gate then level >= "mid"'], {"solvent": [[0.5], [2.0]]}
    study = optuna.create_study(sampler=BanditdSampler(url, study="all", constraints=rules, features=rows))
    study.enqueue_trial({"rate": 0.1234, "level": "high", "gate": True, "share": 0.5, "boost": 0.5, "solvent": "a"})
    study.optimize(objective, n_trials=20)
    info = banditd.Client(url).study("all").info()
    assert (info["trials_completed"], info["observations"]) == (19, 20), info
