"""The loop that every sampler's process runs: lines of JSON on standard input and output.

  {"op": "start", "task": {...}, "seed": 1, "options": {...}}   -> {} or {"cannot": "why"}
  {"op": "ask", "count": 4}                                       -> {"trials": [[handle, point], ...]}, maybe fewer
  {"op": "tell", "results": [[handle, value], ...]}               -> {}
  {"op": "recommend"}                                             -> {"point": ...}
  {"op": "stop"}                                                  -> {}

A task is {"name", "parameters" or null, "features": a .npy file or null, "candidates" and "dimension": its rows and
columns, "trials": how many there will be, "batch": how many are asked for at a time, "in_flight": how many are
under way at a time when one is asked for}. A point is a dictionary of parameters, or the number of a candidate.
Values are minimized; null is a failed trial, "infeasible" an infeasible one.

A sampler is a class with __init__(task, seed, options), ask(count), tell(results) and, where the library says which
point it would take in the end, recommend(). It raises CannotDo for a task that its library has no means for. All
samplers but banditd recommend, where they say nothing else, the point with the best told value."""

import json
import os
import sys
import warnings


class CannotDo(Exception):
    pass


class Sampler:
    """What most samplers have in common: handles are numbers, and the best told point is recommended."""

    def __init__(self):
        self.points, self.best = {}, (float("inf"), None)

    def ask(self, count):
        points = self.choose(count)
        first = len(self.points)
        self.points.update(enumerate(points, first))
        return list(enumerate(points, first))

    def tell(self, results):
        for handle, value in results:
            if is_number(value) and value < self.best[0]:
                self.best = (value, self.points[handle])
        self.learn([(handle, self.points[handle], value) for handle, value in results])

    def learn(self, results):
        pass

    def recommend(self):
        return self.best[1]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def active(parameter, point):
    when = parameter.get("active_when")
    return not when or (when["parameter"] in point and point[when["parameter"]] in when["in"])


def need_parameters(task, kinds=("double", "integer", "discrete", "categorical", "boolean"), conditions=False):
    """The task's parameters, if they are all of these kinds."""
    if task["parameters"] is None:
        raise CannotDo("it has no lists of candidates")
    for p in task["parameters"]:
        if p["type"] not in kinds:
            raise CannotDo(f"it has no {p['type']} parameters")
        if "active_when" in p and not conditions:
            raise CannotDo("it has no conditional parameters")
    return task["parameters"]


def need_one_at_a_time(task):
    if task["in_flight"] > 1:
        raise CannotDo("it takes no account of trials that are under way")


def serve(sampler_class):
    """Runs one sampler after another until the end of the input."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    warnings.filterwarnings("ignore")
    sampler = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "start":
            try:
                sampler = sampler_class(request["task"], request["seed"], request["options"])
                answer = {"cpu_of": getattr(sampler, "cpu_of", None)}
            except CannotDo as reason:
                sampler, answer = None, {"cannot": str(reason)}
        elif request["op"] == "ask":
            answer = {"trials": sampler.ask(request["count"])}
        elif request["op"] == "tell":
            sampler.tell(request["results"])
            answer = {}
        elif request["op"] == "recommend":
            answer = {"point": sampler.recommend()}
        elif request["op"] == "stop":
            if sampler is not None and hasattr(sampler, "close"):
                sampler.close()
            sampler, answer = None, {}
        answers.write(json.dumps(answer, default=plain) + "\n")


def plain(value):
    """NumPy's numbers as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is no number, word or list")
