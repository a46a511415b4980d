"""Spaces whose points keep constraints."""

import math
import time

from server import Server
from support import cases, refusal
from database_commands import expect_sound
from test_open_spaces import ALGORITHMS
from test_spaces import space

MIX = [{"name": name, "type": "double", "min": 0, "max": 1} for name in ("water", "oil", "salt", "sand", "lime")]
MIX_RULES = ["water + oil + salt + sand + lime = 1", "water >= oil", "2 * salt <= sand + 0.1"]

MIXED = [
    {"name": "rate", "type": "double", "min": 0.01, "max": 10, "scale": "log"},
    {"name": "batch", "type": "integer", "min": 1, "max": 512},
    {"name": "optimizer", "type": "categorical", "values": ["adam", "sgd", "lamb"]},
    {"name": "momentum", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "optimizer", "in": ["sgd", "lamb"]}},
    {"name": "a", "type": "integer", "min": 0, "max": 10},
    {"name": "b", "type": "integer", "min": 0, "max": 10},
    {"name": "c", "type": "integer", "min": 0, "max": 10},
    {"name": "gate", "type": "boolean"},
]
MIXED_RULES = [
    "rate * batch <= 32",
    'if optimizer = "sgd" then momentum >= 0.5',
    "a + b + c = 10 and a <= b",
    "count(a, b, c) <= 2",
    "if gate then rate >= 0.1",
]


def constrained(parameters, rules, algorithm=None, **fields):
    definition = space(parameters, None, **fields)
    definition["algorithm"] = {"name": algorithm or "log_ei"}
    definition["domain"]["constraints"] = rules
    return definition


def check_mix(point):
    total = math.fsum(point.values())
    assert abs(total - 1) <= 1e-12, (total, point)
    assert all(0 <= x <= 1 for x in point.values()), point
    assert point["water"] >= point["oil"] - 1e-9 and 2 * point["salt"] <= point["sand"] + 0.1 + 1e-9, point


def check_mixed(point):
    assert point["rate"] * point["batch"] <= 32 + 1e-6, point
    assert point["optimizer"] != "sgd" or point["momentum"] >= 0.5 - 1e-9, point
    assert point["a"] + point["b"] + point["c"] == 10 and point["a"] <= point["b"], point
    assert sum(point[name] != 0 for name in "abc") <= 2, point
    assert not point["gate"] or point["rate"] >= 0.1 - 1e-9, point


def mix_loss(point):
    best = {"water": 0.4, "oil": 0.3, "salt": 0.05, "sand": 0.05, "lime": 0.2}
    return sum((point[name] - x) ** 2 for name, x in best.items())


def mixed_loss(point):
    loss = abs(math.log(point["rate"])) + abs(point["batch"] - 24) / 24 + abs(point["b"] - 7) / 3
    return loss + {"adam": 1, "sgd": 0, "lamb": 2}[point["optimizer"]] + (not point["gate"])


def drive(client, study, n, check, loss, **fields):
    points = []
    for _ in range(n):
        asked = client.ask(study, wait_seconds=45, **fields)
        (trial,) = asked["trials"]
        check(trial["parameters"])
        client.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])}])
        points.append(trial["parameters"])
    return points


@cases({name: name for name in ALGORITHMS.split()})
def test_every_algorithm_keeps_them_across_a_restart(case):
    with Server() as server:
        client = server.client()
        studies = []
        for parameters, rules, check, loss in ((MIX, MIX_RULES, check_mix, mix_loss), (MIXED, MIXED_RULES, check_mixed, mixed_loss)):
            definition = constrained(parameters, rules, case, seed=5)
            whole, halves = (client.create(definition)["id"] for _ in range(2))
            studies.append((whole, halves, drive(client, whole, 10, check, loss), drive(client, halves, 6, check, loss), check, loss))
        server.kill()
        server.start()
        client = server.client()
        for _, halves, expected, points, check, loss in studies:
            assert points + drive(client, halves, 4, check, loss) == expected
        expect_sound(server.db, [name for pair in studies for name in pair[:2]])


