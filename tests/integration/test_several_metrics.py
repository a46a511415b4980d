"""Studies with several objectives and with bounds: what is found, what survives a kill to the bit, and what is refused."""

import math

from database_commands import expect_sound
from server import Server, run_to_end
from support import cases, grid, refusal
from test_events import Stream, pause, paused

BRANIN = {"name": "branin", "goal": "minimize", "threshold": 18}
CURRIN = {"name": "currin", "goal": "minimize", "threshold": 6}
SUM = {"name": "sum", "role": "constraint", "at_most": 1.6}
NOTE = {"name": "note", "role": "recorded"}
SQUARE = {"type": "space", "parameters": [{"name": n, "type": "double", "min": 0, "max": 1} for n in "xy"]}
STEPS = {"type": "space", "parameters": [{"name": n, "type": "integer", "min": 0, "max": 15} for n in "xy"]}
LIST = {"type": "candidates", "scaling": "none", "points": grid(20)}
DOMAINS = {"a list": LIST, "an open space": SQUARE, "an enumerated space": STEPS}


def values_at(x, y):
    """Branin and Currin, both minimized, on the unit square."""
    a, b = 15 * x - 5, 15 * y
    t = b - 5.1 / (4 * math.pi**2) * a * a + 5 / math.pi * a - 6
    share = 1 - math.exp(-0.5 / y) if y > 0 else 1
    top = ((2300 * x + 1900) * x + 2092) * x + 60
    return {
        "branin": t * t + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10,
        "currin": share * top / (((100 * x + 500) * x + 4) * x + 20),
        "sum": x + y,
    }


def point_of(trial):
    if "point" in trial:
        return trial["point"]
    x, y = trial["parameters"]["x"], trial["parameters"]["y"]
    return (x / 15, y / 15) if isinstance(x, int) else (x, y)


def create(client, domain, *metrics, **fields):
    body = {"metrics": list(metrics), "domain": domain, "seed": 5, **fields}
    return client.post("/v1/studies", body)


def measured(trial, *metrics):
    values = values_at(*point_of(trial))
    return {"trial": trial["id"], "values": {m["name"]: values[m["name"]] for m in metrics if m.get("role") != "recorded"}}


def run(client, study, metrics, rounds, count=2):
    """-> the points in the order of the trials"""
    points = []
    for _ in range(rounds):
        trials = client.ask(study, count, wait_seconds=30)["trials"]
        assert len(trials) == count, trials
        client.tell(study, [measured(trial, *metrics) for trial in trials])
        points += [point_of(trial) for trial in trials]
    return points


def dominates(a, b, names):
    return all(a[n] <= b[n] for n in names) and any(a[n] < b[n] for n in names)


@cases(DOMAINS)
def test_front_is_found_and_shown(server, case):
    client = server.client()
    metrics = [BRANIN, CURRIN, SUM, NOTE]
    study = create(client, case, *metrics).json["id"]
    run(client, study, metrics, 12)
    client.ask(study, 1, wait_seconds=30)  # a batch that knows all results
    best = client.get(f"/v1/studies/{study}/best").json
    assert best["reference"] == {"branin": 18, "currin": 6} and best["reference_inferred"] is False, best
    assert best["hypervolume"] > 25, best["hypervolume"]
    front = [point["values"] for point in best["observed"]["pareto"]]
    assert len(front) > 3 and all(v["sum"] <= 1.6 for v in front), front
    assert not any(dominates(a, b, ["branin", "currin"]) for a in front for b in front), front
    for point in best["recommended"]["pareto"]:
        assert set(point["values"]) == {"branin", "currin", "sum"} and point["pulls"] >= 1, point
        assert 0.5 <= point["feasible_probability"] <= 1, point
    # its history ends at it
    series = client.get(f"/v1/studies/{study}/series").json["items"]
    volumes = [item["hypervolume"] for item in series]
    assert volumes == sorted(volumes) and abs(volumes[-1] - best["hypervolume"]) < 1e-9 * volumes[-1], volumes
    currin = client.get(f"/v1/studies/{study}/series?metric=currin").json["items"]
    assert currin[-1]["best"] == min(item["value"] for item in currin), currin
    assert "best" not in client.get(f"/v1/studies/{study}/series?metric=sum").json["items"][0]
    model = client.get(f"/v1/studies/{study}/model?metric=currin").json
    assert model != client.get(f"/v1/studies/{study}/model").json and model["fitted_on"] > 0, model


@cases({"several objectives": (BRANIN, CURRIN), "a bound": ({"name": "branin", "goal": "minimize"}, SUM)})
def test_a_new_study_has_nothing_to_show(server, case):
    """Reading it before its first batch ended the server."""
    client = server.client()
    study = create(client, LIST, *case).json["id"]
    best = client.read(study, "best")
    assert best["recommended"] in (None, {"pareto": []}) and best["observed"] in (None, {"pareto": []}), best
    for part in ("series?points=10", "model", "candidates?limit=5", "export?format=csv"):
        assert client.get(f"/v1/studies/{study}/{part}").status in (200, 409), part
    (found,) = client.post(f"/v1/studies/{study}/predict", {"points": [[0.1, 0.1]]}).json["predictions"]
    assert set(found["values"]) == {metric["name"] for metric in case}, found


