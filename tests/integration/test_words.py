"""Words with properties: a categorical parameter whose values have features."""

import json
import math
import random

from server import Server
from support import cases, refusal
from database_commands import expect_sound
from test_open_spaces import ALGORITHMS
from test_spaces import space

RANDOM = random.Random(3)
ROWS = [[round(RANDOM.gauss(0, 1), 4), round(RANDOM.gauss(20, 5), 3)] for _ in range(60)]
SOLVENT = {
    "name": "solvent",
    "type": "categorical",
    "values": [f"s{i}" for i in range(len(ROWS))],
    "features": ROWS,
    "feature_names": ["polarity", "size"],
}
HEAT = {"name": "heat", "type": "double", "min": 20, "max": 120}
RINSE = {"name": "rinse", "type": "boolean"}
WASH = {**SOLVENT, "name": "wash", "active_when": {"parameter": "rinse", "in": [True]}}


def value(point):
    polarity, size = ROWS[int(point["solvent"][1:])]
    washed = 0.1 * ROWS[int(point["wash"][1:])][0] if "wash" in point else 0
    return math.exp(-((polarity - 0.7) ** 2) - ((size - 24) / 8) ** 2 - ((point.get("heat", 90) - 80 - 10 * polarity) / 40) ** 2) + washed


def drive(client, study, n, **fields):
    points = []
    for _ in range(n):
        (trial,) = client.ask(study, wait_seconds=45, **fields)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": value(trial["parameters"])}])
        points.append(trial["parameters"])
    return points


def best_study(client, parameters, **fields):
    """A study with everything by default, whose larger values are better."""
    domain = {"type": "space", "parameters": parameters}
    return client.create({"metric": {"name": "y", "goal": "maximize"}, "domain": domain, "seed": 1, **fields})


@cases({name: name for name in ALGORITHMS.split()})
def test_every_algorithm_across_a_restart(case):
    definition = space([SOLVENT, HEAT, RINSE, WASH], None, seed=4)
    definition["domain"]["constraints"] = ['if solvent = "s1" then heat <= 60', "heat <= 110"]
    definition["algorithm"] = {"name": case}
    with Server() as server:
        client = server.client()
        whole, halves = (client.create(definition)["id"] for _ in range(2))
        expected = drive(client, whole, 9)
        points = drive(client, halves, 5)
        server.kill()
        server.start()
        client = server.client()
        points += drive(client, halves, 4)
        assert points == expected
        assert all(point["heat"] <= 110 + 1e-6 and ("wash" in point) == point["rinse"] for point in points), points
        (point,) = drive(client, halves, 1, fixed={"wash": "s7", "solvent": "s1"})
        assert (point["wash"], point["solvent"], point["rinse"]) == ("s7", "s1", True) and point["heat"] <= 60 + 1e-6, point
        expect_sound(server.db, [whole, halves])


def test_similar_words_are_tried(server):
    """The default finds one of the best of 60 words at its best heat; chance would need hundreds of trials."""
    client = server.client()
    study = best_study(client, [SOLVENT, HEAT])["id"]
    top = max(value({"solvent": word, "heat": heat}) for word in SOLVENT["values"] for heat in range(20, 121))
    assert max(map(value, drive(client, study, 30))) > 0.97 * top


def test_an_enumerated_space(server):
    client = server.client()
    study = best_study(client, [SOLVENT, RINSE])
    assert study["candidates"] == 120
    points = drive(client, study["id"], 20)
    assert max(map(value, points)) == max(value({"solvent": word}) for word in SOLVENT["values"])


def test_definitions_come_back(server):
    client = server.client()
    study = best_study(client, [SOLVENT, HEAT])
    shown = study["domain"]["parameters"][0]
    assert shown == {**SOLVENT, "scaling": "standardize"}, shown
    name = study["id"]
    drive(client, name, 20)
    importance = client.get(f"/v1/studies/{name}/importance").json["parameters"]
    assert [entry["parameter"] for entry in importance] == ["solvent", "heat"]
    effects = client.get(f"/v1/studies/{name}/effects?parameter=solvent").json
    assert len(effects["effects" if "effects" in effects else "points"]) == len(ROWS), effects
    point = {"solvent": "s3", "heat": 50}
    assert client.post(f"/v1/studies/{name}/predict", {"parameters": [point]}).status == 200
    assert client.post(f"/v1/studies/{name}/trials", {"parameters": point}).json["parameters"] == point
    imported = client.post(f"/v1/studies/{name}/observations", {"observations": [{"parameters": point, "value": 1}]})
    assert imported.json["accepted"] == 1, imported
    exported = client.get(f"/v1/studies/{name}/export?format=ndjson").body
    client.delete(f"/v1/studies/{name}")
    made = client.post("/v1/studies", exported, content_type="application/x-ndjson")
    assert made.status == 201 and client.study(name)["domain"] == study["domain"], made
    fewer = {**SOLVENT, "values": SOLVENT["values"][:30], "features": ROWS[:30]}
    later = best_study(client, [fewer, HEAT], history_from=name)
    assert later["history"]["imported"] + later["history"]["left_out"] == 21, later["history"]


