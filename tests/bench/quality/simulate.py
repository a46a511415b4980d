"""One run: a sampler, in a process of its own, and a task under a protocol.

  sequential   one trial at a time
  workersN     N workers; each asks for a trial, is busy for a while, tells, and asks again. How long trial k takes is a draw
               of a lognormal (median 1, log deviation 0.5) that depends on task, seed and k only, on a simulated clock
  platesN      N trials at a time, five times
  batchesN     N trials at a time, as many trials as one at a time
  scaleN       N trials at a time, ten thousand trials

A run ends when its trials are made, or its CPU time is used up, or it fails. The CPU time of an ask is that of the process that
computes: the rival's, or the server's."""

import collections
import contextlib
import heapq
import json
import os
import random
import re
import subprocess
import threading
import time

TRIALS, PLATES = 200, 5
BUDGETS = (25, 50, 100, 200)
SCALE_TRIALS, SCALE_SECONDS = 10000, 600  # of CPU; what is missing is extrapolated
CPU_SECONDS, MEMORY = 900, 12 << 30  # of a run
WALL = 40  # the clock may show so many times the CPU seconds before a run is given up: the machine may be busy

Row = collections.namedtuple("Row", "trial point value told cpu seconds recommended")


class Failed(Exception):
    pass


class CannotDo(Exception):
    pass


def shape(protocol):
    """-> (trials asked for at a time, workers)"""
    kind, n = re.fullmatch(r"([a-z]+)(\d*)", protocol).groups()
    return (1, int(n)) if kind == "workers" else (int(n or 1), 1)


def trials_of(task, protocol, most):
    """How many trials a run has: of a table at most half of the candidates. 0: five plates are more than that."""
    batch, _ = shape(protocol)
    if protocol.startswith("scale"):
        return SCALE_TRIALS
    half = task.candidates // 2 if task.candidates else most
    if protocol.startswith("plates"):
        trials = min(PLATES, most // batch) * batch
        return trials if trials <= half else 0
    return min(TRIALS, most, half) // batch * batch


class Process:
    """A sampler's process, for one run after another."""

    def __init__(self, python, program, environment):
        self.process = subprocess.Popen([python, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})  # fmt: skip
        self.watched, self.most, self.why = self.process.pid, None, None
        self.over = threading.Event()
        threading.Thread(target=self.watch, daemon=True).start()

    def call(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(self.why or "its process ended")
        return json.loads(line)

    def start(self, task, seed, options):
        self.watched, self.most = self.process.pid, None
        answer = self.call(op="start", task=task, seed=seed, options=options)
        if "cannot" in answer:
            raise CannotDo(answer["cannot"])
        self.watched = answer["cpu_of"] or self.process.pid

    def cpu(self):
        """Seconds of all threads of the process that computes, by its CPU clock (clock_getcpuclockid(3))."""
        return time.clock_gettime((~self.watched << 3) | 2)

    def watch(self):
        """Ends a process that takes more memory or time than it may."""
        while not self.over.wait(0.5):
            try:
                with open(f"/proc/{self.watched}/statm") as pages:
                    resident = int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE")
            except OSError:
                continue
            if resident > MEMORY:
                self.why = f"it took more than {MEMORY >> 30} GiB"
            elif self.most and self.cpu() > self.most:
                self.why = "it took too long"
            if self.why:
                self.process.kill()
                return

    def stop(self):
        self.over.set()
        with contextlib.suppress(BrokenPipeError):  # it has ended
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Run:
    def __init__(self, process, task, condition, protocol, seed, trials):
        self.process, self.task, self.condition, self.seed, self.trials = process, task, condition, seed, trials
        self.batch, self.workers = shape(protocol)
        self.rows, self.asked, self.spent = [], {}, 0.0
        self.most = SCALE_SECONDS if protocol.startswith("scale") else CPU_SECONDS
        every = self.batch if protocol.startswith("plates") else None
        self.recommend_at = set(range(every, trials + 1, every)) if every else {b for b in BUDGETS if b <= trials}

    def over(self, started):
        return len(self.asked) >= self.trials or self.spent > self.most or time.monotonic() - started > WALL * self.most

    def timed(self, **request):
        cpu, clock = self.process.cpu(), time.perf_counter()
        answer = self.process.call(**request)
        cpu = self.process.cpu() - cpu
        self.spent += cpu
        return answer, cpu, time.perf_counter() - clock

    def ask(self, count):
        """-> [trial numbers, from 1]; fewer than asked for if the sampler has no more."""
        numbers, empty = [], 0
        while len(numbers) < count and empty < 2:
            answer, cpu, seconds = self.timed(op="ask", count=count - len(numbers))
            given = answer["trials"]
            empty = 0 if given else empty + 1
            for handle, point in given:
                number = len(self.asked) + 1
                self.asked[number] = [handle, point, cpu / len(given), seconds / len(given)]
                numbers.append(number)
        return numbers

    def tell(self, numbers):
        told = {n: self.task.told(self.asked[n][1], self.condition, self.seed, n) for n in numbers}
        _, cpu, seconds = self.timed(op="tell", results=[[self.asked[n][0], told[n]] for n in numbers])
        for n in numbers:
            _, point, asking, waiting = self.asked[n]
            self.rows.append(Row(n, self.task.key(point), self.task.value(point), told[n],
                                 asking + cpu / len(numbers), waiting + seconds / len(numbers), None))  # fmt: skip
        if self.condition != "clean" and len(self.rows) in self.recommend_at:
            point = self.process.call(op="recommend")["point"]
            value = None if point is None else self.task.value(point)
            self.rows[-1] = self.rows[-1]._replace(recommended=value)

    def batches(self):
        started = time.monotonic()
        while not self.over(started):
            numbers = self.ask(min(self.batch, self.trials - len(self.asked)))
            if not numbers:
                break
            self.tell(numbers)

    def crew(self):
        started, busy, now = time.monotonic(), [], 0.0
        while True:
            while len(busy) < self.workers and not self.over(started):
                numbers = self.ask(1)
                if not numbers:
                    break
                duration = random.Random(f"{self.task.name} {self.seed} {numbers[0]} takes").lognormvariate(0, 0.5)
                heapq.heappush(busy, (now + duration, numbers[0]))
            if not busy:
                return
            now, number = heapq.heappop(busy)
            self.tell([number])

    def make(self, spec, options):
        """-> (rows, why it failed or None)"""
        self.process.start(spec, self.seed, options)
        self.process.most = self.process.cpu() + 2 * self.most  # of an ask that does not come back
        try:
            (self.crew if self.workers > 1 else self.batches)()
            self.process.most = None
            self.process.call(op="stop")
        except Failed as reason:
            return self.rows, str(reason)
        return self.rows, None
