"""Every algorithm over HTTP: to the end of a study, and through a restart; /v1/algorithms against openapi.yaml."""

import math
import pathlib
import re
import subprocess

from server import Server
from support import cases, definition, grid, refusal, work

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL_FREE = ("uniform", "regularized_evolution")
# Other ways to run one of them, as "name-way".
WAYS = {"s_gp_ts-features": {"posterior": "features", "features": "eigen", "inducing": 40}, "s_gp_ts-dtc": {"posterior": "dtc"}}


def listed(client):
    answer = client.get("/v1/algorithms")
    assert answer.status == 200, answer
    return {a["name"]: a for a in answer.json["algorithms"]}


def study_of(name, **changes):
    """A definition for this algorithm, with what it needs and nothing else."""
    study = definition(points=grid(5), horizon=30, **changes)
    algorithm = {"name": name.split("-")[0], **WAYS.get(name, {})}
    if name not in MODEL_FREE:
        algorithm |= {"kernel": {"type": "matern", "nu": 1.5, "lengthscale": 0.4}, "noise_std": 0.1}
    return {**study, "algorithm": algorithm}


def schemas(client):
    """openapi.yaml's algorithms: {name: names of its options}"""
    text = client.get("/openapi.yaml").body.decode()
    blocks = re.split(r"^    (?=[A-Z]\w*:$)", text, flags=re.M)
    found = {}
    for block in blocks:
        name = re.search(r"^        name: \{type: string, enum: \[([a-z_]+)\]\}$", block, re.M)
        if name:
            options = re.findall(r"^        ([a-z_]+):", block[name.end() :], re.M)
            found[name[1]] = set(options)
    return found


def test_the_list_and_the_contract_agree(server):
    names = listed(server.client())
    assert len(names) == 15, sorted(names)
    contract = schemas(server.client())
    assert {n: {p["name"] for p in a["parameters"]} for n, a in names.items()} == contract
    for algorithm in names.values():
        for parameter in algorithm["parameters"]:
            assert parameter["description"].endswith(".") and isinstance(parameter["range"], dict), parameter


def test_the_page_is_the_generated_one(server):
    answer = server.client().get("/v1/algorithms")
    tool = [ROOT / "docs" / "make-algorithms", "--print"]
    done = subprocess.run(tool, input=answer.body, capture_output=True, check=True)
    assert done.stdout == (ROOT / "docs" / "algorithms.md").read_bytes(), "run docs/make-algorithms"


def test_every_algorithm_reaches_the_end_in_both_ways_of_feedback(server):
    client = server.client()
    for name in listed(client):
        for feedback in ("batch", "async"):
            study = client.create(study_of(name, feedback=feedback))["id"]
            chosen = work(client, study, 30, 3)
            assert len(chosen) == 30, (name, feedback, len(chosen))
            client.ask(study, wait_seconds=1)
            shown = client.study(study)
            assert (shown["state"], shown["trials_completed"]) == ("finished", 30), (name, feedback, shown)
            best = client.read(study, "best")
            assert best["recommended"] is not None, (name, feedback)
            status = client.get(f"/v1/studies/{study}/model").status
            assert status == (409 if name in MODEL_FREE else 200), (name, status)


def test_the_width_is_that_of_its_gamma(server):
    """gp_ts: B + R sqrt(2 (gamma + 1 + ln(2/delta))); here B = 1, R = 0.1."""
    client = server.client()

    def gamma(**options):
        algorithm = {"name": "gp_ts", "kernel": {"type": "gaussian", "lengthscale": 0.3}, "noise_std": 0.1, "delta": 0.01}
        algorithm["standardize_rewards"] = False
        study = client.create({**definition(grid(3)), "feedback": "async", "algorithm": {**algorithm, **options}})["id"]
        work(client, study, 12, 2)
        client.ask(study, wait_seconds=30)
        model = client.read(study, "model")
        return ((model["beta"] - 1) / 0.1) ** 2 / 2 - 1 - math.log(2 / 0.01), model["information_gain"]

    assert abs(gamma(gamma=3.5)[0] - 3.5) < 1e-9 and abs(gamma(gamma=14)[0] - 14) < 1e-9
    exact, gain = gamma(gamma="exact")
    once, four = gamma(gamma="bound")[0], gamma(gamma="bound", gamma_scale=4)[0]
    assert exact <= gain + 1e-9 < once and abs(four - 4 * once) < 1e-9 * four, (exact, gain, once, four)


