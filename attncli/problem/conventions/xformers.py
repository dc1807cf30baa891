"""The convention of xFormers' memory_efficient_attention."""

from attncli.problem.conventions.readings import ADDED, BESIDE_ITS_OWN, GROUPED, NO_OFFSET, SCALE
from attncli.problem.conventions.records import Convention, Reading, register

register(
    Convention(
        name="xformers",
        title="xFormers xformers.ops.memory_efficient_attention",
        version="0.0.35",
        source="https://facebookresearch.github.io/xformers/components/ops.html, xformers/ops/fmha/attn_bias.py",
        is_run=False,
        words={
            "past_key": NO_OFFSET,
            "bias": ADDED,
            "causal": Reading("LowerTriangularMask, top left; with a window bottom right"),
            "window": Reading(
                f"LocalAttentionFromBottomRightMask, bottom right, {BESIDE_ITS_OWN}", keys={"align": "bottom_right"}
            ),
            "scale": SCALE,
            "kv_heads": GROUPED,
        },
        defaults={"empty_rows": "nan"},  # of the equivalent code in its documentation; its kernels may give 0
        exclusive=(("bias", "window"),),
    )
)
