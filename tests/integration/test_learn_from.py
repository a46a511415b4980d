"""learn_from: a study whose model takes a hint from earlier ones."""

import json

from server import Server, run_to_end
from support import cases, grid, refusal, target

NDJSON = "application/x-ndjson"


def space(*names):
    return {"type": "space", "parameters": [{"name": name, "type": "double", "min": 0, "max": 1} for name in names]}


SQUARE = space("x", "y")


def values(trial):
    return trial.get("point") or [trial["parameters"][name] for name in "xy"]


def similar(point):
    """target with its maximum a little aside, in other units."""
    return 40 * target([point[0] + 0.05, point[1] - 0.04]) - 7


def create(client, study, domain, **fields):
    return client.create({"id": study, "metric": {"name": "value", "goal": "maximize"}, "domain": domain, "seed": 5, **fields})


def search(client, study, trials, function):
    """-> the points that were picked"""
    points = []
    for _ in range(trials):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        points.append(values(trial))
        client.tell(study, [{"trial": trial["id"], "value": function(points[-1])}])
    return points


def model(client, study):
    return client.get(f"/v1/studies/{study}/model").json


DOMAINS = {"an open space": SQUARE, "candidates": {"type": "candidates", "points": grid(12)}}


@cases(DOMAINS)
def test_the_source_counts_and_may_go(server, case):
    """What was found in another study shortens the search; that study may change or go."""
    client, domain = server.client(), case
    name = domain["type"]
    create(client, f"old-{name}", domain)
    search(client, f"old-{name}", 20, target)
    made = create(client, f"new-{name}", domain, learn_from=[f"old-{name}"])
    assert made["learn_from"] == [f"old-{name}"]
    twin = create(client, f"twin-{name}", domain, learn_from=[f"old-{name}"])
    assert twin["learn_from"] == [f"old-{name}"]
    assert client.delete(f"/v1/studies/old-{name}").status == 204
    found = search(client, f"new-{name}", 8, similar)
    assert similar(found[0]) > 25, "the first pick is where the source promises most"
    assert max(map(similar, found)) > 31.5
    (source,) = model(client, f"new-{name}")["sources"]
    assert source["study"] == f"old-{name}" and source["observations"] == 20 and source["weight"] > 0.3
    assert search(client, f"twin-{name}", 8, similar) == found
    assert client.get(f"/v1/studies/new-{name}").json["learn_from"] == [f"old-{name}"]
    for question in ("importance", "effects?parameter=" + ("x" if name == "space" else "x1"), "diagnostics", "outlook"):
        answer = client.get(f"/v1/studies/new-{name}/{question}")
        assert answer.status == 200, (question, answer)
    why = client.get(f"/v1/studies/new-{name}/trials/8/why").json
    assert why["rule"] == "improvement" and len(why["nearest"]) == 3, why


def test_a_restart_a_check_and_a_copy_change_nothing():
    with Server() as server, Server() as other:
        client, there = server.client(), other.client()
        for name, domain in (("space", SQUARE), ("list", {"type": "candidates", "points": grid(12)})):
            create(client, f"old-{name}", domain)
            search(client, f"old-{name}", 12, lambda point: -target(point))
            create(client, name, domain, learn_from=[f"old-{name}"])
            search(client, name, 6, similar)
            text = client.get(f"/v1/studies/{name}/export?format=ndjson").body
            assert there.post("/v1/studies", text, content_type=NDJSON).status == 201
        expected = {name: search(there, name, 2, similar) for name in ("space", "list")}
        for name in ("space", "list"):
            assert model(there, name)["sources"][0]["weight"] < 0, name
            expected[name] += search(there, name, 1, similar)
        server.kill()
        server.start()
        client = server.client()
        for name in ("space", "list"):
            assert search(client, name, 3, similar) == expected[name], name
        for one in (server, other):
            one.stop()
            assert run_to_end("check", "--quiet", "--db", str(one.db)) == (0, "", "")


