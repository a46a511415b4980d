"""Studies on candidates, from creation to deletion."""

import re

from support import definition, grid, measure, refusal, target, work


def test_whole_way_inline(server):
    client = server.client()
    body = definition(id="whole", horizon=60, algorithm={"lambda": 0.01}, display_name="The whole way")
    assert client.create(body)["state"] == "active"
    chosen = work(client, "whole", 60)
    assert len(chosen) == 60

    client.read("whole", "model")  # answered after the last results have joined it
    study = client.study("whole")
    assert study["trials_completed"] == 60 and study["observations"] == 60, study
    assert study["trials_queued"] == study["trials_pending"] == study["trials_failed"] == 0, study
    assert study["state"] == "finished", study

    # Noise 0.1 and 60 trials: the model must have found the hill's upper part.
    best = client.read("whole", "best")
    assert target(grid(12)[best["recommended"]["candidate"]]) > 0.9, best
    trials = client.items("/v1/studies/whole/trials")
    assert [trial["candidate"] for trial in trials] == chosen
    first_best = max(trials, key=lambda trial: (trial["value"], -trial["id"]))
    observed = {name: first_best[key] for name, key in (("trial", "id"), ("candidate", "candidate"), ("value", "value"))}
    assert study["best"] == observed, study
    (believed,) = client.predict("whole", candidates=[observed["candidate"]])
    lucky = observed["value"] > believed["mean"] + believed["std"]
    assert best["observed"] == {**observed, "expected": believed["mean"], "lucky": lucky}, (best, believed)

    batches = client.items("/v1/studies/whole/batches")
    assert sum(batch["size"] for batch in batches) == 60
    assert [batch["batch"] for batch in batches] == list(range(len(batches)))
    assert batches[0]["stop_rule"] == "initial" and batches[0]["size"] == 1
    assert study["batch"] == len(batches), (study, batches)


def test_created_study_shows_every_value_in_force(server):
    client = server.client()
    body = definition(id="values", horizon=1000)
    body["algorithm"].pop("lambda")
    body["algorithm"]["standardize_rewards"] = False
    answer = client.post("/v1/studies", body)
    assert answer.status == 201 and answer.headers["Location"] == "/v1/studies/values", answer.headers.items()
    study = answer.json
    algorithm = study["algorithm"]
    assert algorithm["name"] == "bbkb" and algorithm["kernel"] == {"type": "gaussian", "lengthscale": 0.3}
    defaults = {
        "noise_std": 0.1,
        "norm_bound": 1,
        "delta": 0.001,
        "q_bar": 2,
        "ratio_bound": 2,
        "batch_rule": "global",
        "confidence": "practical",
        "resample": "fresh",
        "max_batch": 4096,
        "max_arm_failures": 3,
        "init": {"type": "uniform"},
        "standardize_rewards": False,
    }
    assert abs(algorithm.pop("lambda") - 0.01) < 1e-15, "the noise variance"
    assert {name: algorithm[name] for name in defaults} == defaults, algorithm
    assert study["domain"]["dimension"] == 2 and study["domain"]["scaling"] == "none", study
    assert (study["seed"], study["horizon"], study["lease_seconds"], study["max_attempts"]) == (7, 1000, 600, 3)
    assert study["feedback"] == "batch" and study["repeats"] == "auto" and study["metric"]["goal"] == "maximize"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", study["created_at"]), study
    assert client.study("values") == answer.json


def test_defaults_that_depend(server):
    body = definition(algorithm={"noise_std": 0.2, "kernel": {"lengthscale": 0.5}})
    del body["algorithm"]["lambda"], body["domain"]["scaling"], body["algorithm"]["name"], body["seed"]
    study = server.client().create({**body, "aim": "regret"})
    assert study["algorithm"]["name"] == "bbkb"
    learned = {"lambda": "auto", "norm_bound": "auto", "standardize_rewards": True, "confidence": "calibrated"}
    assert {name: study["algorithm"][name] for name in learned} == learned, study
    assert study["algorithm"]["delta"] == 0.001, "without a horizon"
    assert study["algorithm"]["kernel"] == {"type": "matern", "nu": 2.5, "lengthscale": 0.5}
    assert study["domain"]["scaling"] == "standardize"
    assert "horizon" not in study or study["horizon"] is None
    assert isinstance(study["seed"], int) and 0 <= study["seed"] <= 2**53 - 1, "the drawn seed is shown"
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,62}", study["id"]), "an id is made when none is given"


def test_an_answered_definition_makes_the_same_study(server):
    """What the server answers, sent again under another id with the same points, makes the same choices."""
    client = server.client()
    created = client.create(definition(id="first", horizon=40))
    given = ("metric", "domain", "algorithm", "horizon", "seed", "feedback", "lease_seconds", "max_attempts")
    again = {name: created[name] for name in given}
    again["domain"]["points"] = grid(12)
    client.create({"id": "second", **again})
    assert work(client, "first", 40) == work(client, "second", 40)


