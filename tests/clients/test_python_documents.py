"""The Python package against its own README and against openapi.yaml."""

import inspect
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "python"
sys.path.insert(0, str(PACKAGE / "src"))
import banditd  # noqa: E402

# What the README's examples leave to the reader, before each of them.
SETTINGS = (
    "",
    """
study.change(horizon=34)
measure = lambda point: 10 - 0.1 * (point[0] - 18) ** 2
""",
    """
train = lambda parameters: [1 / step for step in range(1, 9)]
study.change(horizon=None)
(trial,) = study.ask(worker="me")
""",
    """
import sys, types
sys.modules["pandas"] = types.SimpleNamespace(DataFrame=list)
names = ["CCO", "CCN"] + [f"C{n}" for n in range(study.info()["candidates"] - 1)]
""",
)


def test_every_example_of_the_readme(site):
    examples = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    assert len(examples) == len(SETTINGS)
    code = "".join(setting + example for setting, example in zip(SETTINGS, examples))
    code = code.replace("http://127.0.0.1:8080", site.url)
    code = code.replace("study.events(): print(event.type, event.data)", "study.events(after=0): print(event.type, event.data); break")
    environment = site.environment(PYTHONPATH=str(PACKAGE / "src"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 0 and "'value'" in done.stdout, done
    study = banditd.Client(site.url).study("coffee")
    assert study.info()["trials_completed"] == 35 and study.observation(1)["value"] == 8.2
    assert banditd.Client(site.url).study("copy").info()["trials_completed"] == 35


# ---- every call of the server ----------------------------------------------------------------------------------

# What probes, Prometheus and browsers read.
NOT_IN_THE_PACKAGE = {"GET /", "GET /healthz", "GET /readyz", "GET /metrics", "GET /openapi.yaml"}

ARGUMENTS = {  # for what a method needs, by the parameter's name
    "candidates": [0],
    "changes": {},
    "definition": {},
    "keys": ["a"],
    "lines": b"",
    "matrix": [[1.0]],
    "name": "w",
    "number": 1,
    "observations": [],
    "parameter": "x",
    "points": [[1.0]],
    "receivers": [],
    "results": [],
    "role": "worker",
    "step": 1,
    "study": "s",
    "token": "t",
    "trial": 1,
    "value": 1.0,
}


class Sent(Exception):
    pass


class Recorder(banditd.Client):
    """Keeps the first request of a call instead of sending it."""

    def _run(self, call, retry_seconds=None):
        raise Sent(call.method, call.path)

    def _connect(self, seconds):
        return self

    def request(self, method, path, **unused):
        raise Sent(method, path)


def request_of(method):
    """The request that a method sends first, without its query."""
    needed = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty and p.kind != p.VAR_KEYWORD]
    try:
        made = method(*[ARGUMENTS[p.name] for p in needed])
        next(made) if inspect.isgenerator(made) else None
    except Sent as sent:
        return "{} {}".format(sent.args[0], sent.args[1].partition("?")[0])
    return None


def routes_of_the_contract():
    paths = (ROOT / "openapi.yaml").read_text().split("\npaths:\n")[1].split("\ncomponents:\n")[0]
    path = None
    for line in paths.splitlines():
        if found := re.match(r"  (/\S*):", line):
            path = found[1]
        elif found := re.match(r"    (get|put|post|patch|delete):", line):
            yield f"{found[1].upper()} {path}"


def test_every_route_has_a_method():
    """Each method is called, and what it sends first is compared with the routes."""
    client = Recorder("http://127.0.0.1:1")
    study = client.study("s")
    study._names_known = True
    made = set()
    for each in (client, study):
        for name, method in inspect.getmembers(each, inspect.ismethod):
            if not name.startswith("_") and name not in ("close", "request", "optimize", "trials_dataframe"):
                made.add(request_of(method))
    wanted = {route.format(study="s", token="t", number=1): route for route in routes_of_the_contract()}
    assert len(wanted) > 50 and made <= wanted.keys() | {None}, made - wanted.keys()
    assert {route for sent, route in wanted.items() if sent not in made} == NOT_IN_THE_PACKAGE
