"""The convention of Keras' MultiHeadAttention."""

from attncli.problem.conventions.readings import ATTENDS, LAYER_WEIGHTS, REAL_KEYS, TOP_LEFT
from attncli.problem.conventions.records import Convention, Reading, register

Window = tuple[float, float]


def with_its_own(window: Window) -> Window:
    """The keys beside a query's own in a window whose sides count that, too; a side of 0 or without limit stays.

    >>> with_its_own((3, 0))
    (2, 0)
    """
    left, right = (max(side - 1, 0) for side in window)
    return left, right


def _one_number(window: Window) -> str:
    """That both sides of a window are one number, where they are two."""
    left, right = window
    return "" if left == right or 0 in window else "takes one number for both sides of window: read as two"


register(
    Convention(
        name="keras",
        title="Keras keras.layers.MultiHeadAttention",
        version="3.15",
        source="https://keras.io/api/layers/attention_layers/multi_head_attention/",
        is_run=True,
        words={
            "mask": ATTENDS,
            "key_mask": REAL_KEYS,
            "causal": TOP_LEFT,
            "window": Reading(
                "sliding_window, so many keys on a side with its own", change=with_its_own, limit=_one_number
            ),
            **dict.fromkeys(LAYER_WEIGHTS, Reading("in_out with heads apart, (features, heads, head features)")),
        },
        defaults={"empty_rows": "uniform"},
    )
)
