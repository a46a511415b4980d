"""Spaces of named parameters: small ones, which are a finite set of candidates."""

import json
import threading

from server import Server
from support import cases, refusal
from database_commands import altered, expect_sound

# Conditional parameters in two levels, declared before what they depend on, and names that need escapes.
NESTED = [
    {"name": "momentum", "type": "boolean", "active_when": {"parameter": "opti/mizer~", "in": ["sgd", "asgd"]}},
    {"name": "größe", "type": "discrete", "values": [64, 16, 32]},
    {"name": "opti/mizer~", "type": "categorical", "values": ["adam", "sgd", "asgd"]},
    {"name": "decay", "type": "integer", "min": 1, "max": 3, "active_when": {"parameter": "momentum", "in": [True]}},
    {"name": "level", "type": "integer", "min": -2, "max": 2, "default": 0},
]
NESTED_SIZE = 3 * 5 * (1 + 2 * (1 + 3))


def space(parameters=None, algorithm=None, **fields):
    return {
        "metric": {"name": "loss", "goal": "minimize"},
        "domain": {"type": "space", "parameters": parameters or NESTED},
        "algorithm": {"kernel": {"type": "matern", "lengthscale": 0.5}, "noise_std": 0.1, **(algorithm or {})},
        "seed": 3,
        **fields,
    }


def is_active(parameter, values):
    condition = parameter.get("active_when")
    return condition is None or values.get(condition["parameter"]) in condition["in"]


def is_value(parameter, value):
    if parameter["type"] in ("discrete", "categorical"):
        return value in parameter["values"] and not isinstance(value, bool)
    if parameter["type"] == "boolean":
        return isinstance(value, bool)
    whole = parameter["type"] == "double" or (isinstance(value, int) and not isinstance(value, bool))
    return whole and parameter["min"] <= value <= parameter["max"]


def check_point(parameters, values):
    """Whether it is a point of the space: active parameters with a value of theirs, and no others."""
    by_name = {parameter["name"]: parameter for parameter in parameters}
    assert set(values) <= set(by_name), values
    for name, parameter in by_name.items():
        assert (name in values) == is_active(parameter, values), (name, values)
        assert name not in values or is_value(parameter, values[name]), (name, values)


def loss(values):
    """Something with one best point of NESTED."""
    worst = {"adam": 1.0, "sgd": 0.3, "asgd": 0.6}[values["opti/mizer~"]]
    worst += abs(values["level"] - 1) * 0.2 + abs(values["größe"] - 32) / 64
    if values.get("momentum"):
        worst += 0.1 * abs(values["decay"] - 2) - 0.2
    return worst


def drive(client, study, trials, measure=loss):
    """Asks and tells one by one. -> the points in their order"""
    chosen = []
    for _ in range(trials):
        (trial,) = client.ask(study, worker="w")["trials"]
        chosen.append(trial["parameters"])
        client.tell(study, [{"trial": trial["id"], "value": measure(trial["parameters"])}])
    return chosen


def test_parameters_from_ask_to_best(server):
    client = server.client()
    study = client.create(space())
    assert (study["state"], study["candidates"]) == ("active", NESTED_SIZE), study
    chosen = drive(client, study["id"], 60)
    for values in chosen:
        check_point(NESTED, values)
    trials = client.items(f"/v1/studies/{study['id']}/trials?state=completed")
    assert [trial["parameters"] for trial in trials] == chosen
    assert all("point" not in trial for trial in trials)
    assert client.read(study["id"], "trials/7")["parameters"] == chosen[6]
    lowest = min(trials, key=lambda trial: trial["value"])
    best = client.read(study["id"], "best")
    assert best["observed"]["trial"] == lowest["id"], best
    assert best["observed"]["parameters"] == lowest["parameters"], best
    check_point(NESTED, best["recommended"]["parameters"])
    assert client.study(study["id"])["best"]["parameters"] == lowest["parameters"]
    # The point and its index are the same place of the model.
    named, numbered = (
        client.predict(study["id"], parameters=[best["observed"]["parameters"]]),
        client.predict(study["id"], candidates=[best["observed"]["candidate"]]),
    )
    assert named == numbered, (named, numbered)
    assert loss(best["recommended"]["parameters"]) < 0.35, best


