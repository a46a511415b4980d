"""`stop_when`: studies that end by a rule, what they say then, and how they go on."""

import random

from server import Server, run_to_end
from support import cases, grid, refusal

POINTS = grid(12)


def peak(point):
    return 1 - (point[0] - 0.7) ** 2 - 2 * (point[1] - 0.3) ** 2


def stopping_study(client, rules, goal="maximize", **fields):
    return client.create(
        {
            "metric": {"name": "value", "goal": goal},
            "domain": {"type": "candidates", "points": POINTS},
            "seed": 5,
            "stop_when": rules,
            **fields,
        }
    )["id"]


def work(client, study, f, most=140):
    """Asks and tells until the study ends. -> the number of trials that were told"""
    for told in range(most):
        answer = client.ask(study, 1, wait_seconds=30)
        if not answer["trials"]:
            assert answer["reason"] == "finished", answer
            return told
        (trial,) = answer["trials"]
        client.tell(study, [{"trial": trial["id"], "value": f(trial)}])
    return most


SIGNS = {"maximize": 1, "minimize": -1}


@cases({"maximize": "maximize", "minimize": "minimize"})
def test_a_target_ends_a_study_and_is_named(server, case):
    client, sign = server.client(), SIGNS[case]
    study = stopping_study(client, [{"rule": "target", "value": sign * 0.98}], case)
    told = work(client, study, lambda trial: sign * peak(trial["point"]))
    shown = client.study(study)
    assert told < 60 and shown["state"] == "finished", (told, shown)
    assert shown["state_reason"].startswith("target: the model expects at"), shown
    assert shown["stop_when"] == [{"rule": "target", "value": sign * 0.98, "then": "finish"}], shown
    recommended = client.read(study, "best")["recommended"]
    assert sign * recommended["mean"] - 2 * recommended["std"] >= 0.98, recommended
    last = client.read(study, "batches?limit=1000")["items"][-1]
    assert (last["size"], last["observations"]) == (0, told), last

    # a change of its name leaves the reason; without the rule it goes on
    changed = client.request("PATCH", f"/v1/studies/{study}", {"display_name": "done"}).json
    assert (changed["state"], changed["state_reason"]) == ("finished", shown["state_reason"]), changed
    assert client.study(study)["state_reason"] == shown["state_reason"]
    resumed = client.request("PATCH", f"/v1/studies/{study}", {"state": "active", "stop_when": None}).json
    assert resumed["state"] == "active" and "state_reason" not in resumed and "stop_when" not in resumed, resumed
    assert len(client.ask(study, 1, wait_seconds=30)["trials"]) == 1


def test_a_study_that_is_resumed_with_its_rule_ends_again(server):
    client = server.client()
    study = stopping_study(client, [{"rule": "target", "value": 0.98}])
    work(client, study, lambda trial: peak(trial["point"]))
    assert client.request("PATCH", f"/v1/studies/{study}", {"state": "active"}).status == 200
    assert work(client, study, lambda trial: peak(trial["point"])) <= 1
    assert client.study(study)["state"] == "finished"


def test_a_target_is_judged_by_what_is_recommended(server):
    """Candidates differ from their neighbours, so `best` has its own means of them. From 50 results on, the advice is what
    follows from the recommended one. Judged by the function alone, 7 of the 18 are different."""
    client, draw, target, batch = server.client(), random.Random(4), 1.3, 8
    own = [draw.gauss(0, 0.15) for _ in POINTS]
    study = stopping_study(client, [{"rule": "target", "value": target, "then": "tell"}])
    advised = []
    for told in range(0, 200, batch):
        trials = client.ask(study, batch, wait_seconds=30)["trials"]
        best = client.read(study, "best")["recommended"]
        if told >= 50:
            advised.append("advice" in client.study(study))
            assert advised[-1] == (best["mean"] - 2 * best["std"] >= target), (told, best)
        values = (peak(trial["point"]) + own[trial["candidate"]] + draw.gauss(0, 0.05) for trial in trials)
        client.tell(study, [{"trial": trial["id"], "value": value} for trial, value in zip(trials, values)])
    assert False in advised and True in advised, advised


def test_a_lucky_value_is_no_target(server):
    """One value in forty is far above the others; the model does not believe it."""
    client, draw = server.client(), random.Random(2)
    study = stopping_study(client, [{"rule": "target", "value": 5}])
    values = {20: 50.0}
    told = work(client, study, lambda trial: values.get(trial["id"], draw.gauss(0, 1)), most=40)
    assert told == 40 and client.study(study)["state"] == "active", client.study(study)


def test_noise_is_no_target(server):
    """The target is half a deviation of the noise beyond the best point. The model of few results takes the luckiest one for
    true: judged by its mean less one deviation, all of these studies ended, within 14 results."""
    client, ended = server.client(), 0
    for seed in range(1, 9):
        draw = random.Random(seed)
        study = stopping_study(client, [{"rule": "target", "value": 1.1}], seed=seed)
        work(client, study, lambda trial: peak(trial["point"]) + draw.gauss(0, 0.2), most=40)
        ended += client.study(study)["state"] == "finished"
    assert ended <= 1, ended