def test_many_words_without_properties(server):
    client = server.client()
    parameter = {"name": "word", "type": "categorical", "values": [f"w{i}" for i in range(10000)]}
    made = best_study(client, [parameter, HEAT])
    study = made["id"]
    assert made["domain"]["parameters"][0]["encoding"] == "codes", made
    for _ in range(6):
        (trial,) = client.ask(study)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": trial["parameters"]["heat"]}])
    (trial,) = client.ask(study)["trials"]
    assert trial["parameters"]["word"] in parameter["values"]
    assert len(client.get(f"/v1/studies/{study}/model").json["lengthscales"]) < 200


def test_studies_from_before_keep_a_feature_for_each_word(server):
    client = server.client()
    parameter = {"name": "word", "type": "categorical", "values": [f"w{i}" for i in range(1001)]}
    made = best_study(client, [parameter, HEAT])
    exported = client.get(f"/v1/studies/{made['id']}/export?format=ndjson").body
    before = exported.replace(b',\\"encoding\\":\\"codes\\"', b"")
    assert before != exported, exported[:500]
    older = client.post("/v1/studies?id=older", before, content_type="application/x-ndjson")
    assert older.status == 201, older
    assert "encoding" not in client.study("older")["domain"]["parameters"][0]
    assert client.ask("older")["trials"]


def test_refused(server):
    client = server.client()
    wrong = {
        "/domain/parameters/0/features": [{**SOLVENT, "features": ROWS[1:]}, {**SOLVENT, "features": [[1e308, 0], [-1e308, 1], *ROWS[2:]]}],
        "/domain/parameters/0/features/2": [{**SOLVENT, "features": [*ROWS[:2], [1], *ROWS[3:]]}],
        "/domain/parameters/0/feature_names": [{**SOLVENT, "feature_names": ["polarity"]}],
        "/domain/parameters/0/encoding": [{**SOLVENT, "encoding": "codes"}, {"name": "word", "type": "categorical", "values": ["a", "b"], "encoding": "one_hot"}, {"name": "word", "type": "categorical", "values": ["a", "b"], "encoding": "codes", "ordered": True}],
    }
    for pointer, parameters in wrong.items():
        for parameter in parameters:
            refusal(client.post("/v1/studies", space([parameter, HEAT])), 422, pointer)


def form(**parts):
    """-> (body, its Content-Type)"""
    lines = []
    for name, content in parts.items():
        lines += ["--edge", f'Content-Disposition: form-data; name="{name}"; filename="{name}.csv"', "", content]
    return "\r\n".join([*lines, "--edge--", ""]).encode(), "multipart/form-data; boundary=edge"


def test_words_from_a_file():
    names, lines = SOLVENT["feature_names"], [f"{row[1]},{word},{row[0]}" for word, row in zip(SOLVENT["values"], ROWS)]
    table = "\n".join([f"{names[1]},solvent,{names[0]}", *lines])
    bare = {"name": "solvent", "type": "categorical"}
    swapped = {**SOLVENT, "features": [row[::-1] for row in ROWS], "feature_names": names[::-1]}
    with Server("--max-body", "2KiB") as server:
        client = server.client()
        definition = space([bare, HEAT], None, seed=4, id="file")
        body, kind = form(solvent=table, study=json.dumps(definition))
        assert len(table) > 1000
        key = {"Idempotency-Key": "k"}
        made = client.post("/v1/studies", body, content_type=kind, headers=key)
        assert made.status == 201 and made.headers["Location"] == "/v1/studies/file", made
        assert client.post("/v1/studies", body, content_type=kind, headers=key).body == made.body
        refusal(client.post("/v1/studies", body, content_type=kind), 409)
        (given,) = (p for p in made.json["domain"]["parameters"] if p["name"] == "solvent")
        assert given == {**swapped, "scaling": "standardize"}, given
        points = drive(client, "file", 6)
        server.kill()
        server.start()
        client = server.client()
        points += drive(client, "file", 3)
        refused = client.post("/v1/studies", form(study=json.dumps(definition), other=table.replace("solvent", "other"))[0], content_type=kind)
        assert "other" in str(refused.json["errors"]), refused
        body, kind = form(study=json.dumps({**definition, "id": "large"}) + " " * 2048, solvent=table)
        assert "--max-body" in client.post("/v1/studies", body, content_type=kind).json["detail"]
    with Server("--max-values", "100") as server:
        body, kind = form(study=json.dumps(definition), solvent=table)
        assert "--max-values" in server.client().post("/v1/studies", body, content_type=kind).json["detail"]
    with Server() as server:  # the same study as from a definition that has the words
        client = server.client()
        study = client.create(space([swapped, HEAT], None, seed=4))["id"]
        assert drive(client, study, 9) == points
