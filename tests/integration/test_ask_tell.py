"""Handing out and taking back: batches, failures, leases, duplicates and conflicts."""

import calendar
import re
import threading
import time

from support import definition, grid, measure, refusal, work


def one_pending(client, **fields):
    """A new study with one trial handed out (the first batch is one pick). -> (its id, the trial)"""
    study = client.create(definition(**fields))["id"]
    answer = client.ask(study, 1, worker="w1")
    return study, answer["trials"][0]


def in_a_batch(client, least=4, **fields):
    """A new study, told until a batch of at least so many picks starts, all of it handed out.
    -> (its id, the trials)"""
    study = client.create(definition(**fields))["id"]
    for _ in range(50):
        trials = client.ask(study, 1000)["trials"]
        if len(trials) >= least:
            return study, trials
        client.tell(study, [measure(trial) for trial in trials])
    raise AssertionError("no batch was that long")


def before_a_batch(client, least):
    """A new study whose next batch has at least so many picks: another with the same seed shows where. -> its id"""
    _, trials = in_a_batch(client, least)
    study = client.create(definition())["id"]
    work(client, study, trials[0]["id"] - 1)
    return study


def test_a_trial_as_handed_out(server):
    client = server.client()
    study = client.create(definition(lease_seconds=120))["id"]
    before = time.time()
    answer = client.ask(study, 1, worker="w1")
    assert answer["reason"] is None, "null exactly when all that was asked for is there"
    (trial,) = answer["trials"]
    assert (trial["id"], trial["state"], trial["batch"], trial["attempt"]) == (1, "pending", 0, 1), trial
    assert trial["worker"] == "w1" and trial["point"] == grid(12)[trial["candidate"]]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", trial["lease_expires_at"])
    expires = time.strptime(trial["lease_expires_at"][:19], "%Y-%m-%dT%H:%M:%S")
    assert 118 < calendar.timegm(expires) - before < 125, trial


def test_a_batch_waits_for_all_its_rewards(server):
    client = server.client()
    study, trials = in_a_batch(client)
    more = client.post(f"/v1/studies/{study}/ask", {"count": 1})
    assert more.json == {"trials": [], "reason": "awaiting_feedback"}, more
    assert int(more.headers["Retry-After"]) >= 0
    client.tell(study, [measure(trial) for trial in trials[:-1]])
    assert client.ask(study)["reason"] == "awaiting_feedback", "one is still out"
    client.tell(study, [measure(trials[-1])])
    assert client.ask(study)["trials"][0]["batch"] == trials[0]["batch"] + 1


def test_picks_do_not_depend_on_how_they_are_fetched(server):
    client = server.client()
    orders = []
    for count in (1, 3, 1000):
        study = client.create(definition())["id"]
        orders.append(work(client, study, 60, count))
    assert orders[0] == orders[1] == orders[2]


def test_count_and_reason(server):
    client = server.client()
    study = before_a_batch(client, least=3)
    answer = client.ask(study, 2)
    assert len(answer["trials"]) == 2 and answer["reason"] is None, "null exactly when all are there"
    first, second = (trial["id"] for trial in answer["trials"])
    assert second == first + 1
    rest = client.ask(study, 1000)
    assert rest["reason"] == "awaiting_feedback" and rest["trials"][0]["id"] == second + 1


def test_values_are_told_in_any_order_and_kept_to_the_bit(server):
    client = server.client()
    study, trials = in_a_batch(client)
    values = {trial["id"]: 0.1 + trial["id"] / 3 for trial in trials}
    answer = client.tell(study, [{"trial": n, "value": values[n]} for n in sorted(values, reverse=True)])
    assert answer == {"accepted": len(trials), "duplicates": 0, "late": 0}
    for trial in trials:
        read = client.read(study, f"trials/{trial['id']}")
        assert read["state"] == "completed" and read["value"] == values[trial["id"]], read
        assert read["told_at"], read


def test_an_integer_is_a_real(server):
    client = server.client()
    study, trial = one_pending(client)
    assert client.tell(study, [{"trial": trial["id"], "value": 1}])["accepted"] == 1


def test_failed_trials_count_as_told_without_a_reward(server):
    client = server.client()
    study, trials = in_a_batch(client)
    before = client.study(study)["observations"]
    results = [measure(trial) for trial in trials]
    results[1] = {"trial": trials[1]["id"], "state": "failed", "reason": "out of memory"}
    assert client.tell(study, results)["accepted"] == len(trials)
    after = client.study(study)
    assert after["observations"] == before + len(trials) - 1 and after["trials_failed"] == 1, after
    failed = client.read(study, f"trials/{trials[1]['id']}")
    assert failed["state"] == "failed" and failed["reason"] == "out of memory" and "value" not in failed, failed
    assert client.ask(study)["trials"], "the next batch starts"


