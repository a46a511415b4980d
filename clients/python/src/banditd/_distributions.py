"""Converts between Optuna's distributions and the server's parameters, and between their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

_MOST_CHOICES = 10000  # of a discrete parameter

Definition = Mapping[str, Any]  # a parameter, as in the definition of a study


def parameter(
    name: str, distribution: BaseDistribution, features: Optional[Sequence[Sequence[float]]] = None
) -> dict[str, Any]:
    """The server's parameter for an Optuna distribution. features: a row of properties for each choice."""
    if isinstance(distribution, CategoricalDistribution):
        rows: dict[str, Any] = {} if features is None else {"features": features}
        return {"name": name, "type": "categorical", "values": words(distribution), **rows}
    if features is not None:
        raise ValueError(f"parameter {name!r}: only categorical parameters have features")
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


def fits(distribution: BaseDistribution, there: Definition) -> bool:
    """Whether a trial's distribution is that of a parameter on the server. Choices may be in any order. In a study
    that was not made by this package, choices may also be booleans or numbers, and steps may be a list of numbers."""
    kind = there["type"]
    if isinstance(distribution, CategoricalDistribution):
        if kind == "categorical":
            return sorted(words(distribution)) == sorted(there["values"])
        if kind == "boolean":
            return len(distribution.choices) == 2 and {repr(choice) for choice in distribution.choices} == {"True", "False"}
        numbers = [choice for choice in distribution.choices if isinstance(choice, (int, float)) and not isinstance(choice, bool)]
        return kind == "discrete" and len(numbers) == len(distribution.choices) and sorted(numbers) == sorted(there["values"])
    if not isinstance(distribution, (FloatDistribution, IntDistribution)):
        return False
    if kind == "discrete":  # a list of values, which earlier versions made from steps
        return _has_steps(distribution) and _steps(distribution) == sorted(there["values"])
    if kind != ("double" if isinstance(distribution, FloatDistribution) else "integer"):
        return False
    step = distribution.step or 0
    same_step = step == there.get("step", 0 if kind == "double" else 1)
    top = distribution.high - there["max"]  # Optuna lowers the upper bound to the last step
    return (
        distribution.low == there["min"]
        and (top == 0 or (_has_steps(distribution) and -step < top < 0))
        and same_step
        and distribution.log == (there.get("scale", "linear") == "log")
    )


def _steps(distribution: Union[FloatDistribution, IntDistribution]) -> Optional[list[float]]:
    """The values of a distribution with steps; None if they are too many for a list on the server."""
    step = distribution.step or 1
    n = round((distribution.high - distribution.low) / step) + 1
    if n > _MOST_CHOICES:
        return None
    values = [distribution.low + i * step for i in range(n)]
    return values if isinstance(distribution, IntDistribution) else [round(value, 12) for value in values]


def words(distribution: CategoricalDistribution) -> list[str]:
    """A word for each choice: its text, followed by its position if several choices have the same text."""
    texts = [str(choice) for choice in distribution.choices]
    return [text if texts.count(text) == 1 else f"{text} ({i})" for i, text in enumerate(texts)]


def from_server(distribution: BaseDistribution, value: Any) -> Any:
    """Converts a value of a trial on the server to a value of Optuna."""
    if isinstance(distribution, CategoricalDistribution):
        if isinstance(value, str):
            return distribution.choices[words(distribution).index(value)]
        return next(choice for choice in distribution.choices if choice == value)
    if isinstance(distribution, IntDistribution):
        return int(value)
    return float(value)


def to_server(distribution: BaseDistribution, value: Any, there: Optional[Definition] = None) -> Any:
    """Converts a value of Optuna to the server's. `there`: the parameter on the server, if it is not the one made
    here."""
    if isinstance(distribution, CategoricalDistribution):
        if there is not None and there["type"] != "categorical":
            return value
        return words(distribution)[int(distribution.to_internal_repr(value))]
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        step = round((value - distribution.low) / distribution.step)
        return round(distribution.low + step * distribution.step, 12)
    return value


def is_active(there: Definition, values: Mapping[str, Any]) -> bool:
    """Whether a parameter is active, given the values (the server's) of the active ones before it."""
    condition = there.get("active_when")
    if condition is None:
        return True
    if condition["parameter"] not in values:
        return False
    value = values[condition["parameter"]]
    if "in" in condition:
        return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in condition["in"])
    return bool(condition.get("min", value) <= value <= condition.get("max", value))


def point_of(space: Mapping[str, Definition], params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> Optional[dict[str, Any]]:
    """The parameters of a trial of Optuna as a point of the server's space; None if an active one is missing or is
    outside its range."""
    values: dict[str, Any] = {}
    left = dict(space)
    while left:
        ready = [name for name, there in left.items() if there.get("active_when", {}).get("parameter") not in left]
        if not ready:
            return None
        for name in ready:
            there = left.pop(name)
            if not is_active(there, values):
                continue
            if name not in params or not fits(distributions[name], there):
                return None
            values[name] = to_server(distributions[name], params[name], there)
    return values
