"""What is told beside a value, after the first result, and by users: recorded metrics, repeats, late results,
amendments, users' own trials."""

import threading
import time

from server import Server
from support import cases, definition, grid, measure, noisy, refusal
from database_commands import expect_sound
from test_metrics import Metrics


def asynchronous(client, **fields):
    body = definition(**fields)
    del body["feedback"]
    return client.create(body)["id"]


def next_batch(client, study):
    """What is queued is handed out, and with all that was told a batch begins."""
    client.ask(study, 1000)
    name = f"next {time.monotonic()}"
    assert client.ask(study, worker=name, wait_seconds=10)["trials"]


def tell(client, study, results):
    return client.post(f"/v1/studies/{study}/tell", {"results": results})


def counts(answer):
    return tuple(answer.json[key] for key in ("accepted", "duplicates", "late"))


def amend(client, study, trial, body):
    return client.post(f"/v1/studies/{study}/trials/{trial}/amend", body)


def short_lease(client, **fields):
    """A trial whose first attempt has run out and whose second is held. -> study, trial"""
    study = asynchronous(client, **fields)
    (trial,) = client.ask(study, 1, worker="first", lease_seconds=1)["trials"]
    (again,) = client.ask(study, 1, worker="second", fresh=True, wait_seconds=0)["trials"]
    client.tell(study, [{"trial": again["id"], "state": "released"}])
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        (held,) = client.ask(study, 1, worker="second", wait_seconds=5)["trials"]
        if held["id"] == trial["id"]:
            assert held["attempt"] == 2
            return study, trial["id"]
        client.tell(study, [{"trial": held["id"], "state": "failed"}])
    raise AssertionError("the lease does not run out")


# ---- metrics, repeats, metadata ----------------------------------------------------------------------------


METRICS = [
    {"name": "latency", "goal": "minimize", "role": "recorded"},
    {"name": "accuracy", "goal": "maximize"},
    {"name": "a/b~c", "goal": "maximize", "role": "recorded"},
]


def with_metrics(client):
    body = definition(metrics=METRICS)
    del body["metric"]
    return client.create(body)["id"]


def test_recorded_metrics_are_kept_and_shown(server):
    client = server.client()
    study = with_metrics(client)
    (trial,) = client.ask(study)["trials"]
    values = {"accuracy": 0.75, "a/b~c": -2.5, "latency": 12}
    result = {"trial": trial["id"], "values": values, "metadata": {"host": "ä", "n": [1, 2]}, "repeats": 3}
    assert counts(tell(client, study, [result])) == (1, 0, 0)
    assert counts(tell(client, study, [result])) == (0, 1, 0)
    shown = client.read(study, f"trials/{trial['id']}")
    assert shown["value"] == 0.75 and shown["values"] == values, shown
    assert shown["metadata"] == {"host": "ä", "n": [1, 2]} and shown["repeats"] == 3, shown
    (listed,) = client.items(f"/v1/studies/{study}/trials?state=completed")
    assert listed["values"] == values and listed["point"] == trial["point"], listed
    assert client.study(study)["best"]["value"] == 0.75
    assert client.study(study)["metrics"][0]["role"] == "recorded"
    # the objective alone is enough
    (other,) = client.ask(study)["trials"]
    client.tell(study, [{"trial": other["id"], "value": 0.5}])
    assert "values" not in client.read(study, f"trials/{other['id']}")


@cases(
    {
        "objective missing": ({"latency": 1}, "/results/0/values/accuracy"),
        "undeclared": ({"accuracy": 1, "loss": 2}, "/results/0/values/loss"),
        "undeclared, with a slash": ({"accuracy": 1, "a/b": 2}, "/results/0/values/a~1b"),
        "undeclared, with a tilde": ({"accuracy": 1, "~": 2}, "/results/0/values/~0"),
    }
)
def test_wrong_values(server, case):
    values, pointer = case
    client = server.client()
    study = with_metrics(client)
    (trial,) = client.ask(study)["trials"]
    refusal(tell(client, study, [{"trial": trial["id"], "values": values}]), 422, pointer)
    assert client.study(study)["trials_completed"] == 0


