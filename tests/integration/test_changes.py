"""Calls that change a study or a trial without telling: PATCH, heartbeat; and the same POST sent twice."""

import re
import threading
import time

from server import Server
from support import cases, definition, measure, refusal
from test_metrics import until


def test_patch(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}"
    changes = {
        "display_name": "Another name",
        "labels": {"team": "bench"},
        "metadata": {"a": [1, {"b": None}]},
        "horizon": 500,
        "lease_seconds": 30,
        "max_attempts": 7,
    }
    answer = client.request("PATCH", path, changes)
    assert answer.status == 200, answer
    assert {name: answer.json[name] for name in changes} == changes, answer
    after = client.study(study)
    assert {name: after[name] for name in changes} == changes, after
    (trial,) = client.ask(study)["trials"]
    lease = time.strptime(trial["lease_expires_at"][:19], "%Y-%m-%dT%H:%M:%S")
    assert time.mktime(lease) - time.mktime(time.gmtime()) < 40, trial


def test_paused_and_resumed(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}"
    (trial,) = client.ask(study, 1, worker="w1")["trials"]
    assert client.request("PATCH", path, {"state": "paused"}).json["state"] == "paused"
    assert client.ask(study, 1, worker="w2") == {"trials": [], "reason": "paused"}
    (again,) = client.ask(study, 1, worker="w1")["trials"]
    assert again["id"] == trial["id"], "its own pending trial, even when paused"
    assert client.tell(study, [measure(trial)])["accepted"] == 1
    assert client.request("PATCH", path, {"state": "active"}).json["state"] == "active"
    assert client.ask(study, 1, worker="w2")["trials"]


def test_finished_by_hand(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}"
    client.request("PATCH", path, {"state": "finished"})
    assert client.ask(study)["reason"] == "finished"
    paused = client.request("PATCH", path, {"state": "paused"})
    assert paused.status == 409 and "set it to active" in paused.json["detail"], paused
    assert client.request("PATCH", path, {"state": "active"}).json["state"] == "active"


def test_a_study_at_its_horizon_is_continued_by_a_larger_one(server):
    client = server.client()
    study = client.create(definition(horizon=1, feedback="async"))["id"]
    client.tell(study, [measure(client.ask(study)["trials"][0])])
    assert client.study(study)["state"] == "finished"
    path = f"/v1/studies/{study}"
    for state in ("paused", "active"):
        answer = client.request("PATCH", path, {"state": state})
        assert answer.status == 409 and "horizon of 1 trials" in answer.json["errors"][0]["detail"], answer
    assert client.request("PATCH", path, {"state": "finished"}).json["state"] == "finished"
    assert client.request("PATCH", path, {"state": "finished", "horizon": 2}).json["state"] == "finished"
    assert client.request("PATCH", path, {"state": "active", "horizon": 3}).json["state"] == "active"
    assert client.ask(study, wait_seconds=30)["trials"]


def test_a_larger_horizon_alone_continues_a_study(server):
    client = server.client()
    for change in ({"horizon": 2}, {"horizon": None}):
        study = client.create(definition(horizon=1, feedback="async"))["id"]
        client.tell(study, [measure(client.ask(study)["trials"][0])])
        path = f"/v1/studies/{study}"
        assert client.request("PATCH", path, {"display_name": "x"}).json["state"] == "finished"
        assert client.request("PATCH", path, change).json["state"] == "active", change
        assert client.ask(study, wait_seconds=30)["trials"], change
    early = client.create(definition(horizon=3, feedback="async"))["id"]
    client.request("PATCH", f"/v1/studies/{early}", {"state": "finished"})
    assert client.request("PATCH", f"/v1/studies/{early}", {"horizon": 5}).json["state"] == "finished", "ended by its user"


PATCHES = {
    "unknown_field": ({"colour": 1}, 422, "/colour"),
    "what_never_changes": ({"seed": 5}, 422, "/seed"),
    "how_often_it_repeats": ({"repeats": "never"}, 422, "/repeats"),
    "unknown_state": ({"state": "asleep"}, 422, "/state"),
    "state_that_is_not_the_users": ({"state": "error"}, 422, "/state"),
    "horizon_zero": ({"horizon": 0}, 422, "/horizon"),
    "lease_zero": ({"lease_seconds": 0}, 422, "/lease_seconds"),
    "max_attempts_a_string": ({"max_attempts": "3"}, 422, "/max_attempts"),
    "malformed": (b"{", 400, None),
}


@cases(PATCHES)
def test_refused_patch(server, case):
    body, status, pointer = case
    client = server.client()
    study = client.create(definition())
    answer = client.request("PATCH", f"/v1/studies/{study['id']}", body, content_type="application/json")
    refusal(answer, status, pointer)
    assert client.study(study["id"]) == study, "nothing has changed"