def test_without_noise_every_point_once(server):
    client = server.client()
    study = client.create(space(algorithm={"noise_std": 0}))["id"]
    client_of = [server.client() for _ in range(3)]
    chosen = []
    while True:
        # Nothing is out: the first waits until there is something, or the end.
        held = [(c, c.ask(study, worker=f"w{i}", wait_seconds=0 if i else 60)) for i, c in enumerate(client_of)]
        trials = [(c, trial) for c, answer in held for trial in answer["trials"]]
        if not trials:
            break
        for c, trial in trials:
            chosen.append(json.dumps(trial["parameters"], sort_keys=True))
            c.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])}])
    assert len(chosen) == len(set(chosen)) == NESTED_SIZE, len(chosen)
    view = client.study(study)
    assert (view["state"], view["trials_completed"]) == ("finished", NESTED_SIZE), view
    assert client.ask(study)["reason"] == "finished"


def test_without_noise_also_what_is_imported_and_after_a_restart():
    parameters = [{"name": "n", "type": "integer", "min": 1, "max": 12}]
    with Server() as server:
        client = server.client()
        study = client.create(space(parameters, {"noise_std": 0}))["id"]
        history = [{"parameters": {"n": n}, "value": n / 10} for n in (3, 7)]
        assert client.post(f"/v1/studies/{study}/observations", {"observations": history}).status == 200
        chosen = drive(client, study, 4, lambda values: values["n"] / 10)
        server.kill()
        server.start()
        client = server.client()
        chosen += drive(client, study, 6, lambda values: values["n"] / 10)
        assert sorted(values["n"] for values in chosen) == [1, 2, 4, 5, 6, 8, 9, 10, 11, 12], chosen


@cases(
    {
        name: name
        for name in (
            "bkb gp_ucb igp_ucb gp_bucb gp_ts async_ts s_gp_ts gp_ei gp_pi log_ei epsilon_greedy uniform "
            "regularized_evolution"
        ).split()
    }
)
def test_every_algorithm(server, case):
    name = case
    client = server.client()
    body = space(horizon=30)
    body["algorithm"]["name"] = name
    if name in ("uniform", "regularized_evolution"):
        body["algorithm"] = {"name": name}
    study = client.create(body)["id"]
    for values in drive(client, study, 30):
        check_point(NESTED, values)
    assert client.study(study)["state"] == "finished"


def test_continued_after_a_restart_it_chooses_the_same():
    chosen = []
    for interrupted in (False, True):
        with Server() as server:
            client = server.client()
            client.create(space(id="study"))
            points = drive(client, "study", 15)
            if interrupted:
                server.kill()
                server.start()
                client = server.client()
            chosen.append(points + drive(client, "study", 15))
    assert chosen[0] == chosen[1]


def observations(server, body, content_type="application/json"):
    client = server.client()
    study = client.create(space())["id"]
    answer = client.post(f"/v1/studies/{study}/observations", body, content_type=content_type)
    return client, study, answer


def test_history_is_imported_by_name(server):
    points = [
        {"opti/mizer~": "adam", "größe": 16, "level": 2},
        {"opti/mizer~": "sgd", "größe": 32, "level": 1, "momentum": True, "decay": 2},
        {"opti/mizer~": "sgd", "größe": 64, "momentum": False},  # level has a default
    ]
    listed = [{"parameters": p, "value": loss({"level": 0, **p}), "repeats": i + 1} for i, p in enumerate(points)]
    columns = ["opti/mizer~", "größe", "level", "momentum", "decay"]
    table = [",".join([*columns, "value", "repeats"])]
    for one in listed:
        cells = [one["parameters"].get(name, "") for name in columns]
        cells = [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]
        table.append(",".join(map(str, [*cells, repr(one["value"]), one["repeats"]])))
    outcomes = []
    for body, content_type in (
        ({"observations": listed}, "application/json"),
        ("\n".join(table), "text/csv"),
    ):
        client, study, answer = observations(server, body, content_type)
        assert (answer.status, answer.json) == (200, {"accepted": 3, "first": 1, "last": 3}), answer
        client.ask(study)
        model = client.read(study, "model")
        assert model["observations"] == 6, model
        outcomes.append(client.predict(study, parameters=[{"level": 0, **point} for point in points]))
        best = client.read(study, "best")["recommended"]
        assert best["parameters"] == points[1], best
    assert outcomes[0] == outcomes[1]


