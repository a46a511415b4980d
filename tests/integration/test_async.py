"""Asynchronous feedback: no worker waits for another."""

from server import Server
from support import definition, measure


def asynchronous(client, **fields):
    body = definition(**fields)
    del body["feedback"]  # "async" is the default
    study = client.create(body)
    assert study["feedback"] == "async", study
    return study["id"]


def test_no_named_worker_waits(server):
    client = server.client()
    study = asynchronous(client)
    held = {}
    for name in ("w1", "w2", "w3", "w4", "w5"):
        answer = client.ask(study, 1, worker=name)
        assert answer["reason"] is None, (name, answer)
        held[name] = answer["trials"][0]
    assert len({trial["id"] for trial in held.values()}) == 5
    for _ in range(12):
        for name in held:
            client.tell(study, [measure(held[name])])
            (held[name],) = client.ask(study, 1, worker=name)["trials"]
    view = client.study(study)
    assert (view["trials_pending"], view["trials_completed"]) == (5, 60), view


def test_min_in_flight_of_one_keeps_to_the_bound(server):
    client = server.client()
    study = asynchronous(client, algorithm={"lambda": 0.01}, min_in_flight=1)
    (first,) = client.ask(study, 1, worker="w1")["trials"]
    second = client.ask(study, 1, worker="w2")
    assert second == {"trials": [], "reason": "awaiting_feedback"}, second
    client.tell(study, [measure(first)])
    assert client.ask(study, 1, worker="w2")["trials"]


def test_rewards_join_at_the_next_batch(server):
    client = server.client()
    study = asynchronous(client, horizon=60)
    told = 0
    while told < 60:
        trials = client.ask(study, 3)["trials"]
        assert trials, client.study(study)
        told += client.tell(study, [measure(trial) for trial in trials])["accepted"]
    batches = client.items(f"/v1/studies/{study}/batches")
    assert sum(batch["size"] for batch in batches) == 60
    observations = [batch["observations"] for batch in batches]
    assert observations == sorted(observations) and observations[-1] > 0, observations
    assert client.study(study)["state"] == "finished"


def test_a_failed_trial_does_not_block(server):
    client = server.client()
    study = asynchronous(client)
    for _ in range(10):
        trials = client.ask(study, 2, worker="w1")["trials"]
        assert trials
        client.tell(study, [{"trial": trial["id"], "state": "failed"} for trial in trials])
    assert client.study(study)["observations"] == 0


def test_the_same_after_a_restart():
    """One worker, killed and restarted: the same choices as without."""
    def run(restarts):
        chosen = []
        with Server() as server:
            client = server.client()
            asynchronous(client, id="study")
            for step in range(50):
                if step in restarts:
                    server.kill()
                    server.start()
                    client = server.client()
                trials = client.ask("study", 2, worker="w1")["trials"]
                chosen += [trial["candidate"] for trial in trials]
                client.tell("study", [measure(trial) for trial in trials])
        return chosen

    assert run(set()) == run({3, 17, 30, 31, 44})
