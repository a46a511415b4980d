"""Definitions as users wrote them before studies had an aim: what they leave out must stay what it was then."""

from goes_on import PLACES, value_of

LEASE = 31536000  # a year; afterwards the trials are handed out again, to the same end
CANDIDATES = {"type": "candidates", "points": PLACES[::3]}
OPEN = [{"name": "x", "type": "double", "min": 0, "max": 1}, {"name": "kind", "type": "categorical", "values": ["a", "b"]}]
WHOLE = [{"name": "n", "type": "integer", "min": 0, "max": 9}, OPEN[1]]
DOMAINS = {
    "candidates": CANDIDATES,
    "open": {"type": "space", "parameters": OPEN},
    "enumerated": {"type": "space", "parameters": WHOLE},
}
# name: the algorithm; None: the definition has none
ALGORITHMS = {
    "unsaid": None,
    "unnamed": {"kernel": {"type": "matern", "nu": 1.5}},
    "noise": {"noise_std": 0.1},
    "noise-learned-scale": {"noise_std": 0.1, "standardize_rewards": True},
    "lengthscale": {"kernel": {"type": "gaussian", "lengthscale": 0.3}},
    "lambda": {"lambda": 0.5},
    "norm-bound": {"norm_bound": 2},
    "theory": {"confidence": "theory"},
}


GIVEN = {"kernel": {"type": "gaussian", "lengthscale": 0.3}, "noise_std": 0.1}  # for programs that did not learn
FEW = {"uniform": {"max_batch": 16}}


def bodies(names):
    """Definitions: what is left out on every domain, and every algorithm by its name alone."""
    for domain, described in DOMAINS.items():
        named = {name.replace("_", "-"): {"name": name, **FEW.get(name, {})} for name in names if domain == "candidates"}
        for name, algorithm in {**ALGORITHMS, **named}.items():
            body = {"id": f"{domain}-{name}", "metric": {"name": "value", "goal": "maximize"}, "seed": len(name)}
            body |= {"domain": described, "lease_seconds": LEASE} | ({} if algorithm is None else {"algorithm": algorithm})
            yield body
    yield {**body, "id": "batch", "domain": CANDIDATES, "algorithm": {"noise_std": 0.1}, "feedback": "batch"}


def create(client, body):
    """-> whether the program can do it"""
    answer = client.post("/v1/studies", body)
    if answer.status != 201 and b"not built yet" in answer.body:
        given = body.get("algorithm", {})
        kernel = {**GIVEN["kernel"], **given.get("kernel", {})}
        answer = client.post("/v1/studies", {**body, "algorithm": {**GIVEN, **given, "kernel": kernel}})
    if answer.status != 201:
        print(f"left out: {body['id']}: {answer.body.decode()}")
    return answer.status == 201


def fill(client):
    """Such studies with eight results each, and two trials that are out."""
    names = [a["name"] for a in client.get("/v1/algorithms").json["algorithms"]]
    for body in bodies(names):
        study, told = body["id"], 0
        if not create(client, body):
            continue
        while told < 8:
            trials = client.ask(study, 2, worker="w", wait_seconds=30)["trials"]
            client.tell(study, [{"trial": trial["id"], "value": value_of(trial)} for trial in trials])
            told += len(trials)
        client.ask(study, 2, worker="w", wait_seconds=30)
