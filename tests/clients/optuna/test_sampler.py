"""Optuna's studies with parameters from a real server."""

import math
import pickle
import subprocess
import sys
import textwrap
import time
import warnings

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import banditd
from banditd.optuna import BanditdSampler, SamplerWarning, from_server, parameter, to_server

optuna.logging.set_verbosity(optuna.logging.WARNING)
SPACE = {"x": FloatDistribution(-5, 10), "y": FloatDistribution(0, 15)}


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    value = (y - 5.1 * x**2 / (4 * math.pi**2) + 5 * x / math.pi - 6) ** 2
    return value + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def the_study(url):
    (info,) = banditd.Client(url).studies()
    return banditd.Client(url).study(info["id"])


def test_a_script_changed_in_one_line_runs_200_trials(url):
    study = optuna.create_study(study_name="Branin's function", sampler=BanditdSampler(url))
    study.optimize(branin, n_trials=200)
    assert len(study.trials) == 200 and study.best_value < 0.45, study.best_value
    info = the_study(url).info()
    assert info["id"] == "optuna-branin-s-function"
    assert (info["trials_completed"], info["trials_pending"], info["observations"]) == (190, 0, 200), info
    assert the_study(url).best()["observed"]["value"] <= study.best_value + 1e-12 or study.best_trial.number < 10
    told = {trial.id: trial for trial in the_study(url).trials()}
    for trial in study.trials[10:]:
        assert told[trial.system_attrs["banditd:trial"]].raw["value"] == trial.value
        assert told[trial.system_attrs["banditd:trial"]].parameters == trial.params


def test_the_space_can_be_given(url):
    study = optuna.create_study(direction="maximize", sampler=BanditdSampler(url, space=SPACE, study="given", seed=3))
    study.optimize(lambda trial: -branin(trial), n_trials=15)
    info = the_study(url).info()
    assert info["trials_completed"] == 15 and info["metric"]["goal"] == "maximize" and info["seed"] == 3, info


def test_every_kind_of_distribution(url):
    space = {
        "rate": FloatDistribution(1e-5, 1e-1, log=True),
        "share": FloatDistribution(0, 1, step=0.1),
        "layers": IntDistribution(1, 8),
        "width": IntDistribution(16, 256, step=16),
        "batch": IntDistribution(1, 1024, log=True),
        "kind": CategoricalDistribution(["a", "b", None, True, 1, "1"]),
    }

    def objective(trial):
        rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
        share = trial.suggest_float("share", 0, 1, step=0.1)
        layers, width = trial.suggest_int("layers", 1, 8), trial.suggest_int("width", 16, 256, step=16)
        batch, kind = trial.suggest_int("batch", 1, 1024, log=True), trial.suggest_categorical("kind", ["a", "b", None, True, 1, "1"])
        assert isinstance(layers, int) and isinstance(batch, int) and width % 16 == 0
        assert abs(share * 10 - round(share * 10)) < 1e-9
        return math.log10(rate) + share + layers + width / 256 + math.log(batch) + (kind is None)

    study = optuna.create_study(sampler=BanditdSampler(url, space=space))
    study.optimize(objective, n_trials=30)
    assert the_study(url).info()["trials_completed"] == 30
    for trial in study.trials:
        for name, value in trial.params.items():
            back = from_server(space[name], to_server(space[name], value))
            assert type(back) is type(value) and back == pytest.approx(value), (name, value, back)
    assert parameter("fine", FloatDistribution(0, 1, step=1e-5))["step"] == 1e-5


def test_constraints_are_kept(url):
    sampler = BanditdSampler(url, space=SPACE, constraints=["x + y <= 3"], study="kept")
    study = optuna.create_study(sampler=sampler)
    study.optimize(branin, n_trials=12)
    assert all(trial.params["x"] + trial.params["y"] <= 3 + 1e-9 for trial in study.trials)
    assert the_study(url).info()["domain"]["constraints"] == ["x + y <= 3"]


