"""Imported rewards: what they change, when, and that they outlast a restart."""

import csv
import io
import json

from server import Server
from support import begun, cases, definition, grid, noisy, refusal, work

JSON = "application/json"


def history(n):
    points = grid(12)
    return [
        {"candidate": (37 * i) % 144, "value": noisy(points[(37 * i) % 144], 1000 + i)} for i in range(n)
    ]


def test_a_study_that_begins_with_history_starts_from_a_model(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/observations"
    answer = client.post(path, {"observations": history(120)})
    assert (answer.status, answer.json) == (200, {"accepted": 120, "first": 1, "last": 120}), answer
    assert client.study(study)["observations"] == 120
    trials = client.ask(study, 1000)["trials"]
    model = client.read(study, "model")
    assert model["observations"] == 120 and 1 < model["dictionary"]["size"] <= 120, model
    bounds = [p["ucb"] for p in client.predict(study, candidates=list(range(144)))]
    assert abs(bounds[trials[0]["candidate"]] - max(bounds)) < 1e-9, "the first pick comes from the model"


def test_csv_and_json_are_the_same_and_repeats_are_pulls(server):
    client = server.client()
    rows = history(40)
    studies = [client.create(definition())["id"] for _ in range(3)]
    client.post(f"/v1/studies/{studies[0]}/observations", {"observations": rows})
    text = "candidate,value\n" + "".join(f"{r['candidate']},{r['value']!r}\n" for r in rows)
    answer = client.post(f"/v1/studies/{studies[1]}/observations", text, content_type="text/csv")
    assert answer.json == {"accepted": 40, "first": 1, "last": 40}, answer
    client.post(f"/v1/studies/{studies[2]}/observations", {"observations": [{**rows[0], "repeats": 5}]})
    assert work(client, studies[0], 20) == work(client, studies[1], 20)
    client.ask(studies[2])
    assert client.read(studies[2], "model")["observations"] == 5


def test_imports_join_at_the_next_boundary(server):
    client = server.client()
    study = client.create(definition())["id"]
    (trial,) = client.ask(study)["trials"]
    client.post(f"/v1/studies/{study}/observations", {"observations": history(10)})
    assert client.read(study, "model")["observations"] == 0, "the open batch was planned before"
    client.tell(study, [{"trial": trial["id"], "value": 0.5}])
    client.ask(study)
    assert client.read(study, "model")["observations"] == 11


def test_a_restart_between_import_and_ask_changes_nothing():
    with Server() as server:
        client = server.client()
        for name in ("straight", "cut"):
            client.create({**definition(), "id": name})
            client.post(f"/v1/studies/{name}/observations", {"observations": history(60)})
        straight = work(client, "straight", 40)
        server.kill()
        server.start()
        client = server.client()
        assert work(client, "cut", 25) == straight[:25]
        server.kill()
        server.start()
        assert work(server.client(), "cut", 15) == straight[25:]


BAD = {
    "unknown_candidate": ({"observations": [{"candidate": 0, "value": 1}, {"candidate": 144, "value": 1}]}, "/observations/1"),
    "no_value": ({"observations": [{"candidate": 0}]}, "/observations/0"),
    "unknown_metric": ({"observations": [{"candidate": 0, "values": {"cost": 1}}]}, "/observations/0"),
    "unknown_field": ({"observations": [{"candidate": 0, "value": 1, "color": "red"}]}, "/observations/0/color"),
    "word": ({"observations": [{"candidate": 0, "value": "much"}]}, "/observations/0/value"),
    "repeats": ({"observations": [{"candidate": 0, "value": 1, "repeats": 0}]}, "/observations/0/repeats"),
}


@cases(BAD)
def test_bad_imports_are_refused_whole(server, case):
    body, pointer = case
    client = server.client()
    study = client.create(definition())["id"]
    answer = client.post(f"/v1/studies/{study}/observations", json.dumps(body), content_type=JSON)
    assert answer.status == 422, answer
    assert any(error["pointer"].startswith(pointer) for error in answer.json["errors"]), answer
    assert client.study(study)["observations"] == 0


def test_by_the_name_of_the_objective(server):
    client = server.client()
    study = client.create(definition())["id"]
    rows = [{"candidate": 3, "values": {"value": 0.25}}, {"candidate": 4, "value": 0.75}]
    answer = client.post(f"/v1/studies/{study}/observations", {"observations": rows})
    assert (answer.status, answer.json) == (200, {"accepted": 2, "first": 1, "last": 2}), answer
    client.ask(study, wait_seconds=30)
    known = client.items(f"/v1/studies/{study}/candidates")
    assert [(c["pulls"], c["mean"]) for c in known[3:5]] == [(1, 0.25), (1, 0.75)], known[3:5]


def test_in_another_form(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/observations"
    refusal(client.post(path, "candidate,value\n3,0.25\n", content_type="application/x-ndjson"), 415)
    assert client.study(study)["observations"] == 0


def test_before_candidates_and_unknown_study(server):
    client = server.client()
    study = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
    body = {"observations": [{"candidate": 0, "value": 1}]}
    assert client.post(f"/v1/studies/{study}/observations", body).status in (409, 422)
    refusal(client.post("/v1/studies/nobody/observations", body), 404)


def test_an_import_is_done_once_under_one_key(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/observations"
    body = json.dumps({"observations": history(30)})
    for _ in range(2):
        answer = client.post(path, body, content_type=JSON, headers={"Idempotency-Key": "import-1"})
        assert answer.json == {"accepted": 30, "first": 1, "last": 30}, answer
    assert client.study(study)["observations"] == 30
    other = json.dumps({"observations": history(31)})
    refusal(client.post(path, other, content_type=JSON, headers={"Idempotency-Key": "import-1"}), 409)


ANEW = {
    "other_parameters": ({"parameters": 1}, {"parameters": 40}),
    "other_goal": ({"goal": "maximize"}, {"goal": "minimize"}),
    "all_the_same": ({}, {}),
}


@cases(ANEW)
def test_an_upload_is_for_the_study_that_it_began_with(server, case):
    client, other = server.client(), server.client()

    def create(parameters=2, goal="maximize"):
        names = [f"p{i}" for i in range(parameters)]
        space = [{"name": name, "type": "double", "min": 0, "max": 1} for name in names]
        other.create(
            {"id": "anew", "metric": {"name": "v", "goal": goal}, "domain": {"type": "space", "parameters": space}}
        )
        return names

    other.delete("/v1/studies/anew")  # an earlier case's
    names = create(**case[0])

    def slowly():
        yield from begun()
        other.delete("/v1/studies/anew")
        create(**case[1])
        yield (",".join([*names, "value"]) + "\n" + ",".join(["0.5"] * len(names) + ["1"]) + "\n").encode()

    answer = client.post("/v1/studies/anew/observations", slowly(), content_type="text/csv")
    assert answer.status == 409 and "deleted" in answer.json["detail"], answer
    assert client.study("anew")["observations"] == 0


def test_imported_results_are_listed_and_have_numbers(server):
    client = server.client()
    study = client.create(definition())["id"]
    path = f"/v1/studies/{study}/observations"
    assert client.read(study, "observations")["items"] == []
    client.post(path, {"observations": history(3)})
    answer = client.post(path, {"observations": [{"candidate": 7, "value": 2, "repeats": 4}]})
    assert answer.json == {"accepted": 1, "first": 4, "last": 4}, answer
    listed = client.items(path)
    assert [(o["observation"], o["candidate"], o["value"], o["state"]) for o in listed] == [
        *((i + 1, r["candidate"], r["value"], "completed") for i, r in enumerate(history(3))),
        (4, 7, 2, "completed"),
    ], listed
    assert listed[3]["repeats"] == 4 and listed[3]["point"] == grid(12)[7]
    page = client.read(study, "observations?limit=3")
    rest = client.read(study, f"observations?page_token={page['next_page_token']}")
    assert page["items"] + rest["items"] == listed and "next_page_token" not in rest
    assert client.read(study, "observations/4") == listed[3]
    refusal(client.get(f"{path}/5"), 404)
    refusal(client.get(f"{path}/0"), 404)


@cases({"at_once": False, "after_a_kill": True})
def test_a_slip_is_amended_and_a_wrong_row_taken_back(case):
    with Server() as server:
        client = server.client()
        study = client.create({**definition(), "algorithm": {"name": "epsilon_greedy"}})["id"]
        path = f"/v1/studies/{study}/observations"
        client.post(path, {"observations": [{"candidate": 3, "value": 99}, {"candidate": 4, "value": 50}, {"candidate": 5, "value": 0.5}]})
        client.tell(study, [{"trial": client.ask(study)["trials"][0]["id"], "value": 0.25}])
        answer = client.post(f"{path}/1/amend", {"value": 0.75, "reason": "a slip"})
        assert answer.status == 200 and answer.json["value"] == 0.75 and "reason" not in answer.json, answer
        answer = client.post(f"{path}/2/amend", {"state": "failed", "reason": "another oven"})
        assert (answer.json["state"], answer.json["reason"], "value" in answer.json) == ("failed", "another oven", False), answer
        if case:
            server.kill()
            server.start()
            client = server.client()
        assert client.study(study)["observations"] == 3
        assert client.read(study, "best")["observed"]["observation"] == 1
        for _ in range(2):  # one batch may have been planned before the amendments
            (trial,) = client.ask(study, wait_seconds=30)["trials"]
            client.tell(study, [{"trial": trial["id"], "state": "failed"}])
        client.ask(study, wait_seconds=30)
        known = client.items(f"/v1/studies/{study}/candidates")
        assert [(c["pulls"], c["mean"]) for c in known[3:6]] == [(1, 0.75), (0, None), (1, 0.5)], known[3:6]
        (amendment,) = client.read(study, "observations/2")["amendments"]
        assert amendment["reason"] == "another oven" and amendment["was"] == {"state": "completed", "value": 50.0}, amendment
        items = client.read(study, "series")["items"]
        assert [(i.get("observation"), i.get("trial"), i["value"], i["best"]) for i in items] == [
            (1, None, 0.75, 0.75), (3, None, 0.5, 0.75), (None, 1, 0.25, 0.75),
        ], items
        table = client.get(f"/v1/studies/{study}/export?format=csv").body.decode().splitlines()
        rows = [dict(zip(table[0].split(","), row.split(","))) for row in table[1:]]
        assert [(r["origin"], r["observation"], r["state"], r["value"]) for r in rows if r["value"] or r["origin"] == "import"] == [
            ("trial", "", "completed", "0.25"), ("import", "1", "completed", "0.75"), ("import", "2", "failed", ""),
            ("import", "3", "completed", "0.5"),
        ], rows


BAD_AMENDMENTS = {
    "unknown": (9, {"value": 1}, 404, None),
    "nothing": (1, {"reason": "why"}, 422, "/value"),
    "infeasible": (1, {"state": "infeasible"}, 422, "/state"),
    "metric": (1, {"values": {"cost": 1}}, 422, "/values/cost"),
    "field": (1, {"value": 1, "repeats": 2}, 422, "/repeats"),
}


@cases(BAD_AMENDMENTS)
def test_bad_amendments_of_imports_are_refused(server, case):
    number, body, status, pointer = case
    client = server.client()
    study = client.create(definition())["id"]
    client.post(f"/v1/studies/{study}/observations", {"observations": history(1)})
    answer = client.post(f"/v1/studies/{study}/observations/{number}/amend", body)
    assert answer.status == status and (pointer is None or answer.json["errors"][0]["pointer"] == pointer), answer
    assert "amendments" not in client.read(study, "observations/1")


def test_an_amended_import_survives_an_export(server):
    client = server.client()
    study = client.create(definition())["id"]
    client.post(f"/v1/studies/{study}/observations", {"observations": history(5)})
    work(client, study, 3)
    client.post(f"/v1/studies/{study}/observations/2/amend", {"state": "failed"})
    client.post(f"/v1/studies/{study}/observations/3/amend", {"value": 0.125})
    listed = client.items(f"/v1/studies/{study}/observations")
    lines = client.get(f"/v1/studies/{study}/export").body
    client.request("DELETE", f"/v1/studies/{study}")
    answer = client.post("/v1/studies", lines, content_type="application/x-ndjson")
    assert answer.status == 201, answer
    assert client.items(f"/v1/studies/{study}/observations") == listed


def baking(client):
    domain = {"type": "candidates", "points": [[180, 20], [190, 20], [180, 0.1], [190, 20]], "names": ["degrees", "minutes"]}
    return client.create({"metric": {"name": "yield", "goal": "maximize"}, "domain": domain})["id"]


def test_candidates_are_found_by_their_features(server):
    client = server.client()
    study = baking(client)
    path = f"/v1/studies/{study}/observations"
    table = "date,minutes,degrees,yield\n2026-01-01,20,190,0.5\n2026-01-02,0.10000000149,180,0.25\n"
    refusal(client.post(path, table, content_type="text/csv"), 422)
    answer = client.post(f"{path}?ignore=date,operator", table, content_type="text/csv")
    assert answer.json == {"accepted": 2, "first": 1, "last": 2}, answer
    client.post(path, {"observations": [{"point": [180, 20], "value": 1}, {"candidate": 3, "value": 2}]})
    assert [(o["candidate"], o["value"]) for o in client.items(path)] == [(1, 0.5), (2, 0.25), (0, 1.0), (3, 2.0)]


def test_points_that_are_no_candidates_are_listed(server):
    client = server.client()
    study = baking(client)
    path = f"/v1/studies/{study}/observations"
    rows = [{"point": [180, 20], "value": 1}, {"point": [181, 20], "value": 1}, {"candidate": 2, "value": 1}, {"point": [20, 180], "value": 1}]
    answer = client.post(path, {"observations": rows})
    assert answer.status == 422 and answer.json["detail"].startswith("2 results"), answer
    assert [e["pointer"] for e in answer.json["errors"]] == ["/observations/1/point", "/observations/3/point"], answer
    answer = client.post(path, "degrees,minutes,value\n180,20,1\n180,21,1\n", content_type="text/csv")
    assert answer.status == 422 and answer.json["errors"][0]["detail"].startswith("result 2:"), answer
    assert client.items(path) == []


def test_the_exported_table_has_everything_and_is_taken_back(server):
    client = server.client()
    study = baking(client)
    (trial,) = client.ask(study)["trials"]
    client.tell(study, [{"trial": trial["id"], "value": 0.75, "metadata": {"well": "A1", "note": "x" * 3000}}])
    client.post(f"/v1/studies/{study}/observations", {"observations": [{"candidate": 1, "value": 0.5}]})
    table = client.get(f"/v1/studies/{study}/export?format=csv").body.decode()
    (first, second) = [row for row in csv.DictReader(io.StringIO(table)) if row["value"]]
    assert [float(first["degrees"]), float(first["minutes"])] == trial["point"] and first["batch"] == "0", first
    assert json.loads(first["metadata"])["well"] == "A1" and first["issued_at"] and first["told_at"], first
    assert (second["origin"], second["degrees"], second["batch"]) == ("import", "190.0", ""), second
    other = baking(client)
    answer = client.post(f"/v1/studies/{other}/observations", table, content_type="text/csv")
    assert answer.status == 200 and answer.json["accepted"] == 2, answer