def test_minimize_mirrors_maximize(server):
    client = server.client()
    client.create(definition(id="up", horizon=50))
    client.create(definition(id="down", horizon=50, metric={"name": "loss", "goal": "minimize"}))
    up, down = [], []
    while len(up) < 50:
        for study, chosen, sign in (("up", up, 1), ("down", down, -1)):
            trials = client.ask(study, 50)["trials"]
            chosen += [trial["candidate"] for trial in trials]
            client.tell(study, [{"trial": t["id"], "value": sign * measure(t)["value"]} for t in trials])
    assert up == down
    best_up, best_down = client.read("up", "best"), client.read("down", "best")
    assert best_up["observed"]["value"] == -best_down["observed"]["value"]
    assert best_up["recommended"]["mean"] == -best_down["recommended"]["mean"]
    for a, b in zip(client.predict("up", candidates=[0, 70]), client.predict("down", candidates=[0, 70])):
        assert (a["mean"], a["std"], a["ucb"]) == (-b["mean"], b["std"], -b["ucb"]), (a, b)


def test_list_and_paging(server):
    client = server.client()
    ids = sorted(f"page-{i}" for i in range(7))
    for name in ids:
        client.create(definition(id=name))
    listed = client.items("/v1/studies", limit=3)
    assert [study["id"] for study in listed if study["id"].startswith("page-")] == ids
    assert listed[-1] == client.study(listed[-1]["id"]), "a list shows what the study shows"
    page = client.get("/v1/studies?limit=3").json
    assert len(page["items"]) == 3 and page["next_page_token"]
    assert "next_page_token" not in client.get("/v1/studies?limit=1000").json


def test_delete(server):
    client = server.client()
    client.create(definition(id="gone"))
    work(client, "gone", 20)
    answer = client.delete("/v1/studies/gone")
    assert (answer.status, answer.body) == (204, b""), answer
    for path in ("", "/trials", "/best", "/model", "/batches"):
        refusal(client.get("/v1/studies/gone" + path), 404)
    refusal(client.post("/v1/studies/gone/ask", {}), 404)
    refusal(client.delete("/v1/studies/gone"), 404)
    assert "gone" not in [study["id"] for study in client.items("/v1/studies")]
    assert client.create(definition(id="gone"))["trials_completed"] == 0, "the id is free again"
    assert client.items("/v1/studies/gone/trials") == []


def test_an_id_is_free_as_soon_as_its_study_is_deleted(server):
    client = server.client()
    for _ in range(30):
        client.create(definition(id="again", horizon=3))
        client.ask("again")
        assert client.delete("/v1/studies/again").status == 204
        client.create(definition(id="again"))
        assert "horizon" not in client.study("again")
        (trial,) = client.ask("again")["trials"]
        assert trial["id"] == 1, trial
        assert client.delete("/v1/studies/again").status == 204


def test_a_taken_id_is_said_in_a_sentence(server):
    """With a key, too, it is known that the id is the reason."""
    client = server.client()
    client.create(definition(id="cand"))
    for headers in ({}, {"Idempotency-Key": "mine"}):
        problem = refusal(client.post("/v1/studies", definition(id="cand"), headers=headers), 409)
        assert problem["detail"] == "there is already a study 'cand'", problem


def test_same_seed_same_choices_and_another_seed_others(server):
    client = server.client()
    for name, seed in (("seed-a", 1), ("seed-b", 1), ("seed-c", 2)):
        client.create(definition(id=name, seed=seed))
    a, b, c = (work(client, name, 40) for name in ("seed-a", "seed-b", "seed-c"))
    assert a == b and a != c


def test_every_confidence_and_kernel_runs(server):
    client = server.client()
    for changes in (
        {"confidence": "theory"},
        {"confidence": {"beta": 1.5}},
        {"kernel": {"type": "matern", "nu": 0.5, "lengthscale": 0.4}},
        {"kernel": {"type": "matern", "nu": 1.5, "lengthscale": [0.4, 0.6]}},
        {"kernel": {"type": "linear"}},
        {"resample": "persistent"},
        {"max_batch": 2},
        {"ratio_bound": 1},
    ):
        study = client.create(definition(algorithm=changes, horizon=30))
        assert len(work(client, study["id"], 30)) == 30, changes
        sizes = [batch["size"] for batch in client.items(f"/v1/studies/{study['id']}/batches")]
        assert "max_batch" not in changes or max(sizes) == 2, sizes
        assert "ratio_bound" not in changes or max(sizes) == 1, sizes


def test_seeds_and_big_integers_keep_their_digits(server):
    study = server.client().create(definition(seed=2**53 - 1, horizon=2**53 - 1))
    assert (study["seed"], study["horizon"]) == (2**53 - 1, 2**53 - 1), study
