"""The keys that nothing reads because scores or weights are given, or because there are no values."""

from collections.abc import Mapping
from typing import Any

from attncli.ops.records import ActsOn, Operator
from attncli.problem.fields import LastResult
from attncli.problem.given_tables import reasons_not_computed
from attncli.problem.spec import FIELDS, ProblemSpec

# The last result that a position scheme is read for, by what it acts on.
LAST_RESULTS_OF_POSITIONS: Mapping[ActsOn, LastResult] = {
    "embeddings": "output",
    "query_and_key": "scores",
    "products": "scores",
    "scores": "weights",
}


def unread_keys(values: Mapping[str, Any]) -> dict[str, str]:
    """Why nothing reads a key, for each key that has a value and of which only results are made that are not computed.

    >>> unread_keys({"scores": [[1, 2]], "value": [[1], [2]], "scale": 2.0, "causal": True})
    {'scale': 'scores are given'}
    """
    reasons = reasons_not_computed(values)
    given = ((name, _last_result(name, value)) for name, value in values.items() if value is not None)
    return {name: reasons[result] for name, result in given if result in reasons}


def is_read(problem: ProblemSpec, key: str) -> bool:
    """Whether a problem computes a result that reads a key, given or by its default."""
    return _last_result(key, getattr(problem, key)) not in problem.not_computed


def _last_result(name: str, value: Any) -> LastResult:
    """The last result that a key is read for."""
    if name == "position" and isinstance(value, Operator) and value.record.acts_on is not None:
        return LAST_RESULTS_OF_POSITIONS[value.record.acts_on]
    return FIELDS[name].last_result
