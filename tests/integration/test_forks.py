"""Forks: a study as it was when a trial was reported, under another id."""

from server import Server, run_to_end
from support import grid, refusal, target


def told_study(client, trials=30, **fields):
    body = {"metric": {"name": "value", "goal": "maximize"}, "domain": {"type": "candidates", "points": grid(12)}, "seed": 4}
    study = client.create({**body, **fields})["id"]
    go_on(client, study, trials)
    return study


def go_on(client, study, trials):
    """-> the candidates that were asked for"""
    chosen = []
    for _ in range(trials):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        chosen.append(trial["candidate"])
        client.tell(study, [{"trial": trial["id"], "value": target(trial["point"])}])
    return chosen


def fork(client, study, **body):
    answer = client.post(f"/v1/studies/{study}/fork", body)
    assert answer.status == 201, answer
    assert answer.headers["Location"] == f"/v1/studies/{body['id']}", answer.headers
    return answer.json


def test_a_fork_is_the_study_as_it_was_and_goes_on_like_it(server):
    client = server.client()
    study = told_study(client, 20)
    at_twenty = client.study(study)
    later = go_on(client, study, 10)
    forked = fork(client, study, id="as-it-was", at_trial=20)
    assert forked["trials_completed"] == 20 and forked["observations"] == 20, forked
    for member in ("domain", "algorithm", "metric", "seed", "best"):
        assert forked[member] == at_twenty[member], member
    assert go_on(client, "as-it-was", 10) == later
    assert client.study(study)["trials_completed"] == 30


def test_a_fork_of_everything_and_other_values(server):
    client = server.client()
    study = told_study(client, 15)
    fork(client, study, id="whole")
    assert go_on(client, "whole", 3) == go_on(client, study, 3)
    fork(client, study, id="other", at_trial=10)
    (trial,) = client.ask("other", 1, wait_seconds=30)["trials"]
    client.tell("other", [{"trial": trial["id"], "value": -5}])
    original = client.read(study, f"trials/{trial['id']}")
    assert original["candidate"] == trial["candidate"] and original["value"] != -5, (original, trial)


def test_a_fork_of_a_space_passes_a_check():
    with Server() as server:
        client = server.client()
        parameters = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "ab"]
        study = client.create(
            {"metric": {"name": "v", "goal": "minimize"}, "domain": {"type": "space", "parameters": parameters}, "seed": 2}
        )["id"]
        for step in range(14):
            trials = client.ask(study, 2, wait_seconds=30)["trials"]
            client.tell(study, [{"trial": t["id"], "value": sum(t["parameters"].values())} for t in trials])
        fork(client, study, id="forked", at_trial=17)
        points = [
            [trial["parameters"] for trial in client.ask(name, 1, wait_seconds=30)["trials"]] for name in ("forked", study)
        ]
        assert points[0] != points[1]
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db), timeout=300)
        assert (status, err) == (0, "") and "batches replanned" in out, (status, out, err)
        server.start()


def test_refused_forks(server):
    client = server.client()
    study = told_study(client, 3)
    (held,) = client.ask(study, 1)["trials"]
    path = f"/v1/studies/{study}/fork"
    refusal(client.post("/v1/studies/none/fork", {"id": "x"}), 404)
    refusal(client.post(path, {}), 422, "/id")
    refusal(client.post(path, {"id": "No"}), 422, "/id")
    refusal(client.post(path, {"id": 3}), 422, "/id")
    refusal(client.post(path, {"id": "x", "at_trial": 0}), 422, "/at_trial")
    refusal(client.post(path, {"id": "x", "at_trial": 99}), 422, "/at_trial")
    refusal(client.post(path, {"id": "x", "at_trial": held["id"]}), 409, "/at_trial")
    refusal(client.post(path, {"id": "x", "algorithm": {"name": "none"}}), 422, "/algorithm/name")
    refusal(client.post(path, {"id": "x", "seed": -1}), 422, "/seed")
    refusal(client.post(path, {"id": "x", "metric": {"name": "value", "goal": "minimize"}}), 422, "/metric")
    refusal(client.post(path, {"id": "x", "domain": {"type": "candidates"}}), 422, "/domain")
    refusal(client.post(path, {"id": "x", "other": 1}), 422, "/other")
    refusal(client.post(path, {"id": study, "seed": 1}), 409)
    refusal(client.post(path, {"id": study}), 409)
    assert client.get("/v1/studies/x").status == 404


def test_a_repeated_fork_is_one_study(server):
    client = server.client()
    one, two = told_study(client, 3), told_study(client, 4)
    headers = {"Idempotency-Key": "a-fork"}
    answers = [client.post(f"/v1/studies/{one}/fork", {"id": "repeated"}, headers=headers) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201] and answers[0].body == answers[1].body
    refusal(client.post(f"/v1/studies/{two}/fork", {"id": "repeated"}, headers=headers), 409)