def test_the_recorded_values_belong_to_the_result(server):
    client = server.client()
    study = with_metrics(client)
    (trial,) = client.ask(study)["trials"]
    first = {"trial": trial["id"], "values": {"accuracy": 1, "latency": 1}}
    other = {"trial": trial["id"], "values": {"accuracy": 1, "latency": 2}}
    client.tell(study, [first])
    refusal(tell(client, study, [other]), 409, "/results/0/trial")
    refusal(tell(client, study, [dict(first, repeats=2)]), 409, "/results/0/trial")


def test_repeats_are_pulls(server):
    client = server.client()
    study = client.create(definition())["id"]
    (trial,) = client.ask(study)["trials"]
    client.tell(study, [{"trial": trial["id"], "value": 0.5, "repeats": 7}])
    client.ask(study, wait_seconds=10)
    assert client.items(f"/v1/studies/{study}/batches")[-1]["observations"] == 7
    assert client.study(study)["observations"] == 1


# ---- late results ------------------------------------------------------------------------------------------


def test_another_value_of_another_attempt_is_a_measurement(server):
    client = server.client()
    study, trial = short_lease(client)
    before = client.study(study)["observations"]
    assert counts(tell(client, study, [{"trial": trial, "attempt": 1, "value": 0.25}])) == (1, 0, 0)
    second = {"trial": trial, "attempt": 2, "value": 0.5, "metadata": {"w": 2}}
    assert counts(tell(client, study, [second])) == (0, 0, 1)
    assert counts(tell(client, study, [second])) == (0, 1, 0)
    assert counts(tell(client, study, [{"trial": trial, "attempt": 1, "value": 0.25}])) == (0, 1, 0)
    assert counts(tell(client, study, [{"trial": trial, "value": 0.25}])) == (0, 1, 0)
    for result in (
        {"trial": trial, "attempt": 2, "value": 0.75},
        {"trial": trial, "attempt": 1, "value": 0.5},
        {"trial": trial, "value": 0.5},
        {"trial": trial, "attempt": 2, "state": "failed"},
    ):
        refusal(tell(client, study, [result]), 409, "/results/0/trial")
    refusal(tell(client, study, [{"trial": trial, "attempt": 3, "value": 1}]), 422, "/results/0/attempt")
    view = client.study(study)
    assert view["observations"] == before + 2
    assert view["best"] == {"trial": trial, "candidate": view["best"]["candidate"], "value": 0.5}, view["best"]
    shown = client.read(study, f"trials/{trial}")
    (late,) = shown["late_results"]
    assert (late["attempt"], late["value"], late["metadata"]) == (2, 0.5, {"w": 2}), late
    # it joins at the next boundary, as one more pull
    next_batch(client, study)
    told = [t for t in client.items(f"/v1/studies/{study}/trials") if "value" in t]
    batches = client.items(f"/v1/studies/{study}/batches")
    assert batches[-1]["observations"] == len(told) + 1, (batches[-1], len(told))


# ---- amendments --------------------------------------------------------------------------------------------


def told_study(client, values, **fields):
    """A study in which so many trials were told these values. -> id, the trials"""
    study = asynchronous(client, **fields)
    trials = []
    for value in values:
        (trial,) = client.ask(study, worker="w", wait_seconds=10)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": value}])
        trials.append(trial)
    return study, trials


def test_an_amendment_is_shown_and_keeps_what_was(server):
    client = server.client()
    study, trials = told_study(client, [0.1, 0.9, 0.3])
    second = trials[1]["id"]
    answer = amend(client, study, second, {"value": 0.2, "reason": "the scale was off"})
    assert answer.status == 200, answer
    assert (answer.json["state"], answer.json["value"]) == ("completed", 0.2), answer.json
    shown = client.read(study, f"trials/{second}")
    (amendment,) = shown["amendments"]
    assert amendment["reason"] == "the scale was off" and amendment["was"] == {"state": "completed", "value": 0.9}
    assert client.study(study)["best"]["trial"] == trials[2]["id"]
    # a worker that repeats itself meanwhile is no contradiction
    assert counts(tell(client, study, [{"trial": second, "value": 0.9}])) == (0, 1, 0)
    answer = amend(client, study, second, {"state": "failed", "reason": "out of power"})
    assert (answer.json["state"], answer.json["reason"]) == ("failed", "out of power"), answer.json
    view = client.study(study)
    assert (view["trials_completed"], view["trials_failed"], view["observations"]) == (2, 1, 2), view
    answer = amend(client, study, second, {"value": 5})
    view = client.study(study)
    assert (view["trials_completed"], view["trials_failed"], view["observations"]) == (3, 0, 3), view
    assert view["best"]["value"] == 5
    assert len(client.read(study, f"trials/{second}")["amendments"]) == 3


