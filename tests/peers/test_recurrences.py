"""Recurrences give the results of ONNX's LinearAttention, and of Qwen3-Next and MiniMax in transformers."""

import warnings
from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.base.errors import AttnError
from attncli.ops.recurrences import published_decays

RESULTS = ["output", "present_state"]
CASES = 14  # of ONNX's own tests of the operator


def onnx_cases() -> list[Any]:
    """ONNX's own tests of the operator, without those of its expanded function."""
    onnx = pytest.importorskip("onnx")
    if onnx.defs.onnx_opset_version() < 27:
        return []
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases("LinearAttention")
    return [case for case in cases if not case.name.endswith("_expanded")]


def test_results_are_those_of_every_case_of_onnx() -> None:
    cases = onnx_cases()
    assert len(cases) == CASES
    for case in cases:
        (node,) = case.model.graph.node
        given = {attribute.name: attribute for attribute in node.attribute}
        (inputs, outputs), *_ = case.data_sets
        arrays = dict(zip([name for name in node.input if name], inputs, strict=True))
        kv_heads = given["kv_num_heads"].i
        found = attention(
            **arrays,  # in the layout of the operator
            convention="onnx",
            heads=given["q_num_heads"].i,
            kv_heads=kv_heads,
            recurrence=given["update_rule"].s.decode() if "update_rule" in given else "gated_delta",
            scale=given["scale"].f if "scale" in given else None,
            select=RESULTS,
        )
        output, state = outputs
        tolerance = 2e-3 if output.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(found.output, output, tolerance, tolerance, err_msg=case.name)
        np.testing.assert_allclose(found.present_state, state, tolerance, tolerance, err_msg=case.name)


def test_without_onnx_every_case_of_onnx_is_refused_or_right() -> None:
    wrong = []
    for case in onnx_cases():
        (node,) = case.model.graph.node
        given = {attribute.name: attribute for attribute in node.attribute}
        (inputs, (output, _)), *_ = case.data_sets
        arrays = dict(zip([name for name in node.input if name], inputs, strict=True))
        rule = given["update_rule"].s.decode() if "update_rule" in given else "gated_delta"
        scale = given["scale"].f if "scale" in given else None
        heads = {"heads": given["q_num_heads"].i, "kv_heads": given["kv_num_heads"].i}
        try:
            found = attention(**arrays, **heads, recurrence=rule, scale=scale).output
        except AttnError:
            continue
        wrong += [] if np.allclose(found, output, 2e-3, 2e-3) else [case.name]
    assert wrong == []


@pytest.mark.parametrize("name", ["torch_recurrent_gated_delta_rule", "torch_chunk_gated_delta_rule"])
@pytest.mark.parametrize("count", [5, 150])
def test_results_are_those_of_the_gated_delta_rule_of_transformers(name: str, count: int) -> None:
    torch = pytest.importorskip("torch")
    module = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    random = np.random.default_rng(count)
    query, key, value = (random.standard_normal((2, 3, count, size)) for size in (8, 8, 5))
    decay, beta, past_state = -random.random((2, 3, count)), random.random((2, 3, count)), np.zeros((2, 3, 8, 5))
    past_state += random.standard_normal(past_state.shape)

    def tensor(array: np.ndarray) -> Any:
        return torch.from_numpy(array.astype(np.float32)).transpose(1, 2)

    output, state = getattr(module, name)(
        *map(tensor, (query, key, value, decay, beta)),
        initial_state=torch.from_numpy(past_state.astype(np.float32)),
        output_final_state=True,
        use_qk_l2norm_in_kernel=True,
    )
    found = attention(
        query,
        key,
        value,
        recurrence="gated_delta:feature_map=l2",
        decay=decay,
        beta=beta,
        past_state=past_state,
        select=RESULTS,
    )
    np.testing.assert_allclose(found.output, output.transpose(1, 2).numpy(), atol=2e-5)
    np.testing.assert_allclose(found.present_state, state.numpy(), atol=2e-5)


@pytest.mark.parametrize("layer", [0, 1, 3])
def test_published_slopes_are_those_of_lightning_attention_in_transformers(layer: int) -> None:
    module = pytest.importorskip("transformers.models.minimax.modeling_minimax")
    types = ["linear_attention"] * 4
    config = module.MiniMaxConfig(hidden_size=24, num_attention_heads=6, num_hidden_layers=4, layer_types=types)
    theirs = module.MiniMaxLightningAttention(config, layer).slope_rate[:, :, 0].double().numpy()
    found = published_decays(shape=(6, 1), slopes="lightning", layer=layer, layers=4)
    np.testing.assert_allclose(found, -theirs, rtol=1e-5)


def test_results_are_those_of_lightning_attention_in_transformers() -> None:
    torch = pytest.importorskip("torch")
    module = pytest.importorskip("transformers.models.minimax.modeling_minimax")
    config = module.MiniMaxConfig(
        hidden_size=24, num_attention_heads=4, head_dim=6, num_hidden_layers=2, block_size=4,
        layer_types=["linear_attention", "full_attention"],
    )  # fmt: skip
    torch.manual_seed(0)
    layer = module.MiniMaxLightningAttention(config, 0).double()
    read: list[Any] = []
    layer.norm.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    x = torch.randn(2, 11, 24, dtype=torch.float64)
    with torch.no_grad():
        layer(x, position_embeddings=None, attention_mask=None)
        projected = layer.act_fn(layer.qkv_proj(x)).reshape(2, 11, 4, 18).transpose(1, 2)
    query, key, value = (part.numpy() for part in projected.split(6, dim=-1))
    slopes = "gated:slopes=lightning,layer=0,layers=2"
    found = attention(query, key, value, recurrence=slopes, scale=1).output
    expected = read[0].reshape(2, 11, 4, 6).transpose(1, 2).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_gradients_are_those_of_autograd() -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    count, size = 70, 4
    arrays = {name: random.standard_normal((count, size)) for name in ("query", "key", "value")}
    arrays |= {"decay": -random.random(count), "beta": random.random(count), "past_state": random.random((size, size))}
    grad = random.standard_normal((count, size))
    tensors = {name: torch.tensor(x, requires_grad=True) for name, x in arrays.items()}
    state, total = tensors["past_state"], torch.zeros((), dtype=torch.float64)
    for at in range(count):
        query, key = (
            tensors[name][at] / torch.sqrt((tensors[name][at] ** 2).sum() + 1e-6) for name in ("query", "key")
        )
        state = torch.exp(tensors["decay"][at]) * state
        state = state + torch.outer(key, tensors["beta"][at] * (tensors["value"][at] - state.T @ key))
        total = total + (torch.tensor(grad[at]) * (state.T @ query)).sum() / size**0.5
    total.backward()
    names = [f"grad_{name}" for name in arrays]
    found = attention(**arrays, recurrence="gated_delta:feature_map=l2", grad_output=grad, select=names)
    for name, tensor in tensors.items():
        np.testing.assert_allclose(
            getattr(found, f"grad_{name}"), tensor.grad.numpy(), rtol=1e-9, atol=1e-12, err_msg=name
        )
