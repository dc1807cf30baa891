"""The ONNX operators Attention and RotaryEmbedding give the same results: every layout, mask, cache and softcap."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli import attention
from attncli.ops.rope import rope, rope_frequencies
from tests.arrays import normal
from tests.peers.onnx_operator import by_onnx

pytest.importorskip("onnx")


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """A problem of any layout, with any of the masks, the cache and the cap."""
    sizes = st.integers(1, 5)
    batch, kv_heads, groups, n, m = draw(sizes), draw(sizes), draw(st.integers(1, 3)), draw(sizes), draw(sizes)
    d, e, past = draw(sizes), draw(sizes), draw(st.integers(0, 3))
    heads, has_head_axis = kv_heads * groups, draw(st.booleans())
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def drawn(count: int, rows: int, features: int) -> np.ndarray:
        shape = (batch, count, rows, features) if has_head_axis else (batch, rows, count * features)
        return random.standard_normal(shape)

    found: dict[str, Any] = {
        "query": drawn(heads, n, d),
        "key": drawn(kv_heads, m, d),
        "value": drawn(kv_heads, m, e),
        "heads": heads,
        "kv_heads": kv_heads,
        "causal": draw(st.booleans()),
        "window": draw(st.tuples(st.integers(-1, 3), st.integers(-1, 3))),
        "softcap": draw(st.sampled_from([None, 0.5, 3.0])),
        "scale": draw(st.sampled_from([None, 0.3, 2.0])),
    }
    if past:
        found["past_key"] = random.standard_normal((batch, kv_heads, past, d))
        found["past_value"] = random.standard_normal((batch, kv_heads, past, e))
    elif draw(st.booleans()):
        found["key_lengths"] = random.integers(0, m + 1, size=batch)
        found["align"] = "bottom_right"
    axes = draw(st.integers(0, 4))
    if axes:
        full = (batch, heads, n, past + m)[4 - axes :]
        shape = [size if draw(st.booleans()) else 1 for size in full[:-1]] + [draw(st.integers(1, full[-1]))]
        kind = draw(st.sampled_from(["mask", "bias"]))
        visible = random.random(shape) < 0.7
        found[kind] = visible if kind == "mask" else np.where(visible, random.standard_normal(shape), -np.inf)
    return found


@settings(max_examples=300, deadline=None)
@given(problems())
def test_results_are_those_of_the_onnx_operator_attention(problem: dict[str, Any]) -> None:
    result = attention(**problem, select=("output", "weights", "masked_scores", "present_key", "present_value"))
    arrays = {name: problem[name] for name in ("query", "key", "value", "past_key", "past_value") if name in problem}
    if "key_lengths" in problem:
        arrays["key_lengths"] = problem["key_lengths"].astype(np.int64)
    if "mask" in problem or "bias" in problem:
        # Its code takes the number of rows of the mask for the number of queries, and reads two axes at least.
        table = np.atleast_2d(problem.get("mask", problem.get("bias")))
        rows = problem["query"].shape[-2]
        arrays["mask"] = np.broadcast_to(table, (*table.shape[:-2], rows, table.shape[-1])).copy()
    attributes = {
        "is_causal": int(problem["causal"]),
        "left_window_size": problem["window"][0],
        "right_window_size": problem["window"][1],
        "softcap": problem["softcap"] or 0.0,
        "qk_matmul_output_mode": 3,
    }
    if problem["scale"] is not None:
        attributes["scale"] = problem["scale"]
    if problem["query"].ndim == 3:
        attributes |= {"q_num_heads": problem["heads"], "kv_num_heads": problem["kv_heads"]}
    expected = by_onnx(arrays, **attributes)
    # Attributes of a graph are float32: so is a scale or a cap that it was given.
    close = {"rtol": 1e-12, "atol": 1e-12} if problem["scale"] is None else {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(result.output, expected["output"], **close)
    weights = result.weights.reshape(expected["scores_out"].shape)
    np.testing.assert_allclose(weights, expected["scores_out"], **close)
    for name in ("present_key", "present_value"):
        ours, theirs = getattr(result, name), expected[name]
        if ours.shape != theirs.shape:  # theirs always has an axis of heads; ours looks like the input
            ours = ours.reshape(*ours.shape[:2], theirs.shape[1], -1).swapaxes(1, 2)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("dims", [None, 4])
def test_rope_is_the_onnx_operator_rotary_embedding(interleaved: bool, dims: int | None) -> None:
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    x = normal(2, 3, 5, 6)
    angles = np.outer(np.arange(5), rope_frequencies(dims or 6, 10000.0))
    attributes = {"interleaved": int(interleaved), "rotary_embedding_dim": dims or 0}
    node = helper.make_node("RotaryEmbedding", ["x", "cos", "sin", "places"], ["y"], **attributes)
    kinds = {"x": TensorProto.DOUBLE, "cos": TensorProto.DOUBLE, "sin": TensorProto.DOUBLE, "places": TensorProto.INT64}
    graph = helper.make_graph(
        [node],
        "rope",
        [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    given = {"x": x, "cos": np.cos(angles), "sin": np.sin(angles), "places": np.tile(np.arange(5), (2, 1))}
    (expected,) = ReferenceEvaluator(model).run(None, given)
    np.testing.assert_allclose(rope(x, np.arange(5), dims=dims, interleaved=interleaved), expected, rtol=1e-12)
