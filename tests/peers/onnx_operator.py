"""The operator Attention of ONNX, computed by its reference implementation."""

from typing import Any

import numpy as np
import pytest

INPUTS = ("query", "key", "value", "mask", "past_key", "past_value", "key_lengths")
OUTPUTS = ("output", "present_key", "present_value", "scores_out")
OPSET = 25


def by_onnx(arrays: dict[str, np.ndarray], **attributes: Any) -> dict[str, np.ndarray]:
    """The reference implementation of the operator, run on a graph of this one node."""
    pytest.importorskip("onnx")
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    node = helper.make_node(
        "Attention", [name if name in arrays else "" for name in INPUTS], list(OUTPUTS), **attributes
    )
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in arrays.items()}
    graph = helper.make_graph(
        [node],
        "attention",
        [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in arrays.items()],
        [helper.make_tensor_value_info(name, types["query"], None) for name in OUTPUTS],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    with np.errstate(all="ignore"):
        return dict(zip(OUTPUTS, ReferenceEvaluator(model).run(None, arrays), strict=True))
