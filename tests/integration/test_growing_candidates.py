"""Candidates that are added and retired during a study, and what is known of each."""

import threading
import time

from server import Server
from support import cases, definition, grid, measure, refusal, target

FIRST = grid(6)
LATER = [[0.7, 0.3], [0.71, 0.31], [0.05, 0.95]]


def add(client, study, points):
    answer = client.post(f"/v1/studies/{study}/candidates", {"points": points})
    assert answer.status == 200, answer
    return answer.json["candidates"]


def restore(client, study, candidates):
    answer = client.post(f"/v1/studies/{study}/candidates/restore", {"candidates": candidates})
    assert answer.status == 200, answer
    return answer.json


def retire(client, study, candidates):
    answer = client.post(f"/v1/studies/{study}/candidates/retire", {"candidates": candidates})
    assert answer.status == 200, answer
    return answer.json


def growing(client, **fields):
    return client.create(definition(points=FIRST, **{"feedback": "async", **fields}))["id"]


def drive(client, study, trials):
    """Asks and tells one by one. -> the candidates in their order"""
    chosen = []
    for _ in range(trials):
        (trial,) = client.ask(study, worker="w")["trials"]
        assert trial["point"] == (FIRST + LATER)[trial["candidate"]], trial
        chosen.append(trial["candidate"])
        client.tell(study, [measure(trial)])
    return chosen


@cases({"async": "async", "batch": "batch"})
def test_what_is_added_is_chosen(server, case):
    client = server.client()
    study = growing(client, feedback=case)
    drive(client, study, 20)
    assert add(client, study, LATER) == [36, 37, 38]
    assert client.study(study)["candidates"] == 39
    chosen = drive(client, study, 60)
    assert {36, 37} & set(chosen), "the best point is one of those that were added"
    best = client.read(study, "best")["recommended"]
    assert target((FIRST + LATER)[best["candidate"]]) > 0.97, best


def test_scaling_stays_that_of_the_first(server):
    """Predictions do not move when a far point is added: the statistics are over the set first uploaded."""
    client = server.client()
    points = [[0], [10], [20], [30]]
    body = definition(points=points, feedback="async")
    body["domain"]["scaling"] = "standardize"
    study = client.create(body)["id"]
    client.post(f"/v1/studies/{study}/observations", {"observations": [{"candidate": 1, "value": 1}]})
    client.ask(study)
    before = client.predict(study, candidates=[0, 1, 2, 3])
    add(client, study, [[1000]])
    assert client.predict(study, candidates=[0, 1, 2, 3]) == before
    assert len(client.predict(study, candidates=[4])) == 1


def test_what_is_retired_is_not_handed_out_and_not_forgotten(server):
    client = server.client()
    study = growing(client)
    chosen = drive(client, study, 30)
    favourite = max(set(chosen), key=chosen.count)
    known = client.read(study, f"candidates/{favourite}")
    assert retire(client, study, [favourite, favourite])["retired"] == 1
    assert retire(client, study, [favourite]) == {"retired": 0, "cancelled": 0}
    assert favourite not in drive(client, study, 40)
    after = client.read(study, f"candidates/{favourite}")
    assert after["retired"] is True and after["pulls"] >= known["pulls"] > 0, after


def test_an_amendment_brings_nothing_back(server):
    """It has the record of failures counted anew, of which what is retired is a part."""
    client = server.client()
    study = growing(client)
    gone = set(drive(client, study, 30))
    retire(client, study, sorted(gone))
    assert client.post(f"/v1/studies/{study}/trials/1/amend", {"value": 0.25}).status == 200
    assert not gone & set(drive(client, study, 40))
    assert all(client.read(study, f"candidates/{number}")["retired"] for number in gone)