def test_points_that_break_a_constraint_are_infeasible(url):
    """Without a space the first trials are random, and some break the constraint. The others count."""
    study = optuna.create_study(sampler=BanditdSampler(url, constraints=["x + y <= 3"], study="inferred", seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SamplerWarning)
        warnings.filterwarnings("ignore", "the first .* trials are random", SamplerWarning)
        study.optimize(branin, n_trials=12)
        study.enqueue_trial({"x": 9.0, "y": 9.0})
        study.optimize(branin, n_trials=1)
    kept = [trial.params["x"] + trial.params["y"] <= 3 + 1e-9 for trial in study.trials]
    assert not all(kept[:10]) and any(kept[:10]) and all(kept[10:12]) and not kept[12], kept
    assert the_study(url).info()["observations"] == sum(kept)
    states = [each["state"] for each in the_study(url).observations()]
    assert states == ["completed" if each else "infeasible" for each in [*kept[:10], kept[12]]]


def test_choices_have_features(url):
    solvents = [f"s{i}" for i in range(40)]
    rows = [[i / 40, (7 * i) % 40] for i in range(40)]
    space = {"x": FloatDistribution(0, 1), "solvent": CategoricalDistribution(solvents)}
    sampler = BanditdSampler(url, space=space, features={"solvent": rows}, study="alike")
    study = optuna.create_study(sampler=sampler)
    study.optimize(
        lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2
        + (rows[solvents.index(trial.suggest_categorical("solvent", solvents))][0] - 0.62) ** 2,
        n_trials=25,
    )
    assert study.best_value < 0.01
    again = BanditdSampler(url, space=space, study="alike")
    with pytest.raises(ValueError, match="other features"):
        optuna.create_study(sampler=again).optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(ValueError, match="only categorical"):
        wrong = BanditdSampler(url, space=space, features={"x": rows}, study="wrong")
        optuna.create_study(sampler=wrong).optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)


def test_a_study_whose_steps_were_made_as_lists_is_continued(url):
    space = {"share": FloatDistribution(0, 1, step=0.1), "width": IntDistribution(16, 64, step=16)}
    lists = [
        {"name": "share", "type": "discrete", "values": [k / 10 for k in range(11)]},
        {"name": "width", "type": "discrete", "values": [16, 32, 48, 64]},
    ]
    banditd.Client(url).create_study(
        {"id": "lists", "metric": {"name": "value", "goal": "minimize"}, "domain": {"type": "space", "parameters": lists}}
    )
    study = optuna.create_study(sampler=BanditdSampler(url, space=space, study="lists"))
    study.optimize(lambda t: t.suggest_float("share", 0, 1, step=0.1) + t.suggest_int("width", 16, 64, step=16), n_trials=4)
    assert the_study(url).info()["trials_completed"] == 4


def test_failed_and_pruned_trials(url):
    def objective(trial):
        value = branin(trial)
        if trial.number % 5 == 1:
            raise ArithmeticError("it broke")
        for step in range(3):
            trial.report(value + 3 - step, step)
            if trial.number % 5 == 2 and step == 1:
                raise optuna.TrialPruned()
        return float("nan") if trial.number % 5 == 3 else value

    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    study.optimize(objective, n_trials=20, catch=(ArithmeticError,))
    info = the_study(url).info()
    states = [info[f"trials_{state}"] for state in ("completed", "failed", "stopped", "pending")]
    assert states == [8, 8, 4, 0], info
    stopped = [trial for trial in the_study(url).trials() if trial.state == "stopped"]
    assert all(trial.raw["value"] is not None for trial in stopped), stopped


