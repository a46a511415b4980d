"""Results with standard errors: told, imported, amended, carried over; what is shown of them, what the model makes of
them, and that restarts, imports and checks keep them. And imports with several metrics."""

import csv
import json

from server import Server, run_to_end
from support import cases, definition, grid, refusal, target

LEARNS = {"kernel": {"type": "matern", "nu": 2.5}, "lambda": "auto", "noise_std": "auto"}


def learning(client, **fields):
    body = definition(grid(6), {"name": "bbkb"}, **fields)
    body["algorithm"] = {"name": "bbkb", **LEARNS}
    del body["feedback"]
    return client.create(body)["id"]


def tell(client, study, results):
    return client.post(f"/v1/studies/{study}/tell", {"results": results})


def work(client, study, n, error=None):
    chosen = []
    for _ in range(n):
        (trial,) = client.ask(study, 1)["trials"]
        chosen.append(trial["candidate"])
        value = target(trial["point"]) + 0.05 * ((7 * trial["id"]) % 5 - 2)
        result = {"trial": trial["id"], "value": value}
        if error:
            result["std_error"] = error(trial["id"])
        assert tell(client, study, [result]).status == 200
    return chosen


def at(client, study, candidate):
    answer = client.post(f"/v1/studies/{study}/predict", {"candidates": [candidate]})
    return answer.json["predictions"][0]


def import_csv(client, study, text):
    return client.post(f"/v1/studies/{study}/observations", text.encode(), headers={"Content-Type": "text/csv"})


def test_a_told_error_is_shown(server):
    client = server.client()
    study = learning(client)
    first, second, third = client.ask(study, 3)["trials"]
    results = [{"trial": first["id"], "value": 0.5, "std_error": 0.125, "repeats": 4},
               {"trial": second["id"], "values": {"value": 0.25}, "std_errors": {"value": 0.5}},
               {"trial": third["id"], "value": 0.75}]
    assert tell(client, study, results).json == {"accepted": 3, "duplicates": 0, "late": 0}
    assert tell(client, study, results).json["duplicates"] == 3
    refusal(tell(client, study, [{**results[0], "std_error": 0.25}]), 409, "/results/0/trial")
    shown = client.get(f"/v1/studies/{study}/trials/{first['id']}").json
    assert shown["std_error"] == 0.125 and shown["value"] == 0.5 and shown["repeats"] == 4 and "values" not in shown
    listed = {t["id"]: t for t in client.get(f"/v1/studies/{study}/trials").json["items"]}
    assert listed[second["id"]]["std_error"] == 0.5 and "std_errors" not in listed[second["id"]]
    assert "std_error" not in listed[third["id"]]
    table = csv.DictReader(client.get(f"/v1/studies/{study}/export?format=csv").body.decode().splitlines())
    assert [row["std_error"] for row in table] == ["0.125", "0.5", ""]


def amend(client, study, trial, body):
    return client.post(f"/v1/studies/{study}/trials/{trial}/amend", body)


def test_amending_keeps_sets_and_drops_it(server):
    client = server.client()
    body = definition(grid(6), metrics=[{"name": "value", "goal": "maximize"},
                                        {"name": "size", "goal": "minimize", "role": "recorded"}])
    del body["metric"]
    body["algorithm"] = {"name": "bbkb", **LEARNS}
    study = client.create(body)["id"]
    (trial,) = client.ask(study, 1)["trials"]
    number = trial["id"]
    assert tell(client, study, [{"trial": number, "values": {"value": 1, "size": 3}, "std_error": 0.5}]).status == 200
    kept = amend(client, study, number, {"value": 2}).json
    assert kept["std_error"] == 0.5 and kept["values"] == {"value": 2, "size": 3}, kept
    changed = amend(client, study, number, {"value": 2, "std_error": 0.25}).json
    assert changed["std_error"] == 0.25 and changed["values"]["size"] == 3
    dropped = amend(client, study, number, {"values": {"value": 2}}).json
    assert "std_error" not in dropped and "values" not in dropped
    history = client.get(f"/v1/studies/{study}/trials/{number}").json["amendments"]
    assert [past["was"].get("std_error") for past in history] == [0.5, 0.5, 0.25]
    refusal(amend(client, study, number, {"state": "failed", "std_error": 1}), 422, "/std_error")


