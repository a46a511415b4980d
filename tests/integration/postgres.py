"""A PostgreSQL of the tests' own: in a folder of its own, by an unprivileged user, on a free port."""

import atexit
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

from server import run_to_end
from support import Skip


def find_programs():
    """The folder of initdb and pg_ctl; skips the test where there is none."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    found = shutil.which("initdb")  # elsewhere than on Debian
    folders = [pathlib.Path(folder) for folder in folders] or ([pathlib.Path(found).resolve().parent] if found else [])
    if not folders or not (folders[-1] / "pg_ctl").exists():
        raise Skip("PostgreSQL is not installed (initdb, pg_ctl)")
    return folders[-1]


class Postgres:
    def __init__(self, standby_of=None, **settings):
        self.programs = find_programs()
        self.settings = settings
        self.primary = standby_of
        self.prefix = []
        self.folder = tempfile.mkdtemp(prefix="banditd-pg-")
        self.data = os.path.join(self.folder, "data")
        self.n = 0
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                shutil.rmtree(self.folder)
                raise Skip("there is no user postgres") from None
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run(self, program, *arguments, check=True):
        return self.as_itself(self.programs / program, *arguments, check=check)

    def as_itself(self, *command, check=True):
        """Runs a command as the server's user. -> its output"""
        done = subprocess.run(
            [*self.prefix, *command],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout
        return done.stdout

    def __enter__(self):
        if self.primary:
            self.run("pg_basebackup", "-D", self.data, "-R", "-d", f"{self.primary.conninfo()} application_name=standby")
        else:
            self.run("initdb", "-D", self.data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        with open(os.path.join(self.data, "postgresql.conf"), "a") as settings:
            for name, value in {
                "port": self.port,
                "listen_addresses": "'127.0.0.1'",
                "unix_socket_directories": f"'{self.folder}'",
                "shared_buffers": "'32MB'",
                **self.settings,
            }.items():
                settings.write(f"{name} = {value}\n")
        self.start()
        return self

    def __exit__(self, *_):
        self.ctl("stop", "-m", "immediate", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ctl(self, *arguments, check=True):
        # The server keeps the descriptors that it is started with: its output goes to a file.
        log = os.path.join(self.folder, "log")
        return self.run("pg_ctl", "-D", self.data, "-w", "-l", log, *arguments, check=check)

    def start(self):
        self.ctl("start")

    def stop(self, mode="immediate"):
        self.ctl("stop", "-m", mode)

    def conninfo(self):
        return f"host=127.0.0.1 port={self.port} user=tests"

    def own(self, path):
        """Gives a folder to the server's user."""
        if self.prefix:
            shutil.chown(path, "postgres", "postgres")

    def sql(self, text, database="postgres"):
        """-> the rows as text, columns separated by |"""
        return self.run("psql", "-h", self.folder, "-p", str(self.port), "-U", "tests", "-AtXqc", text, database).split("\n")[:-1]

    def database(self, *options):
        """A new database. -> its URI"""
        self.n += 1
        name = f"d{self.n}"
        self.run("createdb", "-h", self.folder, "-p", str(self.port), "-U", "tests", *options, name)
        return f"postgresql://tests@127.0.0.1:{self.port}/{name}"

    def migrated(self, *options):
        """A new database with banditd's schema. -> its URI"""
        uri = self.database(*options)
        status, out, err = run_to_end("migrate", "--database", uri)
        assert (status, err) == (0, ""), (out, err)
        return uri

    def end_writer(self):
        """Ends the session that writes, as an administrator does. -> the number of sessions"""
        return len(
            self.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1650552420 AND granted"
            )
        )

    def postmaster(self):
        return int(pathlib.Path(self.data, "postmaster.pid").read_text().split("\n", 1)[0])

    def signal_all(self, number):
        """Sends a signal to the server and its processes."""
        mother = self.postmaster()
        children = pathlib.Path(f"/proc/{mother}/task/{mother}/children").read_text().split()
        for process in [mother, *map(int, children)]:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        self.signal_all(signal.SIGSTOP)

    def thaw(self):
        self.signal_all(signal.SIGCONT)


class OfModule:
    """A module's own, started when a test first calls this: modules run side by side."""

    def __init__(self, **settings):
        self.settings = settings
        self.started = None

    def __call__(self):
        if not self.started:
            self.started = Postgres(**self.settings).__enter__()
            atexit.register(self.started.__exit__)
        return self.started
