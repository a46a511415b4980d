"""System calls on the database's files that fail, once, a few times or until the fault is over: requests are
answered 503, nothing else; afterwards every study goes on, and nothing that was acknowledged is lost."""

import ctypes
import errno
import http.client
import mmap
import pathlib
import tempfile
import threading
import time

import server as servers
from server import Server, run_to_end
from support import Skip, cases, definition, eventually, grid, measure

READS, WRITES, SYNCS = 1, 2, 4
FOR_EVER = 1 << 30


class Calls:
    """The orders of tests/faults/system_calls.c."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "orders"
        self.path.write_bytes(bytes(20))
        self._file = self.path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 20)
        self._words = (ctypes.c_int32 * 5).from_buffer(self._map)

    def fail(self, calls, cause, after, times):
        self._words[0] = 0
        self._words[4] = 0
        self._words[1:4] = [after, times, cause]
        self._words[0] = calls

    def failed(self):
        return self._words[4]

    def well(self):
        """-> how many calls have failed"""
        self._words[0] = 0
        return self._words[4]


def faulty(folder, calls, *options):
    library = pathlib.Path(servers.BINARY).parent / "tests/faults/system_calls.so"
    if "asan" in str(library) or "tsan" in str(library):
        raise Skip("the sanitizers have the calls themselves")
    db = pathlib.Path(folder).resolve() / "b.db"
    environment = {"LD_PRELOAD": str(library.resolve()), "TEST_CALLS": str(calls.path), "TEST_CALLS_DB": str(db)}
    return Server("--threads", "2", *options, db=db, environment=environment)


def take(answer, allowed=(200, 201)):
    """-> whether it was done; if not, it must say so as it should"""
    assert answer.status in (*allowed, 503), answer
    return answer.status in allowed


class Study:
    """A study that is asked and told; remembers what was acknowledged."""

    def __init__(self, name):
        self.name, self.told, self.held = name, {}, {}

    def step(self, client):
        """-> whether all was done"""
        path = f"/v1/studies/{self.name}"
        done = self.tell_held(client)
        asked = client.post(f"{path}/ask", {"count": 2, "wait_seconds": 1})
        if take(asked):
            self.held |= {trial["id"]: trial for trial in asked.json["trials"]}
        else:
            done = False
        done = self.tell_held(client) and done
        return take(client.get(f"{path}/trials")) and take(client.get(path)) and done

    def tell_held(self, client):
        done = True
        for trial in list(self.held.values()):
            result = measure(trial)
            if take(client.post(f"/v1/studies/{self.name}/tell", {"results": [result]})):
                self.told[trial["id"]] = result["value"]
                del self.held[trial["id"]]
            else:
                done = False
        return done

    def look(self, client):
        assert client.get(f"/v1/studies/{self.name}").json["state"] == "active"
        values = {trial["id"]: trial.get("value") for trial in client.items(f"/v1/studies/{self.name}/trials")}
        assert {n: values[n] for n in self.told} == self.told


FAULTS = {
    "EIO of a read": (READS, errno.EIO),
    "ENXIO of a read": (READS, errno.ENXIO),
    "a short read": (READS, 0),
    "EIO of a write": (WRITES, errno.EIO),
    "a quota": (WRITES, errno.EDQUOT),
    "a full disk": (WRITES, errno.ENOSPC),
    "a short write": (WRITES, 0),
    "EIO of a sync": (SYNCS, errno.EIO),
}


@cases(FAULTS)
def test_calls_that_fail_for_a_while(case):
    calls_kind, cause = case
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        calls = Calls(folder)
        failed = 0
        with faulty(folder, calls, "--evict-seconds", "1") as server:
            client = server.client()
            studies = [Study(f"s{i}") for i in range(4)]
            for study in studies:
                client.create(definition(id=study.name, points=grid(8), feedback="async"))
                assert study.step(client)
            for after, times in ((0, 1), (1, 1), (2, 1), (3, 1), (5, 1), (8, 1), (0, 4), (2, 8), (0, FOR_EVER), (4, FOR_EVER)):
                if times in (4, FOR_EVER):
                    time.sleep(1.5)  # the studies are evicted, and will be read
                calls.fail(calls_kind, cause, after, times)
                for study in studies:
                    study.step(client)
                client.get("/readyz")
                failed += calls.well()
                for study in studies:
                    assert study.step(client), "well again, but it does not go on"
            for study in studies:
                study.look(client)
            server.kill()
            server.start()
            for study in studies:
                study.look(server.client())
        assert failed > 10, failed
        status, out, err = run_to_end("check", "--quiet", "--db", f"{folder}/b.db")
        assert (status, out, err) == (0, "", ""), (status, out, err)


def test_what_cannot_be_answered_is_not_done():
    """A trial is not handed out in an answer that cannot be made, since no worker would know of it; and what is asked
    again under its key is done once."""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        calls = Calls(folder)
        with faulty(folder, calls) as server:
            client = server.client()
            client.create(definition(id="s", points=grid(8), feedback="async"))
            path, refused = "/v1/studies/s", 0
            for i in range(6):
                trial = client.ask("s", worker="w")["trials"][0]
                client.tell("s", [measure(trial)])
                view = client.study("s")
                calls.fail(READS, errno.EIO, 0, FOR_EVER)
                key = {"Idempotency-Key": f"k{i}"}
                asked = client.post(f"{path}/ask", {"worker": "other"})
                proposed = client.post(f"{path}/trials", {"candidate": i}, headers=key)
                calls.well()
                before = client.study("s")
                held = asked.json["trials"] if take(asked) else []
                refused += asked.status == 503
                assert before["trials_pending"] == len(held), (asked, before)
                again = client.post(f"{path}/trials", {"candidate": i}, headers=key)
                assert again.status == 200, again
                assert not take(proposed) or proposed.body == again.body, (proposed, again)
                known = {t["id"] for t in client.items(f"{path}/trials") if "batch" not in t}
                assert len(known) == i + 1, (known, i, view)
                for t in held:
                    client.tell("s", [measure(t)])
            assert refused > 0, "no answer failed"


def test_readyz_when_only_reads_fail():
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        calls = Calls(folder)
        with faulty(folder, calls, "--evict-seconds", "1") as server:
            client = server.client()
            client.create(definition(id="s", points=grid(8)))
            assert client.get("/readyz").status == 200
            calls.fail(READS, errno.EIO, 0, FOR_EVER)
            client.post("/v1/studies", definition(id="t", points=grid(8)))  # readers have to look again
            read = client.get("/v1/studies")
            ready = client.get("/readyz")
            assert (read.status, ready.status) == (503, 503), (read, ready)
            calls.well()
            assert client.get("/readyz").status == 200
            assert client.get("/v1/studies").status == 200


def test_a_disk_that_hangs_holds_up_no_stop():
    """A sync takes two minutes. The server ends all the same, and what it had not acknowledged was not promised."""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        calls = Calls(folder)
        with faulty(folder, calls) as server:
            client = server.client()
            client.create(definition(id="before"))
            calls.fail(SYNCS, -120, 0, FOR_EVER)
            thread = threading.Thread(target=create_unheard, args=(server.client(), "during"))
            thread.start()
            eventually(lambda: calls.failed(), "a sync has begun")
            server.stop()
            thread.join()
            server.says("not_waited_for")
            calls.well()
            server.start()
            client = server.client()
            assert client.study("before")["state"] == "active"
            assert client.get("/v1/studies/during").status in (200, 404)


def create_unheard(client, study):
    try:
        assert client.post("/v1/studies", definition(id=study)).status == 503
    except (OSError, http.client.HTTPException):
        pass
