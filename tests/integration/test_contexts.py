"""Parameters whose values the asker brings."""

from server import Server
from support import cases, refusal
from database_commands import expect_sound
from test_open_spaces import ALGORITHMS
from test_spaces import space

PARAMETERS = [
    {"name": "heat", "type": "double", "min": 0, "max": 1},
    {"name": "day", "type": "double", "min": 0, "max": 1, "role": "context"},
    {"name": "lot", "type": "categorical", "values": ["a", "b"], "role": "context"},
]


def definition(algorithm="log_ei", parameters=None, **fields):
    made = space(parameters or PARAMETERS, None, **fields)
    made["algorithm"] = {"name": algorithm}
    return made


def best_heat(point):
    return 0.2 + 0.6 * point["day"]


def loss(point):
    """The best heat depends on the day; the lot changes what can be reached."""
    return (point["heat"] - best_heat(point)) ** 2 + (3 if point["lot"] == "b" else 0)


def day_of(k):
    return {"day": round((k * 0.37) % 1, 3), "lot": "ab"[k % 3 == 0]}


def drive(client, study, first, last):
    points = []
    for k in range(first, last):
        (trial,) = client.ask(study, fixed=day_of(k))["trials"]
        point = trial["parameters"]
        assert {name: point[name] for name in ("day", "lot")} == day_of(k), point
        client.tell(study, [{"trial": trial["id"], "value": loss(point)}])
        points.append(point)
    return points


@cases({name: name for name in ALGORITHMS.split()})
def test_every_algorithm_keeps_the_context_across_a_restart(case):
    with Server() as server:
        client = server.client()
        whole, halves = (client.create(definition(case, seed=6))["id"] for _ in range(2))
        expected, points = drive(client, whole, 0, 10), drive(client, halves, 0, 6)
        server.kill()
        server.start()
        client = server.client()
        assert points + drive(client, halves, 6, 10) == expected
        expect_sound(server.db, [whole, halves])


