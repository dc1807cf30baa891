"""Recurrences in chunks, and the function of transformers that does the same for Qwen3-Next."""

from collections.abc import Iterator

import numpy as np
from pairs import Work, compare

import attncli

COUNT, HEADS, FEATURES = 4096, 8, 64


def rows() -> Iterator[str]:
    """The gated delta rule of float32, without and with the state that is handed on."""
    for title, select in (("", ["output"]), (", with its last state", ["output", "present_state"])):
        yield compare(f"{HEADS} heads of {COUNT}, gated delta rule{title}", *gated_delta(select), "≤ 1.5")


def gated_delta(select: list[str]) -> tuple[Work, Work]:
    """A call of ours and of transformers with the same numbers."""
    import torch
    from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule

    torch.set_num_threads(2)
    random = np.random.default_rng(0)
    given = random.standard_normal((3, 1, HEADS, COUNT, FEATURES), dtype=np.float32)
    decay, beta = -random.random((1, HEADS, COUNT), np.float32), random.random((1, HEADS, COUNT), np.float32)
    tensors = [torch.from_numpy(x).transpose(1, 2).contiguous() for x in (*given, decay, beta)]
    keys = {"recurrence": "gated_delta:feature_map=l2", "decay": decay, "beta": beta, "select": select}
    options = {"output_final_state": len(select) > 1, "use_qk_l2norm_in_kernel": True}
    return (
        lambda: attncli.attention(*given, **keys),
        lambda: torch_chunk_gated_delta_rule(*tensors, initial_state=None, **options),
    )
