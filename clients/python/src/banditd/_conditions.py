"""Finds which parameters of an Optuna study belong to the space, and when each is active, from its finished trials.

A failed trial shows that there are the parameters that it has. It does not show that there are no others, because it
may have failed before they were suggested."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from ._distributions import to_server

_MOST_VALUES = 100  # of an integer parameter that others depend on


@dataclasses.dataclass
class Inferred:
    """What the trials show. `waiting`: why more trials may show more; None: no more trials are needed."""

    distributions: dict[str, BaseDistribution]
    conditions: dict[str, dict[str, Any]]  # by name: "active_when"
    left_out: dict[str, str]  # by name: why this parameter is not in the space
    waiting: Optional[str] = None


def infer(trials: Sequence[FrozenTrial]) -> Inferred:
    whole = [trial for trial in trials if trial.state != TrialState.FAIL]
    distributions: dict[str, BaseDistribution] = {}
    left_out: dict[str, str] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            if distributions.setdefault(name, distribution) != distribution:
                left_out[name] = "its distribution changes from trial to trial"
    for name, distribution in distributions.items():
        if distribution.single():
            left_out.setdefault(name, "")  # one value: nothing to choose
    found = Inferred({name: d for name, d in distributions.items() if name not in left_out}, {}, left_out)
    present = {name: [trial for trial in trials if name in trial.params] for name in found.distributions}
    for name in sorted(found.distributions):
        if any(name not in trial.params for trial in whole):
            _find_condition(found, present, name)
    if not whole and (not distributions or len({frozenset(trial.params) for trial in trials}) > 1):
        found.waiting = "all of them have failed, some perhaps before they suggested every parameter"
    _drop_orphans(found)
    return found


def _find_condition(found: Inferred, present: Mapping[str, Sequence[FrozenTrial]], name: str) -> None:
    """Finds the parameter whose value decides whether `name` is suggested. If there are several, it is the one that
    most trials that have not failed have, because the others depend on it themselves."""
    here = present[name]
    explained: list[tuple[int, str, dict[str, Any]]] = []
    open_question: Optional[str] = None
    for parent, distribution in found.distributions.items():
        having = [trial for trial in present[parent] if trial.state != TrialState.FAIL]
        if parent == name or any(parent not in trial.params for trial in here):
            continue
        yes = [trial.params[parent] for trial in here]
        no = [trial.params[parent] for trial in having if name not in trial.params]
        if not no or any(value in yes for value in no):
            continue
        values, unseen = _values(distribution, yes, no)
        if values is None:
            continue
        if unseen:
            open_question = open_question or f"no trial with {parent}={unseen[0]!r} has a value yet"
        condition = {"parameter": parent, "in": [to_server(distribution, value) for value in values]}
        explained.append((len(having), parent, {} if unseen else condition))
    most = max((count for count, _, _ in explained), default=0)
    top = [each for each in explained if each[0] == most]
    if len(top) > 1:
        parents = ", ".join(repr(parent) for _, parent, _ in top)
        found.waiting = f"whether {name!r} is suggested may depend on any of {parents}"
    elif top and not top[0][2]:
        found.waiting = open_question
    elif top:
        found.conditions[name] = top[0][2]
        return
    found.left_out[name] = "no other parameter's value says when it is suggested"


def _values(distribution: BaseDistribution, yes: Sequence[Any], no: Sequence[Any]) -> tuple[Optional[list[Any]], list[Any]]:
    """The values of a parameter for which another one is suggested, and the values that no trial has shown; None if
    its values do not decide whether the other one is suggested."""
    if isinstance(distribution, CategoricalDistribution):
        unseen = [choice for choice in distribution.choices if choice not in yes and choice not in no]
        return [choice for choice in distribution.choices if choice in yes], unseen
    if not isinstance(distribution, IntDistribution):
        return None, []
    all_values = range(distribution.low, distribution.high + 1, distribution.step)
    first, last = min(yes), max(yes)
    if len(all_values) > _MOST_VALUES or any(first < value < last for value in no):
        return None, []
    borders = [value for value in (first - distribution.step, last + distribution.step) if value in all_values]
    return [value for value in all_values if first <= value <= last], [value for value in borders if value not in no]


def _drop_orphans(found: Inferred) -> None:
    """Leaves out the parameters that depend on one that is not in the space."""
    names = set(found.distributions) - set(found.left_out)
    while True:
        orphans = [name for name in names if name in found.conditions and found.conditions[name]["parameter"] not in names]
        if not orphans:
            break
        for name in orphans:
            names.remove(name)
            found.left_out[name] = f"it depends on {found.conditions.pop(name)['parameter']!r}, which is not in the space"
    found.distributions = {name: found.distributions[name] for name in sorted(names)}
