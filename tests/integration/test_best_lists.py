"""`aim: best` on finite sets: no candidate twice without noise, plates of different candidates, workers that get
different ones, and regions that fail."""

import math
import random

from server import Server, run_to_end
from support import cases, grid


def best_study(client, domain, seed=1, algorithm=None, **fields):
    body = {
        "metric": {"name": "value", "goal": "maximize"},
        "domain": domain,
        "aim": "best",
        "seed": seed,
        **({"algorithm": algorithm} if algorithm else {}),
        **fields,
    }
    return client.create(body)["id"]


def line(n):
    return {"type": "candidates", "points": [[i / (n - 1)] for i in range(n)]}


def integers(n):
    return {"type": "space", "parameters": [{"name": "x", "type": "integer", "min": 0, "max": n - 1}]}


def bumps(point):
    x, y = point
    return -((x - 0.62) ** 2) - 2 * (y - 0.41) ** 2 + 0.1 * math.sin(9 * x) * math.cos(7 * y)


def cliffs(point):
    """No smooth model follows it."""
    return bumps(point) + 0.1 * ((7 * point[0] * point[1]) % 1)


def plains(point):
    """Many candidates have equal values, and the few better ones look like outliers."""
    return round(2 * bumps(point))


def ask_one(client, study, worker):
    trials = client.ask(study, 1, worker=worker)["trials"]
    assert len(trials) == 1, trials
    return trials[0]


# ---- where evaluations fail ----------------------------------------------------------------------------------

FAILING = {
    "candidates, infeasible": (line(500), "infeasible"),
    "candidates, failed": (line(500), "failed"),
    "an enumerated space, infeasible": (integers(500), "infeasible"),
}


def inside(client, domain, state, seed, trials=60):
    """How many of the trials lie where x > 1/2, which fails; beyond it the values would be better."""
    study = best_study(client, domain, seed)
    bad = 0
    for _ in range(trials):
        trial = ask_one(client, study, "w")
        x = trial["candidate"] / 499
        bad += x > 0.5
        result = {"trial": trial["id"], "state": state} if x > 0.5 else {"trial": trial["id"], "value": x}
        client.tell(study, [result])
    return bad


@cases(FAILING)
def test_a_region_that_fails_takes_a_third_at_most(server, case):
    domain, state = case
    client = server.client()
    counts = [inside(client, domain, state, seed) for seed in range(10)]
    assert sum(counts) / len(counts) <= 20, counts


def test_a_candidate_that_fails_among_good_ones_is_tried_again(server):
    """What fails by chance where all around succeeds says nothing about its place."""
    client = server.client()
    domain = {"type": "candidates", "scaling": "none", "points": grid(12)}
    study = best_study(client, domain)
    best = max(range(144), key=lambda c: bumps(grid(12)[c]))
    tries = 0
    for _ in range(100):
        trial = ask_one(client, study, "w")
        tries += trial["candidate"] == best
        failed = trial["candidate"] == best and tries <= 2
        result = {"state": "failed"} if failed else {"value": bumps(trial["point"])}
        client.tell(study, [{"trial": trial["id"], **result}])
    assert tries == 3, tries


# ---- which candidates ----------------------------------------------------------------------------------------


WITHOUT_NOISE = {
    "smooth": (bumps, {"type": "candidates", "points": grid(40)}),
    "smooth, few": (bumps, {"type": "candidates", "points": grid(12)}),
    "cliffs": (cliffs, {"type": "candidates", "points": grid(40)}),
    "plains": (plains, {"type": "candidates", "points": grid(40)}),
    "an enumerated space": (
        bumps,
        {
            "type": "space",
            "parameters": [{"name": name, "type": "discrete", "values": [i / 20 for i in range(21)]} for name in "ab"],
        },
    ),
}


def hundred(client, study, function):
    """-> the candidates of a hundred trials, one at a time and without noise"""
    chosen = []
    for _ in range(100):
        trial = ask_one(client, study, "w")
        chosen.append(trial["candidate"])
        client.tell(study, [{"trial": trial["id"], "value": function(place(trial))}])
    return chosen


@cases(WITHOUT_NOISE)
def test_without_noise_no_candidate_comes_twice(server, case):
    function, domain = case
    client = server.client()
    chosen = hundred(client, best_study(client, domain), function)
    assert len(set(chosen)) >= 95, sorted(chosen)