def test_candidates_of_another_list(server):
    """The features are the same, the candidates are others."""
    client = server.client()
    create(client, "rough", {"type": "candidates", "points": grid(6)})
    search(client, "rough", 20, target)
    create(client, "fine", {"type": "candidates", "points": [[x + 0.013, y] for x, y in grid(11)]}, learn_from=["rough"])
    found = search(client, "fine", 6, similar)
    assert max(map(similar, found)) > 30
    assert model(client, "fine")["sources"][0]["observations"] == 20


def test_a_change_keeps_what_was_frozen(server):
    client = server.client()
    create(client, "before", SQUARE)
    search(client, "before", 10, target)
    create(client, "changed", SQUARE, learn_from=["before"])
    search(client, "changed", 4, similar)
    assert client.request("PATCH", "/v1/studies/changed", {"display_name": "x", "horizon": 50}).json["learn_from"] == ["before"]
    fork = client.post("/v1/studies/changed/fork", {"id": "forked", "at_trial": 3})
    assert fork.status == 201 and fork.json["learn_from"] == ["before"], fork
    other = client.post("/v1/studies/changed/fork", {"id": "forked-2", "seed": 8})
    assert other.status == 201 and other.json["learn_from"] == ["before"], other
    assert client.delete("/v1/studies/before").status == 204
    for study in ("changed", "forked", "forked-2"):
        search(client, study, 2, similar)
        assert model(client, study)["sources"][0]["study"] == "before"


def test_a_study_from_before_source_trust_stays_without(server):
    """Two studies that contradict each other: only a new study does not believe what they promise."""
    client = server.client()
    for name, sign in (("up", 1), ("down", -1)):
        create(client, name, SQUARE)
        search(client, name, 12, lambda point, sign=sign: sign * target(point))
    made = create(client, "doubting", SQUARE, learn_from=["up", "down"])
    assert made["algorithm"]["source_trust"] == "agreement"
    exported = client.get("/v1/studies/doubting/export?format=ndjson").body
    before = exported.replace(b',\\"source_trust\\":\\"agreement\\"', b"")
    assert before != exported
    assert client.post("/v1/studies?id=believing", before, content_type=NDJSON).status == 201
    assert "source_trust" not in client.study("believing")["algorithm"]
    create(client, "given", SQUARE, learn_from=["up", "down"], algorithm={"name": "log_ei", "source_trust": "evidence"})
    create(client, "alone", SQUARE)
    first = {study: search(client, study, 3, target) for study in ("doubting", "believing", "given", "alone")}
    assert first["believing"] == first["given"] and first["doubting"] == first["alone"] != first["given"]
    why = client.get("/v1/studies/doubting/trials/3/why").json
    assert why["rule"] == "first", why


REFUSED = {
    "an unknown study": ({"learn_from": ["nobody"]}, "/learn_from/0", "there is no study"),
    "no list": ({"learn_from": "told"}, "/learn_from", "must be a list"),
    "too many": ({"learn_from": [f"s{i}" for i in range(9)]}, "/learn_from", "at most 8"),
    "twice": ({"learn_from": ["told", "told"]}, "/learn_from/1", "already"),
    "itself": ({"id": "told-2", "learn_from": ["told-2"]}, "/learn_from/0", "another study"),
    "no results": ({"learn_from": ["told", "empty"]}, "/learn_from/1", "has no results"),
    "another kind of domain": ({"learn_from": ["list"]}, "/learn_from/0", "another type"),
    "other parameters": ({"learn_from": ["others"]}, "/learn_from/0", "no result of 'others' fits"),
    "a frozen one": ({"learn_from": [{"study": "told"}]}, "/learn_from/0/observations", "is required"),
    "several metrics": (
        {"learn_from": ["told"], "metrics": [{"name": n, "goal": "maximize"} for n in "ab"]},
        "/learn_from",
        "one objective",
    ),
    "an algorithm": ({"learn_from": ["told"], "algorithm": {"name": "bbkb"}}, "/learn_from", "log_ei"),
    "a kernel": (
        {"learn_from": ["told"], "algorithm": {"name": "log_ei", "kernel": {"type": "linear"}}},
        "/learn_from",
        "kernel",
    ),
    "given lengthscales": (
        {"learn_from": ["told"], "algorithm": {"name": "log_ei", "kernel": {"lengthscale": 0.3}}},
        "/learn_from",
        "are learned",
    ),
    "trust without sources": ({"algorithm": {"name": "log_ei", "source_trust": "evidence"}}, "/algorithm/source_trust", "learn_from"),
    "no candidates yet": (
        {"learn_from": ["list"], "domain": {"type": "candidates", "dimension": 2}},
        "/learn_from",
        "with the study",
    ),
    "features": (
        {"learn_from": ["list"], "domain": {"type": "candidates", "points": [[1], [2]]}},
        "/learn_from/0",
        "features",
    ),
}