def test_pi_gp_ucb_keeps_them(server):
    client = server.client()
    study = client.create(constrained(MIX[:3], ["water + oil + salt = 1", "water >= oil"], "pi_gp_ucb", horizon=12))["id"]

    def check(point):
        assert abs(math.fsum(point.values()) - 1) <= 1e-12 and point["water"] >= point["oil"] - 1e-9, point

    drive(client, study, 12, check, lambda point: (point["oil"] - 0.3) ** 2)


def test_the_best_point_of_a_mixture_is_found(server):
    client = server.client()
    study = client.create(constrained(MIX, MIX_RULES, seed=2))["id"]
    points = drive(client, study, 30, check_mix, mix_loss)
    assert mix_loss(min(points, key=mix_loss)) < 1e-3, mix_loss(min(points, key=mix_loss))


def test_fixed_values_go_with_them(server):
    client = server.client()
    study = client.create(constrained(MIX, MIX_RULES, seed=3))["id"]
    for k, point in enumerate(drive(client, study, 8, check_mix, mix_loss, fixed={"oil": 0.25, "salt": 0.1})):
        assert (point["oil"], point["salt"]) == (0.25, 0.1), (k, point)
    refusal(client.post(f"/v1/studies/{study}/ask", {"fixed": {"oil": 0.75}}), 409)
    mixed = client.create(constrained(MIXED, MIXED_RULES, seed=3))["id"]
    for point in drive(client, mixed, 5, check_mixed, mixed_loss, fixed={"batch": 300, "optimizer": "sgd"}):
        assert point["rate"] <= 32 / 300 + 1e-9, point


def test_zero_has_a_meaning_of_its_own(server):
    client = server.client()
    study = client.create(constrained(MIX, ["water + oil + salt + sand + lime = 1", "count(water, oil, salt, sand, lime) <= 3"], seed=1))["id"]

    def check(point):
        assert sum(x != 0 for x in point.values()) <= 3 and abs(math.fsum(point.values()) - 1) <= 1e-12, point

    points = drive(client, study, 25, check, mix_loss)
    assert len({tuple(x != 0 for x in point.values()) for point in points}) >= 4
    # without three of five, the best is 0.4, 0.3 and 0.2, plus a third of the rest each
    assert mix_loss(min(points, key=mix_loss)) < 0.03, min(points, key=mix_loss)


def kernel_tuning():
    """Some 10^6 combinations, of which few are allowed."""
    sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    names = ["block_x", "block_y", "tile_x", "tile_y", "unroll", "vector"]
    parameters = [{"name": name, "type": "discrete", "values": sizes} for name in names]
    rules = ["block_x * block_y >= 64", "block_x * block_y <= 128", "tile_x * tile_y <= 16", "unroll <= tile_x", "vector <= 8 and vector <= tile_y"]
    return parameters, rules


def test_a_million_combinations_are_filtered(server):
    parameters, rules = kernel_tuning()
    sizes = parameters[0]["values"]
    blocks = sum(64 <= x * y <= 128 for x in sizes for y in sizes)
    tiles = sum(sum(u <= x for u in sizes) * sum(v <= 8 and v <= y for v in sizes) for x in sizes for y in sizes if x * y <= 16)
    client = server.client()
    begun = time.monotonic()
    study = client.create(constrained(parameters, rules))
    print(f"created after {time.monotonic() - begun:.2f} s")
    assert study["candidates"] == blocks * tiles, study
    for candidate in client.items(f"/v1/studies/{study['id']}/candidates"):
        p = candidate["parameters"]
        assert 64 <= p["block_x"] * p["block_y"] <= 128 and p["unroll"] <= p["tile_x"], p
    drive(client, study["id"], 10, lambda point: None, lambda point: abs(point["unroll"] - 4) + point["block_x"] / 64)


