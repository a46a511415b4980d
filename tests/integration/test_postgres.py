"""One server on a PostgreSQL database: the same answers as on SQLite, and nothing acknowledged is lost when the
database, its sessions or the server end. BANDITD_KILLS sets how often."""

import concurrent.futures
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

from postgres import OfModule, Postgres
from server import Server, run_to_end
from support import Skip, cases, definition, eventually, measure
from test_crash import alone, killed_while_one_worker_works

KILLS = int(os.environ.get("BANDITD_KILLS", "3"))

postgres = OfModule()


def migrated():
    return postgres().migrated()


def served(uri, *options):
    return Server("--database", uri, *options)


def test_the_same_choices_as_on_sqlite():
    uri = migrated()
    chosen = {}
    with served(uri) as server:
        server.client().create(definition(id="study", seed=5))
        for step in range(8):
            client = server.client()
            for trial in client.ask("study", 2, worker="w")["trials"]:
                chosen[trial["id"]] = trial["candidate"]
                client.tell("study", [measure(trial)])
            if step == 4:
                server.stop()
                server.start()
    undisturbed = alone(max(chosen), seed=5)
    assert all(undisturbed[trial] == candidate for trial, candidate in chosen.items()), (chosen, undisturbed)
    status, out, err = run_to_end("check", "--database", uri)
    assert status == 0, (out, err)


def work(client, name, told, lock, until):
    """Asks and tells until then. Every answer must be good."""
    n = 0
    while time.monotonic() < until[0]:
        for trial in client.ask("study", 1, worker=name, wait_seconds=1)["trials"]:
            result = measure(trial)
            client.tell("study", [result])
            n += 1
            with lock:
                told[result["trial"]] = result["value"]
    return n


def under_load(server, disturb, times, pause):
    """Disturbs the database several times while four workers work. -> trial -> value of what was acknowledged"""
    told, lock, until = {}, threading.Lock(), [time.monotonic() + 600]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(work, server.client(), f"w{i}", told, lock, until) for i in range(4)]
        try:
            for _ in range(times):
                before = len(told)
                eventually(lambda before=before: len(told) > before or any(job.done() for job in jobs), "results")
                time.sleep(pause())
                disturb()
            before = len(told)
            eventually(lambda: len(told) > before or any(job.done() for job in jobs), "results afterwards")
        finally:
            until[0] = 0
        for job in jobs:
            assert job.result() > 0
    return told


def expect_told(server, told):
    trials = {trial["id"]: trial for trial in server.client().items("/v1/studies/study/trials")}
    for number, value in told.items():
        assert trials[number].get("value") == value, (trials[number], value)
    study = server.client().study("study")
    assert study["observations"] == study["trials_completed"] >= len(told), study


def restart():
    postgres().stop()
    postgres().start()


def freeze():
    """As a machine that hangs, for a while."""
    postgres().freeze()
    time.sleep(0.5)
    postgres().thaw()


@cases(
    {
        "its session is ended": lambda: postgres().end_writer(),
        "the database crashes and starts": restart,
        "the database hangs": freeze,
    }
)
def test_a_pause_and_no_error_when(case):
    rng = random.Random(7)
    uri = migrated()
    with served(uri) as server:
        server.client().create(definition(id="study", seed=6, algorithm={"ratio_bound": 4}))
        told = under_load(server, case, KILLS, lambda: rng.uniform(0, 0.1))
        expect_told(server, told)
        server.stop()
        server.start()
        expect_told(server, told)
    assert run_to_end("check", "--database", uri)[0] == 0


def test_killed_at_any_instant_nothing_acknowledged_is_lost():
    uri = migrated()
    killed_while_one_worker_works(served(uri), KILLS)
    assert run_to_end("check", "--database", uri)[0] == 0


