"""Spaces with too many points to list: they are numbered as they are visited."""

import json
import math
import threading

from server import Server
from support import cases, refusal
from database_commands import expect_sound
from test_gone import only_listen
from test_spaces import check_point, space

MIXED = [
    {"name": "depth", "type": "integer", "min": 1, "max": 12, "active_when": {"parameter": "kind", "in": ["tree"]}},
    {"name": "rate", "type": "double", "min": 1e-5, "max": 1, "scale": "log"},
    {"name": "kind", "type": "categorical", "values": ["line", "tree", "net"]},
    {"name": "wärme/~", "type": "double", "min": -1, "max": 3, "default": 0.5},
    {"name": "units", "type": "integer", "min": 1, "max": 4096, "scale": "log", "active_when": {"parameter": "kind", "in": ["net"]}},
    {"name": "skip", "type": "boolean", "active_when": {"parameter": "units", "in": [64, 128]}},
]


def mixed(algorithm=None, **fields):
    given = {"kernel": {"type": "matern", "lengthscale": 0.5}, "noise_std": 0.1, "standardize_rewards": False}
    return space(MIXED, {**given, **(algorithm or {})}, **fields)


def loss(values):
    worst = abs(math.log10(values["rate"]) + 3) / 3 + abs(values["wärme/~"] - 1) / 3
    worst += {"line": 0.5, "tree": 0.1, "net": 0.3}[values["kind"]]
    return worst + abs(values.get("depth", 6) - 6) / 20


def tell(client, study, trials):
    client.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])} for trial in trials])


def drive(client, study, trials, **fields):
    """-> the points in their order"""
    chosen = []
    while len(chosen) < trials:
        given = client.ask(study, worker="w", **fields)["trials"]
        assert given, client.study(study)
        chosen += [trial["parameters"] for trial in given]
        tell(client, study, given)
    return chosen


def lost_in_disk(client, study, asks, restart_at=None, server=None):
    """Trials within 0.3 of the middle, where the loss would be least, fail. -> (how many, the points in their order)"""
    lost, chosen = 0, []
    for number in range(asks):
        if number == restart_at:
            server.kill()
            server.start()
            client = server.client()
        (trial,) = client.ask(study, worker="w")["trials"]
        distance = math.hypot(trial["parameters"]["x"] - 0.5, trial["parameters"]["y"] - 0.5)
        chosen.append(trial["parameters"])
        lost += distance < 0.3
        state = {"state": "failed" if number % 2 else "infeasible"}
        client.tell(study, [{"trial": trial["id"], **(state if distance < 0.3 else {"value": distance})}])
    return lost, chosen


def ask_ahead(client, study, count):
    """Asks for so many, one by one, and tells none."""
    return [client.ask(study, wait_seconds=60)["trials"][0]["parameters"] for _ in range(count)]


def test_few_are_planned_before_they_are_asked_for():
    # noise as large as the function: by the bound a batch has more picks than anybody asks for here
    algorithm = {"name": "bbkb", "noise_std": 3.0, "lambda": 9.0, "ratio_bound": 50}
    with Server() as server:
        client = server.client()
        whole, halves = (client.create(mixed(algorithm))["id"] for _ in range(2))
        for study in (whole, halves):
            drive(client, study, 8)
        seen = []
        for study in (whole, halves):
            points = ask_ahead(client, study, 40)
            if study == halves:
                server.kill()
                server.start()
                client = server.client()
            points += ask_ahead(client, study, 40)
            row = max(client.items(f"/v1/studies/{study}/batches"), key=lambda batch: batch["batch"])
            assert (row["stop_rule"], row["size"] % 16) == ("planned_ahead", 0) and row["size"] >= 64, row
            assert client.study(study)["trials_queued"] < 16
            # what is told ends the batch when its picks are handed out
            told = client.items(f"/v1/studies/{study}/trials?state=pending")[0]
            client.tell(study, [{"trial": told["id"], "value": 1.0}])
            ask_ahead(client, study, 17)
            assert client.study(study)["batch"] == row["batch"] + 2
            seen.append(points)
        assert seen[0] == seen[1]
        expect_sound(server.db, [whole, halves])