def test_an_arm_that_fails_three_times_is_withheld(server):
    client = server.client()
    bad = {}
    study = client.create(definition(points=grid(3), horizon=150))["id"]
    told = 0
    while told < 150:
        trials = client.ask(study, 1000)["trials"]
        assert trials, client.study(study)
        results = []
        for trial in trials:
            if trial["candidate"] % 2:
                bad[trial["candidate"]] = bad.get(trial["candidate"], 0) + 1
                results.append({"trial": trial["id"], "state": "failed"})
            else:
                results.append(measure(trial))
        client.tell(study, results)
        told += len(trials)
    batches = client.items(f"/v1/studies/{study}/batches")
    longest = max(batch["size"] for batch in batches)
    # Within one batch an arm may be picked again before its failures are known.
    assert bad and all(count <= 2 + longest for count in bad.values()), (bad, longest)
    last = client.items(f"/v1/studies/{study}/trials")[-30:]
    assert not [trial for trial in last if trial["candidate"] in bad and bad[trial["candidate"]] >= 3], last


def test_failed_with_retry_is_handed_out_again(server):
    client = server.client()
    study, trial = one_pending(client, max_attempts=2)
    retry = [{"trial": trial["id"], "state": "failed", "retry": True}]
    assert client.tell(study, retry)["accepted"] == 1
    assert client.read(study, f"trials/{trial['id']}")["state"] == "queued"
    (again,) = client.ask(study, worker="w2")["trials"]
    assert (again["id"], again["attempt"], again["candidate"]) == (trial["id"], 2, trial["candidate"])
    client.tell(study, retry)
    assert client.read(study, f"trials/{trial['id']}")["state"] == "failed", "no attempts remain"


def test_released_goes_back_without_counting(server):
    client = server.client()
    study, trial = one_pending(client)
    client.tell(study, [{"trial": trial["id"], "state": "released"}])
    assert client.study(study)["trials_queued"] == 1
    (again,) = client.ask(study, worker="w2")["trials"]
    assert (again["id"], again["attempt"]) == (trial["id"], 1), again


def test_infeasible_is_final_and_avoided(server):
    client = server.client()
    study = client.create(definition(points=grid(3), horizon=60))["id"]
    (first,) = client.ask(study)["trials"]
    client.tell(study, [{"trial": first["id"], "state": "infeasible", "reason": "does not fit"}])
    assert client.read(study, f"trials/{first['id']}")["state"] == "infeasible"
    assert first["candidate"] not in work(client, study, 59)
    assert client.study(study)["trials_infeasible"] == 1


def test_a_lease_that_ran_out_is_handed_out_again(server):
    client = server.client()
    study = client.create(definition(max_attempts=2))["id"]
    (trial,) = client.ask(study, worker="w1", lease_seconds=1)["trials"]
    assert client.ask(study, worker="w2")["reason"] == "awaiting_feedback"
    time.sleep(1.3)
    (again,) = client.ask(study, worker="w2", lease_seconds=1)["trials"]
    assert (again["id"], again["attempt"], again["worker"]) == (trial["id"], 2, "w2"), again
    attempts = client.read(study, f"trials/{trial['id']}")["attempts"]
    assert [(a["attempt"], a["worker"]) for a in attempts] == [(1, "w1"), (2, "w2")], attempts
    time.sleep(1.3)
    deadline = time.monotonic() + 5
    while client.study(study)["trials_failed"] == 0 and time.monotonic() < deadline:
        client.ask(study, worker="w3")
        time.sleep(0.1)
    assert client.read(study, f"trials/{trial['id']}")["state"] == "failed", "after max_attempts"
    # It stays open to a late result.
    answer = client.tell(study, [{"trial": trial["id"], "value": 0.5, "attempt": 2}])
    assert answer["accepted"] + answer["late"] == 1, answer
    assert client.read(study, f"trials/{trial['id']}")["value"] == 0.5


def test_a_late_result_of_an_open_trial_is_accepted(server):
    client = server.client()
    study = client.create(definition())["id"]
    (trial,) = client.ask(study, worker="w1", lease_seconds=1)["trials"]
    time.sleep(1.3)
    assert client.tell(study, [{"trial": trial["id"], "value": 0.5}])["accepted"] == 1
    assert client.read(study, f"trials/{trial['id']}")["state"] == "completed"


def test_a_worker_gets_its_pending_trials_first(server):
    client = server.client()
    study = before_a_batch(client, least=4)
    mine = client.ask(study, 2, worker="w1")["trials"]
    again = client.ask(study, 2, worker="w1")["trials"]
    assert [t["id"] for t in again] == [t["id"] for t in mine]
    assert [t["attempt"] for t in again] == [1, 1] and all(t["state"] == "pending" for t in again)
    three = client.ask(study, 3, worker="w1")["trials"]
    assert [t["id"] for t in three[:2]] == [t["id"] for t in mine] and three[2]["id"] == mine[1]["id"] + 1
    fresh = client.ask(study, 1, worker="w1", fresh=True)["trials"]
    assert fresh[0]["id"] == three[2]["id"] + 1


def test_waiting_ask_is_answered_when_the_batch_is_told(server):
    client, waiting = server.client(), server.client()
    study, trial = one_pending(client)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(waiting.ask(study, 1, wait_seconds=30)))
    begun = time.monotonic()
    thread.start()
    time.sleep(0.3)
    assert not answers, "it is held"
    client.tell(study, [measure(trial)])
    thread.join(30)
    assert answers and len(answers[0]["trials"]) == 1 and time.monotonic() - begun < 15, answers


