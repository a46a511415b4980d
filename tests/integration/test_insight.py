"""What the model says of its inputs and of itself."""

import math
import random

from server import Server
from support import cases, grid, refusal


def space_study(client, results=60, goal="minimize", **fields):
    """A study whose loss follows `rate` most, `momentum` where it is active, and `width` not at all."""
    study = client.create(
        {
            "metric": {"name": "loss", "goal": goal},
            "domain": {
                "type": "space",
                "parameters": [
                    {"name": "rate", "type": "double", "min": 1e-4, "max": 1, "scale": "log"},
                    {"name": "optimizer", "type": "categorical", "values": ["adam", "sgd"]},
                    {
                        "name": "momentum",
                        "type": "double",
                        "min": 0,
                        "max": 1,
                        "active_when": {"parameter": "optimizer", "in": ["sgd"]},
                    },
                    {"name": "width", "type": "double", "min": 0, "max": 1},
                ],
            },
            "seed": 3,
            **fields,
        }
    )["id"]
    draw = random.Random(1)
    observations = []
    for i in range(results):
        point = {"rate": 10 ** draw.uniform(-4, 0), "optimizer": "sgd" if i % 2 else "adam", "width": draw.random()}
        if i % 2:
            point["momentum"] = draw.random()
        observations.append({"parameters": point, "value": loss(point)})
    answer = client.post(f"/v1/studies/{study}/observations", {"observations": observations})
    assert answer.status == 200, answer
    client.ask(study, 1, wait_seconds=30)
    return study


def loss(point):
    return (math.log10(point["rate"]) + 2) ** 2 + (point["momentum"] if "momentum" in point else 0.5)


def test_importance_and_effects_in_a_space(server):
    client = server.client()
    study = space_study(client)
    answer = client.read(study, "importance")
    assert (answer["metric"], answer["measure"], answer["observations"]) == ("loss", "sobol", 60), answer
    shares = {item["parameter"]: item for item in answer["parameters"]}
    assert list(shares) == ["rate", "optimizer", "momentum", "width"], shares
    assert shares["rate"]["total"] > 0.8 and shares["rate"]["top"] > 0.5, shares
    assert 0.01 < shares["momentum"]["total"] < 0.2 and shares["width"]["total"] < 0.02, shares
    assert all(0 <= item["std"] < 0.1 for item in shares.values()), shares
    assert client.read(study, "importance?metric=loss") == answer

    effects = client.read(study, "effects?parameter=rate&points=5")["effects"]
    assert [round(math.log10(item["value"]), 6) for item in effects] == [-4, -3, -2, -1, 0], effects
    for item in effects:
        assert abs(item["mean"] - (math.log10(item["value"]) + 2) ** 2 - 0.5) < 0.1, item
    effects = client.read(study, "effects?parameter=optimizer&with=momentum&points=3")["effects"]
    assert [(item["value"], item["with_value"]) for item in effects] == [("sgd", 0), ("sgd", 0.5), ("sgd", 1)], effects
    assert effects[0]["mean"] < effects[1]["mean"] < effects[2]["mean"], effects


def test_importance_and_effects_of_candidates(server):
    client = server.client()
    study = client.create(
        {
            "metric": {"name": "value", "goal": "maximize"},
            "domain": {"type": "candidates", "points": grid(10), "names": ["heat", "time"]},
            "seed": 1,
        }
    )["id"]
    results = [{"candidate": i, "value": 3 * grid(10)[i][0] - grid(10)[i][1]} for i in range(0, 100, 3)]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": results}).status == 200
    client.ask(study, 1, wait_seconds=30)
    answer = client.read(study, "importance")
    assert answer["measure"] == "derivative", answer
    heat, time = answer["parameters"]
    assert (heat["parameter"], heat["first"], time["parameter"]) == ("heat", None, "time"), answer
    assert abs(heat["total"] - 0.9) < 0.05 and abs(heat["total"] + time["total"] - 1) < 1e-9, answer
    effects = client.read(study, "effects?parameter=heat&points=10")["effects"]
    assert len(effects) == 10 and all(item["candidates"] == 10 for item in effects), effects
    for item in effects:
        assert item["low"] == item["high"] == item["value"], item
        assert abs(item["mean"] - 3 * item["value"] + 0.5) < 0.1, item


def test_diagnostics_name_the_outlier(server):
    client = server.client()
    study = space_study(client, 80)
    told = {}
    for _ in range(4):
        trial = client.ask(study, 1, worker="w1")["trials"][0]
        told[trial["id"]] = 1000.0 if not told else loss(trial["parameters"])
        client.tell(study, [{"trial": trial["id"], "value": told[trial["id"]]}])
    client.ask(study, 1, worker="w2", wait_seconds=30)
    answer = client.read(study, "diagnostics")
    first = min(told)
    assert [item["trials"] for item in answer["outliers"] if item["set_aside"]] == [[first]], answer["outliers"]
    assert answer["outliers"][0]["value"] == 1000 and answer["set_aside"] == 1, answer["outliers"]
    assert answer["rank_correlation"] > 0.95 and answer["error"] < 0.2, answer
    assert [item["share"] for item in answer["calibration"]] == [0.5, 0.8, 0.95], answer
    inside = [item["inside"] for item in answer["calibration"]]
    assert inside == sorted(inside) and inside[2] > 0.8, answer
    assert answer["points"] == len(answer["predictions"]) - 1 and answer["observations"] in (83, 84), answer
    best = min(answer["predictions"], key=lambda item: item["value"])
    assert abs(best["value"] - loss(best["parameters"])) < 1e-12, best
    assert client.read(study, "diagnostics") == answer