def test_predictions_are_of_every_metric(server):
    client = server.client()
    metrics = [BRANIN, CURRIN, SUM]
    study = create(client, LIST, *metrics).json["id"]
    run(client, study, metrics, 8)
    client.ask(study, 1, wait_seconds=30)
    found = client.post(f"/v1/studies/{study}/predict", {"points": [[0.1, 0.1], [1, 1]]}).json["predictions"]
    assert [set(p) for p in found] == [{"values", "feasible_probability"}] * 2, found
    assert all(set(p["values"]) == {"branin", "currin", "sum"} for p in found), found
    assert found[0]["feasible_probability"] > 0.9 > 0.1 > found[1]["feasible_probability"], found
    assert abs(found[0]["values"]["sum"]["mean"] - 0.2) < 0.05, found


def test_candidates_have_predictions_of_every_metric(server):
    """They are those of `predict`, and each can be sorted by. Of a constraint, what is far from its bound is first."""
    client = server.client()
    metrics = [BRANIN, CURRIN, SUM]
    study = create(client, LIST, *metrics).json["id"]
    run(client, study, metrics, 6)
    client.ask(study, 1, wait_seconds=30)
    path = f"/v1/studies/{study}/candidates"
    listed = client.items(path)
    predicted = client.predict(study, candidates=list(range(400)))
    assert [{name: c["posterior"][name] for name in ("values", "feasible_probability")} for c in listed] == predicted
    assert all(c["posterior"]["mean"] == c["posterior"]["values"]["branin"]["mean"] for c in listed)
    assert client.get(f"{path}/7").json == listed[7]

    def expect_sorted(sort, key):
        assert client.items(f"{path}?sort={sort}", limit=150) == sorted(listed, key=lambda c: (key(c["posterior"]), c["candidate"])), sort

    for name in ("branin", "currin", "sum"):
        expect_sorted(f"mean.{name}", lambda p: p["values"][name]["mean"])
        expect_sorted(f"ucb.{name}", lambda p: p["values"][name]["ucb"])
        expect_sorted(f"std.{name}", lambda p: -p["values"][name]["std"])
    expect_sorted("mean", lambda p: p["values"]["branin"]["mean"])
    expect_sorted("feasible_probability", lambda p: -p["feasible_probability"])
    for sort in ("mean.", "mean.note", "pulls.branin", "mean branin", "feasible_probability.sum"):
        refusal(client.get(f"{path}?sort={sort.replace(' ', '%20')}"), 422)
    free = create(client, LIST, {"name": "currin", "goal": "minimize"}).json["id"]
    refusal(client.get(f"/v1/studies/{free}/candidates?sort=feasible_probability"), 422)
    run(client, free, [CURRIN], 1)
    client.ask(free, 1, wait_seconds=30)
    path = f"/v1/studies/{free}/candidates"
    by_name = client.items(f"{path}?sort=mean.currin")
    assert by_name == client.items(f"{path}?sort=mean") and "values" not in by_name[0]["posterior"]


def test_one_objective_with_bounds(server):
    """The best value breaks the bound; the best that keeps it is found and recommended."""
    client = server.client()
    metrics = [{"name": "currin", "goal": "minimize"}, {"name": "sum", "role": "constraint", "at_least": 0.5, "at_most": 0.7}]
    study = create(client, LIST, *metrics).json["id"]
    run(client, study, metrics, 15)
    client.ask(study, 1, wait_seconds=30)
    best = client.get(f"/v1/studies/{study}/best").json
    allowed = [values_at(*p) for p in LIST["points"] if 0.5 <= p[0] + p[1] <= 0.7]
    ranks = sorted(v["currin"] for v in allowed)
    assert best["observed"]["value"] <= ranks[4], (best, ranks[:6])
    assert 0.5 <= best["observed"]["values"]["sum"] <= 0.7, best
    assert best["recommended"]["feasible_probability"] >= 0.5, best
    shown = client.get(f"/v1/studies/{study}").json["best"]
    assert shown["trial"] == best["observed"]["trial"], (shown, best)
    items = client.get(f"/v1/studies/{study}/series").json["items"]
    assert items[-1]["best"] == best["observed"]["value"], items[-1]


def test_a_whole_number_on_its_bound_is_recommended(server):
    """The best point has the largest sum that is allowed. For its model it is as likely to be above it."""
    client = server.client()
    metrics = [{"name": "value", "goal": "maximize"}, {"name": "sum", "role": "constraint", "at_most": 8}]
    study = create(client, STEPS, *metrics, seed=1).json["id"]
    for _ in range(20):
        (trial,) = client.ask(study, wait_seconds=30)["trials"]
        x, y = trial["parameters"]["x"], trial["parameters"]["y"]
        client.tell(study, [{"trial": trial["id"], "values": {"value": x + 2 * y - 0.01 * x * y, "sum": x + y}}])
    client.ask(study, wait_seconds=30)
    best = client.read(study, "best")
    assert best["observed"]["value"] == 16, best
    assert best["recommended"]["parameters"] == {"x": 0, "y": 8}, best
    assert best["recommended"]["feasible_probability"] > 0.99, best


