"""Numbers in steps, chosen digits, ordered words, and conditions on ranges of numbers."""

from decimal import Decimal

from server import Server
from support import cases, refusal
from database_commands import expect_sound
from test_open_spaces import ALGORITHMS
from test_spaces import space

PARAMETERS = [
    {"name": "rate", "type": "double", "min": 0.0001, "max": 1, "scale": "log", "precision": 3},
    {"name": "share", "type": "double", "min": 0.005, "max": 0.95, "precision": 2},
    {"name": "dose", "type": "double", "min": 0.1, "max": 2.35, "step": 0.1, "unit": "mg"},
    {"name": "width", "type": "integer", "min": 8, "max": 256, "step": 8, "scale": "log"},
    {"name": "level", "type": "categorical", "values": ["low", "mid", "high"], "ordered": True},
    {"name": "boost", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "dose", "min": 1.2}},
    {"name": "trim", "type": "boolean", "active_when": {"parameter": "rate", "min": 0.01, "max": 0.1}},
]
FINITE = [PARAMETERS[2], PARAMETERS[3], PARAMETERS[4], {**PARAMETERS[6], "active_when": {"parameter": "width", "max": 16}}]


def check(point):
    digits = Decimal(repr(point["rate"])).normalize().as_tuple().digits
    assert len(digits) <= 3 and 0.0001 <= point["rate"] <= 1, point
    assert round(point["share"], 2) == point["share"] and 0.01 <= point["share"] <= 0.95, point
    assert point["dose"] in [k / 10 for k in range(1, 24)], point
    assert point["width"] in range(8, 257, 8) and point["level"] in ("low", "mid", "high"), point
    assert ("boost" in point) == (point["dose"] >= 1.2), point
    assert ("trim" in point) == (0.01 <= point["rate"] <= 0.1), point


def loss(point):
    return abs(point["dose"] - 1.7) + abs(point["width"] - 96) / 96 + ["low", "high", "mid"].index(point["level"]) + point.get("boost", 1)


def drive(client, study, n, **fields):
    points = []
    for _ in range(n):
        (trial,) = client.ask(study, **fields)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])}])
        points.append(trial["parameters"])
    return points


@cases({name: name for name in ALGORITHMS.split()})
def test_every_algorithm_keeps_to_them_across_a_restart(case):
    definition = space(PARAMETERS, None, seed=4)
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
        for point in points:
            check(point)
        assert points == expected
        (point,) = drive(client, halves, 1, fixed={"boost": 0.5, "trim": True})
        check(point)
        assert (point["boost"], point["trim"]) == (0.5, True)
        expect_sound(server.db, [whole, halves])


def test_definitions_come_back(server):
    client = server.client()
    study = client.create({**space(PARAMETERS), "metric": {"name": "loss", "goal": "minimize", "unit": "%"}})
    for given, shown in zip(PARAMETERS, study["domain"]["parameters"]):
        assert {key: shown[key] for key in given} == given, shown
    assert study["metric"]["unit"] == "%"
    drive(client, study["id"], 3)
    exported = client.get(f"/v1/studies/{study['id']}/export?format=ndjson").body
    client.delete(f"/v1/studies/{study['id']}")
    made = client.post("/v1/studies", exported, content_type="application/x-ndjson")
    assert made.status == 201 and client.study(study["id"])["domain"] == study["domain"], made


def test_a_space_of_steps_is_enumerated(server):
    client = server.client()
    study = client.create(space(FINITE))
    assert study["candidates"] == 23 * 3 * (30 + 2 * 2), study
    assert loss(min(drive(client, study["id"], 30), key=loss)) < 2.2


def test_given_values(server):
    client = server.client()
    study = client.create(space(PARAMETERS))["id"]
    point = {"rate": 0.0123456, "share": 0.123456, "dose": 0.1 + 0.2, "width": 16, "level": "low", "trim": False}
    proposed = client.post(f"/v1/studies/{study}/trials", {"parameters": point})
    assert proposed.json["parameters"] == {**point, "dose": 0.3}, proposed
    wrong = {
        "dose": (0.33, "must be a number from 0.1 to 2.35 in steps of 0.1"),
        "width": (12, "must be an integer from 8 to 256 in steps of 8"),
        "boost": (0.5, "must be left out: the other values make this parameter inactive"),
    }
    for name, (value, detail) in wrong.items():
        answer = client.post(f"/v1/studies/{study}/trials", {"parameters": {**point, name: value}})
        problem = refusal(answer, 422, f"/parameters/{name}")
        assert detail in str(problem), problem


def test_conditions_that_cannot_hold_are_refused_and_old_ones_stay(server):
    client = server.client()
    wrong = {"min": ({"min": 3}, "/min"), "max": ({"min": 1, "max": 9}, "/max"), "between steps": ({"min": 1.11, "max": 1.19}, "")}
    for bounds, pointer in wrong.values():
        other = {"name": "boost", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "dose", **bounds}}
        answer = client.post("/v1/studies", space([PARAMETERS[2], other]))
        refusal(answer, 422, f"/domain/parameters/1/active_when{pointer}")
    study = client.create(space([*PARAMETERS[2:4], {**PARAMETERS[5], "active_when": {"parameter": "dose", "min": 2}}], id="old-condition"))["id"]
    text = client.get(f"/v1/studies/{study}/export?format=ndjson").body
    client.delete(f"/v1/studies/{study}")
    made = client.post("/v1/studies", text.replace(rb'\"min\":2.0}', rb'\"min\":9.0}'), content_type="application/x-ndjson")
    assert made.status == 201 and made.json["domain"]["parameters"][2]["active_when"]["min"] == 9, made
    for value in range(3):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        assert "boost" not in trial["parameters"], trial
        client.tell(study, [{"trial": trial["id"], "value": value}])
    forked = client.post(f"/v1/studies/{study}/fork", {"id": "forked-condition", "at_trial": 2, "seed": 5})
    assert forked.status == 201, forked
