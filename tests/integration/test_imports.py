"""Exports that somebody has changed: refused, with the line and the member at fault, or studies like all others."""

import hashlib
import json
import math
import os
import random
import struct

from support import cases, definition, grid, measure, noisy, refusal
from database_commands import altered

NDJSON = "application/x-ndjson"
SPACE = {
    "type": "space",
    "parameters": [
        {"name": "x", "type": "double", "min": 0.0, "max": 1.0},
        {"name": "n", "type": "integer", "min": 1, "max": 9},
        {"name": "kind", "type": "categorical", "values": ["a", "b", "c"]},
        {"name": "deep", "type": "boolean", "active_when": {"parameter": "kind", "in": ["b"]}},
    ],
}


def fill_candidates(client, study):
    """Whatever can be told of a trial, of candidates."""
    body = definition(id=study, points=grid(5), max_attempts=4)
    del body["metric"]
    body["metrics"] = [{"name": "value", "goal": "maximize"}, {"name": "seconds", "goal": "minimize", "role": "recorded"}]
    client.create(body)
    observations = [{"candidate": 3, "value": 0.5, "repeats": 2}]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": observations}).status == 200
    first = client.ask(study, 1, worker="w")["trials"][0]
    path = f"/v1/studies/{study}/trials/{first['id']}"
    assert client.post(f"{path}/measurements", {"step": 1, "value": 0.25}).status == 200
    assert client.post(f"{path}/heartbeat", {"lease_seconds": 600}).status == 200
    client.tell(study, [{"trial": first["id"], "state": "failed", "retry": True}])
    first = client.ask(study, 1, worker="v")["trials"][0]
    values = {"value": 0.75, "seconds": 12.5}
    client.tell(study, [{"trial": first["id"], "attempt": 1, "values": values, "metadata": {"node": "n1"}}])
    client.tell(study, [{"trial": first["id"], "attempt": 2, "value": 0.5}])
    assert client.post(f"{path}/amend", {"value": 0.625, "reason": "a new scale"}).status == 200
    assert client.post(f"/v1/studies/{study}/trials", {"candidate": 7}).status in (200, 201)
    assert client.post(f"/v1/studies/{study}/candidates", {"points": [[2, 2]]}).status in (200, 201)
    assert client.post(f"/v1/studies/{study}/candidates/retire", {"candidates": [24]}).status == 200
    assert client.request("PATCH", f"/v1/studies/{study}", {"display_name": "of one's own"}).status == 200
    for _ in range(4):
        trials = client.ask(study, 2)["trials"]
        client.tell(study, [measure(trial) for trial in trials[:1]])
        client.tell(study, [{"trial": trial["id"], "state": "failed", "reason": "why"} for trial in trials[1:]])


def fill_space(client, study):
    client.create({**definition(id=study, feedback="async"), "domain": SPACE})
    client.ask(study, 2, fixed={"n": 4}, wait_seconds=30)
    for _ in range(5):
        trials = client.ask(study, 2, wait_seconds=30)["trials"]
        client.tell(study, [{"trial": t["id"], "value": noisy([t["parameters"]["x"], 0.5], t["id"])} for t in trials])


def fill_stopped(client, name):
    """Three complete trials, and a stopped one with an estimate."""
    domain = {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]}
    client.create({"id": name, "metric": {"name": "y", "goal": "maximize"}, "domain": domain, "stopping": {"rule": "median"}})
    for value in (0.5, 0.7, 0.6, None):
        (trial,) = client.ask(name, wait_seconds=10)["trials"]
        assert client.post(f"/v1/studies/{name}/trials/{trial['id']}/measurements", {"step": 1, "value": 0.3}).status == 200
        client.tell(name, [{"trial": trial["id"], **({"value": value} if value else {"state": "stopped"})}])


FILLS = {"candidates": fill_candidates, "space": fill_space, "stopped": fill_stopped}
_exports = {}


def export_of(server, kind):
    """Lines of an export. The study is gone."""
    if kind not in _exports:
        client = server.client()
        FILLS[kind](client, kind)
        _exports[kind] = client.get(f"/v1/studies/{kind}/export").body.decode().splitlines()
        assert client.delete(f"/v1/studies/{kind}").status == 204
    return _exports[kind]


