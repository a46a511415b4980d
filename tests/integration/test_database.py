"""banditd check, backup, export, import and migrate: on their own, and beside a server under load."""

import contextlib
import functools
import json
import pathlib
import random
import re
import shutil
import sqlite3
import tempfile
import threading

import databases
from server import Server, run_to_end
from support import cases, definition, grid, measure, noisy, work

USAGE, FAILED, UNSOUND = 2, 1, 3


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="banditd-test-")
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path)


def check(db, *options):
    return run_to_end("check", "--db", str(db), *options, timeout=300)


def expect_sound(db, studies=None):
    status, out, err = check(db)
    assert (status, err) == (0, ""), (status, out, err)
    replayed = [line.split(":")[0] for line in out.splitlines() if "batches replanned" in line]
    if studies is not None:
        assert replayed == [f"study {study}" for study in sorted(studies)], out
    return out


def fill(client):
    """Studies with what can happen to trials; their names."""
    client.create(definition(id="batch", horizon=400))
    work(client, "batch", 40, 5)
    client.create(definition(id="async", feedback="async", algorithm={"name": "gp_ts"}))
    for _ in range(4):
        trials = client.ask("async", 3)["trials"]
        client.tell("async", [measure(trials[0]), {"trial": trials[1]["id"], "state": "failed"}])
    body = definition(id="uploaded")
    body["domain"] = {"type": "candidates", "dimension": 2}
    client.create(body)
    for n in (5, 6):
        rows = "".join(f"{x},{y}\n" for x, y in grid(n))
        assert client.put("/v1/studies/uploaded/candidates", rows, content_type="text/csv").status == 200
    client.post("/v1/studies/uploaded/observations", {"observations": [{"candidate": 3, "value": 0.5, "repeats": 4}]})
    work(client, "uploaded", 10, 2)
    client.ask("uploaded", 2, worker="w")
    body = definition(id="space", algorithm={"noise_std": 0.1})
    body["domain"] = {
        "type": "space",
        "parameters": [
            {"name": "x", "type": "double", "min": 0.0, "max": 1.0},
            {"name": "kind", "type": "categorical", "values": ["a", "b"]},
        ],
    }
    names = ["batch", "async", "uploaded"]
    if client.post("/v1/studies", body).status == 201:  # otherwise: not built yet
        for _ in range(6):
            trials = client.ask("space", 2, wait_seconds=30)["trials"]
            client.tell("space", [{"trial": t["id"], "value": noisy([t["parameters"]["x"], 0.5], t["id"])} for t in trials])
        names.append("space")
    return names


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


def next_choices(client, study):
    chosen = []
    for _ in range(12):
        trials = client.ask(study, 2, worker="w")["trials"]
        chosen += [(t["id"], t.get("candidate"), t.get("parameters")) for t in trials]
        client.tell(study, [{"trial": t["id"], "value": random.Random(t["id"]).random()} for t in trials])
    return chosen


def without_times(answer):
    return {key: value for key, value in answer.items() if not key.endswith("_at") and key != "id"}


def test_an_imported_study_is_the_same_and_goes_on_the_same():
    with folder() as path, Server(db=path / "a.db") as server:
        names = fill(server.client())
        server.stop()
        for name in names:
            status, out, _ = run_to_end("export", name, "--db", str(path / "a.db"))
            assert status == 0
            assert all(json.loads(line) for line in out.splitlines())
            (path / f"{name}.ndjson").write_text(out)
            for options in ([], ["--id", f"{name}-too"]):
                db = path / ("b.db" if not options else "a.db")
                status, out, err = run_to_end("import", str(path / f"{name}.ndjson"), "--db", str(db), *options)
                assert status == 0, err
        expect_sound(path / "a.db", names + [f"{name}-too" for name in names])
        expect_sound(path / "b.db", names)
        with Server(db=path / "b.db") as other:
            server.start()
            for name in names:
                a, b = server.client(), other.client()
                assert without_times(a.study(name)) == without_times(b.study(name)) == without_times(a.study(f"{name}-too"))
                assert a.study(name)["created_at"] == b.study(name)["created_at"]
                assert a.items(f"/v1/studies/{name}/trials") == b.items(f"/v1/studies/{name}/trials")
                assert a.items(f"/v1/studies/{name}/batches") == b.items(f"/v1/studies/{name}/batches")
                choices = next_choices(a, name)
                assert choices and choices == next_choices(b, name) == next_choices(a, f"{name}-too"), name
        names = names + [f"{name}-too" for name in names]
    # What they chose after the import, too, follows from their logs: checked before the folder went.


def lines_of(path, name):
    status, out, err = run_to_end("export", name, "--db", str(path / "a.db"))
    assert status == 0, err
    return out.splitlines()


def altered(lines, kind, change):
    """The lines with the first entry of that kind changed."""
    for i, line in enumerate(lines):
        entry = json.loads(line)
        if entry.get("type") == kind:
            change(entry["payload"])
            return lines[:i] + [json.dumps(entry)] + lines[i + 1 :]
    raise AssertionError(kind)