def pulls_of(client, study, candidate):
    next_batch(client, study)
    return client.get(f"/v1/studies/{study}/candidates/{candidate}").json["pulls"]


@cases({"at once": False, "after a batch": True})
def test_a_value_that_comes_back_has_its_repeats(case):
    with Server() as server:
        client = server.client()
        study = asynchronous(client)
        (trial,) = client.ask(study)["trials"]
        number, candidate = trial["id"], trial["candidate"]
        client.tell(study, [{"trial": number, "value": 1.0, "repeats": 7}])
        assert pulls_of(client, study, candidate) == 7
        answer = amend(client, study, number, {"state": "failed", "reason": "spilt"})
        assert "repeats" not in answer.json, answer.json
        if case:
            assert pulls_of(client, study, candidate) == 0
            server.kill()
            server.start()
            client = server.client()
        assert amend(client, study, number, {"value": 1.0, "reason": "it was not"}).json["repeats"] == 7
        assert amend(client, study, number, {"value": 2.0}).json["repeats"] == 7
        assert pulls_of(client, study, candidate) == 7
        assert amend(client, study, number, {"value": 2.0, "repeats": 3}).json["repeats"] == 3
        assert pulls_of(client, study, candidate) == 3
        assert amend(client, study, number, {"value": 2.0, "repeats": 1}).json.get("repeats") is None
        assert pulls_of(client, study, candidate) == 1
        was = [amendment["was"] for amendment in client.read(study, f"trials/{number}")["amendments"]]
        assert [result.get("repeats") for result in was] == [7, None, 7, 7, 3], was
        server.stop()
        expect_sound(server.db, [study])


def test_the_repeats_of_an_imported_result_stay(server):
    client = server.client()
    study = asynchronous(client)
    client.post(f"/v1/studies/{study}/observations", {"observations": [{"candidate": 3, "value": 0.5, "repeats": 4}]})
    path = f"/v1/studies/{study}/observations/1/amend"
    refusal(client.post(path, {"value": 1, "repeats": 2}), 422, "/repeats")
    assert client.post(path, {"state": "failed"}).status == 200
    assert client.post(path, {"value": 1}).json["repeats"] == 4


def test_only_what_was_told_can_be_amended(server):
    client = server.client()
    study = asynchronous(client)
    (trial,) = client.ask(study)["trials"]
    refusal(amend(client, study, trial["id"], {"value": 1}), 409)
    refusal(amend(client, study, 4711, {"value": 1}), 404)
    client.tell(study, [measure(trial)])
    refusal(amend(client, study, trial["id"], {"value": 1, "state": "failed"}), 422, "/value")
    refusal(amend(client, study, trial["id"], {"values": {"speed": 1}}), 422, "/values/speed")


def state_of(client, study):
    """What the model comes to."""
    next_batch(client, study)
    return client.read(study, "model")["observations"], client.predict(study, candidates=list(range(0, 144, 7)))


