"""Many workers at once: those that wait, those that must not idle, and studies that nobody uses."""

import json
import os
import select
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from client import complete
from server import Server
from support import definition, measure
from test_metrics import Metrics

WAITING, GROUPS, BUSY = 2000, 4, 64


class Waiter:
    """An ask that is held: a connection without a thread."""

    def __init__(self, server, study, name):
        body = json.dumps({"worker": name, "wait_seconds": 120}).encode()
        head = f"POST /v1/studies/{study}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self.socket = socket.create_connection((server.host, server.port), timeout=30)
        self.socket.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.name, self.received = name, b""
        self.poll = select.poll()
        self.poll.register(self.socket, select.POLLIN)

    def answered(self):
        """The trials in its answer; None: it waits."""
        while self.poll.poll(0):
            piece = self.socket.recv(65536)
            assert piece, f"the connection of {self.name} was closed"
            self.received += piece
            if complete(self.received):
                return json.loads(self.received.split(b"\r\n\r\n", 1)[1])["trials"]
        return None


def work(server, name, until):
    """Asks and tells without a break. -> the seconds that each round took

    There always is a trial. A request or an answer that is left lying is so until something else happens on its
    thread's sockets: at the latest the last workers' are, and time out, or come back without one."""
    client, rounds = server.client(), []
    while (start := time.monotonic()) < until:
        trials = client.ask("busy", worker=name, wait_seconds=30)["trials"]
        assert trials, f"{name} waited in vain"
        client.tell("busy", [{"trial": trial["id"], "value": 0.5} for trial in trials])
        rounds.append(time.monotonic() - start)
    return rounds