@cases(
    {
        "an empty file": (lambda lines: [], "cut off"),
        "cut off": (lambda lines: lines[:-1], "cut off"),
        "cut in the middle": (lambda lines: lines[: len(lines) // 2] + [lines[len(lines) // 2][:-5]], "JSON"),
        "a line left out": (lambda lines: lines[:6] + lines[7:], "line 7"),
        "a line twice": (lambda lines: lines[:7] + lines[6:], "line 8"),
        "more after the end": (lambda lines: [*lines, lines[-1]], "after its last line"),
        "another kind of file": (lambda lines: ['{"a": 1}'], "line 1"),
        "a newer version": (lambda lines: [lines[0].replace('"version":1', '"version":2')] + lines[1:], "/version"),
        "other candidates": (lambda lines: [lines[0], lines[1].replace("0.2", "0.3")] + lines[2:], "candidates"),
        "a pick beyond the candidates": (
            lambda lines: altered(lines, "batch_planned", lambda p: p["picks"][0].__setitem__(0, 4000000000)),
            "batch_planned",
        ),
        "a dictionary beyond the candidates": (
            lambda lines: altered(lines, "batch_planned", lambda p: p.__setitem__("dictionary", [77777])),
            "batch_planned",
        ),
        "a value that is none": (
            lambda lines: altered(lines, "trial_told", lambda p: p.__setitem__("value", "x")),
            "trial_told",
        ),
        "a trial that is not there": (
            lambda lines: altered(lines, "trial_issued", lambda p: p.__setitem__("trial", 999)),
            "",
        ),
        "a definition of something else": (
            lambda lines: altered(lines, "study_created", lambda p: p.__setitem__("definition", "{}")),
            "definition",
        ),
        "an event of the future": (lambda lines: [l.replace("trial_issued", "trial_teleported") for l in lines], "teleported"),
    }
)
def test_what_is_no_whole_study_is_refused_and_leaves_nothing(case):
    change, words = case
    with folder() as path, Server(db=path / "a.db") as server:
        server.client().create(definition(id="study", points=grid(6)))
        work(server.client(), "study", 12, 3)
        server.stop()
        (path / "file").write_text("".join(f"{line}\n" for line in change(lines_of(path, "study"))))
        status, out, err = run_to_end("import", str(path / "file"), "--db", str(path / "b.db"))
        assert status == FAILED and out == "" and words in err, (status, out, err)
        expect_sound(path / "b.db", [])
        with contextlib.closing(sqlite3.connect(path / "b.db")) as db:
            assert db.execute("SELECT count(*) FROM studies WHERE deleted = 0").fetchone() == (0,)


def last(kind, change):
    """Changes the last entry of that kind."""
    return lambda lines: altered(lines[::-1], kind, change)[::-1]


def first_of(kind, change):
    return lambda lines: altered(lines, kind, change)


def of_batch(number, change):
    """Changes the entry that planned this batch."""

    def alter(lines):
        at = next(i for i, line in enumerate(lines) if f'"payload":{{"batch":{number},' in line)
        return lines[:at] + altered(lines[at:], "batch_planned", change)

    return alter


@functools.cache
def planned_lines():
    """An export with some batches, the last one open."""
    with folder() as path, Server(db=path / "a.db") as server:
        client = server.client()
        client.create(definition(id="study", points=grid(6)))
        work(client, "study", 30, 4)
        client.ask("study", wait_seconds=30)
        server.stop()
        return lines_of(path, "study")


def other_dictionary(payload):
    """As many members, another one among them."""
    spare = next(arm for arm in range(36) if arm not in payload["dictionary"])
    payload["dictionary"] = sorted([*payload["dictionary"][1:], spare])


def other_sum(payload):
    payload["sums"][-1][2] += 1e-3


def other_variance(payload):
    payload["picks"][0][1] *= 1 + 1e-15


def other_machine(payload):
    other_variance(payload)
    payload["code_path"] = "abacus"


@cases(
    {
        "a value": (first_of("trial_told", lambda p: p.__setitem__("value", p["value"] + 0.5)), "replanning"),
        "a pick": (of_batch(4, lambda p: p["picks"][0].__setitem__(0, (p["picks"][0][0] + 1) % 36)), "batch 4: pick 0 is candidate"),
        "a variance": (of_batch(4, other_variance), "batch 4: pick 0 has variance"),
        "a pick too many": (
            last("batch_planned", lambda p: p.update(picks=[*p["picks"], [0, 0.5]], size=p["size"] + 1)),
            "picks; replanning made",
        ),
        "why a batch ended": (of_batch(4, lambda p: p.__setitem__("stop_rule", "horizon")), "batch 4 ended by the rule horizon; replanning ended by"),
        "a width": (of_batch(4, lambda p: p.__setitem__("beta", p["beta"] * 2)), "batch 4: beta is"),
        "a sum": (of_batch(4, other_sum), "batch 4: replanning produced different sums"),
        "a member": (of_batch(4, other_dictionary), "batch 4: replanning produced a different dictionary"),
        "what it was planned after": (
            of_batch(4, lambda p: p.__setitem__("through_seq", 1)),
            "the entry after which it was planned does not come before it",
        ),
        "the engine's state": (of_batch(3, lambda p: p.__setitem__("engine_state", p["engine_state"][:32])), "batch 3"),
        "another machine": (of_batch(4, other_machine), "on another kind of machine (abacus; this one is"),
    }
)
def test_a_check_says_what_does_not_follow_from_the_log(case):
    change, words = case
    with folder() as path:
        (path / "file").write_text("".join(f"{line}\n" for line in change(planned_lines())))
        status, _, err = run_to_end("import", str(path / "file"), "--db", str(path / "b.db"))
        assert status == 0, err
        status, out, err = check(path / "b.db")
        assert (status, err) == (UNSOUND, "") and words in out and "study study: log entry" in out, (status, out, err)


def test_an_import_does_not_replace_a_study():
    with folder() as path, Server(db=path / "a.db") as server:
        server.client().create(definition(id="study", points=grid(6)))
        server.stop()
        (path / "file").write_text("".join(f"{line}\n" for line in lines_of(path, "study")))
        status, _, err = run_to_end("import", str(path / "file"), "--db", str(path / "a.db"))
        assert status == FAILED and "already" in err, err
        expect_sound(path / "a.db", ["study"])
        server.start()
        status, _, err = run_to_end("import", str(path / "file"), "--db", str(path / "a.db"), "--id", "other")
        assert status == FAILED and "in use" in err, err


def test_a_damaged_engine_state_harms_nobody_else():
    """The engine's bytes are opaque. An import of wrong ones is refused, or gives a study that goes on; a study in whose
    database they become wrong may fail, the server must not."""
    databases.sqlite_only()
    rng = random.Random(3)
    with folder() as path, Server(db=path / "a.db") as server:
        for name in ("bbkb", "gp_ts", "s_gp_ts", "pi_gp_ucb", "regularized_evolution", "gp_bucb"):
            algorithm = {"name": name} if name == "regularized_evolution" else {
                "name": name, "kernel": {"type": "matern", "nu": 1.5, "lengthscale": 0.4}, "noise_std": 0.1}
            client = server.client()
            body = definition(id=name.replace("_", "-"), points=grid(5), horizon=60, feedback="async")
            client.create({**body, "algorithm": algorithm})
            work(client, name.replace("_", "-"), 9, 3)
        names = [study["id"] for study in server.client().items("/v1/studies")]
        server.stop()
        imported, damaged = [], []
        for name in names:
            lines = lines_of(path, name)
            last = max(i for i, line in enumerate(lines) if '"batch_planned"' in line)
            for i in range(8):
                entry = json.loads(lines[last])
                state = bytearray.fromhex(entry["payload"]["engine_state"])
                if i == 7:
                    state = state[: len(state) // 2]
                for _ in range(3):
                    state[rng.randrange(len(state))] = rng.randrange(256)
                entry["payload"]["engine_state"] = state.hex()
                (path / "whole").write_text("\n".join(lines) + "\n")
                (path / "file").write_text("\n".join([*lines[:last], json.dumps(entry), *lines[last + 1 :]]) + "\n")
                status, _, err = run_to_end("import", str(path / "file"), "--db", str(path / "a.db"), "--id", f"{name}-{i}")
                assert status == 0 or "cannot be loaded" in err, err
                imported += [f"{name}-{i}"] if status == 0 else []
                status, _, err = run_to_end("import", str(path / "whole"), "--db", str(path / "a.db"), "--id", f"{name}-{i}x")
                assert status == 0, err
                with contextlib.closing(sqlite3.connect(path / "a.db")) as db, db:
                    where = "study = (SELECT study FROM studies WHERE id = ?)"
                    db.execute(f"UPDATE engine_states SET state = ? WHERE {where}", (bytes(state), f"{name}-{i}x"))
                damaged.append(f"{name}-{i}x")
        server.start()
        client = server.client()
        assert 0 < len(imported) < len(damaged), imported
        for name in imported:
            assert client.ask(name, 2)["trials"], name
        for name in damaged:
            answer = client.post(f"/v1/studies/{name}/ask", {"count": 2, "wait_seconds": 1})
            assert answer.status in (200, 409, 503), (name, answer)
        for name in names:
            assert client.ask(name, 2)["trials"], name
        server.kill()  # a check would find the damage


def test_a_table_of_trials_is_taken_back_as_observations():
    with folder() as path, Server(db=path / "a.db") as server:
        client = server.client()
        client.create(definition(id="study"))
        work(client, "study", 30, 3)
        out = len(client.ask("study", 2)["trials"])
        server.stop()
        status, table, _ = run_to_end("export", "study", "--format", "csv", "--db", str(path / "a.db"))
        assert status == 0 and len(table.splitlines()) == 31 + out, table
        server.start()
        client = server.client()
        client.create(definition(id="again"))
        answer = client.post("/v1/studies/again/observations", table, content_type="text/csv")
        assert (answer.status, answer.json) == (200, {"accepted": 30, "first": 1, "last": 30}), answer
