#!/usr/bin/env python3
"""Makes a stored older database: tests/migrate/make_database.py BANDITD NAME [definitions | later]

Runs that banditd (of an older version) on studies of every kind (or, with `definitions` or `later`, on those of
definitions.py or later.py) and writes beside this file NAME.sql, the database as SQL text, and NAME.json, what each study
chooses when that same banditd goes on with it. Stored once for each version of the schema, never made again:
the point is that they are old."""

import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration"), str(HERE.parent)]
import definitions  # noqa: E402
import later  # noqa: E402
import server as servers  # noqa: E402
from goes_on import go_on  # noqa: E402
from harness import kernels  # noqa: E402
from support import definition, grid, measure, noisy, work  # noqa: E402

LEASE = 31536000  # a year; afterwards the trials are handed out again, to the same end
MODEL_FREE = ("uniform", "regularized_evolution")


def algorithm_of(name):
    if name in MODEL_FREE:
        return {"name": name}
    return {"name": name, "kernel": {"type": "matern", "nu": 1.5, "lengthscale": 0.4}, "noise_std": 0.1}


def fill(client):
    """Studies of every algorithm and in every state, with all that can happen to a trial."""
    names = [a["name"] for a in client.get("/v1/algorithms").json["algorithms"]]
    for i, name in enumerate(names):
        for feedback in ("batch", "async"):
            study = f"{name.replace('_', '-')}-{feedback}"
            body = definition(points=grid(5), id=study, horizon=60, seed=i, feedback=feedback, lease_seconds=LEASE)
            client.create({**body, "algorithm": algorithm_of(name)})
            work(client, study, 10, 3)
            client.ask(study, 2, worker="w")  # pending

    client.create(definition(id="troubled", lease_seconds=LEASE, labels={"team": "a"}, metadata={"k": [1, 2]}))
    trials = client.ask("troubled", 1)["trials"]
    client.tell("troubled", [measure(trials[0])])
    for round in range(3):
        trials = client.ask("troubled", 6, worker="w")["trials"]
        kinds = [
            {"state": "failed", "reason": "out of memory"},
            {"state": "infeasible"},
            {"state": "released"},
            {"state": "failed", "retry": True},
        ]
        told = [{"trial": t["id"], **kind} for t, kind in zip(trials, kinds)]
        client.tell("troubled", told + [measure(t) for t in trials[4:]])
    history = [{"candidate": 5 * i, "value": noisy(grid(12)[5 * i], 900 + i)} for i in range(20)]
    answer = client.post("/v1/studies/troubled/observations", {"observations": history})
    assert answer.status == 200, answer
    answer = client.request("PATCH", "/v1/studies/troubled", {"horizon": 500, "display_name": "Ünruhig"})
    assert answer.status == 200, answer

    body = definition(id="uploaded", lease_seconds=LEASE)
    body["domain"] = {"type": "candidates", "dimension": 2, "scaling": "unit"}
    client.create(body)
    for n in (4, 7):  # replaced before the first ask
        text = "".join(f"{x!r},{y!r}\n" for x, y in grid(n))
        answer = client.put("/v1/studies/uploaded/candidates", text, content_type="text/csv")
        assert answer.status == 200, answer
    work(client, "uploaded", 20, 4)

    body = definition(id="kernel", algorithm={"kernel": {"type": "precomputed"}}, lease_seconds=LEASE)
    body["domain"] = {"type": "precomputed", "size": 9}
    client.create(body)
    rows = [[0.8 ** abs(i - j) for j in range(9)] for i in range(9)]
    text = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    answer = client.put("/v1/studies/kernel/kernel", text, content_type="text/csv")
    assert answer.status == 200, answer
    for _ in range(8):
        trials = client.ask("kernel", 2)["trials"]
        client.tell("kernel", [{"trial": t["id"], "value": -abs(t["candidate"] - 6.0)} for t in trials])

    client.create(definition(points=grid(4), id="finished", horizon=12))
    work(client, "finished", 12, 3)
    client.create(definition(points=grid(4), id="minimized", metric={"name": "loss", "goal": "minimize"}))
    work(client, "minimized", 9, 3)
    client.create(definition(points=grid(4), id="paused"))
    work(client, "paused", 5, 1)
    client.request("PATCH", "/v1/studies/paused", {"state": "paused"})
    body = definition(id="awaiting")
    body["domain"] = {"type": "candidates", "dimension": 2}
    client.create(body)
    client.create(definition(points=grid(3), id="deleted"))
    work(client, "deleted", 6, 2)
    client.delete("/v1/studies/deleted")
    answer = client.post(
        "/v1/studies/paused/observations",
        {"observations": [{"candidate": 1, "value": 0.5}]},
        headers={"Idempotency-Key": "kept"},
    )
    assert answer.status == 200, answer


def dump(db):
    """The database as SQL text; what iterdump leaves out comes first."""
    connection = sqlite3.connect(db)
    head = ["PRAGMA auto_vacuum = INCREMENTAL;"]
    for pragma in ("application_id", "user_version"):
        head.append(f"PRAGMA {pragma} = {connection.execute(f'PRAGMA {pragma}').fetchone()[0]};")
    text = "\n".join(head + list(connection.iterdump())) + "\n"
    connection.close()
    return text


def main():
    banditd, name, *what = sys.argv[1:]
    servers.BINARY = str(pathlib.Path(banditd).resolve())
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "old.db"
        with servers.Server("--threads", "1", db=db, environment=kernels.STORED) as server:
            {"definitions": definitions.fill, "later": later.fill}.get("".join(what), fill)(server.client())
        (HERE / f"{name}.sql").write_text(dump(db))
        shutil.copy(db, db.with_name("copy.db"))
        with servers.Server("--threads", "1", db=db.with_name("copy.db"), environment=kernels.STORED) as server:
            client = server.client()
            future = {study["id"]: go_on(client, study["id"]) for study in client.items("/v1/studies")}
    lines = [f"{json.dumps(study)}: {json.dumps(chosen)}" for study, chosen in future.items()]
    (HERE / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
