"""Values that span many orders of magnitude: the largest are no outliers, and what is recommended is the best."""

import math
import random

from support import cases

DIMENSION, SEEDS = 5, 4


def peak(point):
    """From 1e-3 to 1e8."""
    return 10 ** (-3 + 11 * math.exp(-30 * sum((x - 0.37) ** 2 for x in point)))


def product(point):
    return math.exp(sum(6 * math.sin(2 + 3 * x + i) for i, x in enumerate(point)))


def candidates():
    numbers = random.Random(5)
    return [[numbers.random() for _ in range(DIMENSION)] for _ in range(1000)]


SPACE = {"type": "space", "parameters": [{"name": f"x{i}", "type": "double", "min": 0, "max": 1} for i in range(DIMENSION)]}
LIST = {"type": "candidates", "points": candidates()}
CASES = {"a space": (SPACE, peak, 1e8), "a list": (LIST, product, max(map(product, LIST["points"])))}


def search(client, case, revision, seed):
    """-> by how many decades the best value and the recommended point are below the top, and how many values are set aside, in the
    model that the last trial was planned with"""
    domain, function, top = case
    name = f"decades-{domain['type']}-{revision}-{seed}"
    algorithm = {"name": "log_ei", "revision": revision}
    metric = {"name": "value", "goal": "maximize"}
    client.create({"id": name, "metric": metric, "domain": domain, "seed": seed, "algorithm": algorithm})
    values = []
    for _ in range(60):
        (trial,) = client.ask(name, wait_seconds=60)["trials"]
        recommended, aside = client.read(name, "best")["recommended"], client.read(name, "model")["set_aside"]
        values.append(function(trial.get("point") or list(trial["parameters"].values())))
        client.tell(name, [{"trial": trial["id"], "value": values[-1]}])
    point = LIST["points"][recommended["candidate"]] if domain is LIST else list(recommended["parameters"].values())
    short = [math.log10(top / value) for value in (max(values), function(point))]
    return short, aside


@cases(CASES)
def test_the_search_climbs_over_decades(server, case):
    client = server.client()
    found = [search(client, case, 3, seed) for seed in range(SEEDS)]
    assert all(max(short) < 0.1 and aside == 0 for short, aside in found), found


@cases(CASES)
def test_an_older_study_stays_as_it_was(server, case):
    client = server.client()
    found = [search(client, case, 2, seed) for seed in range(SEEDS)]
    assert any(max(short) > 0.3 and aside > 0 for short, aside in found), found