def test_asking_and_telling(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    trials = [study.ask() for _ in range(4)]
    points = {(branin(trial), trial.params["x"]) for trial in trials}
    assert len(points) == 4, "no two of them are the same"
    for trial in trials[:3]:
        study.tell(trial, branin(trial))
    study.tell(trials[3], state=optuna.trial.TrialState.FAIL)
    info = the_study(url).info()
    assert (info["trials_completed"], info["trials_failed"]) == (3, 1), info


def test_many_at_once(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    study.optimize(branin, n_trials=40, n_jobs=4)
    info = the_study(url).info()
    assert (info["trials_completed"], info["trials_pending"]) == (40, 0), info


def test_parameters_outside_the_space_are_independent(url):
    def objective(trial):
        return branin(trial) + trial.suggest_float("more", 0, 1) + (trial.suggest_int("deep", 1, 3) if trial.number % 2 else 0)

    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    study.optimize(objective, n_trials=8)
    assert {p["name"] for p in the_study(url).info()["domain"]["parameters"]} == {"x", "y"}
    assert all(0 <= trial.params["more"] <= 1 for trial in study.trials)


def test_only_what_all_trials_have_is_inferred(url):
    def objective(trial):
        return branin(trial) + (trial.suggest_int("deep", 1, 3) if trial.number % 2 else 0)

    study = optuna.create_study(sampler=BanditdSampler(url, inferred_after=6))
    study.optimize(objective, n_trials=9)
    assert {p["name"] for p in the_study(url).info()["domain"]["parameters"]} == {"x", "y"}
    assert the_study(url).info()["trials_completed"] == 3


def test_enqueued_trials_are_observations(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    study.enqueue_trial({"x": math.pi, "y": 2.275})
    study.optimize(branin, n_trials=5)
    info = the_study(url).info()
    assert (info["trials_completed"], info["observations"]) == (4, 5), info
    assert study.best_value == pytest.approx(0.397887, abs=1e-5)


@pytest.mark.parametrize("high", [12, 5])
def test_a_changed_distribution_is_an_error(url, high):
    def changed(trial):
        return trial.suggest_float("x", -5, high) + trial.suggest_float("y", 0, 15)

    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    study.optimize(branin, n_trials=3)
    with pytest.raises(ValueError, match="'x'.*changed distribution"):
        study.optimize(changed, n_trials=20)
    assert the_study(url).info()["trials_completed"] == 3


def branin_and_currin(trial):
    """Scaled to the same square as `branin`."""
    x, y = (trial.suggest_float("x", -5, 10) + 5) / 15, trial.suggest_float("y", 0, 15) / 15
    top = ((2300 * x + 1900) * x + 2092) * x + 60
    trial.set_user_attr("sum", x + y)
    return branin(trial), (1 - (math.exp(-0.5 / y) if y > 0 else 0)) * top / (((100 * x + 500) * x + 4) * x + 20)


def test_several_objectives_and_constraints(url):
    sampler = BanditdSampler(
        url,
        inferred_after=5,
        constraints_func=lambda trial: [trial.user_attrs["sum"] - 1],
        constraint_names=["too much"],
        thresholds=[18, 6],
    )
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler, study_name="both")
    study.set_metric_names(["branin", "currin"])
    study.optimize(branin_and_currin, n_trials=30)
    server = the_study(url)
    info = server.info()
    assert info["metrics"] == [
        {"name": "branin", "goal": "minimize", "role": "objective", "threshold": 18},
        {"name": "currin", "goal": "minimize", "role": "objective", "threshold": 6},
        {"name": "too much", "role": "constraint", "at_most": 0},
    ]
    assert (info["trials_completed"], info["observations"]) == (25, 30), info
    # Optuna's own front, which knows the constraints, is the server's
    observed = [point["values"] for point in server.best()["observed"]["pareto"]]
    front = [dict(zip(["branin", "currin"], trial.values)) | {"too much": trial.system_attrs["constraints"][0]} for trial in study.best_trials]
    assert sorted(map(str, observed)) == sorted(map(str, front)) and len(front) > 3, (observed, front)
    assert server.best()["hypervolume"] > 20, server.best()
    again = BanditdSampler(url, constraints_func=lambda trial: [0], constraint_names=["too much"], thresholds=[18, 6])
    continued = optuna.create_study(directions=["minimize", "maximize"], sampler=again, study_name="both")
    with pytest.raises(ValueError, match="other directions"):
        continued.optimize(branin_and_currin, n_trials=1)


def test_one_objective_with_a_constraint(url):
    """The best value of Branin's function is 0.398; where x + y <= -1 it is larger."""
    sampler = BanditdSampler(
        url, space=SPACE, seed=2, constraints_func=lambda trial: [sum(trial.params.values()) - 7], constraint_names=["sum"]
    )
    study = optuna.create_study(sampler=sampler, study_name="bounded")
    study.optimize(branin, n_trials=25)
    best = the_study(url).best()["observed"]
    assert best["values"]["sum"] <= 0 and best["value"] < 1, best
    assert best["value"] == min(t.value for t in study.trials if t.system_attrs["constraints"][0] <= 0)


def test_a_broken_constraint_fails_the_trial(url):
    sampler = BanditdSampler(url, space=SPACE, constraints_func=lambda trial: [1, 2], constraint_names=["one"])
    study = optuna.create_study(sampler=sampler, study_name="broken")
    with pytest.raises(ValueError, match="2 values for 1 constraint_names"):
        study.optimize(branin, n_trials=1)
    assert the_study(url).info()["trials_failed"] == 1
    with pytest.raises(ValueError, match="together"):
        BanditdSampler(url, constraint_names=["one"])


def test_six_objectives_are_an_error(url):
    study = optuna.create_study(directions=["minimize"] * 6, sampler=BanditdSampler(url, space=SPACE))
    with pytest.raises(ValueError, match="up to five objectives"):
        study.optimize(lambda trial: (branin(trial),) * 6, n_trials=1)


def test_going_on_in_another_process(url, tmp_path):
    storage = f"sqlite:///{tmp_path}/optuna.db"
    script = textwrap.dedent(
        """
        import sys, optuna
        sys.path[:0] = sys.argv[3:]
        from test_sampler import branin
        from banditd.optuna import BanditdSampler
        study = optuna.create_study(storage=sys.argv[2], study_name="both", load_if_exists=True, sampler=BanditdSampler(sys.argv[1]))
        study.optimize(branin, n_trials=12)
        """
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script, url, storage, *sys.path], check=True, timeout=300)
    info = the_study(url).info()
    assert (info["observations"], info["trials_completed"]) == (24, 14), info


def test_another_space_under_the_same_name_is_an_error(url):
    optuna.create_study(sampler=BanditdSampler(url, space=SPACE, study="same")).optimize(branin, n_trials=1)
    other = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 15)}
    study = optuna.create_study(sampler=BanditdSampler(url, space=other, study="same"))
    with pytest.raises(ValueError, match="'x'"):
        study.optimize(branin, n_trials=1)
    turned = optuna.create_study(direction="maximize", sampler=BanditdSampler(url, space=SPACE, study="same"))
    with pytest.raises(ValueError, match="direction"):
        turned.optimize(branin, n_trials=1)


