"""A PostgreSQL database behind a bad network, on a full disk, read-only, or that fails over: nothing acknowledged is lost,
nothing is done twice, and workers see a pause. BANDITD_KILLS sets how often."""

import concurrent.futures
import os
import random

from postgres import OfModule, Postgres
from postgres_proxy import Proxy
from server import run_to_end
from support import cases, definition, eventually, grid, measure
from test_full_disk import grow_disk, small_disk
from test_postgres import KILLS, expect_told, served, under_load

postgres = OfModule()


def metric(server, name):
    text = server.client().request("GET", "/metrics").body.decode()
    return float(text.split(f"\n{name} ")[1].split("\n")[0])


def expect_nothing_lost_nor_twice(server, told, uri):
    """Every result is there, once; a study's log tells the same, replayed to the bit."""
    expect_told(server, told)
    trials = server.client().items("/v1/studies/study/trials")
    assert sum(trial["state"] == "completed" for trial in trials) == server.client().study("study")["trials_completed"]
    server.stop()
    status, out, err = run_to_end("check", "--database", uri)
    assert status == 0, (out, err)
    server.start()
    expect_told(server, told)


def create(server):
    server.client().create(definition(id="study", seed=6, algorithm={"ratio_bound": 4}))


LOSSES = {
    "the connection ends": "lose a commit's answer",
    "with a reset": "reset at a commit's answer",
    "and nobody is told": "fall silent at a commit's answer",
}


@cases(LOSSES)
def test_only_the_answer_to_a_commit_is_lost(case):
    """The commit has happened: the server finds it, and answers as if it had heard."""
    uri = postgres().migrated()
    patience = "2" if "silent" in case else "30"  # until then an answer may still come
    with Proxy(postgres().port) as proxy, served(proxy.uri(uri), "--database-patience", patience) as server:
        create(server)
        rng = random.Random(3)

        def disturb():
            before = proxy.done
            proxy.plan(case)
            eventually(lambda: proxy.done > before, case)

        told = under_load(server, disturb, KILLS, lambda: rng.uniform(0, 0.1))
        assert metric(server, 'banditd_database_ambiguous_commits_total{outcome="happened"}') == KILLS
        assert metric(server, 'banditd_database_ambiguous_commits_total{outcome="lost"}') == 0
        expect_nothing_lost_nor_twice(server, told, uri)


@cases({"with a reset": True, "without": False})
def test_connections_are_cut(case):
    uri = postgres().migrated()
    with Proxy(postgres().port) as proxy, served(proxy.uri(uri)) as server:
        create(server)
        rng = random.Random(4)
        told = under_load(server, lambda: proxy.cut(reset=case), 3 * KILLS, lambda: rng.uniform(0, 0.1))
        assert metric(server, "banditd_database_reconnects_total") > 0
        expect_nothing_lost_nor_twice(server, told, uri)


@cases({"between messages": "hush", "in the middle of a message": "stop inside a message"})
def test_the_writing_connection_falls_silent(case):
    """And nobody is told, as when a firewall forgets it. The former session still has the lock, and perhaps half of a transaction: it is ended."""
    uri = postgres().migrated()
    with Proxy(postgres().port) as proxy, served(proxy.uri(uri), "--database-patience", "2") as server:
        create(server)
        rng = random.Random(5)

        def disturb():
            before = proxy.done
            if case == "hush":
                lost = metric(server, "banditd_database_reconnects_total")
                proxy.hush()
                eventually(lambda: metric(server, "banditd_database_reconnects_total") > lost, "another connection")
            else:
                proxy.plan(case)
                eventually(lambda: proxy.done > before, case)

        told = under_load(server, disturb, KILLS, lambda: rng.uniform(0, 0.1))
        assert metric(server, "banditd_database_reconnects_total") >= KILLS
        expect_nothing_lost_nor_twice(server, told, uri)


READS = ["/v1/studies", "/v1/studies/study/trials", "/v1/studies/study/export?format=csv"]


def read_all(server):
    """Side by side. -> the statuses"""
    with concurrent.futures.ThreadPoolExecutor(len(READS)) as pool:
        return {answer.status for answer in pool.map(lambda path: server.client().get(path), READS)}


@cases({"new ones work": False, "new ones are silent, too": True})
def test_all_connections_fall_silent(case):
    """Those that read as well. Nothing waits for ever."""
    uri = postgres().migrated()
    with Proxy(postgres().port) as proxy, served(proxy.uri(uri), "--database-patience", "2") as server:
        create(server)
        client = server.client()
        trial = client.ask("study", 1, worker="w")["trials"][0]
        assert read_all(server) == {200}
        proxy.swallows = case
        proxy.hush_all()
        assert read_all(server) == ({503} if case else {200})
        if case:
            answer = client.request("POST", "/v1/studies/study/tell", {"results": [measure(trial)]})
            assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
            assert client.request("GET", "/healthz").status == 200
            proxy.swallows = False
            eventually(lambda: client.request("GET", "/readyz").status == 200, "readiness")
            eventually(lambda: read_all(server) == {200}, "reads")
        client.tell("study", [measure(trial)])
        expect_nothing_lost_nor_twice(server, {trial["id"]: measure(trial)["value"]}, uri)