def test_before_the_first_batch_the_bound_is_that_of_the_first_batch(server):
    """Of the prior: mean 0, standard deviation 1 and the width before the first result, for both goals."""
    client = server.client()
    numbers = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "ab"]
    domains = ({}, {"domain": {"type": "space", "parameters": numbers}})
    for name in [*listed(client), *WAYS]:
        for goal, domain in zip(("maximize", "minimize"), domains):
            body = {**study_of(name), **domain, "metric": {"name": "y", "goal": goal}}
            if name.split("-")[0] in MODEL_FREE or (name in WAYS and domain):
                continue
            study = client.create(body)["id"]
            places = {"parameters": [{"a": 0.3, "b": 0.4}]} if domain else {"candidates": [7]}
            seen = []
            for begun in (False, True):
                if begun:
                    assert client.ask(study, wait_seconds=30)["trials"]
                (shown,) = client.predict(study, **places)
                model = client.read(study, "model")
                width = model["beta"] / math.sqrt(model["lambda"])
                bounded = name.split("-")[0] not in ("gp_ei", "gp_pi", "epsilon_greedy")
                assert (width > 0.1) == bounded, (name, model)
                expected = shown["mean"] + (width if goal == "maximize" else -width) * shown["std"]
                assert math.isclose(shown["ucb"], expected, rel_tol=1e-9, abs_tol=1e-12), (name, goal, shown, model)
                assert name != "log_ei" or math.isclose(width, 2.0, rel_tol=1e-12), model
                seen.append((shown["mean"], shown["std"], width))
            for mean, std, width in seen:
                assert abs(mean) < 1e-12 and math.isclose(std, 1, rel_tol=1e-9), (name, goal, seen)
                assert math.isclose(width, seen[0][2], rel_tol=1e-12), (name, goal, seen)


def test_coins_a_pull_forget_arms_that_coins_an_arm_keep(server):
    client = server.client()
    sizes = {}
    for way in ("fresh", "per_pull"):
        study = client.create(definition(grid(4), algorithm={"resample": way, "q_bar": 1}))["id"]
        work(client, study, 120, 8)
        sizes[way] = client.read(study, "model")["dictionary"]["size"]
    assert 0 < sizes["per_pull"] < sizes["fresh"] <= 16, sizes


def test_every_algorithm_goes_on_after_a_restart_as_without_one():
    with Server() as server:
        names = [*listed(server.client()), *WAYS]
        choices = {name: [] for name in names}
        for name in names:
            client = server.client()
            for kind in ("straight", "cut"):
                client.create({**study_of(name, feedback="batch"), "id": f"{kind}-{name.replace('_', '-')}"})
        for name in names:
            client = server.client()
            straight = work(client, f"straight-{name.replace('_', '-')}", 30, 1)
            choices[name] = straight
            work(client, f"cut-{name.replace('_', '-')}", 11, 1)
        server.kill()
        server.start()
        for name in names:
            client = server.client()
            study = f"cut-{name.replace('_', '-')}"
            rest = work(client, study, 19, 1)
            assert rest == choices[name][11:], (name, rest, choices[name])


WRONG = {
    "bbkb": ("ratio_bound", 0.5),
    "bkb": ("q_bar", 0),
    "gp_ucb": ("gamma", "guess"),
    "igp_ucb": ("delta", 1.5),
    "gp_bucb": ("ratio_bound", 0.9),
    "gp_ts": ("scale", 0),
    "async_ts": ("scale", -1),
    "s_gp_ts": ("inducing", -1),
    "pi_gp_ucb": ("initial_cells", -1),
    "gp_ei": ("zeta", -1),
    "gp_pi": ("zeta", -0.5),
    "log_ei": ("zeta", 0.01),
    "epsilon_greedy": ("epsilon", 1.5),
    "uniform": ("max_arm_failures", 0),
    "regularized_evolution": ("population", 0),
}


@cases(WRONG)
def test_a_wrong_parameter_is_refused(server, case):
    name = next(n for n, wrong in WRONG.items() if wrong is case)
    field, value = case
    study = study_of(name)
    study["algorithm"][field] = value
    refusal(server.client().post("/v1/studies", study), 422, f"/algorithm/{field}")


def test_a_parameter_of_another_algorithm_is_refused(server):
    client = server.client()
    everything = {p["name"] for a in listed(client).values() for p in a["parameters"]}
    given = {"kernel": {"type": "gaussian", "lengthscale": 1}, "confidence": "theory", "init": {"type": "uniform"}}
    words = {"batch_rule": "global", "resample": "fresh", "posterior": "dtc", "features": "rff", "gamma": "exact"}
    for name, algorithm in listed(client).items():
        for field in everything - {p["name"] for p in algorithm["parameters"]}:
            study = study_of(name)
            study["algorithm"][field] = given.get(field, words.get(field, False if field == "standardize_rewards" else 0.5 if field in ("delta", "epsilon") else 1))
            refusal(client.post("/v1/studies", study), 422, f"/algorithm/{field}")
