#!/usr/bin/env python3
"""Writes curves.json: what 100 training runs on a few workers told, in the order of arrival.

Losses fall like a + b / (step + 1)^c with noise; some runs diverge. Messages are delayed, so that steps arrive out of
order, and some are sent twice, with a second, corrected value. Run once; the output is part of the tests."""

import json
import pathlib
import random

RUNS, WORKERS, LONGEST = 100, 8, 27


def steps_of(source):
    """The steps at which a run reports."""
    length = source.randint(3, LONGEST)
    stride = source.choice([1, 1, 1, 2, 3])
    return list(range(source.randint(0, 2), length, stride)) or [0]


def loss(source, a, b, c, step):
    return round(a + b / (step + 1) ** c + source.gauss(0, 0.03), 4)


def messages(source, run):
    """(delay, message) of one run."""
    a, b, c = source.uniform(0, 1), source.uniform(0.5, 2), source.uniform(0.2, 1.2)
    diverges = source.random() < 0.1
    now, out = 0.0, []
    for step in steps_of(source):
        now += 1
        value = loss(source, a, b, c, step) * (1 + step if diverges else 1)
        out.append((now + source.choice([0, 0, 0, 2.5]), ["measure", run, step, value]))
        if source.random() < 0.15:
            out.append((now + 1.5 + source.random(), ["measure", run, step, round(value + source.gauss(0, 0.1), 4)]))
    now = max(delay for delay, _ in out) + 0.5
    ends = source.random()
    if ends < 0.8:
        out.append((now, ["finish", run, "completed", loss(source, a, b, c, LONGEST)]))
    elif ends < 0.9:
        out.append((now, ["finish", run, "stopped", loss(source, a, b, c, 5)]))
    elif ends < 0.95:
        out.append((now, ["finish", run, "stopped", None]))
    else:
        out.append((now, ["finish", run, "failed", None]))
    return out


def main():
    source = random.Random(20200301)
    free = [(0.0, worker) for worker in range(WORKERS)]
    events = []
    for run in range(RUNS):
        start, worker = min(free)
        free.remove((start, worker))
        events.append((start, ["start", run]))
        told = messages(source, run)
        events += [(start + delay, message) for delay, message in told]
        free.append((start + max(delay for delay, _ in told) + 0.1, worker))
    events.sort(key=lambda event: event[0])
    lines = ",\n".join(json.dumps(message) for _, message in events)
    pathlib.Path(__file__).with_name("curves.json").write_text(f"[\n{lines}\n]\n")


main()
