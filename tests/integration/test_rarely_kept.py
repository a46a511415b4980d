"""A metric of 0 and 1 that a twentieth of the domain keeps. Its few 1 look like outliers among the 0, but they are all that is
known of where the bound is kept."""

import random

from support import cases

RADIUS = 0.23  # of the ball, 5 % of the cube
CENTRE = (0.35, 0.6, 0.5)
METRICS = [{"name": "value", "goal": "maximize"}, {"name": "ok", "role": "constraint", "at_least": 1}]
SIDES = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xyz"]
SEEDS = 5


def is_kept(point):
    return sum((x - c) ** 2 for x, c in zip(point, CENTRE)) <= RADIUS**2


def candidates():
    numbers = random.Random(1)
    return [[numbers.random() for _ in range(3)] for _ in range(300)]


DOMAINS = {"a list": {"type": "candidates", "points": candidates()}, "a space": {"type": "space", "parameters": SIDES}}


def search(client, domain, seed, **fields):
    """-> (the study, after a batch that knows 60 results; whether one of them keeps the bound)"""
    study = f"rare-{domain['type']}-{seed}-{len(fields)}"
    client.create({"id": study, "metrics": METRICS, "domain": domain, "seed": seed, **fields})
    found = False
    for _ in range(60):
        (trial,) = client.ask(study, wait_seconds=60)["trials"]
        point = trial.get("point") or list(trial["parameters"].values())
        kept = is_kept(point)
        client.tell(study, [{"trial": trial["id"], "values": {"value": sum(point), "ok": float(kept)}}])
        found |= kept
    client.ask(study, wait_seconds=60)
    return study, found


@cases(DOMAINS)
def test_what_keeps_the_bound_is_known(server, case):
    client = server.client()
    n = 0
    for seed in range(SEEDS):
        study, found = search(client, case, seed)
        if found:
            n += 1
            best = client.get(f"/v1/studies/{study}/best").json
            assert best["observed"]["values"]["ok"] == 1, (seed, best)
            assert best["recommended"] and best["recommended"]["values"]["ok"]["mean"] > 0.5, (seed, best)
            assert "advice" not in client.study(study), seed
    assert n >= SEEDS - 1


@cases(DOMAINS)
def test_an_older_study_stays_as_it_was(server, case):
    """It sets all 1 aside, and does not see what is feasible."""
    client = server.client()
    blind = 0
    for seed in range(SEEDS):
        study, found = search(client, case, seed, algorithm={"name": "log_ei", "revision": 3})
        blind += found and client.get(f"/v1/studies/{study}/best").json["recommended"] is None
    assert blind > 1, blind
