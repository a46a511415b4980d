"""The daemon as a process: its ready line, its end, and what it refuses to start with."""

import json
import pathlib
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

import databases
import server as servers
from harness import sanitizers
from server import Server, run_to_end
from support import Skip, cases, definition, eventually, refusal, work


def test_stops_cleanly_on_sigterm_and_sigint():
    for sent in (signal.SIGTERM, signal.SIGINT):
        with Server() as server:
            server.client().create(definition())
            server.stop(sent)


def test_stops_with_connections_open_and_an_ask_waiting():
    with Server() as server:
        client = server.client()
        study = client.create(definition())["id"]
        client.ask(study)
        waiting = socket.create_connection((server.host, server.port))
        body = b'{"wait_seconds": 120}'
        head = f"POST /v1/studies/{study}/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        waiting.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        idle = socket.create_connection((server.host, server.port))
        half = socket.create_connection((server.host, server.port))
        half.sendall(b"POST /v1/studies HTTP/1.1\r\nHost: loc")
        time.sleep(0.3)
        server.stop()
        assert server.stopped_after < 20, server.stopped_after
        waiting.settimeout(5)
        answer = waiting.recv(65536)
        assert b" 503 " in answer or b'"trials": []' in answer or b'"trials":[]' in answer, answer
        for connection in (waiting, idle, half):
            connection.close()


def test_the_database_is_checkpointed_at_the_end():
    databases.sqlite_only()
    with Server() as server:
        work(server.client(), server.client().create(definition())["id"], 10)
        server.stop()
        wal = pathlib.Path(str(server.db) + "-wal")
        assert server.db.stat().st_size > 0
        assert not wal.exists() or wal.stat().st_size == 0


def test_a_second_process_on_the_same_database_is_refused():
    with Server() as server:
        client = server.client()
        study = client.create(definition())["id"]
        status, out, err = run_to_end("serve", "--listen", "127.0.0.1:0", "--db", str(server.db))
        assert status != 0 and out == "", (status, out, err)
        assert "in use by another" in err and (databases.URI or str(server.db) in err), err
        assert work(client, study, 5), "the first goes on"


