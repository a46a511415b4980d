"""banditd copy: all studies and tokens of one database into another. Copies continue as the originals would, what is
there is left as it is, and an interrupted copy is completed by the same command."""

import contextlib
import pathlib
import signal
import sqlite3
import subprocess
import tempfile
import time

import server as servers
from postgres import OfModule
from server import Server, run_to_end
from support import cases, definition, grid, noisy
from test_open_spaces import mixed

postgres = OfModule()
STUDIES = ("amended", "few", "points", "uploaded")


def migrated():
    return postgres().migrated()


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="banditd-copy-") as name:
        yield pathlib.Path(name)


def options(database):
    return ("--database", database) if "://" in str(database) else ("--db", str(database))


def served(database):
    return Server(*options(database)) if "://" in str(database) else Server(db=database)


def work(client, study, n):
    picks = []
    for _ in range(n):
        for trial in client.ask(study, 1, worker="w")["trials"]:
            picks.append([trial.get(member) for member in ("id", "candidate", "point", "parameters")])
            client.tell(study, [{"trial": trial["id"], "value": noisy([0.1, 0.2], trial["id"])}])
    return picks


def fill(database):
    """Studies of several kinds, and tokens of each role. -> the secret of a viewer of one study"""
    with served(database) as server:
        client = server.client()
        client.create(definition(id="few", seed=3))
        client.create(definition(id="amended", seed=4, points=grid(6)))
        client.create(mixed(id="points", seed=5))
        client.create({**definition(id="uploaded"), "domain": {"type": "candidates", "dimension": 2}})
        rows = "".join(f"{i},{i * i % 7}\n" for i in range(500))
        assert client.put("/v1/studies/uploaded/candidates", rows, content_type="text/csv").status == 200
        for study in STUDIES:
            work(client, study, 6)
        amendment = {"value": 0.5, "reason": "the scale was off"}
        assert client.post("/v1/studies/amended/trials/1/amend", amendment).status == 200
        client.ask("few", 1, worker="w")
    assert run_to_end("token", "create", "--role", "admin", *options(database))[0] == 0
    status, token, err = run_to_end("token", "create", "--role", "viewer", "--study", "few", *options(database))
    assert status == 0, err
    return token.strip()


def copy(source, target, *more, status=0):
    got, out, err = run_to_end("copy", "--from", str(source), "--to", str(target), *more)
    assert got == status, (got, out, err)
    return out + err


def next_picks(database):
    with served(database) as server:
        client = server.client()
        return {study: work(client, study, 5) for study in STUDIES}


def there_and_back(first, second, third):
    secret = fill(first)
    said = copy(first, second)
    assert said.count(": copied (") == len(STUDIES) and "tokens: 2 copied" in said, said
    assert run_to_end("check", *options(second))[0] == 0
    said = copy(first, second)
    assert said.count(": exists and is equal (") == len(STUDIES) and "tokens: 0 copied, 2 existed" in said, said
    assert copy(first, second, "--quiet") == ""
    copy(second, third)
    with Server("--auth", "token", *options(second)) if "://" in str(second) else Server("--auth", "token", db=second) as server:
        client = server.client(token=secret)
        assert client.study("few")["id"] == "few"
        assert client.request("GET", "/v1/studies/amended").status in (403, 404)
    picks = next_picks(first)
    assert picks == next_picks(third) == next_picks(second)
    # The first and the second have gone on alike, but at other times: they differ now.
    said = copy(first, second, status=3)
    assert said.count("different study") == len(STUDIES) and "0 studies copied" in said, said


def test_from_file_to_file():
    with folder() as at:
        there_and_back(at / "a.db", at / "b.db", at / "c.db")


def test_from_sqlite_to_postgres_and_back():
    with folder() as at:
        there_and_back(at / "a.db", migrated(), at / "c.db")


def test_from_postgres_to_sqlite_and_back():
    with folder() as at:
        there_and_back(migrated(), at / "b.db", migrated())


def test_beside_a_server_one_moment_is_copied():
    uri = migrated()
    with folder() as at, served(uri) as server:
        client = server.client()
        client.create(definition(id="few", seed=3))
        work(client, "few", 4)
        copy(uri, at / "b.db")
        assert run_to_end("check", "--db", str(at / "b.db"))[0] == 0
        said = copy(at / "b.db", uri, status=1)
        assert "is in use by another banditd" in said, said


def test_killed_in_the_middle_it_is_completed():
    uri = migrated()
    with folder() as at:
        source = at / "a.db"
        fill(source)
        for wait in (0, 0.02, 0.05, 0.1, 0.2):
            process = subprocess.Popen(
                [servers.BINARY, "copy", "--from", source, "--to", uri], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
            process.wait()
        copy(source, uri)
        said = copy(source, uri)
        assert said.count(": exists and is equal (") == len(STUDIES), said
        assert run_to_end("check", "--database", uri)[0] == 0


def test_a_damaged_study_is_named_and_the_others_are_copied():
    with folder() as at:
        source = at / "a.db"
        fill(source)
        with contextlib.closing(sqlite3.connect(source)) as db:
            db.execute("DELETE FROM log WHERE type = 'trial_told' AND study = (SELECT study FROM studies WHERE id = 'few')")
            db.commit()
        said = copy(source, at / "b.db", status=3)
        assert "study few: " in said and said.count(": copied (") == len(STUDIES) - 1, said
        assert "its study few was not copied" in said, said
        with served(at / "b.db") as server:
            assert server.client().request("GET", "/v1/studies/few").status == 404


@cases(
    {
        "no database": ((), 2, "--from or --to is missing"),
        "the same": (("--from", "x.db", "--to", "x.db"), 2, "are the same database"),
        "a password": (("--from", "x.db", "--to", "postgresql://u:secret@h/d"), 2, "PGPASSWORD"),
        "no file": (("--from", "/nowhere/x.db", "--to", "/nowhere/y.db"), 1, "/nowhere/x.db"),
        "an option of others": (("--from", "x.db", "--db", "y.db"), 2, "unknown option '--db'"),
    }
)
def test_refusals(case):
    arguments, status, sentence = case
    got, out, err = run_to_end("copy", *arguments)
    assert (got, out) == (status, "") and sentence in err and "secret" not in err, (got, out, err)


def test_a_schema_is_wanted():
    uri = postgres().database()
    with folder() as at:
        fill(at / "a.db")
        assert "run `banditd migrate` first" in copy(at / "a.db", uri, status=1)
    got, out, err = run_to_end("copy", "--from", str(at / "b.db"), environment={"BANDITD_DATABASE": uri})
    assert got == 1 and "b.db" in err, (got, out, err)
