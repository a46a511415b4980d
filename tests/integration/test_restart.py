"""A study continued after a restart hands out exactly what the uninterrupted run hands out."""

import signal
import tempfile

from server import Server
from support import cases, definition, measure

TRIALS = 90
BODY = definition(id="study", horizon=200, seed=11)


class Driver:
    """Works a study off in steps of three asks, so that batches are cut anywhere. `cut(step, place)` is called
    where a run may be interrupted: after the ask, after the first tell, and after the last one."""

    def __init__(self, client):
        self.client = client
        self.chosen = {}

    def run(self, cut):
        step = 0
        while len(self.chosen) < TRIALS:
            trials = self.client.ask("study", 3)["trials"]
            assert trials, "nothing to do although everything is told"
            for trial in trials:
                assert trial["id"] not in self.chosen, "handed out twice"
                self.chosen[trial["id"]] = trial["candidate"]
            cut(step, "asked")
            self.client.tell("study", [measure(trials[0])])
            cut(step, "partly told")
            if len(trials) > 1:
                self.client.tell("study", [measure(trial) for trial in trials[1:]])
            cut(step, "told")
            step += 1
        return step

    def outcome(self):
        """All that the study has come to, apart from times."""
        candidates = list(range(144))
        return {
            "chosen": self.chosen,
            "best": self.client.read("study", "best"),
            "model": self.client.read("study", "model"),
            "predictions": self.client.predict("study", candidates=candidates),
            "batches": [
                {key: value for key, value in batch.items() if not key.endswith(("_seconds", "_at"))}
                for batch in self.client.items("/v1/studies/study/batches")
            ],
            "trials": [
                {key: value for key, value in trial.items() if not key.endswith("_at")}
                for trial in self.client.items("/v1/studies/study/trials")
            ],
        }


_uninterrupted = {}


def uninterrupted():
    if not _uninterrupted:
        with Server() as server:
            client = server.client()
            client.create(BODY)
            driver = Driver(client)
            _uninterrupted["steps"] = driver.run(lambda step, place: None)
            _uninterrupted["outcome"] = driver.outcome()
        sizes = [batch["size"] for batch in _uninterrupted["outcome"]["batches"]]
        assert max(sizes) > 5, f"the cuts below would not fall into a batch: {sizes}"
    return _uninterrupted


def interrupted(cuts, how):
    """The outcome of a run that is interrupted at the cuts {(step, place)} by a way of ending the server."""
    with Server() as server:
        driver = Driver(server.client())
        driver.client.create(BODY)
        done = []

        def cut(step, place):
            if (step, place) in cuts:
                how(server)
                server.start()
                driver.client = server.client()
                done.append((step, place))

        driver.run(cut)
        assert len(done) == len(cuts), (done, cuts)
        return driver.outcome()


def check_same(outcome):
    expected = uninterrupted()["outcome"]
    for part, value in expected.items():
        assert outcome[part] == value, f"{part} differ: {outcome[part]} instead of {value}"


WAYS = {"sigterm": Server.stop, "kill": Server.kill}
PLACES = ("asked", "partly told", "told")
CUTS = {
    f"{way}, step {step}, {place}": (way, step, place)
    for way in WAYS
    for step, place in ((0, "asked"), (0, "told"), (12, "told"), (-6, "asked"), (-3, "partly told"), (-2, "told"))
}


@cases(CUTS)
def test_one_restart(case):
    way, step, place = case
    step = step if step >= 0 else uninterrupted()["steps"] + step
    check_same(interrupted({(step, place)}, WAYS[way]))


@cases({way: way for way in WAYS})
def test_restarts_all_along(case):
    steps = uninterrupted()["steps"]
    cuts = {(step, PLACES[step % 3]) for step in range(0, steps, 3)}
    check_same(interrupted(cuts, WAYS[case]))


def test_restart_before_the_first_ask_and_between_uploads():
    with tempfile.TemporaryDirectory() as folder:
        body = {**definition(id="study"), "domain": {"type": "candidates", "dimension": 1}}
        path = "/v1/studies/study/candidates"
        with Server(db=folder + "/banditd.db") as server:
            server.client().create(body)
            server.stop()
            server.start()
            assert server.client().study("study")["state"] == "awaiting_candidates"
            assert server.client().put(path, "1\n2\n3\n", content_type="text/csv").status == 200
            server.kill()
            server.start()
            client = server.client()
            assert client.study("study")["candidates"] == 3
            assert client.put(path, "1\n2\n3\n4\n", content_type="text/csv").json["count"] == 4
            server.kill()
            server.start()
            assert server.client().study("study")["candidates"] == 4
            assert work_off(server.client())


def work_off(client):
    trials = client.ask("study", 1)["trials"]
    return client.tell("study", [{"trial": trial["id"], "value": 0.5} for trial in trials])["accepted"]


def test_a_study_killed_in_the_middle_of_its_upload_has_no_candidates():
    with Server() as server:
        server.client().create({**definition(id="study"), "domain": {"type": "candidates", "dimension": 2}})

        def half():
            for _ in range(200):
                yield b"0.25,0.5\n" * 2000
            server.kill()
            yield b"0.25,0.5\n"

        try:
            server.client().put("/v1/studies/study/candidates", half(), content_type="text/csv")
        except OSError:
            pass  # the connection is gone with the server
        server.start()
        study = server.client().study("study")
        assert (study["state"], study["candidates"]) == ("awaiting_candidates", 0), study


def test_deleted_studies_stay_deleted():
    with Server() as server:
        client = server.client()
        client.create(definition(id="gone"))
        client.create(definition(id="kept"))
        client.ask("gone")
        assert client.delete("/v1/studies/gone").status == 204
        server.kill()
        server.start()
        assert [study["id"] for study in server.client().items("/v1/studies")] == ["kept"]


def test_conflicts_are_remembered():
    """What was told before a restart is a duplicate after it, and another value a conflict."""
    with Server() as server:
        client = server.client()
        client.create(definition(id="study"))
        client.ask("study")
        client.tell("study", [{"trial": 1, "value": 0.25}])
        server.stop(signal.SIGINT)
        server.start()
        client = server.client()
        assert client.tell("study", [{"trial": 1, "value": 0.25}])["duplicates"] == 1
        answer = client.post("/v1/studies/study/tell", {"results": [{"trial": 1, "value": 0.5}]})
        assert answer.status == 409, answer


def test_a_workers_pending_trials_are_still_its_own():
    with Server() as server:
        client = server.client()
        client.create(definition(id="study"))
        (before,) = client.ask("study", 1, worker="w1")["trials"]
        server.kill()
        server.start()
        client = server.client()
        assert client.ask("study", 1, worker="w2")["trials"] == []
        (after,) = client.ask("study", 1, worker="w1")["trials"]
        same = ("id", "candidate", "attempt", "worker", "batch", "point", "state")
        assert {key: after[key] for key in same} == {key: before[key] for key in same}
