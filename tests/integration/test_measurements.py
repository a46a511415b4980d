"""Measurements on the way to a result, and the rules that stop trials, against a direct reading of their
definitions."""

import json
import pathlib
import statistics

from server import Server, run_to_end
from support import cases, definition, refusal

CURVES = json.loads((pathlib.Path(__file__).parent / "curves" / "curves.json").read_text())


def study_with(client, stopping, goal="minimize", **fields):
    body = definition(algorithm={}, stopping=stopping, **fields)
    body["algorithm"] = {"name": "uniform"}
    body["metric"]["goal"] = goal
    del body["feedback"]
    return client.create(body)


def measure(client, study, trial, step, value, **more):
    return client.post(f"/v1/studies/{study}/trials/{trial}/measurements", {"step": step, "value": value, **more})


# ---- the definitions, read directly ------------------------------------------------------------------------


def better(a, b, goal):
    return a < b if goal == "minimize" else a > b


def median_stops(curves, finished, run, goal, min_steps, min_trials):
    """Is the best value so far worse than the median of the finished trials' averages up to this step?"""
    own = curves[run]
    if len(own) < min_steps:
        return False
    last = max(own)
    averages = []
    for other in finished:
        values = [curves[other][step] for step in sorted(curves[other]) if step <= last]
        if values:
            averages.append(sum(values) / len(values))
    if len(averages) < min_trials:
        return False
    best = min(own.values()) if goal == "minimize" else max(own.values())
    return better(statistics.median(averages), best, goal)


def halving_stops(curves, finished, run, goal, min_resource, reduction):
    """At its highest rung: is the trial outside the best 1/reduction of those that have reached it?"""
    del finished
    last = max(curves[run])
    rungs = [min_resource * reduction**k for k in range(40) if min_resource * reduction**k <= last]
    if not rungs:
        return False

    def at_rung(curve):
        reached = [step for step in curve if step >= rungs[-1]]
        return curve[min(reached)] if reached else None

    values = [value for value in map(at_rung, curves.values()) if value is not None]
    own = at_rung(curves[run])
    return sum(better(value, own, goal) for value in values) >= max(1, len(values) // reduction)


def safely(stops):
    """The same, but not where the rule would have stopped the best of the finished trials."""

    def judge(curves, finished, run, goal, **parameters):
        if not stops(curves, finished, run, goal, **parameters) or not finished:
            return stops(curves, finished, run, goal, **parameters)
        best = (min if goal == "minimize" else max)(sorted(finished), key=finished.get)
        start = {step: value for step, value in curves[best].items() if step <= max(curves[run])}
        others = {other: value for other, value in finished.items() if other != best}
        return not (start and stops({**curves, best: start}, others, best, goal, **parameters))

    return judge


def safe(rule):
    stopping, stops, parameters = rule
    return {**stopping, "safe": True}, safely(stops), parameters


MEDIAN = ({"rule": "median", "min_steps": 4, "min_trials": 3}, median_stops, {"min_steps": 4, "min_trials": 3})
HALVING = (
    {"rule": "successive_halving", "min_resource": 2, "reduction": 3},
    halving_stops,
    {"min_resource": 2, "reduction": 3},
)


@cases(
    {
        "median": (*MEDIAN, "minimize"),
        "successive halving": (*HALVING, "minimize"),
        "median, maximized": (*MEDIAN, "maximize"),
        "successive halving, safe": (*safe(HALVING), "minimize"),
    }
)
def test_a_hundred_recorded_curves(case):
    stopping, stops, parameters, goal = case
    with Server() as server:
        client = server.client()
        study = study_with(client, stopping, goal)["id"]
        trials, curves, finished = {}, {}, {}
        answers = {True: 0, False: 0}
        for number, event in enumerate(CURVES):
            kind, run = event[:2]
            if number == len(CURVES) // 2:
                server.kill()
                server.start()
                client = server.client()
            if kind == "start":
                (trial,) = client.ask(study, worker=f"run {run}", wait_seconds=10)["trials"]
                trials[run], curves[run] = trial["id"], {}
            elif kind == "measure":
                step, value = event[2:]
                curves[run][step] = value
                expected = stops(curves, finished, run, goal, **parameters)
                answer = measure(client, study, trials[run], step, value)
                assert answer.status == 200 and answer.json == {"should_stop": expected}, (event, expected, answer)
                answers[expected] += 1
            else:
                state, value = event[2:]
                result = {"trial": trials[run]}
                if state != "completed":
                    result["state"] = state
                if value is not None:
                    result["value"] = value
                    finished[run] = value
                client.tell(study, [result])
        assert min(answers.values()) > 50, answers  # both answers are common
        view = client.study(study)
        assert view["trials_stopped"] > 0 and view["trials_completed"] + view["trials_failed"] + view["trials_stopped"] == 100
        assert view["observations"] == len(finished), view


@cases({"safe": True, "not safe": False})
def test_a_trial_like_the_best_one_is_spared(case, server):
    client = server.client()
    study = study_with(client, {"rule": "median", "min_steps": 1, "min_trials": 2, "safe": case}, "maximize")["id"]

    def run(*values):
        (trial,) = client.ask(study, fresh=True, wait_seconds=10)["trials"]
        answers = [measure(client, study, trial["id"], 1 + i, value).json["should_stop"] for i, value in enumerate(values)]
        client.tell(study, [{"trial": trial["id"], "value": values[-1]}])
        return answers

    run(0.5, 0.5, 0.5)
    run(0.6, 0.6, 0.6)
    assert run(0.1, 0.1, 0.9) == [True, True, False]  # nobody knows yet that such a trial may be the best
    assert run(0.05, 0.05, 0.05) == [not case, not case, True]


# ---- around them -------------------------------------------------------------------------------------------


def test_defaults_are_shown(server):
    client = server.client()
    view = study_with(client, {"rule": "median"})
    assert view["stopping"] == {"rule": "median", "min_steps": 5, "min_trials": 5}, view
    view = study_with(client, {"rule": "successive_halving"})
    assert view["stopping"] == {"rule": "successive_halving", "min_resource": 1, "reduction": 3}, view
    assert client.study(view["id"])["stopping"] == view["stopping"]
    view = study_with(client, {"rule": "median", "safe": True})
    assert view["stopping"] == {"rule": "median", "min_steps": 5, "min_trials": 5, "safe": True}, view


# ---- stopped trials that teach -----------------------------------------------------------------------------

LINE = {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]}