def test_a_million_combinations_of_words_are_filtered(server):
    """By a rule that no part of the words decides, so that nothing is excluded early."""
    words = [f"w{i}" for i in range(10)]
    rule = " and ".join(f'{name} = "w1"' for name in "abcde") + ' or f = "w0" and e = "w0" and a = b'
    client = server.client()
    begun = time.monotonic()
    study = client.create(constrained([{"name": name, "type": "categorical", "values": words} for name in "abcdef"], [rule]))
    print(f"created after {time.monotonic() - begun:.2f} s")
    assert study["candidates"] == 10 + 10**3, study
    for candidate in client.items(f"/v1/studies/{study['id']}/candidates"):
        p = candidate["parameters"]
        assert all(p[name] == "w1" for name in "abcde") or (p["f"], p["e"], p["a"]) == ("w0", "w0", p["b"]), p


def test_a_filtered_list_continues_after_a_restart():
    parameters, rules = kernel_tuning()

    def loss(point):
        return abs(point["unroll"] - 4) + point["block_x"] / 64

    with Server() as server:
        client = server.client()
        whole, halves = (client.create(constrained(parameters, rules, seed=4))["id"] for _ in range(2))
        expected, points = (drive(client, study, n, lambda point: None, loss) for study, n in ((whole, 12), (halves, 7)))
        server.kill()
        server.start()
        client = server.client()
        assert points + drive(client, halves, 5, lambda point: None, loss) == expected
        expect_sound(server.db, [whole, halves])
        exported = client.get(f"/v1/studies/{whole}/export?format=ndjson").body
        client.delete(f"/v1/studies/{whole}")
        assert client.post("/v1/studies", exported, content_type="application/x-ndjson").status == 201


def test_own_points_that_break_them_are_refused(server):
    client = server.client()
    study = client.create(constrained(MIX, MIX_RULES))["id"]
    good = {"water": 0.5, "oil": 0.1, "salt": 0.1, "sand": 0.2, "lime": 0.1}
    bad = {**good, "water": 0.05, "lime": 0.55}
    assert client.post(f"/v1/studies/{study}/trials", {"parameters": good}).json["parameters"] == good
    problem = refusal(client.post(f"/v1/studies/{study}/trials", {"parameters": bad}), 422, "/parameters")
    assert "water >= oil" in problem["errors"][0]["detail"], problem
    observations = [{"parameters": good, "value": 1}, {"parameters": bad, "value": 2}]
    problem = refusal(client.post(f"/v1/studies/{study}/observations", {"observations": observations}), 422, "/observations/1/parameters")
    assert "water >= oil" in problem["errors"][0]["detail"], problem
    table = ",".join(good) + ",value\n" + "".join(",".join(str(x) for x in (*p.values(), 1)) + "\n" for p in (good, bad))
    answer = client.post(f"/v1/studies/{study}/observations", table.encode(), content_type="text/csv")
    assert "water >= oil" in str(refusal(answer, 422)), answer
    assert client.post(f"/v1/studies/{study}/observations", {"observations": observations[:1]}).status == 200
    free = client.create(space(MIX, seed=1))["id"]
    client.post(f"/v1/studies/{free}/observations", {"observations": observations})
    made = client.create(constrained(MIX, MIX_RULES, history_from=free))
    assert (made["history"]["imported"], made["history"]["left_out"]) == (1, 1), made["history"]
    assert "water >= oil" in made["history"]["examples"][0]["detail"], made["history"]