def test_a_study_from_before_agreeing_repeats_stays_without(server):
    client = server.client()
    study = best_study(client, {"type": "candidates", "points": grid(40)})
    assert client.study(study)["algorithm"]["agreeing_repeats"] == 0.05
    exported = client.get(f"/v1/studies/{study}/export?format=ndjson").body
    before = exported.replace(b',\\"agreeing_repeats\\":0.05', b"").replace(b',\\"revision\\":11', b"")
    assert before != exported
    assert client.post("/v1/studies?id=unlimited", before, content_type="application/x-ndjson").status == 201
    assert "agreeing_repeats" not in client.study("unlimited")["algorithm"]
    assert len(set(hundred(client, "unlimited", plains))) < 90


def place(trial):
    return trial.get("point") or [trial["parameters"]["a"], trial["parameters"]["b"]]


PLATES = {"without noise": 0.0, "with noise": 0.03}


@cases(PLATES)
def test_a_plate_has_different_candidates(server, case):
    client = server.client()
    study = best_study(client, {"type": "candidates", "points": grid(100)}, min_in_flight=96)
    random_ = random.Random(3)
    best = -9.0
    for _ in range(4):
        trials = client.ask(study, 96, wait_seconds=60)["trials"]
        assert len(trials) == 96
        assert len({trial["candidate"] for trial in trials}) >= 90
        best = max(best, max(bumps(trial["point"]) for trial in trials))
        client.tell(study, [{"trial": t["id"], "value": bumps(t["point"]) + random_.gauss(0, case)} for t in trials])
    top = sorted((bumps(point) for point in grid(100)), reverse=True)
    assert best >= top[20], best


def test_eight_workers_get_different_candidates(server):
    client = server.client()
    for noise in (0.0, 0.03):
        study = best_study(client, {"type": "candidates", "points": grid(40)}, min_in_flight=8)
        random_ = random.Random(5)
        for round_ in range(12):
            trials = [ask_one(client, study, f"w{i}") for i in range(8)]
            assert len({trial["candidate"] for trial in trials}) == 8, round_
            for t in trials:
                client.tell(study, [{"trial": t["id"], "value": bumps(t["point"]) + random_.gauss(0, noise)}])


def test_with_noise_the_leaders_are_measured_again(server):
    """Ten candidates, three of them nearly level, and noise much larger than what keeps these apart."""
    client = server.client()
    worth = [0.0, 0.1, 0.2, 1.0, 0.3, 0.95, 0.1, 0.0, 1.05, 0.2]
    domain = {"type": "candidates", "points": [[float(i), float((7 * i) % 10)] for i in range(10)]}
    study = best_study(client, domain)
    random_ = random.Random(8)
    counts = [0] * 10
    for _ in range(100):
        trial = ask_one(client, study, "w")
        counts[trial["candidate"]] += 1
        client.tell(study, [{"trial": trial["id"], "value": worth[trial["candidate"]] + random_.gauss(0, 0.2)}])
    assert min(counts) >= 1, counts
    assert counts[3] + counts[5] + counts[8] >= 60, counts


def picks_of(server, client, restarts):
    """Ninety picks, three at a time, a tenth of them where everything fails."""
    domain = {"type": "candidates", "points": grid(20)}
    study = best_study(client, domain, min_in_flight=4)
    picks, held = [], []
    for i in range(30):
        trials = client.ask(study, 3)["trials"]
        picks += [trial["candidate"] for trial in trials]
        held += trials
        results = []
        for t in held[: len(held) - 1]:
            told = {"state": "failed"} if t["point"][0] > 0.9 else {"value": bumps(t["point"])}
            results.append({"trial": t["id"], **told})
        client.tell(study, results)
        held = held[len(held) - 1 :]
        if restarts and i % 7 == 3:
            server.stop()
            server.start()
            client = server.client()
    return picks


def test_a_restart_changes_no_pick_and_check_agrees():
    """An engine dropped and loaded again in the midst, and the whole log planned again."""
    with Server() as server:
        expected = picks_of(server, server.client(), False)
        assert picks_of(server, server.client(), True) == expected
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db), timeout=300)
        assert (status, err) == (0, "") and "batches replanned" in out, (status, out, err)
        server.start()


def test_eight_workers_on_features_that_nearly_agree(server):
    """Such features make matrices nearly singular, and posteriors that cannot be compared with each other."""

    def part(i, k):
        return i * (2 * k + 3) * 7919 % 1009 / 1009

    points = [[part(i, 0) + 0.1 * part(i, k) for k in range(1, 8)] for i in range(4000)]
    client = server.client()
    for seed in (1, 3):
        study = best_study(client, {"type": "candidates", "points": points}, seed)
        held = {}
        for i in range(48):
            worker = f"w{i % 8}"
            if worker in held:
                trial = held[worker]
                x = points[trial["candidate"]]
                client.tell(study, [{"trial": trial["id"], "value": round(20 * x[0] + 5 * x[1] - 5 * x[3])}])
            held[worker] = ask_one(client, study, worker)
        assert client.study(study)["state"] == "active"
