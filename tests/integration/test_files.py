"""The database's file under a server: two names, moved, replaced, restored as the manual says."""

import shutil
import tempfile
from pathlib import Path

from server import Server, run_to_end
from support import cases, definition, grid, refusal


def small(name):
    return definition(id=name, points=grid(4))


def studies(client):
    return sorted(study["id"] for study in client.items("/v1/studies"))


def sound(db):
    status, out, err = run_to_end("check", "--quiet", "--db", str(db))
    assert (status, out, err) == (0, "", ""), (status, out, err)


def refused_start(db):
    """-> why another server does not start on it"""
    status, out, err = run_to_end("serve", "--listen", "127.0.0.1:0", "--db", str(db))
    assert status == 1 and out == "", (status, out, err)
    return err


def without_log(db):
    for end in ("-wal", "-shm"):
        Path(f"{db}{end}").unlink(missing_ok=True)


def second_name(how, db):
    other = db.with_name("other.db")
    if how == "hard link":
        other.hardlink_to(db)
    elif how == "link":
        other.symlink_to(db)
    else:
        Path(f"{db}.lock").unlink()
        return db
    return other


@cases({how: how for how in ("hard link", "link", "lock file removed")})
def test_a_second_server_is_refused_whatever_the_name(case):
    with Server() as server:
        client = server.client()
        client.create(small("first"))
        other = second_name(case, server.db)
        reason = refused_start(other)
        assert "in use by another banditd" in reason or "hard links" in reason, reason
        assert client.post("/v1/studies", small("second")).status == 201
        if case == "hard link":
            other.unlink()
        server.kill()
        server.start()
        assert studies(server.client()) == ["first", "second"]


def replace(db, how):
    """-> what is at the database's name then, or None"""
    copy = db.with_name("backup.db")
    if how == "removed":
        db.unlink()
        without_log(db)
        return None
    if how == "moved over it":
        content = copy.read_bytes()
        copy.rename(db)
    else:
        content = copy.read_bytes()
        shutil.copyfile(copy, db)  # into the same file
    return content


@cases({how: how for how in ("removed", "moved over it", "copied into it")})
def test_a_database_that_is_replaced_under_a_server_is_not_written_to(case):
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        db = Path(folder) / "banditd.db"
        with Server(db=db) as server:
            client = server.client()
            client.create(small("kept"))
            assert run_to_end("backup", f"{folder}/backup.db", "--db", str(db))[0] == 0
            client.create(small("later"))
            content = replace(db, case)
            for name in ("a", "b"):
                problem = refusal(client.post("/v1/studies", small(name)), 503)
                assert "moved, replaced or removed" in problem["detail"], problem
            assert "moved, replaced or removed" in refusal(client.get("/readyz"), 503)["detail"]
            assert client.get("/healthz").status == 200
            assert server.says("database_replaced").count("database_replaced") == 1, server.log()
            server.kill()
        if content is None:
            return
        if Path(f"{db}-wal").exists():  # a server that was stopped leaves its log: it is not this file's
            assert "is not the write-ahead log of" in refused_start(db)
        assert db.read_bytes() == content
        without_log(db)
        with Server(db=db) as server:
            assert studies(server.client()) == ["kept"]
        sound(db)


@cases({"stopped": False, "killed": True})
def test_a_backup_is_restored_as_the_manual_says(case):
    """Stop the server, put the copy in the database's place, remove -wal and -shm, start the server."""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        db, copy = Path(folder) / "banditd.db", Path(folder) / "copy.db"
        with Server(db=db) as server:
            server.client().create(small("kept"))
            assert run_to_end("backup", str(copy), "--db", str(db))[0] == 0
            sound(copy)
            server.client().create(small("later"))
            if case:
                server.kill()
        shutil.copyfile(copy, db)
        if case:  # without the last step nothing is lost either: it is asked for
            assert f"remove {db}-wal and {db}-shm" in refused_start(db)
            link = Path(folder) / "link.db"
            link.symlink_to(db)
            for name in (db, link):
                for command in (["check"], ["backup", f"{folder}/2.db"], ["export", "kept", f"{folder}/kept"], ["migrate"],
                                ["copy", "--to", f"{folder}/3.db"]):
                    from_it = ["--from", str(name)] if command[0] == "copy" else ["--db", str(name)]
                    status, out, err = run_to_end(*command, *from_it)
                    assert (status, out) == (1, "") and f"remove {db}-wal and {db}-shm" in err, (command, status, out, err)
            assert sorted(path.suffix for path in Path(folder).iterdir() if path.name[0] in "23k") == []
            assert db.read_bytes() == copy.read_bytes()
        without_log(db)
        with Server(db=db) as server:
            client = server.client()
            assert studies(client) == ["kept"]
            assert client.ask("kept", 1)["trials"]
        sound(db)


def test_a_broken_write_ahead_log_is_not_taken_for_a_torn_end():
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        db = Path(folder) / "banditd.db"
        with Server(db=db) as server:
            for i in range(6):
                server.client().create(small(f"s{i}"))
            server.kill()
        log = Path(f"{db}-wal")
        whole = log.read_bytes()
        log.write_bytes(whole[:4000] + bytes([whole[4000] ^ 1]) + whole[4001:])
        reason = refused_start(db)
        assert "acknowledged commits follow" in reason and f"truncate -s 32 {log}" in reason, reason
        status, out, _ = run_to_end("check", "--db", str(db))
        assert status == 3 and "the write-ahead log is broken at byte 32" in out, (status, out)
        log.write_bytes(whole)
        with Server(db=db) as server:
            assert len(studies(server.client())) == 6
        sound(db)
