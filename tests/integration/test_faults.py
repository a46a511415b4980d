"""A server on a disk that is full, breaks, cannot sync, or loses its power: at the nth call of a scripted
scenario. Nothing that was answered is lost, what is refused is refused clearly, reads go on, and when the disk is
well again so is the server. BANDITD_FAULTS=all takes every n, otherwise some."""

import concurrent.futures
import http.client
import os
import pathlib
import random
import subprocess

import server as servers
from server import Server, run_to_end
from support import cases, definition, eventually, grid, measure

EVERY = os.environ.get("BANDITD_FAULTS") == "all"
POWER_LOST = 86
LOST = (OSError, http.client.HTTPException)


class FaultyServer(Server):
    """The server's parts on a disk that takes orders; see tests/faults/banditd_with_faults.c."""

    def __init__(self, power=False):
        super().__init__("--threads", "2", environment={"BANDITD_POWER": "1"} if power else {})
        self._program = pathlib.Path(servers.BINARY).parent / "tests" / "faults" / "banditd_with_faults"

    def popen(self, command, **options):
        answers, their_end = os.pipe()
        self._answers = os.fdopen(answers)
        options["env"] = {**options["env"], "BANDITD_ANSWERS": str(their_end)}
        process = subprocess.Popen(
            [self._program, *command[1:]], stdin=subprocess.PIPE, pass_fds=[their_end], **options
        )
        os.close(their_end)
        return process

    def order(self, text):
        self.process.stdin.write(f"{text}\n".encode())
        self.process.stdin.flush()
        answer = self._answers.readline().strip()
        assert answer and answer != "no such order", (text, answer)
        return answer

    def _ended(self):
        self.process.stdin.close()
        self._answers.close()
        return super()._ended()

    def lose_power(self):
        """Its process has ended by a cut: what the disk has takes the files' place."""
        self.process.wait()
        assert self._ended() == POWER_LOST, self._stderr
        for end in ("", "-wal", "-shm"):
            path = pathlib.Path(f"{self.db}{end}")
            lost = pathlib.Path(f"{path}.lost")
            path.unlink(missing_ok=True)
            if lost.exists():
                lost.rename(path)


class Scenario:
    """What a few workers and a user do, again and again; remembers what was acknowledged."""

    def __init__(self):
        self.told, self.held, self.imported, self.round, self.studies, self.refused = {}, {}, 0, 0, set(), 0
        self.reasons = set()

    def _take(self, answer, done):
        """A write's answer: done, or refused with the disk as the reason."""
        if answer.status < 300:
            done(answer)
            return
        problem = answer.json
        assert answer.status == 503, answer
        assert problem["status"] == 503 and problem["title"] and problem["detail"], problem
        self.refused += 1
        self.reasons.add(problem["detail"])

    def run(self, client):
        self.round += 1
        for _ in range(2):
            self._take(client.post("/v1/studies/study/ask", {"count": 2, "worker": "w"}), self._keep)
            results = [measure(trial) for trial in self.held.values()]
            if results:
                self._take(client.post("/v1/studies/study/tell", {"results": results}), lambda a, r=results: self._note(r))
        rows = [{"candidate": self.round % 144, "value": 0.1}]
        self._take(client.post("/v1/studies/study/observations", {"observations": rows}), self._count)
        self._take(client.request("PATCH", "/v1/studies/study", {"labels": {"n": str(self.round)}}), lambda _: None)
        name = f"made-{self.round}"
        body = definition(points=grid(4), id=name)
        self._take(client.post("/v1/studies", body), lambda _: self.studies.add(name))
        if self.round % 4 == 0:
            self._import(client, f"moved-{self.round}")
        if self.studies and self.round % 3 == 0:
            gone = min(self.studies)
            self.studies.discard(gone)  # without an answer nobody knows
            before = self.refused
            self._take(client.delete(f"/v1/studies/{gone}"), lambda _: None)
            if self.refused > before:
                self.studies.add(gone)

    def _import(self, client, name):
        """A study of another name with all that "study" has been through."""
        answer = client.get("/v1/studies/study/export")
        assert answer.status == 200, answer
        text = answer.body.replace(b'\\"id\\":\\"study\\"', f'\\"id\\":\\"{name}\\"'.encode())
        text = text.replace(b'"id":"study"', f'"id":"{name}"'.encode())
        answer = client.post("/v1/studies", text, content_type="application/x-ndjson")
        self._take(answer, lambda _: self.studies.add(name))

    def _keep(self, answer):
        self.held = {trial["id"]: trial for trial in answer.json["trials"]}

    def _note(self, results):
        self.told |= {result["trial"]: result["value"] for result in results}
        self.held = {}

    def _count(self, _):
        self.imported += 1

    def verify(self, client, exact=True):
        trials = {trial["id"]: trial for trial in client.items("/v1/studies/study/trials")}
        for number, value in self.told.items():
            assert trials[number].get("value") == value, (number, value, trials[number])
        told = sum("value" in trial for trial in trials.values())
        study = client.study("study")
        assert study["observations"] == told + self.imported if exact else study["observations"] >= told, (study, told)
        living = {study["id"] for study in client.items("/v1/studies")}
        assert self.studies <= living, (self.studies, living)


