"""Studies without a word about kernels: what is learned, in which units it is told, and that a restart at any
moment changes none of it."""

import math
import signal

from server import Server
from support import cases, grid, measure, target

ALGORITHMS = [
    "bbkb", "bkb", "gp_ucb", "igp_ucb", "gp_bucb", "gp_ts", "async_ts", "s_gp_ts", "pi_gp_ucb", "gp_ei", "gp_pi", "log_ei",
    "epsilon_greedy",
]  # fmt: skip


def learner(algorithm="bbkb", **fields):
    return {
        "id": "learner",
        "metric": {"name": "value", "goal": "maximize"},
        "domain": {"type": "candidates", "scaling": "none", "points": grid(12)},
        "algorithm": {"name": algorithm},
        "seed": 5,
        **fields,
    }


def tell(client, trials, of=lambda value: value, stray=None):
    results = [measure(trial) for trial in trials]
    for result in results:
        result["value"] = of(result["value"])
        if stray and result["trial"] % stray == 0:
            result["value"] *= 1000
    if results:
        client.tell("learner", results)


def test_defaults_are_stated(server):
    client = server.client()
    shown = client.create(learner(id="defaults"))["algorithm"]
    assert shown["kernel"] == {"type": "matern", "nu": 2.5, "lengthscale": "auto"}, shown
    assert shown["noise_std"] == shown["lambda"] == shown["norm_bound"] == "auto", shown
    assert shown["standardize_rewards"] is True
    shown = client.create(learner(id="given", algorithm="igp_ucb", horizon=100) | {"id": "given"})["algorithm"]
    assert shown["lambda"] == 1.02 and shown["noise_std"] == "auto", shown
    body = learner(id="told")
    body["algorithm"] = {"name": "bbkb", "noise_std": 0.5}
    shown = client.create(body)["algorithm"]
    assert shown["standardize_rewards"] is True and shown["norm_bound"] == shown["lambda"] == "auto", shown
    for number, given in enumerate(({"standardize_rewards": False}, {"norm_bound": 1}, {"lambda": 0.25}, {"confidence": "theory"})):
        body = learner(id=f"paper-{number}")
        body["algorithm"] = {"name": "bbkb", "noise_std": 0.5, **given}
        shown = client.create(body)["algorithm"]
        assert shown["standardize_rewards"] is False and shown["norm_bound"] == 1 and shown["lambda"] == 0.25, shown
    body = learner(id="linear")
    body["algorithm"] = {"kernel": {"type": "linear"}}
    shown = client.create(body)["algorithm"]
    assert "lengthscale" not in shown["kernel"] and shown["noise_std"] == "auto", shown


@cases({"maximize": ("maximize", 1), "minimize": ("minimize", -1)})
def test_model_is_told_in_the_metric_s_units(server, case):
    """Values around 5000 that spread over some hundred, with noise of 30."""
    goal, sign = case
    client = server.client()
    client.create(learner(metric={"name": "value", "goal": goal}, id="learner"))
    for _ in range(12):
        tell(client, client.ask("learner", 8)["trials"], lambda value: sign * (5000 + 300 * value))
    model = client.read("learner", "model")
    assert 10 < model["noise_std"] < 90, model
    assert 30 < model["signal_std"] < 3000, model
    assert 4500 < sign * model["offset"] < 5500, model
    assert len(model["lengthscales"]) == 2 and all(0.01 < l < 100 for l in model["lengthscales"]), model
    assert model["fitted_on"] > model["observations"] / 2, model
    assert model["set_aside"] == 0, model
    predictions = client.predict("learner", candidates=list(range(144)))
    for point, prediction in zip(grid(12), predictions):
        assert abs(prediction["mean"] - sign * (5000 + 300 * target(point))) < 90 + 4 * prediction["std"], prediction
        assert sign * (prediction["ucb"] - prediction["mean"]) > 0, prediction
    best = client.read("learner", "best")["recommended"]
    assert target(grid(12)[best["candidate"]]) > 0.9, best
    client.delete("/v1/studies/learner")