def test_a_synchronous_standby_is_promoted():
    """The primary crashes under load and does not come back. What was acknowledged is on the standby."""
    with Postgres(wal_keep_size="'256MB'") as primary, Postgres(standby_of=primary) as standby:
        uri = primary.migrated()
        name = uri.rsplit("/", 1)[1]
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        uri = f"postgresql://tests@{hosts}/{name}?target_session_attrs=read-write"
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.sql("SELECT pg_reload_conf()")
        eventually(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == ["sync"], "the standby")

        def promote():
            primary.stop()
            standby.ctl("promote")

        with served(uri) as server:
            create(server)
            told = under_load(server, promote, 1, lambda: 0.3)
            expect_nothing_lost_nor_twice(server, told, uri)
            assert metric(server, "banditd_database_history_lost_total") == 0
        assert standby.sql("SELECT pg_is_in_recovery()") == ["f"]


def test_a_read_only_database():
    """Set read-only by its administrator, as providers do when its disk is nearly full."""
    uri = postgres().migrated()
    name = uri.rsplit("/", 1)[1]
    with served(uri, "--database-patience", "1") as server:
        create(server)
        client = server.client()
        trial = client.ask("study", 1, worker="w")["trials"][0]
        postgres().sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        postgres().end_writer()
        answer = client.request("POST", "/v1/studies/study/tell", {"results": [measure(trial)]})
        assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
        assert client.request("GET", "/readyz").status == 503
        assert client.request("GET", "/v1/studies/study").status == 200
        postgres().sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        eventually(lambda: client.request("GET", "/readyz").status == 200, "readiness")
        client.tell("study", [measure(trial)])
        assert client.study("study")["observations"] == 1
    assert run_to_end("check", "--database", uri)[0] == 0


def test_a_role_without_the_right_to_write():
    uri = postgres().migrated()
    name = uri.rsplit("/", 1)[1]
    role = f"role_{name}"
    tables = "ALL TABLES IN SCHEMA banditd"
    postgres().sql(
        f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA banditd TO {role}; "
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {role}",
        name,
    )
    with served(uri.replace("//tests@", f"//{role}@")) as server:
        create(server)
        client = server.client()
        trial = client.ask("study", 1, worker="w")["trials"][0]
        postgres().sql(f"REVOKE INSERT, UPDATE ON {tables} FROM {role}", name)
        answer = client.request("POST", "/v1/studies/study/tell", {"results": [measure(trial)]})
        assert answer.status == 503 and "the database is read-only" in answer.json["detail"], answer
        assert client.request("GET", "/v1/studies/study").status == 200
        postgres().sql(f"GRANT INSERT, UPDATE ON {tables} TO {role}", name)
        eventually(lambda: client.request("GET", "/readyz").status == 200, "readiness")
        client.tell("study", [measure(trial)])
        assert client.study("study")["observations"] == 1


def test_a_full_disk():
    """Of the tables, not of the write-ahead log: with that PostgreSQL itself ends, as at a crash."""
    with small_disk(48) as disk, Postgres() as database:
        space = disk / "space"
        space.mkdir()
        os.chmod(disk, 0o755)
        database.own(space)
        database.sql(f"CREATE TABLESPACE small LOCATION '{space}'")
        uri = database.migrated("--tablespace", "small")
        with served(uri) as server:
            client = server.client()
            made, refused = [], 0
            while refused < 5:
                assert len(made) < 2000, "the disk does not run full"
                answer = client.post("/v1/studies", definition(id=f"s{len(made)}-{refused}", points=grid(60)))
                if answer.status == 201:
                    made.append(answer.json["id"])
                else:
                    assert answer.status == 503 and "the disk is full" in answer.json["detail"], answer
                    refused += 1
            listed = {study["id"] for study in client.items("/v1/studies", limit=1000)}
            assert listed == set(made), listed ^ set(made)
            grow_disk(disk, 96)
            eventually(lambda: client.request("GET", "/readyz").status == 200, "readiness")
            client.create(definition(id="afterwards", points=grid(60)))
        assert run_to_end("check", "--no-replay", "--database", uri)[0] == 0


def test_a_long_transaction():
    """80 000 rows in few writes: the time to send them does not grow with the square of their number."""
    uri = postgres().migrated()
    with served(uri) as server:
        client = server.client()
        source = client.create(definition(points=grid(4)))["id"]
        rows = [{"candidate": i % 16, "value": i / 2000} for i in range(2000)]
        for _ in range(40):
            assert client.post(f"/v1/studies/{source}/observations", {"observations": rows}).status == 200
        client = server.client(timeout=300)
        body = client.get(f"/v1/studies/{source}/export?format=ndjson").body
        client.delete(f"/v1/studies/{source}")
        made = client.post("/v1/studies", body, content_type="application/x-ndjson")
        assert made.status == 201 and client.study(source)["observations"] == 80000, made
        assert metric(server, "banditd_database_reconnects_total") == 0
