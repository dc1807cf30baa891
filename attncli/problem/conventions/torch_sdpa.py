"""The convention of PyTorch's scaled_dot_product_attention."""

from attncli.problem.conventions.readings import ADDED, AS_MASK, ATTENDS, GROUPED, NO_OFFSET, SCALE, TOP_LEFT
from attncli.problem.conventions.records import Convention, register

register(
    Convention(
        name="torch-sdpa",
        title="PyTorch torch.nn.functional.scaled_dot_product_attention",
        version="2.13",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        is_run=True,
        words={
            "mask": ATTENDS,
            "key_mask": AS_MASK,
            "bias": ADDED,
            "causal": TOP_LEFT,
            "past_key": NO_OFFSET,
            "scale": SCALE,
            "kv_heads": GROUPED,
        },
        defaults={"empty_rows": "zeros"},
        exclusive=(("mask", "key_mask", "bias", "causal"),),
    )
)