def test_further_picks_of_a_batch_do_not_know_later_amendments():
    """A failure that is amended still counts for them, also after a restart: the next batch takes the amendment in."""
    axes = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xyz"]
    with Server("--threads", "2") as server:
        client = server.client()
        study = client.create(space(axes, {"standardize_rewards": False}))["id"]
        for _ in range(3):
            given = client.ask(study, count=8, worker="w")["trials"]
            results = [{"trial": trial["id"], **({"state": "failed"} if trial["parameters"]["x"] < 0.5 else {"value": 1.0})} for trial in given]
            client.tell(study, results)
        held = client.ask(study, count=2, worker="v")["trials"]
        batch = client.study(study)["batch"]
        failed = client.items(f"/v1/studies/{study}/trials?state=failed")
        assert failed
        for trial in failed:
            answer = client.request("POST", f"/v1/studies/{study}/trials/{trial['id']}/amend", {"value": 0.1})
            assert answer.status == 200, answer
        client.tell(study, [{"trial": held[0]["id"], "state": "released"}])  # what is queued is handed out before a new batch
        for worker, x in (("a", 0.1), ("b", 0.2)):
            client.ask(study, count=1, worker=worker, fixed={"x": x})
            server.kill()
            server.start()
            client = server.client()
        assert client.study(study)["batch"] == batch
        expect_sound(server.db, [study])


def test_keeps_out_of_where_trials_fail():
    axes = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]
    definition = {"metric": {"name": "loss", "goal": "minimize"}, "domain": {"type": "space", "parameters": axes}, "seed": 8}
    with Server() as server:
        client = server.client()
        whole, halves = (client.create(definition)["id"] for _ in range(2))
        lost, chosen = lost_in_disk(client, whole, 60)
        assert lost <= 24, lost  # what does not learn from failures loses 50 and more
        assert client.read(whole, "best")["observed"]["value"] < 0.32
        assert lost_in_disk(client, halves, 60, 33, server) == (lost, chosen)


def test_from_ask_to_best(server):
    client = server.client()
    study = client.create(mixed())
    assert (study["state"], study["candidates"]) == ("active", 0), study
    study = study["id"]
    chosen = drive(client, study, 41)
    for values in chosen:
        check_point(MIXED, values)
    trials = client.items(f"/v1/studies/{study}/trials")
    assert [trial["parameters"] for trial in trials] == chosen
    assert not any("candidate" in trial or "point" in trial for trial in trials)
    lowest = min(trials, key=lambda trial: trial["value"])
    client.ask(study, worker="w")
    best = client.read(study, "best")
    observed = {"trial": lowest["id"], "parameters": lowest["parameters"], "value": lowest["value"]}
    (believed,) = client.predict(study, parameters=[lowest["parameters"]])
    lucky = lowest["value"] < believed["mean"] - believed["std"]
    assert best["observed"] == {**observed, "expected": believed["mean"], "lucky": lucky}, (best, believed)
    assert best["recommended"]["parameters"] in chosen, best
    assert client.study(study)["best"] == observed
    model = client.read(study, "model")
    assert all(point in chosen for point in model["dictionary"]["points"]), model
    assert model["dictionary"]["size"] == len(model["dictionary"]["points"]) > 0
    assert "candidates" not in model["dictionary"]
    (predicted,) = client.predict(study, parameters=[lowest["parameters"]])
    assert abs(predicted["mean"] - lowest["value"]) < 0.3, (predicted, lowest)
    assert predicted["ucb"] <= predicted["mean"]


def test_visited_points_are_listed_in_the_order_of_their_first_visit(server):
    client = server.client()
    study = client.create(mixed())["id"]
    chosen = drive(client, study, 15)
    (waiting,) = client.ask(study, worker="w")["trials"]
    visited = []
    for values in [*chosen, waiting["parameters"]]:
        if values not in visited:
            visited.append(values)
    items = client.items(f"/v1/studies/{study}/candidates", limit=4)
    assert [item["candidate"] for item in items] == list(range(len(visited)))
    assert [item["parameters"] for item in items] == visited
    assert sum(item["pulls"] for item in items) == 15
    assert client.read(study, "candidates/3") == items[3]
    assert client.study(study)["candidates"] == len(visited)
    predicted = client.predict(study, parameters=[item["parameters"] for item in items])
    for item, prediction in zip(items, predicted):
        for key in ("mean", "std"):
            assert math.isclose(item["posterior"][key], prediction[key], rel_tol=1e-9, abs_tol=1e-9), item


