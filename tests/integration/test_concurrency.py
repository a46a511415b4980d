"""Several workers at once."""

import concurrent.futures
import threading

from support import definition, measure

WORKERS = 6
TRIALS = 180


def work_as(server, study, name, count):
    """One worker: asks and tells until the study is finished. -> its trials"""
    client = server.client()
    mine = []
    while True:
        answer = client.ask(study, count, worker=name, wait_seconds=5)
        if answer["trials"]:
            mine += answer["trials"]
            told = client.tell(study, [measure(trial) for trial in answer["trials"]])
            assert told == {"accepted": len(answer["trials"]), "duplicates": 0, "late": 0}, told
        elif answer["reason"] == "finished":
            return mine
        else:
            assert answer["reason"] in ("awaiting_feedback", "computing", "horizon_reached"), answer


def test_workers_get_disjoint_trials(server):
    client = server.client()
    client.create(definition(id="shared", horizon=TRIALS))
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        jobs = [pool.submit(work_as, server, "shared", f"w{i}", 1 + i % 3) for i in range(WORKERS)]
        trials = [trial for job in jobs for trial in job.result()]
    assert sorted(trial["id"] for trial in trials) == list(range(1, TRIALS + 1))
    study = client.study("shared")
    assert study["state"] == "finished" and study["trials_completed"] == TRIALS, study
    listed = {trial["id"]: trial for trial in client.items("/v1/studies/shared/trials")}
    for trial in trials:
        told = listed[trial["id"]]
        assert told["value"] == measure(trial)["value"] and told["worker"] == trial["worker"], (told, trial)
    assert sum(batch["size"] for batch in client.items("/v1/studies/shared/batches")) == TRIALS


def test_studies_do_not_disturb_each_other(server):
    """Eight studies at once make the choices that each makes alone."""
    client = server.client()
    names = [f"many-{i}" for i in range(8)]
    for i, name in enumerate(names):
        client.create(definition(id=name, horizon=40, seed=i % 2))
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        jobs = [pool.submit(work_as, server, name, "w", 4) for name in names]
        chosen = [[trial["candidate"] for trial in job.result()] for job in jobs]
    assert all(chosen[i] == chosen[i % 2] for i in range(8)) and chosen[0] != chosen[1]


def test_a_definition_changes_beside_workers(server):
    client = server.client()
    client.create(definition(id="changed", horizon=TRIALS))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(work_as, server, "changed", f"w{i}", 1) for i in range(2)]
        for more in range(1, 41):
            assert client.request("PATCH", "/v1/studies/changed", {"horizon": TRIALS + more}).status == 200
        trials = [trial for job in jobs for trial in job.result()]
    assert TRIALS <= len(trials) <= TRIALS + 40
    assert sorted(trial["id"] for trial in trials) == list(range(1, len(trials) + 1))


def test_readers_beside_workers(server):
    client = server.client()
    client.create(definition(id="read", horizon=100))
    done = threading.Event()
    reads = [0]

    def read():
        reader = server.client()
        while not done.is_set():
            study = reader.study("read")
            counted = sum(study["trials_" + state] for state in ("queued", "pending", "completed"))
            trials = reader.items("/v1/studies/read/trials")
            assert len(trials) >= counted, "trials only become more"
            assert study["trials_completed"] == study["observations"], study
            reader.read("read", "best")
            batches = reader.items("/v1/studies/read/batches")
            assert [batch["batch"] for batch in batches] == list(range(len(batches)))
            answer = reader.post("/v1/studies/read/predict", {"candidates": [0, 1, 2]})
            assert answer.status == 200, answer
            reads[0] += 1

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        workers = [pool.submit(work_as, server, "read", f"w{i}", 2) for i in range(2)]
        try:
            assert sum(len(job.result()) for job in workers) == 100
        finally:
            done.set()
        for job in readers:
            job.result()
    assert reads[0] > 0


def test_one_id_is_created_once(server):
    clients = [server.client() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(client.post, "/v1/studies", definition(id="once")) for client in clients]
        statuses = sorted(job.result().status for job in jobs)
    assert statuses == [201] + [409] * 7, statuses


def test_one_trial_told_by_many_at_once(server):
    client = server.client()
    client.create(definition(id="raced"))
    client.ask("raced")
    clients = [server.client() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        tells = [
            pool.submit(one.post, "/v1/studies/raced/tell", {"results": [{"trial": 1, "value": float(i)}]})
            for i, one in enumerate(clients)
        ]
        statuses = sorted(tell.result().status for tell in tells)
    assert statuses == [200] + [409] * 7, statuses
    assert client.study("raced")["observations"] == 1


def test_deleted_under_the_workers(server):
    client = server.client()
    client.create(definition(id="doomed"))
    stop = threading.Event()

    def hammer():
        mine, seen = server.client(), set()
        while not stop.is_set():
            answer = mine.post("/v1/studies/doomed/ask", {"count": 2, "wait_seconds": 1})
            seen.add(answer.status)
            for trial in answer.json.get("trials", []):
                tell = {"results": [measure(trial)]}
                seen.add(mine.post("/v1/studies/doomed/tell", tell).status)
            if answer.status == 404:
                break
        return seen

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(hammer) for _ in range(4)]
        threading.Event().wait(0.5)
        assert client.delete("/v1/studies/doomed").status == 204
        threading.Event().wait(1.5)
        stop.set()
        seen = set().union(*(job.result() for job in jobs))
    assert seen <= {200, 404}, seen
    assert client.get("/v1/studies/doomed").status == 404
