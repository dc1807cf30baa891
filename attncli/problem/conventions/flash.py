"""The convention of FlashAttention 2.1 and later."""

from attncli.problem.conventions.readings import BESIDE_ITS_OWN, BOTTOM_RIGHT, GROUPED, SCALE
from attncli.problem.conventions.records import Convention, Reading, register

register(
    Convention(
        name="flash",
        title="FlashAttention flash_attn_func",
        version="2.8",
        source="https://github.com/Dao-AILab/flash-attention, flash_attn_interface.py, README of 2.1, csrc mask.h",
        is_run=False,
        words={
            "causal": BOTTOM_RIGHT,
            "window": Reading(f"bottom right, {BESIDE_ITS_OWN}; −1: no limit", keys={"align": "bottom_right"}),
            "key_lengths": Reading("cu_seqlens or cache_seqlens, the last query stands at the last real key"),
            "past_key": Reading("the cache comes first, and queries after it"),
            "scale": SCALE,
            "softcap": Reading("before the masks"),
            "position alibi": Reading("−slope · |i + m − n − j|, bottom right", keys={"align": "bottom_right"}),
            "kv_heads": GROUPED,
        },
        defaults={"empty_rows": "zeros"},
    )
)