@cases({"minimize": "minimize", "maximize": "maximize"})
def test_the_outlook(server, case):
    client = server.client()
    early, late = (client.read(space_study(client, n, case), "outlook?epsilon=0.3") for n in (12, 120))
    assert early["epsilon"] == 0.3 and early["draws"] == 128 and early["observations"] == 12, early
    assert [item["trials"] for item in early["gains"]] == [1, 10, 100], early
    for answer in (early, late):
        gains = [item["gain"] for item in answer["gains"]]
        assert 0 <= gains[0] <= gains[1] + 1e-9 and gains[1] <= gains[2] + 1e-9, answer
        assert 0 <= answer["probability"] <= 1 and answer["possible"] >= 0, answer
        point = answer["recommended"]
        assert abs(point["mean"] - loss(point["parameters"])) < 5 * point["std"] + 0.3, answer
    found = late["recommended"]["mean"]
    left = found if case == "minimize" else 5 - found  # the extremes of the loss are 0 and 5
    assert abs(late["possible"] - left) < 0.05 and late["probability"] == (left > 0.3), late
    assert late["possible"] < early["possible"], (early, late)


def test_only_allowed_points_count(server):
    """On the triangle a + b <= 1 the best value is 1; beyond it, where no point is allowed, it would be 1.5."""
    client = server.client()
    parameters = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "ab"]
    study = client.create({
        "metric": {"name": "value", "goal": "maximize"}, "seed": 1,
        "domain": {"type": "space", "parameters": parameters, "constraints": ["a + b <= 1"]}})["id"]
    rows = [{"parameters": {"a": i / 8, "b": j / 8}, "value": i / 8 + j / 8 - (i / 8) ** 2 / 2}
            for i in range(9) for j in range(9 - i)]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
    client.ask(study, 1, wait_seconds=30)
    outlook = client.read(study, "outlook?epsilon=0.05")
    assert outlook["probability"] < 0.05 and outlook["possible"] < 0.02, outlook
    effects = client.read(study, "effects?parameter=a&points=3")["effects"]
    assert all(abs(item["mean"] - mean) < 0.02 for item, mean in zip(effects, (0.5, 0.625, 0.5))), effects
    pairs = client.read(study, "effects?parameter=a&with=b&points=3")["effects"]
    assert [(item["value"], item["with_value"]) for item in pairs] == [
        (0, 0), (0, 0.5), (0, 1), (0.5, 0), (0.5, 0.5), (1, 0)], pairs
    importance = client.read(study, "importance")
    assert importance["measure"] == "conditional", importance
    shares = {item["parameter"]: item for item in importance["parameters"]}
    assert shares["a"]["first"] is None and shares["a"]["total"] < 0.1 < 0.5 < shares["b"]["total"], importance


BAD = {
    "a metric that is not modelled": ("importance?metric=speed", 422),
    "no parameter": ("effects", 422),
    "an unknown parameter": ("effects?parameter=colour", 422),
    "an unknown second parameter": ("effects?parameter=rate&with=colour", 422),
    "the same parameter twice": ("effects?parameter=rate&with=rate", 422),
    "too many points": ("effects?parameter=rate&points=101", 422),
    "too many pairs": ("effects?parameter=rate&with=width&points=41", 422),
    "a negative epsilon": ("outlook?epsilon=-1", 422),
    "an epsilon that is no number": ("outlook?epsilon=much", 422),
    "an unknown query parameter": ("importance?parameter=rate", 422),
}


@cases(BAD)
def test_refused_queries(server, case):
    client = server.client()
    path, status = case
    refusal(client.get(f"/v1/studies/{space_study(client, 20)}/{path}"), status)


def test_models_that_cannot_say(server):
    client = server.client()
    refusal(client.get("/v1/studies/none/importance"), 404)
    early = space_study(client, 5)
    problem = refusal(client.get(f"/v1/studies/{early}/importance"), 409)
    assert "5 results, and 10 are needed" in problem["detail"], problem
    refusal(client.get(f"/v1/studies/{early}/effects?parameter=rate"), 409)
    for name in ("uniform", "regularized_evolution"):
        study = space_study(client, 20, algorithm={"name": name})
        refusal(client.get(f"/v1/studies/{study}/importance"), 409)
        refusal(client.get(f"/v1/studies/{study}/effects?parameter=rate"), 409)
        refusal(client.get(f"/v1/studies/{study}/diagnostics"), 409)
        refusal(client.get(f"/v1/studies/{study}/outlook"), 409)


def test_a_restarted_server_says_the_same():
    paths = ("importance", "effects?parameter=rate", "effects?parameter=rate&with=optimizer", "diagnostics", "outlook")
    with Server() as server:
        client = server.client()
        study = space_study(client)
        before = [client.read(study, path) for path in paths]
        server.stop()
        server.start()
        assert [server.client().read(study, path) for path in paths] == before
