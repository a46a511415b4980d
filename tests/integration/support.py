"""What the tests share: definitions of studies, and ways to work them off."""

import math
import random
import time


class Skip(Exception):
    """Raised by a test that cannot run here; the text says what is missing."""


def eventually(condition, what="what was waited for", seconds=60):
    """Polls until the condition holds. -> its value"""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return value


def cases(table):
    """Runs the decorated test once for each entry of {name: case}."""

    def decorate(function):
        function.cases = table
        return function

    return decorate


def grid(n):
    """n x n points of the unit square, row by row."""
    return [[i / (n - 1), j / (n - 1)] for i in range(n) for j in range(n)]


def definition(points=None, algorithm=None, **fields):
    """A study of BBKB in the papers' batches on the given points (a 12 x 12 grid)."""
    return {
        "metric": {"name": "value", "goal": "maximize"},
        "domain": {"type": "candidates", "scaling": "none", "points": points or grid(12)},
        "algorithm": {
            "name": "bbkb",
            "kernel": {"type": "gaussian", "lengthscale": 0.3},
            "lambda": 1,  # with it, batches become long soon
            "noise_std": 0.1,
            **(algorithm or {}),
        },
        "feedback": "batch",
        "seed": 7,
        **fields,
    }


def target(point):
    """A smooth function of the unit square with its maximum, 1, at (0.7, 0.3)."""
    return math.exp(-3 * ((point[0] - 0.7) ** 2 + (point[1] - 0.3) ** 2))


def noisy(point, trial, deviation=0.1):
    """A measurement of target: the same for the same trial, whoever asks and whenever."""
    return target(point) + deviation * random.Random(trial).gauss(0, 1)


def measure(trial):
    return {"trial": trial["id"], "value": noisy(trial["point"], trial["id"])}


def work(client, study, trials, count=16):
    """Asks and tells until so many trials are told. -> their candidates in the order of the trials"""
    chosen = []
    while len(chosen) < trials:
        asked = client.ask(study, min(count, trials - len(chosen)))["trials"]
        assert asked, "nothing to do although everything is told"
        chosen += [trial["candidate"] for trial in asked]
        client.tell(study, [measure(trial) for trial in asked])
    return chosen


def refusal(answer, status, pointer=None):
    """Checks that an answer is a problem of that status, with that pointer among its errors."""
    assert answer.status == status, answer
    assert answer.headers["Content-Type"].split(";")[0] == "application/problem+json", answer.headers
    problem = answer.json
    assert problem["status"] == status, problem
    assert problem["type"] and problem["title"], problem
    assert isinstance(problem.get("detail", ""), str), problem
    if pointer is not None:
        assert pointer in [error["pointer"] for error in problem["errors"]], problem
        assert all(error["detail"] for error in problem["errors"]), problem
    return problem


def begun(lines=16 << 20):
    """The beginning of an upload, in pieces: so many empty lines that the server must have read some of them when the last
    can be sent."""
    for _ in range(lines >> 16):
        yield b"\n" * (1 << 16)
