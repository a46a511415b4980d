"""While no trial is being measured, every answer about the model is by the model that the next batch begins with."""

import random

from support import cases, grid

LIST = {"type": "candidates", "points": grid(6)}
SPACE = {"type": "space", "parameters": [{"name": "x0", "type": "double", "min": 0, "max": 1}, {"name": "x1", "type": "integer", "min": 1, "max": 9}]}
ONE = {"metric": {"name": "loss", "goal": "minimize"}}
TWO = {"metrics": [{"name": "loss", "goal": "minimize"}, {"name": "size", "goal": "maximize"}]}


def values(several, draw):
    """A result."""
    loss = draw.gauss(0, 1)
    return {"values": {"loss": loss, "size": draw.gauss(0, 1)}} if several else {"value": loss}


def answers(client, study, asked, several):
    """All that can be asked about the model; the second time from what the server has kept."""
    paths = ["best", "model", "importance", "effects?parameter=x0", "diagnostics"] + ([] if several else ["outlook"])
    found = []
    for _ in range(2):
        found.append({path: client.read(study, path) for path in paths})
        found[-1]["predict"] = client.predict(study, **asked)
        for order in ("mean", "pulls"):
            items = client.items(f"/v1/studies/{study}/candidates?sort={order}")
            assert items == client.items(f"/v1/studies/{study}/candidates?sort={order}", limit=7)
            found[-1][order] = [item for item in items if item["pulls"] > 0]  # in a space a pick is one as well
    assert found[0] == found[1]
    return found[0]


@cases(
    {
        "a list": (LIST, ONE),
        "a space": (SPACE, ONE),
        "a list of two objectives": (LIST, TWO),
        "a space of two objectives": (SPACE, TWO),
    }
)
def test_no_answer_waits_for_the_next_batch(server, case):
    domain, metrics = case
    several, draw = "metrics" in metrics, random.Random(4)
    client = server.client()
    study = client.create({"domain": domain, "seed": 3, **metrics})["id"]
    if domain is LIST:
        places = [{"candidate": i} for i in range(0, 36, 3)]
        asked = {"candidates": [1, 7]}
    else:
        places = [{"parameters": {"x0": draw.random(), "x1": i % 9 + 1}} for i in range(12)]
        asked = {"parameters": [{"x0": 0.5, "x1": 5}, {"x0": 0, "x1": 9}]}
    rows = [{**place, **values(several, draw)} for place in places]
    assert client.post(f"/v1/studies/{study}/observations", {"observations": rows}).status == 200
    known, last = 12, None
    for batch in range(3):
        before = answers(client, study, asked, several)
        assert (before["model"]["batch"], before["model"]["observations"]) == (batch, known), before["model"]
        assert last is None or all(before[path] != last[path] for path in before), "new results change every answer"
        trials = client.ask(study, 2, wait_seconds=30)["trials"]
        last = answers(client, study, asked, several)
        assert last == before, {path: (last[path], before[path]) for path in before if last[path] != before[path]}
        client.tell(study, [{"trial": trial["id"], **values(several, draw)} for trial in trials])
        known += len(trials)
        if batch == 1:
            answer = client.post(f"/v1/studies/{study}/trials/{trials[0]['id']}/amend", values(several, draw))
            assert answer.status == 200, answer