@cases({"negative": (-1, "/std_error"), "zero": (0, "/std_error"), "tiny": (1e-101, "/std_error"),
        "huge": (1e101, "/std_error"), "text": ("x", "/std_error"), "null": (None, "/std_error")})
def test_bad_errors_are_refused(server, case):
    value, pointer = case
    client = server.client()
    study = learning(client)
    (trial,) = client.ask(study, 1)["trials"]
    body = {"trial": trial["id"], "value": 1, "std_error": value}
    refusal(tell(client, study, [body]), 422, "/results/0" + pointer)
    answer = client.post(f"/v1/studies/{study}/observations", {"observations": [{"candidate": 1, "value": 1, "std_error": value}]})
    refusal(answer, 422, "/observations/0" + pointer)
    assert import_csv(client, study, f"candidate,value,std_error\n1,1,{value}\n").status == 422


def test_what_cannot_be_weighed_is_refused(server):
    client = server.client()
    study = learning(client)
    (trial,) = client.ask(study, 1)["trials"]
    number = trial["id"]
    refusal(tell(client, study, [{"trial": number, "state": "failed", "std_error": 1}]), 422, "/results/0/std_error")
    refusal(tell(client, study, [{"trial": number, "value": 1, "std_errors": {"x/y": 1}}]), 422, "/results/0/std_errors/x~1y")
    refusal(tell(client, study, [{"trial": number, "value": 1, "std_error": 1, "std_errors": {"value": 1}}]), 422,
            "/results/0/std_error")
    fixed = client.create(definition())["id"]
    (trial,) = client.ask(fixed, 1)["trials"]
    problem = refusal(tell(client, fixed, [{"trial": trial["id"], "value": 1, "std_error": 1}]), 422, "/results/0/std_error")
    assert "noise_std" in problem["errors"][0]["detail"]


def test_the_model_weighs_it(server):
    """Two studies with the same values: only the errors say which of the two values of a candidate is right."""
    client = server.client()
    means = []
    for errors in ((0.01, 1), (1, 0.01)):
        study = learning(client)
        rows = "".join(f"{c},{target(p) + shift},{error}\n" for c, p in enumerate(grid(6))
                       for shift, error in zip((0, 1), errors))
        answer = import_csv(client, study, "candidate,value,std_error\n" + rows)
        assert answer.status == 200 and answer.json["accepted"] == 72
        client.ask(study, 1)
        means.append(at(client, study, 14)["mean"])
    assert abs(means[0] - target(grid(6)[14])) < 0.1 and abs(means[1] - 1 - target(grid(6)[14])) < 0.1, means


def error_of(trial):
    return [0.02, 0.3, 0.1][trial % 3]


def test_a_restart_changes_nothing():
    with Server() as server:
        client = server.client()
        chosen = {}
        for name in ("one", "two"):
            body = definition(grid(6), id=name)
            body["algorithm"] = {"name": "bbkb", **LEARNS}
            client.create(body)
            chosen[name] = work(client, name, 12, error_of)
        amended = amend(client, "one", 3, {"value": 0.4, "std_error": 0.01})
        assert amended.status == 200 and amend(client, "two", 3, {"value": 0.4, "std_error": 0.01}).status == 200
        chosen["one"] += work(client, "one", 4, error_of)
        server.stop()
        server.start()
        client = server.client()
        for name in ("one", "two"):
            chosen[name] += work(client, name, 8 if name == "one" else 12, error_of)
        assert chosen["one"] == chosen["two"]
        exported = client.get("/v1/studies/one/export").body
        again = client.post("/v1/studies?id=copy", exported, headers={"Content-Type": "application/x-ndjson"})
        assert again.status == 201, again
        assert at(client, "copy", 5) == at(client, "one", 5)
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db))
        assert status == 0, (out, err)