def test_what_is_refused(server):
    client = server.client()
    create(client, "told", SQUARE)
    search(client, "told", 3, target)
    create(client, "empty", SQUARE)
    create(client, "list", {"type": "candidates", "points": grid(4)})
    search(client, "list", 3, target)
    client.create({"id": "others", "metric": {"name": "value", "goal": "maximize"}, "domain": space("q")})
    (trial,) = client.ask("others", 1, wait_seconds=30)["trials"]
    client.tell("others", [{"trial": trial["id"], "value": 1}])
    for name, (fields, pointer, words) in REFUSED.items():
        body = {"metric": {"name": "value", "goal": "maximize"}, "domain": SQUARE, **fields}
        if "metrics" in fields:
            del body["metric"]
        answer = client.post("/v1/studies", body)
        refusal(answer, 422, pointer)
        assert words in answer.body.decode(), (name, answer)
    frozen = {"study": "told", "observations": 1, "shift": 0, "lengthscales": [1, 1], "weights": [1], "points": [[0, 0]]}
    body = {"metric": {"name": "value", "goal": "maximize"}, "domain": SQUARE, "learn_from": [frozen]}
    refusal(client.post("/v1/studies", body), 422, "/learn_from/0")
    refusal(client.post("/v1/studies/told/fork", {"id": "x", "learn_from": ["empty"]}), 422, "/learn_from")


def find(value, name):
    """The member of this name, however deep, also in JSON text."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if not isinstance(value, dict):
        return None
    return value[name] if name in value else next(filter(None, (find(member, name) for member in value.values())), None)


def test_the_log_has_the_function(server):
    """A copy on another server needs no more than the study's own log."""
    client = server.client()
    create(client, "whole", SQUARE)
    search(client, "whole", 4, target)
    create(client, "taught", SQUARE, learn_from=["whole"])
    text = client.get("/v1/studies/taught/export?format=ndjson").body.decode()
    (line,) = (line for line in text.splitlines() if "lengthscales" in line)
    (source,) = find(json.loads(line), "learn_from")
    assert source["study"] == "whole" and len(source["points"]) == len(source["weights"]) == 4


@cases(
    {
        "errors after accuracy": ({"name": "error", "goal": "minimize"}, True),
        "the worst of the same metric": ({"name": "value", "goal": "minimize"}, False),
    }
)
def test_the_first_pick_is_what_the_old_study_sought(server, case):
    metric, near = case
    client = server.client()
    old, new = f"sought-{metric['name']}", f"seeks-{metric['name']}"
    create(client, old, SQUARE)
    search(client, old, 20, target)
    client.create({"id": new, "metric": metric, "domain": SQUARE, "seed": 5, "learn_from": [old]})
    (first,) = search(client, new, 1, lambda point: 1 - target(point))
    assert (target(first) > 0.95) == near and (target(first) < 0.5) == (not near), first
