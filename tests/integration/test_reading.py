"""What can be read, and how it fits together."""

import math
import random
import urllib.parse

from support import definition, grid, measure, refusal, work


def close(a, b, tolerance):
    return abs(a - b) <= tolerance * max(1, abs(a), abs(b))


def test_trials_paging_and_filters(server):
    client = server.client()
    study = client.create(definition())["id"]
    work(client, study, 45)
    client.ask(study, 1, worker="reader")
    path = f"/v1/studies/{study}/trials"
    everything = client.items(path)
    assert [trial["id"] for trial in everything] == list(range(1, len(everything) + 1))
    assert client.items(path, limit=7) == everything
    assert len(client.get(path).json["items"]) == min(100, len(everything))
    assert [trial["worker"] for trial in client.items(path + "?worker=reader")] == ["reader"]
    assert client.items(path + "?worker=nobody") == []
    one = client.get(f"{path}/3").json
    assert {name: one[name] for name in everything[2]} == everything[2]
    assert one["issued_at"] == one["attempts"][-1]["issued_at"], one


def test_trials_in_each_order(server):
    client = server.client()
    study = client.create(definition())["id"]
    work(client, study, 45)
    failed = client.ask(study, 1, worker="reader")["trials"][0]
    client.tell(study, [{"trial": failed["id"], "state": "failed"}])
    client.ask(study, 1, worker="reader")
    path = f"/v1/studies/{study}/trials"
    trials = client.items(path)
    late = float("inf")
    keys = {
        "id": lambda t, sign: (sign * t["id"],),
        "value": lambda t, sign: (sign * t["value"] if "value" in t else late, t["id"]),
        "told_at": lambda t, sign: ("told_at" not in t, sign * trials_by_time[t["told_at"]] if "told_at" in t else 0, t["id"]),
    }
    trials_by_time = {time: place for place, time in enumerate(sorted({t["told_at"] for t in trials if "told_at" in t}))}
    assert any("told_at" not in t for t in trials), "a pending one"
    for sort, key in keys.items():
        for order, sign in (("asc", 1), ("desc", -1)):
            wanted = [t["id"] for t in sorted(trials, key=lambda t: key(t, sign))]
            for limit in (1000, 7):
                assert [t["id"] for t in client.items(f"{path}?sort={sort}&order={order}", limit=limit)] == wanted, (sort, order, limit)
    best = client.get(f"{path}?sort=value&order=desc&state=completed&limit=1").json["items"][0]
    assert best == max((t for t in trials if t["state"] == "completed"), key=lambda t: t["value"])
    assert client.get(f"{path}?sort=value&page_token=100000").json["items"] == []
    assert "'sort'" in refusal(client.get(f"{path}?sort=color"), 422)["detail"]
    assert "'order'" in refusal(client.get(f"{path}?sort=value&order=down"), 422)["detail"]


def test_trials_by_metric_and_parameter(server):
    client = server.client()
    parameters = [
        {"name": "rate", "type": "double", "min": 0.001, "max": 1, "scale": "log"},
        {"name": "kind", "type": "categorical", "values": ["z", "a", "m"]},
        {"name": "depth", "type": "integer", "min": 1, "max": 9, "active_when": {"parameter": "kind", "in": ["a", "m"]}},
    ]
    metrics = [{"name": "gain", "goal": "maximize"}, {"name": "cost", "goal": "minimize", "role": "recorded"}]
    study = client.create({"metrics": metrics, "domain": {"type": "space", "parameters": parameters}, "algorithm": {"name": "uniform"}})["id"]
    draw = random.Random(5)
    for turn in range(30):
        trial = client.ask(study, 1, worker="w")["trials"][0]
        values = {"gain": draw.random(), **({"cost": draw.random()} if turn % 4 else {})}
        client.tell(study, [{"trial": trial["id"], "values": values}])
    path = f"/v1/studies/{study}/trials"
    trials = client.items(path)
    assert any("depth" not in t["parameters"] for t in trials) and any("depth" in t["parameters"] for t in trials)
    words = {"z": 0, "a": 1, "m": 2}
    of = {
        "metric:gain": lambda t: t.get("value"),
        "metric:cost": lambda t: t.get("values", {}).get("cost"),
        "parameter:rate": lambda t: t["parameters"]["rate"],
        "parameter:kind": lambda t: words[t["parameters"]["kind"]],
        "parameter:depth": lambda t: t["parameters"].get("depth"),
    }
    for sort, key in of.items():
        for order, sign in (("asc", 1), ("desc", -1)):
            wanted = [t["id"] for t in sorted(trials, key=lambda t: (key(t) is None, sign * (key(t) or 0), t["id"]))]
            for limit in (1000, 8):
                assert [t["id"] for t in client.items(f"{path}?sort={sort}&order={order}", limit=limit)] == wanted, (sort, order, limit)
    for sort in ("metric:speed", "parameter:speed", "parameter:x0", "metric:"):
        assert "'sort'" in refusal(client.get(f"{path}?sort={sort}"), 422)["detail"]
    plain = client.create(definition())["id"]
    work(client, plain, 10)
    listed = client.items(f"/v1/studies/{plain}/trials?sort=parameter:x1&order=desc")
    assert [t["point"][1] for t in listed] == sorted((t["point"][1] for t in listed), reverse=True) and len(listed) >= 10


