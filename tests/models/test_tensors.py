"""What a problem file has in place of a quantized tensor of a checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.models.checkpoint import StoredTensor
from attncli.models.tensors import TensorReference, quantized_value

TYPES = {"weight": "F8_E4M3", "weight_scale_inv": "F32", "weight_scale": "BF16", "g_idx": "I32"}
PACKED = {"qweight": "I32", "qzeros": "I32", "scales": "F16"}


def stored(word: str, type_: str | None = None) -> TensorReference:
    """The tensor of a word beside `q`, of its usual type where no other is given."""
    return TensorReference(f"q.{word}", "", StoredTensor(Path("m"), (), type_ or {**TYPES, **PACKED}[word]))


def places(**types: str) -> Callable[[str], TensorReference | None]:
    """The tensors beside `q`, by the ends of their names, with their types."""
    return {f"q.{word}": stored(word, type_) for word, type_ in types.items()}.get


IN_FILE = {word: stored(word) for word in PACKED}
READ: list[tuple[dict[str, str], dict[str, Any], Any]] = [
    ({"weight": "BF16"}, {}, None),
    ({"weight": "BF16"}, {"quant_method": "bitsandbytes"}, None),  # of modules_to_not_convert
    ({}, {}, None),
    ({}, {"quant_method": "gptq"}, None),
    ({"weight": "F8_E4M3"}, {"quant_method": "fp8"}, None),
    (
        {"weight": "F8_E4M3", "weight_scale_inv": "F32"},
        {"quant_method": "fp8", "weight_block_size": [128, 128]},
        {"fp8": {"weight": stored("weight"), "scale": stored("weight_scale_inv"), "block": [128, 128]}},
    ),
    (
        {"weight": "F8_E4M3", "weight_scale": "BF16"},
        {"quant_method": "compressed-tensors"},
        {"fp8": {"weight": stored("weight"), "scale": stored("weight_scale")}},
    ),
    (PACKED, {"quant_method": "gptq", "bits": 4}, {"gptq": {**IN_FILE, "bits": 4}}),
    (
        {**PACKED, "g_idx": "I32"},
        {"quant_method": "gptq", "bits": 8, "checkpoint_format": "gptq_v2"},
        {"gptq": {**IN_FILE, "g_idx": stored("g_idx"), "bits": 8, "checkpoint_format": "gptq_v2"}},
    ),
    (PACKED, {"quant_method": "awq", "bits": 4, "version": "gemm", "zero_point": True}, {"awq": IN_FILE}),
]


@pytest.mark.parametrize(("types", "config", "expected"), READ)
def test_a_form_that_is_read_is_written(types: dict[str, str], config: dict[str, Any], expected: Any) -> None:
    assert quantized_value("q.weight", places(**types), config) == expected


REFUSED: list[tuple[dict[str, str], dict[str, Any], str]] = [
    ({"weight": "U8"}, {"quant_method": "bitsandbytes"}, "q.weight is quantized by bitsandbytes, which attn does not"),
    ({"weight": "I8", "SCB": "F32"}, {"quant_method": "bitsandbytes"}, "quantized by bitsandbytes"),
    ({"W_q": "U8"}, {"quant_method": "hqq"}, "quantized by hqq"),
    ({"weight_blocks": "U8"}, {"quant_method": "mxfp4"}, "quantized by mxfp4"),
    ({"weight_packed": "I32"}, {"quant_method": "compressed-tensors"}, "quantized by compressed-tensors"),
    ({"weight": "I8"}, {}, "q.weight is quantized as I8"),
    (PACKED, {}, "q.weight is quantized as packed integers"),
    (PACKED, {"quant_method": "awq", "bits": 4, "version": "gemv"}, "by awq with version 'gemv', which attn does not"),
    (PACKED, {"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}, "with checkpoint_format 'marlin'"),
    (PACKED, {"quant_method": "gptq", "bits": 5}, "with bits 5"),
    ({"qweight": "I32"}, {"quant_method": "awq", "bits": 4}, "q.qzeros is missing next to q.qweight"),
]


@pytest.mark.parametrize(("types", "config", "message"), REFUSED, ids=[message for *_, message in REFUSED])
def test_a_form_that_is_not_read_is_refused_by_its_name(
    types: dict[str, str], config: dict[str, Any], message: str
) -> None:
    with pytest.raises(AttnError) as caught:
        quantized_value("q.weight", places(**types), config)
    assert message in str(caught.value)
