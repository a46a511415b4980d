"""Spaces in which a quadratic function predicts the results: some picks are its best point."""

import math

from server import Server, run_to_end

NUMBERS = [
    {"name": "x", "type": "double", "min": 0, "max": 1},
    {"name": "rate", "type": "double", "min": 1e-4, "max": 1, "scale": "log"},
    {"name": "units", "type": "integer", "min": 1, "max": 1000},
]
KIND = {"name": "kind", "type": "categorical", "values": ["line", "tree"]}
SENTENCE = "The best point of a quadratic function that follows the results well."


def study_of(parameters, seed, **fields):
    return {
        "metric": {"name": "loss", "goal": "minimize"},
        "domain": {"type": "space", "parameters": parameters},
        "seed": seed,
        **fields,
    }


def loss(values):
    """An oblique bowl. Its best value is about 0, at x = 0.4, rate = 0.01, units = 600."""
    a, b, c = values["x"] - 0.4, (math.log10(values["rate"]) + 2) / 4, (values["units"] - 600) / 1000
    other = 0.5 if values.get("kind") == "tree" else 0.0
    return (a + b + c) ** 2 + 300 * (a - b) ** 2 + 90000 * (a + b - 2 * c) ** 2 + other


def drive(client, study, trials, failing=lambda values: False, before=lambda number: None, measure=loss):
    """One trial at a time. -> their parameters"""
    chosen = []
    for number in range(trials):
        client = before(number) or client
        (trial,) = client.ask(study, wait_seconds=60)["trials"]
        values = trial["parameters"]
        chosen.append(values)
        fails = failing(values)
        client.tell(study, [{"trial": trial["id"], **({"state": "infeasible"} if fails else {"value": measure(values)})}])
    return chosen


def reasons(client, study, trials):
    return [client.get(f"/v1/studies/{study}/trials/{n + 1}/why").json for n in range(trials)]


def test_restarts_change_no_pick_and_check_agrees():
    with Server() as server:

        def restart(number):
            if number not in (16, 21):
                return None
            server.kill()
            server.start()
            return server.client()

        first = server.client().create(study_of([*NUMBERS, KIND], 2, id="first"))["id"]
        chosen = drive(server.client(), first, 30)
        again = server.client().create(study_of([*NUMBERS, KIND], 2, id="again"))["id"]
        assert drive(server.client(), again, 30, before=restart) == chosen
        said = reasons(server.client(), again, 30)
        of_function = [why for why in said if why["rule"] == "quadratic"]
        assert of_function, [why["rule"] for why in said]
        assert all(why["sentence"] == SENTENCE and why["score"] is None for why in of_function), of_function
        assert all(len(why["predictions"]) == 1 for why in of_function), of_function
        server.stop()
        status, out, err = run_to_end("check", "--db", str(server.db), timeout=300)
        assert (status, err) == (0, "") and "batches replanned" in out, (status, out, err)
        server.start()


def test_the_best_point_is_found_soon(server):
    client = server.client()
    before = {"algorithm": {"name": "log_ei", "revision": 8}}
    now, then = (client.create(study_of(NUMBERS, 3, **fields))["id"] for fields in ({}, before))
    best, without = (min(map(loss, drive(client, study, 30))) for study in (now, then))
    assert best < 0.01 < without, (best, without)


def test_the_other_numbers_follow_integers(server):
    """In a narrow valley a point with rounded integers is far from its floor."""
    parameters = [
        {"name": "a", "type": "integer", "min": 0, "max": 10},
        {"name": "b", "type": "double", "min": 0, "max": 1},
        {"name": "c", "type": "integer", "min": 0, "max": 40},
        {"name": "d", "type": "double", "min": 0, "max": 1},
    ]

    def valley(values):
        a, b, c, d = values["a"] / 10 - 0.53, values["b"] - 0.4, values["c"] / 40 - 0.61, values["d"] - 0.3
        return (a + b + c + d) ** 2 + 100 * (a - b) ** 2 + 1e3 * (a + b - 2 * c) ** 2 + 1e4 * (a + b + c - 3 * d) ** 2

    client = server.client()
    before = {"algorithm": {"name": "log_ei", "revision": 9}}
    now, then = (client.create(study_of(parameters, 2, **fields))["id"] for fields in ({}, before))
    best, without = (min(map(valley, drive(client, study, 40, measure=valley))) for study in (now, then))
    assert best < 0.05 < without, (best, without)


def test_the_best_value_is_recommended(server):
    """The model takes the valley for noise, but there is none."""
    client = server.client()
    for seed in (3, 4, 5):
        study = client.create(study_of(NUMBERS, seed))["id"]
        values = drive(client, study, 40)
        best = client.get(f"/v1/studies/{study}/best").json
        recommended, observed = best["recommended"], best["observed"]
        assert loss(recommended["parameters"]) == min(map(loss, values)), best
        assert recommended["mean"] == observed["value"] and not observed["lucky"], best


def test_other_words_do_not_count(server):
    """With one word the function is a bowl, with the other it has waves."""

    def mixed(values):
        waves = 5000 + 3000 * math.sin(40 * values["x"] + 9 * math.log10(values["rate"])) * math.cos(values["units"] / 20)
        return waves if values["kind"] == "tree" else loss(values)

    study = server.client().create(study_of([*NUMBERS, KIND], 6))["id"]
    chosen = drive(server.client(), study, 40, measure=mixed)
    assert {values["kind"] for values in chosen} == {"line", "tree"}, chosen
    assert min(map(mixed, chosen)) < 0.1, min(map(mixed, chosen))


def test_rules_are_kept(server):
    """The best point of the function breaks the rule."""
    client = server.client()
    definition = study_of(NUMBERS, 4)
    definition["domain"]["constraints"] = ["x <= 0.3"]
    study = client.create(definition)["id"]
    chosen = drive(client, study, 30)
    assert all(values["x"] <= 0.3 for values in chosen), chosen


def test_regions_that_fail_are_avoided(server):
    """The best point of the function is where evaluations fail. Some picks go there before that is known."""
    client = server.client()
    failed = of_function = 0
    for seed in range(1, 7):
        study = client.create(study_of(NUMBERS, seed))["id"]
        chosen = drive(client, study, 40, failing=lambda values: values["x"] > 0.35)
        for values, why in list(zip(chosen, reasons(client, study, 40)))[20:]:
            failed += values["x"] > 0.35
            of_function += values["x"] > 0.35 and why["rule"] == "quadratic"
    assert failed <= 6 * 20 / 3, failed
    assert of_function <= 6, of_function
