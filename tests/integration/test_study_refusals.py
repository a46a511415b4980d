"""Every refusal of a study's definition, and that nothing is left half created."""

import copy
import json

from support import cases, definition, refusal

JSON = "application/json"


def changed(*path_and_value, without=None):
    """A definition with the member at `path` set to the value, or without the member at `without`."""
    body = copy.deepcopy(definition(id="refused"))
    *path, value = path_and_value or (None,)
    steps = without or path
    place = body
    for step in steps[:-1]:
        place = place[step]
    if without:
        del place[steps[-1]]
    else:
        place[steps[-1]] = value
    return body


def domain(**fields):
    return {**definition(id="refused"), "domain": {"type": "candidates", **fields}}


STUDIES = {
    # name: (the body, the pointer that must be named)
    "not_an_object": ([], ""),
    "unknown_field": (changed("colour", "blue"), "/colour"),
    "unknown_field_of_metric": (changed("metric", "aim", "up"), "/metric/aim"),
    "unknown_field_of_domain": (changed("domain", "dimensions", 2), "/domain/dimensions"),
    "unknown_field_of_algorithm": (changed("algorithm", "lamda", 1), "/algorithm/lamda"),
    "unknown_field_of_kernel": (changed("algorithm", "kernel", "length", 1), "/algorithm/kernel/length"),
    "unknown_field_with_a_slash": (changed("algorithm", "a/b~c", 1), "/algorithm/a~1b~0c"),
    "id_with_capitals": (changed("id", "Refused"), "/id"),
    "id_with_a_slash": (changed("id", "a/b"), "/id"),
    "id_empty": (changed("id", ""), "/id"),
    "id_too_long": (changed("id", "a" * 64), "/id"),
    "id_a_number": (changed("id", 5), "/id"),
    "metric_missing": (changed(without=["metric"]), "/metric"),
    "metric_a_string": (changed("metric", "value"), "/metric"),
    "metric_without_name": (changed(without=["metric", "name"]), "/metric/name"),
    "metric_without_goal": (changed(without=["metric", "goal"]), "/metric/goal"),
    "metric_goal_unknown": (changed("metric", "goal", "up"), "/metric/goal"),
    "metric_role_alone_recorded": (changed("metric", "role", "recorded"), "/metric/role"),
    "metric_and_metrics": (changed("metrics", [{"name": "b", "goal": "minimize"}]), "/metric"),
    "labels_of_numbers": (changed("labels", {"team": 5}), "/labels/team"),
    "metadata_a_list": (changed("metadata", []), "/metadata"),
    "domain_missing": (changed(without=["domain"]), "/domain"),
    "domain_without_type": (changed(without=["domain", "type"]), "/domain/type"),
    "domain_type_unknown": (changed("domain", "type", "circle"), "/domain/type"),
    "domain_precomputed_without_size": (changed("domain", {"type": "precomputed"}), "/domain/size"),
    "domain_precomputed_too_large": (changed("domain", {"type": "precomputed", "size": 5001}), "/domain/size"),
    "domain_precomputed_with_points": (
        changed("domain", {"type": "precomputed", "size": 1, "points": [[1]]}),
        "/domain/points",
    ),
    "domain_precomputed_with_another_kernel": (
        changed("domain", {"type": "precomputed", "size": 5}),
        "/algorithm/kernel/type",
    ),
    "dimension_missing": (domain(), "/domain/dimension"),
    "dimension_zero": (domain(dimension=0), "/domain/dimension"),
    "dimension_a_string": (domain(dimension="2"), "/domain/dimension"),
    "dimension_a_fraction": (domain(dimension=2.5), "/domain/dimension"),
    "dimension_of_other_points": (domain(dimension=3, points=[[1, 2]]), "/domain/dimension"),
    "points_empty": (domain(points=[]), "/domain/points"),
    "points_of_nothing": (domain(points=[[]]), "/domain/points/0"),
    "points_ragged": (domain(points=[[1, 2], [3]]), "/domain/points/1"),
    "points_with_a_string": (domain(points=[[1, 2], [3, "4"]]), "/domain/points/1/1"),
    "points_with_a_boolean": (domain(points=[[1, True]]), "/domain/points/0/1"),
    "points_with_null": (domain(points=[[1, None]]), "/domain/points/0/1"),
    "scaling_unknown": (changed("domain", "scaling", "log"), "/domain/scaling"),
    "names_too_few": (changed("domain", "names", ["x"]), "/domain/names"),
    "names_twice": (changed("domain", "names", ["x", "x"]), "/domain/names/1"),
    "algorithm_a_string": (changed("algorithm", "bbkb"), "/algorithm"),
    "algorithm_unknown": (changed("algorithm", "name", "magic"), "/algorithm/name"),
    "lambda_zero": (changed("algorithm", "lambda", 0), "/algorithm/lambda"),
    "lambda_a_boolean": (changed("algorithm", "lambda", True), "/algorithm/lambda"),
    "lambda_a_string": (changed("algorithm", "lambda", "0.01"), "/algorithm/lambda"),
    "noise_negative": (changed("algorithm", "noise_std", -1), "/algorithm/noise_std"),
    "noise_whose_square_is_no_double": (changed("algorithm", {"noise_std": 1e200}), "/algorithm/noise_std"),
    "noise_unknown_word": (changed("algorithm", "noise_std", "automatic"), "/algorithm/noise_std"),
    "norm_bound_unknown_word": (changed("algorithm", "norm_bound", "learned"), "/algorithm/norm_bound"),
    "lambda_unknown_word": (changed("algorithm", "lambda", "noise"), "/algorithm/lambda"),
    "delta_zero": (changed("algorithm", "delta", 0), "/algorithm/delta"),
    "delta_one": (changed("algorithm", "delta", 1), "/algorithm/delta"),
    "q_bar_zero": (changed("algorithm", "q_bar", 0), "/algorithm/q_bar"),
    "q_bar_unknown_word": (changed("algorithm", "q_bar", "auto"), "/algorithm/q_bar"),
    "ratio_bound_below_one": (changed("algorithm", "ratio_bound", 0.5), "/algorithm/ratio_bound"),
    "batch_rule_unknown": (changed("algorithm", "batch_rule", "local"), "/algorithm/batch_rule"),
    "confidence_unknown": (changed("algorithm", "confidence", "high"), "/algorithm/confidence"),
    "confidence_negative": (changed("algorithm", "confidence", {"beta": -1}), "/algorithm/confidence/beta"),
    "resample_unknown": (changed("algorithm", "resample", "never"), "/algorithm/resample"),
    "max_batch_without_end": (changed("algorithm", "max_batch", 2**31 - 1), "/algorithm/max_batch"),
    "max_batch_zero": (changed("algorithm", "max_batch", 0), "/algorithm/max_batch"),
    "init_unknown": (changed("algorithm", "init", {"type": "sobol"}), "/algorithm/init/type"),
    "init_parallelism_of_uniform": (
        changed("algorithm", "init", {"type": "uniform", "parallelism": 4}),
        "/algorithm/init/parallelism",
    ),
    "init_uncertainty_of_uniform": (
        changed("algorithm", {"name": "uniform", "init": {"type": "uncertainty"}}),
        "/algorithm/init/type",
    ),
    "gamma_scale_of_a_gamma": (
        changed("algorithm", {"name": "gp_ts", "noise_std": 0.1, "gamma": 3, "gamma_scale": 2}),
        "/algorithm/gamma_scale",
    ),
    "population_of_bbkb": (changed("algorithm", "population", 100), "/algorithm/population"),
    "epsilon_of_bbkb": (changed("algorithm", "epsilon", 0.1), "/algorithm/epsilon"),
    "standardize_rewards_word": (
        changed("algorithm", "standardize_rewards", "auto"),
        "/algorithm/standardize_rewards",
    ),
    "kernel_unknown": (changed("algorithm", "kernel", "type", "cubic"), "/algorithm/kernel/type"),
    "kernel_precomputed_for_points": (
        changed("algorithm", "kernel", {"type": "precomputed"}),
        "/algorithm/kernel/type",
    ),
    "nu_of_gaussian": (changed("algorithm", "kernel", "nu", 2.5), "/algorithm/kernel/nu"),
    "nu_not_closed": (
        changed("algorithm", "kernel", {"type": "matern", "nu": 2, "lengthscale": 1}),
        "/algorithm/kernel/nu",
    ),
    "lengthscale_zero": (changed("algorithm", "kernel", "lengthscale", 0), "/algorithm/kernel/lengthscale"),
    "lengthscale_unknown_word": (
        changed("algorithm", "kernel", "lengthscale", "theory"),
        "/algorithm/kernel/lengthscale",
    ),
    "lengthscale_auto_of_linear": (
        changed("algorithm", "kernel", {"type": "linear", "lengthscale": "auto"}),
        "/algorithm/kernel/lengthscale",
    ),
    "lengthscale_of_linear": (
        changed("algorithm", "kernel", {"type": "linear", "lengthscale": 1}),
        "/algorithm/kernel/lengthscale",
    ),
    "lengthscales_too_many": (
        changed("algorithm", "kernel", "lengthscale", [1, 1, 1]),
        "/algorithm/kernel/lengthscale",
    ),
    "lengthscales_one_negative": (
        changed("algorithm", "kernel", "lengthscale", [1, -1]),
        "/algorithm/kernel/lengthscale/1",
    ),
    "horizon_zero": (changed("horizon", 0), "/horizon"),
    "horizon_a_fraction": (changed("horizon", 1.5), "/horizon"),
    "seed_a_string": (changed("seed", "7"), "/seed"),
    "seed_too_large": (changed("seed", 2**53), "/seed"),
    "seed_negative": (changed("seed", -1), "/seed"),
    "aim_unknown": (changed("aim", "worst"), "/aim"),
    "aim_of_log_ei": ({**definition(), "aim": "regret", "algorithm": {"name": "log_ei"}}, "/aim"),
    "option_of_another_aim": ({**definition(), "aim": "best", "algorithm": {"q_bar": 2}}, "/algorithm/q_bar"),
    "feedback_unknown": (changed("feedback", "later"), "/feedback"),
    "min_in_flight_of_batch": (changed("min_in_flight", 4), "/min_in_flight"),
    "lease_zero": (changed("lease_seconds", 0), "/lease_seconds"),
    "max_attempts_zero": (changed("max_attempts", 0), "/max_attempts"),
}


