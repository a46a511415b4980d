"""banditd check and backup: on their own, and beside a server under load."""

import contextlib
import json
import random
import re
import sqlite3
import threading

import databases
from database_commands import FAILED, UNSOUND, USAGE, check, expect_sound, fill, folder
from server import Server, run_to_end
from support import cases, definition, measure, work


def test_a_sound_database_is_found_sound():
    with folder() as path, Server(db=path / "a.db") as server:
        names = fill(server.client())
        server.stop()
        out = expect_sound(path / "a.db", names)
        assert "the PostgreSQL database: OK" in out if databases.URI else ": OK (the file, its keys and its counters)" in out, out
        status, out, err = check(path / "a.db", "--study", "batch", "--quiet")
        assert (status, out, err) == (0, "", "")
        assert check(path / "a.db", "--study", "nobody")[0] == FAILED
        assert check(path / "none.db")[0] == FAILED
        assert not (path / "none.db").exists()
        assert check(path / "a.db", "--wrong")[0] == USAGE
        assert not list(path.glob("banditd-check-*"))


def change_log(db, study, kind, number, change):
    """Applies a function to the payload of the number-th entry of that kind; its position."""
    number_of = db.execute("SELECT study FROM studies WHERE id = ?", [study]).fetchone()[0]
    rows = db.execute("SELECT seq, payload FROM log WHERE study = ? AND type = ? ORDER BY seq", [number_of, kind])
    seq, payload = rows.fetchall()[number]
    payload = json.loads(payload)
    change(payload)
    db.execute("UPDATE log SET payload = ? WHERE study = ? AND seq = ?", [json.dumps(payload), number_of, seq])
    return seq


def another_pick(payload):
    payload["picks"][0][0] = (payload["picks"][0][0] + 1) % 144


def another_value(payload):
    payload["value"] += 1.0


def earlier(payload):
    payload["through_seq"] -= 1


def another_state(payload):
    state = payload["engine_state"]
    payload["engine_state"] = state[:-2] + ("00" if state[-2:] != "00" else "01")


@cases(
    {
        "a pick": lambda db: ("batch", change_log(db, "batch", "batch_planned", 3, another_pick), "pick 0"),
        "a told value": lambda db: ("batch", change_log(db, "batch", "trial_told", 5, another_value), ""),
        "what a batch was planned from": lambda db: ("batch", change_log(db, "batch", "batch_planned", 4, earlier), ""),
        "the engine's state": lambda db: ("batch", change_log(db, "batch", "batch_planned", 4, another_state), ""),
    }
)
def test_a_log_that_was_altered_is_named_at_its_first_difference(case):
    databases.sqlite_only()
    with folder() as path, Server(db=path / "a.db") as server:
        fill(server.client())
        server.stop()
        with contextlib.closing(sqlite3.connect(path / "a.db")) as db:
            db.execute("UPDATE log SET chain = NULL")  # the checksums alone would tell
            db.execute("UPDATE studies SET chain = NULL")
            study, seq, word = case(db)
            db.commit()
        status, out, _ = check(path / "a.db")
        assert status == UNSOUND, out
        lines = [line for line in out.splitlines() if line.startswith(f"study {study}: ")]
        assert lines and word in lines[0] and "OK (" not in lines[0], out
        first = int(lines[0].split("log entry ")[1].split(":")[0]) if "log entry" in lines[0] else seq
        assert first >= seq, (lines[0], seq)
        assert "study async: OK (" in out, out


@cases(
    {
        "a trial's value": (
            "UPDATE trials SET value = value + 1 WHERE study = 1 AND trial = 7",
            "trials, trial 7: value is",
        ),
        "a sum": ("UPDATE arm_sums SET count = count + 1 WHERE study = 1 AND arm = (SELECT max(arm) FROM arm_sums "
                  "WHERE study = 1)", "arm_sums, arm"),
        "a lost attempt": ("DELETE FROM attempts WHERE study = 1 AND trial = 2", "attempts, trial 2"),
        "a counter": ("UPDATE studies SET issued = issued + 1 WHERE study = 1", "issued is"),
        "a lost entry": ("DELETE FROM log WHERE study = 1 AND seq = 9", "log entry 10"),
        "a candidate": ("UPDATE candidate_blocks SET rows = zeroblob(length(rows)) WHERE content = 1", "candidates"),
    }
)
def test_a_table_that_was_altered_is_named(case):
    databases.sqlite_only()
    change, words = case
    with folder() as path, Server(db=path / "a.db") as server:
        server.client().create(definition(id="batch"))
        work(server.client(), "batch", 20, 4)
        server.stop()
        with contextlib.closing(sqlite3.connect(path / "a.db")) as db:
            db.execute("PRAGMA foreign_keys = OFF")
            db.execute(change)
            db.commit()
        status, out, err = check(path / "a.db")
        assert status == UNSOUND and words in out, (status, out, err)


