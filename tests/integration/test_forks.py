"""Forks: a study as it was when a trial was reported, under another id."""

from server import Server, run_to_end
from support import definition, grid, refusal, target


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
    refusal(client.post(path, {"id": "x", "algorithm": {"name": "bkb"}}), 422, "/algorithm")
    refusal(client.post(path, {"id": study}), 409)
    assert client.get("/v1/studies/x").status == 404


def test_a_repeated_fork_is_one_study(server):
    client = server.client()
    one, two = told_study(client, 3), told_study(client, 4)
    headers = {"Idempotency-Key": "a-fork"}
    answers = [client.post(f"/v1/studies/{one}/fork", {"id": "repeated"}, headers=headers) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201] and answers[0].body == answers[1].body
    refusal(client.post(f"/v1/studies/{two}/fork", {"id": "repeated"}, headers=headers), 409)