def test_without_noise_a_target_is_soon_reached(server):
    client = server.client()
    study = stopping_study(client, [{"rule": "target", "value": 0.98}])
    assert 5 < work(client, study, lambda trial: peak(trial["point"])) < 20


@cases({"log_ei": {}, "bbkb": {"algorithm": {"name": "bbkb"}}, "gp_ts": {"algorithm": {"name": "gp_ts"}}, "batch": {"feedback": "batch"}})
def test_stagnation_ends_a_study(server, case):
    client = server.client()
    rule = {"rule": "stagnation", "results": 20, "gain": 0.01}
    study = stopping_study(client, [{"rule": "target", "value": 9}, rule], **case)
    told = work(client, study, lambda trial: peak(trial["point"]))
    shown = client.study(study)
    assert 20 < told < 140 and shown["state"] == "finished", (told, shown)
    assert shown["state_reason"].startswith("stagnation: the last 20 results gained at most 0.01"), shown
    best = max(peak(item["point"]) for item in client.read(study, "trials?limit=1000")["items"])
    assert best - peak((0.7, 0.3)) > -0.15, best


def test_trials_in_flight_are_still_told(server):
    client = server.client()
    study = stopping_study(client, [{"rule": "stagnation", "results": 5, "gain": 10}])
    held = client.ask(study, 2, worker="slow")["trials"]
    told = work(client, study, lambda trial: peak(trial["point"]))
    assert client.study(study)["state"] == "finished"
    client.tell(study, [{"trial": trial["id"], "value": peak(trial["point"])} for trial in held])
    assert client.study(study)["observations"] == told + 2


def test_a_study_without_rules_is_as_before(server):
    client = server.client()
    plain, ruled = stopping_study(client, []), stopping_study(client, [{"rule": "target", "value": 99}])
    picks = []
    for study in (plain, ruled):
        chosen = []
        for _ in range(25):
            (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
            chosen.append(trial["candidate"])
            client.tell(study, [{"trial": trial["id"], "value": peak(trial["point"])}])
        picks.append(chosen)
    assert picks[0] == picks[1]
    assert "stop_when" not in client.study(plain)


def test_a_check_and_a_restart_agree():
    with Server() as server:
        client = server.client()
        study = stopping_study(client, [{"rule": "stagnation", "results": 15}])
        work(client, study, lambda trial: peak(trial["point"]))
        before = client.study(study)
        assert before["state"] == "finished" and before["stop_when"][0]["gain"] == 0.001, before
        for rules in ([{"rule": "target", "value": 9}], None):  # a rule may be changed and taken away
            assert client.request("PATCH", f"/v1/studies/{study}", {"stop_when": rules}).status == 200
        before = client.study(study)
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db), timeout=300)
        assert (status, err) == (0, "") and "batches replanned" in out, (status, out, err)
        server.start()
        assert server.client().study(study) == before


def test_a_rule_may_only_advise():
    """The advice names the batch since which it holds, also after a restart; the study continues until another rule ends it."""
    rules = [{"rule": "target", "value": 0.98, "then": "tell"}, {"rule": "stagnation", "results": 20}]
    with Server() as server:
        client = server.client()
        study = stopping_study(client, rules)
        first = work(client, study, lambda trial: peak(trial["point"]), 6)
        assert "advice" not in client.study(study), first
        told = first + work(client, study, lambda trial: peak(trial["point"]))
        before = client.study(study)
        assert before["state_reason"].startswith("stagnation: "), before
        since = before["advice"]["since_batch"]
        assert before["advice"] == {"stop": True, "rule": "target", "since_batch": since} and 6 <= since < told - 5, before
        batches = client.read(study, "batches?limit=1000")["items"]
        assert all(batch["size"] > 0 for batch in batches[:-1]), batches
        text = client.get(f"/v1/studies/{study}/export?format=ndjson").body
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db), timeout=300)
        assert (status, err) == (0, "") and "batches replanned" in out, (status, out, err)
        server.start()
        client = server.client()
        assert client.study(study) == before
        assert client.delete(f"/v1/studies/{study}").status == 204
        copy = client.post("/v1/studies", text, content_type="application/x-ndjson")
        assert copy.status == 201 and copy.json["advice"] == before["advice"], copy
        resumed = client.request("PATCH", f"/v1/studies/{study}", {"state": "active", "stop_when": None})
        assert resumed.status == 200, resumed
        assert "advice" not in resumed.json and "advice" not in client.study(study), "without the rule there is no advice"
        work(client, study, lambda trial: peak(trial["point"]), 3)
        assert "advice" not in client.study(study)


