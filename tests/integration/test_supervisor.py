"""What the daemon says to a service manager and takes from it: sockets, readiness, the watchdog."""

import os
import pathlib
import signal
import socket
import subprocess
import tempfile

import server as servers
from client import Client
from harness import sanitizers


class Supervised:
    """A server that is started as systemd starts one: a socket as file 3, a socket for its notifications."""

    def __init__(self, *options, passed=None, environment=None, abstract=False):
        self.folder = tempfile.TemporaryDirectory(prefix="banditd-test-")
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"@banditd-test-{os.getpid()}" if abstract else f"{self.folder.name}/notify"
        self.notified.bind("\0" + name[1:] if abstract else name)
        self.notified.settimeout(servers.START_SECONDS)
        script = 'exec 3<&"$PASSED"; ' if passed else ""
        script += 'LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$@"'
        command = ["bash", "-c", script, "-", servers.BINARY, "serve", "--db", f"{self.folder.name}/banditd.db", *options]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.log,
            pass_fds=[passed.fileno()] if passed else [],
            env={
                **sanitizers.environment(),
                "NOTIFY_SOCKET": name,
                **({"PASSED": str(passed.fileno()), "LISTEN_FDS": "1"} if passed else {}),
                **(environment or {}),
            },
        )

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.notified.close()
        self.folder.cleanup()

    def hears(self):
        return self.notified.recv(4096).decode().split("\n")

    def stops(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(servers.STOP_SECONDS) == 0


def listening():
    passed = socket.socket()
    passed.bind(("127.0.0.1", 0))
    passed.listen()
    return passed


def test_serves_on_the_socket_that_is_passed():
    with listening() as passed:
        with Supervised("--listen", "systemd", passed=passed) as run:
            address = "http://%s:%d" % passed.getsockname()
            assert run.hears() == ["READY=1", f"STATUS=serving on {address}"]
            assert run.process.stdout.readline().decode() == f"banditd listening on {address}\n"
            assert Client(*passed.getsockname()).request("GET", "/v1/version").status == 200
            run.stops()
            assert run.hears() == ["STOPPING=1"]
        with Supervised("--listen", "systemd", passed=passed) as again:
            assert again.hears()[0] == "READY=1", "the socket is still open for the next start"
            again.stops()


def test_serves_on_a_unix_socket_that_is_passed_and_leaves_its_file():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as passed:
        path = pathlib.Path(folder, "passed.sock")
        passed.bind(str(path))
        passed.listen()
        with Supervised("--listen", "systemd", passed=passed) as run:
            assert run.hears() == ["READY=1", f"STATUS=serving on unix:{path}"]
            run.stops()
        assert path.exists()


def test_refuses_to_start_without_a_socket():
    with socket.socket() as deaf:
        for passed in (None, deaf):
            with Supervised("--listen", "systemd", passed=passed) as run:
                assert run.process.wait(servers.START_SECONDS) == 2
                run.log.seek(0)
                assert b"systemd" in run.log.read()


def test_a_passed_socket_open_to_others_needs_tokens():
    with socket.socket() as passed:
        passed.bind(("0.0.0.0", 0))
        passed.listen()
        with Supervised("--listen", "systemd", "--auth", "none", passed=passed) as run:
            assert run.process.wait(servers.START_SECONDS) == 2
            run.log.seek(0)
            assert b"--insecure" in run.log.read()


def test_feeds_the_watchdog():
    environment = {"WATCHDOG_USEC": "300000"}
    with Supervised("--listen", "127.0.0.1:0", environment=environment, abstract=True) as run:
        assert run.hears()[0] == "READY=1"
        for _ in range(3):
            assert run.hears() == ["WATCHDOG=1"]
        run.stops()


def test_is_silent_without_a_watchdog():
    with Supervised("--listen", "127.0.0.1:0") as run:
        assert run.hears()[0] == "READY=1"
        run.stops()
        assert run.hears() == ["STOPPING=1"]
