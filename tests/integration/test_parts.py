"""Batches that are planned in parts: the picks of a batch that is planned at once, few of which wait in the queue."""

import random
import threading
import time

from server import Server
from support import cases, definition, grid, refusal
from database_commands import expect_sound

AXES = [
    {"name": "x", "type": "double", "min": 0, "max": 1},
    {"name": "n", "type": "integer", "min": 1, "max": 4096, "scale": "log"},
]
UNCERTAIN = {"init": {"type": "uncertainty", "parallelism": 1000}}
STUDIES = {
    "uniform": {"domain": {"type": "space", "parameters": AXES}, "algorithm": {"name": "uniform", "max_batch": 1000000}},
    "uniform, a list, once": {
        "domain": {"type": "candidates", "points": grid(20)},
        "algorithm": {"name": "uniform"},
        "repeats": "never",
    },
    "uniform, batches": {
        "domain": {"type": "space", "parameters": AXES},
        "algorithm": {"name": "uniform", "max_batch": 192},
        "feedback": "batch",
    },
    "gp_bucb, first picks": definition(grid(20), {"name": "gp_bucb", **UNCERTAIN}, feedback="async"),
    "bbkb, first picks, batches": definition(grid(20), UNCERTAIN, feedback="batch"),
}


def measured(trial):
    return {"trial": trial["id"], "value": trial["candidate"] % 7 if "candidate" in trial else trial["parameters"]["x"]}


def chosen(trials):
    return [trial.get("candidate", trial.get("parameters")) for trial in trials]


def first_told(client, number, case):
    body = {"metric": {"name": "value", "goal": "maximize"}, "seed": 5, **STUDIES[case]}
    study = client.create({**body, "id": f"s{number}"})["id"]
    first = client.ask(study, wait_seconds=60)["trials"]
    client.tell(study, [measured(first[0])])
    return study, chosen(first)


@cases({case: case for case in STUDIES})
def test_parts_have_the_picks_of_the_whole(case):
    count = 150
    with Server() as server:
        client = server.client()
        whole, expected = first_told(client, 0, case)
        while len(expected) < count:
            expected += chosen(client.ask(whole, count - len(expected), wait_seconds=60, fresh=True)["trials"])
        single, seen = first_told(client, 1, case)
        while len(seen) < count:
            trials = client.ask(single, wait_seconds=60)["trials"]
            assert trials, client.study(single)
            seen += chosen(trials)
            if len(seen) % 3 == 0:
                client.tell(single, [measured(trials[0])])
            assert client.study(single)["trials_queued"] <= 64
            if len(seen) == 90:
                server.kill()
                server.start()
                client = server.client()
        assert seen == expected[:count], [(i, a, b) for i, (a, b) in enumerate(zip(seen, expected)) if a != b][:3]
        expect_sound(server.db, [whole, single])


@cases({"space": {"type": "space", "parameters": AXES}, "list": {"type": "candidates", "points": grid(20)}})
def test_uniform_plans_what_is_asked_for(server, case):
    """Before the first result exactly that, and later at most 63 picks more. Its batch may have a million."""
    client = server.client()
    body = {"metric": {"name": "value", "goal": "maximize"}, "algorithm": {"name": "uniform", "max_batch": 1000000}}
    study = client.create({**body, "domain": case, "seed": 5})["id"]
    handed = 0

    def planned_ahead(count):
        nonlocal handed
        trials = client.ask(study, count, wait_seconds=60)["trials"]
        assert len(trials) == count
        handed += count
        queued = client.study(study)["trials_queued"]
        assert sum(batch["size"] for batch in client.items(f"/v1/studies/{study}/batches")) == handed + queued
        return queued

    assert [planned_ahead(count) for count in (1, 1, 63, 64, 65, 1000, 3)] == [0] * 7
    client.tell(study, [measured(client.read(study, "trials/1"))])
    ahead = [planned_ahead(count) for count in (1, 1, 62, 1, 64, 65, 1000, 1)]
    assert max(ahead) == 63 and ahead[0] == 63, ahead


def test_a_batch_in_parts_ends_by_its_own_rule(server):
    client = server.client()
    study, _ = first_told(client, "ended", "uniform, batches")
    rules = set()
    for number in range(192):
        client.ask(study, wait_seconds=60)
        rules.add(client.items(f"/v1/studies/{study}/batches")[-1]["stop_rule"])
    last = max(client.items(f"/v1/studies/{study}/batches"), key=lambda batch: batch["batch"])
    assert (last["size"], last["stop_rule"]) == (192, "max_batch"), last
    assert "unfinished" in rules, rules


def test_the_first_pick_of_many_candidates_comes_at_once(server):
    """All first picks of 4000 candidates would take hours by looking at stale ones again, and were made at once."""
    client = server.client()
    rng = random.Random(4)
    points = [[rng.random() for _ in range(8)] for _ in range(4000)]
    body = definition(points, {"kernel": {"type": "gaussian", "lengthscale": 0.1}, **UNCERTAIN}, feedback="async")
    study = client.create(body)
    assert study["algorithm"]["init"]["method"] == "cholesky", study
    trials = client.ask(study["id"], 100, wait_seconds=60)["trials"]
    assert len({trial["candidate"] for trial in trials}) == 100
    assert client.study(study["id"])["trials_queued"] <= 64


