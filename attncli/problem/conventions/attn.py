"""The convention of attn itself: every word that a convention may read, as it is read without one."""

from attncli.problem.conventions.readings import ADDED, ATTENDS, BESIDE_ITS_OWN, GROUPED, REAL_KEYS, SCALE, WEIGHTS
from attncli.problem.conventions.records import Convention, Reading, register

ATTN = register(
    Convention(
        name="attn",
        title="attn, without a convention",
        version="",
        source="attn list, attn show",
        is_run=True,
        words={
            "past_key": Reading("the cache comes first, and queries after it"),
            "mask": ATTENDS,
            "key_mask": REAL_KEYS,
            "bias": ADDED,
            "causal": Reading("top left after any cache: query i stands at new key i, unless align is given"),
            "window": Reading(f"{BESIDE_ITS_OWN}; −1: no limit"),
            "key_lengths": Reading("so many keys of each batch item are real"),
            "scale": SCALE,
            "softcap": Reading("before bias and masks"),
            "position": Reading("alibi is −slope · |position of the query − j|; rope rotates halves"),
            "kv_heads": GROUPED,
            "sink": Reading("one more key in the softmax, which is dropped"),
            "qk_norm": Reading("of each head, before rope"),
            "query_scale": Reading("of its position, after norm and rope"),
            "value_norm": Reading("of each head"),
            "context_norm": Reading("of each head, before w_o"),
            "score": Reading("scaled_dot unless it is given"),
            "normalize": Reading("softmax unless it is given"),
            "context": Reading("weighted_sum unless it is given"),
            **dict.fromkeys(WEIGHTS, Reading("stored in_out, x @ W")),
        },
        defaults={"empty_rows": "zeros"},
    )
)
