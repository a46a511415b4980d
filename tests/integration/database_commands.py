"""banditd's commands on a database, and studies to run them on."""

import contextlib
import json
import pathlib
import random
import shutil
import tempfile

from server import run_to_end
from support import definition, grid, measure, noisy, work

USAGE, FAILED, UNSOUND = 2, 1, 3


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="banditd-test-")
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path)


def check(db, *options):
    return run_to_end("check", "--db", str(db), *options, timeout=300)


def expect_sound(db, studies=None):
    status, out, err = check(db)
    assert (status, err) == (0, ""), (status, out, err)
    replayed = [line.split(":")[0] for line in out.splitlines() if "batches replanned" in line]
    if studies is not None:
        assert replayed == [f"study {study}" for study in sorted(studies)], out
    return out


def fill(client):
    """Studies with what can happen to trials; their names."""
    client.create(definition(id="batch", horizon=400))
    work(client, "batch", 40, 5)
    client.create(definition(id="async", feedback="async", algorithm={"name": "gp_ts"}))
    for _ in range(4):
        trials = client.ask("async", 3)["trials"]
        client.tell("async", [measure(trials[0]), {"trial": trials[1]["id"], "state": "failed"}])
    body = definition(id="uploaded")
    body["domain"] = {"type": "candidates", "dimension": 2}
    client.create(body)
    for n in (5, 6):
        rows = "".join(f"{x},{y}\n" for x, y in grid(n))
        assert client.put("/v1/studies/uploaded/candidates", rows, content_type="text/csv").status == 200
    client.post("/v1/studies/uploaded/observations", {"observations": [{"candidate": 3, "value": 0.5, "repeats": 4}]})
    work(client, "uploaded", 10, 2)
    client.ask("uploaded", 2, worker="w")
    body = definition(id="space", algorithm={"noise_std": 0.1})
    body["domain"] = {
        "type": "space",
        "parameters": [
            {"name": "x", "type": "double", "min": 0.0, "max": 1.0},
            {"name": "kind", "type": "categorical", "values": ["a", "b"]},
        ],
    }
    names = ["batch", "async", "uploaded"]
    if client.post("/v1/studies", body).status == 201:  # otherwise: not built yet
        for _ in range(6):
            trials = client.ask("space", 2, wait_seconds=30)["trials"]
            client.tell("space", [{"trial": t["id"], "value": noisy([t["parameters"]["x"], 0.5], t["id"])} for t in trials])
        names.append("space")
    return names


def next_choices(client, study):
    chosen = []
    for _ in range(12):
        trials = client.ask(study, 2, worker="w")["trials"]
        chosen += [(t["id"], t.get("candidate"), t.get("parameters")) for t in trials]
        client.tell(study, [{"trial": t["id"], "value": random.Random(t["id"]).random()} for t in trials])
    return chosen


def without_times(answer):
    return {key: value for key, value in answer.items() if not key.endswith("_at") and key != "id"}


def lines_of(path, name):
    status, out, err = run_to_end("export", name, "--db", str(path / "a.db"))
    assert status == 0, err
    return out.splitlines()


def altered(lines, kind, change):
    """The lines with the first entry of that kind changed."""
    for i, line in enumerate(lines):
        entry = json.loads(line)
        if entry.get("type") == kind:
            change(entry["payload"])
            return lines[:i] + [json.dumps(entry)] + lines[i + 1 :]
    raise AssertionError(kind)