def best_events(server, client, study, after=0):
    """-> the trials of the events with `best: true` after an id, and the last id"""
    pause(client, study)
    stream = Stream(server, study, after)
    events = stream.until(paused)
    stream.close()
    pause(client, study, "active")
    return [data["id"] for _, kind, data in events if kind in ("trial", "late") and data.get("best")], events[-1][0]


def test_events_name_the_best_result_of_one_objective(server):
    """With a bound, the last `best: true` is of the best result that keeps it."""
    client = server.client()
    metrics = [{"name": "currin", "goal": "minimize"}, SUM]
    study = create(client, LIST, *metrics).json["id"]
    run(client, study, metrics, 6)
    bests, _ = best_events(server, client, study)
    assert bests[-1] == client.study(study)["best"]["trial"], bests


def test_events_name_the_results_that_enter_the_front():
    """Also after a kill. Imports, amendments and a changed bound move the front, too."""
    metrics = [{"name": "y", "goal": "maximize"}, {"name": "z", "goal": "minimize"}, TOX]
    with Server() as server:
        study = create(server.client(), LINE, *metrics).json["id"]
        seen = 0

        def expect_best(trials, *rows):
            nonlocal seen
            client = server.client()
            tell_values(client, study, metrics, rows)
            bests, seen = best_events(server, client, study, seen)
            assert bests == trials, bests

        expect_best([1, 2, 6], (1, 1, 0), (2, 3, 0), (1, 1, 0), (0, 1, 0), (3, 0, 2), (0, 0, 0))
        server.kill()
        server.start()
        client = server.client()
        expect_best([8], (1, 2, 0), (1.5, 2, 1))
        import_values(client, study, metrics, [(1.75, 2, 0), (9, 9, 9)])
        expect_best([10], (1.75, 2.5, 0), (1.75, 1.5, 0))
        for trial, values in ((2, {"y": 1, "z": 2, "tox": 0}), (3, {"y": 1, "z": 0.5, "tox": 0})):
            assert client.post(f"/v1/studies/{study}/trials/{trial}/amend", {"values": values}).status == 200
        expect_best([3, 11], (2, 3, 0), (0.5, 0.5, 0))
        assert client.post(f"/v1/studies/{study}/observations/1/amend", {"state": "failed"}).status == 200
        (failed,) = client.ask(study)["trials"]
        client.tell(study, [{"trial": failed["id"], "state": "failed"}])
        server.kill()
        server.start()
        client = server.client()
        found = {"y": 1.75, "z": 1.25, "tox": 0}
        assert client.post(f"/v1/studies/{study}/trials/{failed['id']}/amend", {"values": found}).status == 200
        expect_best([13], (1.75, 1.25, 0))
        assert patched(client, study, {"name": "tox", "at_most": 2}).status == 200
        expect_best([16], (2.5, 3, 0), (4, 1, 2))
        assert not client.study(study).get("best")
        front = [point["trial"] for point in client.read(study, "best")["observed"]["pareto"]]
        assert sorted(front) == [5, 16], front
        copy = client.get(f"/v1/studies/{study}/export?format=ndjson").body
        with Server() as other:
            assert other.client().post("/v1/studies", copy, content_type="application/x-ndjson").status == 201
        server.stop()
        expect_sound(server.db)


def test_a_large_front_is_not_followed(server):
    """From its 2001st result on, none is named."""
    client = server.client()
    metrics = [{"name": "y", "goal": "maximize"}, {"name": "z", "goal": "minimize"}]
    study = create(client, LINE, *metrics).json["id"]
    import_values(client, study, metrics, [(i, i) for i in range(1999)])
    tell_values(client, study, metrics, [(2000, 2000), (2001, 2001), (2002, 2002)])
    bests, _ = best_events(server, client, study)
    assert bests == [1], bests


Y = {"name": "y", "goal": "maximize"}
TOX = {"name": "tox", "role": "constraint", "at_most": 1}
LINE = {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]}
ONE_BOUNDED = {
    "a bound on another metric": ([Y, TOX], [(1, 0.5)], [(10, 5), (0.5, 0.5)], ("trial", 1)),
    "a bound on the objective": ([Y | {"at_most": 2}], [(1,)], [(10,), (0.5,)], ("trial", 1)),
    "an import that keeps it": ([Y, TOX], [(1, 0.5)], [(10, 5), (3, 1), (3, 1)], ("observation", 2)),
    "no trial": ([Y, TOX], [], [(10, 5), (3, 1)], ("observation", 2)),
    "nothing that keeps it": ([Y, TOX], [(1, 2)], [(10, 5)], None),
}


def import_values(client, study, metrics, rows):
    named = [{"parameters": {"x": 0.5}, "values": dict(zip([m["name"] for m in metrics], row))} for row in rows]
    answer = client.post(f"/v1/studies/{study}/observations", {"observations": named})
    assert answer.status == 200, answer