def expect_sound(db):
    status, out, err = run_to_end("check", "--quiet", "--db", str(db), timeout=300)
    assert (status, out, err) == (0, "", ""), (status, out, err)


KINDS = {
    "the disk is full": "full",
    "a write is short": "short",
    "the disk breaks": "io",
    "syncs fail": "sync",
}


@cases(KINDS)
def test_a_fault_is_refused_clearly_and_leaves_with_the_disk_well(case):
    struck, quiet = 0, 0
    with FaultyServer() as server:
        client = server.client()
        client.create(definition(id="study", algorithm={"ratio_bound": 4}))
        scenario = Scenario()
        scenario.run(client)
        for once in ("once", ""):
            nth = 1
            while True:
                before = scenario.refused
                server.order(f"{case} {nth} {once}")
                scenario.run(client)
                scenario.verify(client, exact=False)  # reads go on
                ready = client.get("/readyz").status
                assert client.get("/healthz").status == 200
                failed = int(server.order("none"))
                if failed == 0:
                    break
                struck += 1
                quiet += scenario.refused == before  # a checkpoint's: nobody's write
                assert once or scenario.refused == before or ready == 503, "it lasts, and the server says it is ready"
                assert client.get("/readyz").status == 200
                refused = scenario.refused
                scenario.run(client)
                assert scenario.refused == refused, ("the disk is well, and a write is refused", scenario.reasons)
                nth += 1 if EVERY or nth < 4 else 7
        assert struck > 6 and struck > quiet, (struck, quiet)
        said = "the disk is full" if case in ("full", "short") else "input or output error"
        assert f"the request could not be stored: {said}" in scenario.reasons, scenario.reasons
        server.stop()
        expect_sound(server.db)


def test_a_write_waits_until_the_plan_of_a_failed_one_is_given_up():
    numbers = random.Random(1)
    names = [f"x{i}" for i in range(8)]
    parameters = [{"name": name, "type": "double", "min": 0, "max": 1} for name in names]
    known = [{"parameters": {name: numbers.random() for name in names}, "value": numbers.random()} for _ in range(300)]
    with FaultyServer() as server:
        client = server.client()
        client.create({"id": "study", "metric": {"name": "y", "goal": "minimize"}, "domain": {"type": "space", "parameters": parameters}})
        assert client.post("/v1/studies/study/observations", {"observations": known}).status == 200
        pool = concurrent.futures.ThreadPoolExecutor(1)
        ask = pool.submit(server.client().ask, "study", count=32, wait_seconds=60)
        eventually(lambda: b"banditd_waiting_asks 1\n" in client.get("/metrics").body, "the ask")
        server.order("io 1")
        assert client.request("PATCH", "/v1/studies/study", {"labels": {"n": "refused"}}).status == 503
        server.order("none")
        study = client.request("PATCH", "/v1/studies/study", {"labels": {"n": "accepted"}})
        assert study.status == 200 and study.json["labels"] == {"n": "accepted"}, study
        assert not ask.done(), "the plan had ended before"
        assert len(ask.result()["trials"]) == 32
        server.stop()
        expect_sound(server.db)


def test_a_study_goes_on_if_it_cannot_be_deleted():
    with FaultyServer() as server:
        client = server.client()
        client.create(definition(id="study", algorithm={"ratio_bound": 4}))
        server.order("io 1")
        assert client.delete("/v1/studies/study").status == 503
        server.order("none")
        scenario = Scenario()
        scenario.run(client)
        scenario.verify(client)
        assert scenario.refused == 0 and len(scenario.told) == 3, (scenario.reasons, scenario.told)
        server.stop()
        expect_sound(server.db)