@cases(
    {
        "released": ({"state": "released"}, "released"),
        "to be tried again": ({"state": "failed", "retry": True}, "failed"),
        "lease": (None, "expired"),
    }
)
def test_what_comes_back_of_a_retired_candidate_is_closed(server, case):
    told, outcome = case
    client = server.client()
    study = growing(client)
    (trial,) = client.ask(study, lease_seconds=600 if told else 1)["trials"]
    retire(client, study, [trial["candidate"]])
    if told:
        client.tell(study, [{"trial": trial["id"], **told}])
    deadline = time.monotonic() + 30
    while (shown := client.get(f"/v1/studies/{study}/trials/{trial['id']}").json)["state"] == "pending":
        assert time.monotonic() < deadline, shown
        time.sleep(0.05)
    assert (shown["state"], shown["reason"]) == ("stopped", "the candidate was retired"), shown
    assert [attempt["outcome"] for attempt in shown["attempts"]] == [outcome], shown
    assert trial["candidate"] not in drive(client, study, 5)


def test_what_an_attempt_came_to_stays_when_the_candidate_is_retired_later(server):
    client = server.client()
    study = growing(client)
    (trial,) = client.ask(study, lease_seconds=1)["trials"]
    path = f"/v1/studies/{study}/trials/{trial['id']}"
    deadline = time.monotonic() + 30
    while (before := client.get(path).json)["state"] == "pending":
        assert time.monotonic() < deadline, before
        time.sleep(0.05)
    assert retire(client, study, [trial["candidate"]])["cancelled"] == 1
    after = client.get(path).json
    assert (after["state"], after["attempt"]) == ("stopped", before["attempt"]), after
    assert after["attempts"] == before["attempts"] and after["attempts"][0]["outcome"] == "expired", after


def test_queued_picks_of_retired_candidates_are_cancelled(server):
    client = server.client()
    study = growing(client, feedback="batch", algorithm={"init": {"type": "uncertainty", "parallelism": 2}})
    (first,) = client.ask(study, 1)["trials"]
    queued = client.items(f"/v1/studies/{study}/trials?state=queued")
    assert len(queued) > 4
    out = [queued[0]["candidate"], queued[2]["candidate"]]
    hit = [trial for trial in queued if trial["candidate"] in (*out, first["candidate"])]
    assert len(hit) < len(queued)
    assert retire(client, study, [*out, first["candidate"]]) == {"retired": len({*out, first["candidate"]}), "cancelled": len(hit)}
    trials = client.items(f"/v1/studies/{study}/trials")
    for trial in trials:
        if trial["id"] in [one["id"] for one in hit]:
            assert (trial["state"], trial["reason"]) == ("stopped", "the candidate was retired"), trial
        else:
            assert trial["state"] in ("queued", "pending"), trial
    assert client.study(study)["trials_stopped"] == len(hit)
    # What was handed out before is still told, and the batch ends without those that were cancelled.
    client.tell(study, [measure(first)])
    told = 1
    for _ in range(20):  # the batch is planned in parts
        handed = client.ask(study, 200)["trials"]
        if handed[0]["batch"] > 0:
            break
        assert not {trial["candidate"] for trial in handed} & {*out, first["candidate"]}
        client.tell(study, [measure(trial) for trial in handed])
        told += len(handed)
    assert handed[0]["batch"] == 1 and told > len(queued) - len(hit)
    assert client.read(study, "model")["observations"] == told


def test_all_retired_ends_in_an_error_that_can_be_mended(server):
    client = server.client()
    study = growing(client)
    drive(client, study, 3)
    retire(client, study, list(range(36)))
    assert client.post(f"/v1/studies/{study}/ask", {"wait_seconds": 5}).status in (200, 409)
    assert client.request("PATCH", f"/v1/studies/{study}", {"labels": {"a": "b"}}).status == 200
    view = client.study(study)
    assert (view["state"], view["state_reason"]) == ("error", "no candidate is left that may be handed out")
    assert add(client, study, LATER) == [36, 37, 38]
    answer = client.request("PATCH", f"/v1/studies/{study}", {"state": "active"})
    assert answer.status == 200, answer
    assert set(drive(client, study, 5)) <= {36, 37, 38}


