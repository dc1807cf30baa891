"""Scores or weights that are given in place of what makes them: which results a problem does not compute then."""

from collections.abc import Mapping
from typing import Any

TABLES = ("scores", "weights")  # the tables that may be given, in the order of the computation
VALUE_SOURCES = ("value", "embeddings")  # the keys that values are given by, or made of, where a table is given


def given_table(values: Mapping[str, Any]) -> str | None:
    """The key of the table that is given, "scores" or "weights"; None where scores are computed.

    >>> given_table({"scores": [[1, 2]], "value": None}), given_table({"query": [[1, 2]]})
    ('scores', None)
    """
    return next((name for name in TABLES if values.get(name) is not None), None)


def reasons_not_computed(values: Mapping[str, Any]) -> Mapping[str, str]:
    """Why a problem does not compute scores, weights or output, for each of them that it does not compute.

    >>> reasons_not_computed({"scores": [[1, 2]]})
    {'scores': 'scores are given', 'output': 'there are no values'}
    """
    table = given_table(values)
    if table is None:
        return {}
    reasons = dict.fromkeys(TABLES[: TABLES.index(table) + 1], f"{table} are given")
    has_values = any(values.get(name) is not None for name in VALUE_SOURCES)
    return reasons if has_values else {**reasons, "output": "there are no values"}