def tell_values(client, study, metrics, rows):
    for row in rows:
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        client.tell(study, [{"trial": trial["id"], "values": dict(zip([m["name"] for m in metrics], row))}])


@cases(ONE_BOUNDED)
def test_the_best_of_imports_keeps_the_bounds(case):
    """In the study and in lists as in `best`; also after a restart, in forks and in new studies with its history."""
    metrics, told, imported, expected = case

    def check(client, study, kind, number):
        shown, found = client.study(study)["best"], client.read(study, "best")["observed"]
        assert (shown is None) == (found is None) == (number is None), (shown, found)
        (listed,) = [s for s in client.items("/v1/studies") if s["id"] == study]
        assert listed["best"] == shown, (listed, shown)
        if number is not None:
            assert (shown.get(kind), shown["value"]) == (number, found["value"]) and found.get(kind) == number, (shown, found)

    with Server() as server:
        client = server.client()
        study = create(client, LINE, *metrics).json["id"]
        tell_values(client, study, metrics, told)
        import_values(client, study, metrics, imported)
        check(client, study, *(expected or (None, None)))
        new = create(client, LINE, *metrics, history_from=study).json
        fork = client.post(f"/v1/studies/{study}/fork", {"id": "forked", "seed": 3}).json
        value = client.study(study)["best"]["value"] if expected else None
        for made in (new, fork):  # all their results are imported
            assert (made["best"]["value"] if made["best"] else None) == value, made
            assert client.study(made["id"])["best"] == made["best"], made
        server.kill()
        server.start()
        check(server.client(), study, *(expected or (None, None)))


def test_the_best_follows_amendments_of_imports(server):
    client = server.client()
    metrics = [Y, TOX]
    study = create(client, LINE, *metrics).json["id"]
    tell_values(client, study, metrics, [(1, 0.5)])
    import_values(client, study, metrics, [(10, 5), (3, 1)])
    path = f"/v1/studies/{study}/observations"

    def best():
        shown = client.study(study)["best"]
        assert shown["value"] == client.read(study, "best")["observed"]["value"], shown
        return shown.get("observation"), shown["value"]

    assert best() == (2, 3)
    assert client.post(f"{path}/1/amend", {"values": {"y": 10, "tox": 0.5}}).status == 200
    assert best() == (1, 10)
    assert client.post(f"{path}/1/amend", {"values": {"y": 10, "tox": 7}}).status == 200
    assert client.post(f"{path}/2/amend", {"state": "failed"}).status == 200
    assert best() == (None, 1)


def test_amendments_give_all_values_or_none(server):
    """As the schemas Amendment and ImportAmendment say."""
    client = server.client()
    metrics = [Y, TOX, NOTE]
    study = create(client, LINE, *metrics).json["id"]
    tell_values(client, study, metrics, [(1, 0.5, 7)])
    import_values(client, study, metrics, [(3, 1, 7)])
    for path in ("trials/1", "observations/1"):
        call = f"/v1/studies/{study}/{path}/amend"
        refusal(client.post(call, {"value": 2}), 422, "/value")
        refusal(client.post(call, {"values": {"y": 2}}), 422, "/values/tox")
        assert client.post(call, {"values": {"y": 2, "tox": 0.75}}).status == 200
        assert client.read(study, path)["values"] == {"y": 2, "tox": 0.75}


def test_imports_are_no_best_value_of_several_objectives(server):
    client = server.client()
    metrics = [Y, {"name": "z", "goal": "minimize"}, TOX]
    study = create(client, LINE, *metrics).json["id"]
    import_values(client, study, metrics, [(10, 1, 0.5), (11, 2, 5)])
    assert client.study(study)["best"] is None
    assert patched(client, study, {"name": "tox", "at_most": 6}).json["best"] is None
    assert create(client, LINE, *metrics, history_from=study).json["best"] is None
    assert client.post(f"/v1/studies/{study}/fork", {"id": "front", "seed": 3}).json["best"] is None
    assert client.study(study)["best"] is None and client.study("front")["best"] is None
    assert len(client.read(study, "best")["observed"]["pareto"]) == 2


def test_nothing_feasible(server):
    """While no result keeps the bounds, there is no best one, and nothing that breaks them is recommended."""
    client = server.client()
    metrics = [BRANIN | {"threshold": None}, SUM | {"at_most": -1}]
    del metrics[0]["threshold"]
    study = create(client, LIST, *metrics).json["id"]
    run(client, study, metrics, 6)
    client.ask(study, 1, wait_seconds=30)
    assert client.get(f"/v1/studies/{study}/best").json == {"observed": None, "recommended": None}
    assert client.get(f"/v1/studies/{study}").json["best"] is None
    assert all(i["best"] is None for i in client.get(f"/v1/studies/{study}/series").json["items"])