def test_a_long_objective_keeps_its_lease(url):
    running, twice = set(), []

    def slow(trial):
        x = trial.suggest_float("x", -5, 10)
        number = trial.study.trials[trial.number].system_attrs["banditd:trial"]
        twice.extend({number} & running)
        running.add(number)
        time.sleep(2.5)
        return x**2

    sampler = BanditdSampler(url, space={"x": FloatDistribution(-5, 10)}, lease_seconds=1)
    optuna.create_study(sampler=sampler).optimize(slow, n_trials=4, n_jobs=2)
    assert not twice
    trials = [trial for trial in the_study(url).trials() if trial.attempt > 0]
    assert [(trial.state, trial.attempt) for trial in trials] == [("completed", 1)] * 4, trials
    assert sampler._leases._thread is None or not sampler._leases._running


def test_what_the_server_refuses_is_a_warning(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    trials = [study.ask() for _ in range(2)]
    values = [branin(trial) for trial in trials]
    number = study.trials[0].system_attrs["banditd:trial"]
    the_study(url).tell_results([{"trial": number, "attempt": 1, "value": 5.0}])
    with pytest.warns(SamplerWarning, match="trial 0 is not on the server: 409"):
        study.tell(trials[0], values[0])
    the_study(url).delete()
    with pytest.warns(SamplerWarning, match="trial 1 is not on the server: 404"):
        study.tell(trials[1], values[1])
    assert [trial.value for trial in study.trials] == values


def test_the_result_of_an_earlier_attempt_is_a_late_one(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    trial = study.ask()
    value = branin(trial)
    number = study.trials[0].system_attrs["banditd:trial"]
    server = the_study(url)
    server.tell_results([{"trial": number, "attempt": 1, "state": "failed", "retry": True}])
    (again,) = server.ask()
    assert (again.id, again.attempt) == (number, 2), again
    server.tell(again, 5.0)
    study.tell(trial, value)
    assert server.trial(number).raw["late_results"][0]["value"] == value
    assert server.info()["trials_completed"] == 1


def boosted(trial):
    """Conditional in two steps, on choices and on a whole number."""
    booster = trial.suggest_categorical("booster", ["linear", "tree", "dart"])
    value = trial.suggest_float("rate", 0.01, 1, log=True)
    if booster != "linear":
        depth = trial.suggest_int("depth", 1, 3)
        value += sum(trial.suggest_float(f"w{i}", 0, 1) for i in range(depth))
    if booster == "dart":
        value += trial.suggest_float("drop", 0, 0.5)
    return value


BOOSTED = [
    {"name": "booster", "type": "categorical", "values": ["dart", "tree", "linear"]},
    {"name": "rate", "type": "double", "min": 0.01, "max": 1, "scale": "log"},
    {"name": "depth", "type": "integer", "min": 1, "max": 3, "active_when": {"parameter": "booster", "in": ["tree", "dart"]}},
    {"name": "w0", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "depth", "in": [1, 2, 3]}},
    {"name": "w1", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "depth", "min": 2}},
    {"name": "w2", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "depth", "min": 3}},
    {"name": "drop", "type": "double", "min": 0, "max": 0.5, "active_when": {"parameter": "booster", "in": ["dart"]}},
]