class Writes:
    """Every kind of write, to a space and a list. Each gives the request, made from what the studies have now."""

    STUDIES = ("space", "list")

    def __init__(self, client):
        self._client, self._random, self._made = client, random.Random(3), 0
        parameters = [{"name": name, "type": "double", "min": 0, "max": 1} for name in ("x", "y")]
        client.create({"id": "space", "metric": {"name": "v", "goal": "minimize"}, "domain": {"type": "space", "parameters": parameters}})
        client.create({"id": "list", "metric": {"name": "v", "goal": "minimize"}, "domain": {"type": "candidates", "points": grid(8)}})

    def all(self):
        for study in self.STUDIES:
            path = f"/v1/studies/{study}"
            yield lambda path=path: ("POST", f"{path}/ask", {"count": 3, "worker": self._new("w")})
            yield lambda path=path: ("POST", f"{path}/trials/{self._trial(path, 'pending')}/heartbeat", {})
            yield lambda path=path: ("POST", f"{path}/trials/{self._trial(path, 'pending')}/measurements", {"step": self._step(), "value": 1.5})
            yield lambda path=path: ("POST", f"{path}/tell", {"results": [{"trial": self._trial(path, "pending"), "value": self._random.random()}]})
            yield lambda path=path: ("POST", f"{path}/trials/{self._trial(path, 'completed')}/amend", {"value": self._random.random()})
            yield lambda path=path: ("POST", f"{path}/trials", self._point(path))
            yield lambda path=path: ("POST", f"{path}/observations", {"observations": [{**self._point(path), "value": 0.5}]})
            yield lambda path=path: ("POST", f"{path}/observations/1/amend", {"value": self._random.random()})
            yield lambda path=path: ("PATCH", path, {"state": "paused"})
            yield lambda path=path: ("PATCH", path, {"state": "active"})
            yield lambda path=path: ("POST", f"{path}/fork", {"id": self._new("fork"), "at_trial": 2})
        yield lambda: ("POST", "/v1/studies/space/ask", {"count": 1, "worker": self._new("w"), "fixed": {"x": 0.25}})
        yield lambda: ("POST", "/v1/studies/list/candidates", {"points": [[self._random.random(), self._random.random()]]})
        yield lambda: ("POST", "/v1/studies/list/candidates/retire", {"candidates": [63]})
        yield lambda: ("POST", "/v1/studies/list/candidates/restore", {"candidates": [63]})
        yield lambda: ("POST", "/v1/tokens", {"role": "worker"})
        yield self._deletion

    def _new(self, kind):
        self._made += 1
        return f"{kind}-{self._made}"

    def _step(self):
        self._made += 1
        return self._made

    def _trial(self, path, state):
        return next(trial["id"] for trial in self._client.items(f"{path}/trials") if trial["state"] == state)

    def _point(self, path):
        if path.endswith("list"):
            return {"candidate": self._random.randrange(60)}
        return {"parameters": {"x": self._random.random(), "y": self._random.random()}}

    def _deletion(self):
        name = self._new("gone")
        self._client.create(definition(points=grid(4), id=name))
        return "DELETE", f"/v1/studies/{name}", None


@cases(KINDS if EVERY else {"the disk breaks": "io"})
def test_every_write_is_refused_clearly_and_accepted_when_repeated(case):
    refused = 0
    with FaultyServer() as server:
        client = server.client()
        writes = Writes(client)
        for make in writes.all():
            nth, failed = 0, 1
            while failed:
                nth += 1 if EVERY or nth < 2 else 4
                request = make()
                server.order(f"{case} {nth}")
                answer = client.request(*request)
                failed = int(server.order("none"))
                if answer.status == 503 and failed:
                    refused += 1
                    answer = client.request(*request)
                assert answer.status < 300, (request, nth, answer)
        assert refused > 25, refused
        for study in writes.STUDIES:
            assert client.ask(study, wait_seconds=60, fresh=True)["trials"], study
        server.stop()
        expect_sound(server.db)


def test_what_was_answered_outlasts_a_loss_of_power():
    cuts = 0
    with FaultyServer(power=True) as server:
        client = server.client()
        client.create(definition(id="study", algorithm={"ratio_bound": 4}))
        scenario = Scenario()
        for nth in range(1, 120, 1 if EVERY else 9):
            server.order(f"power {nth} {nth}")
            try:
                for _ in range(60):
                    scenario.run(client)
                raise AssertionError("the power stays")
            except LOST:
                cuts += 1
            server.lose_power()
            server.start()
            client = server.client()
            scenario.verify(client, exact=False)
            scenario.imported = client.study("study")["observations"] - sum(
                "value" in trial for trial in client.items("/v1/studies/study/trials")
            )
            scenario.studies = {study["id"] for study in client.items("/v1/studies")} - {"study"}
            scenario.held = {}
            scenario.run(client)
            scenario.verify(client)
        assert cuts > 10
        server.stop()
        expect_sound(server.db)