def test_trials_in_ranges(server):
    client = server.client()
    parameters = [
        {"name": "rate", "type": "double", "min": 0.001, "max": 1, "scale": "log"},
        {"name": "a kind", "type": "categorical", "values": ["z", "a & b", "m"]},
        {"name": "depth", "type": "integer", "min": 1, "max": 9, "active_when": {"parameter": "a kind", "in": ["a & b", "m"]}},
        {"name": "wide", "type": "boolean"},
        {"name": "cost", "type": "double", "min": 0, "max": 1},
    ]
    metrics = [{"name": "gain", "goal": "maximize"}, {"name": "cost", "goal": "minimize", "role": "recorded"}]
    study = client.create({"metrics": metrics, "domain": {"type": "space", "parameters": parameters}, "algorithm": {"name": "uniform"}})["id"]
    draw = random.Random(7)
    for turn in range(60):
        trial = client.ask(study, 1, worker="w")["trials"][0]
        values = {"gain": draw.random(), **({"cost": draw.random()} if turn % 4 else {})}
        client.tell(study, [{"trial": trial["id"], "values": values}])
    client.ask(study, 2, worker="w")
    path = f"/v1/studies/{study}/trials"
    trials = client.items(path)
    words = ["z", "a & b", "m"]
    kind = lambda t: words.index(t["parameters"]["a kind"])  # noqa: E731
    cases = [
        ({"min:gain": "0.5"}, lambda t: t.get("value", -1) >= 0.5),
        ({"max:gain": "0.5"}, lambda t: t.get("value", 9) <= 0.5),
        ({"min:metric:cost": "0.2", "max:metric:cost": "0.9"}, lambda t: 0.2 <= t.get("values", {}).get("cost", 9) <= 0.9),
        ({"min:parameter:cost": "0.5"}, lambda t: t["parameters"]["cost"] >= 0.5),
        ({"max:rate": "1e-1"}, lambda t: t["parameters"]["rate"] <= 0.1),
        ({"min:a kind": "a & b"}, lambda t: kind(t) >= 1),
        ({"min:a kind": "z", "max:a kind": "z"}, lambda t: kind(t) == 0),
        ({"min:depth": "4"}, lambda t: t["parameters"].get("depth", 0) >= 4),
        ({"min:wide": "true"}, lambda t: t["parameters"]["wide"]),
        ({"min:gain": "0.3", "min:rate": "0.01", "max:depth": "7"}, lambda t: t.get("value", -1) >= 0.3 and t["parameters"]["rate"] >= 0.01 and t["parameters"].get("depth", 99) <= 7),
        ({"min:gain": "0.7", "max:gain": "0.2"}, lambda t: False),
    ]
    for asked, inside in cases:
        wanted = [t["id"] for t in trials if inside(t)]
        assert len(wanted) < len(trials) and (wanted or "max:gain" in asked), asked
        for order in ("asc", "desc"):
            for limit in (1000, 7):
                query = urllib.parse.urlencode({**asked, "order": order})
                listed = [t["id"] for t in client.items(f"{path}?{query}", limit=limit)]
                assert listed == (wanted if order == "asc" else wanted[::-1]), (asked, order, limit)
        query = urllib.parse.urlencode([("bound", f"{name}={limit}") for name, limit in asked.items()])
        assert [t["id"] for t in client.items(f"{path}?{query}")] == wanted, query
        query = urllib.parse.urlencode({**asked, "sort": "parameter:rate"})
        by_rate = sorted((t for t in trials if inside(t)), key=lambda t: (t["parameters"]["rate"], t["id"]))
        assert [t["id"] for t in client.items(f"{path}?{query}", limit=9)] == [t["id"] for t in by_rate], asked
    query = urllib.parse.urlencode({"min:gain": "0", "state": "pending"})
    assert client.items(f"{path}?{query}") == [], "pending trials have no value"
    refused = {
        "min:speed=1": "no metric or parameter 'speed'",
        "min:cost=1": "'metric:cost' or 'parameter:cost'",
        "min:gain=much": "'min:gain' must be a number",
        "min:gain=": "'min:gain' must be a number",
        "bound=gain%3D1": "'bound' must be min:NAME=VALUE or max:NAME=VALUE, not 'gain=1'",
        "bound=min:gain": "'bound' must be min:NAME=VALUE",
        "bound=max:gain%3Dmuch": "'max:gain' must be a number",
        "max:gain=1e999": "'max:gain' must be a number",
        "min:a%20kind=q": "must be one of",
        "max:wide=2": "'max:wide' must be",
        "min:gain=1&min:gain=2": "given twice",
        "min:gain=1&min:metric:gain=2": "given twice",
        "min:=1": "no metric or parameter ''",
        "between:gain=1": "unknown query parameter 'between:gain'; known are limit, page_token, state, ",
    }
    for asked, said in refused.items():
        assert said in refusal(client.get(f"{path}?{asked}"), 422)["detail"], asked
    for asked, said in (("series?min:gain=1", "'min:gain'; known are points, metric"), ("best?x=1", "'x'; this call has none"),
                        ("trials?from=1", "worker, sort, order, min:NAME, max:NAME")):
        detail = refusal(client.get(f"/v1/studies/{study}/{asked}"), 422)["detail"]
        assert "unknown query parameter" in detail and said in detail, detail
    plain = client.create(definition())["id"]
    work(client, plain, 10)
    assert all(t["point"][1] <= 0.5 for t in client.items(f"/v1/studies/{plain}/trials?max:x1=0.5"))


