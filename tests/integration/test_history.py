"""history_from: a study that starts with the results of another one."""

from server import Server
from support import cases, definition, grid, measure, refusal
from database_commands import expect_sound
from test_open_spaces import MIXED, drive, mixed
from test_spaces import space


def told(client, study):
    """[(candidate or parameters, value)] of the told trials with a value, by number"""
    trials = client.items(f"/v1/studies/{study}/trials")
    return [(t.get("parameters", t["candidate"] if "candidate" in t else None), t["value"]) for t in trials if "value" in t]


def worked_off(client, trials=20, **fields):
    study = client.create(definition(points=grid(6), feedback="async", **fields))["id"]
    for _ in range(trials):
        (trial,) = client.ask(study, worker="w")["trials"]
        client.tell(study, [measure(trial)])
    return study


def test_another_kernel_on_the_same_points(server):
    client = server.client()
    old = worked_off(client)
    client.post(f"/v1/studies/{old}/observations", {"observations": [{"candidate": 7, "value": 0.5, "repeats": 4}]})
    (failed,) = client.ask(old, worker="w")["trials"]
    client.tell(old, [{"trial": failed["id"], "state": "failed"}])
    (late,) = client.ask(old, 1, worker="w", fresh=True)["trials"]
    client.tell(old, [{"trial": late["id"], "state": "failed", "retry": True}])
    again = client.ask(old, worker="w")["trials"][0]
    client.tell(old, [{"trial": again["id"], "attempt": again["attempt"], "value": 0.25}])
    if again["id"] == late["id"]:
        client.tell(old, [{"trial": late["id"], "attempt": 1, "value": 0.75}])
    body = definition(points=grid(6), feedback="async", algorithm={"kernel": {"type": "matern", "lengthscale": 0.4}})
    new = client.create({**body, "history_from": old})
    rows = [{"candidate": 7, "value": 0.5, "repeats": 4}] + [{"candidate": c, "value": v} for c, v in told(client, old)]
    if again["id"] == late["id"]:
        rows.append({"candidate": late["candidate"], "value": 0.75})
    assert new["history"] == {"study": old, "imported": len(rows), "left_out": 0, "examples": []}, new
    assert new["history_from"] == old and new["observations"] == len(rows)
    # The same as importing them by hand.
    other = client.create(body)["id"]
    assert client.post(f"/v1/studies/{other}/observations", {"observations": rows}).status == 200
    for study in (new["id"], other):
        client.ask(study)
    everywhere = {"candidates": list(range(36))}
    assert client.predict(new["id"], **everywhere) == client.predict(other, **everywhere)
    assert "history" not in client.study(new["id"])


def test_points_that_are_no_candidates_any_more(server):
    client = server.client()
    old = worked_off(client)
    kept = [point for point in grid(6) if point[0] < 0.5]
    body = definition(points=kept[::-1], feedback="async")
    new = client.create({**body, "history_from": old})
    results = told(client, old)
    gone = [i for i, (candidate, _) in enumerate(results) if grid(6)[candidate][0] >= 0.5]
    history = new["history"]
    assert (history["imported"], history["left_out"]) == (20 - len(gone), len(gone)), history
    assert [example["trial"] for example in history["examples"]] == [i + 1 for i in gone]
    assert all(example["detail"] for example in history["examples"])
    client.ask(new["id"])
    items = client.items(f"/v1/studies/{new['id']}/candidates")
    for candidate, item in enumerate(items):
        values = [v for c, v in results if grid(6)[c] == kept[::-1][candidate]]
        assert item["pulls"] == len(values), item
        assert not values or abs(item["mean"] - sum(values) / len(values)) < 1e-12


def test_uploaded_candidates_are_taken_over_too(server):
    client = server.client()
    body = definition(feedback="async")
    body["domain"] = {"type": "candidates", "dimension": 2, "scaling": "none"}
    old = client.create(body)["id"]
    rows = "".join(f"{x},{y}\n" for x, y in grid(9))
    assert client.put(f"/v1/studies/{old}/candidates", rows, content_type="text/csv").status == 200
    assert client.post(f"/v1/studies/{old}/candidates", {"points": [[0.7, 0.3]]}).status == 200
    for _ in range(10):
        (trial,) = client.ask(old, worker="w")["trials"]
        client.tell(old, [measure(trial)])
    new = client.create({**body, "history_from": old})
    assert (new["state"], new["candidates"]) == ("active", 82), new
    assert new["history"]["imported"] == 10
    (trial,) = client.ask(new["id"])["trials"]
    assert trial["point"] == (grid(9) + [[0.7, 0.3]])[trial["candidate"]]
    assert client.read(new["id"], "model")["observations"] == 10


