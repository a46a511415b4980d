"""What the system allows a process: the size of files, open files, threads, closed streams."""

import pathlib
import resource
import socket
import subprocess
import tempfile

import server as servers
from harness import sanitizers
from databases import sqlite_only
from server import Server
from support import Skip, cases, definition, eventually, grid, measure


class Limited(Server):
    """A server that starts with that limit."""

    def __init__(self, what, most, **options):
        super().__init__("--threads", "2", **options)
        self._limit = what, most

    def popen(self, command, **options):
        what, most = self._limit
        return super().popen(command, preexec_fn=lambda: resource.setrlimit(what, (most, most)), **options)


def test_a_limit_on_the_size_of_files_refuses_writes():
    sqlite_only("it limits the size of SQLite's file")
    with Limited(resource.RLIMIT_FSIZE, 1_000_000) as server:
        client = server.client()
        made, refused = set(), 0
        for i in range(200):
            answer = client.post("/v1/studies", definition(id=f"s{i}", points=grid(12)))
            assert answer.status in (201, 503), answer
            if answer.status == 201:
                made.add(f"s{i}")
            else:
                assert "the disk is full" in answer.json["detail"], answer
                refused += 1
        assert refused > 10 and len(made) > 10, (refused, len(made))
        server.kill()
        server.start()
        assert {study["id"] for study in server.client().items("/v1/studies", limit=1000)} == made


def crowded(server, n):
    """n connections that say nothing take the server's files; meanwhile a client writes. -> ids of what was made"""
    client = server.client()
    made = [client.create(definition(id="first", points=grid(4)))["id"]]
    held = []
    try:
        for _ in range(n):
            held.append(socket.create_connection((server.host, server.port), timeout=60))
        for i in range(20):
            answer = client.post("/v1/studies", definition(id=f"s{i}", points=grid(4)))
            assert answer.status in (201, 503), answer
            made += [f"s{i}"] * (answer.status == 201)
    finally:
        for connection in held:
            connection.close()
    eventually(lambda: client.get("/readyz").status == 200)
    client.create(definition(id="last", points=grid(4)))
    return [*made, "last"]


def opening(most):
    """Starts a server with so many files. -> whether it serves; otherwise it must say why not"""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        try:
            with Limited(resource.RLIMIT_NOFILE, most, db=f"{folder}/b.db") as server:
                made = crowded(server, 150)
                server.says("out_of_files")
                server.kill()
                server.start()
                assert {study["id"] for study in server.client().items("/v1/studies")} == set(made)
        except AssertionError as refused:
            assert "no ready line" in str(refused) and "error" in str(refused), refused
            return False
        return True


def test_few_open_files_are_refused_or_enough():
    """Connections beyond the limit are taken when others end."""
    sqlite_only("it counts SQLite's files")
    served = [opening(most) for most in (6, 16, *range(22, 30), 48, 96)]
    assert served == sorted(served) and served[0] is False and served[-1] is True, served


@cases({"input": 0, "output": 1, "error": 2})
def test_a_closed_stream_takes_no_file_of_ours(case):
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        command = [servers.BINARY, "serve", "--listen", "nowhere.invalid:0", "--db", f"{folder}/b.db"]
        shell = ["sh", "-c", f'exec "$@" {case}>&-', "sh", *map(str, command)]
        done = subprocess.run(shell, capture_output=True, timeout=60, env=sanitizers.environment(), check=False)
        assert done.returncode != 0, done
        for path in pathlib.Path(folder).iterdir():
            assert b"error" not in path.read_bytes() and b"listening" not in path.read_bytes(), path


def test_a_start_that_fails_for_want_of_threads_says_so():
    """As another user, since root has as many processes as it wants."""
    if resource.getrlimit(resource.RLIMIT_NPROC)[0] < 0 and pathlib.Path("/proc/self").owner() != "root":
        raise Skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        pathlib.Path(folder).chmod(0o777)
        for most in range(2, 9):
            command = ["serve", "--listen", "127.0.0.1:0", "--threads", "4", "--db", f"{folder}/{most}.db"]

            def limit(most=most):
                resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

            process = subprocess.Popen(
                ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", str(pathlib.Path(servers.BINARY).resolve()), *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=limit,
                env=sanitizers.environment(),
            )
            try:
                out, err = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.communicate(timeout=60)
                continue
            assert process.returncode != 0 and err.strip(), (most, process.returncode, out, err)


def fitting(megabytes, *options):
    """Starts a server with that much address space. -> whether it serves; otherwise it must say why not"""
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        server = Limited(resource.RLIMIT_AS, megabytes << 20, *options, db=f"{folder}/b.db")
        try:
            with server:
                client = server.client()
                client.create(definition(id="s", points=grid(14)))
                for _ in range(4):
                    asked = client.post("/v1/studies/s/ask", {"count": 4, "wait_seconds": 20})
                    assert asked.status in (200, 503), asked
                    if asked.status == 200:
                        client.tell("s", [measure(trial) for trial in asked.json["trials"]])
        except AssertionError as refused:
            assert "no ready line" in str(refused), refused
            reasons = ("no room for the buffers of OpenBLAS", "cannot start the writer thread", "start_failed")
            assert any(reason in str(refused) for reason in reasons), refused
            return False
        return True


def test_little_address_space_is_refused_or_enough():
    """OpenBLAS tries for ever to get a buffer that it cannot have."""
    if "asan" in str(servers.BINARY) or "tsan" in str(servers.BINARY):
        raise Skip("the sanitizers have terabytes of address space")
    sqlite_only("libpq takes address space of its own")
    served = [fitting(megabytes) for megabytes in (150, 200, 250, 300, 350, 400, 500, 700)]
    assert served[0] is False and served[-1] is True, served


def test_openblas_has_no_threads_of_its_own():
    for value in ({}, {"OPENBLAS_NUM_THREADS": "4"}):
        with Server("--threads", "2", environment=value) as server:
            kinds = [task.read_text() for task in pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/comm")]
            environment = pathlib.Path(f"/proc/{server.process.pid}/environ").read_bytes().split(b"\0")
            assert environment.count(b"OPENBLAS_NUM_THREADS=1") == 1, environment
            assert len(kinds) < 20, kinds
            assert pathlib.Path(f"/proc/{server.process.pid}/comm").read_text() == "banditd\n"


def test_more_threads_than_openblas_serves_are_refused():
    status, out, err = servers.run_to_end("serve", "--threads", "257")
    assert (status, out) == (2, "") and "threads must be at most 256" in err, (status, out, err)


def test_what_needs_too_much_memory_names_the_option():
    with Server("--study-memory", "1MiB") as server:
        client = server.client()
        body = definition(points=[[i / 3000, i % 7] for i in range(3000)], algorithm={"name": "gp_ucb"})
        study = client.create(body)["id"]
        client.post(f"/v1/studies/{study}/observations", {"observations": [{"candidate": i, "value": i % 5} for i in range(500)]})
        client.post(f"/v1/studies/{study}/ask", {"wait_seconds": 20})
        reason = eventually(lambda: client.study(study).get("state_reason"))
        assert "the limit is 1 MB" in reason and "--study-memory" in reason, reason