@cases(DOMAINS)
def test_the_study_says_that_nothing_seems_feasible(case):
    """From 20 results on, and no longer once a bound is within reach. It is in the log, which a check plans again."""
    metrics = [BRANIN, CURRIN, SUM | {"at_most": -2}]  # it is at least 0
    with Server() as server:
        client = server.client()
        study = create(client, case, *metrics).json["id"]
        run(client, study, metrics, 9)
        assert "advice" not in client.get(f"/v1/studies/{study}").json  # of 16 results at most
        run(client, study, metrics, 3)
        client.ask(study, 1, wait_seconds=30)
        server.kill()
        server.start()
        client = server.client()
        assert client.get(f"/v1/studies/{study}").json["advice"] == "no_feasible_point", client.get(f"/v1/studies/{study}").json
        copy = client.get(f"/v1/studies/{study}/export?format=ndjson").body
        assert patched(client, study, {"name": "sum", "at_most": 0.3}).status == 200
        run(client, study, metrics, 1, count=3)
        client.ask(study, 1, wait_seconds=30)
        assert "advice" not in client.get(f"/v1/studies/{study}").json, client.get(f"/v1/studies/{study}").json
        with Server() as other:
            made = other.client().post("/v1/studies", copy, content_type="application/x-ndjson")
            assert made.status == 201 and made.json["advice"] == "no_feasible_point", made
        server.stop()
        status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
        assert (status, out) == (0, ""), (status, out, err)


@cases(DOMAINS)
def test_killed_study_chooses_as_an_unbroken_one(server, case):
    """With a trial in flight, failures and an amended result; and the check finds nothing."""
    metrics = [BRANIN, CURRIN, SUM]

    def act(connect):
        """connect: a new connection, before which the server may be killed"""
        client = connect()
        study = create(client, case, *metrics).json["id"]
        points = run(client, study, metrics, 4)
        client = connect()
        held = client.ask(study, 4, wait_seconds=30)["trials"]  # the first is in flight from now on
        failed, impossible = ({"trial": t["id"], "state": state} for t, state in zip(held[2:], ("failed", "infeasible")))
        client.tell(study, [measured(held[1], *metrics), failed, impossible])
        amended = {"branin": 9.5, "currin": 3.25, "sum": 1}
        assert client.post(f"/v1/studies/{study}/trials/3/amend", {"values": amended}).status == 200
        client = connect()
        points += run(client, study, metrics, 3)
        client = connect()
        points += run(client, study, metrics, 2, count=3)
        return points, client.get(f"/v1/studies/{study}/best").json

    unbroken = act(server.client)
    with Server() as other:

        def killed():
            other.kill()
            other.start()
            return other.client()

        assert act(killed) == unbroken
        other.stop()
        status, out, err = run_to_end("check", "--quiet", "--db", str(other.db))
        assert (status, out) == (0, ""), (status, out, err)


def test_export_makes_the_same_study(server):
    client = server.client()
    metrics = [BRANIN, CURRIN, SUM, NOTE]
    study = create(client, LIST, *metrics, id="first").json["id"]
    run(client, study, metrics, 5)
    text = client.get(f"/v1/studies/{study}/export?format=ndjson").body
    table = client.get(f"/v1/studies/{study}/export?format=csv").body.decode()
    assert "values.currin,values.sum,values.note" in table.splitlines()[0], table
    with Server() as other:
        copy = other.client()
        made = copy.post("/v1/studies", text, content_type="application/x-ndjson")
        assert made.status == 201, made
        for path in ("best", "series", "model?metric=sum"):
            assert copy.get(f"/v1/studies/first/{path}").json == client.get(f"/v1/studies/first/{path}").json, path
        assert run(copy, "first", metrics, 3) == run(client, "first", metrics, 3)


def patched(client, study, *metrics):
    return client.request("PATCH", f"/v1/studies/{study}", {"metrics": list(metrics)})


def test_goals_change_while_running():
    """New thresholds and bounds apply to what follows; a check that replays the log agrees."""
    metrics = [BRANIN, CURRIN, SUM]
    with Server() as server:
        client = server.client()
        study = create(client, LIST, *metrics).json["id"]
        run(client, study, metrics, 5)
        before = client.get(f"/v1/studies/{study}/best").json
        answer = patched(client, study, {"name": "currin", "threshold": 4}, {"name": "sum", "at_most": 0.9})
        assert answer.status == 200, answer
        assert answer.json["metrics"] == [{**BRANIN, "role": "objective"}, {**CURRIN, "role": "objective", "threshold": 4}, {**SUM, "at_most": 0.9}]
        best = client.get(f"/v1/studies/{study}/best").json
        assert best["reference"] == {"branin": 18, "currin": 4} and best["hypervolume"] < before["hypervolume"], best
        assert all(point["values"]["sum"] <= 0.9 for point in best["observed"]["pareto"]), best
        points = run(client, study, metrics, 8)
        assert sum(x + y <= 0.9 for x, y in points[4:]) > len(points[4:]) / 2, points
        server.kill()
        server.start()
        client = server.client()
        assert client.get(f"/v1/studies/{study}").json["metrics"][2]["at_most"] == 0.9
        run(client, study, metrics, 2)
        copy = client.get(f"/v1/studies/{study}/export?format=ndjson").body
        with Server() as other:
            made = other.client().post("/v1/studies", copy, content_type="application/x-ndjson")
            assert made.status == 201, made
        server.stop()
        status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
        assert (status, out) == (0, ""), (status, out, err)