def test_two_thousand_wait_and_sixty_four_work():
    """No answer is left lying: not of those who work beside the held ones, and not of the held ones when there is
    something for them, first come first served."""
    with Server("--max-connections", "5000") as server:
        client = server.client()
        uniform = {"name": "uniform", "max_batch": 4096}
        still = client.create({**definition(id="still"), "algorithm": uniform})["id"]
        client.create({**definition(id="busy"), "algorithm": uniform, "feedback": "async"})
        (first,) = client.ask(still)["trials"]
        waiters = []
        for group in range(GROUPS):
            first_of_group = group * (WAITING // GROUPS)
            waiters += [Waiter(server, still, f"waiter {first_of_group + i}") for i in range(WAITING // GROUPS)]
            deadline = time.monotonic() + 60  # within a group, several threads take the requests from their sockets
            while Metrics(client).get("banditd_waiting_asks") < len(waiters):
                assert time.monotonic() < deadline, Metrics(client).get("banditd_waiting_asks")
                time.sleep(0.02)
        until = time.monotonic() + 4
        with ThreadPoolExecutor(BUSY) as threads:
            rounds = sum(threads.map(lambda i: work(server, f"busy {i}", until), range(BUSY)), [])
        print(f"# {len(rounds)} rounds of {BUSY} workers beside {WAITING} held asks, the longest {max(rounds):.2f} s")
        assert not any(waiter.answered() for waiter in waiters)
        client.tell(still, [{"trial": first["id"], "value": 0.5}])
        order = {}
        start = time.monotonic()
        while len(order) < WAITING and time.monotonic() < start + 60:
            for waiter in waiters:
                if waiter.name not in order and (trials := waiter.answered()):
                    order[waiter.name] = trials[0]["id"]
        print(f"# {WAITING} of them answered in {time.monotonic() - start:.2f} s")
        assert len(order) == WAITING, len(order)
        numbers = [order[waiter.name] for waiter in waiters]
        assert sorted(numbers) == list(range(2, WAITING + 2)), "a trial twice, or not at all"
        size = WAITING // GROUPS
        for group in range(GROUPS):
            served = sorted(numbers[group * size : (group + 1) * size])
            assert served == list(range(2 + group * size, 2 + (group + 1) * size)), (group, served[0], served[-1])
        for waiter in waiters:
            waiter.socket.close()


def test_128_requests_at_once():
    """libmicrohttpd takes up to 128 events at a time. If it gets exactly 128, it waits for more before it handles them, so
    the server must wake it. The server is stopped while the requests arrive, so that it gets all of them together."""
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with Server("--threads", "1") as server:
        connections = [socket.create_connection((server.host, server.port), timeout=20) for _ in range(128)]
        for connection in connections:
            connection.sendall(request)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        os.kill(server.process.pid, signal.SIGSTOP)
        os.waitpid(server.process.pid, os.WUNTRACED)  # until it has stopped
        for connection in connections:
            connection.sendall(request)
        os.kill(server.process.pid, signal.SIGCONT)
        for connection in connections:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            connection.close()


def busy_fraction(min_in_flight):
    """40 workers whose evaluations take 50 to 150 ms. -> seconds until all were busy once, the fraction of idle time"""
    idle, first = [0.0] * 40, [None] * 40
    with Server() as server:
        fields = {} if min_in_flight is None else {"min_in_flight": min_in_flight}
        body = definition(id="s", algorithm={"lambda": 0.01}, **fields)
        del body["feedback"]
        server.client().create(body)
        start, length = time.monotonic(), 2.5

        def run(i):
            client = server.client()
            while (asked := time.monotonic()) < start + length:
                trials = client.ask("s", worker=f"w{i}", wait_seconds=1)["trials"]
                now = time.monotonic()
                idle[i] += min(now, start + length) - asked
                if not trials:
                    continue
                if first[i] is None:
                    first[i] = now - start
                time.sleep(0.05 + (trials[0]["id"] * 7919 % 100) / 1000)
                client.tell("s", [measure(trials[0])])

        threads = [threading.Thread(target=run, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        batches = server.client().items("/v1/studies/s/batches")
    return first, sum(idle) / (40 * length), batches


def test_forty_workers_are_busy_at_once():
    first, idle, _ = busy_fraction(None)
    assert all(first), first
    print(f"# min_in_flight as many as ask: all 40 busy after {max(first):.2f} s, idle {100 * idle:.1f} % of the time")
    first, idle_of_one, batches = busy_fraction(1)
    print(f"# min_in_flight 1: idle {100 * idle_of_one:.1f} % of the time")
    assert idle < idle_of_one
    assert all(batch["stop_rule"] != "min_in_flight" for batch in batches), "beyond the bound"


def test_unused_studies_leave_memory():
    """Engines and studies go when nobody uses them, and the next ask goes on as if they had stayed."""
    def run(evict_seconds, rest):
        chosen = []
        with Server("--evict-seconds", evict_seconds, "--log-level", "debug") as server:
            client = server.client()
            client.create(definition(id="s", feedback="async"))
            for step in range(12):
                trials = client.ask("s", 2, worker="w")["trials"]
                chosen += [trial["candidate"] for trial in trials]
                client.tell("s", [measure(trial) for trial in trials])
                if rest and step % 4 == 3:
                    deadline = time.monotonic() + 20
                    while server.log().count("study_evicted") < (step + 1) // 4 and time.monotonic() < deadline:
                        time.sleep(0.05)
            evictions = server.log().count("study_evicted")
        return chosen, evictions

    stayed, none = run("1000", False)
    rested, evictions = run("1", True)
    assert none == 0 and evictions >= 3, (none, evictions)  # a slow machine pauses by itself, too
    assert rested == stayed


def test_leases_run_out_although_the_engine_rests():
    with Server("--evict-seconds", "1") as server:
        client = server.client()
        client.create(definition(id="s", feedback="async", lease_seconds=3))
        client.ask("s", worker="w")
        deadline = time.monotonic() + 20
        while client.study("s")["trials_queued"] == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert client.study("s")["trials_queued"] == 1
        (again,) = client.ask("s", worker="v")["trials"]
        assert (again["id"], again["attempt"]) == (1, 2)
