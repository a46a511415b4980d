"""One result that is wrong and far too good: the model sets it aside, and `best` says so and does not recommend its point."""

from support import cases

SIDE = 6  # a grid of 36 points, all with results
BAD = (4, 4)  # the wrong value is of this point, which is the best one
POINTS = [(i, j) for i in range(SIDE) for j in range(SIDE)]
NUMBERS = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]
WHOLE = [{"name": name, "type": "integer", "min": 0, "max": SIDE - 1} for name in "xy"]
DOMAINS = {
    "a list": {"type": "candidates", "points": [[i, j] for i, j in POINTS]},
    "a space": {"type": "space", "parameters": NUMBERS},
    "an enumerated space": {"type": "space", "parameters": WHOLE},
}
ONE = {"metric": {"name": "value", "goal": "maximize"}}
LEAST = {"metric": {"name": "value", "goal": "minimize"}}
BOUNDED = {"metrics": [{"name": "value", "goal": "maximize"}, {"name": "cost", "role": "constraint", "at_most": 9}]}
GOALS = {"one": ONE, "least": LEAST, "bounded": BOUNDED}


def value(point, wrong):
    """Smooth, and 0 at the best point."""
    x, y = (i / (SIDE - 1) for i in point)
    return wrong if wrong and point == BAD else -((x - 0.78) ** 2) - (y - 0.81) ** 2


def place(domain, n, point):
    if domain["type"] == "candidates":
        return {"candidate": n}
    scale = 1 if domain["parameters"] is WHOLE else SIDE - 1
    return {"parameters": {name: i / scale if scale > 1 else i for name, i in zip("xy", point)}}


def best_of(client, case, goal, wrong):
    """-> `best` of a study that knows the values of all points, and the place of the wrong one"""
    domain = DOMAINS[case]
    study = client.create({**GOALS[goal], "domain": domain, "seed": 1, "algorithm": {"name": "log_ei"}})["id"]
    observations = []
    for n, point in enumerate(POINTS):
        told = value(point, wrong) * (-1 if goal == "least" else 1)
        values = {"values": {"value": told, "cost": 1}} if goal == "bounded" else {"value": told}
        observations.append({**place(domain, n, point), **values})
    assert client.post(f"/v1/studies/{study}/observations", {"observations": observations}).status == 200
    client.ask(study, wait_seconds=60)
    model = client.get(f"/v1/studies/{study}/model").json
    assert model["set_aside"] == (1 if wrong else 0), model
    return client.get(f"/v1/studies/{study}/best").json, place(domain, POINTS.index(BAD), BAD)


def is_at(answer, where):
    return all(answer[name] == shown for name, shown in where.items())


@cases({f"{domain}, {goal}": (domain, goal) for domain in DOMAINS for goal in GOALS})
def test_a_wrong_value_is_not_believed(server, case):
    client = server.client()
    best, where = best_of(client, *case, wrong=3)
    observed, recommended = best["observed"], best["recommended"]
    assert is_at(observed, where) and not is_at(recommended, where), best
    if case[1] != "bounded":
        assert abs(observed["value"]) == 3 and abs(observed["expected"]) < 0.2 and observed["lucky"], best


@cases({f"{domain}, {goal}": (domain, goal) for domain in DOMAINS for goal in GOALS})
def test_a_right_value_is_believed(server, case):
    """The same point with the value that it should have."""
    best, where = best_of(server.client(), *case, wrong=None)
    assert is_at(best["observed"], where) and is_at(best["recommended"], where), best
    assert case[1] == "bounded" or best["observed"]["lucky"] is False, best


def test_a_wrong_value_does_not_reach_the_target(server):
    """The model expects the target at the point of the wrong value alone, and `best` does not recommend that point."""
    client, domain = server.client(), DOMAINS["a list"]
    rule = {"rule": "target", "value": -0.01, "then": "finish"}
    for wrong in (3, None):
        body = {**ONE, "domain": domain, "seed": 1, "algorithm": {"name": "log_ei"}, "stop_when": [rule]}
        study = client.create(body)["id"]
        told = [{**place(domain, n, point), "value": value(point, wrong)} for n, point in enumerate(POINTS)]
        told += [one for one, point in zip(told, POINTS) if point != BAD]  # few results would not be trusted
        assert client.post(f"/v1/studies/{study}/observations", {"observations": told}).status == 200
        client.ask(study, wait_seconds=5)
        shown = client.study(study)
        assert (shown["state"] == "finished") == (wrong is None), (wrong, shown)