def test_the_known_optimum_is_kept(server):
    client = server.client()
    study = client.create(definition(optimum=1.5))
    assert study["optimum"] == 1.5
    assert client.study(study["id"])["optimum"] == 1.5
    assert "optimum" not in client.create(definition())


def test_before_the_first_reward(server):
    client = server.client()
    study = client.create(definition())["id"]
    assert client.read(study, "best") == {"observed": None, "recommended": None}
    assert client.study(study)["best"] is None
    assert client.items(f"/v1/studies/{study}/trials") == []
    client.ask(study)
    (prior,) = client.predict(study, candidates=[0])
    assert prior["mean"] == 0 and close(prior["std"], 1, 1e-9), "the prior of a Gaussian kernel, Bayesian scale"


def test_results_that_no_batch_includes(server):
    """While a trial is being measured, the prior would be answered as if it were the metric's own units."""
    client = server.client()
    study = client.create(definition())["id"]
    (trial,) = client.ask(study)["trials"]
    rows = [{"candidate": i, "value": 100.0 + i} for i in range(3)]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
    problem = refusal(client.post(f"/v1/studies/{study}/predict", {"candidates": [0]}), 409)
    assert "no results yet" in problem["detail"] and "next batch" in problem["detail"], problem
    client.tell(study, [{"trial": trial["id"], "value": 101.0}])
    (before,) = client.predict(study, candidates=[0])
    assert before["mean"] > 0
    later = client.create(definition())["id"]
    (trial,) = client.ask(later)["trials"][:1]
    client.tell(later, [{"trial": trial["id"], "state": "failed"}])
    assert client.predict(later, candidates=[0])[0]["mean"] == 0, "a failed trial has no value"
    client.ask(study, wait_seconds=30)
    assert client.predict(study, candidates=[0]) == [before]


def solve(matrix, right):
    """Gaussian elimination with pivoting."""
    n = len(matrix)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            for c in range(i, n + 1):
                rows[r][c] -= factor * rows[i][c]
    solution = [0.0] * n
    for i in reversed(range(n)):
        solution[i] = (rows[i][n] - sum(rows[i][c] * solution[c] for c in range(i + 1, n))) / rows[i][i]
    return solution