@cases({"plain": False, "killed before the boundary": True})
def test_the_truth_told_later_is_the_truth(case):
    """With every pulled candidate in the dictionary, the model is a function of counts and sums."""
    algorithm = {"q_bar": 1e9}
    points = grid(12)
    answers = []
    for mistaken in (True, False):
        with Server() as server:
            client = server.client()
            study = client.create(dict(definition(algorithm=algorithm), id="s", feedback="async"))["id"]
            for candidate in (5, 17, 5, 80, 5, 17, 100):
                added = client.post(f"/v1/studies/{study}/trials", {"candidate": candidate})
                assert added.status == 200, added
                (trial,) = client.ask(study, worker="w", wait_seconds=10)["trials"]
                assert trial["candidate"] == candidate and trial["id"] == added.json["id"], (trial, added)
                number, truth = trial["id"], noisy(points[candidate], trial["id"])
                wrong = {3: {"value": 9}, 4: {"state": "infeasible"}, 6: {"value": -3}}.get(number)
                told = wrong if mistaken and wrong else {"value": truth}
                if number == 7:
                    told = {"state": "failed"} if not mistaken else {"value": 3}
                client.tell(study, [{"trial": number, **told}])
            next_batch(client, study)  # all of it joins the model
            if mistaken:
                for number in (3, 4, 6):
                    candidate = client.read(study, f"trials/{number}")["candidate"]
                    amend(client, study, number, {"value": noisy(points[candidate], number)})
                amend(client, study, 7, {"state": "failed"})
                if case:
                    server.kill()
                    server.start()
                    client = server.client()
            answers.append((client.study(study)["observations"], state_of(client, study)))
            assert not client.get(f"/v1/studies/{study}").json.get("state_reason")
            if mistaken:
                # what is stored comes to the same again
                before = client.predict(study, candidates=[5, 17, 80])
                server.kill()
                server.start()
                client = server.client()
                assert client.predict(study, candidates=[5, 17, 80]) == before
    (observations, (pulls, predictions)), (others, (other_pulls, others_predictions)) = answers
    assert observations == others and pulls == other_pulls == 6, answers
    for a, b in zip(predictions, others_predictions):
        assert abs(a["mean"] - b["mean"]) < 1e-9 and abs(a["std"] - b["std"]) < 1e-9, (a, b)


def hold(client, study, candidates, **fields):
    """Trials of the user's own on these candidates, handed out. -> their numbers"""
    held = []
    for candidate in candidates:
        added = client.post(f"/v1/studies/{study}/trials", {"candidate": candidate})
        assert added.status == 200, added
        (trial,) = client.ask(study, worker="w", fresh=True, wait_seconds=30, **fields)["trials"]
        assert (trial["id"], trial["candidate"]) == (added.json["id"], candidate), trial
        held.append(trial["id"])
    return held


def run_out(client, study, candidates):
    """The same; their first attempts have run out, and others hold them."""
    numbers = hold(client, study, candidates, lease_seconds=1)
    time.sleep(1.1)
    again = client.ask(study, len(numbers), worker="w", fresh=True, wait_seconds=30)["trials"]
    assert [(t["id"], t["attempt"]) for t in again] == [(number, 2) for number in numbers], again
    return numbers


@cases({"maximize": 1, "minimize": -1})
def test_imports_and_late_results_stay_when_others_are_amended(case):
    """As if the truth had been told at once: sums are added up again from all that was told of a candidate."""
    answers = []
    for mistaken in (True, False):
        with Server() as server:
            client = server.client()
            goal = {"name": "value", "goal": "maximize" if case > 0 else "minimize"}
            study = client.create(
                dict(definition(algorithm={"q_bar": 1e9}), id="s", feedback="async", metric=goal)
            )["id"]
            rows = [{"candidate": 17, "value": 0.4 * case, "repeats": 2}, {"candidate": 5, "value": 0.1 * case}]
            assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
            first = hold(client, study, (5, 17, 80))
            values = [9, -9, 4] if mistaken else [0.5, 0.3, 0.2]
            client.tell(study, [{"trial": n, "value": case * v} for n, v in zip(first, values)])
            next_batch(client, study)
            second = run_out(client, study, (5, 80, 5))
            for n, value, late in zip(second, (0.55, 7 if mistaken else 0.25, 0.6), (0.45, 0.35, 0.65)):
                client.tell(study, [{"trial": n, "attempt": 2, "value": case * value}])
                assert client.tell(study, [{"trial": n, "attempt": 1, "value": case * late}])["late"] == 1
            next_batch(client, study)
            (third,) = run_out(client, study, (17,))  # joins together with the amendments
            client.tell(study, [{"trial": third, "attempt": 2, "value": 8 if mistaken else 0.31 * case}])
            assert client.tell(study, [{"trial": third, "attempt": 1, "value": 0.33 * case}])["late"] == 1
            if mistaken:
                truth = [(first[0], 3), (first[1], 0.3), (first[0], 0.5), (first[2], 0.2), (second[1], 0.25), (third, 0.31)]
                for n, value in truth:
                    assert amend(client, study, n, {"value": case * value}).status == 200
                    if value == 3:
                        server.kill()
                        server.start()
                        client = server.client()
                server.kill()
                server.start()
                client = server.client()
            best = client.study(study)["best"]
            answers.append((client.study(study)["observations"], best["value"], best["candidate"], state_of(client, study)))
            server.stop()
    (observations, best, candidate, (pulls, predictions)), (others, truly, rightly, (other_pulls, truth)) = answers
    assert (observations, pulls) == (others, other_pulls) == (13, 14), answers
    assert (best, candidate) == (truly, rightly) == (0.65 * case, 5), answers  # a late one
    for a, b in zip(predictions, truth):
        assert abs(a["mean"] - b["mean"]) < 1e-9 and abs(a["std"] - b["std"]) < 1e-9, (a, b)


