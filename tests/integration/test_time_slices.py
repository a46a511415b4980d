"""Long plans: others are planned meanwhile, and a plan that nobody wants any more is given up."""

import math
import threading
import time

from server import Server
from support import definition, measure

OPTIONS = ("--threads", "2")
SPACE = [{"name": f"x{i}", "type": "double", "min": 0, "max": 1} for i in range(8)]
PICKS = 1000  # in a space each is a search: minutes


def heavy(client, name):
    """A study that learns from 400 results, in a space of 8 doubles."""
    client.create(
        {
            "id": name,
            "metric": {"name": "value", "goal": "maximize"},
            "domain": {"type": "space", "parameters": SPACE},
            "seed": 3,
        }
    )
    results = []
    for i in range(400):
        point = {p["name"]: math.modf((i + 1) * math.sqrt(2 + 3 * j))[0] for j, p in enumerate(SPACE)}
        results.append({"parameters": point, "value": -sum((x - 0.4) ** 2 for x in point.values())})
    answer = client.post(f"/v1/studies/{name}/observations", {"observations": results})
    assert answer.status in (200, 201), answer
    return name


class Planning:
    """Asks for many trials of a study in a thread of its own, which ends with the answer, or with the server."""

    def __init__(self, server, study):
        self.answered = False
        self._client = server.client(timeout=600)
        self._thread = threading.Thread(target=self._ask, args=(study,))
        self._thread.start()

    def _ask(self, study):
        try:
            self._client.post(f"/v1/studies/{study}/ask", {"count": PICKS, "wait_seconds": 300})
        except OSError:
            pass  # the server has ended
        self.answered = True

    def join(self):
        self._thread.join()


def cpu_seconds(client):
    for line in client.get("/metrics").body.decode().splitlines():
        if line.startswith("process_cpu_seconds_total "):
            return float(line.split()[1])
    raise AssertionError("no such metric")


def await_cpu(client, seconds):
    """Until the server has computed for so long: the plans are on their way."""
    start = cpu_seconds(client)
    for _ in range(1200):
        if cpu_seconds(client) - start > seconds:
            return
        time.sleep(0.05)
    raise AssertionError("nothing is computed")


def test_light_studies_are_planned_beside_endless_plans():
    with Server(*OPTIONS) as server:
        client = server.client()
        plans = [Planning(server, heavy(client, f"heavy-{i}")) for i in range(3)]
        await_cpu(client, 1)
        client.create(definition(id="light", algorithm={"name": "bkb"}))  # plans each trial anew
        for _ in range(60):
            trials = client.ask("light", wait_seconds=20)["trials"]
            assert len(trials) == 1
            client.tell("light", [measure(trials[0])])
        assert client.get("/v1/studies/light/best").status == 200
        assert not any(plan.answered for plan in plans), "not heavy enough to show anything"
        stop_quickly(server)
        for plan in plans:
            plan.join()


def stop_quickly(server):
    server.stop()
    assert server.stopped_after < 5, server.stopped_after


def test_a_plan_that_was_stopped_is_made_again():
    with Server(*OPTIONS) as server:
        client = server.client()
        plan = Planning(server, heavy(client, "stopped"))
        heavy(client, "other")
        await_cpu(client, 1)
        stop_quickly(server)
        plan.join()
        server.start()
        client = server.client()
        picks = [client.ask(name, 3, wait_seconds=60)["trials"] for name in ("stopped", "other")]
        assert [len(p) for p in picks] == [3, 3], picks
        points = [[trial["parameters"] for trial in p] for p in picks]
        assert points[0] == points[1]


def test_a_deleted_study_is_not_planned_any_more():
    with Server(*OPTIONS) as server:
        client = server.client()
        plans = [Planning(server, heavy(client, f"gone-{i}")) for i in range(2)]
        await_cpu(client, 1)
        for i in range(2):
            begun = time.monotonic()
            assert client.delete(f"/v1/studies/gone-{i}").status == 204
            assert time.monotonic() - begun < 2
        for plan in plans:
            plan.join()
        for _ in range(100):  # until a second costs next to nothing
            before = cpu_seconds(client)
            time.sleep(1)
            if cpu_seconds(client) - before < 0.2:
                return
        raise AssertionError("the processor is not free")
