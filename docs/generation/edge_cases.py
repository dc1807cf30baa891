"""What happens where a formula does not say: a row for each case, with an example that a test computes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NAN = float("nan")
TWO_KEYS: Mapping[str, Any] = {"value": [[1], [2]]}
THREE_KEYS: Mapping[str, Any] = {"value": [[1], [2], [3]]}


@dataclass(frozen=True)
class EdgeCase:
    """A case and what happens, in a sentence each; the keys of an example, and the results that it has."""

    case: str
    what_happens: str
    keys: Mapping[str, Any]
    results: Mapping[str, Any] = field(default_factory=dict)


EDGE_CASES: Sequence[EdgeCase] = (
    EdgeCase(
        "Scores are equal",
        "Their keys have equal weights, by every normalizer. A key that a mask hides has none of it.",
        {**THREE_KEYS, "scores": [[1, 1, 1], [1, 1, 1]], "mask": [[1, 1, 1], [1, 1, 0]]},
        {"weights": [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]]},
    ),
    EdgeCase(
        "The largest scores are equal, with `hardmax`",
        "They share the weight.",
        {**THREE_KEYS, "scores": [[2, 1, 2]], "normalize": "hardmax"},
        {"weights": [[0.5, 0, 0.5]]},
    ),
    EdgeCase(
        "Scores are equal to the last that `topk` keeps",
        "Their keys are kept too, so that there are more than k.",
        {**THREE_KEYS, "scores": [[1, 1, 1]], "normalize": {"topk": {"k": 2}}},
        {"weights": [[1 / 3, 1 / 3, 1 / 3]]},
    ),
    EdgeCase(
        "A query sees no key",
        "Its weights and its context are 0, and there is a warning; `empty_rows` gives NaN or equal weights. "
        "What is added afterwards, such as `b_o`, is its output.",
        {**TWO_KEYS, "scores": [[1, 3]], "mask": [[0, 0]], "w_o": [[2]], "b_o": [5]},
        {"weights": [[0, 0]], "context": [[0]], "output": [[5]]},
    ),
    EdgeCase(
        "`empty_rows`, and weights that need not sum to 1 (`sum`, `relu`, `sigmoid`, `softmax1`, `none`)",
        "It has no effect, and there is a warning: the weights are 0.",
        {**TWO_KEYS, "scores": [[1, 3]], "mask": [[0, 0]], "normalize": "sum", "empty_rows": "uniform"},
        {"weights": [[0, 0]], "output": [[0]]},
    ),
    EdgeCase(
        "The scores of a row add to 0, with `sum`",
        "Its weights are 0, as those of a row without keys.",
        {**TWO_KEYS, "scores": [[1, -1], [0, 0]], "normalize": "sum"},
        {"weights": [[0, 0], [0, 0]]},
    ),
    EdgeCase(
        "All weights are 0, with `argmax`, `sample` or `max`",
        "The context is 0.",
        {**TWO_KEYS, "weights": [[0, 0]], "context": "argmax"},
        {"context": [[0]]},
    ),
    EdgeCase(
        "Weights are negative, with `argmax`",
        "The largest of those that are not 0 counts, also where it is negative; of equal ones the first.",
        {**THREE_KEYS, "weights": [[-2, -1, 0], [-1, -1, -2]], "context": "argmax"},
        {"context": [[2], [1]]},
    ),
    EdgeCase(
        "A key has weight 0, with `max`",
        "Its weighted value, 0, is among those of which the largest is taken; a key that a mask hides is left out.",
        {
            "scores": [[0, -1000], [0, -1000]],
            "mask": [[1, 1], [1, 0]],
            "value": [[-1], [5]],
            "context": "max",
        },
        {"weights": [[1, 0], [1, 0]], "context": [[0], [-1]]},
    ),
    EdgeCase(
        "Weights are given, with `max`",
        "No key is left out: weights do not say which a mask hid.",
        {**TWO_KEYS, "weights": [[-1, 0]], "context": "max"},
        {"context": [[0]]},
    ),
    EdgeCase(
        "A value is NaN or infinite where the weight is 0",
        "It contributes 0.",
        {"weights": [[1, 0]], "value": [[4], [NAN]]},
        {"context": [[4]]},
    ),
    EdgeCase(
        "A position is negative, with `query_scale` (`log_steps`, `logn`)",
        "It counts as 0, the first key's.",
        {
            "query": [[1], [1]],
            "key": [[1], [1]],
            "positions": [-9, 0],
            "score": "dot",
            "query_scale": {"log_steps": {"length": 2, "offset": 0}},
        },
        {"scores": [[1, 1], [1, 1]]},
    ),
)