def test_little_is_left_to_gain(server):
    """What the rule says is what `outlook` says of the same batch; it never ends the study."""
    client, epsilon = server.client(), 0.01
    rules = [{"rule": "regret", "epsilon": epsilon}]
    spaces = {"type": "space", "parameters": [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]}
    study = stopping_study(client, rules, domain=spaces)
    shown = [{"rule": "regret", "epsilon": epsilon, "probability": 0.95, "then": "tell"}]
    assert client.study(study)["stop_when"] == shown
    advices = []
    for told in range(25):
        (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
        advice = client.study(study).get("advice")
        advices.append(advice)
        if told in (20, 23):  # 23 is 20 and a sixth
            outlook = client.read(study, f"outlook?epsilon={epsilon}")
            assert (outlook["probability"] * outlook["draws"] <= 2) == (advice is not None), (told, outlook)
        client.tell(study, [{"trial": trial["id"], "value": peak([trial["parameters"][name] for name in "xy"])}])
    assert advices[:20] == [None] * 20 and advices[20] == advices[21] == advices[22] and advices[23] == advices[24], advices
    assert advice["rule"] == "regret" and client.study(study)["state"] == "active", advices


NOT_DRAWN = {
    "pi_gp_ucb": {"domain": {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]},
                  "algorithm": {"name": "pi_gp_ucb"}},
    "features": {"algorithm": {"name": "s_gp_ts", "posterior": "features"}},
    "precomputed": {"domain": {"type": "precomputed", "size": 3}},
}


@cases(NOT_DRAWN)
def test_regret_needs_functions_that_can_be_drawn(server, case):
    body = {"metric": {"name": "v", "goal": "maximize"}, "domain": {"type": "candidates", "points": [[0.0], [1.0]]}, **case}
    answer = server.client().post("/v1/studies", {**body, "stop_when": [{"rule": "regret", "epsilon": 1}]})
    refusal(answer, 422, "/stop_when")
    assert "regret" in answer.body.decode(), answer


BAD = {
    "no list": ({"rule": "target", "value": 1}, "/stop_when"),
    "no rule": ([{"value": 1}], "/stop_when/0/rule"),
    "an unknown rule": ([{"rule": "luck", "epsilon": 0.1}], "/stop_when/0/rule"),
    "an unknown consequence": ([{"rule": "target", "value": 1, "then": "ask"}], "/stop_when/0/then"),
    "regret that ends": ([{"rule": "regret", "epsilon": 1, "then": "finish"}], "/stop_when/0/then"),
    "a cost that only tells": ([{"rule": "cost", "total": 1, "then": "tell"}], "/stop_when/0/then"),
    "a target without a value": ([{"rule": "target"}], "/stop_when/0/value"),
    "a target that is no number": ([{"rule": "target", "value": "1"}], "/stop_when/0/value"),
    "another rule's field": ([{"rule": "target", "value": 1, "results": 3}], "/stop_when/0/results"),
    "a field of the other rule": ([{"rule": "stagnation", "value": 1}], "/stop_when/0/value"),
    "no results": ([{"rule": "stagnation", "results": 0}], "/stop_when/0/results"),
    "a negative gain": ([{"rule": "stagnation", "gain": -1}], "/stop_when/0/gain"),
    "an unknown field": ([{"rule": "stagnation", "after": 3}], "/stop_when/0/after"),
    "the second one": ([{"rule": "stagnation"}, {"rule": "x"}], "/stop_when/1/rule"),
    "too many": ([{"rule": "stagnation"}] * 9, "/stop_when"),
}


@cases(BAD)
def test_refused_rules(server, case):
    client = server.client()
    rules, pointer = case
    body = {"metric": {"name": "v", "goal": "maximize"}, "domain": {"type": "candidates", "points": [[0.0], [1.0]]}}
    refusal(client.post("/v1/studies", {**body, "stop_when": rules}), 422, pointer)
    study = client.create(body)["id"]
    refusal(client.request("PATCH", f"/v1/studies/{study}", {"stop_when": rules}), 422, pointer)


def test_rules_require_a_model(server):
    client = server.client()
    body = {"metric": {"name": "v", "goal": "maximize"}, "domain": {"type": "candidates", "points": [[0.0], [1.0]]}}
    uniform = {**body, "algorithm": {"name": "uniform"}}
    rules = [{"rule": "stagnation"}, {"rule": "target", "value": 1}]
    refusal(client.post("/v1/studies", {**uniform, "stop_when": rules}), 422, "/stop_when")
    study = client.create(uniform)["id"]
    refusal(client.request("PATCH", f"/v1/studies/{study}", {"stop_when": rules}), 422, "/stop_when")


def test_results_that_are_taken_back_do_not_count(server):
    """A fork reads all results at once; the study has read them batch by batch, and the amended one twice."""
    client = server.client()
    study = stopping_study(client, [{"rule": "stagnation", "results": 12, "gain": 0.01}])
    value = lambda trial: peak(trial["point"])  # noqa: E731
    assert work(client, study, value, 14) == 14
    for trial in (2, 9):
        answer = client.post(f"/v1/studies/{study}/trials/{trial}/amend", {"state": "failed"})
        assert answer.status == 200, answer
    answer = client.post(f"/v1/studies/{study}/fork", {"id": f"{study}-again"})
    assert answer.status == 201, answer
    told = work(client, study, value)
    assert 0 < told < 140 and work(client, f"{study}-again", value) == told
    assert client.study(study)["state_reason"] == client.study(f"{study}-again")["state_reason"]
