"""What an Optuna study optimizes, as metrics of a study on the server."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional

from optuna.study import Study as OptunaStudy
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

Result = dict[str, Any]  # {"value": …} or {"values": {…}}
ConstraintsFunc = Callable[[FrozenTrial], Sequence[float]]
_CONSTRAINTS = "constraints"  # the system attribute where Optuna's own samplers keep them, for `study.best_trials`
_PLAIN = "value"  # the name of a single objective


class Goals:
    def __init__(
        self,
        constraints_func: Optional[ConstraintsFunc],
        constraint_names: Sequence[str],
        thresholds: Optional[Sequence[float]],
        pruned: str,
    ):
        if (constraints_func is None) != (not constraint_names):
            raise ValueError("give constraints_func and constraint_names together: a name for each of its values")
        self._function = constraints_func
        self._constraints = list(constraint_names)
        self._thresholds = None if thresholds is None else [float(value) for value in thresholds]
        self._pruned = pruned

    def metrics(self, study: OptunaStudy) -> list[dict[str, Any]]:
        """The metrics of the definition: the objectives, then the constraints."""
        names = self._objectives(study)
        metrics: list[dict[str, Any]] = [
            {"name": name, "goal": "maximize" if direction == StudyDirection.MAXIMIZE else "minimize"}
            for name, direction in zip(names, study.directions)
        ]
        if self._thresholds is not None:
            if len(names) == 1 or len(self._thresholds) != len(names):
                raise ValueError("thresholds are for several objectives, one for each")
            for metric, threshold in zip(metrics, self._thresholds):
                metric["threshold"] = threshold
        return metrics + [{"name": name, "role": "constraint", "at_most": 0} for name in self._constraints]

    def _objectives(self, study: OptunaStudy) -> list[str]:
        if len(study.directions) == 1:
            return [_PLAIN]
        return study.metric_names or [f"{_PLAIN}_{i}" for i in range(len(study.directions))]

    def differ(self, study: OptunaStudy, there: Sequence[Mapping[str, Any]]) -> Optional[str]:
        """What is different in the metrics of the server's study; None: they are the same."""
        wanted = self.metrics(study)
        modelled = [metric for metric in there if metric.get("role", "objective") != "recorded"]
        if [m["goal"] for m in modelled if "goal" in m] != [m["goal"] for m in wanted if "goal" in m]:
            return "another direction" if len(study.directions) == 1 else "other directions"
        if [m["name"] for m in modelled] != [m["name"] for m in wanted] and len(wanted) > 1:
            return "other metrics"
        if any("goal" not in m and (m.get("at_most"), m.get("at_least")) != (0, None) for m in modelled):
            return "other bounds"
        return None

    def note_constraints(self, study: OptunaStudy, trial: FrozenTrial, values: Sequence[float]) -> None:
        """Computes the constraints of a completed trial, and keeps them in it."""
        if self._function is None:
            return
        completed = copy.copy(trial)
        completed.values = list(values)
        found = [float(value) for value in self._function(completed)]
        if len(found) != len(self._constraints):
            raise ValueError(f"constraints_func returned {len(found)} values for {len(self._constraints)} constraint_names")
        trial.system_attrs[_CONSTRAINTS] = found
        study._storage.set_trial_system_attr(trial._trial_id, _CONSTRAINTS, found)

    def result(
        self, study: OptunaStudy, trial: FrozenTrial, state: TrialState, values: Optional[Sequence[float]]
    ) -> Optional[Result]:
        """The values of a finished trial; None if it lacks one."""
        if state == TrialState.COMPLETE and values:
            found = list(values) + list(trial.system_attrs.get(_CONSTRAINTS, ()))
        elif state == TrialState.PRUNED and self._pruned == "value" and trial.intermediate_values:
            found = [trial.intermediate_values[max(trial.intermediate_values)]]
        else:
            return None
        names = self._objectives(study) + self._constraints
        if len(found) != len(names) or not all(math.isfinite(value) for value in found):
            return None
        if names == [_PLAIN]:
            return {"value": float(found[0])}
        return {"values": {name: float(value) for name, value in zip(names, found)}}