# ---- users' own trials -------------------------------------------------------------------------------------


def test_own_trials_come_first_and_survive(server):
    with Server() as own:
        client = own.client()
        study = asynchronous(client, id="study")
        held = client.ask(study, 3)["trials"]
        first = client.post(f"/v1/studies/{study}/trials", {"candidate": 7})
        assert first.status == 200 and first.json["state"] == "queued", first
        assert first.json["point"] == grid(12)[7] and first.json["attempt"] == 0 and "batch" not in first.json
        second = client.post(f"/v1/studies/{study}/trials", {"candidate": 7}).json
        assert client.study(study)["trials_queued"] == 2
        own.kill()
        own.start()
        client = own.client()
        trials = client.ask(study, 2)["trials"]
        assert [t["id"] for t in trials] == [first.json["id"], second["id"]], trials
        client.tell(study, [{"trial": t["id"], "value": 1.5} for t in trials])
        client.tell(study, [measure(t) for t in held])
        next_batch(client, study)
        assert client.items(f"/v1/studies/{study}/batches")[-1]["observations"] == 5


def test_own_trials_and_the_horizon(server):
    client = server.client()
    study = asynchronous(client, horizon=3)
    path = f"/v1/studies/{study}/trials"
    assert client.post(path, {"candidate": 1}).status == 200
    trials = client.ask(study)["trials"] + client.ask(study, 2)["trials"]
    assert len(trials) == 3 and trials[0]["candidate"] == 1, trials
    refusal(client.post(path, {"candidate": 1}), 409)
    client.tell(study, [measure(t) for t in trials])
    assert client.study(study)["state"] == "finished"
    refusal(client.post(path, {"candidate": 1}), 409)


def test_own_trials_while_a_batch_is_planned(server):
    """Every number is given once, and all of them are answered."""
    client = server.client()
    points = [[i / 40, j / 40] for i in range(40) for j in range(40)]
    study = client.create(dict(definition(points), algorithm={"name": "gp_bucb", "max_batch": 300}, feedback="async"))["id"]
    rows = [{"candidate": 7 * i, "value": noisy(points[7 * i], i)} for i in range(150)]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
    asked = []

    def ask():
        asked.extend(server.client().ask(study, 300, wait_seconds=60)["trials"])

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive() and not Metrics(client).get("banditd_waiting_asks"):
        pass  # until it is being planned for
    own = []
    while thread.is_alive() or not own:
        key = {"Idempotency-Key": f"own-{len(own)}"} if len(own) % 2 else None
        answer = client.post(f"/v1/studies/{study}/trials", {"candidate": 3}, headers=key)
        assert answer.status == 200, answer
        own.append(answer.json["id"])
        time.sleep(0.01)
    thread.join()
    trials = client.items(f"/v1/studies/{study}/trials")
    assert [trial["id"] for trial in trials] == list(range(1, len(trials) + 1))
    assert [trial["id"] for trial in trials if "batch" not in trial] == sorted(own)
    assert asked and all(trial["candidate"] == 3 for trial in trials if trial["id"] in own)
    assert sum(batch["size"] for batch in client.items(f"/v1/studies/{study}/batches")) == len(trials) - len(own)