def test_patches_that_do_not_fit_the_study(server):
    client = server.client()
    waiting = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})
    batches = client.create(definition())
    path = f"/v1/studies/{batches['id']}"
    (trial,) = client.ask(batches["id"])["trials"]
    client.tell(batches["id"], [measure(trial)])
    assert client.ask(batches["id"], wait_seconds=30)["trials"]
    refusal(client.request("PATCH", f"/v1/studies/{waiting['id']}", {"state": "active"}), 409, "/state")
    problem = refusal(client.request("PATCH", path, {"horizon": 1, "min_in_flight": 3, "lease_seconds": 5}), 422, "/horizon")
    assert [error["pointer"] for error in problem["errors"]] == ["/horizon", "/min_in_flight"], problem
    assert client.study(waiting["id"]) == waiting and client.study(batches["id"])["lease_seconds"] == 600, "nothing has changed"


def test_another_horizon_is_planned_for(server):
    """It ends a study that had none, and one that ended with it goes on with a longer one."""
    client = server.client()
    study = client.create(definition(feedback="async", algorithm={"name": "igp_ucb"}))["id"]
    path = f"/v1/studies/{study}"
    for horizon in (4, 7):
        assert client.request("PATCH", path, {"horizon": horizon, "state": "active"}).json["horizon"] == horizon
        while (answer := client.ask(study, 2, worker="w", wait_seconds=30))["trials"]:
            client.tell(study, [measure(trial) for trial in answer["trials"]])
        assert answer["reason"] == "finished", answer
        assert client.study(study)["trials_completed"] == horizon
    changed = client.request("PATCH", path, {"horizon": None, "min_in_flight": 3, "state": "active"})
    assert "horizon" not in changed.json and changed.json["min_in_flight"] == 3, changed
    held = [client.ask(study, worker=f"w{i}", wait_seconds=30)["trials"] for i in range(3)]
    assert [len(trials) for trials in held] == [1, 1, 1], held
    assert client.ask(study, worker="w3")["reason"] == "awaiting_feedback"


def test_heartbeat_keeps_a_trial(server):
    client = server.client()
    study = client.create(definition())["id"]
    (trial,) = client.ask(study, 1, worker="w1", lease_seconds=2)["trials"]
    path = f"/v1/studies/{study}/trials/{trial['id']}/heartbeat"
    for _ in range(4):
        time.sleep(0.6)
        assert client.post(path, {"lease_seconds": 2}).status == 200
    assert client.ask(study, 1, worker="w2")["trials"] == [], "after 2.4 seconds it is still w1's"
    assert client.read(study, f"trials/{trial['id']}")["attempt"] == 1
    refusal(client.post(path, {"lease_seconds": 0}), 422, "/lease_seconds")
    refusal(client.post(path, {"lease": 5}), 422, "/lease")
    client.tell(study, [measure(trial)])
    refusal(client.post(path, {}), 409)
    refusal(client.post(f"/v1/studies/{study}/trials/99/heartbeat", {}), 404)


def with_key(client, path, body, key):
    return client.post(path, body, headers={"Idempotency-Key": key})