def test_the_search_keeps_a_bound_that_has_changed(server):
    """The value grows with x, and so does what is bounded."""
    client = server.client()
    study = create(client, LINE, Y, TOX).json["id"]
    points = []
    for bound in (2, 1):
        patched(client, study, {"name": "tox", "at_most": bound})
        for _ in range(8):
            (trial,) = client.ask(study, wait_seconds=30)["trials"]
            points.append(trial["parameters"]["x"])
            client.tell(study, [{"trial": trial["id"], "values": {"y": points[-1], "tox": 4 * points[-1]}}])
    assert 0.49 < max(x for x in points[:8] if x <= 0.5), points
    assert all(x <= 0.26 for x in points[9:]), points
    assert 0.249 < client.study(study)["best"]["value"] <= 0.25, points


def test_results_say_whether_they_keep_the_bounds(server):
    client = server.client()
    study = create(client, LINE, Y | {"at_least": 0}, TOX).json["id"]
    told, failed, pending = client.ask(study, 3)["trials"]
    assert "feasible" not in pending
    client.tell(study, [{"trial": told["id"], "values": {"y": 1, "tox": 1.5}}, {"trial": failed["id"], "state": "failed"}])
    changed = client.post(f"/v1/studies/{study}/trials/{told['id']}/amend", {"values": {"y": 1, "tox": 1}}).json
    assert changed["feasible"] is True, changed
    shown = client.get(f"/v1/studies/{study}/trials/{told['id']}").json
    assert shown["feasible"] is True and shown["amendments"][0]["was"]["feasible"] is False, shown
    assert all(("feasible" in trial) == ("value" in trial) for trial in client.items(f"/v1/studies/{study}/trials"))
    changed = client.post(f"/v1/studies/{study}/trials/{told['id']}/amend", {"values": {"y": -1, "tox": 1}}).json
    assert changed["feasible"] is False, changed
    free = create(client, LINE, Y, {"name": "tox", "goal": "minimize"}).json["id"]
    tell_values(client, free, [Y, TOX], [(1, 2)])
    (told,) = client.items(f"/v1/studies/{free}/trials?state=completed")
    assert "feasible" not in told, told


NEW_BOUNDS = {
    2: ("trial", 1),
    0.6: ("trial", 3),
    1.7: ("observation", 1),
    0.1: None,
    1: ("trial", 2),
}


def test_bounds_of_one_objective_change_while_running():
    """The best result is found again, among trials and imports, and the log says which it is."""
    with Server() as server:
        client = server.client()
        study = create(client, LINE, Y, TOX).json["id"]
        tell_values(client, study, [Y, TOX], [(3, 2), (2, 0.9), (1, 0.5)])
        import_values(client, study, [Y, TOX], [(2.5, 1.5)])
        for bound, best in NEW_BOUNDS.items():
            changed = patched(client, study, {"name": "tox", "at_most": bound}).json
            assert changed["metrics"][1]["at_most"] == bound
            for shown in (changed["best"], client.study(study)["best"], client.read(study, "best")["observed"]):
                assert (shown[best[0]] == best[1]) if best else (shown is None), (bound, shown)
            (imported,) = client.items(f"/v1/studies/{study}/observations")
            results = [*client.items(f"/v1/studies/{study}/trials?state=completed"), imported]
            assert [result["feasible"] for result in results] == [tox <= bound for tox in (2, 0.9, 0.5, 1.5)], (bound, results)
        best = client.study(study)["best"]
        server.kill()
        server.start()
        client = server.client()
        assert client.study(study)["best"] == best
        copy = client.get(f"/v1/studies/{study}/export?format=ndjson").body
        fork = client.post(f"/v1/studies/{study}/fork", {"id": "fork"})
        assert fork.json["best"] == best, fork
        with Server() as other:
            made = other.client().post("/v1/studies", copy, content_type="application/x-ndjson")
            assert made.json["best"] == best, made
        server.stop()
        status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
        assert (status, out) == (0, ""), (status, out, err)