def interrupted(how):
    with Server() as server:
        client = server.client()
        client.create(definition(points=FIRST, id="study", feedback="async"))
        chosen = []

        def cut():
            nonlocal client
            if how:
                how(server)
                server.start()
                client = server.client()

        chosen += drive(client, "study", 12)
        retire(client, "study", [chosen[0], 7])
        cut()
        chosen += drive(client, "study", 7)
        add(client, "study", LATER)
        cut()
        chosen += drive(client, "study", 12)
        retire(client, "study", [37])
        cut()
        chosen += drive(client, "study", 12)
        listed = client.items("/v1/studies/study/candidates", limit=10)
        return chosen, listed


def test_a_restart_changes_nothing():
    expected = interrupted(None)
    assert interrupted(Server.kill) == expected
    assert interrupted(Server.stop) == expected


def test_many_workers_while_candidates_come_and_go(server):
    client = server.client()
    study = growing(client)
    failures = []

    def work(name):
        try:
            mine = server.client()
            for _ in range(25):
                for trial in mine.ask(study, worker=name, wait_seconds=20)["trials"]:
                    mine.tell(study, [measure(trial)])
        except Exception as error:  # shown by the main thread
            failures.append(error)

    workers = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(6)]
    for worker in workers:
        worker.start()
    gone, count = [], 36
    for i in range(30):
        assert add(client, study, [[i / 30, 0.3], [0.7, i / 30]]) == [count, count + 1]
        count += 2
        gone.append(3 * i)
        retire(client, study, [3 * i])
    for worker in workers:
        worker.join()
    assert not failures, failures
    items = client.items(f"/v1/studies/{study}/candidates")
    assert [item["candidate"] for item in items] == list(range(count))
    assert [item["candidate"] for item in items if item.get("retired")] == sorted(gone)
    for trial in client.items(f"/v1/studies/{study}/trials"):
        assert trial["state"] in ("completed", "stopped", "queued"), trial
        assert trial["state"] != "queued" or trial["candidate"] not in gone, trial
    (trial,) = client.ask(study)["trials"]
    assert trial["candidate"] not in gone


def test_the_list_and_one_of_it(server):
    client = server.client()
    study = growing(client)
    told = {}
    for _ in range(25):
        (trial,) = client.ask(study, worker="w")["trials"]
        told.setdefault(trial["candidate"], []).append(measure(trial)["value"])
        client.tell(study, [measure(trial)])
    (trial,) = client.ask(study, worker="w")["trials"]  # a batch that has taken in all of them
    items = client.items(f"/v1/studies/{study}/candidates", limit=7)
    assert [item["candidate"] for item in items] == list(range(36))
    predicted = client.predict(study, candidates=list(range(36)))
    for item, prediction in zip(items, predicted):
        values = told.get(item["candidate"], [])
        assert item["point"] == FIRST[item["candidate"]]
        assert item["pulls"] == len(values), item
        assert (item["mean"] is None) == (not values), item
        assert not values or abs(item["mean"] - sum(values) / len(values)) < 1e-12, item
        assert item["posterior"] == prediction, item
    assert client.read(study, "candidates/17") == items[17]
    refusal(client.get(f"/v1/studies/{study}/candidates/36"), 404)
    refusal(client.get(f"/v1/studies/{study}/candidates?limit=0"), 422)


def test_candidates_of_every_kind_of_study_are_listed(server):
    client = server.client()
    metric = {"name": "v", "goal": "minimize"}
    waiting = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
    assert client.items(f"/v1/studies/{waiting}/candidates") == []
    plain = client.create(
        {"metric": metric, "domain": {"type": "candidates", "points": [[1], [2]]}, "algorithm": {"name": "uniform"}}
    )["id"]
    client.post(f"/v1/studies/{plain}/observations", {"observations": [{"candidate": 1, "value": 5, "repeats": 2}]})
    client.ask(plain)
    items = client.items(f"/v1/studies/{plain}/candidates")
    assert items[0] == {"candidate": 0, "point": [1.0], "pulls": 0, "mean": None, "posterior": None}, items
    assert items[1] == {"candidate": 1, "point": [2.0], "pulls": 2, "mean": 5.0, "posterior": None}, items
    parameters = [{"name": "b", "type": "boolean"}, {"name": "w", "type": "categorical", "values": ["x", "y"]}]
    space = client.create(
        {"metric": metric, "domain": {"type": "space", "parameters": parameters}, "algorithm": {"name": "uniform"}}
    )["id"]
    items = client.items(f"/v1/studies/{space}/candidates")
    assert sorted((item["parameters"]["b"], item["parameters"]["w"]) for item in items) == [
        (False, "x"),
        (False, "y"),
        (True, "x"),
        (True, "y"),
    ]
    refusal(client.post(f"/v1/studies/{space}/candidates", {"points": [[1, 2]]}), 409)
    refusal(client.post(f"/v1/studies/{space}/candidates/retire", {"candidates": [0]}), 409)


