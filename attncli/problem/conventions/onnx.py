"""The convention of ONNX's operator Attention, opset 25."""

from attncli.problem.conventions.readings import ADDED, ATTENDS, BESIDE_ITS_OWN, GROUPED, SCALE
from attncli.problem.conventions.records import Convention, Reading, register

register(
    Convention(
        name="onnx",
        title="ONNX operator Attention, opset 25",
        version="1.23",
        source="https://onnx.ai/onnx/operators/onnx__Attention.html",
        is_run=True,
        words={
            "past_key": Reading("the cache comes first, and queries after it"),
            "mask": ATTENDS,
            "bias": ADDED,
            "causal": Reading("top left after any cache; with key_lengths bottom right"),
            "window": Reading(f"{BESIDE_ITS_OWN}; −1: no limit"),
            "key_lengths": Reading(
                "nonpad_kv_seqlen, the last query stands at the last real key",
                keys={"align": "bottom_right"},
                beside=("causal", "window"),
            ),
            "scale": SCALE,
            "softcap": Reading("before bias and masks"),
            "kv_heads": GROUPED,
        },
        defaults={"empty_rows": "zeros"},
        exclusive=(("mask", "bias"), ("past_key", "key_lengths")),
    )
)