def test_imports_carry_it(server):
    client = server.client()
    study = learning(client)
    answer = client.post(f"/v1/studies/{study}/observations",
                         {"observations": [{"candidate": 3, "value": 1, "std_error": 0.5, "repeats": 2},
                                           {"candidate": 4, "value": 2}]})
    assert answer.json == {"accepted": 2, "first": 1, "last": 2}
    assert import_csv(client, study, "candidate,value,std_error\n5,3,0.25\n6,4,\n").json["last"] == 4
    items = client.get(f"/v1/studies/{study}/observations").json["items"]
    assert [item.get("std_error") for item in items] == [0.5, None, 0.25, None]
    changed = client.post(f"/v1/studies/{study}/observations/3/amend", {"value": 3, "std_error": 0.125}).json
    assert changed["std_error"] == 0.125
    assert client.get(f"/v1/studies/{study}/observations/3").json["amendments"][0]["was"]["std_error"] == 0.25
    table = client.get(f"/v1/studies/{study}/export?format=csv").body.decode()
    copy = learning(client)
    assert import_csv(client, copy, table).json["accepted"] == 4
    items = client.get(f"/v1/studies/{copy}/observations").json["items"]
    assert [item.get("std_error") for item in items] == [0.5, None, 0.125, None]
    body = definition(grid(6), history_from=study)
    body["algorithm"] = {"name": "bbkb", **LEARNS}
    after = client.create(body)["id"]
    items = client.get(f"/v1/studies/{after}/observations").json["items"]
    assert [item.get("std_error") for item in items] == [0.5, None, 0.125, None]


# ---- several metrics ---------------------------------------------------------------------------------------

SEVERAL = [{"name": "gain", "goal": "maximize"}, {"name": "loss", "goal": "minimize"},
           {"name": "heat", "role": "constraint", "at_most": 1}, {"name": "note", "goal": "maximize", "role": "recorded"}]


def several(client, **fields):
    body = {"metrics": SEVERAL, "domain": {"type": "candidates", "scaling": "none", "points": grid(6)},
            "algorithm": {"name": "log_ei"}, "seed": 3, **fields}
    return client.create(body)["id"]


def outcome(point):
    return {"gain": target(point), "loss": point[0] + 0.1, "heat": point[1] + 0.2, "note": 5}


def test_imports_have_all_metrics(server):
    client = server.client()
    study, points = several(client), grid(6)
    rows = [{"candidate": c, "values": outcome(points[c]), "std_errors": {"gain": 0.1, "heat": 0.05}}
            for c in range(0, 36, 5)]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).json["accepted"] == 8
    (item,) = client.get(f"/v1/studies/{study}/observations?limit=1").json["items"]
    assert item["values"] == outcome(points[0]) and item["std_error"] == 0.1, item
    assert item["std_errors"] == {"gain": 0.1, "heat": 0.05}
    best = client.get(f"/v1/studies/{study}/best").json
    front = best["observed"]["pareto"]
    assert front and all(p["observation"] and "trial" not in p and p["values"]["heat"] <= 1 for p in front)
    assert best["hypervolume"] > 0
    curve = client.get(f"/v1/studies/{study}/series").json["items"]
    assert curve and curve[0]["observation"] == 1
    losses = client.get(f"/v1/studies/{study}/series?metric=loss").json
    assert losses["count"] == 8
    trials = client.ask(study, 2)["trials"]
    assert len(trials) == 2
    missing = {"candidate": 1, "values": {"gain": 1, "loss": 1}}
    refusal(client.post(f"/v1/studies/{study}/observations", {"observations": [missing]}), 422, "/observations/0/values/heat")
    refusal(client.post(f"/v1/studies/{study}/observations", {"observations": [{"candidate": 1, "value": 1}]}), 422,
            "/observations/0/value")
    changed = client.post(f"/v1/studies/{study}/observations/2/amend", {"values": {**outcome(points[5]), "gain": 0.5}})
    assert changed.json["values"]["gain"] == 0.5 and "std_error" not in changed.json