@cases(
    {
        "no_points": ("candidates", {}, 422, "/points"),
        "no_point": ("candidates", {"points": []}, 422, "/points"),
        "of_another_dimension": ("candidates", {"points": [[1, 2, 3]]}, 422, "/points/0"),
        "not_a_number": ("candidates", {"points": [[1, "2"]]}, 422, "/points/0/1"),
        "too_large_to_scale": ("candidates", {"points": [[0.5, 0.5], [1.7e308, 1]]}, 422, "/points"),
        "retire_nothing": ("candidates/retire", {"candidates": []}, 422, "/candidates"),
        "retire_what_is_not_there": ("candidates/retire", {"candidates": [0, 36]}, 422, "/candidates/1"),
        "retire_below_zero": ("candidates/retire", {"candidates": [-1]}, 422, "/candidates/0"),
        "unknown_field": ("candidates/retire", {"candidates": [0], "why": "x"}, 422, "/why"),
    }
)
def test_refusals(server, case):
    path, body, status, pointer = case
    client = server.client()
    metric = {"name": "v", "goal": "maximize"}
    domain = {"type": "candidates", "scaling": "unit", "points": [[0.01 * i, 0.02 * i] for i in range(36)]}
    algorithm = {"kernel": {"lengthscale": 0.3}, "noise_std": 0.1}
    study = client.create({"metric": metric, "domain": domain, "algorithm": algorithm})["id"]
    refusal(client.post(f"/v1/studies/{study}/{path}", body), status, pointer)
    assert client.study(study)["candidates"] == 36
    (trial,) = client.ask(study)["trials"]
    client.tell(study, [{"trial": trial["id"], "value": 1}])
    assert client.ask(study)["trials"]


def test_before_the_upload_and_of_a_kernel_matrix(server):
    client = server.client()
    waiting = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
    refusal(client.post(f"/v1/studies/{waiting}/candidates", {"points": [[1, 2]]}), 409)
    study = growing(client)
    add(client, study, [[1, 2]])
    refusal(client.put(f"/v1/studies/{study}/candidates", "1,2\n", content_type="text/csv"), 409)


def test_a_repeated_request_adds_once(server):
    client = server.client()
    study = growing(client)
    path, body = f"/v1/studies/{study}/candidates", {"points": [[0.1, 0.2]]}
    headers = {"Idempotency-Key": "k1"}
    first = client.post(path, body, headers=headers)
    again = client.post(path, body, headers=headers)
    assert (first.status, first.body) == (200, again.body), (first, again)
    assert client.study(study)["candidates"] == 37
    refusal(client.post(path, {"points": [[0.3, 0.2]]}, headers=headers), 409)


