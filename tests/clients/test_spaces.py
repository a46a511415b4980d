"""The clients on a space of named parameters."""

import asyncio
import json
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"
sys.path.insert(0, str(PACKAGE / "src"))
import banditd  # noqa: E402

PARAMETERS = [
    {"name": "level", "type": "integer", "min": 1, "max": 9},
    {"name": "tool", "type": "categorical", "values": ["plain", "with \"quotes\" & spaces"]},
    {"name": "größe", "type": "double", "min": 0.5, "max": 2, "active_when": {"parameter": "tool", "in": ["plain"]}},
    {"name": "fast", "type": "boolean"},
]


def definition(**fields):
    return {
        "id": "s",
        "metric": {"name": "value", "goal": "minimize"},
        "domain": {"type": "space", "parameters": PARAMETERS},
        "seed": 1,
        **fields,
    }


def test_work(site):
    """What a command is given, whatever is in it; nothing stands for what is not active."""
    site.server.client().create(definition(horizon=12))
    script = site.script('printf "%s\\n" "$@" >> words; printf "%s\\n" "$BANDIT_PARAM_TOOL" >> tools; echo "$1"')
    site.output("work", "s", "--", script, "{level}", "[{tool}]", "[{größe}]", "{fast}")
    words = (site.folder / "words").read_text().splitlines()
    trials = site.trials()
    assert len(trials) == 12 and len(words) == 48
    for i, trial in enumerate(trials):
        values = trial["parameters"]
        level, tool, size, fast = words[4 * i : 4 * i + 4]
        assert (level, tool, fast) == (str(values["level"]), f"[{values['tool']}]", str(values["fast"]).lower())
        assert (float(size[1:-1]) if size != "[]" else None) == values.get("größe"), (size, values)
        assert trial["value"] == values["level"]
    assert (site.folder / "tools").read_text().splitlines() == [trial["parameters"]["tool"] for trial in trials]
    assert '"level":1' in site.output("best", "s"), site.output("best", "s")


def test_ask_and_predict(site):
    site.server.client().create(definition())
    given = site.output("ask", "s", "--fixed", '{"tool": "plain", "level": 3}')
    assert given.startswith("1 attempt=1 level=3 tool=plain größe="), given
    point = json.dumps(site.trials()[0]["parameters"], ensure_ascii=False)
    site.output("tell", "s", "1", "5")
    site.output("ask", "s")
    printed = site.output("predict", "s", point, '{"level": 1, "tool": "plain", "größe": 1, "fast": false}')
    assert len(printed.splitlines()) == 2 and printed.startswith(point + " "), printed
    assert site.run("ask", "s", "--fixed", '{"level": 30}').returncode == 1
    assert site.run("ask", "s", "--fixed", "[3]").returncode == 2
    assert site.run("predict", "s", '{"level": 1').returncode == 2


def test_import_of_points_that_break_a_constraint(site):
    given = definition()
    given["domain"]["constraints"] = ["level <= 5"]
    site.server.client().create(given)
    (site.folder / "rows.csv").write_text("level,tool,größe,fast,value\n3,plain,1,true,1\n9,plain,1,true,2\n")
    assert site.run("import", "s", "rows.csv").returncode != 0
    assert site.run("import", "s", "rows.csv", "--broken", "kept").returncode != 0
    assert "2 results imported" in site.output("import", "s", "rows.csv", "--broken", "infeasible")
    rows = site.server.client().read("s", "observations")["items"]
    assert [row["state"] for row in rows] == ["completed", "infeasible"], rows
    point = '{"level": 9, "tool": "plain", "größe": 1, "fast": true}'
    assert site.run("propose", "s", point).returncode != 0
    assert site.output("propose", "s", point, "--broken", "infeasible") == "1\n"
    sides = [{"name": name, "type": "integer", "min": 1, "max": 4} for name in "ab"]
    listed = {"type": "space", "parameters": sides, "constraints": ["a <= b"]}
    site.server.client().create({"id": "listed", "metric": {"name": "y", "goal": "maximize"}, "domain": listed})
    (site.folder / "rows.csv").write_text("a,b,y\n1,2,1\n2,1,1\n")
    printed = site.output("import", "listed", "rows.csv", "--broken", "infeasible")
    assert printed == "2 results imported, from number 1\n", printed
    assert site.run("propose", "listed", '{"a": 4, "b": 3}').returncode != 0
    assert site.output("propose", "listed", '{"a": 4, "b": 3}', "--broken", "infeasible") == "1\n"


def test_work_with_a_context(site):
    parameters = [PARAMETERS[0], {"name": "weather", "type": "double", "min": 0, "max": 40, "role": "context"}]
    site.server.client().create(definition(domain={"type": "space", "parameters": parameters}, horizon=5))
    refused = site.run("work", "s", "--", "echo", "{level}")
    assert refused.returncode == 1 and "/fixed/weather" in refused.stderr and not site.trials(), refused
    assert site.run("work", "s", "--fixed", "15", "--", "echo", "{level}").returncode == 2
    site.output("work", "s", "--fixed", '{"weather": 15}', "--", "echo", "{level}")
    assert [trial["parameters"]["weather"] for trial in site.trials()] == [15] * 5
    assert all(trial["value"] == trial["parameters"]["level"] for trial in site.trials())


def test_python(site):
    study = banditd.Client(site.url).create_study(definition())
    for level in (3, 5, 7):
        (trial,) = study.ask(worker="w", fixed={"level": level})
        assert trial.parameters["level"] == level and trial.candidate is None, trial
        assert ("größe" in trial.parameters) == (trial.parameters["tool"] == "plain")
        study.tell(trial, level)
    own = {"level": 1, "tool": "plain", "größe": 1.5, "fast": True}
    assert study.propose(parameters=own).parameters == own
    (trial,) = study.ask(worker="w")
    assert trial.parameters == own
    study.tell(trial, 1)
    assert study.best()["observed"]["parameters"] == own
    study.ask(worker="w")
    (predicted,) = study.predict(parameters=[own])
    assert abs(predicted["mean"] - 1) < 2, predicted