def test_imported_points_that_break_them_can_be_infeasible():
    good = {"water": 0.5, "oil": 0.1, "salt": 0.1, "sand": 0.2, "lime": 0.1}
    bad = {**good, "water": 0.05, "lime": 0.55}
    rows = [{"parameters": bad, "value": -9}, {"parameters": good, "value": 1}, {"parameters": bad, "value": -8, "repeats": 2}]
    table = ",".join(good) + ",value\n" + "".join(",".join(str(x) for x in (*p.values(), 1)) + "\n" for p in (good, bad))
    with Server() as server:
        client = server.client()
        whole, halves = (client.create(constrained(MIX, MIX_RULES, seed=2))["id"] for _ in range(2))
        expected, points = ([], [])
        for study, taken in ((whole, expected), (halves, points)):
            path = f"/v1/studies/{study}/observations?broken=infeasible"
            assert client.post(path, {"observations": rows}).json == {"accepted": 3, "first": 1, "last": 3}
            taken += drive(client, study, 3, check_mix, mix_loss)
            assert client.post(path, table.encode(), content_type="text/csv").json["last"] == 5
            if study == halves:
                server.kill()
                server.start()
                client = server.client()
            taken += drive(client, study, 4, check_mix, mix_loss)
        assert points == expected
        shown = client.get(f"/v1/studies/{whole}/observations").json["items"]
        assert [row["state"] for row in shown] == ["infeasible", "completed", "infeasible", "completed", "infeasible"], shown
        assert shown[0]["parameters"] == bad and "value" not in shown[0] and "water >= oil" in shown[0]["reason"], shown[0]
        assert client.study(whole)["observations"] == 2 + 7, client.study(whole)
        assert client.get(f"/v1/studies/{whole}/best").json["observed"]["value"] >= 0
        (earlier,) = client.get(f"/v1/studies/{whole}/observations/1").json["amendments"]
        assert earlier["was"]["value"] == -9, earlier
        exported = client.get(f"/v1/studies/{whole}/export?format=ndjson").body
        expect_sound(server.db, [whole, halves])
        client.delete(f"/v1/studies/{whole}")
        assert client.post("/v1/studies", exported, content_type="application/x-ndjson").status == 201
        refusal(client.post(f"/v1/studies/{halves}/observations?broken=kept", {"observations": rows}), 422)
        free = client.create(space(MIX))["id"]
        refusal(client.post(f"/v1/studies/{free}/observations?broken=infeasible", {"observations": rows}), 422)


def test_points_that_break_a_rule_of_an_enumerated_space_can_be_infeasible():
    """They are no candidates: the engine does not know of them, and chooses as if they were not there."""
    sides = [{"name": name, "type": "integer", "min": 1, "max": 8} for name in "ab"]
    rows = [{"parameters": {"a": a, "b": b}, "value": a} for a, b in ((1, 2), (3, 2), (2, 2), (3, 2), (8, 1))]
    own = {"parameters": {"a": 7, "b": 6}}

    def drive_on(client, study, n):
        return drive(client, study, n, lambda point: None, lambda point: (point["a"] - 3) ** 2 + point["b"])

    with Server() as server:
        client = server.client()
        whole, halves, without = (client.create(constrained(sides, ["a <= b"], seed=3))["id"] for _ in range(3))
        chosen = {}
        for study in (whole, halves):
            path, trials = f"/v1/studies/{study}/observations", f"/v1/studies/{study}/trials"
            refusal(client.post(path, {"observations": rows}), 422, "/observations/1/parameters")
            assert client.post(path + "?broken=infeasible", {"observations": rows}).json == {"accepted": 5, "first": 1, "last": 5}
            chosen[study] = drive_on(client, study, 4)
            refusal(client.post(trials, own), 422, "/parameters")
            made = [client.post(trials + "?broken=infeasible", own).json for _ in range(2)]
            for trial in made:
                assert trial["state"] == "infeasible" and trial["parameters"] == own["parameters"] and "candidate" not in trial, trial
                assert client.read(study, f"trials/{trial['id']}")["parameters"] == own["parameters"]
            if study == halves:
                server.kill()
                server.start()
                client = server.client()
            chosen[study] += drive_on(client, study, 6)
        kept = [row for row in rows if row["parameters"]["a"] <= row["parameters"]["b"]]
        client.post(f"/v1/studies/{without}/observations", {"observations": kept})
        assert chosen[whole] == chosen[halves] == drive_on(client, without, 10)
        shown = client.get(f"/v1/studies/{whole}/observations").json["items"]
        assert [row["state"] for row in shown] == ["completed", "infeasible", "completed", "infeasible", "infeasible"], shown
        assert [row["parameters"] for row in shown] == [row["parameters"] for row in rows], shown
        assert "a <= b" in shown[1]["reason"] and "candidate" not in shown[1] and shown[0]["candidate"] >= 0, shown
        study = client.study(whole)
        assert (study["candidates"], study["trials_infeasible"], study["observations"]) == (36, 2, 12), study
        assert len(client.items(f"/v1/studies/{whole}/candidates")) == 36
        assert client.get(f"/v1/studies/{whole}/candidates/36").status == 404
        refusal(client.post(f"/v1/studies/{whole}/trials", {"candidate": 36}), 422, "/candidate")
        refusal(client.post(f"/v1/studies/{whole}/trials/5/amend", {"value": 1}), 409)
        refusal(client.post(f"/v1/studies/{whole}/observations/2/amend", {"value": 1}), 409)
        for path in ("trials/5/amend", "observations/2/amend"):
            assert client.post(f"/v1/studies/{whole}/{path}", {"state": "failed"}).json["state"] == "failed"
        drive_on(client, whole, 2)
        for trial in (5, 8):
            assert client.get(f"/v1/studies/{whole}/trials/{trial}/why").status in (200, 409)
        assert client.get(f"/v1/studies/{whole}/export?format=csv").status == 200
        made = client.create(constrained(sides, ["a <= b"], history_from=whole))
        assert made["history"]["left_out"] == 0 and made["observations"] == 14, made
        forked = client.post(f"/v1/studies/{whole}/fork", {"id": "forked-broken", "at_trial": 8})
        assert forked.status == 201 and drive_on(client, "forked-broken", 2) == chosen[whole][6:8], forked
        exported = client.get(f"/v1/studies/{whole}/export?format=ndjson").body
        expect_sound(server.db, [whole, halves, without, made["id"], "forked-broken"])
        client.delete(f"/v1/studies/{whole}")
        assert client.post("/v1/studies", exported, content_type="application/x-ndjson").status == 201
        client.delete(f"/v1/studies/{whole}")
        other = exported.replace(b"[8.0,1.0]", b"[1.0,8.0]")
        assert other != exported and client.post("/v1/studies", other, content_type="application/x-ndjson").status == 422


