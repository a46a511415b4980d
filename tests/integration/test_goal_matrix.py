"""Several objectives, bounds, and both, in each kind of domain: with imports, standard errors, repeats, failures, an amended
result, an own trial, fixed values, trials in flight, and a study that begins with the results of another. A server with one
thread that is killed in between chooses what one with four threads chooses that is not, and a check plans all of it again.
With BANDITD_MATRIX=all each kind of goals is played in each domain, else in some."""

import math
import os

from database_commands import expect_sound
from server import Server
from support import cases

GAIN = {"name": "gain", "goal": "maximize"}
COST = {"name": "cost", "goal": "minimize"}
HEAT = {"name": "heat", "role": "constraint", "at_most": 1.2}
NOTE = {"name": "note", "role": "recorded"}
GOALS = {
    "two objectives": [GAIN | {"threshold": 0.1}, COST | {"threshold": 0.9}],
    "objectives without thresholds": [GAIN, COST],
    "three objectives, one with a bound": [GAIN | {"at_least": 0.2}, COST, {"name": "heat", "goal": "minimize"}],
    "one objective with a bound": [GAIN, HEAT],
    "two objectives with a bound": [GAIN, COST, HEAT, NOTE],
}

POINTS = [[i / 8, j / 8] for i in range(9) for j in range(9)]
AXES = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]
STEPS = [{**axis, "step": 0.125} for axis in AXES]
DOMAINS = {
    "a list": {"type": "candidates", "scaling": "none", "points": POINTS},
    "a kernel matrix": {"type": "precomputed", "size": 81},
    "an enumerated space": {"type": "space", "parameters": STEPS},
    "an enumerated space with rules": {"type": "space", "parameters": STEPS, "constraints": ["x + y <= 1.5"]},
    "an open space": {"type": "space", "parameters": AXES},
    "an open space with rules": {"type": "space", "parameters": AXES, "constraints": ["x + y <= 1.5", "if x > 0.5 then y <= 0.75"]},
}


def kernel_matrix():
    return "".join(",".join(repr(math.exp(-2 * math.dist(a, b) ** 2)) for b in POINTS) + "\n" for a in POINTS)


def measured(x, y, k):
    """With a little that looks like noise, and depends on the number of the result alone."""
    noise = 0.01 * math.sin(12.9898 * k)
    return {"gain": math.sin(3 * x) * (1 - y / 2) + noise, "cost": x * y + y * y - noise, "heat": x + y / 2 + noise, "note": k}


class Play:
    """One study, and what it was given."""

    def __init__(self, client, metrics, domain, **fields):
        self.metrics, self.domain = metrics, domain
        self.names = [metric["name"] for metric in metrics]
        self.given, self.held, self.results = [], [], 0
        body = {"metrics": metrics, "domain": domain, "seed": 4, **fields}
        if domain["type"] == "precomputed":
            body["algorithm"] = {"kernel": {"type": "precomputed"}}
        self.study = client.create(body)["id"]
        if domain["type"] == "precomputed" and "history_from" not in fields:
            answer = client.put(f"/v1/studies/{self.study}/kernel", kernel_matrix(), content_type="text/csv")
            assert answer.status == 200, answer

    def place(self, trial):
        return POINTS[trial["candidate"]] if self.domain["type"] == "precomputed" else trial.get("point") or list(trial["parameters"].values())

    def values(self, place):
        self.results += 1
        return {name: value for name, value in measured(*place, self.results).items() if name in self.names}

    def ask(self, client, count=1, **fields):
        trials = client.ask(self.study, count, wait_seconds=60, fresh=True, **fields)["trials"]
        assert len(trials) == count, trials
        self.held += trials
        self.given += [self.place(trial) for trial in trials]
        return trials

    def tell(self, client, **more):
        """Of all trials but the last one, which stays in flight."""
        told, self.held = self.held[:-1], self.held[-1:]
        client.tell(self.study, [{"trial": trial["id"], "values": self.values(self.place(trial)), **more} for trial in told])

    def begin(self, client):
        at = {"parameters": {"x": 0.25, "y": 0.5}} if self.domain["type"] == "space" else {"candidate": 20}
        rows = [{**at, "values": self.values([0.25, 0.5]), "repeats": 2}]
        assert client.post(f"/v1/studies/{self.study}/observations", {"observations": rows}).json["accepted"] == 1
        self.ask(client, 5)
        self.tell(client)
        self.ask(client, 3)
        self.tell(client, std_errors={"gain": 0.05})
        failed, impossible = self.ask(client, 2)
        client.tell(self.study, [{"trial": failed["id"], "state": "failed"}, {"trial": impossible["id"], "state": "infeasible"}])
        self.held = [trial for trial in self.held if trial["id"] not in (failed["id"], impossible["id"])]
        assert client.post(f"/v1/studies/{self.study}/trials/2/amend", {"values": self.values([0.5, 0.5])}).status == 200
        own = {"parameters": {"x": 0.75, "y": 0.375}} if self.domain["type"] == "space" else {"candidate": 33}
        assert client.post(f"/v1/studies/{self.study}/trials", own).status == 200
        self.ask(client, 2)
        if self.domain["type"] == "space":
            (fixed,) = self.ask(client, fixed={"x": 0.625})
            assert fixed["parameters"]["x"] == 0.625, fixed

    def go_on(self, client):
        for count in (1, 4):
            self.tell(client)
            self.ask(client, count)
        self.tell(client)
        bare = {name: value for name, value in self.domain.items() if name != "points"}
        heir = Play(client, self.metrics, bare | ({"dimension": 2} if "points" in self.domain else {}), history_from=self.study)
        heir.ask(client, 2)
        self.given += heir.given
        best = client.read(self.study, "best")
        model = client.read(self.study, f"model?metric={self.names[-2]}" if NOTE in self.metrics else f"model?metric={self.names[-1]}")
        return self.given, best, model


def chosen(goals, domain):
    if os.environ.get("BANDITD_MATRIX") == "all":
        return True
    place = list(GOALS).index(goals) + list(DOMAINS).index(domain)
    return place % 4 == 0


@cases({name: name for name in GOALS})
def test_goals(case):
    names = [domain for domain in DOMAINS if chosen(case, domain)]
    with Server("--threads", "4") as steady, Server("--threads", "1") as other:
        client, plays = other.client(), []
        for name in names:
            plays.append(Play(client, GOALS[case], DOMAINS[name]))
            plays[-1].begin(client)
        other.kill()
        other.start()
        client = other.client()
        for name, half in zip(names, plays):
            whole = Play(steady.client(), GOALS[case], DOMAINS[name])
            whole.begin(steady.client())
            assert half.go_on(client) == whole.go_on(steady.client()), name
            for place in half.given:
                assert name not in ("an enumerated space with rules", "an open space with rules") or sum(place) <= 1.5 + 1e-9, place
        expect_sound(other.db)