@cases({"maximize": "maximize", "minimize": "minimize"})
def test_sorted_by_what_is_known(server, case):
    """Each order against the whole list in order of numbers, sorted here."""
    client = server.client()
    study = client.create(definition(points=grid(7), metric={"name": "value", "goal": case}, feedback="async"))["id"]
    drive_sign = 1 if case == "maximize" else -1
    for _ in range(30):
        (trial,) = client.ask(study, worker="w")["trials"]
        client.tell(study, [{"trial": trial["id"], "value": drive_sign * measure(trial)["value"]}])
    retire(client, study, [5, 6])
    path = f"/v1/studies/{study}/candidates"
    everything = client.items(path)
    assert len(everything) == 49 and sum(c["pulls"] for c in everything) > 5, everything
    posterior = client.predict(study, candidates=list(range(49)))
    assert [c["posterior"] for c in everything] == posterior
    keys = {
        "candidate": lambda c: c["candidate"],
        "mean": lambda c: (-drive_sign * c["posterior"]["mean"], c["candidate"]),
        "ucb": lambda c: (-drive_sign * c["posterior"]["ucb"], c["candidate"]),
        "std": lambda c: (-c["posterior"]["std"], c["candidate"]),
        "pulls": lambda c: (-c["pulls"], c["candidate"]),
    }
    for sort, key in keys.items():
        listed = client.items(f"{path}?sort={sort}")
        assert [c["candidate"] for c in listed] == [c["candidate"] for c in sorted(everything, key=key)], sort
        assert listed == client.items(f"{path}?sort={sort}", limit=10), sort
        assert {c["candidate"] for c in listed if c.get("retired")} == {5, 6}, sort
    for sort in ("", "Mean", "value", "pulls "):
        refusal(client.get(f"{path}?sort={sort.replace(' ', '%20')}"), 422)


def test_without_a_model_there_is_little_to_sort_by(server):
    client = server.client()
    study = client.create({**definition(points=FIRST, feedback="async"), "algorithm": {"name": "uniform"}})["id"]
    drive(client, study, 8)
    path = f"/v1/studies/{study}/candidates"
    for sort in ("mean", "ucb", "std"):
        refusal(client.get(f"{path}?sort={sort}"), 409)
    listed = client.items(f"{path}?sort=pulls")
    assert [c["pulls"] for c in listed] == sorted((c["pulls"] for c in listed), reverse=True) and listed[0]["pulls"] > 0
    assert all(c["posterior"] is None for c in listed)


def npy(rows, dtype="|u1", order=True):
    """The bytes of a .npy file of small whole numbers, in Fortran order."""
    header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': ({len(rows)}, {len(rows[0])}), }}\n".encode()
    data = bytes(value for column in zip(*rows) for value in column)
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def test_candidates_are_added_in_every_format(server):
    client = server.client()
    body = definition(points=FIRST, feedback="async")
    body["domain"]["names"] = ["a", "b"]
    study = client.create(body)["id"]
    path = f"/v1/studies/{study}/candidates"
    answer = client.post(path, "b,a\n0.25,0.125\n", content_type="text/csv")
    assert (answer.status, answer.json) == (200, {"candidates": [36]}), answer
    answer = client.post(path, npy([[1, 2], [3, 4]]), content_type="application/octet-stream")
    assert (answer.status, answer.json) == (200, {"candidates": [37, 38]}), answer
    points = [c["point"] for c in client.items(path)[36:]]
    assert points == [[0.125, 0.25], [1.0, 2.0], [3.0, 4.0]], points
    refusal(client.post(path, "a,c\n1,2\n", content_type="text/csv"), 422)
    refusal(client.post(path, "1,2,3\n", content_type="text/csv"), 422)
    refusal(client.post(path, npy([[1, 2, 3]]), content_type="application/octet-stream"), 422)
    lines = '{"point": [5, 6]}\n{"point": [7, 8]}\n'
    assert client.post(path, lines, content_type="application/x-ndjson").json == {"candidates": [39, 40]}
    refusal(client.post(path, lines + '{"point": [7]}\n', content_type="application/x-ndjson"), 422)
    refusal(client.post(path, "a,b\n1,2\n", content_type="text/plain"), 415)
    refusal(client.post("/v1/studies/nobody/candidates", "1,2\n", content_type="text/csv"), 404)
    assert client.study(study)["candidates"] == 41


def test_additions_have_the_limit_of_uploads():
    with Server("--max-body", "10KiB") as server:
        client = server.client()
        study = growing(client)
        many = [[0.5, i / 1000] for i in range(1000)]
        assert len(add(client, study, many)) == 1000


