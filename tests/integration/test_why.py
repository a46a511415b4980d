"""Why a trial was chosen: what `predict` said at that moment, whatever has happened since."""

import math

from server import Server
from support import cases, definition, grid, refusal, target


def why(client, study, trial):
    return client.read(study, f"trials/{trial}/why")


def near(a, b, error=1e-9):
    return math.isclose(a, b, rel_tol=error, abs_tol=error)


def bowl(point):
    return (point["x"] - 0.3) ** 2 + (point["y"] - 0.6) ** 2


def space(**fields):
    bounds = {"type": "double", "min": 0, "max": 1}
    return {
        "metric": {"name": "loss", "goal": "minimize"},
        "domain": {"type": "space", "parameters": [{"name": "x", **bounds}, {"name": "y", **bounds}]},
        "seed": 3,
        **fields,
    }


def work(client, study, rounds, value):
    """One trial at a time. -> by trial: what `predict` said of its point when it was handed out"""
    said = {}
    for _ in range(rounds):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        if trial["id"] > 10:
            point = {"parameters": [trial["parameters"]]} if "parameters" in trial else {"candidates": [trial["candidate"]]}
            said[trial["id"]] = client.predict(study, **point)[0]
        client.tell(study, [{"trial": trial["id"], "value": value(trial)}])
    return said


@cases({"list": None, "space": space()})
def test_it_is_what_the_model_said_then(server, case):
    client = server.client()
    study = client.create(case or definition(grid(6), feedback="async", repeats="auto"))["id"]
    value = (lambda t: bowl(t["parameters"])) if case else (lambda t: target(t["point"]))
    said = work(client, study, 18, value)
    before = {n: why(client, study, n) for n in range(1, 19)}
    for trial, prediction in said.items():
        reason = before[trial]
        (expected,) = reason["predictions"]
        assert near(expected["mean"], prediction["mean"]), (reason, prediction)
        assert reason["observations"] + len(reason["in_flight"]) == trial - 1, reason
        if reason["in_flight"]:  # the batch went on, without the last result
            assert expected["std"] < prediction["std"], (reason, prediction)
            continue
        assert near(expected["std"], prediction["std"], 1e-6), (reason, prediction)
        if not case:
            assert reason["rule"] == "upper_bound" and near(reason["score"], prediction["ucb"], 1e-6), (reason, prediction)
        assert len(reason["nearest"]) == 3 and all(n["trial"] < trial for n in reason["nearest"]), reason
    assert before[1]["rule"] == "first" and before[1]["score"] is None and before[1]["nearest"] == [], before[1]
    # later results, corrections and changes do not change the past
    work(client, study, 4, value)
    assert client.post(f"/v1/studies/{study}/trials/3/amend", {"value": 7}).status == 200
    assert client.request("PATCH", f"/v1/studies/{study}", {"horizon": 500}).status == 200
    work(client, study, 2, value)
    assert {n: why(client, study, n) for n in before} == before


def test_what_was_in_flight(server):
    client = server.client()
    study = client.create(space())["id"]
    work(client, study, 8, lambda t: bowl(t["parameters"]))
    pending = [t["id"] for t in client.ask(study, 3, wait_seconds=30)["trials"]]
    reason = why(client, study, pending[2])
    assert reason["in_flight"] == pending[:2], reason
    own = client.post(f"/v1/studies/{study}/trials", {"parameters": {"x": 0.5, "y": 0.5}}).json["id"]
    client.tell(study, [{"trial": pending[0], "value": 0.1}, {"trial": pending[1], "state": "infeasible"}])
    (later,) = client.ask(study, 1, wait_seconds=30)["trials"]
    assert later["id"] == own
    (later,) = client.ask(study, 1, wait_seconds=30)["trials"]
    reason = why(client, study, later["id"])
    assert reason["in_flight"] == [pending[2], own], reason
    mine = why(client, study, own)
    assert (mine["rule"], mine["sentence"], mine["score"]) == ("own", "A user chose this point.", None), mine


@cases({name: name for name in ("gp_ei", "gp_pi", "gp_ts", "s_gp_ts", "epsilon_greedy", "uniform", "regularized_evolution", "log_ei")})
def test_all_algorithms(server, case):
    client = server.client()
    for body in (space(), {**space(), "domain": {"type": "candidates", "points": grid(5)}}):
        study = client.create({**body, "algorithm": {"name": case}, "aim": "best" if case == "log_ei" else "regret"})["id"]
        work(client, study, 9, lambda t: bowl(t.get("parameters") or dict(zip("xy", t["point"]))))
        reason = why(client, study, 9)
        scored = case not in ("uniform", "regularized_evolution") and reason["rule"] != "random"
        assert (reason["score"] is not None) == scored and len(reason["predictions"]) == scored, reason
        assert reason["sentence"].endswith("."), reason