def test_predictions_are_those_of_a_gaussian_process(server):
    """With q_bar so large that every pulled arm is in the dictionary, the sparse posterior is the exact one:
    here by the textbook's formula, over single pulls, in plain Python."""
    client = server.client()
    points = [[random.Random(i).random(), random.Random(i + 1000).random()] for i in range(25)]
    algorithm = {"q_bar": 1e12, "lambda": 0.01, "kernel": {"type": "gaussian", "lengthscale": 0.4}}
    study = client.create(definition(points, algorithm, seed=3))["id"]
    work(client, study, 40, 1000)
    client.ask(study, 1)  # a batch is open: it is what predict describes
    model = client.read(study, "model")
    told = [t for t in client.items(f"/v1/studies/{study}/trials") if t["state"] == "completed"]
    assert model["observations"] == len(told), model
    pulled = sorted({trial["candidate"] for trial in told})
    assert sorted(model["dictionary"]["candidates"]) == pulled and model["dictionary"]["size"] == len(pulled)

    def kernel(a, b):
        return math.exp(-sum((x - y) ** 2 for x, y in zip(a, b)) / (2 * 0.4**2))

    at = [points[trial["candidate"]] for trial in told]
    gram = [[kernel(a, b) + (0.01 if i == j else 0) for j, b in enumerate(at)] for i, a in enumerate(at)]
    weights = solve(gram, [trial["value"] for trial in told])
    places = [[0.11, 0.93], [0.5, 0.5]] + [points[0], points[17]]
    predictions = client.predict(study, points=places)
    assert client.predict(study, candidates=[0, 17]) == predictions[2:]
    for place, prediction in zip(places, predictions):
        column = [kernel(place, a) for a in at]
        mean = sum(k * w for k, w in zip(column, weights))
        variance = 1 - sum(k * v for k, v in zip(column, solve(gram, column)))
        assert close(prediction["mean"], mean, 1e-6), (prediction, mean)
        assert close(prediction["std"], math.sqrt(variance), 1e-6), (prediction, variance)
        # beta is the factor before the paper's standard deviation, which is the Bayesian over sqrt(lambda).
        ucb = prediction["mean"] + model["beta"] * prediction["std"] / math.sqrt(0.01)
        assert close(prediction["ucb"], ucb, 1e-9), (prediction, ucb)
    assert model["algorithm"] == "bbkb" and model["lambda"] == 0.01 and model["noise_std"] == 0.1, model
    assert 0 < model["effective_dimension"] < len(pulled), model
    assert model["information_gain"] > 0, model

    # The recommended candidate is the told one with the best mean.
    means = [prediction["mean"] for prediction in client.predict(study, candidates=pulled)]
    recommended = client.read(study, "best")["recommended"]
    assert recommended["candidate"] == pulled[means.index(max(means))], (recommended, means)
    assert recommended["mean"] == max(means)


def test_the_first_pick_of_a_batch_has_the_largest_ucb(server):
    client = server.client()
    study = client.create(definition())["id"]
    work(client, study, 30)
    rest = client.ask(study, 1000)["trials"]  # of the batch that is open
    client.tell(study, [measure(trial) for trial in rest])
    for _ in range(5):
        trials = client.ask(study, 1000)["trials"]
        bounds = [p["ucb"] for p in client.predict(study, candidates=list(range(144)))]
        assert close(bounds[trials[0]["candidate"]], max(bounds), 1e-9), (trials[0], max(bounds))
        client.tell(study, [measure(trial) for trial in trials])


def test_batches(server):
    client = server.client()
    study = client.create(definition(algorithm={"ratio_bound": 1.5}))["id"]
    work(client, study, 80, 1000)
    path = f"/v1/studies/{study}/batches"
    client.read(study, "model")  # answered after the batch that the last tell began
    batches = client.items(path)
    assert client.items(path, limit=2) == batches
    told = 0
    for batch in batches[:-1]:
        assert batch["observations"] == told, batch
        told += batch["size"]
        if batch["stop_rule"] == "global":
            assert batch["ratio"] > 1.5, "the pick that crosses is part of the batch"
        assert batch["dictionary_size"] <= 144 and batch["update_seconds"] >= 0 and batch["select_seconds"] >= 0
        assert batch["beta"] >= 0 and batch["started_at"].endswith("Z")
    assert [batch["started_at"] for batch in batches] == sorted(batch["started_at"] for batch in batches)
    assert {batch["stop_rule"] for batch in batches[1:]} == {"global"}, batches