@cases(
    {
        "unknown": ({"größe": 16, "opti/mizer~": "adam", "depth": 1}, "depth"),
        "of_another_type": ({"größe": "16", "opti/mizer~": "adam"}, "größe"),
        "not_a_value": ({"größe": 17, "opti/mizer~": "adam"}, "größe"),
        "no_such_word": ({"größe": 16, "opti/mizer~": "rmsprop"}, "opti~1mizer~0"),
        "out_of_range": ({"größe": 16, "opti/mizer~": "adam", "level": 3}, "level"),
        "not_whole": ({"größe": 16, "opti/mizer~": "adam", "level": 0.5}, "level"),
        "not_active": ({"größe": 16, "opti/mizer~": "adam", "momentum": True}, "momentum"),
        "missing": ({"größe": 16, "opti/mizer~": "sgd"}, "momentum"),
    }
)
def test_points_outside_the_space_are_refused(server, case):
    point, name = case
    client, study, answer = observations(server, {"observations": [{"parameters": point, "value": 1}]})
    refusal(answer, 422, f"/observations/0/parameters/{name}")
    answer = client.post(f"/v1/studies/{study}/predict", {"parameters": [point]})
    refusal(answer, 422, f"/parameters/0/{name}")
    assert client.study(study)["observations"] == 0


def test_what_belongs_to_other_domains_is_refused(server):
    client = server.client()
    study = client.create(space())["id"]
    refusal(client.post(f"/v1/studies/{study}/predict", {"points": [[1, 2, 3, 4, 5]]}), 422, "/points")
    refusal(client.put(f"/v1/studies/{study}/candidates", "1,2\n", content_type="text/csv"), 409)


NUMBER = {"name": "a", "type": "double", "min": 0, "max": 1}
FLAG = {"name": "b", "type": "boolean"}


@cases(
    {
        "min_not_below_max": ([{**NUMBER, "min": 1}], "/domain/parameters/0/max"),
        "wider_than_a_double": ([{**NUMBER, "min": -1e308, "max": 1e308}], "/domain/parameters/0/max"),
        "log_of_zero": ([{**NUMBER, "scale": "log"}], "/domain/parameters/0/min"),
        "two_of_one_name": ([FLAG, NUMBER, FLAG], "/domain/parameters/2/name"),
        "two_equal_numbers": (
            [{"name": "a", "type": "discrete", "values": [1, 2, 1.0]}],
            "/domain/parameters/0/values/2",
        ),
        "two_equal_words": (
            [{"name": "a", "type": "categorical", "values": ["x", "y", "x"]}],
            "/domain/parameters/0/values/2",
        ),
        "condition_on_nothing": (
            [{**NUMBER, "active_when": {"parameter": "c", "in": [True]}}],
            "/domain/parameters/0/active_when/parameter",
        ),
        "condition_on_no_value": (
            [FLAG, {**NUMBER, "active_when": {"parameter": "b", "in": [2]}}],
            "/domain/parameters/1/active_when/in/0",
        ),
        "conditions_in_a_cycle": (
            [
                {"name": "a", "type": "boolean", "active_when": {"parameter": "b", "in": [True]}},
                {"name": "b", "type": "boolean", "active_when": {"parameter": "a", "in": [True]}},
            ],
            "/domain/parameters/0/active_when/parameter",
        ),
        "default_out_of_range": ([{**NUMBER, "default": 2}], "/domain/parameters/0/default"),
        "without_parameters": ([], "/domain/parameters"),
    }
)
def test_refused_spaces(server, case):
    parameters, pointer = case
    body = space()
    body["domain"]["parameters"] = parameters
    refusal(server.client().post("/v1/studies", body), 422, pointer)


def test_pi_gp_ucb_needs_numbers(server):
    client = server.client()
    algorithm = {"name": "pi_gp_ucb", "kernel": {"type": "matern", "nu": 1.5, "lengthscale": 0.5}}
    refusal(client.post("/v1/studies", space(algorithm=algorithm)), 422, "/algorithm/name")
    numbers = [{"name": n, "type": "integer", "min": 0, "max": 20} for n in "ab"]
    study = client.create(space(numbers, algorithm, horizon=20))["id"]
    drive(client, study, 20, lambda values: (values["a"] - 7) ** 2 / 100 + (values["b"] - 2) ** 2 / 100)
    assert client.study(study)["state"] == "finished"