def test_the_same_key_answers_the_same(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/ask"
    first = with_key(client, path, {"count": 1}, "key-1")
    again = with_key(client, path, {"count": 1}, "key-1")
    assert (again.status, again.body) == (first.status, first.body) == (200, first.body)
    assert client.study(study)["trials_pending"] == 1
    refusal(with_key(client, path, {"count": 2}, "key-1"), 409)
    tell = {"results": [{"trial": 1, "value": 0.5}]}
    told = [with_key(client, f"/v1/studies/{study}/tell", tell, "key-1").body for _ in range(2)]
    assert told[0] == told[1] and b'"accepted":1' in told[0].replace(b" ", b""), told


# Every POST of openapi.yaml: two bodies that it takes.
POSTS = {
    "/v1/studies": (definition(id="one"), definition(id="another")),
    "/v1/studies/{study}/ask": ({"worker": "w"}, {"count": 2}),
    "/v1/studies/{study}/trials/{number}/heartbeat": ({"lease_seconds": 100}, {"lease_seconds": 200}),
    "/v1/studies/{study}/trials/{number}/measurements": ({"step": 1, "value": 0.5}, {"step": 2, "value": 0.5}),
    "/v1/studies/{study}/tell": ({"results": [{"trial": 1, "value": 1}]}, {"results": [{"trial": 1, "value": 2}]}),
    "/v1/studies/{study}/trials/{number}/amend": ({"value": 3, "reason": "x"}, {"value": 4, "reason": "x"}),
    "/v1/studies/{study}/trials": ({"candidate": 5}, {"candidate": 6}),
    "/v1/studies/{study}/observations": tuple({"observations": [{"candidate": i, "value": 1}]} for i in (1, 2)),
    "/v1/studies/{study}/observations/{number}/amend": ({"value": 3, "reason": "x"}, {"value": 4, "reason": "x"}),
    "/v1/studies/{study}/candidates": ({"points": [[0.1, 0.11]]}, {"points": [[0.2, 0.21]]}),
    "/v1/studies/{study}/candidates/retire": ({"candidates": [9]}, {"candidates": [10]}),
    "/v1/studies/{study}/candidates/restore": ({"candidates": [9]}, {"candidates": [10]}),
    "/v1/studies/{study}/fork": ({"id": "forked"}, {"id": "forked-again"}),
    "/v1/studies/{study}/predict": ({"candidates": [1]}, {"candidates": [2]}),
    "/v1/tokens": ({"role": "viewer"}, {"role": "worker"}),
}


def test_every_post_takes_a_key_and_keeps_it_through_a_restart():
    with Server() as server:
        client = server.client()
        text = client.get("/openapi.yaml").body.decode()
        paths = re.split(r"\n  (?=/\S+:\n)", text.split("\ncomponents:")[0])[1:]
        assert {path.split(":")[0] for path in paths if "\n    post:" in path} == set(POSTS)
        study = client.create(definition())["id"]
        (trial,) = client.ask(study, worker="w")["trials"]
        answers = {}
        for path, (body, _) in POSTS.items():
            target = path.format(study=study, number=trial["id"])
            first = with_key(client, target, body, "key")
            assert first.status in (200, 201), (path, first)
            answers[path] = target, first
        for killed in (False, True):
            if killed:
                server.kill()
                server.start()
                client = server.client()
            for path, (target, first) in answers.items():
                body, another = POSTS[path]
                again = with_key(client, target, body, "key")
                if path == "/v1/tokens":
                    assert "shown only once" in refusal(again, 409)["detail"]
                else:
                    assert (again.status, again.body) == (first.status, first.body), (path, again)
                refusal(with_key(client, target, another, "key"), 409)


def in_thread(call):
    """Calls it in another thread. -> a function that waits for its result"""
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()

    def wait():
        thread.join()
        return found[0]

    return wait


def test_a_key_is_in_use_while_its_request_waits(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/ask"
    (trial,) = client.ask(study)["trials"]
    body = {"worker": "w", "wait_seconds": 60}
    waiting = in_thread(lambda: with_key(server.client(), path, body, "key-w"))
    until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 1)
    refusal(with_key(client, path, body, "key-w"), 409)
    client.tell(study, [measure(trial)])
    first = waiting()
    assert first.status == 200 and len(first.json["trials"]) == 1, first
    assert with_key(client, path, body, "key-w").body == first.body


@cases({"ask": ("ask", {"count": 1}), "trials": ("trials", {"candidate": 3}), "candidates": ("candidates", {"points": [[2, 2]]})})
def test_a_key_used_by_many_at_once_is_used_once(server, case):
    call, body = case
    client = server.client()
    study = client.create(definition(feedback="async"))["id"]
    before = client.study(study)
    waits = [
        in_thread(lambda: with_key(server.client(), f"/v1/studies/{study}/{call}", body, "key-m")) for _ in range(12)
    ]
    answers = [wait() for wait in waits]
    done = {answer.body for answer in answers if answer.status == 200}
    assert len(done) == 1 and {answer.status for answer in answers} <= {200, 409}, answers
    view = client.study(study)
    assert view["candidates"] - before["candidates"] == (call == "candidates"), view
    assert view["trials_pending"] == (call == "ask") and view["trials_pending"] + view["trials_queued"] <= 1, view


def test_keys_survive_a_restart():
    body = definition(id="study")
    with Server() as server:
        first = with_key(server.client(), "/v1/studies", body, "made")
        asked = with_key(server.client(), "/v1/studies/study/ask", {}, "asked")
        assert (first.status, asked.status) == (201, 200), (first, asked)
        server.kill()
        server.start()
        client = server.client()
        assert with_key(client, "/v1/studies", body, "made").status == 201
        assert with_key(client, "/v1/studies/study/ask", {}, "asked").body == asked.body
        assert client.study("study")["trials_pending"] == 1


def test_a_refusal_is_not_remembered(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/tell"
    tell = {"results": [{"trial": 1, "value": 0.5}]}
    refusal(with_key(client, path, tell, "early"), 422)
    client.ask(study)
    assert with_key(client, path, tell, "early").status == 200
