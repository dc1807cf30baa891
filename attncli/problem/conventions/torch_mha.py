"""The convention of PyTorch's nn.MultiheadAttention."""

from attncli.problem.conventions.readings import ADDED, HIDES, LAYER_WEIGHTS, OUT_IN, PADDING, TOP_LEFT
from attncli.problem.conventions.records import Convention, register

register(
    Convention(
        name="torch-mha",
        title="PyTorch torch.nn.MultiheadAttention",
        version="2.13",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html",
        is_run=True,
        words={
            "mask": HIDES,
            "key_mask": PADDING,
            "bias": ADDED,
            "causal": TOP_LEFT,
            **dict.fromkeys((*LAYER_WEIGHTS, "w_qkv"), OUT_IN),  # w_qkv is its in_proj_weight
        },
        defaults={"empty_rows": "nan"},
        exclusive=(("mask", "bias", "causal"),),
    )
)