def test_service(server):
    client = server.client()
    assert client.get("/healthz").status == 200
    assert client.get("/readyz").status == 200
    version = client.get("/v1/version")
    assert version.status == 200 and version.json["version"], version


def test_openapi_is_served_and_describes_these_calls(server):
    answer = server.client().get("/openapi.yaml")
    assert answer.status == 200 and "yaml" in answer.headers["Content-Type"], answer.headers.items()
    text = answer.body.decode()
    assert "\nopenapi: 3.1" in "\n" + text
    for path in (
        "/v1/studies",
        "/v1/studies/{study}",
        "/v1/studies/{study}/candidates",
        "/v1/studies/{study}/ask",
        "/v1/studies/{study}/tell",
        "/v1/studies/{study}/trials",
        "/v1/studies/{study}/best",
        "/v1/studies/{study}/predict",
        "/v1/studies/{study}/model",
        "/v1/studies/{study}/batches",
        "/healthz",
        "/openapi.yaml",
    ):
        assert f"\n  {path}:\n" in text, path


def test_request_id(server):
    client = server.client()
    drawn = [client.get("/healthz").headers["X-Request-Id"] for _ in range(2)]
    assert all(drawn) and drawn[0] != drawn[1], drawn
    echoed = client.request("GET", "/healthz", headers={"X-Request-Id": "mine-17"})
    assert echoed.headers["X-Request-Id"] == "mine-17"
    refused = client.request("GET", "/v1/studies/nobody", headers={"X-Request-Id": "mine-18"})
    assert refused.headers["X-Request-Id"] == "mine-18"


PREDICTIONS = [
    ({}, "/candidates"),
    ({"candidates": [0], "points": [[0, 0]]}, "/points"),
    ({"candidates": []}, "/candidates"),
    ({"candidates": [144]}, "/candidates/0"),
    ({"candidates": [0, -1]}, "/candidates/1"),
    ({"candidates": [0.5]}, "/candidates/0"),
    ({"candidates": ["0"]}, "/candidates/0"),
    ({"points": [[0, 0], [1]]}, "/points/1"),
    ({"points": [[0, 0, 0]]}, "/points/0"),
    ({"points": [[0, "0"]]}, "/points/0/1"),
    ({"candidates": [0], "colour": 1}, "/colour"),
]


def test_refused_predictions(server):
    client = server.client()
    study = client.create(definition())["id"]
    client.ask(study)
    for body, pointer in PREDICTIONS:
        refusal(client.post(f"/v1/studies/{study}/predict", body), 422, pointer)


def test_predictions_that_a_study_has_not(server):
    client = server.client()
    plain = client.create(definition())["id"]
    refusal(client.post(f"/v1/studies/{plain}/predict", {"parameters": [{"x": 1}]}), 422, "/parameters")
    uniform = client.create(dict(definition(), algorithm={"name": "uniform"}))["id"]
    refusal(client.post(f"/v1/studies/{uniform}/predict", {"candidates": [0]}), 409)
    refusal(client.get(f"/v1/studies/{uniform}/model"), 409)
    body = {"type": "precomputed", "size": 2}
    kernel = client.create(dict(definition(), domain=body, algorithm={"noise_std": 0.1}))["id"]
    assert client.put(f"/v1/studies/{kernel}/kernel", "1,0.5\n0.5,1\n", content_type="text/csv").status == 200
    refusal(client.post(f"/v1/studies/{kernel}/predict", {"points": [[1, 0]]}), 409)
    assert len(client.predict(kernel, candidates=[0, 1])) == 2


def test_model_and_predict_before_candidates(server):
    client = server.client()
    study = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
    refusal(client.get(f"/v1/studies/{study}/model"), 409)
    refusal(client.post(f"/v1/studies/{study}/predict", {"candidates": [0]}), 409)


def test_unknown_trial_number(server):
    client = server.client()
    study = client.create(definition(grid(3)))["id"]
    refusal(client.get(f"/v1/studies/{study}/trials/1"), 404)