def test_lengthscales_one_a_parameter(server):
    client = server.client()
    five = {"kernel": {"type": "gaussian", "lengthscale": [0.3, 0.4, 0.5, 0.6, 0.7]}}
    study = client.create(space(algorithm=five))
    assert study["algorithm"]["kernel"]["lengthscale"] == five["kernel"]["lengthscale"], study
    drive(client, study["id"], 5)
    four = {"kernel": {"type": "gaussian", "lengthscale": [0.3, 0.4, 0.5, 0.6]}}
    refusal(client.post("/v1/studies", space(algorithm=four)), 422, "/algorithm/kernel/lengthscale")


# ---- asks that hold parameters ----


def ask_fixed(client, study, fixed, count=1, **fields):
    """Checks that the trials have these values. -> the trials"""
    answer = client.ask(study, count, fixed=fixed, **fields)
    for trial in answer["trials"]:
        assert {name: trial["parameters"].get(name) for name in fixed} == fixed, (fixed, trial)
        check_point(NESTED, trial["parameters"])
        assert (trial["state"], trial["attempt"]) == ("pending", 1), trial
    return answer["trials"]


@cases({"async": "async", "batch": "batch"})
def test_fixed_parameters_are_held(server, case):
    client = server.client()
    study = client.create(space(feedback=case))["id"]
    contexts = [{"größe": 16}, {"level": -2, "opti/mizer~": "sgd"}, {"größe": 64, "momentum": False}, {"decay": 3}]
    for i in range(24):
        (trial,) = ask_fixed(client, study, contexts[i % 4], worker="w")
        client.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])}])
        if i % 5 == 0:
            for trial in client.ask(study, worker="other")["trials"]:
                client.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])}])
    batches = client.items(f"/v1/studies/{study}/batches")
    view = client.study(study)
    assert sum(batch["size"] for batch in batches) == view["trials_completed"] + view["trials_queued"]
    # Given the others, the model knows what is best at once.
    client.ask(study, worker="w")
    (trial,) = ask_fixed(client, study, {"größe": 32, "level": 1}, worker="v")
    assert trial["parameters"]["opti/mizer~"] != "adam", trial


def test_fixed_picks_are_made_at_once_outside_the_queue(server):
    client = server.client()
    init = {"init": {"type": "uncertainty", "parallelism": 0.05}}
    study = client.create(space(feedback="batch", algorithm=init))["id"]
    (first,) = client.ask(study)["trials"]
    queued = client.items(f"/v1/studies/{study}/trials?state=queued")
    assert queued
    before = client.items(f"/v1/studies/{study}/batches")[-1]
    fixed = ask_fixed(client, study, {"level": 2}, 3, worker="w")
    assert [trial["id"] for trial in fixed] == [before["size"] + 1 + i for i in range(3)], fixed
    assert {trial["batch"] for trial in fixed} == {first["batch"]}
    after = client.items(f"/v1/studies/{study}/batches")
    assert [batch["size"] for batch in after] == [before["size"] + 3], after
    assert client.items(f"/v1/studies/{study}/trials?state=queued") == queued
    # Like any other: the batch ends when all of it is told.
    rest = client.ask(study, 100)["trials"]
    assert {trial["id"] for trial in queued} <= {trial["id"] for trial in rest}, (len(rest), len(queued))
    told = [{"trial": trial["id"], "value": loss(trial["parameters"])} for trial in (first, *rest)]
    client.tell(study, told)
    assert client.ask(study)["reason"] == "awaiting_feedback"
    client.tell(study, [{"trial": trial["id"], "value": loss(trial["parameters"])} for trial in fixed])
    assert client.ask(study)["trials"][0]["batch"] == first["batch"] + 1


def test_a_workers_own_trials_with_these_values_come_first(server):
    client = server.client()
    study = client.create(space())["id"]
    (one,) = ask_fixed(client, study, {"level": 2}, worker="w")
    (other,) = ask_fixed(client, study, {"level": -2}, worker="w")
    assert one["id"] != other["id"]
    (again,) = ask_fixed(client, study, {"level": 2}, worker="w")
    assert again["id"] == one["id"]
    (fresh,) = ask_fixed(client, study, {"level": 2}, worker="w", fresh=True)
    assert fresh["id"] not in (one["id"], other["id"])
    # Without values every trial is its own.
    assert {trial["id"] for trial in client.ask(study, 3, worker="w")["trials"]} == {
        trial["id"] for trial in (one, other, fresh)
    }