def seeking(client, stopping=None, **fields):
    rule = {"rule": "median", "min_steps": 1, "min_trials": 2, **(stopping or {})}
    body = {"metric": {"name": "score", "goal": "maximize"}, "domain": LINE, "seed": 3, "stopping": rule, **fields}
    return client.create(body)["id"]


def begin(client, study, *values):
    """Asks for a trial, and measures these values at the steps 1, 2, …"""
    (trial,) = client.ask(study, fresh=True, wait_seconds=20)["trials"]
    for i, value in enumerate(values):
        assert measure(client, study, trial["id"], 1 + i, value).status == 200
    return trial["id"]


def complete(client, study, *values):
    trial = begin(client, study, *values[:-1])
    client.tell(study, [{"trial": trial, "value": values[-1]}])
    return trial


def stopped(client, study, *values):
    trial = begin(client, study, *values)
    client.tell(study, [{"trial": trial, "state": "stopped"}])
    return trial


def estimate_of(client, study, trial):
    return client.read(study, f"trials/{trial}").get("estimate")


def results_in_model(client, study):
    """In the next batch, which begins when the first trials have been handed out."""
    client.ask(study, 8, fresh=True, wait_seconds=20)
    return max(batch["observations"] for batch in client.items(f"/v1/studies/{study}/batches"))


def test_a_stopped_trial_is_estimated_from_complete_ones(server):
    client = server.client()
    study = seeking(client)
    assert client.study(study)["stopping"]["stopped"] == "estimate"
    early = stopped(client, study, 0.05, 0.1)
    complete(client, study, 0.4, 0.5, 0.6)
    complete(client, study, 0.5, 0.6, 0.7)
    assert estimate_of(client, study, early) is None  # two complete trials are too few
    complete(client, study, 0.5, 0.7, 0.9)
    shown = estimate_of(client, study, early)
    gains = [0.1, 0.1, 0.2]  # from the second step to the result
    error = (statistics.variance(gains) * (1 + 1 / 3)) ** 0.5
    assert abs(shown["value"] - (0.1 + statistics.mean(gains))) < 1e-12 and abs(shown["std_error"] - error) < 1e-12, shown
    later = stopped(client, study, 0.2)
    assert abs(estimate_of(client, study, later)["value"] - (0.2 + statistics.mean([0.2, 0.2, 0.4]))) < 1e-12
    assert estimate_of(client, study, early) == shown  # it stays
    assert results_in_model(client, study) == 5
    view = client.study(study)
    assert view["observations"] == 3 and view["trials_completed"] == 3 and view["trials_stopped"] == 2, view