def test_a_program_that_holds_the_database_up():
    """Another program has a transaction open: no write is accepted, and /readyz says why; then it goes on."""
    databases.sqlite_only()
    with Server() as server:
        client = server.client()
        other = sqlite3.connect(server.db, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        detail = refusal(client.get("/readyz"), 503)["detail"]
        assert "no write has reached the disk" in detail or "locked" in detail, detail
        other.execute("ROLLBACK")
        other.close()
        eventually(lambda: client.get("/readyz").status == 200, "the writer has noticed")


def test_readiness_takes_no_thread_from_others():
    """Probes that wait for a disk that does not answer leave the serving threads to reads."""
    databases.sqlite_only()
    with Server("--threads", "2") as server:
        client = server.client(judged=False)
        study = client.create(definition())["id"]
        other = sqlite3.connect(server.db, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert client.post(f"/v1/studies/{study}/ask", {"count": 1}).status == 503, "the server notices"
        probes = [threading.Thread(target=server.client(judged=False).get, args=("/readyz",)) for _ in range(8)]
        for probe in probes:
            probe.start()
        longest = 0
        while any(probe.is_alive() for probe in probes):
            start = time.monotonic()
            assert client.get(f"/v1/studies/{study}").status == 200
            longest = max(longest, time.monotonic() - start)
            time.sleep(0.02)
        other.execute("ROLLBACK")
        other.close()
        assert longest < 1, longest


def test_two_databases_at_once():
    with Server() as one, Server() as other:
        one.client().create(definition(id="mine"))
        assert other.client().get("/v1/studies/mine").status == 404


def test_an_address_in_use_is_refused():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{server.port}"
        status, out, err = run_to_end("serve", "--listen", address, "--db", folder + "/other.db")
        assert status != 0 and out == "" and address in err, (status, out, err)
        assert "see the reason in the line before this one" in err, err


def serial_openblas():
    for folder in pathlib.Path("/usr/lib").glob("*/openblas-serial"):
        if (folder / "libopenblas.so.0").exists():
            return str(folder)
    raise Skip("needs Debian's package libopenblas0-serial (make deps installs it)")


def test_a_serial_openblas_is_refused():
    folder = serial_openblas()
    with tempfile.TemporaryDirectory() as other:
        arguments = ("serve", "--listen", "127.0.0.1:0", "--db", other + "/banditd.db")
        status, out, err = run_to_end(*arguments, environment={"LD_LIBRARY_PATH": folder})
    assert status != 0 and out == "", (status, out, err)
    assert "libopenblas0-pthread" in err, "the message says what to install: " + err


def test_blas_threads_of_the_environment_do_not_matter():
    with Server(environment={"OPENBLAS_NUM_THREADS": "4"}) as server:
        client = server.client()
        assert work(client, client.create(definition())["id"], 20)


def test_a_file_that_is_no_database_is_refused_and_left_alone():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "notes.txt"
        path.write_text("dear diary\n" * 1000)
        status, out, err = run_to_end("serve", "--listen", "127.0.0.1:0", "--db", str(path))
        assert status != 0 and out == "" and str(path) in err, (status, out, err)
        assert path.read_text() == "dear diary\n" * 1000


def test_a_folder_that_is_not_there_is_refused():
    status, out, err = run_to_end("serve", "--listen", "127.0.0.1:0", "--db", "/nonexistent/banditd.db")
    assert status != 0 and out == "" and "/nonexistent/banditd.db" in err, (status, out, err)


BAD_OPTIONS = [
    ["--colour", "blue"],
    ["--listen", "somewhere"],
    ["--listen", "127.0.0.1:99999"],
    ["--threads", "0"],
    ["--threads", "many"],
    ["--log-format", "xml"],
    ["--log-level", "loud"],
    ["--db"],
    ["--listen", "0.0.0.0:0", "--auth", "none"],
    ["--auth", "maybe"],
    ["--allowed-host", "example.org:8080"],
    ["--allowed-host", "example.org, example.com"],
    ["--allowed-host", "[::1"],
    ["--cors-origin", "example.org"],
    ["--cors-origin", "https://example.org/"],
    ["--cors-origin", "https://example.org,*"],
]


def test_bad_options_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        for options in BAD_OPTIONS:
            arguments = ["serve", "--db", folder + "/banditd.db", "--listen", "127.0.0.1:0", *options]
            status, out, err = run_to_end(*arguments)
            assert status != 0 and out == "" and options[0] in err, (options, status, out, err)
        assert list(pathlib.Path(folder).iterdir()) == [], "nothing is created"


def test_version_and_usage():
    status, out, err = run_to_end("version")
    assert status == 0 and out.startswith("banditd ") and err == "", (status, out, err)
    for arguments in ([], ["dance"], ["version", "now"]):
        status, out, err = run_to_end(*arguments)
        assert status == 2 and out == "" and "usage" in err, (arguments, status, out, err)
        assert not arguments or f"unknown command '{' '.join(arguments)}'" in err, err


COMMANDS = ["serve", "migrate", "check", "backup", "export", "import", "token"]
HELP = {"check": ["--scratch", "--threads", "--db"], "export": ["--format", "STUDY"], "import": ["--id", "FILE"], "token": ["--role"]}


def test_every_command_says_how_it_is_used():
    status, out, err = run_to_end("--help")
    assert status == 0 and err == "" and all(f"banditd {command}" in out for command in COMMANDS), out
    for command in COMMANDS:
        for option in ("--help", "-h"):
            status, out, err = run_to_end(command, option)
            assert status == 0 and err == "" and f"banditd {command}" in out, (command, status, out, err)
            assert all(word in out for word in HELP.get(command, ["--db"])), (command, out)


USAGE, FAILED = 2, 1
WRONG = {
    # (arguments, exit status, words on standard error)
    "no operand": (["backup"], USAGE, "FILE is missing"),
    "an operand too many": (["backup", "a", "b"], USAGE, "unexpected argument 'b'"),
    "an option without its value": (["export", "x", "--format"], USAGE, "--format requires a value"),
    "an option of another command": (["export", "x", "--scratch", "y"], USAGE, "unknown option '--scratch'"),
    "an unknown format": (["export", "x", "--format", "xml"], USAGE, "'xml'"),
    "no id": (["import", "x", "--id", "A/B"], USAGE, "'A/B' is not a valid study id"),
    "no file to import": (["import", "/nonexistent/x"], FAILED, "/nonexistent/x: No such file"),
    "no database to migrate": (["migrate", "--db", "/nonexistent/x"], FAILED, "/nonexistent/x: No such file"),
    "no database to check": (["check", "--db", "/nonexistent/x"], FAILED, "/nonexistent/x"),
    "threads that are none": (["check", "--threads", "0"], USAGE, "--threads"),
    "a token without a role": (["token", "create"], USAGE, "--role is required"),
    "a token for soon": (["token", "create", "--role", "viewer", "--expires", "soon"], USAGE, "'soon'"),
    "a role of a list": (["token", "list", "--role", "viewer"], USAGE, "unknown option '--role'"),
    "a token's option without its value": (["token", "list", "--db"], USAGE, "--db requires a value"),
    "an id that is none": (["token", "revoke", "xyz"], USAGE, "give the id of a token"),
}


@cases(WRONG)
def test_commands_that_are_wrong(case):
    arguments, expected, words = case
    status, out, err = run_to_end(*arguments, environment={"BANDITD_DB": "/nonexistent/banditd.db"})
    assert (status, out) == (expected, "") and words in err, (status, out, err)


def test_what_cannot_be_written_leaves_nothing():
    with Server() as server:
        server.client().create(definition(id="study"))
        server.stop()
        folder = server.db.parent

        def files():  # but for those that any reader of the database makes
            return {path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm"))}

        before = files()
        for arguments in (
            ["backup", "/nonexistent/copy.db"],
            ["backup", str(server.db)],  # there is a file
            ["export", "study", "/nonexistent/study.ndjson"],
            ["export", "nobody", str(folder / "nobody.ndjson")],
            ["check", "--scratch", "/nonexistent"],
        ):
            status, out, err = run_to_end(*arguments, "--db", str(server.db))
            assert status == FAILED and err.startswith(f"banditd {arguments[0]}: "), (arguments, status, out, err)
        assert files() == before


def test_output_that_cannot_be_written_is_a_failure():
    for command in (["version"], ["--help"], ["token", "--help"]):
        with open("/dev/full", "w") as full:
            streams = {"stdout": full, "stderr": subprocess.PIPE, "text": True}
            done = subprocess.run([servers.BINARY, *command], **streams, env=sanitizers.environment(), check=False)
        assert (done.returncode, done.stderr) == (FAILED, "banditd: standard output: No space left on device\n"), (command, done)


def test_an_empty_file_is_not_backed_up():
    with tempfile.TemporaryDirectory() as folder:
        db, copy = pathlib.Path(folder, "empty.db"), pathlib.Path(folder, "copy.db")
        db.touch()
        status, out, err = run_to_end("backup", str(copy), "--db", str(db))
        assert (status, out) == (FAILED, "") and f"{db} is empty" in err and not copy.exists(), (status, out, err)


@cases({name: name for name in (":memory:", "file:x.db", "file:x.db?mode=memory", "plain.db")})
def test_a_relative_name_is_a_files_name(case):
    """SQLite takes some of them for databases in memory or for URIs."""
    with tempfile.TemporaryDirectory() as folder:

        def command(*arguments):
            options = {"cwd": folder, "capture_output": True, "text": True, "env": sanitizers.environment()}
            done = subprocess.run([pathlib.Path(servers.BINARY).resolve(), *arguments], **options, check=False)
            return done.returncode, done.stdout, done.stderr

        for missing in (["check"], ["backup", "copy.db"], ["export", "a"], ["migrate"], ["token", "list"]):
            status, out, err = command(*missing, "--db", case)
            assert (status, out) == (FAILED, "") and case in err and "schema" not in err, (missing, status, out, err)
        assert not list(pathlib.Path(folder).iterdir()), "nothing is created"
        assert command("token", "create", "--role", "admin", "--db", case)[0] == 0
        assert pathlib.Path(folder, case).exists()
        copy = f"{case}.copy"
        assert command("backup", copy, "--db", case) == (0, "", "")
        assert pathlib.Path(folder, copy).exists()
        for name in (case, copy):
            assert command("check", "--quiet", "--db", name) == (0, "", "")
            status, out, err = command("migrate", "--db", name)
            assert status == 0 and "already at schema version" in out and "version 0" not in out, (out, err)
            assert len(command("token", "list", "--db", name)[1].splitlines()) == 2
        assert command("copy", "--quiet", "--from", copy, "--to", f"{case}.other") == (0, "", "")
        names = {path.name for path in pathlib.Path(folder).iterdir() if not path.name.endswith(("-wal", "-shm", ".lock", ".reserve"))}
        assert names == {case, copy, f"{case}.other"}


def test_options_from_the_environment():
    databases.sqlite_only("it names SQLite's file")
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "environment.db"
        with Server(environment={"BANDITD_LOG_FORMAT": "json", "BANDITD_LOG_LEVEL": "debug"}, db=db) as server:
            server.client().get("/healthz")
            log = server.stop()
        assert db.exists()
        lines = log.splitlines()
        assert lines and all(isinstance(json.loads(line), dict) for line in lines), log


def test_ipv6_loopback():
    probe = socket.socket(socket.AF_INET6)
    try:
        probe.bind(("::1", 0))
    except OSError:
        raise Skip("this machine has no IPv6 loopback") from None
    finally:
        probe.close()
    with tempfile.TemporaryDirectory() as folder:
        command = [servers.BINARY, "serve", "--listen", "[::1]:0", "--db", folder + "/banditd.db"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=sanitizers.environment())
        line = process.stdout.readline().decode()
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()
        assert line.startswith("banditd listening on http://[::1]:"), line
