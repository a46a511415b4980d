"""What results have cost: told, imported, summed up, shown, exported, and as a rule that ends a study."""

import csv
import io

from server import Server, run_to_end
from support import cases, grid, refusal

def definition(**fields):
    return {
        "metric": {"name": "value", "goal": "maximize"},
        "domain": {"type": "candidates", "points": grid(4)},
        "seed": 3,
        **fields,
    }


def study_of(client, **fields):
    return client.create(definition(**fields))["id"]


def tell(client, study, *results):
    return client.tell(study, list(results))


def test_costs_of_all_results_are_summed_up(server):
    client = server.client()
    study = study_of(client, max_attempts=3)
    a, b, c, d = (trial["id"] for trial in client.ask(study, 4, worker="w")["trials"])
    tell(client, study, {"trial": a, "value": 0.5, "cost": 2}, {"trial": b, "state": "failed", "cost": 0.25})
    tell(client, study, {"trial": c, "state": "failed", "retry": True, "cost": 4})
    tell(client, study, {"trial": d, "state": "infeasible", "cost": 0.5})
    assert client.study(study)["cost"] == 6.75
    # the next attempt's cost is added to the first one's
    again = client.ask(study, 1, worker="x")["trials"][0]
    assert again["id"] == c, again
    told = {"trial": c, "value": 0.25, "attempt": 2, "cost": 1}
    assert tell(client, study, told)["accepted"] == 1
    assert client.read(study, f"trials/{c}")["cost"] == 5
    # a repeated result counts once, and another attempt's counts, too
    assert tell(client, study, told)["duplicates"] == 1
    assert tell(client, study, {"trial": c, "value": 0.3, "attempt": 1, "cost": 8})["late"] == 1
    assert client.read(study, f"trials/{c}")["late_results"][0]["cost"] == 8
    imported = {"observations": [{"candidate": 3, "value": 0.1, "cost": 16}, {"candidate": 4, "value": 0.1}]}
    assert client.post(f"/v1/studies/{study}/observations", imported).status == 200
    assert client.read(study, "observations/1")["cost"] == 16
    assert "cost" not in client.read(study, "observations/2")
    assert client.study(study)["cost"] == 31.75
    # an amendment keeps what was spent
    assert client.post(f"/v1/studies/{study}/trials/{a}/amend", {"state": "failed"}).status == 200
    assert client.read(study, f"trials/{a}")["cost"] == 2
    assert client.study(study)["cost"] == 31.75


def refused_cost(client, study, result, pointer="/results/0/cost"):
    answer = client.post(f"/v1/studies/{study}/tell", {"results": [result]})
    return answer.status == 409 and answer.json["errors"][0]["pointer"] == pointer


def judge_costs_told_again(client, study):
    # a cost that differs is refused, and one that is left out is not
    assert refused_cost(client, study, {"trial": 1, "value": 0.5, "cost": 3})
    assert refused_cost(client, study, {"trial": 1, "value": 0.5, "cost": 3, "attempt": 2})
    assert refused_cost(client, study, {"trial": 2, "state": "failed", "cost": 1})
    # another attempt's with the same value is a duplicate and not counted; its own late result has a cost, too
    assert tell(client, study, {"trial": 1, "value": 0.5, "cost": 3, "attempt": 1})["duplicates"] == 1
    assert refused_cost(client, study, {"trial": 1, "value": 0.7, "cost": 5, "attempt": 1}, "/results/0/trial")
    again = ({"trial": 1, "value": 0.5, "cost": 2}, {"trial": 2, "state": "failed"})
    assert tell(client, study, *again)["duplicates"] == 2
    assert tell(client, study, {"trial": 1, "value": 0.5}, {"trial": 1, "value": 0.5})["duplicates"] == 2
    assert tell(client, study, {"trial": 1, "value": 0.7, "cost": 4, "attempt": 1})["duplicates"] == 1
    assert client.study(study)["cost"] == 8