ALGORITHMS = (
    "bbkb bkb gp_ucb igp_ucb gp_bucb gp_ts async_ts s_gp_ts gp_ei gp_pi log_ei epsilon_greedy "
    "uniform regularized_evolution"
)


@cases({name: name for name in ALGORITHMS.split()})
def test_every_algorithm(case):
    points = []
    for interrupted in (False, True):
        with Server() as server:
            client = server.client()
            body = mixed({"name": case}, id="study", horizon=16)
            if case in ("uniform", "regularized_evolution"):
                body["algorithm"] = {"name": case}
            client.create(body)
            chosen = drive(client, "study", 9)
            if interrupted:
                server.kill()
                server.start()
                client = server.client()
            chosen += drive(client, "study", 7)
            for values in chosen:
                check_point(MIXED, values)
            assert client.study("study")["state"] == "finished"
            points.append(chosen)
    assert points[0] == points[1], "a restart has changed what is chosen"


def test_pi_gp_ucb_in_a_space_of_numbers(server):
    client = server.client()
    numbers = [{"name": n, "type": "double", "min": 0, "max": 1} for n in "ab"]
    algorithm = {"name": "pi_gp_ucb", "kernel": {"type": "matern", "nu": 1.5, "lengthscale": 0.3}, "noise_std": 0.1}
    study = client.create(space(numbers, algorithm, horizon=20))["id"]
    for _ in range(20):
        (trial,) = client.ask(study)["trials"]
        check_point(numbers, trial["parameters"])
        value = (trial["parameters"]["a"] - 0.3) ** 2
        client.tell(study, [{"trial": trial["id"], "value": value}])
    assert client.study(study)["state"] == "finished"


def script(server, how):
    """Asks of several workers, held parameters, own points and imports. -> all that it comes to"""
    client = server.client()
    client.create(mixed(id="study"))

    def cut():
        nonlocal client
        if how:
            how(server)
            server.start()
            client = server.client()

    own = {"kind": "tree", "depth": 6, "rate": 0.001, "wärme/~": 1}
    for step in range(6):
        first = client.ask("study", worker="a")["trials"]
        second = client.ask("study", worker="b", fixed={"kind": ["net", "tree"][step % 2]})["trials"]
        cut()
        tell(client, "study", first)
        rows = [{"parameters": {"kind": "line", "rate": 10.0 ** -(step % 4)}, "value": 1.5}, {"parameters": own, "value": 0.1}]
        answer = client.post("/v1/studies/study/observations", {"observations": rows})
        assert answer.status == 200, answer
        proposed = client.post("/v1/studies/study/trials", {"parameters": {**own, "depth": step + 1}})
        assert proposed.status in (200, 201), proposed
        cut()
        third = client.ask("study", worker="c")["trials"]
        assert third[0]["parameters"] == {**own, "depth": step + 1}, third
        tell(client, "study", second + third)
        cut()
    trials = [
        {key: value for key, value in trial.items() if not key.endswith("_at")}
        for trial in client.items("/v1/studies/study/trials")
    ]
    return trials, client.items("/v1/studies/study/candidates"), client.read("study", "best")


def test_a_restart_changes_nothing():
    outcomes = []
    for how in (None, Server.stop, Server.kill):
        with Server() as server:
            outcomes.append(script(server, how))
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]


def test_the_database_follows_from_its_log():
    """`check` builds the tables again from the log alone, and plans every batch and extension again."""
    with Server() as server:
        script(server, None)
        expect_sound(server.db, ["study"])


def test_the_same_point_is_one_candidate(server):
    client = server.client()
    study = client.create(mixed())["id"]
    point = {"kind": "line", "rate": 0.01}
    rows = [{"parameters": point, "value": 1}, {"parameters": {**point, "wärme/~": 0.5}, "value": 2, "repeats": 3}]
    for _ in range(2):
        assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).json["accepted"] == 2
    client.ask(study)
    items = client.items(f"/v1/studies/{study}/candidates")
    assert items[0]["pulls"] == 8 and abs(items[0]["mean"] - 14 / 8) < 1e-12, items
    # Not the other zero, and not another point: -0.0 is 0.
    zero = {"kind": "line", "rate": 0.01, "wärme/~": 0.0}
    rows = [{"parameters": zero, "value": 1}, {"parameters": {**zero, "wärme/~": -0.0}, "value": 1}]
    before = client.study(study)["candidates"]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
    assert client.study(study)["candidates"] == before + 1


