"""The symbols of arrays in the formulas of records, capitals: lower-case letters stand for axes (`base/axes.py`)."""

from collections.abc import Mapping

# By the name of an argument of operators, or the role of a result. In a plan an array may have another symbol: Sᵐ.
SYMBOLS: Mapping[str, str] = {
    "query": "Q",
    "key": "K",
    "value": "V",
    "scores": "S",
    "weights": "A",
    "context": "C",
}

# The role of what an operator computes, by the kind of the operator.
RESULT_OF_KIND: Mapping[str, str] = {"score": "scores", "normalize": "weights", "context": "context"}
