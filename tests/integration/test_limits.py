"""What the system allows a process: the size of files, threads, closed streams, absurd clocks."""

import pathlib
import resource
import struct
import subprocess
import tempfile

import server as servers
from harness import sanitizers
from server import Server, run_to_end
from support import Skip, cases, definition, grid, work


class Limited(Server):
    """A server that starts with that limit."""

    def __init__(self, what, most, **options):
        super().__init__("--threads", "2", **options)
        self._limit = what, most

    def popen(self, command, **options):
        what, most = self._limit
        return super().popen(command, preexec_fn=lambda: resource.setrlimit(what, (most, most)), **options)


def test_a_limit_on_the_size_of_files_refuses_writes():
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


@cases({"far ahead": 1 << 62, "the year 9999": 253402300799999, "1960": -315619200000, "far back": -(1 << 62)})
def test_absurd_clocks_write_what_can_be_read(case):
    library = pathlib.Path(servers.BINARY).parent / "tests/model/clock.so"
    if "asan" in str(library) or "tsan" in str(library):
        raise Skip("the sanitizers have the calls themselves")
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        clock = pathlib.Path(folder) / "clock"
        clock.write_bytes(struct.pack("<q", case))
        environment = {"LD_PRELOAD": str(library.resolve()), "TEST_CLOCK": str(clock)}
        with Server("--threads", "2", environment=environment) as server:
            client = server.client()
            client.create(definition(id="study"))
            work(client, "study", 6)
            text = client.get("/v1/studies/study/export").body
            server.stop()
            status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
            assert (status, out, err) == (0, "", ""), (status, out, err)
            server.start()
            client = server.client()
            assert client.delete("/v1/studies/study").status == 204
            answer = client.post("/v1/studies", text, content_type="application/x-ndjson")
            assert answer.status == 201, answer
