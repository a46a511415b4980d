"""kill -9 at any instant loses nothing that was acknowledged, hands nobody another's trial, and changes no
later choice. BANDITD_KILLS sets how often the server is killed."""

import concurrent.futures
import http.client
import os
import random
import threading
import time

from server import Server
from support import definition, measure

KILLS = int(os.environ.get("BANDITD_KILLS", "12"))
LOST = (OSError, http.client.HTTPException)  # the connection ended with the server


def alone(trials, seed):
    """What a run that nobody disturbs chooses."""
    with Server() as server:
        client = server.client()
        client.create(definition(id="study", seed=seed))
        chosen = {}
        while len(chosen) < trials:
            for trial in client.ask("study", 2, worker="w")["trials"]:
                chosen[trial["id"]] = trial["candidate"]
                client.tell("study", [measure(trial)])
        return chosen


def test_one_worker_and_the_same_choices():
    rng = random.Random(5)
    chosen, acknowledged, kills = {}, {}, 0
    with Server() as server:
        server.client().create(definition(id="study", seed=5))
        while kills < KILLS:
            client = server.client()
            for trial in client.items("/v1/studies/study/trials"):
                if trial["id"] in acknowledged:
                    assert trial.get("value") == acknowledged.pop(trial["id"]), trial
            assert not acknowledged, f"acknowledged and lost: {acknowledged}"
            killer = threading.Timer(rng.uniform(0.005, 0.25), server.process.kill)
            killer.start()
            try:
                while True:
                    for trial in client.ask("study", 2, worker="w")["trials"]:
                        assert chosen.setdefault(trial["id"], trial["candidate"]) == trial["candidate"], trial
                        result = measure(trial)
                        client.tell("study", [result])
                        acknowledged[result["trial"]] = result["value"]
            except LOST:
                kills += 1
            killer.join()
            server.kill_noticed()
            server.start()
    assert len(chosen) > KILLS, "the server was killed before it did anything"
    undisturbed = alone(max(chosen), seed=5)
    assert all(undisturbed[trial] == candidate for trial, candidate in chosen.items()), (chosen, undisturbed)


def test_many_workers():
    rng = random.Random(6)
    owner, told = {}, {}  # trial -> worker, trial -> acknowledged value
    lock = threading.Lock()

    def work(client, name):
        """Until the server is killed. A trial that another worker holds must never come here."""
        try:
            while True:
                for trial in client.ask("study", 2, worker=name, wait_seconds=1)["trials"]:
                    with lock:
                        assert owner.setdefault(trial["id"], name) == name, (trial, owner[trial["id"]])
                    result = measure(trial)
                    client.tell("study", [result])
                    with lock:
                        told[result["trial"]] = result["value"]
        except LOST:
            pass

    with Server() as server:
        server.client().create(definition(id="study", seed=6, algorithm={"ratio_bound": 4}))
        for _ in range(KILLS):
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                jobs = [pool.submit(work, server.client(), f"w{i}") for i in range(4)]
                time.sleep(rng.uniform(0.01, 0.3))
                server.process.kill()
                for job in jobs:
                    job.result()
            server.kill_noticed()
            server.start()
            trials = {trial["id"]: trial for trial in server.client().items("/v1/studies/study/trials")}
            for number, value in told.items():
                assert trials[number].get("value") == value, (trials[number], value)
            for number, name in owner.items():
                assert trials[number]["worker"] == name, (trials[number], name)
        assert told, "nothing was told"
        study = server.client().study("study")
        assert study["observations"] == study["trials_completed"] >= len(told), study
