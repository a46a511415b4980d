"""What a study is for: `aim`, the algorithm that follows from it, and what a definition without one means."""

from support import cases, grid, refusal, work


def study_of(aim=None, algorithm=None, domain=None, **fields):
    body = {
        "metric": {"name": "value", "goal": "minimize"},
        "domain": domain or {"type": "candidates", "scaling": "none", "points": grid(8)},
        "seed": 3,
        **fields,
    }
    if aim is not None:
        body["aim"] = aim
    if algorithm is not None:
        body["algorithm"] = algorithm
    return body


ALLOWED = {
    # name: (aim, algorithm, the aim shown, the algorithm shown)
    "neither": (None, None, "best", "log_ei"),
    "a_nameless_algorithm": (None, {"noise_std": 0.1}, "best", "log_ei"),
    "regret": ("regret", None, "regret", "bbkb"),
    "best": ("best", None, "best", "log_ei"),
    "best_with_a_nameless_algorithm": ("best", {"noise_std": 0.1}, "best", "log_ei"),
    "regret_with_a_nameless_algorithm": ("regret", {"q_bar": 3}, "regret", "bbkb"),
    "an_algorithm": (None, {"name": "gp_ei"}, "regret", "gp_ei"),
    "log_ei": (None, {"name": "log_ei"}, "best", "log_ei"),
    "best_with_another_algorithm": ("best", {"name": "gp_ts"}, "best", "gp_ts"),
}


@cases(ALLOWED)
def test_aim_and_algorithm(server, case):
    aim, algorithm, shown_aim, shown_algorithm = case
    client = server.client()
    study = client.create(study_of(aim, algorithm))
    assert (study["aim"], study["algorithm"]["name"]) == (shown_aim, shown_algorithm), study
    assert client.study(study["id"]) == study


def test_the_aim_stays(server):
    client = server.client()
    study = client.create(study_of("best"))["id"]
    refusal(client.request("PATCH", f"/v1/studies/{study}", {"aim": "regret"}), 422, "/aim")
    assert client.study(study)["aim"] == "best"


def test_a_named_algorithm_picks_the_same_under_either_aim(server):
    client = server.client()
    algorithm = {"name": "gp_ei"}
    chosen = []
    for aim in (None, "best", "regret"):
        study = client.create(study_of(aim, algorithm))["id"]
        chosen.append(work(client, study, 20, count=1))
    assert chosen[0] == chosen[1] == chosen[2]


def test_log_ei_is_what_best_selects(server):
    client = server.client()
    chosen = []
    for aim, algorithm in (("best", None), (None, {"name": "log_ei"})):
        study = client.create(study_of(aim, algorithm))["id"]
        chosen.append(work(client, study, 20, count=1))
    assert chosen[0] == chosen[1]


def test_a_stored_definition_without_an_aim_keeps_what_it_had(server):
    """A study file of before: it says no aim, and goes on as the study that named the same algorithm."""
    client = server.client()
    client.create(study_of(None, {"name": "bbkb"}, id="new"))
    work(client, "new", 10, count=1)
    lines = client.get("/v1/studies/new/export").body.decode()
    for now, then in ((r'\"aim\":\"regret\",', ""), (r'\"id\":\"new\"', r'\"id\":\"old\"'), ('"new"', '"old"')):
        assert now in lines, now
        lines = lines.replace(now, then)
    assert "aim" not in lines
    answer = client.post("/v1/studies", lines.encode(), content_type="application/x-ndjson")
    assert answer.status in (200, 201), answer
    old = client.study("old")
    assert "aim" not in old and old["algorithm"]["name"] == "bbkb", old
    assert work(client, "old", 15, count=1) == work(client, "new", 15, count=1)


def space(kind, n):
    low, high = (0, 12) if kind == "integer" else (-5, 5)
    return {
        "type": "space",
        "parameters": [{"name": f"x{i}", "type": kind, "min": low, "max": high} for i in range(n)],
    }


def search(client, study, trials, value):
    """Asks and tells one at a time. -> the points, and the values told"""
    points, values = [], []
    for _ in range(trials):
        (trial,) = client.ask(study, wait_seconds=30)["trials"]
        points.append(tuple(trial["parameters"].values()))
        values.append(value(points[-1]))
        client.tell(study, [{"trial": trial["id"], "value": values[-1]}])
    return points, values


def test_best_follows_an_optimum(server):
    """Of a function whose values span six powers of ten, to a thousandth of what the first points have."""
    client = server.client()
    study = client.create(study_of("best", domain=space("double", 4)))["id"]
    _, values = search(client, study, 45, lambda x: sum(10 ** (2 * i) * (v - 1) ** 2 for i, v in enumerate(x)))
    assert min(values) < 1e-3 * min(values[:6]), (min(values[:6]), min(values))
    model = client.read(study, "model")
    assert model["warp"]["power"] > 1.2 and model["fitted_on"] >= 40, model
    predictions = client.predict(study, parameters=[{f"x{i}": 1 for i in range(4)}, {f"x{i}": -5 for i in range(4)}])
    assert predictions[0]["mean"] < 10 and predictions[1]["mean"] > 1e5, predictions


def test_best_tries_no_point_twice_without_noise(server):
    client = server.client()
    study = client.create(study_of("best", domain=space("integer", 4)))["id"]
    points, values = search(client, study, 45, lambda x: sum((v - 7) ** 2 for v in x))
    assert len(set(points)) == 45, points
    assert min(values) == 0, values