def test_a_study_from_before_the_rule_of_the_reference_stays_without(server):
    """By the lower quartile, an end of ZDT2's front is lost when most of the tried points are good."""
    client = server.client()
    metrics = [{"name": "f", "goal": "minimize"}, {"name": "g", "goal": "minimize"}]
    domain = {"type": "space", "parameters": [{"name": f"x{i}", "type": "double", "min": 0, "max": 1} for i in range(3)]}
    body = {"metrics": metrics, "domain": domain, "seed": 2}
    study = client.create(body)["id"]
    assert client.study(study)["algorithm"]["reference"] == "second_worst"
    exported = client.get(f"/v1/studies/{study}/export?format=ndjson").body
    before = exported.replace(b',\\"reference\\":\\"second_worst\\"', b"")
    assert before != exported
    assert client.post("/v1/studies?id=before", before, content_type="application/x-ndjson").status == 201
    assert "reference" not in client.study("before")["algorithm"]
    given = client.create({**body, "algorithm": {"name": "log_ei", "reference": "quartile"}})["id"]
    points, largest = {}, {}
    for one in ("before", given, study):
        points[one] = []
        for _ in range(30):
            (trial,) = client.ask(one, wait_seconds=30)["trials"]
            x = [trial["parameters"][f"x{i}"] for i in range(3)]
            points[one].append(x)
            rest = 1 + 4.5 * (x[1] + x[2])
            client.tell(one, [{"trial": trial["id"], "values": {"f": x[0], "g": rest * (1 - (x[0] / rest) ** 2)}}])
        largest[one] = max(x[0] for x in points[one] if x[1] + x[2] < 0.01)
    assert points["before"] == points[given] != points[study]
    assert largest[study] > 0.9, largest
    # With thresholds, these are the reference point.
    changed = [{"name": "f", "threshold": 1.1}, {"name": "g", "threshold": 1.1}]
    assert client.request("PATCH", f"/v1/studies/{study}", {"metrics": changed}).status == 200


def test_refused_goals(server):
    client = server.client()
    study = create(client, LIST, BRANIN, CURRIN, SUM, NOTE).json["id"]
    cases = {
        "/metrics/0/name": {"name": "x", "threshold": 1},
        "/metrics/0/threshold": {"name": "note", "threshold": 1},
        "/metrics/0/at_least": {"name": "sum", "at_least": 1},
        "/metrics/0/at_most": {"name": "sum", "at_most": "1"},
        "/metrics/0/goal": {"name": "branin", "goal": "maximize"},
    }
    for pointer, change in cases.items():
        refusal(patched(client, study, change), 422, pointer)
    rules = {"stop_when": [{"rule": "target", "value": 1}]}
    refusal(client.request("PATCH", f"/v1/studies/{study}", rules), 422, "/stop_when")
    one = create(client, LIST, {"name": "currin", "goal": "minimize"}, SUM).json["id"]
    refusal(patched(client, one, {"name": "sum", "at_least": 1}), 422, "/metrics/0/at_least")
    refusal(patched(client, one, {"name": "currin", "threshold": 1}), 422, "/metrics/0/threshold")
    two = create(client, LIST, NOTE, {"name": "currin", "goal": "minimize"}, SUM | {"at_least": 0.5}).json["id"]
    refusal(patched(client, two, {"name": "sum", "at_most": 0.5}), 422, "/metrics/0/at_most")
    refusal(patched(client, two, {"name": "sum", "at_least": 2}), 422, "/metrics/0/at_least")
    assert patched(client, two, {"name": "sum", "at_least": 2}, {"name": "sum", "at_most": 3}).status == 200
    bare = create(client, LIST, {"name": "branin", "goal": "minimize"}, {"name": "currin", "goal": "minimize"}).json["id"]
    refusal(patched(client, bare, {"name": "currin", "threshold": 1}), 422, "/metrics")
    assert patched(client, bare, {"name": "currin", "threshold": 1}, {"name": "branin", "threshold": 1}).status == 200


REFUSED = {
    "a bandit": ([BRANIN, CURRIN], {"algorithm": {"name": "bbkb"}}, "/algorithm/name"),
    "regret": ([BRANIN, CURRIN], {"aim": "regret"}, "/aim"),
    "one noise for all": ([BRANIN, CURRIN], {"algorithm": {"name": "log_ei", "noise_std": 0.1}}, "/algorithm/noise_std"),
    "an optimum": ([BRANIN, CURRIN], {"optimum": 1}, "/optimum"),
    "stopping": ([BRANIN, CURRIN], {"stopping": {"rule": "median"}}, "/stopping"),
    "results of another study": ([BRANIN, CURRIN], {"history_from": "a"}, "/history_from"),
    "a rule to stop by": ([BRANIN, CURRIN], {"stop_when": [{"rule": "target", "value": 1}]}, "/stop_when"),
    "half of the thresholds": ([BRANIN, {"name": "currin", "goal": "minimize"}], {}, "/metrics"),
    "a constraint without bounds": ([BRANIN, {"name": "sum", "role": "constraint"}], {}, "/metrics/1"),
}


@cases(REFUSED)
def test_refused_studies(server, case):
    metrics, fields, pointer = case
    refusal(create(server.client(), LIST, *metrics, **fields), 422, pointer)


def test_refused_results(server):
    client = server.client()
    metrics = [BRANIN, CURRIN, SUM]
    study = create(client, LIST, *metrics).json["id"]
    trial = client.ask(study, 1)["trials"][0]["id"]

    def tell(result):
        return client.post(f"/v1/studies/{study}/tell", {"results": [{"trial": trial, **result}]})

    refusal(tell({"value": 1}), 422, "/results/0/value")
    refusal(tell({"values": {"branin": 1, "sum": 1}}), 422, "/results/0/values/currin")
    refusal(tell({"values": {"branin": 1, "currin": 1, "sum": 1, "x": 1}}), 422, "/results/0/values/x")
    assert tell({"values": {"branin": 1, "currin": 2, "sum": 1}}).json["accepted"] == 1
    assert tell({"values": {"branin": 1, "currin": 2, "sum": 1}}).json["duplicates"] == 1
    refusal(tell({"values": {"branin": 1, "currin": 3, "sum": 1}}), 409)
    refusal(client.post(f"/v1/studies/{study}/trials/{trial}/amend", {"value": 1}), 422, "/value")
    refusal(client.post(f"/v1/studies/{study}/observations", {"observations": [{"candidate": 1, "value": 1}]}), 422)
    refusal(client.get(f"/v1/studies/{study}/series?metric=x"), 422)
    refusal(client.get(f"/v1/studies/{study}/model?metric=x"), 422)


