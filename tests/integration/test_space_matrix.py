"""Every algorithm that takes spaces with everything that a space may say: imports, own trials, fixed values, several trials
at once and a restart. What is chosen keeps to the definition, and the restart changes nothing. With BANDITD_MATRIX=all each
algorithm plays in each space, else in one of each kind and in the one that has all at once."""

import math
import os
from decimal import Decimal

from server import Server
from support import cases, refusal
from database_commands import expect_sound
from test_open_spaces import ALGORITHMS


def double(name, low=0, high=1, **more):
    return {"name": name, "type": "double", "min": low, "max": high, **more}


def integer(name, low=0, high=9, **more):
    return {"name": name, "type": "integer", "min": low, "max": high, **more}


LEVELS = ["low", "mid", "high"]
LEVEL = {"name": "level", "type": "categorical", "values": LEVELS, "ordered": True}
GATE = {"name": "gate", "type": "boolean"}
SIZES = [1, 2, 4, 8, 16, 32, 64]
TILES = [{"name": name, "type": "discrete", "values": SIZES} for name in ("tile", "block")]
ROWS = {f"s{i}": [round(math.sin(i), 3), i % 7] for i in range(20)}
SOLVENT = {"name": "solvent", "type": "categorical", "values": list(ROWS), "features": list(ROWS.values())}


class Space:
    """`allows` says whether a point keeps what is under test; `given` are two points that do; `fixed` goes with some."""

    def __init__(self, parameters, allows, given, fixed, rules=(), numbers=False):
        self.parameters, self.allows, self.given, self.fixed, self.rules = parameters, allows, given, fixed, list(rules)
        self.contexts = [parameter["name"] for parameter in parameters if parameter.get("role") == "context"]
        self.numbers = numbers  # only of these, so that pi_gp_ucb takes it

    def definition(self, algorithm):
        domain = {"type": "space", "parameters": self.parameters, **({"constraints": self.rules} if self.rules else {})}
        fields = {"horizon": 40} if algorithm == "pi_gp_ucb" else {}
        return {"metric": {"name": "loss", "goal": "minimize"}, "domain": domain, "algorithm": {"name": algorithm}, "seed": 11, **fields}


def digits(value):
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


def on_steps(value, low, step):
    return abs((value - low) / step - round((value - low) / step)) < 1e-9