@pytest.mark.filterwarnings("error::banditd.optuna.SamplerWarning")
def test_a_conditional_study_of_the_server_is_used(url):
    banditd.Client(url).create_study(
        {"id": "made", "metric": {"name": "loss", "goal": "minimize"}, "domain": {"type": "space", "parameters": BOOSTED}}
    )
    study = optuna.create_study(sampler=BanditdSampler(url, study="made"))
    study.enqueue_trial({"booster": "linear", "rate": 0.5})
    study.optimize(boosted, n_trials=20)
    info = the_study(url).info()
    assert (info["trials_completed"], info["observations"]) == (19, 20), info
    told = {trial.id: trial for trial in the_study(url).trials()}
    for trial in study.trials[1:]:
        assert told[trial.system_attrs["banditd:trial"]].parameters == trial.params


def test_a_tree_of_suggestions_is_inferred(url):
    sampler = BanditdSampler(url, inferred_after=20, seed=1)
    study = optuna.create_study(sampler=sampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SamplerWarning)
        warnings.filterwarnings("ignore", "the first .* trials are random", SamplerWarning)
        study.optimize(boosted, n_trials=30)
    info = the_study(url).info()
    assert info["trials_completed"] == 10 and info["observations"] == 30, info
    conditions = {each["name"]: each.get("active_when") for each in info["domain"]["parameters"]}
    assert conditions.pop("rate") is None and conditions.pop("booster") is None
    assert conditions == {
        "depth": {"parameter": "booster", "in": ["tree", "dart"]},
        "w0": {"parameter": "booster", "in": ["tree", "dart"]},
        "w1": {"parameter": "depth", "in": [2, 3]},
        "w2": {"parameter": "depth", "in": [3]},
        "drop": {"parameter": "booster", "in": ["dart"]},
    }


def test_the_first_random_trials_are_said_aloud_once(url):
    study = optuna.create_study(sampler=BanditdSampler(url, inferred_after=3))
    with pytest.warns(SamplerWarning) as said:
        study.optimize(branin, n_trials=5)
    assert [str(each.message) for each in said] == ["the first 3 trials are random; give `space` to choose them, too"]
    assert the_study(url).info()["trials_completed"] == 2


def failing(url, objective, n_trials, **options):
    """Runs an objective that may fail. -> the study of Optuna"""
    study = optuna.create_study(sampler=BanditdSampler(url, seed=1, **options))
    study.optimize(objective, n_trials=n_trials, catch=(ArithmeticError,))
    return study


