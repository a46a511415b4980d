"""Six clients with every kind of write. Each writes what it did and what it was told into the journal."""

import hashlib
import http.client
import random
import threading

from journal import DONE, LOOK, REFUSED, UNKNOWN, Entry
from support import definition, grid
from test_open_spaces import mixed

CLIENTS = 6
SHARED = ("batch", "async", "space")
LOST = (OSError, http.client.HTTPException)
SIDE = 6
ROWS = "".join(f"{x},{y}\n" for x in range(5) for y in range(5))


def setup(client):
    client.create(definition(id="batch", seed=1, algorithm={"ratio_bound": 4}))
    client.create(definition(id="async", seed=2, feedback="async"))
    client.create(mixed(id="space"))
    for i in range(CLIENTS):
        client.create(definition(id=f"own{i}", seed=i, feedback="async", points=grid(SIDE)))
        client.create(definition(id=f"proposed{i}", seed=i, feedback="async", points=grid(SIDE)))
        client.create(definition(id=f"retired{i}", seed=i, feedback="async", points=grid(SIDE)))


class Place:
    """What the clients share: the journal, and what must never be answered."""

    def __init__(self, pause=0.0):
        self.pause = pause  # seconds between two steps of a client
        self.journal, self.violations = [], []
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.keys = {}  # key -> (who, path, body): answered, and to be repeated
        self.jumps = 0  # large ones of the clock, after which keys may be forgotten

    def write(self, *entries):
        with self.lock:
            self.journal += entries