def post(client, lines):
    return client.post("/v1/studies", "\n".join(lines), content_type=NDJSON)


def setting(key, value):
    return lambda payload: payload.__setitem__(key, value)


def redefined(change):
    def apply(payload):
        body = json.loads(payload["definition"])
        change(body)
        payload["definition"] = json.dumps(body)

    return apply


FAR, LONG = 1.5e100, "w" * 1001
WRONG = {
    "value": ("candidates", "trial_told", setting("value", FAR), "value"),
    "value_below": ("candidates", "trial_told", setting("value", -FAR), "value"),
    "late_value": ("candidates", "late_result_told", setting("value", FAR), "value"),
    "amended_value": ("candidates", "trial_amended", setting("value", FAR), "value"),
    "best_value": ("candidates", "trial_amended", setting("best_value", FAR), "best_value"),
    "measurement": ("candidates", "trial_measured", setting("value", FAR), "value"),
    "observation": ("candidates", "observations_added", lambda p: p["observations"][0].__setitem__(2, FAR), "observations"),
    "recorded": ("candidates", "trial_told", setting("recorded", '{"seconds": 1.5e100}'), "recorded"),
    "recorded_by_no_name": ("candidates", "trial_told", setting("recorded", '{"minutes": 1}'), "recorded"),
    "recorded_words": ("candidates", "trial_told", setting("recorded", '{"seconds": "many"}'), "recorded"),
    "recorded_late": ("candidates", "late_result_told", setting("recorded", "[]"), "recorded"),
    "metadata": ("candidates", "trial_told", setting("metadata", "1"), "metadata"),
    "much_metadata": ("candidates", "trial_told", setting("metadata", json.dumps({"a": "b" * 5000})), "metadata"),
    "reason": ("candidates", "trial_told", setting("reason", LONG), "reason"),
    "amendment's_reason": ("candidates", "trial_amended", setting("reason", LONG), "reason"),
    "worker": ("candidates", "trial_issued", setting("worker", LONG), "worker"),
    "worker_no_text": ("candidates", "trial_issued", setting("worker", 1), "worker"),
    "attempt": ("candidates", "trial_issued", setting("attempt", 0), "attempt"),
    "huge_attempt": ("candidates", "trial_issued", setting("attempt", 2**40), "attempt"),
    "no_trial": ("candidates", "trial_measured", setting("trial", 99), "trial"),
    "step": ("candidates", "trial_measured", setting("step", -1), "step"),
    "outcome": ("candidates", "trial_requeued", setting("outcome", "lost"), "outcome"),
    "repeats": ("candidates", "trial_told", setting("repeats", 1000001), "repeats"),
    "open_state": ("candidates", "trial_told", setting("state", "pending"), "state"),
    "value_of_a_failure": ("candidates", "trial_told", setting("state", "failed"), "value"),
    "stop_rule": ("candidates", "batch_planned", setting("stop_rule", "soon"), "stop_rule"),
    "size": ("candidates", "batch_planned", setting("size", 7), "size"),
    "variance": ("candidates", "batch_planned", lambda p: p["picks"][0].__setitem__(1, -1), "picks"),
    "dictionary": ("candidates", "batch_planned", setting("dictionary", [4000]), "dictionary"),
    "sum": ("candidates", "batch_planned", setting("sums", [[0, 1, 1e200]]), "sums"),
    "retired": ("candidates", "candidates_retired", setting("candidates", [400]), "candidates"),
    "row": ("candidates", "candidates_added", lambda p: p["rows"][0].__setitem__(0, None), "rows"),
    "definition": ("candidates", "study_created", redefined(lambda d: d.__setitem__("lease_seconds", -1)), "definition"),
    "another_kernel": (
        "candidates",
        "study_changed",
        redefined(lambda d: d["algorithm"]["kernel"].__setitem__("lengthscale", 3)),
        "definition",
    ),
    "another_id": ("candidates", "study_created", setting("id", "other"), "id"),
    "no_algorithm": ("candidates", "study_created", redefined(lambda d: d.pop("algorithm")), "definition"),
    "no_lease": ("candidates", "study_created", redefined(lambda d: d.pop("lease_seconds")), "definition"),
    "no_id": ("candidates", "study_created", redefined(lambda d: d.pop("id")), "definition"),
    "no_definition": ("candidates", "study_changed", setting("definition", "[]"), "definition"),
    "no_candidates": ("candidates", "candidates_set", setting("count", 0), "count"),
    "added_later": ("candidates", "candidates_added", setting("first", 40), "first"),
    "another_dimension": ("candidates", "candidates_added", lambda p: p.update(dimension=1, rows=[[1]]), "rows"),
    "more_memory_than_there_is": ("candidates", "candidates_added", setting("dimension", 2**40), "rows"),
    "batch": ("candidates", "batch_planned", setting("batch", 1), "batch"),
    "planned_from_the_future": ("candidates", "batch_planned", setting("through_seq", 40), "through_seq"),
    "no_ratio": ("candidates", "batch_planned", setting("ratio", None), "ratio"),
    "no_beta": ("candidates", "batch_planned", setting("beta", None), "beta"),
    "sums_out_of_order": ("candidates", "batch_planned", setting("sums", [[1, 1, 0.5], [0, 1, 0.5]]), "sums"),
    "no_sum": ("candidates", "batch_planned", setting("sums", [[1, 1, None]]), "sums"),
    "first_trial": ("candidates", "batch_planned", setting("first_trial", 9), "picks"),
    "pick": ("candidates", "batch_planned", lambda p: p["picks"][0].__setitem__(0, 400), "picks"),
    "late_for_no_trial": ("candidates", "late_result_told", setting("trial", 0), "trial"),
    "amended_of_no_trial": ("candidates", "trial_amended", setting("trial", 99), "trial"),
    "best_trial": ("candidates", "trial_amended", setting("best_trial", 99), "best_trial"),
    "best_candidate": ("candidates", "trial_amended", setting("best_candidate", 99), "best_candidate"),
    "front_of_one_objective": ("candidates", "trial_told", setting("front", True), "front"),
    "late_front_of_one_objective": ("candidates", "late_result_told", setting("front", True), "front"),
    "amended_front_of_one_objective": ("candidates", "trial_amended", setting("front", True), "front"),
    "changed_to_no_best_trial": ("candidates", "study_changed", setting("best_trial", 99), "best_trial"),
    "changed_to_no_best_candidate": ("candidates", "study_changed", setting("best_candidate", -1), "best_candidate"),
    "changed_to_no_best_value": ("candidates", "study_changed", setting("best_value", FAR), "best_value"),
    "observed_of_no_candidate": ("candidates", "observations_added", lambda p: p["observations"][0].__setitem__(0, 99), "observations"),
    "observed_no_time": ("candidates", "observations_added", lambda p: p["observations"][0].__setitem__(1, 0), "observations"),
    "point": ("space", "batch_planned", lambda p: p["points"][0].__setitem__(0, 1.5), "points"),
    "fraction": ("space", "batch_planned", lambda p: p["points"][0].__setitem__(1, 1.5), "points"),
    "category": ("space", "batch_planned", lambda p: p["points"][0].__setitem__(2, 3), "points"),
    "required": ("space", "batch_planned", lambda p: p["points"][0].__setitem__(2, None), "points"),
    "not_active": ("space", "batch_planned", lambda p: p["points"][0].__setitem__(slice(2, 4), [0, 1]), "points"),
    "endless_category": ("space", "batch_planned", lambda p: p["points"][0].__setitem__(2, 1e300), "points"),
    "held_by_too_few": ("space", "batch_planned", setting("held", [1]), "held"),
    "held_by_too_many": ("space", "batch_planned", setting("held_picks", 99), "held"),
    "held": ("space", "batch_planned", setting("held", [None, 44, None, None]), "held"),
    "estimated_value": ("stopped", "trial_estimated", setting("value", FAR), "value"),
    "estimated_of_no_trial": ("stopped", "trial_estimated", setting("trial", 99), "trial"),
    "estimated_without_an_error": ("stopped", "trial_estimated", setting("recorded", ""), "recorded"),
}


