"""A sampler for Optuna that gets the parameters of each trial from a banditd server.

    study = optuna.create_study(sampler=BanditdSampler())

Requires Optuna 4.1 or later (`pip install banditd[optuna]`)."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial, TrialState

from ._calls import Trial
from ._conditions import infer
from ._distributions import Definition, fits, from_server, parameter, point_of, to_server
from ._errors import BanditdError, Conflict, NotFound
from ._goals import ConstraintsFunc, Goals, Result
from ._leases import LeaseKeeper
from .client import Client, Study

__all__ = ["BanditdSampler", "SamplerWarning", "from_server", "parameter", "to_server"]

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
_TRIAL = "banditd:trial"  # system attributes of an Optuna trial: the number of the server's trial, and its attempt
_ATTEMPT = "banditd:attempt"
_PATIENCE = 3  # times `inferred_after`: after so many trials, it stops looking for parameters that depend on others


class SamplerWarning(UserWarning):
    """A parameter is sampled at random, or the server did not accept a result."""


class BanditdSampler(BaseSampler):
    """Asks a banditd server for parameters and reports the results.

    url, token: the server and its token (default: BANDITD_URL and BANDITD_TOKEN).
    study: the id of the study on the server (default: made from the name of the Optuna study). An existing study is
        continued, with its parameters and conditions.
    space: the distributions of the parameters by name, as in `trial.distributions`. By default these are the
        parameters of the first `inferred_after` finished trials, which are random, with a SamplerWarning. Failed trials
        count, too. A parameter that only some of the others have is conditional on the parameter whose values decide
        which trials have it.
    features: properties of choices: for the name of a categorical parameter, a row of numbers for each of its choices,
        in their order. The server learns from similar choices.
    contexts: the names of parameters whose values you bring, such as the temperature of the day: before each trial,
        `study.enqueue_trial({"temperature": 21.5})` gives them, and the server chooses the others to go with them. If
        the study exists on the server, its definition says which they are.
    constraints: rules that the suggested parameters keep, for example "x + y <= 1" (docs/spaces.md has the grammar).
        Trials that the server did not choose may break them: the first ones, without `space`, and enqueued ones. Their
        results are `infeasible` on the server, and it does not learn from them.
    constraints_func, constraint_names: constraints on results, as in Optuna's samplers: a function of a completed
        trial that returns a number for each name. A constraint holds if its number is at most 0. The server learns to
        keep them.
    thresholds: with several objectives, the worst value of each that is of interest. They speed the search up.
    algorithm: the algorithm in the study's definition on the server, for example {"name": "s_gp_ts"}.
    pruned: "value": the last intermediate value of a pruned trial is its result. "ignore": it has no result.
    wait_seconds: the total time to wait for a trial.
    lease_seconds: a trial of a process that was killed is handed out again after this time. While a trial runs,
        heartbeats renew its lease.

    Parameters outside the space, and those that are not active at a point, are sampled by `independent_sampler`
    (random by default), with a SamplerWarning. If the distribution of a parameter in the space changes, ValueError is
    raised. An Optuna study may have up to five objectives; `study.set_metric_names` names them. The sampler can be pickled; a given token is part of the pickle."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        study: Optional[str] = None,
        space: Optional[Mapping[str, BaseDistribution]] = None,
        features: Optional[Mapping[str, Sequence[Sequence[float]]]] = None,
        contexts: Sequence[str] = (),
        constraints: Sequence[str] = (),
        constraints_func: Optional[ConstraintsFunc] = None,
        constraint_names: Sequence[str] = (),
        thresholds: Optional[Sequence[float]] = None,
        inferred_after: int = 10,
        algorithm: Optional[Mapping[str, Any]] = None,
        pruned: str = "value",
        seed: Optional[int] = None,
        independent_sampler: Optional[BaseSampler] = None,
        wait_seconds: float = 300,
        lease_seconds: float = 60,
    ):
        if pruned not in ("value", "ignore"):
            raise ValueError(f'pruned must be "value" or "ignore", not {pruned!r}')
        self._client = Client(url, token)
        self._name = study
        self._given_space = None if space is None else dict(space)
        self._features = {name: [list(map(float, row)) for row in rows] for name, rows in (features or {}).items()}
        self._contexts = set(contexts)
        self._constraints = list(constraints)
        self._inferred_after = inferred_after
        self._algorithm = algorithm
        self._goals = Goals(constraints_func, constraint_names, thresholds, pruned)
        self._seed = seed
        self._independent = independent_sampler or RandomSampler(seed=seed)
        self._wait_seconds = wait_seconds
        self._study: Optional[Study] = None
        self._space: dict[str, Definition] = {}  # the parameters on the server, once the study is open
        self._error: Optional[ValueError] = None  # found after a trial, raised before the next one
        self._warned: set[str] = set()
        self._lease_seconds = lease_seconds
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[int, Optional[Trial]] = {}  # by Optuna's id of the trial; None: all its parameters are random
        self._leases = LeaseKeeper(self._lease_seconds)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("_lock", "_asked", "_leases"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def reseed_rng(self) -> None:
        self._independent.reseed_rng()

    def _warn(self, key: str, text: str) -> None:
        with self._lock:
            if key in self._warned:
                return
            self._warned.add(key)
        warnings.warn(text, SamplerWarning, stacklevel=4)

    # ---- before and during a trial ----

    def infer_relative_search_space(self, study: OptunaStudy, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._server_of(study)
        return {}

    def sample_relative(
        self, study: OptunaStudy, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {}  # parameters are sampled one by one, with the distributions in the objective function

    def sample_independent(
        self, study: OptunaStudy, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._server_of(study)
        given = self._given(study, trial, param_name)
        there = self._space.get(param_name)
        if there is not None:
            _check_unchanged(there, param_distribution)
        if given is not None and param_name in given.parameters:
            return from_server(param_distribution, given.parameters[param_name])
        if given is not None and there is not None:
            why = "is not active at this point on the server, and the objective suggests it"
            self._warn(f"inactive {param_name}", f"parameter {param_name!r} {why}: its value is random")
        elif self._study is not None and there is None:
            why = f"is not in the space of study {self._study.id}"
            self._warn(f"unknown {param_name}", f"parameter {param_name!r} {why}: its values are random")
        elif self._study is None and len(study.get_trials(deepcopy=False, states=FINISHED)) < self._inferred_after:
            self._warn("first", f"the first {self._inferred_after} trials are random; give `space` to choose them, too")
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def _given(self, study: OptunaStudy, trial: FrozenTrial, name: str) -> Optional[Trial]:
        """The server's trial for this trial. It is asked for when the first parameter of the space is sampled."""
        with self._lock:
            server = self._study
            if trial._trial_id in self._asked:
                return self._asked[trial._trial_id]
            if server is None:
                self._asked[trial._trial_id] = None  # it began at random, and remains random
        if server is None or name not in self._space:
            return None
        given = self._next_trial(server, self._brought(trial))
        self._leases.add(server, given)
        with self._lock:
            self._asked[trial._trial_id] = given
        study._storage.set_trial_system_attr(trial._trial_id, _TRIAL, given.id)
        study._storage.set_trial_system_attr(trial._trial_id, _ATTEMPT, given.attempt)
        return given

    def _brought(self, trial: FrozenTrial) -> dict[str, Any]:
        """The values of the contexts, as the server writes them."""
        contexts = {name: there for name, there in self._space.items() if there.get("role") == "context"}
        values = trial.system_attrs.get("fixed_params", {})
        missing = sorted(contexts.keys() - values.keys())
        if missing:
            raise ValueError(f"trial {trial.number} has no value of the context {missing[0]!r}: give it to study.enqueue_trial")
        return {name: str(values[name]) if there["type"] == "categorical" else values[name] for name, there in contexts.items()}

    def _next_trial(self, server: Study, fixed: Mapping[str, Any]) -> Trial:
        waited = 0.0
        while True:
            # Ask without a worker's name. Optuna may run many trials at once, and a name would get its pending trial.
            asked = server.ask_with_reason(
                wait_seconds=min(self._wait_seconds, 300), lease_seconds=self._lease_seconds, fixed=fixed or None
            )
            if asked.trials:
                return asked.trials[0]
            waited += min(self._wait_seconds, 300)
            if asked.reason in ("finished", "horizon_reached", "exhausted") or waited >= self._wait_seconds:
                raise BanditdError(f"study {server.id} has no trial to hand out: {asked.reason}")

    # ---- after a trial ----

    def after_trial(
        self, study: OptunaStudy, trial: FrozenTrial, state: TrialState, values: Optional[Sequence[float]]
    ) -> None:
        """Reports the result. Errors are only warnings, because the trial itself has ended well. Exceptions of
        `constraints_func` are raised."""
        broken: Optional[Exception] = None
        if state == TrialState.COMPLETE and values is not None:
            try:
                self._goals.note_constraints(study, trial, values)
            except Exception as error:
                broken, values = error, None
        with self._lock:
            given = self._asked.pop(trial._trial_id, None)
        number = trial.system_attrs.get(_TRIAL)
        if number is not None:
            self._leases.remove(number)
        try:
            server = self._server_of(study)  # not open yet if `enqueue_trial` gave all parameters
            if server is not None:
                self._report(server, trial, given, self._goals.result(study, trial, state, values), state)
        except ValueError as error:
            self._error = error
        except BanditdError as error:
            text = f"the result of trial {trial.number} is not on the server: {error}"
            self._warn(f"result {trial.number}", text)
        if broken is not None:
            raise broken

    def _report(
        self, server: Study, trial: FrozenTrial, given: Optional[Trial], result: Optional[Result], state: TrialState
    ) -> None:
        number = trial.system_attrs.get(_TRIAL)
        if number is None:
            self._import(server, [(trial, result, state)])
            return
        address = {"trial": number, "attempt": trial.system_attrs.get(_ATTEMPT, 1)}
        changed = [name for name, d in trial.distributions.items() if name in self._space and not fits(d, self._space[name])]
        if changed:
            self._error = _changed(self._space[changed[0]], trial.distributions[changed[0]])
            server.tell_results([{**address, "state": "released"}])
        elif not self._is_as_asked(given or server.trial(number), trial):
            server.tell_results([{**address, "state": "released"}])
            self._import(server, [(trial, result, state)])
        else:
            server.tell_results([{**address, **self._outcome(state, result)}])

    def _outcome(self, state: TrialState, result: Optional[Result]) -> dict[str, Any]:
        if state == TrialState.PRUNED:
            return {"state": "stopped", "reason": "pruned", **(result or {})}
        if result is None:
            return {"state": "failed", "reason": f"Optuna: {state.name.lower()}"}
        return result

    def _is_as_asked(self, given: Trial, trial: FrozenTrial) -> bool:
        """Whether the trial has the server's parameters. `enqueue_trial` sets other ones."""
        return all(
            name not in trial.params or from_server(trial.distributions[name], value) == trial.params[name]
            for name, value in given.parameters.items()
        )

    def _import(self, server: Study, results: Sequence[tuple[FrozenTrial, Optional[Result], TrialState]]) -> None:
        """Imports results whose points the server did not choose. Points that lack a parameter are left out. Those
        that break a constraint are infeasible on the server: random trials and `enqueue_trial` need not keep
        constraints. Failures become failed trials, because an import has only values."""
        observations: list[dict[str, Any]] = []
        failures: list[tuple[dict[str, Any], TrialState]] = []
        for trial, result, state in results:
            point = point_of(self._space, trial.params, trial.distributions)
            if point is not None and result is not None:
                observations.append({"parameters": point, **result})
            elif point is not None and state != TrialState.PRUNED:
                failures.append((point, state))
        if observations:
            server.observe(observations, broken="infeasible" if self._constraints else None)
        for point, state in failures:
            self._add_failure(server, point, state)

    def _add_failure(self, server: Study, point: Mapping[str, Any], state: TrialState) -> None:
        try:
            made = self._next_trial(server, point)
        except Conflict:  # the server does not suggest this point: it breaks a constraint, or has failed often
            return
        server.tell_results([{"trial": made.id, "attempt": made.attempt, **self._outcome(state, None)}])

    # ---- the study on the server ----

    def _server_of(self, study: OptunaStudy) -> Optional[Study]:
        """The study on the server; None until its space is known."""
        waiting: Optional[str] = None
        with self._lock:
            if self._study is None:
                waiting = self._open(study)
        if waiting:
            self._warn("waiting", waiting)
        return self._study

    def _open(self, study: OptunaStudy) -> Optional[str]:
        """Opens or creates the study. Returns the text of a warning, or None."""
        if len(study.directions) > 5:
            raise ValueError(f"BanditdSampler supports up to five objectives; this study has {len(study.directions)}")
        server = self._client.study(self._name or _server_name(study.study_name))
        try:
            self._take(server, server.info(), study)
            return None
        except NotFound:
            pass
        space, warning = self._wanted(study)
        if space is None:
            return warning
        try:
            created = self._client.create_study(self._definition(server.id, space, study))
        except Conflict:  # another process created it first
            self._take(server, server.info(), study)
            return warning
        self._space, self._study = {each["name"]: each for each in space}, created
        finished = study.get_trials(deepcopy=False, states=FINISHED)
        try:
            self._import(created, [(t, self._goals.result(study, t, t.state, t.values), t.state) for t in finished])
        except BanditdError as error:
            return f"the first results are not on the server: {error}"
        return warning

    def _take(self, server: Study, info: Mapping[str, Any], study: OptunaStudy) -> None:
        """Continues a study that exists on the server."""
        different = self._goals.differ(study, _metrics(info))
        if info["domain"].get("constraints", []) != self._constraints:
            raise ValueError(f"study {server.id} on the server has other constraints; use another study")
        if different:
            raise ValueError(f"study {server.id} on the server has {different}; use another study")
        if info["domain"]["type"] != "space":
            raise ValueError(f"study {server.id} on the server has no named parameters; use another study")
        there = {each["name"]: each for each in info["domain"]["parameters"]}
        if any(each.get("features") != self._features.get(name) for name, each in there.items()):
            raise ValueError(f"study {server.id} on the server has other features; use another study")
        if self._contexts and self._contexts != {name for name, each in there.items() if each.get("role") == "context"}:
            raise ValueError(f"study {server.id} on the server has other contexts; use another study")
        if self._given_space is not None:
            _check_same(server.id, self._given_space, there)
        self._space, self._study = there, server

    def _wanted(self, study: OptunaStudy) -> tuple[Optional[list[dict[str, Any]]], Optional[str]]:
        """The parameters of a new study, None while they are not known; and the text of a warning, or None."""
        if self._given_space is not None:
            given = sorted(self._given_space.items())
            return [parameter(name, distribution, self._features.get(name)) for name, distribution in given], None
        trials = study.get_trials(deepcopy=False, states=FINISHED)
        if len(trials) < self._inferred_after:
            return None, None
        found = infer(trials)
        if found.waiting and len(trials) < _PATIENCE * self._inferred_after:
            return None, f"parameters are still random after {len(trials)} trials: {found.waiting}"
        reasons = [f"{name!r}: {why}" for name, why in sorted(found.left_out.items()) if why]
        warning = "these parameters stay random; give `space` to choose them: " + "; ".join(reasons) if reasons else None
        if not found.distributions:
            return None, f"all parameters stay random: no parameter can be chosen ({'; '.join(reasons) or 'there is none'})"
        space = []
        for name, distribution in found.distributions.items():
            made = parameter(name, distribution, self._features.get(name))
            if name in found.conditions:
                made["active_when"] = found.conditions[name]
            space.append(made)
        return space, warning

    def _definition(self, name: str, space: list[dict[str, Any]], study: OptunaStudy) -> dict[str, Any]:
        metrics = self._goals.metrics(study)
        definition: dict[str, Any] = {
            "id": name,
            "display_name": study.study_name[:200],
            **({"metric": metrics[0]} if len(metrics) == 1 else {"metrics": metrics}),
            "domain": {"type": "space", "parameters": space},
        }
        for each in space:
            if each["name"] in self._contexts:
                each["role"] = "context"
        unknown = sorted(self._contexts.difference(each["name"] for each in space))
        if unknown:
            raise ValueError(f"the context {unknown[0]!r} is not among the parameters")
        if self._constraints:
            definition["domain"]["constraints"] = self._constraints
        if self._algorithm is not None:
            definition["algorithm"] = dict(self._algorithm)
        if self._seed is not None:
            definition["seed"] = self._seed
        return definition


def _metrics(info: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    metrics: list[Mapping[str, Any]] = info.get("metrics") or [info["metric"]]
    return metrics


def _changed(there: Definition, used: BaseDistribution) -> ValueError:
    return ValueError(
        f"parameter {there['name']!r} is {dict(there)} on the server, but {used} in this trial; "
        "use another study for a changed distribution"
    )


def _check_unchanged(there: Definition, used: BaseDistribution) -> None:
    if not fits(used, there):
        raise _changed(there, used)


def _check_same(study: str, wanted: Mapping[str, BaseDistribution], there: Mapping[str, Definition]) -> None:
    """Raises ValueError if the server's study has other parameters than those given."""
    for name, distribution in wanted.items():
        found = there.get(name)
        if found is None or not fits(distribution, found):
            raise ValueError(f"parameter {name!r} is {found} in study {study} on the server, but {distribution} here")
    further = sorted(there.keys() - wanted.keys())
    if further:
        raise ValueError(f"study {study} on the server has further parameters: {', '.join(further)}")


def _server_name(name: str) -> str:
    text = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._") or "study"
    return f"optuna-{text}"[:63]