def test_a_result_told_again_with_another_cost_is_a_conflict():
    with Server() as server:
        client = server.client()
        study = study_of(client, max_attempts=3)
        client.ask(study, 3, worker="w")
        # the first attempt's cost is part of the trial's, and not of the result's
        tell(client, study, {"trial": 1, "state": "failed", "retry": True, "cost": 2})
        assert client.ask(study, 1, worker="x", fresh=True)["trials"][0]["id"] == 1
        tell(client, study, {"trial": 1, "value": 0.5, "cost": 2}, {"trial": 2, "state": "failed"})
        assert tell(client, study, {"trial": 1, "value": 0.7, "cost": 4, "attempt": 1})["late"] == 1
        one_request = [{"trial": 3, "value": 1, "cost": 1}, {"trial": 3, "value": 1, "cost": 2}]
        assert client.post(f"/v1/studies/{study}/tell", {"results": one_request}).status == 409
        judge_costs_told_again(client, study)
        server.stop()
        server.start()
        client = server.client()
        judge_costs_told_again(client, study)  # the log has the cost now
        assert client.post(f"/v1/studies/{study}/trials/1/amend", {"value": 0.25}).status == 200
        judge_costs_told_again(client, study)  # the earlier result
        assert refused_cost(client, study, {"trial": 1, "value": 0.25, "cost": 3})


def test_a_restart_an_export_and_a_check_know_the_costs():
    with Server() as server:
        client = server.client()
        study = study_of(client)
        for i in range(6):
            (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
            outcome = {"state": "failed"} if i == 2 else {"value": 0.1 * i}
            tell(client, study, {"trial": trial["id"], "cost": 0.1, **outcome})
        imported = {"observations": [{"candidate": 0, "value": 0.2, "cost": 10}]}
        assert client.post(f"/v1/studies/{study}/observations", imported).status == 200
        before, series = client.study(study)["cost"], client.read(study, "series")["items"]
        table = client.get(f"/v1/studies/{study}/export?format=csv").body.decode()
        lines = client.get(f"/v1/studies/{study}/export?format=ndjson").body
        server.stop()
        server.start()
        client = server.client()
        assert client.study(study)["cost"] == before and abs(before - 10.6) < 1e-12
        copy = client.post("/v1/studies?id=copy", lines, content_type="application/x-ndjson")
        assert copy.status == 201, copy
        assert client.study("copy")["cost"] == before
        assert client.read("copy", "series")["items"] == series
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db))
        assert status == 0, (out, err)
        server.start()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["cost"] for row in rows] == ["0.1"] * 6 + ["10.0"], table
    # the third trial has failed: its cost is in the sums, and it has no item
    assert [item["trial"] for item in series[:-1]] == [1, 2, 4, 5, 6], series
    for item, sum_so_far in zip(series, [0.1, 0.2, 0.4, 0.5, 0.6, 10.6]):
        assert abs(item["cost"] - sum_so_far) < 1e-12, (item, sum_so_far)


def test_a_series_without_costs_has_none(server):
    client = server.client()
    study = study_of(client)
    (trial,) = client.ask(study, 1)["trials"]
    tell(client, study, {"trial": trial["id"], "value": 1})
    assert "cost" not in client.read(study, "series")["items"][0]
    assert client.study(study)["cost"] == 0


def test_a_total_ends_a_study(server):
    client = server.client()
    rules = [{"rule": "cost", "total": 5}]
    study = study_of(client, stop_when=rules)
    for told in range(20):
        answer = client.ask(study, 1, wait_seconds=30)
        if not answer["trials"]:
            break
        failed = {"state": "failed"} if told == 1 else {"value": told}
        tell(client, study, {"trial": answer["trials"][0]["id"], "cost": 1.5, **failed})
    shown = client.study(study)
    assert (told, shown["state"], shown["cost"]) == (4, "finished", 6), (told, shown)
    assert shown["state_reason"] == "cost: the results have cost 5 or more", shown
    assert shown["stop_when"] == [{**rules[0], "then": "finish"}], shown
    more = {"state": "active", "stop_when": [{"rule": "cost", "total": 7}]}
    assert client.request("PATCH", f"/v1/studies/{study}", more).status == 200
    assert len(client.ask(study, 1, wait_seconds=30)["trials"]) == 1


