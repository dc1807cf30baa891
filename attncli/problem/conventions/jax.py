"""The convention of JAX's dot_product_attention."""

from math import inf

from attncli.problem.conventions.readings import (
    AS_MASK,
    ATTENDS,
    BESIDE_ITS_OWN,
    GROUPED,
    NO_OFFSET,
    SCALE,
    TOP_LEFT,
    row_of_infinities,
)
from attncli.problem.conventions.records import Convention, Reading, register


def _limited(window: tuple[float, float]) -> str:
    """That a side of a window has a limit, where one has none."""
    return "has no window without a limit: read as attn reads it" if inf in window else ""


register(
    Convention(
        name="jax",
        title="JAX jax.nn.dot_product_attention",
        version="0.10",
        source="https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html",
        is_run=True,
        words={
            "past_key": NO_OFFSET,
            "mask": ATTENDS,
            "key_mask": AS_MASK,
            "bias": Reading(
                "added to the scores; a row of −∞ is NaN, or uniform over those of its keys that masks hide",
                limit=row_of_infinities,
            ),
            "causal": TOP_LEFT,
            "window": Reading(f"top left, {BESIDE_ITS_OWN}", limit=_limited),
            "key_lengths": Reading("so many keys of each batch item are real"),
            "scale": SCALE,
            "kv_heads": GROUPED,
        },
        defaults={"empty_rows": "uniform"},
        exclusive=(("mask", "key_mask"),),
    )
)