DEFAULTS = [
    {"name": "word", "type": "categorical", "values": ["x", "y", "z"], "default": "x"},
    {"name": "n", "type": "integer", "min": 1, "max": 4, "default": 2},
]


def with_defaults(name="log_ei", **fields):
    return {**space(DEFAULTS, **fields), "algorithm": {"name": name}}


@cases({name: name for name in ("log_ei", "bbkb", "gp_ei", "uniform")})
def test_the_first_ask_fixes_other_values_than_the_defaults(case):
    with Server() as server:
        client = server.client()
        study = client.create(with_defaults(case))["id"]
        (trial,) = client.ask(study, fixed={"word": "y"})["trials"]
        assert trial["parameters"]["word"] == "y", trial
        client.tell(study, [{"trial": trial["id"], "value": 1}])
        assert len(client.ask(study, 2)["trials"]) == 2
        server.stop()
        expect_sound(server.db, [study])


@cases({repeats: repeats for repeats in ("auto", "never")})
def test_the_defaults_are_infeasible(case):
    with Server() as server:
        client = server.client()
        study = client.create(with_defaults(repeats=case))["id"]
        defaults = {"word": "x", "n": 2}
        client.post(f"/v1/studies/{study}/trials", {"parameters": defaults})
        (trial,) = client.ask(study)["trials"]
        assert trial["parameters"] == defaults, trial
        client.tell(study, [{"trial": 1, "state": "infeasible"}])
        (trial,) = client.ask(study)["trials"]
        assert trial["parameters"] != defaults, trial
        server.stop()
        expect_sound(server.db, [study])


def test_a_log_in_which_the_first_ask_got_nothing(server):
    """Earlier versions found no point with other values than the defaults, and recorded this."""
    client = server.client()
    study = client.create(with_defaults("uniform"))["id"]
    client.ask(study, fixed={"word": "y"})
    lines = client.get(f"/v1/studies/{study}/export").body.decode().splitlines()
    assert json.loads(lines[-2])["type"] == "trial_issued", lines[-2]
    nothing = {"size": 0, "ratio": 1.0, "stop_rule": "exhausted", "picks": [], "held_picks": 0}
    header, *rest = altered(lines[:-2], "batch_planned", lambda payload: payload.update(nothing))
    entries = json.loads(rest[-1])["seq"]
    lines = [json.dumps({**json.loads(header), "entries": entries}), *rest, json.dumps({"end": entries})]
    with Server() as other:
        answer = other.client().post("/v1/studies", "\n".join(lines), content_type="application/x-ndjson")
        assert answer.status == 201, answer
        other.stop()
        expect_sound(other.db, [study])
        other.start()
        (trial,) = other.client().ask(study, fixed={"word": "y"})["trials"]
        assert trial["parameters"]["word"] == "y", trial
        other.stop()
        expect_sound(other.db, [study])


def test_a_repeated_fixed_ask_gets_the_same(server):
    client = server.client()
    study = client.create(space())["id"]
    body, headers = {"fixed": {"level": 2}}, {"Idempotency-Key": "a"}
    first = client.post(f"/v1/studies/{study}/ask", body, headers=headers)
    again = client.post(f"/v1/studies/{study}/ask", body, headers=headers)
    assert first.status == 200 and first.body == again.body, (first, again)
    assert client.study(study)["trials_pending"] == 1
    refusal(client.post(f"/v1/studies/{study}/ask", {"fixed": {"level": 1}}, headers=headers), 409)


def test_fixed_and_paused_and_at_the_horizon(server):
    client = server.client()
    study = client.create(space(horizon=3))["id"]
    assert client.request("PATCH", f"/v1/studies/{study}", {"state": "paused"}).status == 200
    assert client.ask(study, fixed={"level": 2}) == {"trials": [], "reason": "paused"}
    assert client.request("PATCH", f"/v1/studies/{study}", {"state": "active"}).status == 200
    answer = client.ask(study, 5, fixed={"level": 2})
    assert (len(answer["trials"]), answer["reason"]) == (3, "horizon_reached"), answer
    assert client.ask(study, fixed={"level": 2}) == {"trials": [], "reason": "horizon_reached"}