def test_what_is_estimated_is_never_the_best(server):
    client = server.client()
    study = seeking(client)
    for value in (0.1, 0.2, 0.3):
        complete(client, study, value, value)
    high = stopped(client, study, 0.9)
    assert abs(estimate_of(client, study, high)["value"] - 0.9) < 1e-12
    assert results_in_model(client, study) == 4
    best = client.read(study, "best")
    point = client.read(study, f"trials/{high}")["parameters"]
    assert best["observed"]["value"] == 0.3 and best["recommended"]["parameters"] != point, best
    outlook = client.read(study, "outlook")["recommended"]
    assert outlook["parameters"] == best["recommended"]["parameters"] and outlook["mean"] < 0.5, (outlook, best)
    copy = seeking(client, history_from=study)
    assert client.study(copy)["observations"] == 3  # the estimate is not copied
    # Amended, it has a value of its own.
    amended = client.post(f"/v1/studies/{study}/trials/{high}/amend", {"value": 0.95})
    assert amended.status == 200, amended
    assert client.read(study, "best")["observed"]["value"] == 0.95


@cases({"told so": {"stopped": "nothing"}, "an algorithm that is named": {}})
def test_a_stopped_trial_may_teach_nothing(case, server):
    client = server.client()
    named = {} if case else {"algorithm": {"name": "bbkb"}}
    study = seeking(client, case, **named)
    assert client.study(study)["stopping"].get("stopped") == case.get("stopped")
    for value in (0.1, 0.2, 0.3):
        complete(client, study, value, value)
    trial = stopped(client, study, 0.25)
    assert estimate_of(client, study, trial) is None
    assert client.study(study)["observations"] == 3


def test_estimates_survive_a_kill_and_are_checked():
    with Server() as server:
        client = server.client()
        study = seeking(client)
        twin = seeking(client)
        for value in (0.1, 0.25, 0.3):
            for each in (study, twin):
                complete(client, each, value, value + 0.1)
        trial = stopped(client, study, 0.2)
        stopped(client, twin, 0.2)
        shown = estimate_of(client, study, trial)
        server.kill()
        server.start()
        client = server.client()
        assert estimate_of(client, study, trial) == shown
        again = stopped(client, study, 0.15)
        other = stopped(client, twin, 0.15)
        for member in ("value", "std_error"):
            assert estimate_of(client, study, again)[member] == estimate_of(client, twin, other)[member]
        asked = [client.ask(each, fresh=True, wait_seconds=20)["trials"][0]["parameters"] for each in (study, twin)]
        assert asked[0] == asked[1]
        exported = client.get(f"/v1/studies/{study}/export?format=ndjson").body
        server.stop()
        assert run_to_end("check", "--quiet", "--db", str(server.db)) == (0, "", "")
    with Server() as another:
        client = another.client()
        assert client.post("/v1/studies", exported, content_type="application/x-ndjson").status == 201
        assert estimate_of(client, study, trial) == shown


@cases(
    {
        "no such rule": ({"rule": "hyperband"}, "/stopping/rule"),
        "not a truth": ({"rule": "median", "safe": 1}, "/stopping/safe"),
        "no rule": ({"min_steps": 3}, "/stopping/rule"),
        "of the other rule": ({"rule": "median", "reduction": 3}, "/stopping/reduction"),
        "no steps": ({"rule": "median", "min_steps": 0}, "/stopping/min_steps"),
        "no such lesson": ({"rule": "median", "stopped": "guess"}, "/stopping/stopped"),
        "reduction of one": ({"rule": "successive_halving", "reduction": 1}, "/stopping/reduction"),
    }
)
def test_wrong_rules(server, case):
    stopping, pointer = case
    body = definition(stopping=stopping)
    refusal(server.client().post("/v1/studies", body), 422, pointer)


def test_measurements_are_shown(server):
    client = server.client()
    body = definition()
    study = client.create(body)["id"]
    (trial,) = client.ask(study, worker="w")["trials"]
    for step, value in ((2, 0.5), (0, 1.5), (2, 0.25)):
        assert measure(client, study, trial["id"], step, value, attempt=1).json == {"should_stop": False}
    shown = client.read(study, f"trials/{trial['id']}")
    steps = [(m["attempt"], m["step"], m["value"]) for m in shown["measurements"]]
    assert steps == [(1, 0, 1.5), (1, 2, 0.25)], shown
    refusal(measure(client, study, trial["id"], 3, 1, attempt=2), 409)
    refusal(measure(client, study, 99, 3, 1), 404)
    client.tell(study, [{"trial": trial["id"], "state": "stopped"}])
    refusal(measure(client, study, trial["id"], 3, 1), 409)
    view = client.study(study)
    assert (view["trials_stopped"], view["observations"]) == (1, 0), view