def test_an_ask_of_a_study_that_has_stopped(server):
    client = server.client()
    study = client.create(definition(points=[[0, 0], [1, 1]]))["id"]
    assert client.post(f"/v1/studies/{study}/candidates/retire", {"candidates": [0, 1]}).status == 200
    for _ in range(2):  # the one that finds nothing to hand out, and one that comes later
        assert "no candidate" in refusal(client.post(f"/v1/studies/{study}/ask", {}), 409)["detail"]
    assert client.study(study)["state"] == "error"


def test_waiting_ask_ends_when_its_time_is_over(server):
    client = server.client()
    study, _ = one_pending(client)
    begun = time.monotonic()
    answer = client.ask(study, 1, wait_seconds=1)
    assert answer == {"trials": [], "reason": "awaiting_feedback"} and 0.9 < time.monotonic() - begun < 10


def test_horizon(server):
    client = server.client()
    study = client.create(definition(horizon=10))["id"]
    told = 0
    while told < 10:
        trials = client.ask(study, 1000)["trials"]
        told += len(trials)
        assert told <= 10
        if told == 10:
            assert client.ask(study)["reason"] == "horizon_reached"
        client.tell(study, [measure(trial) for trial in trials])
    assert client.study(study)["state"] == "finished"
    assert client.ask(study) == {"trials": [], "reason": "finished"}
    client.read(study, "model")  # answered after the last results have joined it
    last = client.items(f"/v1/studies/{study}/batches")[-1]
    assert (last["stop_rule"], last["size"], last["observations"]) == ("horizon", 0, 10), last


def test_duplicates(server):
    client = server.client()
    study, trial = one_pending(client)
    result = {"trial": trial["id"], "value": 0.25}
    assert client.tell(study, [result, result]) == {"accepted": 1, "duplicates": 1, "late": 0}
    assert client.tell(study, [result]) == {"accepted": 0, "duplicates": 1, "late": 0}
    assert client.study(study)["observations"] == 1


def test_another_value_is_a_conflict(server):
    client = server.client()
    study, trial = one_pending(client)
    client.tell(study, [{"trial": trial["id"], "value": 0.25}])
    tell = f"/v1/studies/{study}/tell"
    refusal(client.post(tell, {"results": [{"trial": 1, "value": 0.5}]}), 409, "/results/0/trial")
    refusal(client.post(tell, {"results": [{"trial": 1, "value": 0.5, "attempt": 1}]}), 409, "/results/0/trial")
    assert client.read(study, "trials/1")["value"] == 0.25 and client.study(study)["observations"] == 1


def test_the_same_trial_twice_in_one_tell_with_two_values(server):
    client = server.client()
    study, trial = one_pending(client)
    results = [{"trial": trial["id"], "value": 0.25}, {"trial": trial["id"], "value": 0.5}]
    refusal(client.post(f"/v1/studies/{study}/tell", {"results": results}), 409, "/results/1/trial")
    assert client.study(study)["observations"] == 0, "all or nothing"


def test_unknown_trial(server):
    client = server.client()
    study, trial = one_pending(client)
    tell = f"/v1/studies/{study}/tell"
    refusal(client.post(tell, {"results": [{"trial": 99, "value": 1}]}), 422, "/results/0/trial")
    # Every bad result is named, and the good one beside them is not taken.
    results = [{"trial": 98, "value": 1}, {"trial": trial["id"], "value": 1}, {"trial": 99, "value": 1}]
    problem = refusal(client.post(tell, {"results": results}), 422)
    assert [e["pointer"] for e in problem["errors"]] == ["/results/0/trial", "/results/2/trial"], problem
    assert client.study(study)["observations"] == 0 and client.study(study)["trials_pending"] == 1


def test_a_queued_trial_cannot_be_told(server):
    client = server.client()
    study = before_a_batch(client, least=2)
    (first,) = client.ask(study, 1)["trials"]
    queued = client.study(study)["trials_queued"]
    assert queued > 0
    body = {"results": [{"trial": first["id"], "value": 1}, {"trial": first["id"] + 1, "value": 1}]}
    refusal(client.post(f"/v1/studies/{study}/tell", body), 409, "/results/1/trial")
    assert client.study(study)["trials_pending"] == 1, "the pending one beside it is not taken"


def test_counts_add_up(server):
    client = server.client()
    study, trials = in_a_batch(client, least=5)
    results = [measure(trials[0]), {"trial": trials[1]["id"], "state": "failed"}]
    client.tell(study, results)
    view = client.study(study)
    states = ("queued", "pending", "completed", "failed", "infeasible", "stopped")
    listed = client.items(f"/v1/studies/{study}/trials")
    for state in states:
        count = sum(trial["state"] == state for trial in listed)
        assert view["trials_" + state] == count, (state, view)
        assert len(client.items(f"/v1/studies/{study}/trials?state={state}")) == count
    assert sum(view["trials_" + state] for state in states) == len(listed) == trials[-1]["id"]