@pytest.mark.parametrize("successes", [{2, 5}, set()])
def test_failed_trials_are_among_the_first(url, successes):
    """Even if there are no others."""

    def objective(trial):
        value = branin(trial)
        if trial.number not in successes:
            raise ArithmeticError("it broke")
        return value

    study = failing(url, objective, 12)
    info = the_study(url).info()
    assert {each["name"] for each in info["domain"]["parameters"]} == {"x", "y"}
    assert (info["observations"], info["trials_failed"]) == (len(successes), 12 - len(successes)), info
    failed = [trial for trial in study.trials if trial.number not in successes]
    told = the_study(url).trials(state="failed")
    assert [trial.parameters for trial in told] == [pytest.approx(trial.params) for trial in failed]
    study.enqueue_trial({"x": 1.0, "y": 2.0})
    study.optimize(objective, n_trials=1, catch=(ArithmeticError,))
    told = list(the_study(url).trials(state="failed"))
    assert len(told) == 13 - len(successes) and told[-1].parameters == {"x": 1, "y": 2}, told


def test_a_failure_does_not_make_a_condition(url):
    """A parameter that failed trials lack is one of all trials: they failed before it was suggested."""

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        if trial.number % 3:
            raise ArithmeticError("it broke")
        return x + trial.suggest_float("y", 0, 1) + (trial.suggest_float("z", 0, 1) if kind == "a" else 0)

    failing(url, objective, 25, inferred_after=20)
    info = the_study(url).info()
    conditions = {each["name"]: each.get("active_when") for each in info["domain"]["parameters"]}
    assert conditions == {"x": None, "kind": None, "y": None, "z": {"parameter": "kind", "in": ["a"]}}
    assert (info["observations"], info["trials_failed"], info["trials_pending"]) == (9, 3, 0), "points need a y"


def test_failures_with_different_parameters_are_said_aloud(url):
    """If every trial failed, it is not known which parameters there are, until there are three times as many."""

    def objective(trial):
        if trial.suggest_float("x", 0, 1) + (trial.suggest_float("y", 0, 1) if trial.number % 2 else 0) < 9:
            raise ArithmeticError("it broke")

    with pytest.warns(SamplerWarning, match="still random after 4 trials: all of them have failed"):
        study = failing(url, objective, 11, inferred_after=4)
    assert list(banditd.Client(url).studies()) == []
    study.optimize(objective, n_trials=3, catch=(ArithmeticError,))
    assert {each["name"] for each in the_study(url).info()["domain"]["parameters"]} == {"x", "y"}


def test_too_few_trials_to_see_a_tree_are_said_aloud(url):
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["a", "b", "c"])
        return trial.suggest_float("x", 0, 1) + (trial.suggest_float("y", 0, 1) if kind == "a" else 0)

    study = optuna.create_study(sampler=BanditdSampler(url, inferred_after=4))
    for kind in "abab":
        study.enqueue_trial({"kind": kind, "x": 0.5, "y": 0.5})
    study.optimize(objective, n_trials=4)
    with pytest.warns(SamplerWarning, match="no trial with kind='c' has a value yet"):
        objective(study.ask())


@pytest.mark.filterwarnings("error::banditd.optuna.SamplerWarning")
def test_other_words_for_the_same_parameters(url):
    space = [
        {"name": "flag", "type": "boolean"},
        {"name": "size", "type": "discrete", "values": [16, 32, 64]},
        {"name": "width", "type": "integer", "min": 0, "max": 10, "step": 4},
    ]
    banditd.Client(url).create_study(
        {"id": "words", "metric": {"name": "loss", "goal": "minimize"}, "domain": {"type": "space", "parameters": space}}
    )

    def objective(trial):
        flag, size = trial.suggest_categorical("flag", [True, False]), trial.suggest_categorical("size", [64, 32, 16])
        assert isinstance(flag, bool) and isinstance(size, int)
        return size * flag + trial.suggest_int("width", 0, 10, step=4)

    study = optuna.create_study(sampler=BanditdSampler(url, study="words"))
    study.enqueue_trial({"flag": True, "size": 32, "width": 4})
    study.optimize(objective, n_trials=6)
    info = the_study(url).info()
    assert (info["trials_completed"], info["observations"]) == (5, 6), info


def test_a_pickled_study_goes_on(url):
    study = optuna.create_study(sampler=BanditdSampler(url, space=SPACE))
    study.optimize(branin, n_trials=3)
    trial = study.ask()
    value = branin(trial)
    copy = pickle.loads(pickle.dumps(study))
    copy.tell(trial.number, value)
    copy.optimize(branin, n_trials=2)
    info = the_study(url).info()
    assert (info["trials_completed"], info["trials_pending"]) == (6, 0), info