def test_curves_of_many_trials(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/measurements"
    assert client.get(path).json == {"items": []}
    measured = {}
    for turn in range(12):
        (trial,) = client.ask(study, worker=f"w{turn}")["trials"]
        for step in range(turn % 4 * 3):
            measure(client, study, trial["id"], step, 0.1 * step + turn, attempt=1)
        if turn % 4:
            measured[trial["id"]] = [(step, 0.1 * step + turn) for step in range(turn % 4 * 3)]
        client.tell(study, [{"trial": trial["id"], "value": turn}])

    def curves(query="", limit=100):
        return {item["trial"]: [(m["step"], m["value"]) for m in item["measurements"]] for item in client.items(path + query, limit=limit)}

    assert curves() == measured and 5 < len(measured) < 12
    assert curves(limit=2) == measured
    one = next(iter(client.items(path)))
    assert one["measurements"] == client.read(study, f"trials/{one['trial']}")["measurements"]
    assert curves("?trials=3-8") == {n: curve for n, curve in measured.items() if 3 <= n <= 8}
    assert curves("?trials=4-9000", limit=1) == {n: curve for n, curve in measured.items() if n >= 4}
    last = max(measured)
    assert curves(f"?trials={last}") == {last: measured[last]}
    assert curves("?points=2") == {n: [curve[0], curve[-1]] for n, curve in measured.items()}
    assert curves("?points=4") == {n: [curve[i * (len(curve) - 1) // 3] for i in range(4)] if len(curve) > 4 else curve for n, curve in measured.items()}
    for query in ("trials=", "trials=0", "trials=5-2", "trials=1-", "trials=-3", "trials=a", "points=1", "page_token=x", "step=3"):
        refusal(client.get(f"{path}?{query}"), 422)
    refusal(client.get("/v1/studies/nothing-here/measurements"), 404)


def test_a_page_of_curves_ends_after_many_trials(server):
    """A page looks at 5000 trials; those without measurements are no items."""
    client = server.client()
    points = [[float(i)] for i in range(6000)]
    study = client.create({"metric": {"name": "v", "goal": "maximize"}, "domain": {"type": "candidates", "points": points}, "algorithm": {"name": "uniform"}})["id"]
    for _ in range(6):
        trials = client.ask(study, 1000, worker="w", fresh=True)["trials"]
    last = trials[-1]["id"]
    measure(client, study, last, 1, 0.5)
    page = client.get(f"/v1/studies/{study}/measurements").json
    assert page["items"] == [] and page["next_page_token"] == "5000"
    assert [item["trial"] for item in client.items(f"/v1/studies/{study}/measurements")] == [last]


def test_a_stopped_trial_with_a_value_is_a_result(server):
    client = server.client()
    study = client.create(definition())["id"]
    (trial,) = client.ask(study)["trials"]
    client.tell(study, [{"trial": trial["id"], "state": "stopped", "value": 0.5}])
    view = client.study(study)
    assert (view["trials_stopped"], view["observations"], view["best"]["value"]) == (1, 1, 0.5), view
    client.ask(study, wait_seconds=10)
    assert client.items(f"/v1/studies/{study}/batches")[-1]["observations"] == 1


def test_a_released_attempt_takes_its_curve_along(server):
    client = server.client()
    study = study_with(client, {"rule": "median", "min_steps": 1, "min_trials": 1})["id"]
    (first,) = client.ask(study, worker="a")["trials"]
    measure(client, study, first["id"], 5, 1)
    client.tell(study, [{"trial": first["id"], "value": 1}])
    (second,) = client.ask(study, worker="b")["trials"]
    assert measure(client, study, second["id"], 5, 2).json == {"should_stop": True}
    client.tell(study, [{"trial": second["id"], "state": "released"}])
    (again,) = client.ask(study, worker="c")["trials"]
    assert (again["id"], again["attempt"]) == (second["id"], 1)
    assert measure(client, study, again["id"], 5, 0.5).json == {"should_stop": False}
    shown = client.read(study, f"trials/{again['id']}")
    assert [m["value"] for m in shown["measurements"]] == [0.5], shown
