"""Calls that change a study or a trial without telling: PATCH, heartbeat; and the same POST sent twice."""

import time

from server import Server
from support import cases, definition, measure, refusal


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
    client.request("PATCH", f"/v1/studies/{study}", {"state": "finished"})
    assert client.ask(study)["reason"] == "finished"


PATCHES = {
    "unknown_field": ({"colour": 1}, 422, "/colour"),
    "what_never_changes": ({"seed": 5}, 422, "/seed"),
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


def test_heartbeat_keeps_a_trial(server):
    client = server.client()
    study = client.create(definition())["id"]
    (trial,) = client.ask(study, 1, worker="w1", lease_seconds=1)["trials"]
    path = f"/v1/studies/{study}/trials/{trial['id']}/heartbeat"
    for _ in range(4):
        time.sleep(0.5)
        assert client.post(path, {"lease_seconds": 1}).status == 200
    assert client.ask(study, 1, worker="w2")["trials"] == [], "two seconds later it is still w1's"
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
