"""A sampler for Optuna that gets the parameters of each trial from a banditd server.

    study = optuna.create_study(sampler=BanditdSampler())

Needs Optuna 3 or later (`pip install banditd[optuna]`)."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study as OptunaStudy
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ._calls import Trial
from ._errors import BanditdError, Conflict, NotFound
from .client import Client, Study

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
_TRIAL = "banditd:trial"  # system attribute of an Optuna trial: the number of the server's trial
_MOST_CHOICES = 10000  # of a discrete parameter


class BanditdSampler(BaseSampler):
    """Asks a banditd server for parameters and reports the results.

    url, token: the server and its token (default: BANDITD_URL and BANDITD_TOKEN).
    study: the id of the study on the server (default: made from the name of the Optuna study). An existing study is
        continued if its parameters and direction are the same.
    space: the distributions of the parameters by name, as in `trial.distributions`. By default these are the
        parameters that the first `inferred_after` finished trials have in common; until then, trials are random.
    algorithm: the algorithm in the study's definition on the server, for example {"name": "s_gp_ts"}.
    pruned: "value": the last intermediate value of a pruned trial is its result. "ignore": it has no result.
    wait_seconds: the total time to wait for a trial.

    Parameters outside the space are sampled by `independent_sampler` (random by default). If the distribution of a
    parameter in the space changes, ValueError is raised. The Optuna study must have one objective."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        study: Optional[str] = None,
        space: Optional[Mapping[str, BaseDistribution]] = None,
        inferred_after: int = 10,
        algorithm: Optional[Mapping[str, Any]] = None,
        pruned: str = "value",
        seed: Optional[int] = None,
        independent_sampler: Optional[BaseSampler] = None,
        wait_seconds: float = 300,
    ):
        if pruned not in ("value", "ignore"):
            raise ValueError(f'pruned must be "value" or "ignore", not {pruned!r}')
        self._client = Client(url, token)
        self._name = study
        self._space = None if space is None else _sorted(space)
        self._inferred_after = inferred_after
        self._algorithm = algorithm
        self._pruned = pruned
        self._seed = seed
        self._independent = independent_sampler or RandomSampler(seed=seed)
        self._wait_seconds = wait_seconds
        self._study: Optional[Study] = None
        self._lock = threading.Lock()

    def reseed_rng(self) -> None:
        self._independent.reseed_rng()

    # ---- before a trial ----

    def infer_relative_search_space(self, study: OptunaStudy, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        with self._lock:
            if self._study is None:
                self._study = self._open(study)
            return self._space or {} if self._study else {}

    def sample_relative(
        self, study: OptunaStudy, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space or self._study is None:
            return {}
        given = self._next_trial(self._study)
        study._storage.set_trial_system_attr(trial._trial_id, _TRIAL, given.id)
        # In a conditional space the server leaves out inactive parameters. They are sampled independently.
        return {
            name: from_server(search_space[name], value) for name, value in given.parameters.items() if name in search_space
        }

    def sample_independent(
        self, study: OptunaStudy, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        if self._space and param_name in self._space:
            _check_unchanged(param_name, self._space[param_name], param_distribution)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def _next_trial(self, server: Study) -> Trial:
        waited = 0.0
        while True:
            # Ask without a worker's name. Optuna may run many trials at once, and a name would get its pending trial.
            asked = server.ask_with_reason(wait_seconds=min(self._wait_seconds, 300))
            if asked.trials:
                return asked.trials[0]
            waited += min(self._wait_seconds, 300)
            if asked.reason in ("finished", "horizon_reached", "exhausted") or waited >= self._wait_seconds:
                raise BanditdError(f"study {server.id} has no trial to hand out: {asked.reason}")

    # ---- after a trial ----

    def after_trial(
        self, study: OptunaStudy, trial: FrozenTrial, state: TrialState, values: Optional[Sequence[float]]
    ) -> None:
        number = trial.system_attrs.get(_TRIAL)
        server, space = self._study, self._space
        if server is None or not space:
            return
        for name, distribution in trial.distributions.items():
            if name in space:
                try:
                    _check_unchanged(name, space[name], distribution)
                except ValueError:
                    if number is not None:
                        server.tell_results([{"trial": number, "state": "released"}])
                    raise
        value = self._value_of(trial, state, values)
        if number is None:
            self._import(server, [(trial.params, value)])
        elif not self._is_as_asked(study, server, number, trial):
            server.tell_results([{"trial": number, "state": "released"}])
            self._import(server, [(trial.params, value)])
        else:
            server.tell_results([{"trial": number, **self._outcome(state, value)}])

    def _outcome(self, state: TrialState, value: Optional[float]) -> dict[str, Any]:
        if state == TrialState.PRUNED:
            return {"state": "stopped", "reason": "pruned", **({} if value is None else {"value": value})}
        if value is None:
            return {"state": "failed", "reason": f"Optuna: {state.name.lower()}"}
        return {"value": value}

    def _value_of(
        self, trial: FrozenTrial, state: TrialState, values: Optional[Sequence[float]]
    ) -> Optional[float]:
        if state == TrialState.COMPLETE and values:
            value = values[0]
        elif state == TrialState.PRUNED and self._pruned == "value" and trial.intermediate_values:
            value = trial.intermediate_values[max(trial.intermediate_values)]
        else:
            return None
        return float(value) if math.isfinite(value) else None

    def _is_as_asked(self, study: OptunaStudy, server: Study, number: int, trial: FrozenTrial) -> bool:
        """Whether the trial has the server's parameters. `enqueue_trial` sets other ones."""
        asked: dict[str, Any] = server.trial(number).parameters
        space = self._space or {}
        return all(
            name not in trial.params or from_server(space[name], value) == trial.params[name]
            for name, value in asked.items()
        )

    def _import(self, server: Study, results: Sequence[tuple[Mapping[str, Any], Optional[float]]]) -> None:
        """Imports results whose points the server did not choose. Points that lack a parameter are left out."""
        space = self._space or {}
        observations = [
            {"parameters": {name: to_server(space[name], params[name]) for name in space}, "value": value}
            for params, value in results
            if value is not None and all(name in params and space[name]._contains(space[name].to_internal_repr(params[name])) for name in space)
        ]
        if observations:
            server.observe(observations)

    # ---- the study on the server ----

    def _open(self, study: OptunaStudy) -> Optional[Study]:
        """The study on the server; None until its space is known."""
        if len(study.directions) != 1:
            raise ValueError(f"BanditdSampler supports one objective; this study has {len(study.directions)}")
        server = self._client.study(self._name or _server_name(study.study_name))
        try:
            info: Optional[dict[str, Any]] = server.info()
        except NotFound:
            info = None
        if self._space is None:
            self._space = self._inferred(study, info)
        if self._space is None:
            return None
        definition = self._definition(server.id, study)
        if info is None:
            try:
                created = self._client.create_study(definition)
            except Conflict:  # another process created it first
                info = server.info()
            else:
                finished = study.get_trials(deepcopy=False, states=FINISHED)
                self._import(created, [(t.params, self._value_of(t, t.state, t.values)) for t in finished])
                return created
        _check_same(definition, info)
        return server

    def _inferred(
        self, study: OptunaStudy, info: Optional[dict[str, Any]]
    ) -> Optional[dict[str, BaseDistribution]]:
        """The parameters that the first finished trials have in common; for an existing study, its parameters."""
        finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        if info is None and len(finished) < self._inferred_after:
            return None
        if info is not None:
            wanted = {parameter["name"] for parameter in info["domain"].get("parameters", [])}
            for trial in finished:
                if wanted <= trial.distributions.keys():
                    return _sorted({name: trial.distributions[name] for name in wanted})
            return None
        common = IntersectionSearchSpace(include_pruned=True).calculate(study)
        space = {name: distribution for name, distribution in common.items() if not distribution.single()}
        return _sorted(space) if space else None

    def _definition(self, name: str, study: OptunaStudy) -> dict[str, Any]:
        maximize = study.direction == StudyDirection.MAXIMIZE
        definition: dict[str, Any] = {
            "id": name,
            "display_name": study.study_name[:200],
            "metric": {"name": "value", "goal": "maximize" if maximize else "minimize"},
            "domain": {
                "type": "space",
                "parameters": [parameter(name, distribution) for name, distribution in (self._space or {}).items()],
            },
        }
        if self._algorithm is not None:
            definition["algorithm"] = dict(self._algorithm)
        if self._seed is not None:
            definition["seed"] = self._seed
        return definition


# ---- distributions and parameters ----------------------------------------------------------------------------


def parameter(name: str, distribution: BaseDistribution) -> dict[str, Any]:
    """The server's parameter for an Optuna distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return {"name": name, "type": "categorical", "values": words(distribution)}
    if not isinstance(distribution, (FloatDistribution, IntDistribution)):
        raise ValueError(f"parameter {name!r}: banditd does not support {distribution!r}")
    return {
        "name": name,
        "type": "double" if isinstance(distribution, FloatDistribution) else "integer",
        "min": distribution.low,
        "max": distribution.high,
        "scale": "log" if distribution.log else "linear",
        **({"step": distribution.step} if _has_steps(distribution) else {}),
    }


def _has_steps(distribution: BaseDistribution) -> bool:
    """Whether a distribution of numbers has steps, other than the steps of 1 of integers."""
    if isinstance(distribution, IntDistribution):
        return distribution.step != 1
    return isinstance(distribution, FloatDistribution) and distribution.step is not None


def _as_list(wanted: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """The parameter that earlier versions of this sampler made in place of one with steps: a list of numbers."""
    if "step" not in wanted:
        return None
    n = round((wanted["max"] - wanted["min"]) / wanted["step"]) + 1
    if n > _MOST_CHOICES:
        return None
    whole = wanted["type"] == "integer"
    values = [wanted["min"] + i * wanted["step"] for i in range(n)]
    return {"name": wanted["name"], "type": "discrete", "values": values if whole else [round(v, 12) for v in values]}


def words(distribution: CategoricalDistribution) -> list[str]:
    """A word for each choice: its text, followed by its position if several choices have the same text."""
    texts = [str(choice) for choice in distribution.choices]
    return [text if texts.count(text) == 1 else f"{text} ({i})" for i, text in enumerate(texts)]


def from_server(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[words(distribution).index(value)]
    if isinstance(distribution, IntDistribution):
        return int(value)
    return float(value)


def to_server(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return words(distribution)[int(distribution.to_internal_repr(value))]
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        step = round((value - distribution.low) / distribution.step)
        return round(distribution.low + step * distribution.step, 12)
    return value


def _sorted(space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    return {name: space[name] for name in sorted(space)}


def _check_unchanged(name: str, declared: BaseDistribution, used: BaseDistribution) -> None:
    if declared != used:
        raise ValueError(
            f"parameter {name!r} is {declared} on the server, but {used} in this trial; "
            "use another study for a changed distribution"
        )


def _check_same(definition: Mapping[str, Any], info: Mapping[str, Any]) -> None:
    """Raises ValueError if the server's study differs from the one that would be created now."""
    if info.get("metric", {}).get("goal") != definition["metric"]["goal"]:
        raise ValueError(f"study {definition['id']} on the server has the other direction; use another study")
    there = {p["name"]: p for p in info["domain"].get("parameters", [])}
    for wanted in definition["domain"]["parameters"]:
        found = there.pop(wanted["name"], None)
        same = found is not None and any(
            form is not None and all(found.get(key) == value for key, value in form.items())
            for form in (wanted, _as_list(wanted))
        )
        if not same:
            raise ValueError(
                f"parameter {wanted['name']!r} is {found} in study {definition['id']} on the server, but {wanted} here"
            )
    if there:
        raise ValueError(f"study {definition['id']} on the server has further parameters: {', '.join(sorted(there))}")


def _server_name(name: str) -> str:
    text = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._") or "study"
    return f"optuna-{text}"[:63]
