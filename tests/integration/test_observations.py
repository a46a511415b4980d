"""Imported rewards: what they change, when, and that they outlast a restart."""

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
    assert (answer.status, answer.json) == (200, {"accepted": 120}), answer
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
    assert answer.json == {"accepted": 40}, answer
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
    assert (answer.status, answer.json) == (200, {"accepted": 2}), answer
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
        assert answer.json == {"accepted": 30}, answer
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