@cases(STUDIES)
def test_study(server, case):
    body, pointer = case
    client = server.client()
    refusal(client.post("/v1/studies", json.dumps(body), content_type=JSON), 422, pointer)
    refusal(client.get("/v1/studies/refused"), 404)


ALGORITHMS = (
    "bbkb bkb gp_ucb igp_ucb gp_bucb gp_ts async_ts s_gp_ts pi_gp_ucb gp_ei gp_pi log_ei epsilon_greedy uniform "
    "regularized_evolution"
).split()
WITHOUT_MODEL = {"uniform", "regularized_evolution"}


@cases({name: name for name in ALGORITHMS})
def test_an_algorithm_is_refused_or_is_what_runs(server, case):
    """Never a silent stand-in: an algorithm that is not built is refused by its name."""
    client = server.client()
    algorithm = {"name": case}
    if case not in WITHOUT_MODEL:
        algorithm.update(kernel={"type": "matern", "nu": 2.5, "lengthscale": 1}, noise_std=0.1)
    answer = client.post("/v1/studies", {**definition(id="algorithm"), "feedback": "async", "algorithm": algorithm})
    if answer.status == 201:
        assert answer.json["algorithm"]["name"] == case, answer
        assert client.ask("algorithm")["trials"]
        assert client.delete("/v1/studies/algorithm").status == 204
    else:
        refusal(answer, 422, "/algorithm/name")
    refusal(client.get("/v1/studies/algorithm"), 404)