@cases(WRONG)
def test_what_a_request_may_not_say_no_export_may(server, case):
    kind, entry, change, member = case
    client = server.client()
    lines = altered(export_of(server, kind), entry, change)
    number = 1 + next(i for i, line in enumerate(lines) if json.loads(line).get("type") == entry)
    problem = refusal(post(client, lines), 422, f"/payload/{member}")
    assert problem["errors"][0]["detail"].startswith(f"line {number}, /payload/{member}: log entry "), problem
    assert client.get(f"/v1/studies/{kind}").status == 404


@cases({"as_they_are": 1.0, "no_word": 2.0, "a_word_without_end": 1e300, "no_value": math.nan})
def test_points_of_a_small_space(server, case):
    """They are kept as candidates; with a digest that is right."""
    client = server.client()
    parameters = [{"name": "kind", "type": "categorical", "values": ["a", "b"]}, {"name": "on", "type": "boolean"}]
    client.create({**definition(id="small"), "domain": {"type": "space", "parameters": parameters}})
    lines = client.get("/v1/studies/small/export").body.decode().splitlines()
    assert client.delete("/v1/studies/small").status == 204
    rows = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [case, 1.0]]
    entry = json.loads(lines[1])
    assert entry["rows"][:3] == rows[:3] and len(entry["rows"]) == 4, entry
    entry["rows"] = [[None if math.isnan(value) else value for value in row] for row in rows]
    digest = hashlib.blake2b(struct.pack("8d", *sum(rows, [])), digest_size=32).hexdigest()
    answer = post(client, altered([lines[0], json.dumps(entry), *lines[2:]], "candidates_set", setting("digest", digest)))
    if case == 1.0:
        assert answer.status == 201 and client.delete("/v1/studies/small").status == 204, answer
    else:
        assert "do not fit the domain of the definition" in refusal(answer, 422, "/payload")["errors"][0]["detail"], answer