def test_every_metric_has_insight(server):
    """The gain follows x, the cost y; each is told of as itself, in its own units and direction."""
    client = server.client()
    study = client.create({
        "metrics": [{"name": "gain", "goal": "maximize"}, {"name": "cost", "goal": "minimize"},
                    {"name": "heat", "role": "constraint", "at_most": 5}, {"name": "note", "role": "recorded"}],
        "domain": {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1},
                                                   {"name": "y", "type": "double", "min": 0, "max": 1}]},
        "algorithm": {"name": "log_ei"}, "seed": 5})["id"]
    rows = [{"parameters": {"x": x, "y": y}, "values": {"gain": 2 * x, "cost": 7 + y, "heat": x - y}}
            for x in (0, 0.3, 0.7, 1) for y in (0, 0.4, 0.6, 1)]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
    assert client.ask(study, 1)["trials"]

    def get(path):
        answer = client.get(f"/v1/studies/{study}/{path}")
        assert answer.status == 200, answer
        return answer.json

    for metric, matters in (("gain", "x"), ("cost", "y")):
        for _ in range(2):  # the second answer is the kept one
            shown = get(f"importance?metric={metric}")
            assert shown["metric"] == metric
            assert max(shown["parameters"], key=lambda p: p["total"])["parameter"] == matters, shown
    assert get("importance") == get("importance?metric=gain")
    effect = get("effects?parameter=y&metric=cost&points=5")
    means = [item["mean"] for item in effect["effects"]]
    assert effect["metric"] == "cost" and means == sorted(means) and 6.9 < means[0] < means[-1] < 8.1, effect
    for metric, low, high in (("gain", 0, 2), ("cost", 7, 8), ("heat", -1, 1)):
        seen = get(f"diagnostics?metric={metric}")
        assert seen["metric"] == metric and seen["observations"] == 16
        assert all(low <= p["value"] <= high for p in seen["predictions"]), seen
    assert client.get(f"/v1/studies/{study}/importance?metric=note").status == 422
    assert client.get(f"/v1/studies/{study}/outlook?metric=cost").status == 422
    assert "one objective and without bounds" in refusal(client.get(f"/v1/studies/{study}/outlook"), 409)["detail"]


def test_the_outlook_is_refused_with_a_bound(server):
    """The recommended point must keep the bound, and what may be gained depends on it."""
    client = server.client()
    study = client.create({"metrics": [{"name": "gain", "goal": "maximize"},
                                       {"name": "heat", "role": "constraint", "at_most": 0.5}],
                           "domain": SQUARE, "seed": 5})["id"]
    rows = [{"parameters": {"x": x, "y": y}, "values": {"gain": x, "heat": x}}
            for x in (0, 0.3, 0.7, 1) for y in (0, 0.4, 0.6, 1)]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
    assert client.ask(study, 1)["trials"]
    refusal(client.get(f"/v1/studies/{study}/outlook"), 409)


def test_threads_change_no_pick():
    """With two objectives, a bound and standard errors, in a list and in a space, ten at a time."""
    points = [[i / 19, j / 19] for i in range(20) for j in range(20)]
    space = {"type": "space", "parameters": [{"name": n, "type": "double", "min": 0, "max": 1} for n in "xy"]}
    chosen = {}
    for threads in (1, 2, 4):
        with Server("--threads", str(threads)) as server:
            client = server.client()
            for name, domain in (("list", {"type": "candidates", "points": points}), ("space", space)):
                client.create({"id": name, "domain": domain, "algorithm": {"name": "log_ei"}, "seed": 8,
                               "metrics": [{"name": "gain", "goal": "maximize"}, {"name": "cost", "goal": "minimize"},
                                           {"name": "heat", "role": "constraint", "at_most": 1.2}]})
                picks = chosen.setdefault(name, {}).setdefault(threads, [])
                for _ in range(3):
                    trials = client.ask(name, 10)["trials"]
                    picks += [trial.get("point") or trial["parameters"] for trial in trials]
                    results = []
                    for trial in trials:
                        x, y = trial.get("point") or trial["parameters"].values()
                        results.append({"trial": trial["id"], "std_errors": {"gain": 0.01 + 0.1 * x},
                                        "values": {"gain": x + 0.3 * y, "cost": x * y, "heat": x + y}})
                    client.tell(name, results)
    for name, picks in chosen.items():
        assert len(picks[1]) == 30 and picks[1] == picks[2] == picks[4], (name, picks)
