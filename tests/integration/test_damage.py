"""Values in a database that cannot have been written: a study is refused or stops, and says why; the server goes on.

Damage to pages is the store's own test's; this is what sound pages hold (tests/store/test_sqlite_open.c)."""

import contextlib
import sqlite3
import struct

from databases import sqlite_only
from server import Server, run_to_end
from support import cases, definition, grid, refusal

UNSOUND = 3
INFINITY = struct.pack("<d", float("inf"))
NOT_A_NUMBER = struct.pack("<d", float("nan"))


def lived(client, study):
    """A study on named parameters or (its name says so) on features, in which everything has happened that leaves
    numbers behind."""
    body = definition(id=study, points=grid(5), feedback="async")
    body["algorithm"] |= {"name": "gp_ts"} if study.startswith("exact") else {}
    body["stopping"] = {"rule": "median"}
    if study.startswith("space"):
        body["domain"] = {
            "type": "space",
            "parameters": [
                {"name": "x", "type": "double", "min": 0.0, "max": 1.0},
                {"name": "kind", "type": "categorical", "values": ["a", "b"]},
            ],
        }
    client.create(body)
    if not study.startswith("space"):
        observed = {"observations": [{"candidate": 3, "value": 0.5}]}
        assert client.post(f"/v1/studies/{study}/observations", observed).status == 200
    first, second = client.ask(study, wait_seconds=30)["trials"][0]["id"], None
    assert client.post(f"/v1/studies/{study}/trials/{first}/measurements", {"step": 1, "value": 0.25}).status == 200
    client.tell(study, [{"trial": first, "state": "failed", "retry": True}])
    assert client.ask(study)["trials"][0]["id"] == first
    client.tell(study, [{"trial": first, "value": 0.75}])
    client.tell(study, [{"trial": first, "value": 0.5, "attempt": 1}])
    assert client.post(f"/v1/studies/{study}/trials/{first}/amend", {"value": 0.625}).status == 200
    second = client.ask(study, wait_seconds=30)["trials"][0]["id"]
    client.tell(study, [{"trial": second, "value": 0.125}])
    client.ask(study, wait_seconds=30)


def row(table, assignment, condition="1"):
    """Damage to the rows of one study."""

    def damage(db, study):
        changed = db.execute(f"UPDATE {table} SET {assignment} WHERE study = ? AND {condition}", (study,)).rowcount
        assert changed > 0, (table, condition)

    return damage


def first_row(value, at=0):
    """Damage to the first candidate: another number in its place `at`."""

    def damage(db, study):
        ((block, rows),) = db.execute(
            "SELECT block, rows FROM candidate_blocks JOIN contents USING (content) WHERE study = ? AND first = 0", (study,)
        ).fetchall()
        damaged = rows[: 8 * at] + value + rows[8 * at + 8 :]
        db.execute("UPDATE candidate_blocks SET rows = ? WHERE block = ?", (damaged, block))

    return damage


def lost_trials(db, study):
    db.execute("DELETE FROM late_results WHERE study = ?", (study,))
    db.execute("DELETE FROM amendments WHERE study = ?", (study,))
    db.execute("DELETE FROM measurements WHERE study = ?", (study,))
    db.execute("DELETE FROM attempts WHERE study = ?", (study,))
    db.execute("DELETE FROM trials WHERE study = ?", (study,))


DAMAGES = {
    # study: (damage, calls that are answered 500)
    "value": (row("trials", "value = 9e999", "trial = 1"), ["trials", "trials/1", "series", "export?format=csv"]),
    "variance": (row("trials", "variance = -9e999", "trial = 1"), ["trials/1"]),
    "state-of-trial": (row("trials", "state = 17", "trial = 1"), ["trials/1"]),
    "candidate": (row("trials", "candidate = 100000", "trial = 3"), ["ask"]),
    "old-candidate": (row("trials", "candidate = 1000000, state = 3, value = NULL", "trial = 1"), ["trials", "trials/1"]),
    "space-candidate": (
        row("trials", "candidate = 1000000, state = 3, value = NULL", "trial = 1"),
        ["trials", "trials/1", "export?format=csv"],
    ),
    "negative-candidate": (row("trials", "candidate = -1", "trial = 3"), ["ask"]),
    "late": (row("late_results", "value = 9e999"), ["trials/1"]),
    "amendment": (row("amendments", "value = -9e999"), ["trials/1"]),
    "measurement": (row("measurements", "value = 9e999"), ["trials/1"]),
    "batch": (row("batches", "ratio = 9e999"), ["batches"]),
    "figure": (row("batches", "beta = NULL"), ["batches"]),
    "features": (first_row(INFINITY), ["candidates", "export", "model"]),
    "exact-features": (first_row(NOT_A_NUMBER, at=1), ["candidates", "candidates/0", "model"]),
    "space-number": (first_row(INFINITY), ["trials", "export?format=csv"]),
    "space-word": (first_row(struct.pack("<d", 99.0), at=1), ["trials", "export?format=csv", "model"]),
    "lost-trials": (lost_trials, ["export?format=csv"]),
    "observation": (row("observations", "value = 9e999"), []),  # its sum is in the model: nobody reads it
    "sums": (row("arm_sums", "sum = 9218868437227405312"), None),  # infinity's bits, which the engine refuses
}

