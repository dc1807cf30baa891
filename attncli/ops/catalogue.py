"""The operators of this package by kind, in the order of `attn list`, and the module that registers each.

Looking up an operator imports its module. `tests/ops/test_catalogue.py` compares the names with those registered.
"""

from collections.abc import Mapping

# The names that each module registers, by kind.
MODULES: Mapping[str, Mapping[str, str]] = {
    "score": {
        "attncli.ops.scores": "scaled_dot dot general additive location cosine",
        "attncli.ops.distances": "gaussian laplacian euclidean",
    },
    "normalize": {
        "attncli.ops.normalizers": "softmax softmax1 sigmoid relu topk hardmax sum none",
        "attncli.ops.sparse_normalizers": "sparsemax entmax",
    },
    "context": {"attncli.ops.contexts": "weighted_sum attentional argmax sample max"},
    "recurrence": {"attncli.ops.recurrences": "linear gated delta gated_delta"},
    "difference": {"attncli.ops.differences": "differential"},
    "position": {
        "attncli.ops.rope": "rope",
        "attncli.ops.positions": "sinusoidal learned",
        "attncli.ops.position_biases": "alibi t5",
        "attncli.ops.relative_keys": "shaw",
        "attncli.ops.transformer_xl": "transformer_xl",
        "attncli.ops.disentangled": "disentangled",
        "attncli.ops.grid_positions": "grid_bias decomposed",
    },
    "mask": {
        "attncli.ops.masks": ("mask bias causal window key_lengths query_key_lengths key_mask cu_seqlens chunked"),
        "attncli.ops.mask_patterns": "prefix block dilated global document",
        "attncli.ops.selection": "top",
    },
    "norm": {"attncli.ops.norms": "l2 rms layer"},
    "query_scale": {"attncli.ops.query_scales": "log_steps logn power ssmax"},
    "gate": {"attncli.ops.gates": "sigmoid silu softplus"},
    "generator": {
        "attncli.ops.initializers": ("randint uniform normal xavier_uniform xavier_normal linear identity zeros ones")
    },
}