def test_own_trials_that_break_a_rule_can_be_infeasible():
    good = {"water": 0.5, "oil": 0.1, "salt": 0.1, "sand": 0.2, "lime": 0.1}
    bad = {**good, "water": 0.05, "lime": 0.55}
    with Server() as server:
        client = server.client()
        whole, halves = (client.create(constrained(MIX, MIX_RULES, seed=2))["id"] for _ in range(2))
        expected, points = ([], [])
        for study, taken in ((whole, expected), (halves, points)):
            path = f"/v1/studies/{study}/trials"
            taken += drive(client, study, 4, check_mix, mix_loss)
            refusal(client.post(path, {"parameters": bad}), 422, "/parameters")
            refusal(client.post(path + "?broken=kept", {"parameters": bad}), 422)
            trial = client.post(path + "?broken=infeasible", {"parameters": bad}).json
            assert trial["state"] == "infeasible" and "water >= oil" in trial["reason"] and trial["parameters"] == bad, trial
            assert client.post(path + "?broken=infeasible", {"parameters": good}).json["state"] == "queued"
            if study == halves:
                server.kill()
                server.start()
                client = server.client()
            taken += drive(client, study, 5, check_mix, mix_loss)
        assert points == expected and good in points
        counts = client.study(whole)
        assert (counts["trials_infeasible"], counts["trials_completed"]) == (1, 9), counts
        exported = client.get(f"/v1/studies/{whole}/export?format=ndjson").body
        expect_sound(server.db, [whole, halves])
        client.delete(f"/v1/studies/{whole}")
        assert client.post("/v1/studies", exported, content_type="application/x-ndjson").status == 201
        free = client.create(space(MIX))["id"]
        refusal(client.post(f"/v1/studies/{free}/trials?broken=infeasible", {"parameters": good}), 422)