def test_history_comes_as_a_table_too(server):
    client = server.client()
    listed = client.create(mixed())["id"]
    chosen = drive(client, listed, 12)
    other = client.create(mixed())["id"]
    names = [parameter["name"] for parameter in MIXED]
    rows = [",".join([*names, "value"])]
    for values in chosen:
        cells = [values.get(name, "") for name in names]
        rows.append(",".join([repr(c) if isinstance(c, float) else str(c).replace("True", "true").replace("False", "false") for c in cells] + [repr(loss(values))]))
    answer = client.post(f"/v1/studies/{other}/observations", "\r\n".join(rows), content_type="text/csv")
    assert (answer.status, answer.json) == (200, {"accepted": 12, "first": 1, "last": 12}), answer
    client.ask(other)
    items = client.items(f"/v1/studies/{other}/candidates")
    assert [item["parameters"] for item in items if item["pulls"]] == [v for i, v in enumerate(chosen) if v not in chosen[:i]]


@cases(
    {
        "held_number": {"wärme/~": -1},
        "held_word": {"kind": "net"},
        "held_child": {"depth": 3},
        "held_grandchild": {"skip": True},
        "all_held": {"kind": "line", "rate": 0.5, "wärme/~": 2.5},
    }
)
def test_fixed_parameters_are_held(server, case):
    client = server.client()
    study = client.create(mixed())["id"]
    for _ in range(8):
        (trial,) = client.ask(study, worker="w", fixed=case)["trials"]
        check_point(MIXED, trial["parameters"])
        assert {name: trial["parameters"].get(name) for name in case} == case, trial
        tell(client, study, [trial])
    free = drive(client, study, 3)
    for values in free:
        check_point(MIXED, values)


def test_what_was_chosen_for_a_client_that_has_gone(server):
    """Nobody else gets it under their own values, who asks while it is being chosen."""
    client = server.client()
    study = client.create(mixed())["id"]
    drive(client, study, 60)  # so that choosing takes a while
    answers = []
    for step in range(40):
        gone = json.dumps({"fixed": {"wärme/~": 2.5}, "wait_seconds": 60, "worker": "gone"}).encode()
        only_listen(
            server,
            "POST",
            f"/v1/studies/{study}/ask",
            gone,
            then=lambda: answers.append(client.ask(study, fixed={"wärme/~": -0.5}, wait_seconds=60)),
        )
    assert {trial["parameters"]["wärme/~"] for answer in answers for trial in answer["trials"]} == {-0.5}


def test_own_points(server):
    client = server.client()
    study = client.create(mixed(horizon=3))["id"]
    path = f"/v1/studies/{study}/trials"
    point = {"kind": "tree", "depth": 2, "rate": 0.1}
    made = client.post(path, {"parameters": point}, headers={"Idempotency-Key": "x"})
    assert made.status in (200, 201), made
    assert made.json["parameters"] == {**point, "wärme/~": 0.5} and made.json["state"] == "queued", made
    assert client.post(path, {"parameters": point}, headers={"Idempotency-Key": "x"}).body == made.body
    refusal(client.post(path, {"parameters": {**point, "depth": 13}}), 422, "/parameters/depth")
    refusal(client.post(path, {"parameters": {"rate": 0.1}}), 422, "/parameters/kind")
    (trial,) = client.ask(study, worker="w")["trials"]
    assert trial["parameters"] == made.json["parameters"], trial
    for _ in range(2):
        assert client.post(path, {"parameters": point}).status in (200, 201)
    refusal(client.post(path, {"parameters": point}), 409)
    assert client.study(study)["candidates"] == 1