def test_several_metrics_and_cells(server):
    client = server.client()
    metrics = [{"name": "loss", "goal": "minimize"}, {"name": "size", "goal": "maximize"}, {"name": "heat", "role": "constraint", "at_most": 1}]
    body = space(aim="best")
    del body["metric"]
    study = client.create({**body, "metrics": metrics})["id"]
    for _ in range(8):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        loss = bowl(trial["parameters"])
        client.tell(study, [{"trial": trial["id"], "values": {"loss": loss, "size": trial["parameters"]["x"], "heat": loss}}])
    reason = why(client, study, 8)
    assert reason["rule"] == "joint" and reason["score"] is not None and reason["promise"] is None, reason
    assert [p["metric"] for p in reason["predictions"]] == ["loss", "size", "heat"], reason
    cells = client.create(space(algorithm={"name": "pi_gp_ucb"}, aim="regret"))["id"]
    work(client, cells, 5, lambda t: bowl(t["parameters"]))
    reason = why(client, cells, 5)
    assert reason["rule"] == "upper_bound" and reason["score"] is None and len(reason["predictions"]) == 1, reason


LEADERLESS = {
    "a bound": [{"name": "gain", "goal": "maximize"}, {"name": "heat", "role": "constraint", "at_most": 0.6}],
    "two objectives": [{"name": "gain", "goal": "maximize"}, {"name": "heat", "goal": "minimize"}],
}


@cases(LEADERLESS)
def test_no_trial_leads_by_one_metric_of_several(server, case):
    """The gain alone is best where the heat is not allowed, or is the price."""
    client = server.client()
    body = space(metrics=case)
    del body["metric"]
    study = client.create(body)["id"]
    sentences = []
    for number in range(1, 26):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        x, y = (trial["parameters"][name] for name in "xy")
        client.tell(study, [{"trial": trial["id"], "values": {"gain": x - (y - 0.5) ** 2, "heat": x}}])
        sentences.append(why(client, study, number)["sentence"])
    assert any(sentence.startswith("Refines trial") for sentence in sentences), sentences
    assert not any("best so far" in sentence or "leaders" in sentence for sentence in sentences), sentences


def test_imports_and_what_does_not_exist(server):
    client = server.client()
    study = client.create(space())["id"]
    client.post(f"/v1/studies/{study}/observations", {"observations": [{"parameters": {"x": i / 9, "y": 0.5}, "value": (i / 9) ** 2} for i in range(10)]})
    (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
    reason = why(client, study, trial["id"])
    assert reason["observations"] == 10 and all(n["trial"] is None for n in reason["nearest"]), reason
    assert "imported" in reason["sentence"] or reason["sentence"].startswith("Explores: far"), reason
    refusal(client.get(f"/v1/studies/{study}/trials/99/why"), 404)
    refusal(client.get("/v1/studies/none/trials/1/why"), 404)


def test_after_a_restart():
    with Server() as server:
        study = server.client().create(space())["id"]
        work(server.client(), study, 12, lambda t: bowl(t["parameters"]))
        before = [why(server.client(), study, n) for n in (7, 12)]
        server.stop()
        server.start()
        assert [why(server.client(), study, n) for n in (7, 12)] == before


def test_retired_candidates_no_longer_count_as_failed(server):
    """The failures of candidates that are retired do not keep the search away from their neighbours, and the reasons say
    what the search did."""
    client, chosen = server.client(), []
    for outcome in ("failed", "stopped"):
        domain = {"type": "candidates", "points": [[i / 60] for i in range(61)]}
        study = client.create({"metric": {"name": "v", "goal": "maximize"}, "domain": domain, "seed": 8})["id"]
        reasons = []
        for _ in range(16):
            (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
            reasons.append((trial["candidate"], {**why(client, study, trial["id"]), "planned_at": None}))
            x = trial["point"][0]
            fails = x > 0.6
            client.tell(study, [{"trial": trial["id"], **({"state": outcome} if fails else {"value": x})}])
            path = f"/v1/studies/{study}/candidates/retire"
            assert not fails or client.post(path, {"candidates": [trial["candidate"]]}).status == 200
        chosen.append(reasons)
    failed, stopped = chosen
    assert failed == stopped, next(pair for pair in zip(failed, stopped) if pair[0] != pair[1])
