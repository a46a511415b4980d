"""A file system that runs full: reads go on, deletions are accepted, a restart serves, and writes come back by
themselves when there is room. Needs a file system of its own, so it runs as root or not at all."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

from server import Server, run_to_end
from support import Skip, cases, definition, eventually, grid

MIB = 1 << 20


@contextlib.contextmanager
def small_disk(mib):
    """A file system of so many MiB. -> its folder"""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", folder]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            raise Skip("only root can mount a small file system")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def grow_disk(folder, mib):
    subprocess.run(["mount", "-o", f"remount,size={mib}m", str(folder)], check=True)


def fill(client, prefix, side):
    """Makes studies until several in a row are refused. -> those that were acknowledged"""
    made, refused = [], 0
    for i in range(20000):
        name = f"{prefix}{i}"
        answer = client.post("/v1/studies", definition(id=name, points=grid(side)))
        if answer.status == 201:
            made.append(name)
        else:
            assert answer.status == 503 and "the disk is full" in answer.json["detail"], answer
            refused += 1
            if refused == 10:
                return made
    raise AssertionError("the disk does not run full")


def ready(client):
    return client.get("/readyz").status == 200


def studies(client):
    return {study["id"] for study in client.items("/v1/studies", limit=1000)}


def sound(db):
    status, out, err = run_to_end("check", "--quiet", "--no-replay", "--db", str(db), timeout=300)
    assert (status, out, err) == (0, "", ""), (status, out, err)


@cases({"3 MiB": (3, 6, True), "24 MiB": (24, 16, False), "40 MiB, killed": (40, 20, True)})
def test_a_full_disk_is_left_by_deleting(case):
    mib, side, killed = case
    with small_disk(mib) as folder, Server("--threads", "2", db=folder / "b.db") as server:
        client = server.client()
        made = fill(client, "s", side)
        assert len(made) > 20
        assert not ready(client)
        assert studies(client) == set(made)
        server.kill() if killed else server.stop()
        server.start()
        client = server.client()
        assert studies(client) == set(made), "a restart on the full disk serves what is there"
        gone = made[: len(made) * 3 // 4]
        for name in gone:
            answer = client.delete(f"/v1/studies/{name}")
            assert answer.status == 204, (name, answer)
        eventually(lambda: ready(client))
        assert client.post("/v1/studies", definition(id="new", points=grid(4))).status == 201
        server.kill()
        server.start()
        assert studies(server.client()) == set(made[len(gone) :]) | {"new"}
        server.stop()
        sound(folder / "b.db")
        server.start()


def test_a_full_disk_is_left_by_growing_it():
    with small_disk(24) as folder, Server("--threads", "2", db=folder / "b.db") as server:
        client = server.client()
        made = fill(client, "s", 16)
        assert not ready(client)
        grow_disk(folder, 64)
        eventually(lambda: ready(client))
        assert client.post("/v1/studies", definition(id="new", points=grid(4))).status == 201
        assert studies(client) == set(made) | {"new"}
        said = [line.split()[2] for line in server.says("disk_has_room").splitlines() if " disk_" in line]
        assert said[0] == "disk_full" and said[-1] == "disk_has_room" and len(said) < 20, said


def test_a_disk_that_others_fill_is_left_when_they_leave():
    with small_disk(40) as folder, Server("--threads", "2", db=folder / "b.db") as server:
        client = server.client()
        client.create(definition(id="study", points=grid(4)))
        with open(folder / "theirs", "wb", buffering=0) as theirs:
            with contextlib.suppress(OSError):
                while True:
                    theirs.write(bytes(65536))
        made = fill(client, "s", 4)
        assert client.delete("/v1/studies/study").status == 204
        server.stop()
        server.start()
        client = server.client()
        assert studies(client) == set(made)
        (folder / "theirs").unlink()
        eventually(lambda: ready(client))
        assert client.post("/v1/studies", definition(id="new", points=grid(4))).status == 201