class Worker:
    """One client: it goes on from round to round, with a new connection in each."""

    def __init__(self, place, number, seed):
        self.place, self.number, self.name = place, number, f"w{number}"
        self.rng = random.Random(f"{seed} {number}")
        self.held = []  # (study, trial) that it has
        self.told = []  # (study, trial, value)
        self.studies = {}  # id -> state, as far as it knows
        self.tokens = {}  # description -> id
        self.n = 0
        self.meant = {}  # (study, trial) -> the result that was sent, as long as there is no answer
        self.unsure = []  # requests under a key without an answer: (thing, op, arg, path, body, key, jumps)
        self.client = None

    def next(self, what):
        self.n += 1
        return f"{what}-{self.number}-{self.n}"

    def run(self, client):
        self.client = client
        steps = [self.ask, self.tell, self.tell, self.tell_again, self.measure, self.amend, self.release, self.renew, self.propose]
        steps += [self.observe, self.study, self.study, self.token, self.retire, self.add]
        try:
            while not self.place.stop.wait(self.place.pause):
                self.rng.choice(steps)()
        except LOST as lost:
            if isinstance(lost, TimeoutError):
                self.place.violations.append(f"{self.name}: no answer within a minute")
        finally:
            client.close()

    def send(self, method, path, body=None, good=(200,), bad=(), key=None, **options):
        """-> (outcome, answer or None). A connection that breaks is told by raising, after `UNKNOWN` was noted."""
        headers = {"Idempotency-Key": key} if key else None
        answer = self.client.request(method, path, body, headers=headers, **options)
        if answer.status in good:
            return DONE, answer
        if answer.status == 503:
            return UNKNOWN, answer
        if answer.status in bad:
            return REFUSED, answer
        self.place.violations.append(f"{self.name}: {method} {path} {str(body)[:200]}: {answer}")
        return REFUSED, answer

    def do(self, thing, op, arg, method, path, body=None, **options):
        outcome, answer = UNKNOWN, None
        try:
            outcome, answer = self.send(method, path, body, **options)
        finally:
            self.place.write(Entry(self.name, thing, op, arg, outcome))
        return outcome, answer

    # ---- trials ----

    def ask(self):
        study = self.rng.choice([*SHARED, f"own{self.number}"])
        if len(self.held) > 8:
            return
        key = self.next("ask") if self.rng.random() < 0.3 else None
        body = {"count": self.rng.randint(1, 3), "worker": self.name, "wait_seconds": 0.1, "lease_seconds": 3600}
        outcome, answer = self.send("POST", f"/v1/studies/{study}/ask", body, key=key)
        if outcome == DONE:
            for trial in answer.json["trials"]:
                self.place.write(Entry(self.name, ("trial", study, trial["id"]), "issue", self.name))
                if (study, trial["id"]) not in self.held:
                    self.held.append((study, trial["id"]))
            if key and answer.json["trials"]:
                self.answered(key, f"/v1/studies/{study}/ask", body, answer)

    def one_held(self, own=False):
        those = [held for held in self.held if not own or held[0] == f"own{self.number}"]
        return self.rng.choice(those) if those else None

    def tell(self):
        held = self.one_held()
        if not held:
            return
        study, trial = held
        value = self.rng.random()
        arg = ("completed", value) if self.rng.random() < 0.8 else ("failed", None)
        arg = self.meant.setdefault(held, arg)  # again, if there was no answer: it is a duplicate if it had happened
        result = {"value": arg[1]} if arg[0] == "completed" else {"state": "failed", "reason": "it broke"}
        body = {"results": [{"trial": trial, **result}]}
        outcome, _ = self.do(("trial", study, trial), "tell", arg, "POST", f"/v1/studies/{study}/tell", body)
        if outcome == DONE:
            self.held.remove(held)
            del self.meant[held]
            self.told.append((study, trial, arg))

    def tell_again(self):
        """Another value for the same attempt: a contradiction, which is refused."""
        if self.told:
            study, trial, (state, value) = self.rng.choice(self.told[-50:])
            body = {"results": [{"trial": trial, "value": (value or 0) + 2}]}
            self.do(("trial", study, trial), "tell", ("completed", (value or 0) + 2), "POST", f"/v1/studies/{study}/tell", body, good=(), bad=(409,))

    def amend(self):
        if self.told:
            study, trial, _ = self.rng.choice(self.told[-50:])
            value = self.rng.random()
            self.do(("trial", study, trial), "amend", value, "POST", f"/v1/studies/{study}/trials/{trial}/amend", {"value": value})

    def measure(self):
        held = self.one_held()
        if held:
            study, trial = held
            step, value = self.rng.randint(1, 5), self.rng.random()
            path = f"/v1/studies/{study}/trials/{trial}/measurements"
            # A result without an answer may have closed the trial: then it is refused.
            self.do(("curve", study, trial), "measure", (step, value), "POST", path, {"step": step, "value": value}, bad=(409,))

    def renew(self, held=None):
        """-> the outcome"""
        held = held or self.one_held()
        if held:
            study, trial = held
            path = f"/v1/studies/{study}/trials/{trial}/heartbeat"
            return self.do(("trial", study, trial), "renew", None, "POST", path, {"lease_seconds": 3600}, bad=(409,))[0]

    def release(self):
        held = self.one_held(own=True)
        if held and held not in self.meant and self.rng.random() < 0.3:
            study, trial = held
            self.held.remove(held)  # also if there is no answer: if it was not given back, the next ask hands it out
            body, outcome = {"results": [{"trial": trial, "state": "released"}]}, UNKNOWN
            try:
                outcome, _ = self.do(("trial", study, trial), "release", None, "POST", f"/v1/studies/{study}/tell", body)
            finally:
                self.place.write(Entry(self.name, ("curve", study, trial), "clear", None, outcome))  # the attempt never was

    # ---- other writes of studies ----

    def propose(self):
        study = f"proposed{self.number}"
        path, body, key = f"/v1/studies/{study}/trials", {"candidate": self.rng.randrange(SIDE * SIDE)}, self.next("propose")
        sent = (("proposals", study), "add", 1, path, body, key, self.place.jumps)
        try:
            outcome, answer = self.send("POST", path, body, key=key)
        except LOST:
            self.unsure.append(sent)
            raise
        if outcome == UNKNOWN:
            self.unsure.append(sent)
        elif outcome == DONE:
            self.place.write(Entry(self.name, *sent[:3]))
            self.answered(key, path, body, answer)

    def settle(self, client, leases_end):
        """Renews what it holds: the clock may have been set ahead while the server was down, and then a lease lasts for
        half a minute only. Sends what was not answered once more, under its key: it is done once, whatever happened
        before. leases_end(): may a lease have ended since the server's start, which was long ago on a busy machine?"""
        self.client = client
        for held in list(self.held):
            if self.renew(held) != REFUSED or held in self.meant:  # what is meant may have been done, without an answer
                continue
            if not leases_end():
                self.place.violations.append(f"{self.name}: the lease of trial {held[1]} of {held[0]} has ended")
            self.held.remove(held)
        for thing, op, arg, path, body, key, jumps in self.unsure:
            if jumps != self.place.jumps:
                self.place.write(Entry(self.name, thing, op, arg, UNKNOWN))
                continue
            outcome, _ = self.send("POST", path, body, key=key)
            self.place.write(Entry(self.name, thing, op, arg, outcome))
        self.unsure = []
        client.close()

    def observe(self):
        study = self.rng.choice(("batch", "async"))
        n = self.rng.choice((1, 2, 50))
        rows = [{"candidate": self.rng.randrange(144), "value": self.rng.random()} for _ in range(n)]
        self.do(("imports", study), "add", n, "POST", f"/v1/studies/{study}/observations", {"observations": rows})

    def study(self):
        name = self.rng.choice(sorted(self.studies)) if self.studies and self.rng.random() < 0.7 else None
        if not name:
            return self.create()
        thing, path = ("study", name), f"/v1/studies/{name}"
        kind = self.rng.choice(("rename", "state", "upload", "delete"))
        gone = {"bad": (404,)} if self.studies[name] == "unsure" else {}
        if kind == "rename":
            label = self.next("label")
            self.do(thing, "rename", label, "PATCH", path, {"display_name": label}, **gone)
        elif kind == "state" and self.studies[name] == "active":
            state = self.rng.choice(("active", "paused"))
            self.do(thing, "state", state, "PATCH", path, {"state": state})
        elif kind == "upload" and self.studies[name] == "awaiting":
            outcome, _ = self.do(thing, "upload", 25, "PUT", f"{path}/candidates", ROWS, content_type="text/csv")
            if outcome == DONE:
                self.studies[name] = "active"
        elif kind == "delete":
            self.studies[name] = "unsure"
            outcome, _ = self.do(thing, "delete", None, "DELETE", path, good=(204,), **gone)
            if outcome != UNKNOWN:
                del self.studies[name]

    def create(self):
        name = self.next("study")
        body = definition(id=name, display_name="first", points=grid(3))
        shown = ("first", "active", 9)
        if self.rng.random() < 0.5:
            body["domain"] = {"type": "candidates", "dimension": 2}
            shown = ("first", "awaiting_candidates", 0)
        outcome, _ = self.do(("study", name), "create", shown, "POST", "/v1/studies", body, good=(201,))
        if outcome == DONE:
            self.studies[name] = "active" if shown[2] else "awaiting"

    def add(self):
        study = f"own{self.number}"
        points = [[self.rng.random(), self.rng.random()] for _ in range(self.rng.randint(1, 3))]
        self.do(("study", study), "add", len(points), "POST", f"/v1/studies/{study}/candidates", {"points": points})

    def retire(self):
        study, candidate = f"retired{self.number}", self.rng.randrange(SIDE * SIDE)
        if self.rng.random() < 0.3:
            self.do(("retired", study, candidate), "create", None, "POST", f"/v1/studies/{study}/candidates/retire", {"candidates": [candidate]})

    def token(self):
        if self.tokens and self.rng.random() < 0.5:
            name, number = self.tokens.popitem()
            self.do(("token", name), "delete", None, "DELETE", f"/v1/tokens/{number}", good=(204,))
        else:
            name = self.next("token")
            body = {"role": "worker", "description": name}
            outcome, answer = self.do(("token", name), "create", None, "POST", "/v1/tokens", body, good=(201,))
            if outcome == DONE:
                self.tokens[name] = answer.json["id"]

    # ---- keys ----

    def answered(self, key, path, body, answer):
        self.place.write(Entry(self.name, ("key", key), "answer", digest(answer)))
        with self.place.lock:
            self.place.keys[key] = (self.name, path, body, self.place.jumps)


