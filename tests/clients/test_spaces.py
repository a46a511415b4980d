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
