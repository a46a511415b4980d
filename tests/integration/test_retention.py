"""What is kept and what is let go: the write-ahead log, answers under a key, pages of what was deleted, and the
server's memory while much is read. BANDITD_TRIALS is how many trials the finished study has."""

import contextlib
import os
import random
import sqlite3
import threading

from server import Server, run_to_end
from support import definition, eventually, grid, work

TRIALS = int(os.environ.get("BANDITD_TRIALS", "20000"))
MIB = 1 << 20


def size(server, end=""):
    path = server.db.with_name(server.db.name + end)
    return path.stat().st_size if path.exists() else 0


def memory(server, what):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what)) * 1024


def forget_peak(server):
    with open(f"/proc/{server.process.pid}/clear_refs", "w") as file:
        file.write("5")


def test_the_log_is_bounded_under_constant_readers():
    """160 MiB of writes beside readers that never rest: the write-ahead log is copied back meanwhile."""
    ended = threading.Event()
    with Server("--threads", "2") as server:
        client = server.client()
        client.create(definition(id="study"))
        largest, written = 0, 0

        def read():
            reader = server.client()
            while not ended.is_set():
                reader.get("/v1/studies/study/export")
                reader.items("/v1/studies/study/trials", limit=100)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        while written < 160 * MIB:
            rows = [{"candidate": i % 144, "value": random.random()} for i in range(5000)]
            answer = client.post("/v1/studies/study/observations", {"observations": rows})
            assert answer.status == 200, answer
            written += 5000 * 80  # in the log and in the table, at least
            largest = max(largest, size(server, "-wal"))
        ended.set()
        for reader in readers:
            reader.join()
        assert 0 < largest < 96 * MIB, f"{largest / MIB:.0f} MiB"
        eventually(lambda: size(server, "-wal") == 0)  # at rest it is truncated


def test_answers_under_a_key_leave_after_a_day():
    with Server() as server:
        client = server.client()
        client.create(definition(id="study", points=grid(4)))

        def observe(key):
            return client.post(
                "/v1/studies/study/observations",
                {"observations": [{"candidate": 1, "value": 0.5}]},
                headers={"Idempotency-Key": key},
            )

        assert observe("old").status == observe("old").status == 200
        assert client.study("study")["observations"] == 1, "the second one is the stored answer"
        server.stop()
        with contextlib.closing(sqlite3.connect(server.db)) as db:
            db.execute("UPDATE answers SET time = time - 86400000")
            db.commit()
        server.start()
        client = server.client()
        assert observe("old").status == 200
        assert client.study("study")["observations"] == 2, "a day later it is a new request"
        server.stop()
        with contextlib.closing(sqlite3.connect(server.db)) as db:
            db.execute("UPDATE answers SET time = time - 86400001")
            db.commit()
        server.start()
        client = server.client()
        assert observe("new").status == 200

        def keys():
            with contextlib.closing(sqlite3.connect(f"file:{server.db}?mode=ro", uri=True)) as db:
                return [row[0] for row in db.execute("SELECT key FROM answers")]

        server.stop()
        server.start()
        eventually(lambda: keys() == ["new"])


def test_deleted_studies_give_their_pages_back():
    with Server() as server:
        client = server.client()
        client.create(definition(id="stays", points=grid(4)))
        work(client, "stays", 6, 2)
        eventually(lambda: size(server, "-wal") == 0)
        before = size(server)
        rng = random.Random(1)
        rows = "".join(",".join(repr(rng.random()) for _ in range(10)) + "\n" for _ in range(60000))
        for i in range(3):
            body = definition(id=f"goes-{i}")
            body["domain"] = {"type": "candidates", "dimension": 10}
            client.create(body)
            assert client.put(f"/v1/studies/goes-{i}/candidates", rows, content_type="text/csv").status == 200
            observations = [{"candidate": j, "value": 0.5} for j in range(20000)]
            assert client.post(f"/v1/studies/goes-{i}/observations", {"observations": observations}).status == 200
        eventually(lambda: size(server, "-wal") == 0)
        full = size(server)
        assert full > before + 15 * MIB, (before, full)
        for i in range(3):
            assert client.delete(f"/v1/studies/goes-{i}").status == 204
        client.ask("stays", 1)
        eventually(lambda: size(server) < before + MIB)
        server.stop()
        status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
        assert (status, out, err) == (0, "", "")


def finished(server, trials):
    """A study of so many trials that is finished."""
    client = server.client(timeout=300)
    client.create(definition(id="study", points=grid(20), horizon=trials, algorithm={"ratio_bound": 16}))
    done = 0
    while done < trials:
        asked = client.ask("study", 1000, wait_seconds=60)["trials"]
        client.tell("study", [{"trial": t["id"], "value": (t["id"] * 7919 % 1000) / 1000} for t in asked])
        done += len(asked)
    eventually(lambda: client.study("study")["state"] == "finished")


def test_a_finished_study_reads_page_by_page_in_flat_memory():
    with Server("--threads", "2") as server:
        finished(server, TRIALS)
        server.stop()
        server.start()
        client = server.client(timeout=300)

        def read_pages(limit):
            """Every trial once, in order; as many pages as there are, or so many."""
            count, token = 0, ""
            while limit:
                page = client.get(f"/v1/studies/study/trials?limit=1000{token}").json
                assert [trial["id"] for trial in page["items"]] == list(range(count + 1, count + len(page["items"]) + 1))
                count += len(page["items"])
                limit -= 1
                if "next_page_token" not in page:
                    break
                token = f"&page_token={page['next_page_token']}"
            return count

        assert read_pages(5) == 5000
        forget_peak(server)
        before = memory(server, "VmRSS")
        assert read_pages(TRIALS) == TRIALS
        grown = memory(server, "VmHWM") - before
        assert grown < 12 * MIB, f"grew by {grown / MIB:.1f} MiB over {TRIALS} trials"


def test_exports_and_imports_are_not_held_in_memory():
    """A study of about 40 MB as lines: once the database's caches are filled, neither way takes memory. Of one heap:
    from which threads' heaps pieces come is chance otherwise, and each keeps what it had."""
    with Server("--threads", "2", environment={"MALLOC_ARENA_MAX": "1"}) as server:
        client = server.client(timeout=300)
        body = definition(id="large")
        body["domain"] = {"type": "candidates", "dimension": 20}
        client.create(body)
        rng = random.Random(1)
        rows = "".join(",".join(repr(rng.random()) for _ in range(20)) + "\n" for _ in range(100000))
        assert client.put("/v1/studies/large/candidates", rows, content_type="text/csv").status == 200
        for first in (True, False):
            text = client.get("/v1/studies/large/export").body
            assert len(text) > 35e6, len(text)
            client.delete("/v1/studies/large")
            assert client.post("/v1/studies", text, content_type="application/x-ndjson").status == 201
            assert client.study("large")["candidates"] == 100000
            if first:
                forget_peak(server)
                before = memory(server, "VmRSS")
        grown = memory(server, "VmHWM") - before
        assert grown < 12 * MIB, f"grew by {grown / MIB:.1f} MiB"
