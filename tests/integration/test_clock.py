"""Wall clocks that are set by hours and years, both ways, with a server that runs or is stopped: nothing is lost, no lease
is longer or shorter for it, and what is written can be read."""

import datetime
import mmap
import pathlib
import struct
import tempfile

import server as servers
from server import Server, run_to_end
from support import Skip, cases, definition, eventually, measure, work

EPOCH = 1_800_000_000_000
BOOTED = 86_400_000
HOUR, YEAR = 3_600_000, 365 * 86_400_000
LEASE = 60_000


class Clock:
    """The file that the server's clocks are read from: the wall clock, which can be set, and the time since the machine was
    started, which cannot. Both stand still in between."""

    def __init__(self, folder, now=EPOCH):
        library = pathlib.Path(servers.BINARY).parent / "tests/model/clock.so"
        if "asan" in str(library) or "tsan" in str(library):
            raise Skip("the sanitizers have the calls themselves")
        path = pathlib.Path(folder) / "clock"
        path.write_bytes(bytes(16))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 16)
        self.now, self.booted = now, BOOTED
        self.pass_ms(0)
        self.environment = {"LD_PRELOAD": str(library.resolve()), "TEST_CLOCK": str(path)}

    def pass_ms(self, ms):
        self.now += ms
        self.booted += ms
        self._map[:] = struct.pack("<2q", self.now, self.booted)

    def set_by(self, ms):
        self.now += ms
        self._map[:8] = struct.pack("<q", self.now)


def study_with_workers(client):
    client.create(definition(id="study", feedback="async", lease_seconds=LEASE / 1000, max_attempts=9))
    return client.ask("study", worker="alive")["trials"][0], client.ask("study", worker="dead")["trials"][0]


def trial(client, number):
    return client.get(f"/v1/studies/study/trials/{number}").json


def shown_end(client, number):
    text = trial(client, number)["lease_expires_at"]
    moment = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    return round(moment.timestamp() * 1000)


def expired(client, number):
    return eventually(lambda: trial(client, number)["state"] == "queued", f"the lease of trial {number} ends")


JUMPS = {"an hour ahead": HOUR, "an hour back": -HOUR, "20 years ahead": 20 * YEAR, "20 years back": -20 * YEAR}


@cases(JUMPS)
def test_a_clock_that_is_set_moves_no_lease(case):
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        clock = Clock(folder)
        with Server("--threads", "2", environment=clock.environment) as server:
            client = server.client()
            alive, dead = study_with_workers(client)
            clock.set_by(case)
            eventually(lambda: shown_end(client, alive["id"]) == clock.now + LEASE, "leases are shown by the new clock")
            server.says(f"seconds={case / 1000:+.3f}")
            clock.pass_ms(LEASE - 1000)
            client.tell("study", [measure(alive)])
            assert [trial(client, t["id"])["state"] for t in (alive, dead)] == ["completed", "pending"]
            clock.pass_ms(1000)
            expired(client, dead["id"])
            assert server.log().count("clock_jumped") == 1, server.log()


@cases(JUMPS)
def test_a_clock_that_was_set_and_a_killed_server(case):
    """What is stored is by the clock as it is now, so that the next start can go by it."""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        clock = Clock(folder)
        with Server("--threads", "2", environment=clock.environment) as server:
            client = server.client()
            _, dead = study_with_workers(client)
            clock.set_by(case)
            eventually(lambda: shown_end(client, dead["id"]) == clock.now + LEASE, "leases are shown by the new clock")
            server.kill()
            clock.pass_ms(LEASE // 2)
            server.start()
            client = server.client()
            clock.pass_ms(LEASE // 2 - 1000)
            work(client, "study", 3, count=1)
            assert trial(client, dead["id"])["state"] == "pending"
            clock.pass_ms(1000)
            expired(client, dead["id"])


@cases(JUMPS)
def test_a_clock_that_is_set_while_the_server_is_stopped(case):
    """Back: no lease is longer than it was. Ahead: the workers have the half minute that they have after every start."""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        clock = Clock(folder)
        with Server("--threads", "2", environment=clock.environment) as server:
            alive, dead = study_with_workers(server.client())
            server.stop()
            clock.set_by(case)
            server.start()
            client = server.client()
            if case < 0:
                eventually(lambda: shown_end(client, dead["id"]) == clock.now + LEASE, "leases are shown by the new clock")
            clock.pass_ms(29_000)
            client.tell("study", [measure(alive)])
            assert trial(client, dead["id"])["state"] == "pending"
            clock.pass_ms(LEASE - 29_000)
            expired(client, dead["id"])
            server.stop()
            status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
            assert (status, out, err) == (0, "", ""), (status, out, err)
            server.start()


def test_a_clock_that_is_set_twice_between_starts():
    """The lease was stored by a clock that was far back, and the study's last event by one that was ahead."""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        clock = Clock(folder)
        with Server("--threads", "2", environment=clock.environment) as server:
            client = server.client()
            _, dead = study_with_workers(client)
            clock.set_by(-YEAR)
            eventually(lambda: shown_end(client, dead["id"]) == clock.now + LEASE, "leases are shown by the new clock")
            for jump in (YEAR + 20 * HOUR, -20 * HOUR):
                server.stop()
                clock.set_by(jump)
                server.start()
                client = server.client()
                assert client.request("PATCH", "/v1/studies/study", {"display_name": str(jump)}).status == 200
            clock.pass_ms(29_000)
            work(client, "study", 3, count=1)
            assert trial(client, dead["id"])["state"] == "pending"
            clock.pass_ms(2_000)
            expired(client, dead["id"])


@cases({"far ahead": 1 << 62, "the year 9999": 253402300799999, "1960": -315619200000, "far back": -(1 << 62)})
def test_absurd_clocks_write_what_can_be_read(case):
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        clock = Clock(folder, now=case)
        with Server("--threads", "2", environment=clock.environment) as server:
            client = server.client()
            client.create(definition(id="study"))
            work(client, "study", 6)
            text = client.get("/v1/studies/study/export").body
            server.stop()
            status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
            assert (status, out, err) == (0, "", ""), (status, out, err)
            server.start()
            client = server.client()
            assert client.delete("/v1/studies/study").status == 204
            answer = client.post("/v1/studies", text, content_type="application/x-ndjson")
            assert answer.status == 201, answer
