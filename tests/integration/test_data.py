"""BBKB on real data, as in the experiments of the paper: Abalone and Cadata, uploaded over HTTP, with noisy
rewards told by four workers. Prints what it measured; asserts what must hold.

The files are looked for in the folder $BANDITD_DATA: abalone.csv (of the UCI repository, sex as 1, 2, 3) and
cadata.csv (of StatLib), with a header line, numbers only, the target in the last column."""

import concurrent.futures
import csv
import os
import pathlib
import random
import time

from support import Skip

TRIALS = 2000
NOISE = 0.1  # standard deviation: variance 0.01 = lambda


def read_table(name):
    """-> (feature rows, targets scaled to [0, 1])"""
    folder = os.environ.get("BANDITD_DATA")
    path = pathlib.Path(folder or "", name)
    if not folder or not path.exists():
        raise Skip(f"set BANDITD_DATA to a folder with {name}")
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    targets = [float(row[-1]) for row in rows]
    low, high = min(targets), max(targets)
    return [row[:-1] for row in rows], [(value - low) / (high - low) for value in targets]


def run(server, study, features, targets, lengthscale):
    client = server.client()
    client.create(
        {
            "id": study,
            "metric": {"name": "target", "goal": "maximize"},
            "domain": {"type": "candidates", "dimension": len(features[0]), "scaling": "standardize"},
            "algorithm": {
                "name": "bbkb",
                "kernel": {"type": "gaussian", "lengthscale": lengthscale},
                "lambda": NOISE**2,
                "noise_std": NOISE,
                "norm_bound": 1,
                "delta": 1 / TRIALS,
                "q_bar": 2,
                "ratio_bound": 2,
            },
            "horizon": TRIALS,
            "seed": 1,
            "feedback": "batch",
        }
    )
    text = "".join(",".join(row) + "\n" for row in features)
    answer = client.put(f"/v1/studies/{study}/candidates", text, content_type="text/csv")
    assert answer.json == {"count": len(features), "dimension": len(features[0])}, answer

    def work(name):
        mine, chosen = server.client(), []
        while True:
            asked = mine.ask(study, 8, worker=name, wait_seconds=20)
            if asked["reason"] == "finished":
                return chosen
            results = []
            for trial in asked["trials"]:
                chosen.append(trial["candidate"])
                noise = random.Random(trial["id"]).gauss(0, NOISE)
                results.append({"trial": trial["id"], "value": targets[trial["candidate"]] + noise})
            if results:
                mine.tell(study, results)

    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        chosen = [arm for job in [pool.submit(work, f"w{i}") for i in range(4)] for arm in job.result()]
    seconds = time.monotonic() - begun

    assert len(chosen) == TRIALS
    view = client.study(study)
    assert view["trials_completed"] == view["observations"] == TRIALS and view["state"] == "finished", view
    batches = client.items(f"/v1/studies/{study}/batches")
    assert sum(batch["size"] for batch in batches) == TRIALS
    uniform = max(targets) - sum(targets) / len(targets)
    ratio = sum(max(targets) - targets[arm] for arm in chosen) / TRIALS / uniform
    sizes = [batch["dictionary_size"] for batch in batches]
    planning = sum(batch["update_seconds"] + batch["select_seconds"] for batch in batches)
    print(
        f"# {study}: {len(targets)} arms, {TRIALS} trials: regret ratio to uniform {ratio:.3f}, "
        f"{len(batches)} batches, dictionary {sum(sizes) / len(sizes):.0f} on average and {sizes[-1]} at the end, "
        f"{seconds:.1f} s of which planning {planning:.1f} s",
        flush=True,
    )
    assert len(batches) < TRIALS / 2, "batches grow"
    assert max(sizes) < 400, "the dictionary stays of the size of the effective dimension"
    return ratio


def test_abalone(server):
    features, targets = read_table("abalone.csv")
    assert run(server, "abalone", features, targets, 17.5) < 0.8


def test_cadata(server):
    features, targets = read_table("cadata.csv")
    assert run(server, "cadata", features, targets, 12.5) < 0.5
