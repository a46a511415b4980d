"""Plates: asks for many trials, studies that never repeat a candidate, and what "best" says of imported values."""

import json

from server import Server
from support import cases, definition, grid, measure, noisy, refusal, target
from database_commands import expect_sound
from test_open_spaces import drive, loss, mixed

PLATE = 24
POINTS = grid(13)  # 169: seven plates and one candidate


def never(**fields):
    """A study as most users make it: nothing is said of the model."""
    body = {"metric": {"name": "value", "goal": "maximize"}, "domain": {"type": "candidates", "points": POINTS}}
    return {**body, "seed": 3, "repeats": "never", **fields}


def plate(client, study, name):
    answer = client.ask(study, PLATE, worker=name)
    assert len(answer["trials"]) == PLATE and answer["reason"] is None, answer
    return answer["trials"]


def fill(client, study, plates, disturb=None):
    """Two plates are always out. -> the candidates in their order"""
    chosen, out = [], []
    for number in range(plates):
        out.append(plate(client, study, f"plate{number}"))
        chosen += [trial["candidate"] for trial in out[-1]]
        held = [trial["id"] for trial in plate(client, study, f"plate{number}")]
        assert held == [trial["id"] for trial in out[-1]], "it holds them already"
        if len(out) == 2:
            client.tell(study, [measure(trial) for trial in out.pop(0)])
        if disturb:
            client = disturb()
    return chosen


@cases({"bbkb": "bbkb", "gp_ei": "gp_ei", "log_ei": "log_ei", "uniform": "uniform"})
def test_each_well_of_all_plates_is_another_candidate(case):
    def killed():
        server.kill()
        server.start()
        return server.client()

    with Server() as server:
        client = server.client()
        whole, halves = (client.create(never(algorithm={"name": case}))["id"] for _ in range(2))
        chosen = fill(client, whole, 7)
        assert len(set(chosen)) == len(chosen) == 7 * PLATE
        assert fill(client, halves, 7, killed) == chosen, "a restart changes nothing"
        client = server.client()
        last = client.ask(whole, PLATE, worker="rest")
        assert (len(last["trials"]), last["reason"]) == (1, "exhausted"), last
        assert client.ask(whole) == {"trials": [], "reason": "exhausted"}
        pending = client.items(f"/v1/studies/{whole}/trials?state=pending")
        client.tell(whole, [measure(trial) for trial in pending])
        assert client.ask(whole) == {"trials": [], "reason": "exhausted"}
        assert client.study(whole)["state"] == "active"
        added = client.post(f"/v1/studies/{whole}/candidates", {"points": [[0.71, 0.31], [2, 2]]})
        assert added.status == 200, added
        assert {trial["candidate"] for trial in client.ask(whole, 2)["trials"]} == {169, 170}
        expect_sound(server.db, [whole, halves])


def test_no_point_of_a_space_comes_again(server):
    client = server.client()
    study = client.create(mixed(repeats="never"))["id"]
    seen = []
    for _ in range(12):
        trials = client.ask(study, 8, worker="w")["trials"]
        assert len(trials) == 8
        seen += [json.dumps(trial["parameters"], sort_keys=True) for trial in trials]
        client.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])} for trial in trials])
    assert len(set(seen)) == len(seen) == 96


def older(lines):
    """The export as a server wrote it before definitions had "repeats"."""
    out = []
    for line in lines:
        entry = json.loads(line)
        if entry.get("type") == "study_created":
            kept = json.loads(entry["payload"]["definition"])
            assert kept.pop("repeats") == "auto"
            entry["payload"]["definition"] = json.dumps(kept, separators=(",", ":"), ensure_ascii=False)
            line = json.dumps(entry)
        out.append(line)
    return out


def created(lines):
    (definition_text,) = [e["payload"]["definition"] for e in map(json.loads, lines) if e.get("type") == "study_created"]
    return definition_text


