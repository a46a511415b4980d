"""Studies with what came with each version of the schema from 6 on: imported results, also of several metrics, which are
amended, and keys of candidates. What the program does not know yet is left out, and named."""

from goes_on import PLACES, value_of
from support import definition, grid, noisy

LEASE = 31536000  # a year; afterwards the trials are handed out again, to the same end
KINDS = ("batch", "async")
ALGORITHM = {"kernel": {"type": "matern", "nu": 1.5, "lengthscale": 0.4}, "noise_std": 0.1}
SPACE = {
    "type": "space",
    "parameters": [
        {"name": "x", "type": "double", "min": 0, "max": 1},
        {"name": "kind", "type": "categorical", "values": ["a", "b"]},
    ],
}
METRICS = [{"name": "value", "goal": "maximize"}, {"name": "cost", "goal": "minimize"}]


def tried(answer, what):
    """Of a call that older programs do not have. -> whether it was done"""
    if answer.status not in (200, 201):
        print(f"left out: {what}: {answer.status} {answer.body.decode()[:120]}")
    return answer.status in (200, 201)


def work(client, study, asks):
    for _ in range(asks):
        trials = client.ask(study, 2, worker="w", wait_seconds=30)["trials"]
        client.tell(study, [{"trial": trial["id"], "value": value_of(trial)} for trial in trials])
    client.ask(study, 2, worker="w", wait_seconds=30)  # they stay out


def imported(client, study):
    """Results from elsewhere, of which one is amended and one taken back; and trials whose results are amended."""
    rows = [{"candidate": 7 * i, "value": noisy(PLACES[7 * i], 900 + i), "repeats": 1 + i % 3} for i in range(9)]
    for part in (rows[:4], rows[4:]):
        assert client.post(f"/v1/studies/{study}/observations", {"observations": part}).status == 200
    for number, amended in ((2, {"value": 0.25}), (5, {"state": "failed", "reason": "a wrong unit"})):
        path = f"/v1/studies/{study}/observations/{number}/amend"
        tried(client.post(path, amended), f"{study}: imported result {number} amended")
    for trial, amended in ((1, {"value": 0.5}), (2, {"state": "failed", "reason": "a wrong unit"})):
        assert client.post(f"/v1/studies/{study}/trials/{trial}/amend", amended).status == 200


def keyed(client, study):
    body = definition(id=study, lease_seconds=LEASE, algorithm=ALGORITHM, points=grid(5))
    body["domain"]["keys"] = [f"sample-{i}" for i in range(25)]
    if not tried(client.post("/v1/studies", body), study):
        body["domain"].pop("keys")
        client.create(body)
    work(client, study, 4)


def several_metrics(client, study):
    body = definition(id=study, lease_seconds=LEASE)
    del body["metric"], body["algorithm"]
    if not tried(client.post("/v1/studies", {**body, "metrics": METRICS}), study):
        return
    for _ in range(4):
        trials = client.ask(study, 2, worker="w", wait_seconds=30)["trials"]
        both = [{"trial": t["id"], "values": {"value": value_of(t), "cost": 0.1 * t["id"]}} for t in trials]
        client.tell(study, both)
    rows = [{"candidate": 3 * i, "values": {"value": 0.1 * i, "cost": 2.0}} for i in range(4)]
    tried(client.post(f"/v1/studies/{study}/observations", {"observations": rows}), f"{study}: imports")
    client.request("PATCH", f"/v1/studies/{study}", {"state": "finished"})  # it goes on with one value a trial


def fill(client):
    for i, kind in enumerate(KINDS):
        for aim in ("regret", "best"):
            study = f"imports-{kind}-{aim}"
            body = definition(id=study, seed=i, feedback=kind, lease_seconds=LEASE, algorithm=ALGORITHM)
            if not tried(client.post("/v1/studies", {**body, "aim": aim}), study):
                client.create(body)
            work(client, study, 5)
            imported(client, study)
            work(client, study, 3)
        study = f"space-{kind}"
        client.create(definition(id=study, seed=i, feedback=kind, lease_seconds=LEASE, algorithm=ALGORITHM, domain=SPACE))
        work(client, study, 4)
    keyed(client, "keyed")
    several_metrics(client, "several-metrics")