# In open spaces, whose points are not listed.
OPEN = {
    "linear constraints": Space(
        [double("x"), double("y"), double("z"), integer("n")],
        lambda p: abs(math.fsum((p["x"], p["y"], p["z"])) - 1) <= 1e-12 and p["x"] <= p["y"] + 1e-9 and p["n"] <= 10 * p["y"] + 1e-8,
        [{"x": 0.25, "y": 0.5, "z": 0.25, "n": 3}, {"x": 0.125, "y": 0.75, "z": 0.125, "n": 7}],
        {"x": 0.25},
        ["x + y + z = 1", "x <= y", "n <= 10 * y"],
        numbers=True,
    ),
    "other constraints": Space(
        [double("rate", 0.01, 10, scale="log"), integer("batch", 1, 512), integer("a"), integer("b")],
        lambda p: p["rate"] * p["batch"] <= 32 * (1 + 1e-8) and (p["a"] == 0 or p["b"] == 0) and (p["batch"] < 100 or p["rate"] >= 0.02 - 1e-9),
        [{"rate": 0.5, "batch": 50, "a": 0, "b": 4}, {"rate": 0.25, "batch": 100, "a": 9, "b": 0}],
        {"batch": 40, "b": 2},
        ["rate * batch <= 32", "count(a, b) <= 1", "if batch >= 100 then rate >= 0.02"],
        numbers=True,
    ),
    "steps": Space(
        [double("dose", 0.1, 2.35, step=0.1), integer("width", 8, 256, step=8, scale="log"), double("x")],
        lambda p: p["dose"] in [k / 10 for k in range(1, 24)] and p["width"] in range(8, 257, 8),
        [{"dose": 0.3, "width": 16, "x": 0.5}, {"dose": 2.3, "width": 256, "x": 0}],
        {"dose": 0.7},
        numbers=True,
    ),
    "precision": Space(
        [double("rate", 0.0001, 1, scale="log", precision=2), double("share", 0.005, 0.95, precision=1)],
        lambda p: digits(p["rate"]) <= 2 and round(p["share"], 1) == p["share"],
        [{"rate": 0.01, "share": 0.5}, {"rate": 0.2, "share": 0.9}],
        {"rate": 0.05},
        numbers=True,
    ),
    "ordered words": Space(
        [LEVEL, double("x")],
        lambda p: p["level"] != "low" and (p["level"] != "high" or p["x"] <= 0.75 + 1e-9),
        [{"level": "mid", "x": 0.875}, {"level": "high", "x": 0.5}],
        {"level": "high"},
        ['level >= "mid"', 'if level > "mid" then x <= 0.75'],
    ),
    "booleans": Space(
        [GATE, double("x")],
        lambda p: p["x"] >= 0.5 - 1e-9 if p["gate"] else p["x"] <= 0.75 + 1e-9,
        [{"gate": True, "x": 0.75}, {"gate": False, "x": 0.25}],
        {"gate": True},
        ["if gate then x >= 0.5", "gate or x <= 0.75"],
    ),
    "conditions on doubles": Space(
        [double("x"), double("boost", active_when={"parameter": "x", "min": 0.5}), integer("depth", active_when={"parameter": "boost", "max": 0.75})],
        lambda p: ("boost" in p) == (p["x"] >= 0.5) and ("depth" in p) == (p.get("boost", 1) <= 0.75),
        [{"x": 0.75, "boost": 0.5, "depth": 3}, {"x": 0.25}],
        {"boost": 0.25},
    ),
    "words with properties": Space(
        [SOLVENT, double("x")],
        lambda p: p["solvent"] in ROWS and (p["solvent"] != "s1" or p["x"] <= 0.5 + 1e-9),
        [{"solvent": "s3", "x": 0.75}, {"solvent": "s1", "x": 0.25}],
        {"solvent": "s7"},
        ['if solvent = "s1" then x <= 0.5'],
    ),
    "contexts": Space(
        [double("x"), double("day", role="context"), {"name": "lot", "type": "categorical", "values": ["a", "b"], "role": "context"}],
        lambda p: p["x"] + p["day"] <= 1.5 + 1e-9,
        [{"x": 0.5, "day": 0.25, "lot": "a"}, {"x": 0.25, "day": 0.5, "lot": "b"}],
        {"x": 0.125},
        ["x + day <= 1.5"],
    ),
}
OPEN["all at once"] = Space(
    [
        double("rate", 0.01, 10, scale="log", precision=3),
        double("x"), double("y"), double("z"),
        integer("width", 8, 256, step=8), LEVEL, GATE, SOLVENT,
        double("boost", active_when={"parameter": "x", "min": 0.5}),
        double("day", role="context"),
    ],
    lambda p: digits(p["rate"]) <= 3 and p["width"] in range(8, 257, 8) and p["rate"] * p["width"] <= 320 * (1 + 1e-8)
    and abs(math.fsum((p["x"], p["y"], p["z"])) - 1) <= 1e-12 and p["z"] + p["day"] <= 1.25 + 1e-9
    and ("boost" in p) == (p["x"] >= 0.5) and (not p["gate"] or p["level"] != "low") and (p["solvent"] != "s1" or p["y"] <= 0.5 + 1e-9),
    [
        {"rate": 0.5, "x": 0.25, "y": 0.5, "z": 0.25, "width": 64, "level": "mid", "gate": True, "solvent": "s2", "day": 0.5},
        {"rate": 2.5, "x": 0.5, "y": 0.25, "z": 0.25, "width": 8, "level": "low", "gate": False, "solvent": "s1", "boost": 0.5, "day": 0.75},
    ],
    {"gate": True, "width": 128},
    ["x + y + z = 1", "rate * width <= 320", "z + day <= 1.25", 'if gate then level >= "mid"', 'if solvent = "s1" then y <= 0.5'],
)

# In enumerated spaces.
LISTED = {
    "linear constraints": Space(
        [integer("a"), integer("b"), integer("c")],
        lambda p: p["a"] + p["b"] + p["c"] == 9 and p["a"] <= p["b"],
        [{"a": 2, "b": 3, "c": 4}, {"a": 0, "b": 9, "c": 0}],
        {"a": 1},
        ["a + b + c = 9", "a <= b"],
    ),
    "other constraints": Space(
        TILES,
        lambda p: 8 <= p["tile"] * p["block"] <= 128 and (p["tile"] == 1 or p["block"] >= 2),
        [{"tile": 4, "block": 8}, {"tile": 64, "block": 2}],
        {"tile": 16},
        ["tile * block >= 8 and tile * block <= 128", "if tile > 1 then block >= 2"],
    ),
    "steps": Space(
        [double("dose", 0.1, 2.35, step=0.1), integer("width", 8, 64, step=8)],
        lambda p: p["dose"] in [k / 10 for k in range(1, 24)] and p["width"] in range(8, 65, 8),
        [{"dose": 0.3, "width": 16}, {"dose": 2.3, "width": 64}],
        {"dose": 0.7},
    ),
    "words": Space(
        [LEVEL, GATE, SOLVENT],
        lambda p: (not p["gate"] or p["level"] != "low") and (p["solvent"] != "s1" or not p["gate"]),
        [{"level": "mid", "gate": True, "solvent": "s3"}, {"level": "low", "gate": False, "solvent": "s1"}],
        {"solvent": "s4"},
        ['if gate then level >= "mid"', 'if solvent = "s1" then not gate'],
    ),
    "conditions": Space(
        [double("x", step=0.1), integer("depth", active_when={"parameter": "x", "min": 0.5}), {**GATE, "active_when": {"parameter": "depth", "max": 4}}],
        lambda p: ("depth" in p) == (p["x"] >= 0.5) and ("gate" in p) == (p.get("depth", 9) <= 4),
        [{"x": 0.7, "depth": 3, "gate": True}, {"x": 0.2}],
        {"depth": 6},
    ),
}


