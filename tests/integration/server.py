"""A real server on a free port and a database of its own, of SQLite or PostgreSQL (databases.py)."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import databases
from client import Client, exchange
from harness import sanitizers

BINARY = None  # set by the runner
START_SECONDS = 60
STOP_SECONDS = 60
# What a server is killed with: one that counts lines writes them down first (tests/harness/counted_kill.c).
KILL = signal.SIGUSR1 if os.environ.get("BANDITD_COUNTS_LINES") else signal.SIGKILL

_READY = re.compile(r"^banditd listening on https?://(127\.0\.0\.1):(\d+)\n$")


class Server:
    """Starts on entry; on leaving it is stopped by SIGTERM, and everything a server must not do is checked:
    another exit status than 0, sanitizer reports, lines on standard output after the ready line. With BANDITD_CHECK
    in the environment every study that it has is replayed from its log then."""

    def __init__(self, *options, db=None, environment=None):
        self._folder = None if db else tempfile.mkdtemp(prefix="banditd-test-")
        self.db = pathlib.Path(db) if db else pathlib.Path(self._folder) / "banditd.db"
        self.options = options
        self.environment = environment or {}
        self.process = None
        self.token = None  # that clients send unless they are given another one
        self.stopped_after = None  # seconds that its last stop took, without the checks
        self._clients = []
        self._stderr = ""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        try:
            if self.process:
                self.stop() if kind is None else self._abandon()
        finally:
            if self._folder:
                databases.drop(self.db)
                shutil.rmtree(self._folder, ignore_errors=True)

    def start(self):
        place = ["--db", self.db] if "--database" in self.options else databases.place(self.db, BINARY)
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", *place, *self.options]
        self._log = tempfile.TemporaryFile()
        self.process = self.popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**sanitizers.environment(), **self.environment},
        )
        line = _first_line(self.process)
        match = _READY.match(line)
        if not match:
            self._abandon()
            raise AssertionError(f"no ready line but {line!r}; standard error: {self._stderr}")
        self.host, self.port = match.group(1), int(match.group(2))

    def _place(self):
        """-> the options for the place of its studies"""
        if "--database" not in self.options:
            return ["--db", str(self.db)]
        at = self.options.index("--database")
        return list(self.options[at : at + 2])

    def popen(self, command, **options):
        return subprocess.Popen(command, **options)

    def client(self, **options):
        client = Client(self.host, self.port, **{"token": self.token, **options})
        self._clients.append(client)
        return client

    def exchange(self, request, **options):
        return exchange(self.host, self.port, request, **options)

    def stop(self, with_signal=signal.SIGTERM):
        """Stops it and checks how it ended. -> what it wrote on standard error"""
        begun = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        try:
            rest = self.process.communicate(timeout=STOP_SECONDS)[0]
        except subprocess.TimeoutExpired:
            self._abandon()
            raise AssertionError(f"does not stop within {STOP_SECONDS} s; standard error: {self._stderr[-4000:]}") from None
        self.stopped_after = time.monotonic() - begun
        status = self._ended()
        assert not sanitizers.report(self._stderr), self._stderr
        assert status == 0, f"exit status {status}; standard error: {self._stderr[-4000:]}"
        assert rest == b"", f"on standard output after the ready line: {rest!r}"
        if os.environ.get("BANDITD_CHECK"):
            status, out, err = run_to_end("check", "--quiet", *self._place(), environment=self.environment, timeout=600)
            assert (status, out) == (0, ""), (status, out, err)
        return self._stderr

    def kill(self):
        """kill -9, and checks that it was still alive and had not reported anything."""
        assert self.process.poll() is None, "it had ended by itself"
        self.process.send_signal(KILL)
        self.kill_noticed()

    def kill_noticed(self):
        """After somebody has killed its process: checks that nothing else had ended it."""
        self.process.wait()
        status = self._ended()
        assert not sanitizers.report(self._stderr), self._stderr
        assert status == -signal.SIGKILL, f"exit status {status}; standard error: {self._stderr[-4000:]}"

    def log(self):
        """What it has written on standard error so far."""
        if self.process:
            # The server writes where this file's offset is: reading must not move it.
            size = os.fstat(self._log.fileno()).st_size
            self._stderr = os.pread(self._log.fileno(), size, 0).decode(errors="replace")
        return self._stderr

    def says(self, text, times=1, seconds=60):
        """Waits until that text stands so often in its log, which is written by a thread of its own. -> the log"""
        end = time.monotonic() + seconds
        while self.log().count(text) < times:
            assert time.monotonic() < end, f"not in the log: {text}; but: {self._stderr[-2000:]}"
            time.sleep(0.01)
        return self._stderr

    def _ended(self):
        status = self.process.returncode
        self.log()
        for client in self._clients:
            client.close()
        self._clients = []
        self.process.stdout.close()
        self._log.close()
        self.process = None
        return status

    def _abandon(self):
        self.process.kill()
        self.process.wait()
        self._ended()


def _first_line(process):
    """The first line of its standard output; "" when it ends or START_SECONDS pass without one."""
    timer = threading.Timer(START_SECONDS, process.kill)
    timer.start()
    try:
        return process.stdout.readline().decode(errors="replace")
    finally:
        timer.cancel()


def run_to_end(*arguments, environment=None, timeout=60):
    """Runs banditd with other arguments. -> (exit status, standard output, standard error)"""
    done = subprocess.run(
        [BINARY, *databases.translated(arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**sanitizers.environment(), **(environment or {})},
        check=False,
    )
    assert not sanitizers.report(done.stderr), done.stderr
    return done.returncode, done.stdout, done.stderr