def test_studies_from_before_the_method_of_first_picks_are_imported(server):
    client = server.client()
    body = definition([[i / 20] for i in range(20)], {"kernel": {"type": "gaussian", "lengthscale": 0.1}, **UNCERTAIN})
    study = client.create(body)["id"]
    exported = client.get(f"/v1/studies/{study}/export?format=ndjson").body
    before = exported.replace(b',\\"method\\":\\"cholesky\\"', b"")
    assert before != exported
    assert client.post("/v1/studies?id=earlier", before, content_type="application/x-ndjson").status == 201
    assert "method" not in client.study("earlier")["algorithm"]["init"]
    assert client.ask("earlier")["trials"]


def test_studies_from_before_the_choice_of_points_in_flight_keep_their_picks(server):
    """An exported study without the member is imported without it: all points in flight count, as when it was made."""
    client = server.client()
    body = {
        "metric": {"name": "v", "goal": "maximize"},
        "domain": {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]},
        "seed": 5,
    }
    study = client.create(body)
    assert study["algorithm"]["in_flight"] == "surpass", study
    exported = client.get(f"/v1/studies/{study['id']}/export?format=ndjson").body
    before = exported.replace(b',\\"in_flight\\":\\"surpass\\"', b"")
    assert before != exported
    assert client.post("/v1/studies?id=before", before, content_type="application/x-ndjson").status == 201
    assert "in_flight" not in client.study("before")["algorithm"]
    everything = client.create({**body, "algorithm": {"name": study["algorithm"]["name"], "in_flight": "all"}})["id"]
    for _ in range(2):
        picks = [[t["parameters"] for t in client.ask(one, 8, fresh=True, wait_seconds=60)["trials"]] for one in ("before", everything)]
        assert picks[0] == picks[1], picks


def test_a_study_from_before_revisions_stays_without(server):
    """It means revision 1: whoever asks for that gets the same picks."""
    client = server.client()
    body = {
        "metric": {"name": "v", "goal": "maximize"},
        "domain": {"type": "space", "parameters": [{"name": "n", "type": "integer", "min": 0, "max": 100000}]},
        "seed": 5,
    }
    study = client.create(body)["id"]
    assert client.study(study)["algorithm"]["revision"] == 11
    exported = client.get(f"/v1/studies/{study}/export?format=ndjson").body
    before = exported.replace(b',\\"revision\\":11', b"")
    assert before != exported
    assert client.post("/v1/studies?id=unrevised", before, content_type="application/x-ndjson").status == 201
    assert "revision" not in client.study("unrevised")["algorithm"]
    first = client.create({**body, "algorithm": {"name": "log_ei", "revision": 1}})["id"]
    assert client.study(first)["algorithm"]["revision"] == 1
    picks = {one: [] for one in ("unrevised", first)}
    for one, picked in picks.items():
        for n in range(12):
            (trial,) = client.ask(one, wait_seconds=60)["trials"]
            picked.append(trial["parameters"])
            client.tell(one, [{"trial": trial["id"], "value": 1e6 if n == 6 else n % 3}])
    assert picks["unrevised"] == picks[first], picks
    refused = client.post("/v1/studies", {**body, "algorithm": {"name": "uniform", "revision": 2}})
    assert refusal(refused, 422, "/algorithm/revision"), refused


def test_a_long_plan_hands_out_what_it_has():
    """An ask for many trials of a space is planned in pieces: the queue fills, others use the engine, and the log has
    the picks of one plan."""
    axes = [{"name": f"x{i}", "type": "double", "min": 0, "max": 1} for i in range(8)]
    body = {"metric": {"name": "loss", "goal": "minimize"}, "domain": {"type": "space", "parameters": axes}, "seed": 3}
    with Server() as server:
        client = server.client()
        study = client.create(body)["id"]
        first = client.ask(study, 30, wait_seconds=60)["trials"]
        client.tell(study, [{"trial": t["id"], "value": sum(t["parameters"].values())} for t in first])
        answers, start = [], time.monotonic()
        asking = threading.Thread(target=lambda: answers.append(server.client().ask(study, 300, wait_seconds=300)))
        asking.start()
        queued = set()
        while asking.is_alive():
            queued.add(client.study(study)["trials_queued"])
            if len(queued) > 1:
                assert client.read(study, "best")["observed"]
        seconds = time.monotonic() - start
        asking.join()
        assert len(answers[0]["trials"]) == 300
        assert len(queued) > 1 or seconds < 2, (queued, seconds)
        batches = {trial["batch"] for trial in answers[0]["trials"]}
        assert len(batches) == 1, "no result has come in between"
        expect_sound(server.db, [study])
