"""kill -9 at any instant loses nothing that was acknowledged, hands nobody another's trial, and changes no
later choice. BANDITD_KILLS sets how often the server is killed."""

import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time

import databases
import server as servers
from server import Server
from support import definition, grid, measure
from test_migrations import same_machine
from test_open_spaces import mixed

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


def killed_while_one_worker_works(server, kills):
    """Kills that server, not started yet, so often while a worker works on a study. Nothing acknowledged may be lost, and
    the choices are those of a run that nobody disturbs."""
    rng = random.Random(5)
    chosen, acknowledged, killed = {}, {}, 0
    with server:
        server.client().create(definition(id="study", seed=5))
        while killed < kills:
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
                killed += 1
            killer.join()
            server.kill_noticed()
            server.start()
    assert chosen, "the server was killed before it did anything"
    undisturbed = alone(max(chosen), seed=5)
    assert all(undisturbed[trial] == candidate for trial, candidate in chosen.items()), (chosen, undisturbed)
    return len(chosen)


def test_one_worker_and_the_same_choices():
    chosen = killed_while_one_worker_works(Server(), KILLS)
    assert chosen > KILLS, "the server was killed before it did anything"


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


class Busy:
    """Everything at once on one server, and what of it was acknowledged. Calls end with the server."""

    STUDIES = ("batch", "async", "sequential", "slow", "space")
    ROWS = {"space": 2}  # of one import; elsewhere 10000

    def __init__(self, server):
        self.server = server
        self.lock = threading.Lock()
        self.owner = {name: {} for name in self.STUDIES}  # trial -> worker
        self.told = {name: {} for name in self.STUDIES}  # trial -> acknowledged value
        self.imported = {name: 0 for name in self.STUDIES}
        self.made = {}  # study -> acknowledged number of candidates
        self.copies = []
        self.failures = []
        self.n = 0

    def number(self):
        with self.lock:
            self.n += 1
            return self.n

    def create(self):
        client = self.server.client()
        client.create(definition(id="batch", seed=1, algorithm={"ratio_bound": 4}))
        client.create(definition(id="async", seed=2, feedback="async"))
        client.create(definition(id="sequential", seed=3, algorithm={"name": "bkb"}))
        client.create(mixed(id="space"))
        client.create(definition(id="slow", seed=4, points=grid(60), algorithm={"ratio_bound": 8}))

    # ---- what goes on ----

    def work(self, client, name):
        rng = random.Random(self.number())
        while True:
            study = rng.choice(self.STUDIES)
            for trial in client.ask(study, 2, worker=name, wait_seconds=0.2)["trials"]:
                with self.lock:
                    owner = self.owner[study].setdefault(trial["id"], name)
                    assert owner == name, (study, trial, owner)
                result = {"trial": trial["id"], "value": rng.random()}
                client.tell(study, [result])
                with self.lock:
                    self.told[study][trial["id"]] = result["value"]

    def upload(self, client, _):
        while True:
            name = f"made-{self.number()}"
            body = definition(id=name)
            body["domain"] = {"type": "candidates", "dimension": 8}
            client.create(body)
            with self.lock:
                self.made[name] = 0
            rng = random.Random(self.n)
            rows = "".join(",".join(f"{rng.random():.3f}" for _ in range(8)) + "\n" for _ in range(20000))
            answer = client.put(f"/v1/studies/{name}/candidates", rows, content_type="text/csv")
            assert answer.status == 200, answer
            with self.lock:
                self.made[name] = 20000

    def import_studies(self, client, _):
        while True:
            text = client.get("/v1/studies/batch/export").body
            name = f"made-{self.number()}"
            text = text.replace(b'\\"id\\":\\"batch\\"', f'\\"id\\":\\"{name}\\"'.encode())
            text = text.replace(b'"id":"batch"', f'"id":"{name}"'.encode())
            answer = client.post("/v1/studies", text, content_type="application/x-ndjson")
            assert answer.status == 201, answer
            with self.lock:
                self.made[name] = 144
            if self.number() % 2:
                with self.lock:
                    del self.made[name]  # from here on nobody knows, until there is an answer
                answer = client.delete(f"/v1/studies/{name}")
                assert answer.status == 204, answer

    def fill_log(self, client, _):
        """Large writes: the write-ahead log is copied back again and again."""
        while True:
            rows = [{"candidate": i % 144, "value": 0.5} for i in range(10000)]
            answer = client.post("/v1/studies/async/observations", {"observations": rows})
            assert answer.status == 200, answer
            with self.lock:
                self.imported["async"] += 10000

    def bring_points(self, client, name):
        """Contexts, imports of new points and own ones in the space; candidates that come and go elsewhere."""
        rng = random.Random(self.number())
        while True:
            level = rng.choice([-1, 0, 0.5])
            for trial in client.ask("space", fixed={"wärme/~": level}, worker=name)["trials"]:
                assert trial["parameters"]["wärme/~"] == level, trial
                with self.lock:
                    owner = self.owner["space"].setdefault(trial["id"], name)
                    assert owner == name, (trial, owner)
                value = rng.random()
                client.tell("space", [{"trial": trial["id"], "value": value}])
                with self.lock:
                    self.told["space"][trial["id"]] = value
            point = {"kind": "line", "rate": 10 ** -rng.uniform(0, 5)}
            rows = [{"parameters": point, "value": 1}, {"parameters": {**point, "rate": 0.5}, "value": 2}]
            answer = client.post("/v1/studies/space/observations", {"observations": rows})
            assert answer.status == 200, answer
            with self.lock:
                self.imported["space"] += 2
            assert client.post("/v1/studies/space/trials", {"parameters": {**point, "wärme/~": 1}}).status == 200
            answer = client.post("/v1/studies/async/candidates", {"points": [[rng.random(), rng.random()]]})
            assert answer.status == 200, answer
            added = answer.json["candidates"][0]
            if rng.random() < 0.5:
                retired = client.post("/v1/studies/async/candidates/retire", {"candidates": [added, rng.randrange(40)]})
                assert retired.status == 200, retired

    def back_up(self, _client, _name):
        while self.server.process and self.server.process.poll() is None:
            copy = self.server.db.with_name(f"copy-{self.number()}.db")
            backup = subprocess.Popen([servers.BINARY, "backup", copy, "--db", self.server.db], stderr=subprocess.DEVNULL)
            if random.random() < 0.5:
                time.sleep(random.uniform(0, 0.05))
                backup.kill()
            backup.wait()
            if copy.exists():
                self.copies.append(copy)

    # ---- rounds ----

    def run(self, jobs, seconds):
        def until_killed(job, name):
            try:
                job(self.server.client(), name)
            except LOST:
                pass
            except Exception as problem:  # noqa: BLE001
                if self.server.process and self.server.process.poll() is None:
                    self.failures.append(problem)

        threads = [threading.Thread(target=until_killed, args=(job, f"w{i}")) for i, job in enumerate(jobs)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.server.process.kill()
        for thread in threads:
            thread.join()
        assert not self.failures, self.failures
        self.server.kill_noticed()
        self.server.start()

    def verify(self):
        client = self.server.client()
        for study in self.STUDIES:
            trials = {trial["id"]: trial for trial in client.items(f"/v1/studies/{study}/trials")}
            assert sorted(trials) == list(range(1, len(trials) + 1)), f"{study}: trials are missing"
            for number, value in self.told[study].items():
                assert trials[number].get("value") == value, (study, trials[number], value)
            for number, name in self.owner[study].items():
                assert trials[number].get("worker") == name, (study, trials[number], name)
            view = client.study(study)
            completed = sum(trial["state"] == "completed" for trial in trials.values())
            assert view["trials_completed"] == completed >= len(self.told[study]), (study, view)
            rest = view["observations"] - completed - self.imported[study]
            assert rest in (0, self.ROWS.get(study, 10000)), (study, rest)  # one may be in without its answer
            self.imported[study] += rest
        studies = {study["id"]: study for study in client.items("/v1/studies")}
        for name, candidates in self.made.items():
            assert name in studies, f"{name} was acknowledged and is lost"
            assert studies[name]["candidates"] in (candidates, 20000), (name, candidates, studies[name])
        for name in studies:  # with and without an answer: enough of them
            if name.startswith("made-"):
                client.delete(f"/v1/studies/{name}")
        self.made = {}


def expect_sound(db):
    status, out, err = servers.run_to_end("check", "--quiet", "--db", str(db), timeout=300)
    assert (status, out, err) == (0, "", ""), (status, out, err)


def test_everything_at_once():
    rng = random.Random(7)
    with Server("--threads", "2") as server:
        busy = Busy(server)
        busy.create()
        sides = [busy.upload, busy.bring_points, busy.import_studies, busy.fill_log]
        sides += [] if databases.URI else [busy.back_up]
        for kill in range(KILLS):
            side = sides[kill % len(sides)]
            busy.run([busy.work] * 4 + [side], rng.uniform(0.02, 0.6))
            busy.verify()
            if kill % 40 == 39:
                server.kill()
                expect_sound(server.db)  # every batch again: as nobody had been killed
                server.start()
        assert all(busy.told[study] for study in busy.STUDIES), {s: len(t) for s, t in busy.told.items()}
        server.stop()
        expect_sound(server.db)
        copies, busy.copies = busy.copies, []
        for copy in rng.sample(copies, min(len(copies), 5)):
            expect_sound(copy)


def test_killed_while_it_migrates():
    """From the start of the program on: the database is of the old version or of the new one, and whole."""
    stored = pathlib.Path(__file__).resolve().parent.parent / "migrate"
    rng = random.Random(8)
    migrated = 0
    with tempfile.TemporaryDirectory() as folder:
        pristine = pathlib.Path(folder) / "pristine.db"
        with contextlib.closing(sqlite3.connect(pristine, isolation_level=None)) as db:
            db.executescript((stored / "0001.sql").read_text())
        whole = pathlib.Path(folder) / "whole.db"
        shutil.copy(pristine, whole)
        start = time.monotonic()
        status, out, err = servers.run_to_end("migrate", "--db", str(whole))
        takes = time.monotonic() - start
        assert status == 0, (out, err)
        for kill in range(max(6, KILLS // 3)):
            path = pathlib.Path(folder) / f"{kill}.db"
            shutil.copy(pristine, path)
            process = subprocess.Popen([servers.BINARY, "migrate", "--db", path], stdout=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, 1.5 * takes))
            process.kill()
            process.wait()
            with contextlib.closing(sqlite3.connect(path)) as db:
                version = db.execute("PRAGMA user_version").fetchone()[0]
                rows = db.execute("SELECT count(*) FROM migrations").fetchone()[0]
            assert version == rows >= 1, (version, rows)
            migrated += version > 1
            copy = path.with_name(f"{kill}.db.v1")
            assert copy.exists() or version == 1, "it was migrated without a backup"
            status, out, err = servers.run_to_end("migrate", "--db", str(path))
            assert status == 0, (out, err)
            if kill % 5 == 0:
                same_machine(path)
            for left in pathlib.Path(folder).glob(f"{kill}.db*"):
                left.unlink()
    assert 0 < migrated, "it was always killed before it began"