@cases({
    "results": ("observations", {"observations": [{"candidate": 30, "value": 0.5}]}),
    "trials": ("trials", {"candidate": 30}),
})
def test_fewer_candidates_after_something_spoke_of_more(server, case):
    client = server.client()
    call, body = case
    client.create(definition(id="fewer"))
    assert client.post(f"/v1/studies/fewer/{call}", body).status in (200, 201)
    lines = client.get("/v1/studies/fewer/export").body.decode().splitlines()
    assert client.delete("/v1/studies/fewer").status == 204
    entries = [json.loads(line) for line in lines]
    made = next(i for i, entry in enumerate(entries) if entry.get("type") == "candidates_set")
    spoken = len(entries) - 2  # before the line that ends the file
    entries.insert(spoken + 1, {**entries[made], "seq": entries[spoken]["seq"] + 1})
    entries[0]["entries"] += 1
    entries[made] = {**entries[made], "payload": {**entries[made]["payload"], "count": 200, "digest": ""}}
    problem = refusal(post(client, [json.dumps(entry) for entry in entries]), 422, "/payload")
    assert "after the first batch, trial or result" in problem["errors"][0]["detail"], problem


def test_keys_that_were_corrected_later_were_unique_as_well(server):
    client = server.client()
    body = definition(id="keyed", points=[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    body["domain"]["keys"] = ["a", "b", "c"]
    client.create(body)
    assert client.put("/v1/studies/keyed/candidates/keys", "d\ne\nf\n", content_type="text/plain").status == 200
    lines = client.get("/v1/studies/keyed/export").body.decode().splitlines()
    assert client.delete("/v1/studies/keyed").status == 204
    twice = altered(lines, "candidates_keyed", setting("keys", ["a", "b", "a"]))
    problem = refusal(post(client, twice), 422, "/payload/keys")
    assert "candidates 0 and 2 had the same key before" in problem["errors"][0]["detail"], problem
    assert post(client, lines).status == 201 and client.delete("/v1/studies/keyed").status == 204


def test_what_is_not_altered_is_taken(server):
    client = server.client()
    for kind in FILLS:
        sent = export_of(server, kind)
        assert post(client, sent).status == 201
        again = client.get(f"/v1/studies/{kind}/export").body.decode().splitlines()
        for one, other in zip(sent, again, strict=True):
            one, other = json.loads(one), json.loads(other)
            if one.get("type") == "candidates_set":  # a number of the store's own
                del one["payload"]["content"], other["payload"]["content"]
            assert one == other
        assert client.ask(kind, 2, wait_seconds=30)["trials"]
        assert client.delete(f"/v1/studies/{kind}").status == 204


# ---- changed at random ---------------------------------------------------------------------------------------

ROUNDS = int(os.environ.get("BANDITD_IMPORTS", "100"))  # of each kind

NUMBERS = [0, 1, -1, 2, 7, 0.5, -0.5, 2**31, 2**32, 2**53, -(2**53), 1e99, 1e101, -1e300, 1e308, 5e-324, None]
OTHERS = ["", "x", "completed", "failed", "active", "{}", "[]", "00ff", True, [], {}]


def places(value, path=()):
    """Where a value has others below: paths of keys and indices."""
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        found += places(below, (*path, key))
    return found


def changed_at_random(lines, rng):
    """One or two members of entries, or entries as a whole."""
    lines = list(lines)
    for _ in range(rng.choice([1, 1, 2])):
        i = rng.randrange(1, len(lines) - 1)
        entry = json.loads(lines[i])
        if rng.random() < 0.1:
            other = rng.randrange(1, len(lines) - 1)
            lines[i], lines[other] = lines[other], lines[i]
            continue
        payload = entry.get("payload", entry.get("rows"))
        text = isinstance(payload, dict) and "definition" in payload and rng.random() < 0.7
        target = json.loads(payload["definition"]) if text else payload
        path = rng.choice(places(target)[1:])
        at = target
        for key in path[:-1]:
            at = at[key]
        if rng.random() < 0.1 and isinstance(at, (dict, list)):
            del at[path[-1]]
        else:
            old = at[path[-1]]
            near = [old + 1, old - 1, -old] if isinstance(old, (int, float)) and not isinstance(old, bool) else []
            at[path[-1]] = rng.choice(near or NUMBERS) if rng.random() < 0.3 else rng.choice(NUMBERS + OTHERS)
        if text:
            payload["definition"] = json.dumps(target)
        lines[i] = json.dumps(entry)
    return lines


def uses(client, study):
    """What can be asked of any study is answered."""
    state = client.study(study)["state"]
    for path in ("best", "model", "batches", "trials", "series", "candidates", "export", "export?format=csv"):
        answer = client.get(f"/v1/studies/{study}/{path}")
        assert answer.status in (200, 409), (path, answer)
    for trial in client.items(f"/v1/studies/{study}/trials"):
        assert client.get(f"/v1/studies/{study}/trials/{trial['id']}").status == 200, trial
    for _ in range(2):
        asked = client.post(f"/v1/studies/{study}/ask", {"count": 3, "wait_seconds": 1})
        assert asked.status == 200 or (asked.status == 409 and state != "active"), asked
        results = [{"trial": trial["id"], "value": 0.5} for trial in asked.json.get("trials", [])]
        if results:
            client.tell(study, results)
    after = client.study(study)
    assert after["state"] != "error" or state == "error", after


def test_an_export_changed_at_random_is_refused_or_makes_a_study(server):
    rng = random.Random(ROUNDS)
    client = server.client()
    taken = 0
    for kind in FILLS:
        lines = export_of(server, kind)
        for number in range(ROUNDS):
            sent = changed_at_random(lines, rng)
            try:
                answer = post(client, sent)
                if answer.status != 201:
                    refusal(answer, 400 if answer.status == 400 else 422)
                    continue
                taken += 1
                uses(client, answer.json["id"])
                assert client.delete(f"/v1/studies/{answer.json['id']}").status == 204
            except Exception as problem:
                altered_lines = [(a, b) for a, b in zip(lines, sent) if a != b and json.loads(a) != json.loads(b)]
                raise AssertionError(f"{kind}, {number}: {problem!r}; changed: {altered_lines}") from problem
    assert taken > ROUNDS / 10, taken