def test_everything_at_once(server):
    """Workers, contexts, own points, imports and readers beside each other: no two points of one number."""
    client = server.client()
    study = client.create(mixed())["id"]
    failures = []

    def run(step):
        mine = server.client()
        try:
            for i in range(12):
                step(mine, i)
        except Exception as error:  # shown by the main thread
            failures.append(error)

    def work(mine, i):
        for trial in mine.ask(study, worker=str(id(mine)), wait_seconds=20)["trials"]:
            check_point(MIXED, trial["parameters"])
            tell(mine, study, [trial])

    def hold(mine, i):
        for trial in mine.ask(study, fixed={"wärme/~": i / 10}, wait_seconds=20)["trials"]:
            assert trial["parameters"]["wärme/~"] == i / 10, trial
            tell(mine, study, [trial])

    def bring(mine, i):
        rows = [{"parameters": {"kind": "line", "rate": 10 ** -(k / 7)}, "value": k} for k in range(i, i + 3)]
        assert mine.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200

    def look(mine, i):
        mine.items(f"/v1/studies/{study}/candidates")
        mine.read(study, "best")

    threads = [threading.Thread(target=run, args=(step,)) for step in (work, work, work, hold, hold, bring, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    items = client.items(f"/v1/studies/{study}/candidates")
    points = [tuple(sorted(item["parameters"].items())) for item in items]
    assert len(set(points)) == len(points) == client.study(study)["candidates"]
    for trial in client.items(f"/v1/studies/{study}/trials"):
        assert tuple(sorted(trial["parameters"].items())) in points


def test_a_study_from_before_warp_unit_stays_without(server):
    client = server.client()
    body = {"metric": {"name": "loss", "goal": "minimize"}, "domain": {"type": "space", "parameters": MIXED}, "seed": 2}
    study = client.create(body)["id"]
    assert client.study(study)["algorithm"]["warp_unit"] == "in_turn"
    exported = client.get(f"/v1/studies/{study}/export?format=ndjson").body
    before = exported.replace(b',\\"warp_unit\\":\\"in_turn\\"', b"")
    assert before != exported
    assert client.post("/v1/studies?id=quartiles", before, content_type="application/x-ndjson").status == 201
    assert "warp_unit" not in client.study("quartiles")["algorithm"]
    kept = exported.replace(b'\\"warp_unit\\":\\"in_turn\\"', b'\\"warp_unit\\":\\"better_half\\"')
    assert client.post("/v1/studies?id=half", kept, content_type="application/x-ndjson").status == 201
    assert client.study("half")["algorithm"]["warp_unit"] == "better_half"
    given = client.create({**body, "algorithm": {"name": "log_ei", "warp_unit": "quartiles"}})["id"]
    scales = []
    for one in ("quartiles", given, study):
        for trial in range(1, 15):
            (asked,) = client.ask(one)["trials"]
            client.tell(one, [{"trial": asked["id"], "value": 10.0 ** (7 - trial)}])
        scales.append(client.read(one, "model")["warp"]["scale"])
    assert scales[0] == scales[1] > 100 * scales[2], scales


def ripples(values):
    """A bowl with ripples: the best value, 0, is at x = 0.4 and y = 0.6."""
    return sum(25 * d * d + 1 - math.cos(25 * d) for d in (values["x"] - 0.4, values["y"] - 0.6))


def shares_of_ripples(client, trials, restart_at=None, server=None):
    """-> the points in their order, and the share of the short range in each model"""
    parameters = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]
    body = {"metric": {"name": "loss", "goal": "minimize"}, "domain": {"type": "space", "parameters": parameters}, "seed": 3}
    study = client.create(body)["id"]
    chosen, shares = [], []
    for number in range(trials):
        if number == restart_at:
            server.kill()
            server.start()
            client = server.client()
        (trial,) = client.ask(study, worker="w")["trials"]
        chosen.append(trial["parameters"])
        if number:
            shares.append(client.read(study, "model").get("short_share", 0))
        client.tell(study, [{"trial": trial["id"], "value": ripples(trial["parameters"])}])
    return chosen, shares


def test_a_kernel_of_two_ranges(server):
    """The model says which share of it has a shorter range, and a restart does not change the points."""
    chosen, shares = shares_of_ripples(server.client(), 24)
    assert max(shares) in (0.1, 0.3) and set(shares) <= {0, 0.1, 0.3}, shares
    assert shares_of_ripples(server.client(), 24, 16, server) == (chosen, shares)