def test_a_table_with_all_metrics(server):
    client = server.client()
    study, points = several(client), grid(6)
    header = "candidate,gain,loss,values.heat,note,std_errors.heat,std_error\n"
    rows = "".join(f"{c},{v['gain']},{v['loss']},{v['heat']},,0.125,{0.5 if c % 2 else ''}\n"
                   for c in range(0, 36, 5) for v in [outcome(points[c])])
    assert import_csv(client, study, header + rows).json["accepted"] == 8
    items = client.get(f"/v1/studies/{study}/observations").json["items"]
    assert "note" not in items[0]["values"] and items[0]["std_errors"] == {"heat": 0.125} and "std_error" not in items[0]
    assert items[1]["std_error"] == 0.5 and items[1]["std_errors"] == {"gain": 0.5, "heat": 0.125}
    answer = refusal(import_csv(client, study, "candidate,gain,loss\n1,1,1\n"), 422)
    assert "row 1" in str(answer) and "heat" in str(answer)
    exported = client.get(f"/v1/studies/{study}/export?format=csv").body.decode()
    copy = several(client)
    assert import_csv(client, copy, exported).json["accepted"] == 8
    same = client.get(f"/v1/studies/{copy}/observations").json["items"]
    assert [i["values"] for i in same] == [i["values"] for i in items]
    assert [i.get("std_errors") for i in same] == [i.get("std_errors") for i in items]


def test_history_with_several_metrics():
    with Server() as server:
        client = server.client()
        study, points = several(client, id="old"), grid(6)
        for _ in range(3):
            for trial in client.ask(study, 2)["trials"]:
                values = outcome(trial["point"])
                tell(client, study, [{"trial": trial["id"], "values": values, "std_errors": {"loss": 0.25}}])
        rows = [{"candidate": c, "values": outcome(points[c])} for c in (1, 2)]
        client.post(f"/v1/studies/{study}/observations", {"observations": rows})
        fewer = client.create({"id": "fewer", "history_from": "old", "metrics": SEVERAL[:2], "seed": 1,
                               "domain": {"type": "candidates", "scaling": "none", "points": points},
                               "algorithm": {"name": "log_ei"}})
        assert fewer["history"]["imported"] == 8, fewer
        items = client.get("/v1/studies/fewer/observations").json["items"]
        assert len(items) == 8 and all(set(i["values"]) == {"gain", "loss"} for i in items)
        assert sum("std_errors" in i for i in items) == 6
        more = client.create({"id": "more", "history_from": "fewer", "metrics": SEVERAL[:3], "seed": 1,
                              "domain": {"type": "candidates", "scaling": "none", "points": points},
                              "algorithm": {"name": "log_ei"}})
        assert client.get("/v1/studies/more/observations").json["items"] == [], more
        first = [t["candidate"] for t in client.ask("fewer", 2)["trials"]]
        server.stop()
        server.start()
        client = server.client()
        assert [t["candidate"] for t in client.get("/v1/studies/fewer/trials").json["items"]] == first
        for trial in client.get("/v1/studies/fewer/trials").json["items"]:
            values = outcome(points[trial["candidate"]])
            tell(client, "fewer", [{"trial": trial["id"], "values": {k: values[k] for k in ("gain", "loss")}}])
        assert client.ask("fewer", 1)["trials"]
        exported = client.get("/v1/studies/fewer/export").body
        assert b'\\"\\":{' in exported
        again = client.post("/v1/studies?id=copy", exported, headers={"Content-Type": "application/x-ndjson"})
        assert again.status == 201, again
        damaged = exported.replace(b'{\\"loss\\":0.25}', b'{\\"loss\\":-1}')
        refused = client.post("/v1/studies?id=bad", damaged, headers={"Content-Type": "application/x-ndjson"})
        assert refused.status == 422 and "standard errors" in json.dumps(refused.json), refused
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db))
        assert status == 0, (out, err)
