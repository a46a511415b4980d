"""Databases of older programs: migrated by this one, their studies go on with the choices that the old program
would have made. They are kept as SQL text in tests/migrate, one for each version of the schema before the newest: of the first
with all that can happen to a trial, of those up to 5 with all that definitions left out before studies had an aim, of the
later ones with what came with them."""

import contextlib
import json
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile

STORED = pathlib.Path(__file__).resolve().parent.parent / "migrate"
sys.path.insert(0, str(STORED))
from goes_on import go_on  # noqa: E402
from harness import kernels  # noqa: E402
from server import Server, run_to_end  # noqa: E402
from support import Skip, cases  # noqa: E402

PATHS = {path.stem: path for path in sorted(STORED.glob("*.sql"))}
OLD = cases(PATHS)
WITHOUT_AIMS = cases({stem: path for stem, path in PATHS.items() if stem <= "0005"})


@contextlib.contextmanager
def stored(path):
    """The database of that SQL text."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="banditd-test-"))
    try:
        with contextlib.closing(sqlite3.connect(folder / "a.db", isolation_level=None)) as db:
            db.executescript(path.read_text())
        yield folder / "a.db"
    finally:
        shutil.rmtree(folder)


def value(db, sql):
    with contextlib.closing(sqlite3.connect(db)) as connection:
        return connection.execute(sql).fetchone()[0]


def version(db):
    return value(db, "PRAGMA user_version")


def newest():
    return len(list((STORED.parent.parent / "migrations").glob("*.sql")))


def same_machine(db):
    """The stored database is sound. The same choices are promised on the machine that made the others."""
    status, out, err = run_to_end("check", "--quiet", "--db", str(db), environment=kernels.STORED)
    kinds = re.search(r"on another kind of machine \((.*?); this one is (.*?)\)", out)
    if kinds and not kernels.STORED:
        raise Skip("the stored database was made with {}, and this machine has {}".format(*kinds.groups()))
    assert (status, out, err) == (0, "", ""), (status, out, err)


# Columns that a migration has replaced.
REPLACED = [("observations", "number")]


def content(db):
    """Every row of the tables that the old program knew, in the columns that it knew."""
    with contextlib.closing(sqlite3.connect(db)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {
            t: [c[1] for c in connection.execute(f"PRAGMA table_info({t})") if (t, c[1]) not in REPLACED] for t in tables
        }
    return columns, lambda other: {
        t: sorted(map(repr, other.execute(f"SELECT {', '.join(columns[t])} FROM {t}")))
        for t in tables
        if not t.startswith("sqlite_") and t not in ("migrations", "touched", "log_mark")
    }


@OLD
def test_migrate_brings_it_up_to_date_and_keeps_what_was(case):
    with stored(case) as db:
        before = version(db)
        _, rows_of = content(db)
        status, out, err = run_to_end("migrate", "--db", str(db))
        assert status == 0 and f"from schema version {before}" in out, (status, out, err)
        copy = db.with_name(f"a.db.v{before}")
        assert f"migrated db={db} from={before} to={newest()} copy={copy}" in err, err
        assert copy.stat().st_mode & 0o777 == 0o600, "only its owner may read the copy"
        assert (version(db), version(copy)) == (newest(), before)
        with contextlib.closing(sqlite3.connect(db)) as new, contextlib.closing(sqlite3.connect(copy)) as old:
            assert rows_of(new) == rows_of(old)
            applied = new.execute("SELECT version, program, applied_at FROM migrations ORDER BY version").fetchall()
        assert [row[0] for row in applied] == list(range(1, newest() + 1))
        assert all(row[1] and row[2] > 1700000000000 for row in applied), applied
        status, out, _ = run_to_end("migrate", "--db", str(db))
        assert status == 0 and "already" in out, out


@OLD
def test_its_logs_replay_to_the_same_choices(case):
    with stored(case) as db:
        run_to_end("migrate", "--db", str(db))
        same_machine(db)
        with contextlib.closing(sqlite3.connect(db)) as connection:
            studies = connection.execute("SELECT count(*) FROM studies WHERE deleted = 0").fetchone()[0]
        out = run_to_end("check", "--db", str(db), environment=kernels.STORED)[1]
        assert out.count("batches replanned") == studies > 6, out


@OLD
def test_its_studies_go_on_as_with_the_old_program(case):
    expected = json.loads(case.with_suffix(".json").read_text())
    with stored(case) as db:
        with Server("--threads", "1", db=db, environment=kernels.STORED) as server:
            client = server.client()
            assert sorted(study["id"] for study in client.items("/v1/studies")) == sorted(expected)
            chosen = {study: go_on(client, study) for study in expected}
        same_machine(db)
        assert chosen == expected, {s: (chosen[s], expected[s]) for s in expected if chosen[s] != expected[s]}


def definitions(db):
    """{study: its definition, as the old program stored it}"""
    with contextlib.closing(sqlite3.connect(db)) as connection:
        found = connection.execute("SELECT definition FROM studies WHERE deleted = 0")
        return {each["id"]: each for (text,) in found for each in [json.loads(text)]}


@WITHOUT_AIMS
def test_its_definitions_say_what_they_said(case):
    """No aim and no repeats are added to them, and no option has another value."""
    with stored(case) as db:
        old = definitions(db)
        assert not any({"aim", "repeats"} & set(each) for each in old.values())
        with Server("--threads", "1", db=db, environment=kernels.STORED) as server:
            for study, was in old.items():
                shown = server.client().study(study)
                assert not {"aim", "repeats"} & set(shown), shown
                for member in ("metric", "algorithm", "seed", "feedback"):
                    assert shown[member] == was[member], (study, member, was[member], shown[member])
        assert definitions(db) == old


@OLD
def test_what_is_logged_from_now_on_has_checksums(case):
    count = "SELECT count({}) FROM log JOIN studies USING (study) WHERE deleted = 0"
    with stored(case) as db:
        run_to_end("migrate", "--db", str(db))
        entries, chained = value(db, count.format("*")), value(db, count.format("log.chain"))
        assert chained == (entries if case.stem >= "0011" else 0)
        with Server("--threads", "1", db=db, environment=kernels.STORED) as server:
            server.client().request("PATCH", "/v1/studies/" + sorted(definitions(db))[0], {"display_name": "now"})
        out = run_to_end("check", "--no-replay", "--db", str(db))[1]
        assert f"OK ({entries + 1} log entries, {chained + 1} of them with checksums)" in out, out


@OLD
def test_a_newer_database_is_refused_and_left_as_it_is(case):
    with stored(case) as db:
        with contextlib.closing(sqlite3.connect(db)) as connection:
            connection.execute(f"PRAGMA user_version = {newest() + 1}")
        before = db.read_bytes()
        (db.parent / "file").write_text("")
        for command in (["migrate"], ["check"], ["serve", "--listen", "127.0.0.1:0"], ["backup", str(db.parent / "copy")],
                        ["export", "finished"], ["import", str(db.parent / "file")]):
            status, out, err = run_to_end(*command, "--db", str(db))
            assert status == 1 and "newer" in err and out == "", (command, status, out, err)
        assert db.read_bytes() == before
        assert not (db.parent / "copy").exists()