def test_python_awaited(site):
    async def run():
        study = await banditd.AsyncClient(site.url).create_study(definition())
        (trial,) = await study.ask(fixed={"fast": True})
        assert trial.parameters["fast"] is True, trial
        await study.tell(trial, 1)

    asyncio.run(run())


EVERYTHING = [
    {"name": "rate", "type": "double", "min": 0.001, "max": 1, "scale": "log", "precision": 2},
    {"name": "dose", "type": "double", "min": 0.1, "max": 0.9, "step": 0.2},
    {"name": "width", "type": "integer", "min": 8, "max": 64, "step": 8},
    {"name": "level", "type": "categorical", "values": ["low", "mid", "high"], "ordered": True},
    {"name": "gate", "type": "boolean"},
    {"name": "boost", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "rate", "min": 0.05}},
    {"name": "solvent", "type": "categorical", "values": ["a", "b", "c"], "features": [[0.5], [1.0], [4.0]]},
    {"name": "weather", "type": "double", "min": 0, "max": 40, "role": "context"},
]
RULES = ["width * dose <= 40", 'if gate then level >= "mid"']


def check_everything(point, weather):
    assert float(f"{point['rate']:.2g}") == point["rate"], point
    assert point["dose"] in (0.1, 0.3, 0.5, 0.7, 0.9) and point["width"] in range(8, 65, 8), point
    assert point["width"] * point["dose"] <= 40 + 1e-6 and (point["level"] != "low" or point["gate"] is False), point
    assert ("boost" in point) == (point["rate"] >= 0.05) and point["weather"] == weather and point["solvent"] in "abc", point


def test_everything_that_a_space_may_say(site):
    """banditctl: create, ask with a context, tell, propose, import and list."""
    domain = {"type": "space", "parameters": EVERYTHING, "constraints": RULES}
    text = json.dumps({"id": "all", "metric": {"name": "loss", "goal": "minimize"}, "domain": domain, "seed": 3})
    site.output("study", "create", "-", stdin=text)
    shown = json.loads(site.output("study", "show", "all", "--json"))["domain"]
    for given, parameter in zip(EVERYTHING, shown["parameters"]):
        assert {name: parameter[name] for name in given} == given, parameter
    assert shown["constraints"] == RULES
    refused = site.run("ask", "all")
    assert refused.returncode == 1 and "/fixed/weather" in refused.stderr and "is a context" in refused.stderr, refused
    for number in range(1, 7):
        weather = 6.5 * number
        printed = site.output("ask", "all", "--fixed", json.dumps({"weather": weather}))
        assert printed.startswith(f"{number} attempt=1 rate=") and f" weather={weather:g}" in printed, printed
        site.output("tell", "all", str(number), str(number / 4))
        check_everything(site.trials("all")[-1]["parameters"], weather)
    own = {"rate": 0.02, "dose": 0.3, "width": 16, "level": "mid", "gate": True, "solvent": "c", "weather": 3}
    assert site.output("propose", "all", json.dumps(own)) == "7\n"
    assert "width * dose <= 40" in site.run("propose", "all", json.dumps({**own, "width": 64, "dose": 0.9})).stderr
    (site.folder / "rows.csv").write_text("rate,dose,width,level,gate,boost,solvent,weather,loss\n0.2,0.5,8,low,false,0.5,b,30,1\n")
    assert site.output("import", "all", "rows.csv") == "1 result imported, from number 1\n"
    table = site.output("export", "all", "--format", "csv").splitlines()
    assert len(table) == 1 + 8 and all(parameter["name"] in table[0] for parameter in EVERYTHING), table
    (listed,) = site.output("observations", "list", "all").splitlines()
    assert "weather=30" in listed and "boost=0.5" in listed, listed
    assert '"weather"' in site.output("best", "all"), site.output("best", "all")


def test_python_everything(site):
    domain = {"type": "space", "parameters": EVERYTHING, "constraints": RULES}
    study = banditd.Client(site.url).create_study({"id": "all", "metric": {"name": "loss", "goal": "minimize"}, "domain": domain, "seed": 3})
    try:
        study.ask()
        raise AssertionError("an ask without the context was answered")
    except banditd.Refused as refused:
        assert [error["pointer"] for error in refused.errors] == ["/fixed/weather"], refused.errors
    for number in range(6):
        (trial,) = study.ask(fixed={"weather": 6.5 * number}, wait_seconds=30)
        check_everything(trial.parameters, 6.5 * number)
        study.tell(trial, number)
    own = {"rate": 0.02, "dose": 0.3, "width": 16, "level": "mid", "gate": True, "solvent": "c", "weather": 3}
    assert study.propose(parameters=own).parameters == own
    (trial,) = study.ask(fixed={"weather": 3})
    assert trial.parameters == own, trial
    study.tell(trial, 2)
    assert study.observe([{"parameters": {**own, "dose": 0.5}, "value": 1}])["accepted"] == 1
    assert len(list(study.trials())) == 7 and len(list(study.observations())) == 1
    assert len(study.predict(parameters=[own])) == 1
    try:
        study.propose(parameters={**own, "width": 64, "dose": 0.9})
        raise AssertionError("a trial that breaks a constraint was taken")
    except banditd.Refused as refused:
        assert "width * dose <= 40" in refused.errors[0]["detail"], refused.errors