def digest(answer):
    return hashlib.sha256(answer.body).hexdigest()[:16]


# ---- looking -----------------------------------------------------------------------------------------------


def look(place, client, rng, first=False):
    """Everything that there is, as entries of the journal. Call while nobody writes."""
    seen = []

    def found(thing, what):
        seen.append(Entry("look", thing, "", what, LOOK))

    studies = {study["id"]: study for study in client.items("/v1/studies")}
    known = {entry.thing for entry in place.journal}
    for name in {thing[1] for thing in known if thing[0] == "study"} | set(studies):
        view = studies.get(name)
        if view and view["state"] == "error":
            place.violations.append(f"study {name} is in error: {view.get('state_reason')}")
        if not name.startswith(("batch", "async", "space", "proposed", "retired")):
            found(("study", name), view and (view.get("display_name"), view["state"], view.get("candidates", 0)))
    if first:
        return [Entry("setup", entry.thing, "create", entry.arg) for entry in seen]
    for name in [*SHARED, *(f"own{i}" for i in range(CLIENTS))]:
        trials = client.items(f"/v1/studies/{name}/trials")
        shown = {trial["id"]: (trial["state"], trial.get("worker"), trial.get("value")) for trial in trials}
        for number in {thing[2] for thing in known if thing[:2] == ("trial", name)} | set(shown):
            found(("trial", name, number), shown.get(number))
        if name in ("batch", "async"):
            told = sum(trial["state"] == "completed" for trial in trials)
            found(("imports", name), studies[name]["observations"] - told)
    for i in range(CLIENTS):
        name = f"proposed{i}"
        found(("proposals", name), len(client.items(f"/v1/studies/{name}/trials")))
        name = f"retired{i}"
        retired = {c["candidate"] for c in client.items(f"/v1/studies/{name}/candidates") if c.get("retired")}
        for candidate in range(SIDE * SIDE):
            found(("retired", name, candidate), candidate in retired)
    tokens = {token.get("description") for token in client.items("/v1/tokens")}
    for thing in known:
        if thing[0] == "token":
            found(thing, thing[1] in tokens)
    curves = sorted(thing for thing in known if thing[0] == "curve")
    for thing in rng.sample(curves, min(len(curves), 12)):
        shown = client.get(f"/v1/studies/{thing[1]}/trials/{thing[2]}").json
        found(thing, tuple(sorted((m["step"], m["value"]) for m in shown.get("measurements", []))))
    for key in rng.sample(sorted(place.keys), min(len(place.keys), 12)):
        _, path, body, jumps = place.keys.pop(key)
        if jumps == place.jumps:
            answer = client.request("POST", path, body, headers={"Idempotency-Key": key})
            found(("key", key), digest(answer))
    return seen