def test_a_kernel_matrix_is_taken_over_too(server):
    client = server.client()
    body = {
        "metric": {"name": "value", "goal": "maximize"},
        "domain": {"type": "precomputed", "size": 3},
        "algorithm": {"noise_std": 0.1},
    }
    old = client.create(body)["id"]
    matrix = "1,0.5,0\n0.5,1,0.5\n0,0.5,1\n"
    assert client.put(f"/v1/studies/{old}/kernel", matrix, content_type="text/csv").status == 200
    (trial,) = client.ask(old)["trials"]
    client.tell(old, [{"trial": trial["id"], "value": 1}])
    new = client.create({**body, "history_from": old, "algorithm": {"noise_std": 0.2}})
    assert (new["state"], new["candidates"], new["history"]["imported"]) == ("active", 3, 1), new
    client.ask(new["id"])
    items = client.items(f"/v1/studies/{new['id']}/candidates")
    assert [item["pulls"] for item in items] == [int(i == trial["candidate"]) for i in range(3)]


def test_another_range(server):
    """Narrower ranges, another type of number, fewer words, more parameters with a default."""
    client = server.client()
    old = client.create(mixed())["id"]
    chosen = drive(client, old, 40)
    narrower = [dict(parameter) for parameter in MIXED]
    by_name = {parameter["name"]: parameter for parameter in narrower}
    by_name["rate"]["min"] = 1e-3
    by_name["depth"].update(type="double", max=20)
    by_name["kind"]["values"] = ["tree", "line"]
    narrower = [p for p in narrower if p["name"] not in ("units", "skip")]
    narrower.append({"name": "new", "type": "integer", "min": 0, "max": 9, "default": 3})
    body = space(narrower, {"kernel": {"type": "matern", "lengthscale": 0.5}, "noise_std": 0.1})
    new = client.create({**body, "history_from": old})
    fits = [i for i, values in enumerate(chosen) if values["rate"] >= 1e-3 and values["kind"] != "net"]
    history = new["history"]
    assert (history["imported"], history["left_out"]) == (len(fits), 40 - len(fits)), history
    assert 0 < len(fits) < 40, "the test shows nothing"
    for example in history["examples"]:
        values = chosen[example["trial"] - 1]
        expected = "/rate" if values["rate"] < 1e-3 else None
        assert example["pointer"] in ("/rate", "/kind", "/units", "/skip"), example
        assert expected is None or values["kind"] == "net" or example["pointer"] == expected, (example, values)
    client.ask(new["id"])
    pulled = [item for item in client.items(f"/v1/studies/{new['id']}/candidates") if item["pulls"]]
    distinct = []
    for i in fits:
        if {**chosen[i], "new": 3} not in distinct:
            distinct.append({**chosen[i], "new": 3})
    assert [item["parameters"] for item in pulled] == distinct


def test_from_a_small_space_to_a_large_one_and_back(server):
    client = server.client()
    small = [{"name": "a", "type": "integer", "min": 1, "max": 9}, {"name": "b", "type": "boolean"}]
    large = [{"name": "a", "type": "double", "min": 1, "max": 9}, {"name": "b", "type": "boolean"}]
    first = client.create(space(small))["id"]
    for _ in range(8):
        (trial,) = client.ask(first)["trials"]
        client.tell(first, [{"trial": trial["id"], "value": trial["parameters"]["a"]}])
    second = client.create({**space(large), "history_from": first})
    assert second["history"]["imported"] == 8 and second["history"]["left_out"] == 0, second
    third = client.create({**space(small), "history_from": second["id"]})
    assert third["history"]["imported"] == 8, third
    client.ask(third["id"])
    results = [trial["parameters"] for trial in client.items(f"/v1/studies/{first}/trials?state=completed")]
    for item in client.items(f"/v1/studies/{third['id']}/candidates"):
        assert item["pulls"] == results.count(item["parameters"]), item


def test_it_is_there_after_a_kill_and_follows_from_the_log():
    with Server() as server:
        client = server.client()
        client.create(mixed(id="old"))
        drive(client, "old", 20)
        made = client.create({**mixed(id="new"), "history_from": "old"})
        server.kill()
        server.start()
        client = server.client()
        assert client.study("new")["observations"] == 20
        assert client.study("new")["candidates"] == made["candidates"]
        drive(client, "new", 5)
        expect_sound(server.db, ["new", "old"])


def test_a_repeated_request_makes_one_study(server):
    client = server.client()
    old = worked_off(client, 3)
    body, headers = {**definition(points=grid(6)), "history_from": old}, {"Idempotency-Key": "one"}
    first = client.post("/v1/studies", body, headers=headers)
    again = client.post("/v1/studies", body, headers=headers)
    assert first.status == 201 and first.body == again.body, (first, again)


@cases(
    {
        "no_such_study": {"history_from": "nobody"},
        "no_id": {"history_from": "No Body"},
        "no_text": {"history_from": 5},
        "another_objective": {"metric": {"name": "other", "goal": "maximize"}},
        "another_kind_of_domain": {
            "domain": {"type": "space", "parameters": [{"name": "a", "type": "double", "min": 0, "max": 1}]}
        },
        "another_dimension": {"domain": {"type": "candidates", "points": [[1, 2, 3]]}},
    }
)
def test_refusals(server, case):
    client = server.client()
    old = worked_off(client, 1)
    body = {**definition(points=grid(6)), "history_from": old, **case, "id": "refused-history"}
    refusal(client.post("/v1/studies", body), 422, "/history_from")
    assert client.get("/v1/studies/refused-history").status == 404
