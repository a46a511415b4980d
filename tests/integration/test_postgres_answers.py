"""The same requests to a server on SQLite and to one on PostgreSQL, under one clock: every answer is the same, byte for
byte but for times and the duration of computations."""

import os
import random
import re
import tempfile

from postgres import OfModule
from server import Server
from support import cases, definition, eventually, grid, measure
from test_clock import Clock
from test_open_spaces import loss, mixed

postgres = OfModule()
STEPS = 40
HEADERS = ("Content-Type", "Location", "Retry-After")
# No part of the history. Nor are times: a batch planned in the background begins before or after the clock is set.
OWN = re.compile(rb'"request_id":"[^"]*"|"(?:update|select)_seconds":[^,}]*|"started_at":\d+|\d{4}-\d\d-\d\dT[\d:.]+Z')


def first_difference(one, other):
    same = os.path.commonprefix([repr(one), repr(other)])
    return [repr(answer)[max(0, len(same) - 300) :][:600] for answer in (one, other)]


class Both:
    """Two servers. A write must be answered alike at once. A read is repeated: batches are planned in the background."""

    def __init__(self, *servers):
        self.clients = [server.client() for server in servers]
        self.n = 0

    def send(self, method, path, body, headers, content_type):
        answers = [client.request(method, path, body, headers=headers, content_type=content_type) for client in self.clients]
        told = [
            (answer.status, [answer.headers.get(name) for name in HEADERS], OWN.sub(b"", answer.body)) for answer in answers
        ]
        return told, answers[0]

    def write(self, method, path, body=None, content_type=None):
        self.n += 1
        told, answer = self.send(method, path, body, {"Idempotency-Key": f"k{self.n}"}, content_type)
        assert told[0] == told[1], (method, path, body, *first_difference(*told))
        return answer

    def read(self, path):
        def once():
            told, answer = self.send("GET", path, None, {}, None)
            differ.append(told)
            return answer if told[0] == told[1] else None

        differ = []
        try:
            return eventually(once, path, 10)
        except AssertionError:
            raise AssertionError((path, *first_difference(*differ[-1]))) from None


