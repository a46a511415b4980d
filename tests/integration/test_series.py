"""The curve of a study's values: exact while it is short, thinned with its extremes when it is long."""

import random
import time

from support import cases, definition, grid, refusal

RANDOM = {"name": "uniform"}


def uniform(goal="maximize", **fields):
    """A study that hands out as many trials as are wanted at once."""
    body = definition(feedback="async", metric={"name": "value", "goal": goal}, **fields)
    return {**body, "domain": {"type": "candidates", "scaling": "none", "points": grid(4)}, "algorithm": RANDOM}


def tell_all(client, study, values, at_once=1000):
    """Tells a value for as many trials; None: that the trial has failed."""
    for first in range(0, len(values), at_once):
        part = values[first : first + at_once]
        trials = client.ask(study, len(part), fresh=True)["trials"]
        assert len(trials) == len(part), len(trials)
        told = {trial["id"]: values[trial["id"] - 1] for trial in trials}
        client.tell(
            study,
            [{"trial": t, "value": v} if v is not None else {"trial": t, "state": "failed"} for t, v in told.items()],
        )


def running_best(values, better):
    best, out = None, {}
    for trial, value in enumerate(values, 1):
        if value is not None:
            best = value if best is None else better(best, value)
            out[trial] = (value, best)
    return out


@cases({"maximize": max, "minimize": min})
def test_a_short_curve_is_exact(server, case):
    client = server.client()
    study = client.create(uniform("maximize" if case is max else "minimize"))["id"]
    empty = client.read(study, "series")
    assert empty == {"items": [], "count": 0}, empty
    draw = random.Random(3)
    values = [None if i % 7 == 3 else draw.gauss(0, 1) for i in range(300)]
    tell_all(client, study, values)
    series = client.read(study, "series")
    expected = running_best(values, case)
    assert {item["trial"]: (item["value"], item["best"]) for item in series["items"]} == expected
    assert series["count"] == len(expected)
    trials = [item["trial"] for item in series["items"]]
    assert trials == sorted(trials)
    told_at = {trial["id"]: trial.get("told_at") for trial in client.items(f"/v1/studies/{study}/trials")}
    assert all(item["told_at"] == told_at[item["trial"]] for item in series["items"])


def test_a_long_curve_keeps_its_extremes(server):
    client = server.client()
    study = client.create(uniform())["id"]
    draw = random.Random(4)
    values = [draw.gauss(0, 1) for _ in range(5000)]
    values[1234], values[4321] = 100.0, -100.0
    tell_all(client, study, values)
    for points in (10, 100, 999):
        series = client.read(study, f"series?points={points}")
        items = series["items"]
        assert series["count"] == len(values) and points / 4 <= len(items) <= points, len(items)
        expected = running_best(values, max)
        assert all((item["value"], item["best"]) == expected[item["trial"]] for item in items)
        assert (items[0]["trial"], items[-1]["trial"]) == (1, len(values))
        assert {1235, 4322} <= {item["trial"] for item in items}
    assert len(client.read(study, "series?points=5000")["items"]) == len(values)


def tell_late(client, study, first, second):
    """Two attempts of one trial, of which the second completes it. -> its number"""
    (trial,) = client.ask(study, 1, worker="slow", fresh=True, lease_seconds=1)["trials"]
    time.sleep(1.6)
    (again,) = client.ask(study, 1, worker="fast", wait_seconds=10)["trials"]
    assert (again["id"], again["attempt"]) == (trial["id"], 2), again
    assert client.tell(study, [{"trial": trial["id"], "attempt": 2, **second}])["accepted"] == 1
    assert client.tell(study, [{"trial": trial["id"], "attempt": 1, **first}])["late"] == 1
    return trial["id"]


def test_late_results_are_in_the_curve_and_the_table(server):
    client = server.client()
    body = uniform(metrics=[{"name": "value", "goal": "maximize"}, {"name": "heat", "role": "recorded"}])
    del body["metric"]
    study = client.create(body)["id"]
    tell_all(client, study, [0.2, 0.3])
    late = tell_late(client, study, {"values": {"value": 5, "heat": 7}, "cost": 4}, {"value": 0.1, "cost": 1})
    (last,) = client.ask(study, 1, fresh=True)["trials"]
    client.tell(study, [{"trial": last["id"], "value": 0.4}])
    items = client.read(study, "series")["items"]
    assert [(item["trial"], item["value"], item["best"]) for item in items] == [
        (1, 0.2, 0.2), (2, 0.3, 0.3), (late, 0.1, 0.3), (late, 5, 5), (late + 1, 0.4, 5)], items
    assert items[-1]["cost"] == client.study(study)["cost"] == 5 and client.study(study)["best"]["value"] == 5
    (heat,) = client.read(study, "series?metric=heat")["items"]
    assert (heat["trial"], heat["value"]) == (late, 7), heat
    table = client.get(f"/v1/studies/{study}/export?format=csv").body
    (row,) = [line for line in table.decode().splitlines() if ",late," in line]
    assert row.startswith(f"{late},") and ",5.0,completed,1," in row, row
    copy = client.create(body)["id"]
    assert client.post(f"/v1/studies/{copy}/observations", table, content_type="text/csv").status == 200
    assert (client.study(copy)["best"]["value"], client.study(copy)["cost"]) == (5, 5)
    assert client.study(copy)["observations"] == client.study(study)["observations"] == 5


def test_a_late_result_that_breaks_a_bound_is_not_the_best(server):
    client = server.client()
    study = client.create({
        "metrics": [{"name": "value", "goal": "maximize"}, {"name": "heat", "role": "constraint", "at_most": 1}],
        "domain": {"type": "candidates", "scaling": "none", "points": grid(4)}, "seed": 1})["id"]
    late = tell_late(client, study, {"values": {"value": 5, "heat": 2}}, {"values": {"value": 1, "heat": 1}})
    items = client.read(study, "series")["items"]
    assert [(item["trial"], item["value"], item["best"]) for item in items] == [(late, 1, 1), (late, 5, 1)], items


@cases({"none": "", "zero": "0", "small": "9", "large": "10001", "word": "many", "sign": "%2B100", "huge": "9" * 40})
def test_a_bad_number_of_points_is_refused(server, case):
    client = server.client()
    study = client.create(uniform())["id"]
    problem = refusal(client.get(f"/v1/studies/{study}/series?points={case}"), 422)
    assert "'points'" in problem["detail"] and "10 to 10000" in problem["detail"], problem


def test_no_study_no_curve(server):
    refusal(server.client().get("/v1/studies/nobody/series"), 404)
    refusal(server.client().get("/v1/studies/nobody/series?limit=10"), 422)
