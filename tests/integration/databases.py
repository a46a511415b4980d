"""Where servers of the tests keep their studies: in a file each; or, with BANDITD_TEST_DATABASE, in a PostgreSQL
database each, of the server that this URI leads to (tests/store/with_postgres)."""

import contextlib
import os
import pathlib
import sqlite3
import subprocess
import threading
import urllib.parse

from support import Skip

URI = os.environ.get("BANDITD_TEST_DATABASE")

_lock = threading.Lock()
_of = {}  # path of the file that is not there -> its database's name
_template = None  # a database with the schema


def _uri(name):
    return urllib.parse.urlunsplit(urllib.parse.urlsplit(URI)._replace(path="/" + name))


def _run(*command):
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _sql(text, uri=URI):
    return _run("psql", "-XqAt", "-c", text, uri).decode()


def place(path, binary):
    """Says where a new server keeps its studies. -> the options for it. A file that is there stays what it is."""
    global _template
    path = str(path)
    if not URI or pathlib.Path(path).exists():
        return ["--db", path]
    with _lock:
        if not _template:
            _sql("CREATE DATABASE template_of_tests")
            _run(binary, "migrate", "--database", _uri("template_of_tests"))
            _template = "template_of_tests"
        if path not in _of:
            name = f"t{os.getpid()}_{len(_of)}"
            _sql(f"CREATE DATABASE {name} TEMPLATE {_template}")
            _of[path] = name
    return ["--database", _uri(_of[path])]


def translated(arguments):
    """A command's arguments, with the database of a file that is in PostgreSQL."""
    arguments = [str(argument) for argument in arguments]
    at = arguments.index("--db") + 1 if "--db" in arguments else 0
    name = _of.get(arguments[at]) if 0 < at < len(arguments) else None
    if not name:
        return arguments
    if "backup" in arguments:
        sqlite_only("banditd backup is for SQLite")
    return [*arguments[: at - 1], "--database", _uri(name), *arguments[at + 1 :]]


def drop(path):
    """Removes the database of a path, if it has one, after its server has ended."""
    with _lock:
        name = _of.get(str(path))
    if name:
        _sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def count(path, query):
    """The number that a query of a path's database answers."""
    name = _of.get(str(path))
    if name:
        return int(_sql(f"SET search_path = banditd; {query}", _uri(name)))
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchone()[0]


def size(path):
    """Bytes that a path's database takes on the disk."""
    name = _of.get(str(path))
    return int(_sql("SELECT pg_database_size(current_database())", _uri(name))) if name else pathlib.Path(path).stat().st_size


def content(path):
    """All bytes that a path's database has on the disk, or that its dump has."""
    name = _of.get(str(path))
    if name:
        return _run("pg_dump", _uri(name))
    return b"".join(file.read_bytes() for file in pathlib.Path(path).parent.iterdir() if file.is_file())


def sqlite_only(reason="it looks into SQLite's file"):
    """Skips the test where studies are in PostgreSQL."""
    if URI:
        raise Skip(reason)
