"""Functions of the COCO platform: `bbob-f8-d5-i1` is function 8 of the suite bbob in 5 dimensions, instance 1;
`mixint-…` of bbob-mixint, in which four fifths of the variables are integers of 2, 4, 8 and 16 levels."""

import functools
import os
import pathlib
import re
import tempfile

from tasks.task import Task

SUITES = {"bbob": "bbob", "mixint": "bbob-mixint"}


@functools.cache
def suite(name, dimension):
    import cocoex

    return cocoex.Suite(SUITES[name], "", f"dimensions:{dimension} instance_indices:1,2")


def load(name):
    kind, function, dimension, instance = re.fullmatch(r"(bbob|mixint)-f(\d+)-d(\d+)-i(\d+)", name).groups()
    problem = suite(kind, int(dimension)).get_problem_by_function_dimension_instance(
        int(function), int(dimension), int(instance)
    )
    integers = problem.number_of_integer_variables
    parameters = []
    for i, (low, high) in enumerate(zip(problem.lower_bounds, problem.upper_bounds)):
        if i < integers:
            parameters.append({"name": f"x{i}", "type": "integer", "min": int(low), "max": int(high)})
        else:
            parameters.append({"name": f"x{i}", "type": "double", "min": float(low), "max": float(high)})
    names = [p["name"] for p in parameters]

    def function_of(point):
        return float(problem([point[name] for name in names]))

    return Task(name, parameters, function_of, float(problem(best_point(problem))))


def best_point(problem):
    """Of its optimum. COCO tells it by a file in the working folder only."""
    here = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            problem._best_parameter("print")
            return [float(word) for word in pathlib.Path("._bbob_problem_best_parameter.txt").read_text().split()]
        finally:
            os.chdir(here)
