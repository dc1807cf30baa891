"""The convention of MLX's scaled_dot_product_attention."""

from attncli.problem.conventions.readings import ADDED_BUT_NO_ROW, AS_MASK, ATTENDS, BOTTOM_RIGHT, GROUPED, SCALE
from attncli.problem.conventions.records import Convention, Reading, register

register(
    Convention(
        name="mlx",
        title="MLX mlx.core.fast.scaled_dot_product_attention",
        version="0.32",
        source="https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.fast.scaled_dot_product_attention.html",
        is_run=True,
        words={
            "past_key": Reading("put before the keys by the caller; causal is bottom right, so queries come after it"),
            "mask": ATTENDS,
            "key_mask": AS_MASK,
            "bias": ADDED_BUT_NO_ROW,
            "causal": BOTTOM_RIGHT,
            "scale": SCALE,
            "kv_heads": GROUPED,
            "sink": Reading("sinks, one more key in the softmax, which is dropped"),
        },
        defaults={"empty_rows": "uniform"},
        exclusive=(("mask", "key_mask", "bias", "causal"),),
    )
)