def test_it_is_learned_across_contexts(server):
    client = server.client()
    study = client.create(definition(seed=2))["id"]
    drive(client, study, 0, 24)
    late = drive(client, study, 24, 32)
    errors = sorted(abs(point["heat"] - best_heat(point)) for point in late)
    # every day is another one: what is best for it was never seen; a guess is off by 0.25 on average
    assert errors[len(errors) // 2] < 0.06, errors


def test_an_ask_brings_it(server):
    client = server.client()
    study = client.create(definition())["id"]
    problem = refusal(client.post(f"/v1/studies/{study}/ask", {}), 422, "/fixed/day")
    assert [error["pointer"] for error in problem["errors"]] == ["/fixed/day", "/fixed/lot"], problem
    assert "is a context" in problem["errors"][0]["detail"], problem
    refusal(client.post(f"/v1/studies/{study}/ask", {"fixed": {"day": 0.5}}), 422, "/fixed/lot")
    (trial,) = client.ask(study, fixed={"day": 0.5, "lot": "b"})["trials"]
    client.tell(study, [{"trial": trial["id"], "state": "released"}])
    (other,) = client.ask(study, fixed={"day": 0.25, "lot": "b"})["trials"]
    (again,) = client.ask(study, fixed={"day": 0.5, "lot": "b"})["trials"]
    assert other["id"] != trial["id"] == again["id"]
    assert len(client.ask(study, 3, fixed={"day": 0.75, "lot": "a"})["trials"]) == 3
    refusal(client.post(f"/v1/studies/{study}/trials", {"parameters": {"heat": 0.5, "lot": "a"}}), 422, "/parameters/day")


REFUSED = {
    "all are contexts": (PARAMETERS[1:], {}, "/domain/parameters"),
    "a condition": ([PARAMETERS[0], {**PARAMETERS[1], "active_when": {"parameter": "heat", "min": 0.5}}], {}, "/domain/parameters/1/active_when"),
    "another role": ([{**PARAMETERS[0], "role": "choice"}], {}, "/domain/parameters/0/role"),
    "batches": (PARAMETERS, {"feedback": "batch"}, "/feedback"),
    "many in flight": (PARAMETERS, {"min_in_flight": 4}, "/min_in_flight"),
}


@cases(REFUSED)
def test_refusals(case, server):
    parameters, fields, pointer = case
    refusal(server.client().post("/v1/studies", definition(parameters=parameters, **fields)), 422, pointer)


def test_small_spaces_and_constraints_go_with_it(server):
    client = server.client()
    small = [{"name": "n", "type": "integer", "min": 0, "max": 9}, {"name": "c", "type": "integer", "min": 0, "max": 9, "role": "context"}]
    made = definition(parameters=small, seed=1)
    made["domain"]["constraints"] = ["n + c <= 12"]
    study = client.create(made)
    assert study["candidates"] == 0 and study["domain"]["parameters"][1]["role"] == "context", study
    for k in range(12):
        (trial,) = client.ask(study["id"], fixed={"c": k % 10})["trials"]
        point = trial["parameters"]
        assert point["c"] == k % 10 and point["n"] + point["c"] <= 12, point
        client.tell(study["id"], [{"trial": trial["id"], "value": abs(point["n"] - point["c"])}])


UNIT = {"type": "double", "min": 0, "max": 1}
PLANE = [{"name": "x", **UNIT}, {"name": "y", **UNIT}, {"name": "c", **UNIT, "role": "context"}]


def off(point):
    """Value and distance from what is best in the context; with 1 everything is worse."""
    error = (point["x"] - 0.3 - 0.3 * point["c"]) ** 2 + (point["y"] - 0.6) ** 2
    return {"v": -error - 5 * point["c"]}, error


def off_front(point):
    """Two values that are best at y 0.5 and x from 0.2 to 0.8."""
    x, y, worse = point["x"], point["y"], 3 * point["c"]
    values = {"v": -((x - 0.2) ** 2) - (y - 0.5) ** 2 - worse, "w": -((x - 0.8) ** 2) - (y - 0.5) ** 2 - worse}
    return values, abs(y - 0.5) + max(0, 0.2 - x, x - 0.8)


def off_bound(point):
    """What is best is at x + y = 0.6 + 0.4 c; beyond that a bound is broken."""
    x, y, c = point["x"], point["y"], point["c"]
    beyond = x + y - 0.6 - 0.4 * c
    best = max(0.0, (0.8 - 0.4 * c) / 2)  # of each coordinate, from (0.5, 0.9) to the bound
    error = (x - 0.5) ** 2 + (y - 0.9) ** 2 - 2 * best**2
    return {"v": -error - 3 * c, "g": beyond}, error if beyond <= 0 else 9


V, W = ({"name": name, "goal": "maximize"} for name in "vw")
POOR = {
    "a bound": ([{**V, "at_least": -1e6}], off, 1e-4, 1e-2),
    "a constraint": ([V, {"name": "g", "role": "constraint", "at_most": 0}], off_bound, 1e-3, 1e-2),
    "two objectives": ([V, W], off_front, 1e-2, 1e-1),
}


def of_plane(metrics, **algorithm):
    return {
        "metrics": metrics,
        "domain": {"type": "space", "parameters": PLANE},
        "algorithm": {"name": "log_ei", **algorithm},
        "seed": 1,
    }


@cases({name: (metrics, measure, good, bad) for name, (metrics, measure, good, bad) in POOR.items()})
def test_a_context_in_which_all_is_worse_is_searched_as_well(server, case):
    metrics, measure, good, bad = case
    client = server.client()
    for revision in ("latest", 1):
        study = client.create(of_plane(metrics, **({} if revision == "latest" else {"revision": 1})))["id"]
        errors = []
        for k in range(40):
            (trial,) = client.ask(study, fixed={"c": k % 2})["trials"]
            values, error = measure(trial["parameters"])
            client.tell(study, [{"trial": trial["id"], "values": values}])
            errors += [error] * (k % 2)
        least = min(errors[-10:])
        assert least < good if revision == "latest" else least > bad, (revision, errors)


@cases({name: (metrics, measure) for name, (metrics, measure, _, _) in POOR.items()})
def test_contexts_in_one_batch_across_a_restart(case):
    """Picks for several contexts are in flight, and the server is killed between them."""
    metrics, measure = case
    steps = [(2, 0.0), (1, 1.0), (3, 0.5), (1, 0.0), (2, 1.0)]
    with Server() as server:
        client = server.client()
        whole, halves = (client.create(of_plane(metrics))["id"] for _ in range(2))
        chosen = {}
        for study in (whole, halves):
            chosen[study] = []
            for number, (count, c) in enumerate(steps * 4):
                trials = client.ask(study, count, fixed={"c": c})["trials"]
                assert [trial["parameters"]["c"] for trial in trials] == [c] * count, trials
                chosen[study] += [trial["parameters"] for trial in trials]
                for trial in trials if number % 3 == 0 else []:
                    client.tell(study, [{"trial": trial["id"], "values": measure(trial["parameters"])[0]}])
                if study == halves and number % 4 != 1:
                    server.kill()
                    server.start()
                    client = server.client()
        assert chosen[whole] == chosen[halves]
        last = len(chosen[whole])
        reasons = [client.read(study, f"trials/{last}/why") for study in (whole, halves)]
        assert reasons[0]["score"] == reasons[1]["score"] and reasons[0]["rule"] == "joint", reasons
        server.stop()
        expect_sound(server.db, [whole, halves])