def test_all_problems_are_named_at_once(server):
    body = changed("algorithm", "lambda", 0)
    body["colour"] = "blue"
    body["seed"] = "7"
    problem = refusal(server.client().post("/v1/studies", body), 422)
    named = {error["pointer"] for error in problem["errors"]}
    assert {"/algorithm/lambda", "/colour", "/seed"} <= named, problem


MALFORMED = {
    "empty": b"",
    "cut_off": b'{"metric": {"name": "value"',
    "text": b"hello",
    "two_values": b"{} {}",
    "duplicate_key": b'{"id": "refused", "id": "refused"}',
    "duplicate_key_inside": b'{"metric": {"name": "a", "name": "b"}}',
    "nan": b'{"horizon": NaN}',
    "infinity": b'{"optimum": Infinity}',
    "beyond_doubles": b'{"optimum": 1e999}',
    "not_utf8": b'{"id": "\xff\xfe"}',
    "nul_in_a_string": b'{"id": "\\u0000"}',
    "nested_too_deep": b"[" * 100000,
    "single_quotes": b"{'id': 'refused'}",
}


@cases(MALFORMED)
def test_malformed(server, case):
    client = server.client()
    refusal(client.post("/v1/studies", case, content_type=JSON), 400)
    refusal(client.get("/v1/studies/refused"), 404)


def test_taken_id(server):
    client = server.client()
    client.create(definition(id="taken"))
    refusal(client.post("/v1/studies", definition(id="taken", horizon=5)), 409)
    assert "horizon" not in client.study("taken")


def test_an_unknown_type_does_not_hide_unknown_members(server):
    new = definition()
    new["domain"] = {"type": "space", "parameters": [{"name": "x", "type": "float", "low": 0, "max": 1}]}
    problem = refusal(server.client().post("/v1/studies", new), 422)
    pointers = [error["pointer"] for error in problem["errors"]]
    assert pointers == ["/domain/parameters/0/type", "/domain/parameters/0/low"], problem


def test_an_option_of_another_algorithm_is_named_beside_other_errors(server):
    algorithm = {"name": "bbkb", "epsilon": 0.1, "kernel": {"type": "rbf"}}
    answer = server.client().post("/v1/studies", definition(algorithm=algorithm))
    errors = {error["pointer"]: error["detail"] for error in answer.json["errors"]}
    assert errors.keys() == {"/algorithm/kernel/type", "/algorithm/epsilon"}, answer
    assert errors["/algorithm/epsilon"] == "does not apply to bbkb, only to epsilon_greedy", answer
    del algorithm["name"]
    assert server.client().post("/v1/studies", definition(algorithm=algorithm)).json["errors"][1]["pointer"] == "/algorithm/epsilon"