def test_away_for_longer_than_the_patience():
    uri = migrated()
    with served(uri, "--database-patience", "1") as server:
        client = server.client()
        client.create(definition(id="study", seed=6))
        trial = client.ask("study", 1, worker="w")["trials"][0]
        postgres().stop()
        try:
            answer = client.request("POST", "/v1/studies/study/tell", {"results": [measure(trial)]})
            assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
            assert client.request("GET", "/readyz").status == 503
            assert client.request("GET", "/healthz").status == 200
            assert client.request("GET", "/v1/studies").status == 503
        finally:
            postgres().start()
        eventually(lambda: client.request("GET", "/readyz").status == 200, "readiness")
        client.tell("study", [measure(trial)])
        assert client.study("study")["observations"] == 1
        log = server.stop()
        assert "database_lost" in log and "database_back" in log, log


def test_a_second_server_is_refused():
    uri = migrated()
    with served(uri):
        status, _, err = run_to_end("serve", "--listen", "127.0.0.1:0", "--database", uri)
        assert status == 1 and "is in use by another banditd" in err, err
        status, _, err = run_to_end("migrate", "--database", uri)
        assert status == 1 and "is in use by another banditd" in err, err


def test_a_server_that_was_replaced_writes_no_more():
    uri = migrated()
    with served(uri) as server:
        client = server.client()
        client.create(definition(id="study"))
        name = uri.rsplit("/", 1)[1]
        postgres().sql("UPDATE banditd.writer SET generation = generation + 1", name)
        assert client.request("POST", "/v1/studies/study/ask", {"count": 1}).status == 503
        postgres().end_writer()
        assert client.request("POST", "/v1/studies/study/ask", {"count": 1}).status == 503
        assert client.request("GET", "/readyz").status == 503
        assert client.request("GET", "/v1/studies/study").status == 200


def test_tokens_exports_and_imports():
    uri, other = migrated(), migrated()
    status, token, err = run_to_end("token", "create", "--role", "admin", "--database", uri)
    assert (status, err) == (0, ""), err
    with served(uri, "--auth", "token") as server:
        server.token = token.strip()
        client = server.client()
        client.create(definition(id="study", seed=3))
        for trial in client.ask("study", 2, worker="w")["trials"]:
            client.tell("study", [measure(trial)])
        status, listed, err = run_to_end("token", "list", "--database", uri)
        assert status == 0 and listed.count("admin") == 1, (listed, err)
        file = server.db.with_name("study.ndjson")
        assert run_to_end("export", "study", str(file), "--database", uri)[0] == 0
        status, table, said = run_to_end("export", "study", "--format", "csv", "--database", uri)
        assert status == 0 and len(table.splitlines()) > 1, (table, said)
        status, out, err = run_to_end("import", str(file), "--database", other)
        assert status == 0, (out, err)
        assert run_to_end("check", "--database", other)[0] == 0
        status, _, err = run_to_end("backup", "x", "--database", uri)
        assert status == 1 and "pg_dump" in err, err


def test_passwords_are_shown_nowhere():
    secret = "quite-secret"
    environment = {"BANDITD_DATABASE": f"postgresql://tests:{secret}@127.0.0.1:{postgres().port}/nowhere"}
    status, out, err = run_to_end("check", environment=environment)
    assert status == 1 and secret not in out + err, err
    environment["BANDITD_DATABASE"] = f"postgresql://tests:{secret}@127.0.0.1:port/nowhere?x={secret}"
    status, out, err = run_to_end("check", environment=environment)
    assert status == 1 and "is not a URI" in err and secret not in out + err, err
    status, out, err = run_to_end("serve", "--database", f"postgresql://tests:{secret}@127.0.0.1/x")
    assert status == 2 and "BANDITD_DATABASE" in err and secret not in out + err, err


def test_what_cannot_hold_studies_is_refused():
    def refused(uri, sentence, command="serve"):
        status, out, err = run_to_end(command, *(["--listen", "127.0.0.1:0"] if command == "serve" else []), "--database", uri)
        assert status == 1 and sentence in err, (out, err)

    refused(postgres().database(), "run `banditd migrate` first")
    latin = postgres().database("--encoding", "SQL_ASCII", "--template", "template0", "--locale", "C")
    refused(latin, "banditd needs UTF8", "migrate")
    uri = migrated()
    postgres().sql("INSERT INTO banditd.migrations VALUES (9999, '', '', 0)", uri.rsplit("/", 1)[1])
    refused(uri, "use a newer banditd")
    uri = migrated()
    postgres().sql("ALTER SYSTEM SET fsync = off")
    postgres().sql("SELECT pg_reload_conf()")
    try:
        eventually(lambda: postgres().sql("SHOW fsync") == ["off"])
        refused(uri, "fsync is off")
    finally:
        postgres().sql("ALTER SYSTEM RESET fsync")
        postgres().sql("SELECT pg_reload_conf()")
        eventually(lambda: postgres().sql("SHOW fsync") == ["on"])