SEVERAL = {"metrics": [{"name": "a", "goal": "maximize"}, {"name": "b", "goal": "minimize"}], "metric": None}


@cases({"without a model": {"algorithm": {"name": "uniform"}}, "several objectives": SEVERAL})
def test_a_total_ends_studies_that_other_rules_cannot_end(server, case):
    client = server.client()
    body = {k: v for k, v in definition(**case).items() if v is not None}
    study = client.create({**body, "stop_when": [{"rule": "cost", "total": 3}]})["id"]
    value = {"values": {"a": 1, "b": 2}} if "metrics" in body else {"value": 1}
    told = 0
    while answer := client.ask(study, 1, wait_seconds=30)["trials"]:
        tell(client, study, {"trial": answer[0]["id"], "cost": 1, **value})
        told += 1
        assert told < 20
    assert told == 3 and client.study(study)["state"] == "finished"
    other = client.post("/v1/studies", {**body, "stop_when": [{"rule": "target", "value": 3}]})
    assert other.status == 422 and other.json["errors"][0]["pointer"] == "/stop_when", other


def test_a_metric_may_be_called_cost(server):
    """In a table, the column `cost` is then the metric's, unless the metric has one of its own."""
    client = server.client()
    metric = {"name": "cost", "goal": "minimize"}
    study = study_of(client, metric=metric)
    path = f"/v1/studies/{study}/observations"
    assert client.post(path, "candidate,cost\n1,0.5\n", content_type="text/csv").status == 200
    assert client.post(path, "candidate,value,cost\n2,0.25,7\n", content_type="text/csv").status == 200
    first, second = client.read(study, "observations")["items"]
    assert first["value"] == 0.5 and "cost" not in first
    assert (second["value"], second["cost"]) == (0.25, 7)
    table = client.get(f"/v1/studies/{study}/export?format=csv").body.decode()
    again = study_of(client, metric=metric)
    assert client.post(f"/v1/studies/{again}/observations", table, content_type="text/csv").status == 200
    assert client.study(again)["cost"] == 7
    assert [row["value"] for row in client.read(again, "observations")["items"]] == [0.5, 0.25]


@cases({"negative": -1, "a word": "much", "too large": 1e16, "null": None})
def test_what_is_no_cost_is_refused(server, case):
    client = server.client()
    study = study_of(client)
    (trial,) = client.ask(study, 1)["trials"]
    told = client.post(f"/v1/studies/{study}/tell", {"results": [{"trial": trial["id"], "value": 1, "cost": case}]})
    refusal(told, 422, "/results/0/cost")
    imported = client.post(
        f"/v1/studies/{study}/observations", {"observations": [{"candidate": 0, "value": 1, "cost": case}]}
    )
    refusal(imported, 422, "/observations/0/cost")
    assert client.study(study)["cost"] == 0


@cases(
    {
        "no total": ({"rule": "cost"}, "/stop_when/0/total"),
        "zero": ({"rule": "cost", "total": 0}, "/stop_when/0/total"),
        "a value": ({"rule": "cost", "total": 1, "value": 1}, "/stop_when/0/value"),
        "a total elsewhere": ({"rule": "target", "value": 1, "total": 1}, "/stop_when/0/total"),
    }
)
def test_bad_rules_are_refused_by_name(server, case):
    rule, pointer = case
    answer = server.client().post("/v1/studies", definition(stop_when=[rule]))
    refusal(answer, 422, pointer)