class History:
    """Random requests about one study, some of which are refused."""

    def __init__(self, both, seed, create, result, row):
        self.both, self.rng = both, random.Random(seed)
        self.result, self.row = result, row
        self.pending, self.told = [], []
        assert both.write("POST", "/v1/studies", create).status == 201
        self.path = "/v1/studies/" + create["id"]

    def post(self, what, body):
        return self.both.write("POST", f"{self.path}/{what}", body)

    def ask(self):
        worker = self.rng.choice("abc")
        answer = self.post("ask", {"count": self.rng.randint(1, 4), "worker": worker, "wait_seconds": self.wait()})
        known = {trial["id"] for trial in self.pending}
        if answer.status == 200:
            self.pending += [trial for trial in answer.json["trials"] if trial["id"] not in known]

    def tell(self):
        self.rng.shuffle(self.pending)
        some, self.pending = self.pending[:3], self.pending[3:]
        results = [self.result(trial) for trial in some]
        if results and self.rng.random() < 0.2:
            results[0] = {"trial": some[0]["id"], "state": "failed", "reason": "spilt"}
        self.post("tell", {"results": results})
        self.told += some

    def tell_again(self):
        if self.told:
            self.post("tell", {"results": [{**self.result(self.rng.choice(self.told)), "value": 0.5}]})

    def amend(self):
        number = self.rng.choice(self.told)["id"] if self.told else 1
        self.post(f"trials/{number}/amend", {"value": self.rng.randint(0, 8) / 8, "reason": "a slip"})

    def patch(self):
        state = {"state": self.rng.choice(["paused", "active"])}
        changes = self.rng.choice([state, {"labels": {"n": "1"}}, {"lease_seconds": 90}, {"seed": 1}])
        self.both.write("PATCH", self.path, changes)

    def imported(self):
        self.post("observations", {"observations": [self.row(self.rng) for _ in range(self.rng.randint(1, 3))]})

    def measured(self):
        number = self.pending[0]["id"] if self.pending else 999
        self.post(f"trials/{number}/measurements", {"step": self.both.n, "value": 0.25})
        self.post(f"trials/{number}/heartbeat", {"lease_seconds": 600})

    def candidates(self):
        points = [[self.rng.randint(0, 99) / 100, self.rng.randint(0, 99) / 100] for _ in range(2)]
        self.post("candidates", {"points": points})
        self.post(self.rng.choice(["candidates/retire", "candidates/restore"]), {"candidates": [self.rng.randint(0, 9)]})

    def look(self):
        """A study that is dry plans in the background: nothing but an ask may come before that."""
        self.study = self.both.read(self.path).json
        at_rest = self.study["trials_pending"] > 0 and self.study["feedback"] == "batch"
        self.dry = self.study["state"] == "active" and self.study["trials_queued"] == 0 and not at_rest

    def wait(self):
        """Seconds that an ask may wait: none where it would wait in vain, for a paused study or for others' results."""
        ready = self.study["trials_queued"] > 0 and self.study["state"] == "active"
        return 20 if self.dry or ready else 0

    def step(self):
        self.look()
        steps = [self.ask, self.tell] * 3
        steps += [self.tell_again, self.amend, self.patch, self.imported, self.measured, self.candidates]
        (self.ask if self.dry else self.rng.choice(steps))()

    def read_all(self):
        whole = "trials trials?state=completed trials?limit=3 best model observations batches candidates?limit=7 series events?x=1"
        for what in [*whole.split(), "export", "export?format=csv", "importance", "diagnostics", "outlook", "trials/1", "trials/1/why"]:
            self.both.read(f"{self.path}/{what}")
        for path in ("/v1/studies", "/v1/studies?state=active", "/v1/studies?label=n:1", "/v1/studies/none"):
            self.both.read(path)

    def go_on_elsewhere(self):
        """A fork, and what was exported: they choose the same, too."""
        self.look()
        if self.dry:
            self.ask()
        path, name = self.path, self.path.rsplit("/", 1)[1]
        export = self.both.read(f"{self.path}/export").body
        self.both.write("POST", f"/v1/studies?id={name}-again", export, "application/x-ndjson")
        self.post("fork", {"id": f"{name}-fork"})
        for other in ("again", "fork"):
            self.path = f"{path}-{other}"
            self.both.write("PATCH", self.path, {"state": "active"})
            self.look()
            self.post("ask", {"count": 3, "worker": "z", "wait_seconds": self.wait()})
        self.both.write("DELETE", f"{path}-again")
        self.both.read(f"{path}-again")


def of_list(**fields):
    def row(rng):
        return {"candidate": rng.randint(0, 29), "value": rng.randint(0, 8) / 8}

    return lambda seed: (definition(id=f"s{seed}", seed=seed, points=grid(5), **fields), measure, row)


def of_space(seed):
    def result(trial):
        return {"trial": trial["id"], "value": loss(trial["parameters"])}

    def row(rng):
        parameters = {"rate": 10 ** -rng.uniform(1, 4), "wärme/~": rng.uniform(0, 2), "kind": "net"}
        return {"parameters": parameters, "value": rng.random()}

    return mixed(id=f"s{seed}", seed=seed), result, row


@cases(
    {
        "a list in batches": of_list(),
        "a list without batches": of_list(feedback="async", max_attempts=2),
        "a space": of_space,
    }
)
def test_every_answer_is_the_same(case):
    with tempfile.TemporaryDirectory(prefix="banditd-test-") as folder:
        clock = Clock(folder)
        with (
            Server(environment=clock.environment) as file,
            Server("--database", postgres().migrated(), environment=clock.environment) as database,
        ):
            both = Both(file, database)
            for seed in range(1, 9):
                history = History(both, seed, *case(seed))
                for _ in range(STEPS):
                    history.step()
                    clock.pass_ms(1000)
                history.read_all()
                history.go_on_elsewhere()