def test_one_import_has_a_limited_number_of_broken_points():
    """Each is an entry of the log, and the study does nothing else meanwhile."""
    most = 10_000
    rows = "x,z,value\n" + "0.5,0.1,1\n" + "0.9,0.5,1\n" * most
    with Server() as server:
        client = server.client()
        numbers = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xz"]
        study = client.create(constrained(numbers, ["x + z <= 1"]))["id"]
        path = f"/v1/studies/{study}/observations?broken=infeasible"
        answer = client.post(path, (rows + "0.9,0.6,1\n").encode(), content_type="text/csv")
        refusal(answer, 422)
        assert f"line {most + 3}, row {most + 2}: more than 10000 results break a constraint" in answer.body.decode(), answer
        answer = client.post(path, {"observations": [{"parameters": {"x": 0.9, "z": 0.9}, "value": 1}] * (most + 1)})
        assert refusal(answer, 422)["errors"][0]["pointer"] == f"/observations/{most}", answer
        assert client.study(study)["observations"] == 0
        assert client.post(path, rows.encode(), content_type="text/csv").json["accepted"] == most + 1


REFUSED = {
    "a column is named": (MIX, ["water + oil <= 1", "water + oli <= 1"], "/domain/constraints/1", "column 9: 'oli' is not a parameter of this space"),
    "no list": (MIX, "water <= 1", "/domain/constraints", "must be a list"),
    "nothing in the list": (MIX, [], "/domain/constraints", "must not be empty"),
    "no text": (MIX, [1], "/domain/constraints/0", "must be a string"),
    "too long": (MIX, ["water" + " " * 1000 + "<= 1"], "/domain/constraints/0", "must have at most 1000 bytes"),
    "too many": (MIX, ["water <= 1"] * 65, "/domain/constraints", "must have at most 64"),
    "no points": (MIX, ["water >= oil", "water + oil + salt >= 3.5"], "/domain/constraints/1", "satisfies it together with the other constraints"),
    "a conflict": (MIX, ["water >= 0.8", "oil >= 0.1", "oil + water <= 0.7"], "/domain/constraints/2", "without it there are such points"),
    "one that nothing keeps": (MIX, ["water + oil = 2.5"], "/domain/constraints/0", "was found that satisfies it"),
    "next to none": (MIX, ["water <= 0.3", "water >= 0.3"], "/domain/constraints/1", "or almost none"),
    "none of a list": (MIXED[4:7], ["a + b + c = 31"], "/domain/constraints/0", "was found that satisfies it"),
}


@cases(REFUSED)
def test_refusals(case, server):
    parameters, rules, pointer, detail = case
    problem = refusal(server.client().post("/v1/studies", constrained(parameters, rules)), 422, pointer)
    assert detail in str(problem), problem


def test_definitions_come_back(server):
    client = server.client()
    study = client.create(constrained(MIXED, MIXED_RULES))
    assert study["domain"]["constraints"] == MIXED_RULES
    drive(client, study["id"], 3, check_mixed, mixed_loss)
    exported = client.get(f"/v1/studies/{study['id']}/export?format=ndjson").body
    client.delete(f"/v1/studies/{study['id']}")
    made = client.post("/v1/studies", exported, content_type="application/x-ndjson")
    assert made.status == 201 and client.study(study["id"])["domain"] == study["domain"], made
    drive(client, study["id"], 2, check_mixed, mixed_loss)


@cases({"kept": (0.25, True), "broken": (0.9, False)})
def test_defaults_are_tried_first_if_they_keep_the_constraints(server, case):
    default, first = case
    client = server.client()
    parameters = [
        {"name": "x", "type": "double", "min": 0, "max": 1, "default": 0.5},
        {"name": "z", "type": "double", "min": 0, "max": 1, "default": default},
    ]
    study = client.create(constrained(parameters, ["x + z <= 1"]))["id"]
    point = client.ask(study, 1, wait_seconds=30)["trials"][0]["parameters"]
    assert (point == {"x": 0.5, "z": default}) == first and point["x"] + point["z"] <= 1 + 1e-9, point