def worth(point):
    """Something that depends on every value."""
    total = 0
    for k, value in enumerate(point[name] for name in sorted(point)):
        number = (ROWS[value][0] if value in ROWS else len(value)) if isinstance(value, str) else float(value)
        total += abs(math.atan(number) - 0.3 * k)
    return total


class Play:
    """One study and the points that it was given, in their order."""

    def __init__(self, client, algorithm, space):
        self.space, self.points, self.open = space, [], []
        self.study = client.create(space.definition(algorithm))["id"]

    def ask(self, client, count=1, **fixed):
        brought = {name: {"day": len(self.points) % 5 / 4, "lot": "ab"[len(self.points) % 2]}[name] for name in self.space.contexts}
        held = {**brought, **fixed}
        self.open = client.ask(self.study, count, wait_seconds=45, **({"fixed": held} if held else {}))["trials"]
        assert len(self.open) == count, (self.open, self.space.rules)
        for trial in self.open:
            point = trial["parameters"]
            assert self.space.allows(point), point
            assert {name: point[name] for name in held} == held, (point, held)
            self.points.append(point)

    def tell(self, client):
        client.tell(self.study, [{"trial": trial["id"], "value": worth(trial["parameters"])} for trial in self.open])

    def begin(self, client):
        imported, own = self.space.given
        rows = [{"parameters": imported, "value": worth(imported)}]
        assert client.post(f"/v1/studies/{self.study}/observations", {"observations": rows}).json["accepted"] == 1
        for _ in range(4):
            self.ask(client)
            self.tell(client)
        assert client.post(f"/v1/studies/{self.study}/trials", {"parameters": own}).json["parameters"] == own
        self.ask(client, **{name: own[name] for name in self.space.contexts})
        assert self.points[-1] == own, (self.points[-1], own)
        self.tell(client)
        self.ask(client, **self.space.fixed)
        self.tell(client)
        self.ask(client, 2)

    def go_on(self, client):
        self.tell(client)
        for _ in range(2):
            self.ask(client)
            self.tell(client)


def check_spaces(algorithm, spaces):
    with Server() as server:
        client = server.client()
        halves = []
        for name, space in spaces.items():
            whole, half = (Play(client, algorithm, space) for _ in range(2))
            for play in (whole, half):
                play.begin(client)
            whole.go_on(client)
            halves.append((name, whole, half))
        server.kill()
        server.start()
        client = server.client()
        for name, whole, half in halves:
            half.go_on(client)
            assert half.points == whole.points, (name, half.points, whole.points)
        expect_sound(server.db, [play.study for _, *plays in halves for play in plays])


def some(spaces, algorithm):
    """Others for each algorithm, such that each space is played in."""
    if os.environ.get("BANDITD_MATRIX") == "all":
        return spaces
    turn = list(spaces)[ALGORITHMS.split().index(algorithm) % len(spaces)]
    return {name: space for name, space in spaces.items() if name in (turn, "all at once")}


@cases({name: name for name in ALGORITHMS.split()})
def test_open_spaces(case):
    check_spaces(case, some(OPEN, case))


@cases({name: name for name in ALGORITHMS.split()})
def test_enumerated_spaces(case):
    check_spaces(case, some(LISTED, case))


def test_pi_gp_ucb_takes_those_of_numbers():
    check_spaces("pi_gp_ucb", {name: space for name, space in OPEN.items() if space.numbers})


def test_pi_gp_ucb_refuses_the_others(server):
    for space in [space for space in OPEN.values() if not space.numbers]:
        refusal(server.client().post("/v1/studies", space.definition("pi_gp_ucb")), 422, "/algorithm/name")


def test_these_are_all_algorithms(server):
    names = {algorithm["name"] for algorithm in server.client().get("/v1/algorithms").json["algorithms"]}
    assert names == {*ALGORITHMS.split(), "pi_gp_ucb"}, names