def test_a_held_ask_waits_like_any_other(server):
    client, other = server.client(), server.client()
    study = client.create(space())["id"]
    assert client.request("PATCH", f"/v1/studies/{study}", {"state": "paused"}).status == 200
    assert client.ask(study, fixed={"level": 2}, wait_seconds=0.5)["reason"] == "paused"
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(other.ask(study, fixed={"level": 2}, wait_seconds=60)))
    waiting.start()
    assert client.request("PATCH", f"/v1/studies/{study}", {"state": "active"}).status == 200
    waiting.join()
    (trial,) = answers[0]["trials"]
    assert trial["parameters"]["level"] == 2, trial


def test_a_worker_waits_while_the_last_points_are_out(server):
    """Nothing is left to pick, and nobody knows yet whether a trial will have to be repeated."""
    client, other = server.client(), server.client()
    study = client.create(space([{"name": "b", "type": "boolean"}], {"noise_std": 0}))["id"]
    held = [client.ask(study, fresh=True)["trials"][0] for _ in range(2)]
    assert client.ask(study, wait_seconds=0.3)["reason"] == "awaiting_feedback"
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(other.ask(study, wait_seconds=60)))
    waiting.start()
    client.tell(study, [{"trial": held[0]["id"], "value": 1}])
    client.tell(study, [{"trial": held[1]["id"], "value": 2}])
    waiting.join()
    assert answers == [{"trials": [], "reason": "finished"}], answers
    assert len(client.items(f"/v1/studies/{study}/batches")) < 10


def test_fixed_values_that_are_all_evaluated(server):
    client = server.client()
    parameters = [{"name": "n", "type": "integer", "min": 1, "max": 3}, {"name": "b", "type": "boolean"}]
    study = client.create(space(parameters, {"noise_std": 0}))["id"]
    for _ in range(2):
        (trial,) = client.ask(study, fixed={"n": 2})["trials"]
        assert trial["parameters"]["n"] == 2
        client.tell(study, [{"trial": trial["id"], "value": 1}])
    refusal(client.post(f"/v1/studies/{study}/ask", {"fixed": {"n": 2}}), 409)
    drive(client, study, 4, lambda values: values["n"])
    assert client.ask(study)["reason"] == "finished"


@cases(
    {
        "out_of_range": ({"level": 3}, "level"),
        "of_another_type": ({"level": "1"}, "level"),
        "unknown": ({"depth": 1}, "depth"),
        "not_active_with_the_others": ({"opti/mizer~": "adam", "momentum": True}, "momentum"),
        "not_active_two_levels_up": ({"opti/mizer~": "adam", "decay": 1}, "decay"),
        "no_such_word": ({"opti/mizer~": ""}, "opti~1mizer~0"),
    }
)
def test_refused_fixed_values(server, case):
    fixed, name = case
    client = server.client()
    study = client.create(space())["id"]
    refusal(client.post(f"/v1/studies/{study}/ask", {"fixed": fixed}), 422, f"/fixed/{name}")
    assert client.study(study)["batch"] == 0


def test_fixed_asks_need_a_space(server):
    client = server.client()
    domain = {"type": "candidates", "points": [[1], [2]]}
    study = client.create({**space(), "domain": domain})["id"]
    refusal(client.post(f"/v1/studies/{study}/ask", {"fixed": {"level": 1}}), 422, "/fixed")


def test_fixed_asks_continue_after_a_restart():
    chosen = []
    for interrupted in (False, True):
        with Server() as server:
            client = server.client()
            client.create(space(id="study"))
            points = []
            for step in range(12):
                fixed = [{"größe": 16}, {"level": 0}, {}][step % 3]
                (trial,) = client.ask("study", worker="w", fixed=fixed)["trials"]
                points.append(trial["parameters"])
                if interrupted and step % 3 != 2:
                    server.kill()
                    server.start()
                    client = server.client()
                client.tell("study", [{"trial": trial["id"], "value": loss(trial["parameters"])}])
            chosen.append((points, drive(client, "study", 10)))
    assert chosen[0] == chosen[1]