def outcome(client):
    return {
        "trials": [
            {key: value for key, value in trial.items() if not key.endswith("_at")}
            for trial in client.items("/v1/studies/learner/trials")
        ],
        "batches": [
            {key: value for key, value in batch.items() if not key.endswith(("_seconds", "_at"))}
            for batch in client.items("/v1/studies/learner/batches")
        ],
        "model": client.read("learner", "model"),
        "predictions": client.predict("learner", candidates=list(range(144))),
        "best": client.read("learner", "best"),
    }


def run(server, algorithm, restart_every, how):
    """60 trials, two or three asked at a time and told one by one, a stray among them now and then."""
    server.client().create(learner(algorithm))
    for step in range(24):
        trials = server.client().ask("learner", 2 + step % 2, wait_seconds=60)["trials"]
        assert trials, "nothing to do"
        if restart_every and step % restart_every == 1:
            how(server)
        tell(server.client(), trials[:1], stray=19)
        if restart_every and step % restart_every == 3:
            how(server)
        tell(server.client(), trials[1:], stray=19)
    return outcome(server.client())


def killed(server):
    server.kill()
    server.start()


def stopped(server):
    server.stop(signal.SIGTERM)
    server.start()


@cases({name: name for name in ALGORITHMS})
def test_restarts_change_nothing_that_is_learned(case):
    with Server() as server:
        undisturbed = run(server, case, None, None)
    with Server() as server:
        assert run(server, case, 6, killed) == undisturbed
    if case == "bbkb":
        with Server() as server:
            assert run(server, case, 4, stopped) == undisturbed
        assert undisturbed["model"]["fitted_on"] > 20, undisturbed["model"]


SPACE = [
    {"name": "rate", "type": "double", "min": 1e-5, "max": 1, "scale": "log"},
    {"name": "width", "type": "integer", "min": 1, "max": 64},
    {"name": "kind", "type": "categorical", "values": ["a", "b", "c"]},
    {"name": "slope", "type": "double", "min": 0, "max": 1, "active_when": {"parameter": "kind", "in": ["b"]}},
]


def loss(point):
    branch = {"a": 0.3, "b": (point.get("slope", 0) - 0.7) ** 2, "c": 0.8}[point["kind"]]
    return (math.log10(point["rate"]) + 2.5) ** 2 + ((point["width"] - 20) / 30) ** 2 + branch


def run_in_a_space(server, disturb=None):
    client = server.client()
    client.create(learner(domain={"type": "space", "parameters": SPACE}, metric={"name": "loss", "goal": "minimize"}))
    for step in range(25):
        trials = server.client().ask("learner", 2)["trials"]
        if disturb and step % 5 == 1:
            disturb(server)
        results = [{"trial": trial["id"], "value": loss(trial["parameters"])} for trial in trials]
        for result in results:
            if result["trial"] % 17 == 0:
                result["value"] *= 1000
            if result["trial"] % 11 == 0:
                result.pop("value")
                result["state"] = "failed"
        server.client().tell("learner", results)
    client = server.client()
    trials = [
        {key: value for key, value in trial.items() if not key.endswith("_at")}
        for trial in client.items("/v1/studies/learner/trials")
    ]
    return trials, client.read("learner", "model"), client.read("learner", "best")


def test_restarts_in_a_space_change_nothing():
    """All is left to the defaults: conditions, failed trials and strays; and what is found is good."""
    with Server() as server:
        undisturbed = run_in_a_space(server)
    with Server() as server:
        assert run_in_a_space(server, killed) == undisturbed
    trials, model, best = undisturbed
    closed = [trial for trial in trials if trial["state"] in ("completed", "failed")]
    assert len(closed) == 50 and model["fitted_on"] > 30, model  # each ask for two is answered with two
    assert best["observed"]["value"] < 0.1, best
    assert loss(best["recommended"]["parameters"]) < 0.1, best


def test_imports_are_learned_from(server):
    client = server.client()
    client.create(learner())
    points = grid(12)
    known = [{"candidate": n, "value": 100 * target(points[n])} for n in range(0, 144, 2)]
    answer = client.post("/v1/studies/learner/observations", {"observations": known})
    assert answer.status == 200, answer
    trials = client.ask("learner", 1)["trials"]
    assert target(points[trials[0]["candidate"]]) > 0.9, trials
    model = client.read("learner", "model")
    assert model["observations"] == model["fitted_on"] == 72, model
    client.delete("/v1/studies/learner")