# Damage to a study's own row; others are read without it.
ROWS = {
    "best": "best_value = 9e999",
    "state": "state = 9",
    "dimension": "dimension = 0",
    "count": "candidates = -1, reference_candidates = -1",
    "reference": "reference_candidates = candidates + 1",
    "best-candidate": "best_candidate = candidates",
    "definition": "definition = '{'",
}

CALLS = ["", "trials", "trials/1", "batches", "series", "export", "export?format=csv", "candidates", "candidates/0", "best", "model"]

READ_WITHOUT = {
    ROWS["best-candidate"]: {*CALLS, "ask"} - {""},
    ROWS["definition"]: {"batches"},
}


def ask_all(client, study):
    """What is answered to all that can be asked of a study, by call."""
    answers = {call: client.get(f"/v1/studies/{study}/{call}".rstrip("/")) for call in CALLS}
    answers["ask"] = client.post(f"/v1/studies/{study}/ask", {"count": 2, "fresh": True, "wait_seconds": 1})
    for call, answer in answers.items():
        assert answer.status in (200, 404, 409, 500, 503), (study, call, answer)
        if answer.status == 500:
            refusal(answer, 500)
            assert "banditd check" in answer.json["detail"], answer
    return answers


def check_lists(client, studies):
    """A list shows what each study by itself is answered, and names those of which that is 500."""
    shown = {study: client.get(f"/v1/studies/{study}") for study in studies}
    assert {answer.status for answer in shown.values()} == {200, 500}, shown
    page = client.get("/v1/studies?limit=1000").json
    assert page["items"] == [shown[study].json for study in sorted(shown) if shown[study].status == 200], page
    assert page["damaged"] == [study for study in sorted(shown) if shown[study].status == 500], page


@contextlib.contextmanager
def damaged(studies, damages):
    """A server over a database in which the studies have come to harm, and one has not."""
    sqlite_only()
    with Server() as server:
        for study in [*studies, "sound"]:
            lived(server.client(), study)
        server.stop()
        with contextlib.closing(sqlite3.connect(server.db)) as db, db:
            numbers = dict(db.execute("SELECT id, study FROM studies"))
            for study, damage in damages.items():
                damage(db, numbers[study])
        server.start()
        yield server
        server.kill()  # stopping would check that it is sound


def problems(server):
    """What `banditd check` prints, by the study that it names."""
    status, out, err = run_to_end("check", "--db", str(server.db), timeout=300)
    assert (status, err) == (UNSOUND, ""), (status, out, err)
    return out


def test_values_that_cannot_be_are_not_shown():
    with damaged(DAMAGES, {study: damage for study, (damage, _) in DAMAGES.items()}) as server:
        client = server.client()
        for study, (_, calls) in DAMAGES.items():
            answers = ask_all(client, study)
            refused = [call for call, answer in answers.items() if answer.status == 500]
            if calls is None:
                assert "cannot be built" in refusal(answers["model"], 409)["detail"], answers["model"]
            else:
                assert set(calls) <= set(refused), (study, set(calls) - set(refused), refused)
        check_lists(client, [*DAMAGES, "sound"])
        answers = ask_all(client, "sound")
        assert all(answer.status == 200 for answer in answers.values()), answers
        out = problems(server)
        named = [study for study in DAMAGES if f"study {study}:" in out or f"study {study}," in out]
        assert named == list(DAMAGES), (set(DAMAGES) - set(named), out)
        assert "study sound: OK (" in out and out.count("study sound") == 1, out


@cases(ROWS)
def test_a_study_s_row_that_cannot_be_harms_nobody_else(case):
    with damaged(["harmed"], {"harmed": row("studies", case)}) as server:
        client = server.client()
        answers = ask_all(client, "harmed")
        shown = {call for call, answer in answers.items() if answer.status == 200}
        assert shown == READ_WITHOUT.get(case, set()), (shown, answers)
        check_lists(client, ["harmed", "sound"])
        page = client.get("/v1/studies?limit=1").json
        assert page == {"items": [], "damaged": ["harmed"], "next_page_token": "harmed"}, page
        assert all(answer.status == 200 for answer in ask_all(client, "sound").values())
        out = problems(server)
        assert "study harmed" in out and "study sound: OK (" in out, out
