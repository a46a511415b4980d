"""Queued picks of candidates that later results have ruled out."""

import tempfile
import time

from server import Server
from support import cases, definition, grid

POINTS = grid(4)
REASONS = {
    "infeasible": "the candidate is infeasible",
    "failed": "the candidate failed too often in a row",
    "imported": "the candidate has a result already",
}


def create(client, **fields):
    return client.create(definition(points=POINTS, **fields))["id"]


def crowd(client, study, trials=30):
    """Reports results until many picks of the best candidate are queued. -> the candidate"""
    for _ in range(trials):
        (trial,) = client.ask(study, wait_seconds=60)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": -abs(trial["candidate"] - 5)}])
    queued = [trial["candidate"] for trial in client.items(f"/v1/studies/{study}/trials?state=queued")]
    most = max(set(queued), key=queued.count)
    assert queued.count(most) > 4, queued
    return most


def next_of(client, study, candidate):
    while (trial := client.ask(study, wait_seconds=60)["trials"][0])["candidate"] != candidate:
        client.tell(study, [{"trial": trial["id"], "value": -abs(trial["candidate"] - 5)}])
    return trial["id"]


def of_candidate(client, study, candidate):
    return [t for t in client.items(f"/v1/studies/{study}/trials") if t["candidate"] == candidate]


def closed(client, study, candidate):
    trials = of_candidate(client, study, candidate)
    assert not [t for t in trials if t["state"] == "queued"], trials
    return [t for t in trials if t["state"] == "stopped"]


def check(client, study, candidate, reason):
    stopped = closed(client, study, candidate)
    assert stopped and all(t["reason"] == reason and "issued_at" not in t for t in stopped), stopped
    for _ in range(12):
        for trial in client.ask(study, wait_seconds=60)["trials"]:
            assert trial["candidate"] != candidate, trial
            client.tell(study, [{"trial": trial["id"], "value": -abs(trial["candidate"] - 5)}])


@cases({"told infeasible": ("infeasible", 1), "failed": ("failed", 3)})
def test_picks_of_what_cannot_be_evaluated_are_closed(case):
    state, times = case
    with tempfile.TemporaryDirectory() as folder:
        with Server(db=folder + "/banditd.db") as server:
            client = server.client()
            study = create(client)
            candidate = crowd(client, study)
            for _ in range(times):
                assert "stopped" not in [t["state"] for t in of_candidate(client, study, candidate)]
                client.tell(study, [{"trial": next_of(client, study, candidate), "state": state}])
        with Server(db=folder + "/banditd.db") as server:
            check(server.client(), study, candidate, REASONS[state])


def test_failures_are_counted_once(server):
    """The picks that were closed do not end the row of failures."""
    client = server.client()
    study = create(client, algorithm={"max_arm_failures": 2})
    candidate = crowd(client, study)
    for _ in range(2):
        client.tell(study, [{"trial": next_of(client, study, candidate), "state": "failed"}])
    check(client, study, candidate, REASONS["failed"])


def test_an_amendment_bars(server):
    client = server.client()
    study = create(client)
    candidate = crowd(client, study)
    number = next_of(client, study, candidate)
    client.tell(study, [{"trial": number, "value": 0}])
    answer = client.post(f"/v1/studies/{study}/trials/{number}/amend", {"state": "infeasible", "reason": "it broke"})
    assert answer.status == 200, answer
    assert all(t["reason"] == REASONS["infeasible"] for t in closed(client, study, candidate))


def test_an_import_bars_where_nothing_is_repeated(server):
    client = server.client()
    study = client.create(
        {
            "metric": {"name": "value", "goal": "maximize"},
            "domain": {"type": "candidates", "points": POINTS},
            "repeats": "never",
        }
    )["id"]
    client.ask(study)
    while not (queued := client.items(f"/v1/studies/{study}/trials?state=queued")):
        assert client.ask(study)["trials"], "nothing was queued"
    known = [{"candidate": c, "value": 1} for c in range(len(POINTS))]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": known}).status == 200
    shown = client.get(f"/v1/studies/{study}/trials/{queued[0]['id']}").json
    assert (shown["state"], shown["reason"]) == ("stopped", REASONS["imported"]), shown
    answer = client.ask(study)
    assert (answer["trials"], answer["reason"]) == ([], "exhausted"), answer


def test_a_trial_that_comes_back_is_closed(server):
    """Two workers have the same candidate. One reports that it is infeasible, the other is lost."""
    client = server.client()
    study = create(client)
    candidate = crowd(client, study)
    first = next_of(client, study, candidate)
    while (trial := client.ask(study, lease_seconds=1, fresh=True)["trials"][0])["candidate"] != candidate:
        client.tell(study, [{"trial": trial["id"], "value": -abs(trial["candidate"] - 5)}])
    client.tell(study, [{"trial": first, "state": "infeasible"}])
    deadline = time.monotonic() + 30
    while (shown := client.get(f"/v1/studies/{study}/trials/{trial['id']}").json)["state"] == "pending":
        assert time.monotonic() < deadline, shown
        time.sleep(0.05)
    assert (shown["state"], shown["reason"]) == ("stopped", REASONS["infeasible"]), shown


def test_a_released_trial_is_closed(server):
    """A trial that a worker gave back is queued, with the name of the worker. Then its candidate fails too often."""
    client = server.client()
    study = client.create(
        {
            "metric": {"name": "value", "goal": "maximize"},
            "domain": {"type": "candidates", "points": [[0]]},
            "algorithm": {"max_arm_failures": 1},
        }
    )["id"]
    first, second = [client.ask(study, worker=worker)["trials"][0]["id"] for worker in ("one", "two")]
    client.tell(study, [{"trial": first, "state": "released"}])
    client.tell(study, [{"trial": second, "state": "failed"}])
    shown = client.get(f"/v1/studies/{study}/trials/{first}").json
    assert (shown["state"], shown["worker"]) == ("stopped", "one"), shown
    assert shown["reason"] == REASONS["failed"], shown


def test_own_trials_stay(server):
    client = server.client()
    study = create(client)
    candidate = crowd(client, study)
    number = next_of(client, study, candidate)
    own = client.post(f"/v1/studies/{study}/trials", {"candidate": candidate})
    assert own.status == 200, own
    client.tell(study, [{"trial": number, "state": "infeasible"}])
    assert client.get(f"/v1/studies/{study}/trials/{own.json['id']}").json["state"] == "queued"
