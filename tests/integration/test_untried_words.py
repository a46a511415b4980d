"""Words of a categorical parameter that none of many results has: the search tries each of them."""

from support import cases

SEEDS = 3


def space(word):
    numbers = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]
    return {"type": "space", "parameters": [word, *numbers]}


CATALYSTS = {"name": "w", "type": "categorical", "values": ["a", "b", "c"]}
SWITCH = {"name": "w", "type": "boolean"}
ONE = {"metric": {"name": "value", "goal": "maximize"}}
BOUNDED = {"metrics": [{"name": "value", "goal": "maximize"}, {"name": "cost", "role": "constraint", "at_most": 9}]}
# the parameter, the metrics, the words with results, and the one without
CASES = {
    "words": (CATALYSTS, ONE, ["a", "b"], "c"),
    "a switch": (SWITCH, ONE, [False], True),
    "with a bound": (CATALYSTS, BOUNDED, ["a", "b"], "c"),
}
OFFSETS = {"a": 0.1, "b": 0.2, False: 0.2}


def value(parameters):
    """The word without results is the best by far."""
    x, y = parameters["x"], parameters["y"]
    return OFFSETS.get(parameters["w"], 1) - 2 * (x - 0.6) ** 2 - 2 * (y - 0.4) ** 2


def result(trial, metrics):
    told = value(trial["parameters"])
    return {"trial": trial["id"], **({"value": told} if metrics is ONE else {"values": {"value": told, "cost": 1}})}


def trials(client, study, metrics, n):
    """-> the words of n trials"""
    words = []
    for _ in range(n):
        (trial,) = client.ask(study, wait_seconds=60)["trials"]
        words.append(trial["parameters"]["w"])
        client.tell(study, [result(trial, metrics)])
    return words


def searched(client, name, case, revision, seed):
    """A study with the results of a search that has found the best of the other words.  -> its id"""
    parameter, metrics, known, _ = case
    algorithm = {"name": "log_ei", "revision": revision}
    body = {**metrics, "seed": seed, "algorithm": algorithm}
    fewer = {**parameter, "values": known} if parameter is CATALYSTS else parameter
    old = client.create({**body, "id": f"{name}-old", "domain": space(fewer)})["id"]
    for n in range(60):
        fixed = {"fixed": {"w": known[0]}} if parameter is SWITCH else {}
        (trial,) = client.ask(old, wait_seconds=60, **fixed)["trials"]
        client.tell(old, [result(trial, metrics)])
    return client.create({**body, "id": name, "domain": space(parameter), "history_from": old})["id"]


@cases(CASES)
def test_a_word_without_results_is_tried(server, case):
    client = server.client()
    name = "tried-" + str(list(CASES.values()).index(case))
    for seed in range(SEEDS):
        study = searched(client, f"{name}-{seed}", case, 3, seed)
        words = trials(client, study, case[1], 4)
        assert case[3] in words, (seed, words)
        reasons = [client.get(f"/v1/studies/{study}/trials/{n + 1}/why").json for n in range(4)]
        first = words.index(case[3])
        assert [n for n, why in enumerate(reasons) if why["rule"] == "untried_word"] == [first], reasons
        assert reasons[first]["sentence"] == "Tries a word that no result has.", reasons
        assert all(why["score"] is not None for why in reasons), reasons


def test_an_older_study_may_never_try_it(server):
    client = server.client()
    found = [trials(client, searched(client, f"older-{seed}", CASES["words"], 2, seed), ONE, 12) for seed in range(SEEDS)]
    assert any("c" not in words for words in found), found


def test_few_results_leave_the_words_to_the_model(server):
    """Of 60 results for 40 words no share is kept for those without a result: nearly all trials are of the good words."""
    client = server.client()
    words = [f"w{i}" for i in range(40)]
    domain = space({"name": "w", "type": "categorical", "values": words})
    picks = {}
    for revision in (2, 3):
        study = client.create({**ONE, "seed": 1, "domain": domain, "algorithm": {"name": "log_ei", "revision": revision}})["id"]
        rows = [{"w": words[i % 4], "x": (7 * i % 60) / 60, "y": (11 * i % 60) / 60} for i in range(60)]
        told = [{"parameters": row, "value": -value({**row, "w": "a"}) * (1 + i % 4)} for i, row in enumerate(rows)]
        assert client.post(f"/v1/studies/{study}/observations", {"observations": told}).status == 200
        picks[revision] = trials(client, study, ONE, 8)
    assert picks[2] == picks[3], picks