def test_an_older_study_keeps_its_definition_and_its_ways():
    """Its values are the papers' where a number for the noise had selected those, and a named ask gets one trial."""
    with Server() as server:
        client = server.client()
        algorithm = {"name": "gp_ei", "lambda": 0.01, "standardize_rewards": False}
        client.create(definition(id="old", feedback="async", algorithm=algorithm))
        for _ in range(3):
            trials = client.ask("old", 1, worker="w")["trials"]
            client.tell("old", [measure(trial) for trial in trials])
        lines = older(client.get("/v1/studies/old/export?format=ndjson").body.decode().splitlines())
    with Server() as server:
        client = server.client()
        answer = client.post("/v1/studies", "\n".join(lines).encode() + b"\n", content_type="application/x-ndjson")
        assert answer.status == 201, answer
        shown = client.study("old")
        assert "repeats" not in shown, shown
        model = {"lambda": 0.01, "noise_std": 0.1, "standardize_rewards": False}
        assert {name: shown["algorithm"][name] for name in model} == model, shown
        answer = client.ask("old", 8, worker="plate")
        assert (len(answer["trials"]), answer["reason"]) == (1, "awaiting_feedback"), answer
        assert len(client.ask("old", 8, worker="plate")["trials"]) == 1
        again = client.get("/v1/studies/old/export?format=ndjson").body.decode().splitlines()
        assert created(lines) == created(again), "to the byte"
        changed = client.request("PATCH", "/v1/studies/old", {"labels": {"a": "b"}})
        assert changed.status == 200 and "repeats" not in changed.json, changed
        expect_sound(server.db, ["old"])


def test_bad_values_are_refused(server):
    client = server.client()
    for value in ("once", 1, None, True):
        refusal(client.post("/v1/studies", never(repeats=value)), 422, "/repeats")


def test_an_ask_that_waits_gets_all(server):
    client = server.client()
    study = client.create(never(horizon=30))["id"]
    answer = client.ask(study, 40, worker="w", wait_seconds=30)
    assert (len(answer["trials"]), answer["reason"]) == (30, "horizon_reached"), answer
    assert client.ask(study, 40, worker="w", wait_seconds=30)["trials"][0]["id"] == 1, "at once, and the same"
    key = {"Idempotency-Key": "plate"}
    other = client.create(never())["id"]
    first, second = (
        client.post(f"/v1/studies/{other}/ask", {"count": 9, "worker": "w", "fresh": True}, headers=key) for _ in range(2)
    )
    assert first.body == second.body and len(first.json["trials"]) == 9, (first, second)


def test_best_counts_what_was_imported(server):
    client = server.client()
    study = client.create(definition(points=grid(6), feedback="async"))["id"]
    path = f"/v1/studies/{study}"
    values = [{"candidate": n, "value": noisy(grid(6)[n], n)} for n in range(36)]
    values[20]["value"] = 1.75  # by chance
    assert client.post(f"{path}/observations", {"observations": values}).status == 200
    observed = {"observation": 21, "candidate": 20, "value": 1.75}
    assert client.study(study)["best"] == observed
    imported = client.read(study, "best")
    (trial,) = client.ask(study)["trials"]
    best = client.read(study, "best")
    assert best == imported, "the model of the batch is the one that was shown before it"
    (believed,) = client.predict(study, candidates=[20])
    assert best["observed"] == {**observed, "expected": believed["mean"], "lucky": True}, (best, believed)
    predicted = client.predict(study, candidates=list(range(36)))
    bounds = [one["mean"] - one["std"] for one in predicted]
    recommended = best["recommended"]
    assert recommended["candidate"] == bounds.index(max(bounds)) and recommended["pulls"] == 1, (recommended, bounds)
    assert target(grid(6)[recommended["candidate"]]) > 0.8, recommended
    client.tell(study, [{"trial": trial["id"], "value": 2.5}])
    told = {"trial": 1, "candidate": trial["candidate"], "value": 2.5}
    assert client.study(study)["best"] == told
    assert told.items() <= client.read(study, "best")["observed"].items()
    new = client.create({**definition(points=grid(6)), "history_from": study})
    assert new["best"] == {"observation": 37, "candidate": trial["candidate"], "value": 2.5}, new
    assert client.study(new["id"])["best"] == new["best"]
    assert client.read(new["id"], "best")["observed"]["value"] == 2.5


def test_best_of_history_in_a_space(server):
    client = server.client()
    old = client.create(mixed())["id"]
    drive(client, old, 12)
    lowest = client.read(old, "best")["observed"]
    new = client.create(mixed(history_from=old))
    assert new["best"]["value"] == lowest["value"] and new["best"]["parameters"] == lowest["parameters"], new
    assert client.study(new["id"])["best"] == new["best"]
    best = client.read(new["id"], "best")
    assert best["observed"]["parameters"] == best["recommended"]["parameters"] == lowest["parameters"], best
    listed = {study["id"]: study["best"] for study in client.items("/v1/studies")}
    assert listed[new["id"]] == new["best"]