def test_a_missing_synchronous_standby_is_a_database_that_is_away():
    """Commits wait for a standby that is not there: writes answer 503 after the patience, and what was not answered is
    carried out once at most."""
    uri = migrated()

    def wait_for_standbys(names):
        postgres().sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        postgres().sql("SELECT pg_reload_conf()")
        eventually(lambda: postgres().sql("SHOW synchronous_standby_names") == [names])

    with served(uri, "--database-patience", "2") as server:
        client = server.client()
        client.create(definition(id="study", seed=6))
        trial = client.ask("study", 1, worker="w")["trials"][0]
        wait_for_standbys("nobody")
        try:
            answer = client.request("POST", "/v1/studies/study/tell", {"results": [measure(trial)]})
            assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
            assert client.request("GET", "/v1/studies/study").status == 200
            away = client.request("GET", "/metrics").body.decode()
            assert float(away.split("\nbanditd_database_unreachable_seconds ")[1].split("\n")[0]) > 1, away
        finally:
            wait_for_standbys("")
        eventually(lambda: client.request("GET", "/readyz").status == 200, "readiness")
        client.tell("study", [measure(trial)])
        study = client.study("study")
        assert (study["observations"], study["trials_completed"]) == (1, 1), study
        there = client.request("GET", "/metrics").body.decode()
        assert "\nbanditd_database_unreachable_seconds 0\n" in there, there
    assert run_to_end("check", "--database", uri)[0] == 0


def test_a_server_that_was_cut_off_finds_its_successor():
    """Another server holds the lock when the first one comes back: it says so, and does not wait for the patience."""
    uri = migrated()
    with served(uri, "--database-patience", "600") as former:
        client = former.client()
        client.create(definition(id="study"))
        former.process.send_signal(signal.SIGSTOP)
        postgres().end_writer()
        with served(uri) as latter:
            former.process.send_signal(signal.SIGCONT)
            assert client.request("POST", "/v1/studies/study/ask", {"count": 1}).status == 503
            former.says("database_taken")
            assert len(latter.client().ask("study", 1)["trials"]) == 1


def test_a_standby_is_refused():
    with Postgres() as server:
        uri = server.migrated()
        server.stop("fast")
        server.as_itself("touch", os.path.join(server.data, "standby.signal"))
        server.start()
        for command in ("serve", "migrate"):
            status, out, err = run_to_end(command, "--database", uri)
            assert status == 1 and "the server is a standby: give banditd the primary" in err, (out, err)
        assert run_to_end("check", "--database", uri)[0] == 0  # only reads


@cases({"transaction": "transaction", "session": "session"})
def test_a_pooler_is_refused(case):
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not os.path.exists(program):
        raise Skip("pgbouncer is not installed")
    uri = migrated()
    server = postgres()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = os.path.join(server.folder, f"{case}.ini")
    with open(settings, "w") as file:
        file.write(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=tests\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {case}\n"
        )
    pooler = subprocess.Popen([*server.prefix, program, "-q", settings], stderr=subprocess.DEVNULL)
    try:
        through = uri.replace(f":{server.port}/", f":{port}/")
        refused = lambda: run_to_end("check", "--database", through)
        eventually(lambda: "onnection refused" not in refused()[2], "the pooler")
        status, out, err = run_to_end("serve", "--listen", "127.0.0.1:0", "--database", through)
        assert status == 1 and "this is the address of a connection pooler" in err, (out, err)
    finally:
        pooler.terminate()
        pooler.wait()