def test_a_fork_with_another_definition(server):
    client = server.client()
    study = told_study(client, 20)
    changed = fork(client, study, id="another-way", at_trial=12, seed=77, algorithm={"name": "gp_ei"}, horizon=40)
    assert (changed["seed"], changed["algorithm"]["name"], changed["horizon"]) == (77, "gp_ei", 40), changed
    assert changed["history_from"] == study and changed["history"]["imported"] == 12, changed
    assert changed["observations"] == 12 and changed["metric"] == client.study(study)["metric"], changed
    items = client.items("/v1/studies/another-way/observations")
    told = client.items(f"/v1/studies/{study}/trials")
    assert [(i["candidate"], i["value"]) for i in items] == [(t["candidate"], t["value"]) for t in told[:12]]
    assert len(go_on(client, "another-way", 3)) == 3
    # the default algorithm of another aim, and no change at all
    aimed = fork(client, study, id="for-regret", aim="regret")
    assert aimed["aim"] == "regret" and aimed["algorithm"]["name"] == "bbkb" and aimed["observations"] == 20, aimed
    again = fork(client, study, id="same-seed", seed=client.study(study)["seed"])
    assert again["algorithm"] == client.study(study)["algorithm"], again


def test_a_fork_of_a_space_with_other_constraints(server):
    client = server.client()
    bounds = {"type": "double", "min": 0, "max": 1}
    study = client.create(
        {
            "metric": {"name": "v", "goal": "minimize"},
            "domain": {
                "type": "space",
                "parameters": [{"name": "a", **bounds}, {"name": "b", **bounds}],
                "constraints": ["a <= b"],
            },
            "seed": 2,
        }
    )["id"]
    for _ in range(8):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": sum(trial["parameters"].values())}])
    forked = fork(client, study, id="the-other-half", constraints=["a + b >= 0.5"])
    assert forked["domain"]["constraints"] == ["a + b >= 0.5"] and forked["history"]["left_out"] == 8 - forked["observations"], forked
    (trial,) = client.ask("the-other-half", 1, wait_seconds=30)["trials"]
    assert sum(trial["parameters"].values()) >= 0.5 - 1e-9, trial
    assert "constraints" not in fork(client, study, id="without-rules", constraints=None)["domain"]
    refusal(client.post(f"/v1/studies/{study}/fork", {"id": "x", "constraints": ["a +"]}), 422, "/constraints/0")


REFUSED_OF_SEVERAL = {
    "/aim": {"aim": "regret"},
    "/algorithm/name": {"algorithm": {"name": "bbkb"}},
    "/stop_when": {"stop_when": [{"rule": "target", "value": 1}]},
}


def test_a_changed_fork_of_several_metrics():
    """The values, errors and corrections of all metrics come along, and the model has them."""
    metrics = [
        {"name": "v", "goal": "minimize", "threshold": 1},
        {"name": "w", "goal": "minimize", "threshold": 1},
        {"name": "heat", "role": "constraint", "at_most": 1.6},
        {"name": "note", "role": "recorded"},
    ]

    def values(point):
        return {"v": point[0], "w": (1 - point[0]) ** 2 + point[1], "heat": sum(point), "note": 7}

    errors = {"v": 0.1, "heat": 0.2}
    with Server() as server:
        client = server.client()
        domain = {"type": "candidates", "points": grid(6)}
        study = client.create({"metrics": metrics, "aim": "best", "domain": domain, "seed": 4})["id"]
        for _ in range(6):
            trials = client.ask(study, 2, wait_seconds=30)["trials"]
            client.tell(study, [{"trial": t["id"], "values": values(t["point"]), "std_errors": errors} for t in trials])
        corrected = {"values": {"v": 0.5, "w": 0.25, "heat": 0.125, "note": 8}}
        assert client.post(f"/v1/studies/{study}/trials/2/amend", corrected).status == 200
        for name, changes in {"seeded": {"seed": 77}, "earlier": {"at_trial": 8, "horizon": 40}}.items():
            forked = fork(client, study, id=name, **changes)
            told = client.items(f"/v1/studies/{study}/trials")[: changes.get("at_trial", 12)]
            assert forked["history"]["imported"] == len(told) and forked["metrics"] == client.study(study)["metrics"], forked
            items = client.items(f"/v1/studies/{name}/observations")
            members = ("candidate", "values", "std_errors")
            assert [[i.get(m) for m in members] for i in items] == [[t.get(m) for m in members] for t in told], (items, told)
        assert items[1]["values"] == corrected["values"] and items[0]["std_errors"] == errors, items[:2]
        fronts = [client.read(name, "best")["observed"]["pareto"] for name in (study, "seeded")]
        assert fronts[0] and [p["candidate"] for p in fronts[0]] == [p["candidate"] for p in fronts[1]], fronts
        for name in ("seeded", "earlier"):
            assert client.ask(name, 1, wait_seconds=30)["trials"]
        assert client.read("seeded", "model?metric=w")["observations"] == 12
        for pointer, change in REFUSED_OF_SEVERAL.items():
            refusal(client.post(f"/v1/studies/{study}/fork", {"id": "x", **change}), 422, pointer)
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db), timeout=300)
        assert (status, err) == (0, ""), (status, out, err)


def test_a_repeated_changed_fork_is_one_study(server):
    client = server.client()
    study = told_study(client, 3)
    headers = {"Idempotency-Key": "a-changed-fork"}
    answers = [client.post(f"/v1/studies/{study}/fork", {"id": "repeated-change", "seed": 5}, headers=headers) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201] and answers[0].body == answers[1].body


def test_a_fork_may_go_from_async_to_batches_with_min_in_flight(server):
    client = server.client()
    study = told_study(client, 6, feedback="async", min_in_flight=2)
    forked = fork(client, study, id="in-batches", feedback="batch")
    assert forked["feedback"] == "batch" and "min_in_flight" not in forked, forked
    assert fork(client, study, id="still-async", seed=9)["min_in_flight"] == 2
