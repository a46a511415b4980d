"""banditd export and import: of whole studies, altered ones and tables."""

import contextlib
import functools
import json
import random
import sqlite3

import databases
from database_commands import FAILED, UNSOUND, altered, check, expect_sound, fill, folder, lines_of, next_choices, without_times
from server import Server, run_to_end
from support import cases, definition, grid, work


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


@cases(
    {
        "an empty file": (lambda lines: [], "cut off"),
        "cut off": (lambda lines: lines[:-1], "cut off"),
        "cut in the middle": (lambda lines: lines[: len(lines) // 2] + [lines[len(lines) // 2][:-5]], "JSON"),
        "a line left out": (lambda lines: lines[:6] + lines[7:], "line 7"),
        "a line twice": (lambda lines: lines[:7] + lines[6:], "line 8"),
        "more after the end": (lambda lines: [*lines, lines[-1]], "after the line that ends the file"),
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