def worker_renamed(db):
    """A change that no replay can notice: the tables say the same."""
    db.execute("UPDATE log SET payload = replace(payload, '\"wA\"', '\"wB\"') WHERE study = 1")
    for table in ("trials", "attempts"):
        db.execute(f"UPDATE {table} SET worker = replace(worker, 'wA', 'wB') WHERE study = 1")
    return db.execute("SELECT min(seq) FROM log WHERE study = 1 AND payload LIKE '%wB%'").fetchone()[0]


def swapped(db):
    for old, new in ((9, -9), (10, 9), (-9, 10)):
        db.execute("UPDATE log SET seq = ? WHERE study = 1 AND seq = ?", [new, old])
    return 9


def flipped(db):
    """One bit of one character."""
    payload = db.execute("SELECT payload FROM log WHERE study = 1 AND seq = 7").fetchone()[0]
    payload = payload[:5] + chr(ord(payload[5]) ^ 1) + payload[6:]
    db.execute("UPDATE log SET payload = ? WHERE study = 1 AND seq = 7", [payload])
    return 7


@cases({"a worker, in all tables": worker_renamed, "two entries that changed places": swapped, "a bit": flipped})
def test_checksums_name_the_entry(case):
    databases.sqlite_only()
    with folder() as path, Server(db=path / "a.db") as server:
        server.client().create(definition(id="batch"))
        server.client().create(definition(id="other"))
        trials = server.client().ask("batch", 2, worker="wA")["trials"]
        server.client().tell("batch", [measure(trial) for trial in trials])
        work(server.client(), "batch", 20, 4)
        server.stop()
        with contextlib.closing(sqlite3.connect(path / "a.db")) as db:
            seq = case(db)
            db.commit()
        for options in ([], ["--no-replay"]):
            status, out, err = check(path / "a.db", *options)
            assert status == UNSOUND, (status, out, err)
            assert f"study batch: log entry {seq} is not as it was written: its checksum differs" in out, out
        assert check(path / "a.db", "--study", "other", "--quiet")[0] == 0


def test_checksums_can_be_left_out():
    databases.sqlite_only()
    with folder() as path:
        with Server("--log-checksums", "off", db=path / "a.db") as server:
            server.client().create(definition(id="batch"))
        with contextlib.closing(sqlite3.connect(path / "a.db")) as db:
            without = db.execute("SELECT last_seq FROM studies").fetchone()[0]
        with Server(db=path / "a.db") as server:
            work(server.client(), "batch", 4, 2)
        out = expect_sound(path / "a.db", ["batch"])
        entries, chained = re.search(r"OK \((\d+) log entries, (\d+) of them with checksums\)", out).groups()
        assert int(chained) == int(entries) - without > 4, out
        assert run_to_end("serve", "--log-checksums", "maybe", "--db", str(path / "a.db"))[0] == USAGE


class Load:
    """Workers at every study until it is left; what they were told is done."""

    def __init__(self, server, studies):
        self._server, self._studies, self._ended, self._told = server, studies, threading.Event(), 0
        self._failures = []

    def _work(self, number):
        client = self._server.client()
        rng = random.Random(number)
        try:
            while not self._ended.is_set():
                study = rng.choice(self._studies)
                trials = client.ask(study, 2, worker=f"w{number}")["trials"]
                results = [{"trial": t["id"], "value": rng.random()} for t in trials]
                if results:
                    self._told += client.tell(study, results)["accepted"]
        except Exception as problem:  # noqa: BLE001
            self._failures.append(problem)

    def __enter__(self):
        self._threads = [threading.Thread(target=self._work, args=[i]) for i in range(4)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for thread in self._threads:
            thread.join()
        assert not self._failures, self._failures

    def told(self):
        return self._told


def test_under_load_checks_backups_and_exports_are_of_one_moment():
    with folder() as path, Server(db=path / "a.db") as server:
        names = fill(server.client())
        with Load(server, ["batch", "async"]) as load:
            for i in range(3):
                before = load.told()
                expect_sound(path / "a.db", names)
                status, out, err = run_to_end("backup", str(path / f"copy{i}.db"), "--db", str(path / "a.db"))
                assert (status, out, err) == (0, "", ""), (out, err)
                status, out, err = run_to_end("export", "async", str(path / f"{i}.ndjson"), "--db", str(path / "a.db"))
                assert (status, out, err) == (0, "", ""), (out, err)
                while load.told() == before:
                    pass
        status, _, err = run_to_end("backup", str(path / "copy0.db"), "--db", str(path / "a.db"))
        assert status == FAILED and "exists" in err, err
        for i in range(3):
            expect_sound(path / f"copy{i}.db", names)
            status, out, err = run_to_end("import", str(path / f"{i}.ndjson"), "--db", str(path / f"copy{i}.db"), "--id", "again")
            assert status == 0, err
            expect_sound(path / f"copy{i}.db", [*names, "again"])