def test_own_trials_of_what_is_retired(server):
    client = server.client()
    study = asynchronous(client)
    assert client.post(f"/v1/studies/{study}/candidates/retire", {"candidates": [7]}).status == 200
    refusal(client.post(f"/v1/studies/{study}/trials", {"candidate": 7}), 422, "/candidate")
    assert client.study(study)["trials_queued"] == 0


@cases(
    {
        "no such candidate": ({"candidate": 144}, 422, "/candidate"),
        "negative": ({"candidate": -1}, 422, "/candidate"),
        "parameters": ({"parameters": {"x": 1}}, 422, "/parameters"),
        "nothing": ({}, 422, "/candidate"),
    }
)
def test_wrong_own_trials(server, case):
    body, status, pointer = case
    client = server.client()
    study = asynchronous(client)
    refusal(client.post(f"/v1/studies/{study}/trials", body), status, pointer)
    assert client.study(study)["trials_queued"] == 0


def test_own_trials_count_as_out():
    """One worker and its user's own trials: the same choices with and without kills."""
    def run(restarts):
        chosen = []
        with Server() as server:
            client = server.client()
            asynchronous(client, id="study", algorithm={"lambda": 0.01})
            for step in range(30):
                if step in restarts:
                    server.kill()
                    server.start()
                    client = server.client()
                if step % 3 == 0:
                    assert client.post("/v1/studies/study/trials", {"candidate": 5 * step}).status == 200
                trials = client.ask("study", 2, worker="w1", fresh=True)["trials"]
                chosen += [trial["candidate"] for trial in trials]
                if step % 2:
                    pending = client.items("/v1/studies/study/trials?state=pending")
                    client.tell("study", [measure(trial) for trial in pending])
        return chosen

    assert run(set()) == run({4, 7, 12, 13, 20, 27})


# ---- the queue ---------------------------------------------------------------------------------------------


@cases({"live": False, "after a restart": True})
def test_the_queue_has_one_order(case):
    """Released (the last first), then failed ones, then users' own, then picks."""
    with Server() as server:
        client = server.client()
        study = client.create(dict(definition(), id="study", algorithm={"name": "uniform", "max_batch": 8}))["id"]
        client.tell(study, [measure(t) for t in client.ask(study, 1)["trials"]])
        trials = client.ask(study, 5)["trials"]
        assert [t["id"] for t in trials] == [2, 3, 4, 5, 6], trials
        assert client.post(f"/v1/studies/{study}/trials", {"candidate": 3}).json["id"] == 10
        client.tell(study, [{"trial": 5, "state": "failed", "retry": True}])
        client.tell(study, [{"trial": 3, "state": "failed", "retry": True}])
        client.tell(study, [{"trial": 2, "state": "released"}])
        time.sleep(0.01)
        client.tell(study, [{"trial": 6, "state": "released"}])
        if case:
            server.kill()
            server.start()
            client = server.client()
        order = [t["id"] for t in client.ask(study, 8)["trials"]]
        assert order == [6, 2, 3, 5, 10, 7, 8, 9], order


def test_the_table_has_what_results_carry(server):
    client = server.client()
    study = with_metrics(client)
    (trial,) = client.ask(study)["trials"]
    client.tell(study, [{"trial": trial["id"], "values": {"accuracy": 0.75, "latency": 12}, "repeats": 3}])
    table = client.get(f"/v1/studies/{study}/export?format=csv")
    header, row = table.body.decode().splitlines()[:2]
    columns = dict(zip(header.split(","), row.split(",")))
    assert (columns["value"], columns["repeats"], columns["values.latency"], columns["values.a/b~c"]) == ("0.75", "3", "12.0", ""), columns
    other = with_metrics(client)
    answer = client.post(f"/v1/studies/{other}/observations", table.body, content_type="text/csv")
    assert answer.status == 200 and answer.json["accepted"] == 1, answer
