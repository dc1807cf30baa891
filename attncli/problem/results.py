"""Results: their names, and which of them a problem with given scores or weights does not compute."""

from collections.abc import Mapping
from typing import Any

RESULTS = ("scores", "capped_scores", "masked_scores", "weights", "context", "output", "present_key", "present_value")
EXPECTED = "expected"  # the key of a file that has the numbers that are expected of results
WEIGHTS = "weights"  # the result that statistics are of
CONTEXT = "context"  # of each head, before heads are merged and projected
OUTPUT = "output"  # the answer: what an error proposes to select alone
DEFAULT_SELECTION = ("scores", WEIGHTS, OUTPUT)

# What is missing where a result is the one before it.
RESULT_KEYS: Mapping[str, str] = {
    "capped_scores": "softcap",
    "positioned_scores": "position bias",
    "biased_scores": "bias",
    "masked_scores": "mask",
}

# The stages that a result names as its pipeline, each by the key of its operator.
PIPELINE_STAGES = ("score", "normalize", "context")

# Steps that had another name up to version 0.3: `select` accepts the old name too.
RENAMED_STEPS: Mapping[str, str] = {
    "turned_query": "rotated_query",
    "turned_key": "rotated_key",
    "joined_key": "concatenated_key",
    "joined_value": "concatenated_value",
    "shared_key": "repeated_key",
    "shared_value": "repeated_value",
    "asking": "selected_rows",
}


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