@cases({"at_once": False, "after_a_kill": True})
def test_what_is_restored_is_chosen_again(case):
    with Server() as server:
        client = server.client()
        study = client.create(
            {
                "metric": {"name": "y", "goal": "maximize"},
                "algorithm": {"name": "uniform"},
                "domain": {"type": "candidates", "points": [[0], [1], [2], [3]]},
            }
        )["id"]
        retire(client, study, [0, 1, 2])
        assert restore(client, study, [2, 2, 3]) == {"restored": 1}
        if case:
            server.kill()
            server.start()
            client = server.client()
        known = client.items(f"/v1/studies/{study}/candidates")
        assert [c.get("retired", False) for c in known] == [True, True, False, False], known
        chosen = {t["candidate"] for t in client.ask(study, count=40)["trials"]}
        assert chosen == {2, 3}, chosen
        refusal(client.post(f"/v1/studies/{study}/candidates/restore", {"candidates": [4]}), 422)
        assert restore(client, study, [3]) == {"restored": 0}


def test_lists_of_candidates_are_filtered(server):
    client = server.client()
    study = growing(client, algorithm={"name": "gp_ucb"})
    drive(client, study, 8)
    client.ask(study)
    path = f"/v1/studies/{study}/candidates"
    retire(client, study, [1, 2, 3])
    everything = client.items(path)
    numbers = lambda query: [c["candidate"] for c in client.items(f"{path}?{query}")]
    assert numbers("retired=true") == [1, 2, 3]
    assert numbers("retired=false") == [c["candidate"] for c in everything if c["candidate"] not in (1, 2, 3)]
    untried = [c["candidate"] for c in everything if c["pulls"] == 0]
    assert numbers("pulls=0") == untried and 0 < len(untried) < 36
    ranked = [c["candidate"] for c in client.items(f"{path}?sort=mean")]
    assert numbers("sort=mean&pulls=0&retired=false") == [c for c in ranked if c in untried and c not in (1, 2, 3)]
    page = client.read(study, "candidates?pulls=0&limit=5")
    assert [c["candidate"] for c in page["items"]] == untried[:5]
    page = client.read(study, f"candidates?pulls=0&limit=5&page_token={page['next_page_token']}")
    assert [c["candidate"] for c in page["items"]] == untried[5:10]
    page = client.read(study, "candidates?sort=mean&pulls=0&limit=5")
    rest = client.read(study, f"candidates?sort=mean&pulls=0&limit=5&page_token={page['next_page_token']}")
    assert [c["candidate"] for c in page["items"] + rest["items"]] == [c for c in ranked if c in untried][:10]
    assert client.read(study, "candidates?pulls=999")["items"] == []
    for query in ("retired=yes", "pulls=-1", "pulls=few"):
        refusal(client.get(f"{path}?{query}"), 422)


def test_the_limit_of_values_counts_what_is_there():
    """--max-values is of the study and not of one upload, also when several requests come at once."""
    rows = "".join(f"{i},2\n" for i in range(15))
    with Server("--max-values", "40") as server:
        client = server.client()
        study = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
        path = f"/v1/studies/{study}/candidates"
        assert client.put(path, rows, content_type="text/csv").status == 200
        before = client.get(path).body

        def post(n, **headers):
            return client.post(path, {"points": [[i / 10, 0.5] for i in range(n)]}, headers=headers)

        refused = post(6)
        refusal(refused, 413)
        assert "at most 40 values" in refused.json["detail"] and "--max-values" in refused.json["detail"]
        refusal(client.post(path, rows, content_type="text/csv"), 413)
        assert client.get(path).body == before and client.study(study)["candidates"] == 15
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(server.client().post(path, {"points": [[0.1, 0.2]] * 2}).status)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [200, 200, 413, 413, 413, 413], answers
        refusal(post(2), 413)
        first = post(1, **{"Idempotency-Key": "k"})
        assert first.status == 200 and client.study(study)["candidates"] == 20
        assert post(1, **{"Idempotency-Key": "k"}).body == first.body, "it is answered again, although the study is full"
        refusal(post(1), 413)
        assert client.ask(study)["trials"]
