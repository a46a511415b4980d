"""Functions that are 0 except in a small part of the domain: while all results are equal they teach nothing, and the search
must not stay at the corners."""

import random

from support import cases

RADIUS, CENTRE = 0.5, 0.7


def peak(point):
    return round(max(0.0, 1 - sum((x - CENTRE) ** 2 for x in point) / RADIUS**2), 3)


def candidates(dimension):
    numbers = random.Random(dimension)
    return [[numbers.random() for _ in range(dimension)] for _ in range(400)]


SPACE = {"type": "space", "parameters": [{"name": f"x{i}", "type": "double", "min": 0, "max": 1} for i in range(5)]}
LIST = {"type": "candidates", "points": candidates(4)}


def search(server, domain, seed, trials, **fields):
    """-> [(point, value)], and the rules of the picks"""
    client = server.client()
    name = f"flat-{domain['type']}-{seed}"
    client.create({"id": name, "metric": {"name": "value", "goal": "maximize"}, "domain": domain, "seed": seed, **fields})
    seen, rules = [], []
    for _ in range(trials):
        (trial,) = client.ask(name, wait_seconds=60)["trials"]
        point = trial.get("point") or list(trial["parameters"].values())
        rules.append(client.get(f"/v1/studies/{name}/trials/{trial['id']}/why").json["rule"])
        seen.append((point, peak(point)))
        client.tell(name, [{"trial": trial["id"], "value": seen[-1][1]}])
    return seen, rules


@cases({"a space": (SPACE, 0.95), "a list": (LIST, max(map(peak, LIST["points"])))})
def test_the_search_goes_on_at_random(server, case):
    domain, good = case
    late = 0
    for seed in range(6):
        seen, rules = search(server, domain, seed, 45)
        first = next(i for i, (_, value) in enumerate(seen) if value > 0)
        late += first > 6
        assert all(rule == "first" for rule in rules[: first + 1]), (first, rules)
        assert max(value for _, value in seen) >= good, (seed, seen)
    assert late > 0, "no seed had to go on"


def test_an_older_study_stays_as_it_was(server):
    """With revision 1 the picks after the first six are nearly all at bounds."""
    algorithm = {"name": "log_ei", "revision": 1}
    for seed in range(100, 120):
        seen, _ = search(server, SPACE, seed, 12, algorithm=algorithm)
        if not any(value for _, value in seen):
            break
    late = [x for point, _ in seen[6:] for x in point]
    assert sum(x < 0.02 or x > 0.98 for x in late) > 0.5 * len(late), late


@cases({"a space": SPACE, "a list": LIST})
def test_a_bound_that_all_results_break_alike(server, case):
    """The bounded metric is 1 except near the centre, where it is 0."""
    client = server.client()
    kept = []
    for seed in range(4):
        metrics = [{"name": "cost", "goal": "minimize"}, {"name": "fails", "role": "constraint", "at_most": 0.5}]
        name = f"bound-{case['type']}-{seed}"
        client.create({"id": name, "metrics": metrics, "domain": case, "seed": seed})
        for _ in range(60):
            (trial,) = client.ask(name, wait_seconds=60)["trials"]
            point = trial.get("point") or list(trial["parameters"].values())
            fails = float(sum((x - CENTRE) ** 2 for x in point) > 0.12)
            client.tell(name, [{"trial": trial["id"], "values": {"cost": sum(point), "fails": fails}}])
            if fails == 0:
                kept.append(trial["id"])
                why = client.get(f"/v1/studies/{name}/trials/{trial['id']}/why").json
                assert why["rule"] == "first", why
                break
    assert len(kept) > 2 and max(kept) > 6, kept


