"""A server with a folder to work in, and banditctl pointed at it."""

import contextlib
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import venv

from harness import sanitizers
from server import Server
from support import Skip, definition, eventually, grid

BANDITCTL = None  # set by the runner
SECONDS = 120  # that a command may take
_making_environment = threading.Lock()


class Site:
    """The server keeps its port when it is started again."""

    def __init__(self, *options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="banditd-clients-"))
        self.server = Server(*options, db=self.folder / "banditd.db")

    def __enter__(self):
        self.server.start()
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.server.options += ("--listen", f"127.0.0.1:{self.server.port}")
        return self

    def __exit__(self, kind, value, trace):
        try:
            self.server.__exit__(kind, value, trace)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more):
        return {
            **sanitizers.environment(),
            "BANDITD_URL": self.url,
            "XDG_RUNTIME_DIR": str(self.folder),
            "NO_PROXY": "*",
            **more,
        }

    def run(self, *arguments, stdin=None, **environment):
        """Runs banditctl to its end. -> what subprocess says of it"""
        done = subprocess.run(
            [BANDITCTL, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=self.folder,
            env=self.environment(**environment),
            check=False,
        )
        assert not sanitizers.report(done.stderr), done.stderr
        return done

    def output(self, *arguments, **options):
        """The same, when it must succeed. -> its standard output"""
        done = self.run(*arguments, **options)
        assert done.returncode == 0, (arguments, done)
        return done.stdout

    def start(self, *arguments):
        """Starts banditctl; its standard error goes to a file."""
        log = open(self.folder / "banditctl.log", "a")
        return subprocess.Popen(
            [BANDITCTL, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env=self.environment(),
        )

    def log(self):
        path = self.folder / "banditctl.log"
        return path.read_text() if path.exists() else ""

    def script(self, text, name="command"):
        """An executable script of sh in the folder. -> its path"""
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def study(self, points=None, **fields):
        """Creates the study "s" on the named features x and y."""
        new = definition(points or grid(12), id="s", **fields)
        new["domain"]["names"] = ["x", "y"]
        return self.server.client().create(new)

    def trials(self, study="s", query=""):
        return self.server.client().items(f"/v1/studies/{study}/trials{query}")


@contextlib.contextmanager
def site_with_a_damaged_study():
    """Two studies, "harmed" and "sound"; the row of the former has a state that there is not."""
    with Site() as site:
        for name in ("harmed", "sound"):
            site.server.client().create(definition(id=name))
        site.server.stop()
        with contextlib.closing(sqlite3.connect(site.server.db)) as db, db:
            assert db.execute("UPDATE studies SET state = 9 WHERE id = 'harmed'").rowcount == 1
        site.server.start()
        yield site
        site.server.kill()  # stopping would check that it is sound


def python_environment(name="clients-venv", **versions):
    """A Python with what requirements.txt lists, made once; `versions` replace those listed. -> its folder of programs"""
    here = pathlib.Path(__file__).resolve()
    wanted = (here.parent / "requirements.txt").read_text()
    for package, version in versions.items():
        wanted = re.sub(rf"(?m)^{package}==.*$", f"{package}=={version}", wanted)
    folder = here.parents[2] / "build" / name
    done = folder / "requirements.txt"
    with _making_environment:
        if not done.exists() or done.read_text() != wanted:
            try:
                venv.create(folder, with_pip=True, clear=True)
                install = [folder / "bin" / "pip", "install", "--quiet", *wanted.split()]
                subprocess.run(install, check=True, capture_output=True, timeout=900)
            except subprocess.CalledProcessError as error:
                raise Skip(f"no environment for Python: {(error.stderr or b'').decode()[-300:]}") from error
            done.write_text(wanted)
    return folder / "bin"


def ended(process, seconds=60):
    """Waits for a process. -> its exit status"""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"{process.args} does not end within {seconds} s") from None


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie has ended too.
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