def distances(client, domain, seed, revision):
    """The new study knows only 0, the older one a function with its maximum at the centre.  -> how far picks are from it"""
    name = f"led-{domain['type']}-{seed}-{revision}"
    body = {"metric": {"name": "value", "goal": "maximize"}, "domain": domain, "seed": seed}
    old = client.create({**body, "id": f"{name}-old"})["id"]
    told = []
    for n, row in enumerate(candidates(4)[:30]):
        place = {"candidate": n} if domain is LIST else {"parameters": {f"x{i}": x for i, x in enumerate(row)}}
        told.append({**place, "value": -sum((x - CENTRE) ** 2 for x in row)})
    assert client.post(f"/v1/studies/{old}/observations", {"observations": told}).status == 200
    client.ask(old, wait_seconds=60)
    client.create({**body, "id": name, "learn_from": [old], "algorithm": {"name": "log_ei", "revision": revision}})
    points = []
    for _ in range(24):
        (trial,) = client.ask(name, wait_seconds=60)["trials"]
        points.append(trial.get("point") or list(trial["parameters"].values()))
        client.tell(name, [{"trial": trial["id"], "value": 0}])
    return [sum((x - CENTRE) ** 2 for x in point) for point in points[4:]]


@cases({"a space": {**SPACE, "parameters": SPACE["parameters"][:4]}, "a list": LIST})
def test_older_studies_lead_every_second_pick(server, case):
    client = server.client()
    for seed in range(3):
        before, now = (distances(client, case, seed, revision) for revision in (3, 4))
        halves = sorted([sum(now[0::2]) / 10, sum(now[1::2]) / 10])
        assert halves[0] < 0.6 * halves[1] and halves[0] < 0.6 * sum(before) / 20, (before, now)


def rare(points):
    """Of 600 candidates, the 5 % nearest to the centre have a value."""
    far = sorted(sum((x - CENTRE) ** 2 for x in point) for point in points)[30]
    return lambda point: max(0.0, far - sum((x - CENTRE) ** 2 for x in point))


def test_few_values_above_many_equal_ones_lead_the_search(server):
    """They are not set aside as outliers. With revision 3 they are, in three of these studies, and a 0 is recommended."""
    client, numbers, unlike = server.client(), random.Random(7), 0
    points = [[numbers.random() for _ in range(4)] for _ in range(600)]
    value = rare(points)
    for seed in range(6):
        for revision in (3, 4):
            name = f"rare-{seed}-{revision}"
            algorithm = {"name": "log_ei", "revision": revision}
            domain = {"type": "candidates", "points": points}
            client.create({"id": name, "metric": {"name": "v", "goal": "maximize"}, "domain": domain, "seed": seed, "algorithm": algorithm})
            for _ in range(60):
                (trial,) = client.ask(name, wait_seconds=60)["trials"]
                client.tell(name, [{"trial": trial["id"], "value": value(trial["point"])}])
            client.ask(name, 1, worker="last", wait_seconds=60)
            best, aside = client.read(name, "best"), client.read(name, "model")["set_aside"]
            if best["observed"]["value"] == 0:
                continue
            if revision == 3:
                unlike += aside > 0 and value(points[best["recommended"]["candidate"]]) == 0
            else:
                assert aside == 0 and best["recommended"]["candidate"] == best["observed"]["candidate"], (seed, best, aside)
    assert unlike > 0, unlike


@cases({"a space": SPACE, "a list": LIST})
def test_one_of_two_objectives_is_the_same_in_all_results(server, case):
    """The one with values would keep the search away from the other, which revision 3 finds in 9 of these 12 searches."""
    client, found = server.client(), {3: 0, 4: 0}
    for revision in found:
        for seed in range(6):
            name = f"one-{case['type']}-{seed}-{revision}"
            metrics = [{"name": "cost", "goal": "minimize"}, {"name": "value", "goal": "maximize"}]
            algorithm = {"name": "log_ei", "revision": revision}
            client.create({"id": name, "metrics": metrics, "domain": case, "seed": seed, "algorithm": algorithm})
            rules, value = [], 0
            while value == 0 and len(rules) < 50:
                (trial,) = client.ask(name, wait_seconds=60)["trials"]
                point = trial.get("point") or list(trial["parameters"].values())
                rules.append(client.get(f"/v1/studies/{name}/trials/{trial['id']}/why").json["rule"])
                value = peak([x + 0.1 for x in point])
                client.tell(name, [{"trial": trial["id"], "values": {"cost": sum(x**2 for x in point), "value": value}}])
            found[revision] += value > 0
            if revision == 4 and len(rules) > 10:
                assert {"first", "joint"} == set(rules[6:]) and 4 * rules[6:].count("first") <= len(rules), rules
    assert found[4] > found[3], found
